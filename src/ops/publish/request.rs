//! Arguments of a publication.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::CheckKind;
use super::cost::Prices;
use super::layout::PublishLayout;
use crate::container::OpenOptions;
use crate::error::{Error, Result};
use crate::model::Address;
use crate::ops::join_for_shell;
use crate::text::PrintableLine;

/// Checks a dataset, and publishes it unless a check blocks that. Plain data;
/// [`preflight`](super::preflight()) takes it too.
///
/// # Errors
/// Those of [`preflight`](super::preflight()); when a file can't be read or sent, or the job is
/// cancelled: files that were sent stay at a store, and the next publication to the same target
/// sends the others. A folder of this machine appears whole or not at all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    pub layout: PublishLayout,
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
    /// [`Kind::Usage`](crate::error::Kind::Usage) when `repository` is not OWNER/NAME, or `url` is
    /// no address.
    pub(super) fn to_validated(&self) -> Result<Self> {
        if let Some(repository) = &self.repository {
            expect_repository(repository)?;
        }
        let plain = |url: &String| {
            Address::parse(url).map(|address| address.without_secret().0.to_string())
        };
        let url = match &self.url {
            Some(url) => Some(plain(url).ok_or_else(|| {
                Error::usage("this is no address")
                    .at_place(url.printable_line())
                    .hint("write https://HOST/PATH")
            })?),
            None => None,
        };
        Ok(Self {
            url,
            ..self.clone()
        })
    }

    /// The command line that publishes the same; `None` for several datasets as one, which it does
    /// not take. Prices are those of the settings, which the command line reads too.
    pub fn command_line(&self) -> Option<String> {
        if !self.open.with.is_empty() {
            return None;
        }
        let mut words = vec![
            "taco-studio".to_owned(),
            "publish".to_owned(),
            self.input.display().to_string(),
        ];
        words.push(self.target.display().to_string());
        let mut add = |option: &str, value| words.extend(write_option(option, value));
        add(
            "--layout",
            (self.layout != PublishLayout::default()).then(|| self.layout.name().to_owned()),
        );
        add("--repository", self.repository.clone());
        add("--url", self.url.clone());
        let accepted: Vec<&str> = self.accept.iter().map(|kind| kind.name()).collect();
        add(
            "--accept",
            (!accepted.is_empty()).then(|| accepted.join(",")),
        );
        add(
            "--base-path",
            self.open
                .base_path
                .as_ref()
                .map(|path| path.display().to_string()),
        );
        if self.overwrite {
            words.push("--overwrite".to_owned());
        }
        Some(join_for_shell(words.iter().map(String::as_str)))
    }

    /// Address at which readers find the target; `None` for a local folder.
    pub(super) fn public(&self) -> Option<Address> {
        let of_layout = self.layout.url(self.repository.as_deref());
        let text = self
            .url
            .clone()
            .or(of_layout)
            .unwrap_or_else(|| self.target.display().to_string());
        Address::parse(&text).map(|address| address.without_secret().0)
    }
}

fn write_option(option: &str, value: Option<String>) -> impl Iterator<Item = String> {
    let words = value.map(|value| [option.to_owned(), value]);
    words.into_iter().flatten()
}

/// Refuses a repository that is not `owner/name`.
fn expect_repository(repository: &str) -> Result<()> {
    match repository.split_once('/') {
        Some((owner, name)) if is_repository_part(owner) && is_repository_part(name) => Ok(()),
        _ => Err(Error::usage("this is no repository")
            .at_place(repository.printable_line())
            .hint("write OWNER/NAME")),
    }
}

fn is_repository_part(text: &str) -> bool {
    !text.is_empty() && is_plain_in_address(text)
}

/// True for a name that addresses have as it is.
pub(super) fn is_plain_in_address(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

#[cfg(all(test, not(windows)))]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_has_every_choice() {
        let mut request = PublishRequest {
            input: "a b.tacozip".into(),
            target: "s3://b/set/1.0.0".into(),
            ..PublishRequest::default()
        };
        let wanted = "taco-studio publish 'a b.tacozip' s3://b/set/1.0.0";
        assert_eq!(request.command_line().as_deref(), Some(wanted));
        request.layout = PublishLayout::HuggingFace;
        request.repository = Some("ana/peru".into());
        request.accept = vec![CheckKind::Licence, CheckKind::Leakage];
        request.overwrite = true;
        let wanted = format!(
            "taco-studio publish 'a b.tacozip' s3://b/set/1.0.0 --layout {} --repository ana/peru \
                --accept '{},{}' --overwrite",
            PublishLayout::HuggingFace.name(),
            CheckKind::Licence.name(),
            CheckKind::Leakage.name()
        );
        assert_eq!(request.command_line(), Some(wanted));
        request.open.with.push("b.tacozip".into());
        assert_eq!(request.command_line(), None, "it takes one dataset");
    }
}
