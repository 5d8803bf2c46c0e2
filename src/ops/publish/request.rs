//! Arguments of a publication.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::check::CheckKind;
use super::cost::Prices;
use super::layout::Layout;
use crate::container::OpenOptions;
use crate::error::{Error, Result};
use crate::model::Address;

/// Arguments of [`preflight`](super::preflight()) and [`publish`](super::publish()). Plain data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PublishRequest {
    /// The dataset: a ZIP, a FOLDER, or the index over parts.
    pub input: PathBuf,
    /// How to open it.
    #[serde(default)]
    pub open: OpenOptions,
    /// Target folder: `s3://bucket/set/1.0.0`, or a local folder.
    pub target: PathBuf,
    /// Layout of the target: plain, or that of a hosting service.
    #[serde(default)]
    pub layout: Layout,
    /// OWNER/NAME at Hugging Face or Source Cooperative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Public URL of the target, if readers use another address than `target`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Replace an earlier publication at `target`.
    #[serde(default)]
    pub overwrite: bool,
    /// Blocking checks that the user accepts; they become warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<CheckKind>,
    /// The user's prices.
    #[serde(default)]
    pub prices: Prices,
}

impl PublishRequest {
    /// The validated request, without secrets in `url`.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) when `repository` is not OWNER/NAME, or `url` is no address.
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

    /// Address at which readers find the target; `None` for a local folder.
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
