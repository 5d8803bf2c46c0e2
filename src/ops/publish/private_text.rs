//! Finds private content of texts by pattern: absolute paths of a machine, names of users,
//! credentials, links to private servers and e-mail addresses. Changes nothing, and quotes no
//! secret.

use regex::Regex;

use super::check::CheckKind;
use crate::model::Address;

/// The checks that private texts can fail.
pub(super) const KINDS: [CheckKind; 5] = [
    CheckKind::Paths,
    CheckKind::UserNames,
    CheckKind::Credentials,
    CheckKind::PrivateLinks,
    CheckKind::Emails,
];

/// Login names that identify no person.
const COMMON_LOGINS: [&str; 15] = [
    "root",
    "user",
    "admin",
    "administrator",
    "ubuntu",
    "debian",
    "guest",
    "data",
    "test",
    "runner",
    "docker",
    "jovyan",
    "nobody",
    "home",
    "default",
];
/// Minimum length of a login name that is searched for, in characters.
const LOGIN_MIN: usize = 3;

/// Absolute paths: a text that is one, or a path below a usual root folder within a sentence.
const PATHS: &str = concat!(
    r"^/[A-Za-z0-9._~-]+/[^/\s]",
    r#"|(?:^|[\s"'=(,;:>|])(?:/vsi[a-z0-9_]+/)*/(?:home|Users|root|mnt|media|tmp|var|data|scratch|gpfs|lustre|nfs|opt|srv|work"#,
    r"|workspace|export|storage|projects?|private|Volumes|cluster|shared|run|beegfs)/[^/\s]",
    r#"|(?:^|[\s"'=(,;>|/])[A-Za-z]:\\[^\\\s]|(?:^|[\s"'=(,;>|])[A-Za-z]:/[^/\s]"#,
    r#"|(?:^|[\s"'=(,;>|])\\\\[A-Za-z0-9._-]+\\|file://|(?:^|[\s"'=(,;:>|])~/\S"#
);
/// Keys and tokens that are recognised by their form, keys and passwords behind their names, and
/// passwords in addresses.
const KEYS: &str = concat!(
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bhf_[A-Za-z0-9]{30,}\b|\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_[A-Za-z0-9_]{40,}",
    r"|\bglpat-[A-Za-z0-9_-]{20,}|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bAIza[A-Za-z0-9_-]{35}|\bsk-[A-Za-z0-9_-]{32,}",
    r"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY-----",
    r"|(?i:\b(?:aws_secret_access_key|secret_key|api_key|access_token|password|passwd|AccountKey)\s*[=:]\s*\S{6,})",
    r"|[A-Za-z][A-Za-z0-9+.-]*://[^/\s:@]+:[^/\s@]+@"
);
/// Addresses within a text.
const LINKS: &str = r#"(?:[A-Za-z][A-Za-z0-9+.-]*://|/vsi[a-z0-9]+/)[^\s"'<>\\]+"#;
/// Hosts that only a private network reaches.
const PRIVATE_HOSTS: &str = concat!(
    r"^(?:localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|10\.\d+\.\d+\.\d+|192\.168\.\d+\.\d+|172\.(?:1[6-9]|2\d|3[01])\.\d+\.\d+",
    r"|169\.254\.\d+\.\d+|\[::1\]|[^.:]+\.(?:local|internal|lan|intranet|corp)|.+\.(?:local|internal|lan|intranet|corp))(?::\d+)?$"
);
const EMAILS: &str = r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}";

struct PrivatePatterns {
    paths: Regex,
    keys: Regex,
    links: Regex,
    private_hosts: Regex,
    emails: Regex,
}

impl PrivatePatterns {
    fn compile() -> Result<Self, regex::Error> {
        Ok(Self {
            paths: Regex::new(PATHS)?,
            keys: Regex::new(KEYS)?,
            links: Regex::new(LINKS)?,
            private_hosts: Regex::new(PRIVATE_HOSTS)?,
            emails: Regex::new(EMAILS)?,
        })
    }

    /// True for a link into a private network.
    fn is_private_link(&self, link: &str) -> bool {
        let address = Address::parse(link).filter(Address::is_web);
        address.is_some_and(|address| {
            self.private_hosts
                .is_match(&address.authority.to_lowercase())
        })
    }
}

/// The text without leading `/vsi…/` prefixes of GDAL, which look like absolute paths.
fn strip_vsi_prefixes(text: &str) -> &str {
    let mut rest = text;
    while let Some((prefix, below)) = rest
        .strip_prefix("/vsi")
        .and_then(|rest| rest.split_once('/'))
    {
        if !prefix
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            break;
        }
        rest = below;
    }
    rest
}

/// Searches texts for private content, with the login name of the user.
pub(super) struct PrivateText {
    user: Option<Regex>,
    /// `None` if a pattern does not compile, which a test excludes.
    patterns: Option<PrivatePatterns>,
}

impl PrivateText {
    /// Uses the login name of the environment variables `USER`, `LOGNAME` or `USERNAME`.
    pub fn of_environment() -> Self {
        Self::new(
            ["USER", "LOGNAME", "USERNAME"]
                .iter()
                .find_map(|name| std::env::var(name).ok())
                .as_deref(),
        )
    }

    fn new(user: Option<&str>) -> Self {
        let known = user.map(str::trim).filter(|user| {
            user.chars().count() >= LOGIN_MIN
                && !COMMON_LOGINS.contains(&user.to_lowercase().as_str())
                && !user.contains(char::is_whitespace)
        });
        // Not within a longer word: no letter or digit before or after it.
        Self {
            user: known.and_then(|user| {
                Regex::new(&format!(
                    r"(?:^|[^\pL\pN]){}(?:$|[^\pL\pN])",
                    regex::escape(user)
                ))
                .ok()
            }),
            patterns: PrivatePatterns::compile().ok(),
        }
    }

    /// Kinds of private content in the text, each once.
    pub fn found_in(&self, text: &str) -> Vec<CheckKind> {
        let mut found = Vec::new();
        let may_have = |letters: &[u8]| text.bytes().any(|byte| letters.contains(&byte));
        let Some(patterns) = &self.patterns else {
            return found;
        };
        if may_have(b"/\\") && patterns.paths.is_match(strip_vsi_prefixes(text)) {
            found.push(CheckKind::Paths);
        }
        if self.user.as_ref().is_some_and(|user| user.is_match(text)) {
            found.push(CheckKind::UserNames);
        }
        let links: Vec<&str> = if may_have(b"/") {
            let found = patterns.links.find_iter(text);
            found.map(|link| link.as_str()).collect()
        } else {
            Vec::new()
        };
        let has_secret = |link: &str| {
            Address::parse(link).is_some_and(|address| address.without_secret().1.is_some())
        };
        if patterns.keys.is_match(text) || links.iter().copied().any(has_secret) {
            found.push(CheckKind::Credentials);
        }
        let is_private = |link| patterns.is_private_link(link);
        if links.iter().copied().any(is_private) {
            found.push(CheckKind::PrivateLinks);
        }
        // The password of an address looks as an e-mail address does: `me:secret@host.org`.
        if may_have(b"@")
            && patterns.emails.is_match(text)
            && !found.contains(&CheckKind::Credentials)
        {
            found.push(CheckKind::Emails);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<CheckKind> {
        PrivateText::new(Some("jdoe")).found_in(text)
    }

    #[test]
    fn every_pattern_compiles() {
        PrivatePatterns::compile().expect("every pattern is valid");
    }

    #[test]
    fn paths_of_a_machine_are_found_and_links_and_words_are_not() {
        for text in [
            "/home/u017/acquired/roi_0001",
            "/archive/scenes/a.tif",
            "made from /data/scenes/a.tif",
            "C:\\Users\\ana\\a.tif",
            "from D:/scenes/a.tif",
            "\\\\server\\share\\a.tif",
            "file:///a.tif",
            "~/scenes/a.tif",
            "/vsizip//home/ana/a.zip/b.tif",
            "source=/scratch/x/y",
        ] {
            assert_eq!(found(text), [CheckKind::Paths], "{text}");
        }
        for text in [
            "DATA/roi_0001/s2",
            "https://host/home/x/y.tif",
            "s3://bucket/data/x",
            "/vsicurl/https://host/data/x",
            "km/h, or m/s",
            "and/or",
            "/",
            "B: 3",
            "10:00/12:00",
            "a/b/c",
            "urn:ogc:def/x",
            "1/2",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn credentials_are_found_by_their_form() {
        for text in [
            "https://bucket.s3.amazonaws.com/a.tif?X-Amz-Signature=abc&X-Amz-Expires=60",
            "see https://account.blob.core.windows.net/c/a?sv=2022&sig=abc for it",
            "/vsicurl/https://host/a.tif?token=abc",
            "https://me:hunter2@host/a.tif",
            "AKIAIOSFODNN7EXAMPLE",
            "token hf_abcdefghijklmnopqrstuvwxyzABCDEF",
            "password = hunter22",
            "-----BEGIN RSA PRIVATE KEY-----",
        ] {
            assert!(
                found(text).contains(&CheckKind::Credentials),
                "{text}: {:?}",
                found(text)
            );
        }
        for text in [
            "https://host/a.tif?version=2",
            "a password protects it",
            "s3://bucket/key",
            "akia",
            "hf_ data",
        ] {
            assert!(!found(text).contains(&CheckKind::Credentials), "{text}");
        }
    }

    #[test]
    fn user_names_private_servers_and_email_addresses_are_found() {
        assert_eq!(found("labelled by jdoe"), [CheckKind::UserNames]);
        assert_eq!(found("jdoes and mjdoe"), []);
        assert_eq!(
            PrivateText::new(Some("root")).found_in("the root of it"),
            []
        );
        assert_eq!(found("http://localhost:8000/a"), [CheckKind::PrivateLinks]);
        assert_eq!(
            found("https://tiles.acme.internal/a"),
            [CheckKind::PrivateLinks]
        );
        assert_eq!(found("https://192.168.1.9/a"), [CheckKind::PrivateLinks]);
        assert_eq!(found("https://example.org/a"), []);
        assert_eq!(found("ask ana@example.org"), [CheckKind::Emails]);
    }
}
