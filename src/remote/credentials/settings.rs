//! Settings of connections: which servers they apply to, and what is sent to those.

use std::fmt;

/// A secret; redacted in `Debug`, and left out of everything that is written.
#[derive(Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(transparent)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Connection settings of this run; they override the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Access {
    /// Servers and buckets that the settings apply to, as
    /// [`Address::origin`](crate::model::Address::origin) spells them; all when empty. A token
    /// requires servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Endpoint instead of the provider's own: `http://localhost:9000`.
    pub endpoint: Option<String>,
    /// Region of the bucket.
    pub region: Option<String>,
    /// Profile of the AWS command line.
    pub profile: Option<String>,
    /// Azure storage account.
    pub account: Option<String>,
    /// Send no credentials.
    pub anonymous: bool,
    /// Bearer token for the servers in `hosts`; only sent over `https://`, or to this machine.
    #[serde(skip_serializing)]
    pub token: Option<Secret>,
    /// Maximum number of parallel requests; `None`: the user's setting.
    pub connections: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_neither_shown_nor_written() {
        let access = Access {
            token: Some(Secret("hunter2".into())),
            ..Access::default()
        };
        let shown = format!(
            "{access:?}{}",
            serde_json::to_string(&access).expect("writes")
        );
        assert!(!shown.contains("hunter2"), "{shown}");
        let read: Access = serde_json::from_str(r#"{"token":"hunter2"}"#).expect("reads");
        assert_eq!(read, access);
    }
}
