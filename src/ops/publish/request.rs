//! What a publication is asked for.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::check::CheckKind;
use super::cost::Prices;
use super::layout::Layout;
use crate::container::OpenOptions;
use crate::error::{Error, Result};
use crate::model::Address;

/// What to publish, where to, and how. Plain data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PublishRequest {
    /// The dataset: a ZIP, a FOLDER, or the index over parts.
    pub input: PathBuf,
    /// How to open it.
    #[serde(default)]
    pub open: OpenOptions,
    /// The folder that gets the files: `s3://bucket/set/1.0.0`, or a folder of this machine.
    pub target: PathBuf,
    /// Whose layout.
    #[serde(default)]
    pub layout: Layout,
    /// OWNER/NAME at Hugging Face or Source Cooperative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The address of the target on the web, where it differs from the target's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Replace what was published there.
    #[serde(default)]
    pub overwrite: bool,
    /// Checks that only warn, although they would block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<CheckKind>,
    /// The user's prices.
    #[serde(default)]
    pub prices: Prices,
}

impl PublishRequest {
    /// The request without secrets in addresses.
    pub(super) fn settled(&self) -> Result<Self> {
        if let Some(repository) = &self.repository {
            expect_repository(repository)?;
        }
        let plain = |url: &String| Address::parse(url).map(|address| address.without_secret().0.to_string());
        let url = match &self.url {
            Some(url) => Some(
                plain(url)
                    .ok_or_else(|| Error::usage("this is no address").at(url.escape_debug()).hint("write https://HOST/PATH"))?,
            ),
            None => None,
        };
        Ok(Self { url, ..self.clone() })
    }

    /// The address of the target for readers; `None` for a folder of this machine.
    pub(super) fn public(&self) -> Option<Address> {
        let of_layout = self.layout.url(self.repository.as_deref());
        let text = self.url.clone().or(of_layout).unwrap_or_else(|| self.target.display().to_string());
        Address::parse(&text).map(|address| address.without_secret().0)
    }
}

/// Refuses a repository that is not `owner/name`.
fn expect_repository(repository: &str) -> Result<()> {
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    match repository.split_once('/') {
        Some((owner, name)) if plain(owner) && plain(name) => Ok(()),
        _ => Err(Error::usage("this is no repository").at(repository.escape_debug()).hint("write OWNER/NAME")),
    }
}
