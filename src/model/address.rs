//! Addresses of remote files, accepted wherever a path is: `https://host/a.tacozip`,
//! `s3://bucket/a`, `gs://bucket/a`, `az://container/a` (or `azure://`), `oss://bucket/a`,
//! `swift://container/a`, GDAL's notation (`/vsicurl/https://…`, `/vsis3/bucket/a`), and those of
//! hubs (`hf://datasets/owner/name/a`). Pure text, no IO.

use std::fmt;
use std::path::{Path, PathBuf};

use percent_encoding::utf8_percent_encode;

use super::url_encoding::{ENCODED, ENCODED_IN_QUERY, encode_typed};

/// Protocol of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// HTTP without encryption: for local servers.
    Http,
    /// HTTPS.
    Https,
    /// Amazon S3 and compatible stores.
    S3,
    /// Google Cloud Storage.
    Gs,
    /// Azure Blob Storage.
    Az,
    /// Alibaba Cloud Object Storage Service.
    Oss,
    /// OpenStack Swift.
    Swift,
}

/// Schemes with their URL prefix and GDAL's prefix.
const SCHEMES: [(Scheme, &str, &str); 8] = [
    (Scheme::Https, "https://", "/vsicurl/https://"),
    (Scheme::Http, "http://", "/vsicurl/http://"),
    (Scheme::S3, "s3://", "/vsis3/"),
    (Scheme::Gs, "gs://", "/vsigs/"),
    (Scheme::Az, "az://", "/vsiaz/"),
    // Another spelling of the same store; the first one of a scheme is written.
    (Scheme::Az, "azure://", "/vsiaz/"),
    (Scheme::Oss, "oss://", "/vsioss/"),
    (Scheme::Swift, "swift://", "/vsiswift/"),
];

/// Substrings of query keys whose values are credentials: a query with such a key is never shown or
/// stored.
const SECRET_KEYS: [&str; 17] = [
    "sig", "token", "auth", "key", "pass", "pw", "secret", "policy", "cred", "session", "sid",
    "jwt", "ticket", "code", "x-amz-", "x-goog-", "bearer",
];
/// Maximum length of a query that is shown or stored.
const QUERY_MAX: usize = 96;
/// Maximum length of a mix of letters and digits that is not taken for a secret: a year, a version,
/// a level.
const MIXED_MAX: usize = 8;
/// Maximum length of a number or words that are not taken for a secret.
const PLAIN_MAX: usize = 32;

/// A remote file or folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Protocol.
    pub scheme: Scheme,
    /// Host and port, or bucket.
    pub authority: Box<str>,
    /// Path without leading slash: percent-encoded for HTTP, the plain key for buckets.
    pub path: Box<str>,
    /// Query after `?`; HTTP only.
    pub query: Option<Box<str>>,
}

impl Address {
    /// Parses an address; `None` for any other text, including local paths. Letters of a web
    /// address that a URL can't have, such as spaces, are percent-encoded; what is encoded already
    /// stays. Addresses and pages of hubs become the addresses of their files
    /// ([`HubListing`](super::HubListing) lists them).
    pub fn parse(text: &str) -> Option<Self> {
        match super::hub::web_address(text) {
            Some(address) => Self::parse_plain(&address),
            None => Self::parse_plain(text),
        }
    }

    fn parse_plain(text: &str) -> Option<Self> {
        let (scheme, rest) = SCHEMES.iter().find_map(|(scheme, plain, vsi)| {
            Some((
                *scheme,
                strip_prefix_ignoring_case(text, plain)
                    .or_else(|| strip_prefix_ignoring_case(text, vsi))?,
            ))
        })?;
        let web = matches!(scheme, Scheme::Http | Scheme::Https);
        let rest = if web {
            rest.split('#').next().unwrap_or(rest)
        } else {
            rest
        };
        let (rest, query) = match rest.split_once('?').filter(|_| web) {
            Some((rest, query)) => (rest, Some(query).filter(|query| !query.is_empty())),
            None => (rest, None),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let path = if web {
            encode_typed(path, ENCODED)
        } else {
            path.to_owned()
        };
        let query = query.map(|query: &str| encode_typed(query, ENCODED_IN_QUERY).into());
        // User name and password before the host are dropped, as many views show the address.
        let authority = authority.rsplit('@').next().unwrap_or(authority);
        (!authority.is_empty()).then(|| Self {
            scheme,
            authority: authority.into(),
            path: path.into(),
            query,
        })
    }

    /// Parses a path with [`Address::parse`].
    pub fn from_path(path: &Path) -> Option<Self> {
        Self::parse(path.to_str()?)
    }

    /// True for HTTP and HTTPS, whose path is percent-encoded.
    pub fn is_web(&self) -> bool {
        matches!(self.scheme, Scheme::Http | Scheme::Https)
    }

    /// The path in GDAL's notation.
    pub fn to_vsi(&self) -> String {
        let prefix = SCHEMES
            .iter()
            .find(|(scheme, ..)| *scheme == self.scheme)
            .map_or("", |(.., vsi)| vsi);
        self.format_with_prefix(prefix)
    }

    /// The address of `relative` below this one; `relative` is plain text with `/` separators.
    pub fn child(&self, relative: &str) -> Self {
        let below = if self.is_web() {
            utf8_percent_encode(relative, ENCODED).to_string()
        } else {
            relative.to_owned()
        };
        let above = self.path.trim_end_matches('/');
        let path = if above.is_empty() {
            below
        } else {
            format!("{above}/{below}")
        };
        Self {
            path: path.into(),
            ..self.clone()
        }
    }

    /// The address of the parent folder.
    pub fn parent(&self) -> Self {
        let path = self
            .path
            .trim_end_matches('/')
            .rsplit_once('/')
            .map_or("", |(above, _)| above);
        Self {
            path: path.into(),
            ..self.clone()
        }
    }

    /// The last component of the path.
    pub fn name(&self) -> &str {
        self.path
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or_default()
    }

    /// The server for messages: the host, or the bucket with its scheme.
    pub fn host(&self) -> String {
        if self.is_web() {
            self.authority.to_string()
        } else {
            format!("{}{}", self.prefix(), self.authority)
        }
    }

    /// The origin to which credentials apply: scheme, host and port (unless it is the scheme's
    /// default), or the bucket with its scheme.
    pub fn origin(&self) -> String {
        let authority = if self.is_web() {
            self.authority.to_ascii_lowercase()
        } else {
            self.authority.to_string()
        };
        let own_port = match self.scheme {
            Scheme::Https => ":443",
            Scheme::Http => ":80",
            Scheme::S3 | Scheme::Gs | Scheme::Az | Scheme::Oss | Scheme::Swift => "",
        };
        let authority = authority.strip_suffix(own_port).unwrap_or(&authority);
        format!("{}{}", self.prefix(), authority.trim_end_matches('.'))
    }

    /// Splits off a query that may contain a secret: one with a suspicious key, a long one, or one
    /// with a value that looks random.
    pub fn without_secret(mut self) -> (Self, Option<Box<str>>) {
        let query = self.query.take_if(|query| may_be_secret(query));
        (self, query)
    }

    fn prefix(&self) -> &'static str {
        SCHEMES
            .iter()
            .find(|(scheme, ..)| *scheme == self.scheme)
            .map_or("", |(_, plain, _)| plain)
    }

    fn format_with_prefix(&self, prefix: &str) -> String {
        let Self {
            authority,
            path,
            query,
            ..
        } = self;
        let slash = if path.is_empty() { "" } else { "/" };
        let query = query
            .as_ref()
            .map(|query| format!("?{query}"))
            .unwrap_or_default();
        format!("{prefix}{authority}{slash}{path}{query}")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.format_with_prefix(self.prefix()))
    }
}

/// True for paths that are remote addresses.
pub fn is_remote(path: &Path) -> bool {
    Address::from_path(path).is_some()
}

/// The path of `relative`, with `/` separators, below the local or remote folder `base`.
pub fn place_below(base: &Path, relative: &str) -> PathBuf {
    match Address::from_path(base) {
        Some(address) => PathBuf::from(address.child(relative).to_string()),
        None => base.join(relative),
    }
}

/// The parent folder of a local or remote path.
pub fn place_above(path: &Path) -> Option<PathBuf> {
    match Address::from_path(path) {
        Some(address) => Some(PathBuf::from(address.parent().to_string())),
        None => path.parent().map(Path::to_owned),
    }
}

/// A path as GDAL and the Python readers expect it: absolute, with addresses in GDAL's notation.
pub fn vsi_place(path: &Path) -> PathBuf {
    match Address::from_path(path) {
        Some(address) => PathBuf::from(address.to_vsi()),
        None => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
    }
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let start = text.get(..prefix.len())?;
    start
        .eq_ignore_ascii_case(prefix)
        .then(|| &text[prefix.len()..])
}

fn may_be_secret(query: &str) -> bool {
    if query.len() > QUERY_MAX {
        return true;
    }
    query.split('&').any(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or(("", pair));
        let key = key.to_ascii_lowercase();
        SECRET_KEYS.iter().any(|known| key.contains(known)) || is_opaque(value)
    })
}

/// True for a value that is neither short, nor a number or date, nor words.
fn is_opaque(value: &str) -> bool {
    let plain = |letter: char| "._-,+/: ".contains(letter);
    let number = value
        .chars()
        .all(|letter| letter.is_ascii_digit() || plain(letter));
    // Words are capitalized at most; random letters have capitals anywhere.
    let shifts = value
        .as_bytes()
        .windows(2)
        .filter(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase())
        .count();
    let words = shifts < 2
        && value
            .chars()
            .all(|letter| letter.is_ascii_alphabetic() || plain(letter));
    let limit = if number || words {
        PLAIN_MAX
    } else {
        MIXED_MAX
    };
    value.len() > limit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Address {
        Address::parse(text).expect("is an address")
    }

    #[test]
    fn both_notations_are_one_address() {
        for (plain, vsi) in [
            (
                "https://host:8080/a%20b/c.tacozip",
                "/vsicurl/https://host:8080/a%20b/c.tacozip",
            ),
            ("s3://bucket/a b/c.tacozip", "/vsis3/bucket/a b/c.tacozip"),
            ("gs://bucket/c", "/vsigs/bucket/c"),
            ("az://container/c", "/vsiaz/container/c"),
            ("oss://bucket/c", "/vsioss/bucket/c"),
            ("swift://container/c", "/vsiswift/container/c"),
        ] {
            assert_eq!(parsed(plain), parsed(vsi));
            assert_eq!(parsed(vsi).to_string(), plain);
            assert_eq!(parsed(plain).to_vsi(), vsi);
        }
        assert_eq!(
            parsed("azure://container/c").to_string(),
            "az://container/c"
        );
        for local in [
            "/data/a.tacozip",
            "a:b",
            "https:",
            "https://",
            "/vsizip/a.zip",
            "c:\\a",
            "file:///a",
        ] {
            assert_eq!(Address::parse(local), None, "{local}");
        }
    }

    #[test]
    fn letters_that_urls_cannot_have_are_encoded_once() {
        for (typed, vsi) in [
            (
                "http://h/with space.tacozip",
                "/vsicurl/http://h/with%20space.tacozip",
            ),
            (
                "/vsicurl/http://h/with space.tacozip",
                "/vsicurl/http://h/with%20space.tacozip",
            ),
            (
                "https://h/Cañón/日本.tacozip",
                "/vsicurl/https://h/Ca%C3%B1%C3%B3n/%E6%97%A5%E6%9C%AC.tacozip",
            ),
            (
                "https://h/a%20b/100%.tif",
                "/vsicurl/https://h/a%20b/100%25.tif",
            ),
            (
                "https://h/a%2Fb%zz[1]",
                "/vsicurl/https://h/a%2Fb%25zz%5B1%5D",
            ),
            (
                "https://h/a.tif?name=with space&x=%20?",
                "/vsicurl/https://h/a.tif?name=with%20space&x=%20?",
            ),
            ("s3://b/with space%20", "/vsis3/b/with space%20"),
        ] {
            assert_eq!(parsed(typed).to_vsi(), vsi);
            assert_eq!(parsed(vsi), parsed(typed));
        }
        assert_eq!(
            parsed("https://h/with space").child("a b"),
            parsed("https://h/with%20space/a%20b")
        );
    }

    #[test]
    fn names_below_are_encoded_where_the_scheme_asks_for_it() {
        assert_eq!(
            place_below(Path::new("https://h/set/"), "DATA/a b#1"),
            Path::new("https://h/set/DATA/a%20b%231")
        );
        assert_eq!(
            place_below(Path::new("s3://b/set"), "DATA/a b#1"),
            Path::new("s3://b/set/DATA/a b#1")
        );
        assert_eq!(
            place_below(Path::new("/set"), "DATA/a"),
            Path::new("/set/DATA/a")
        );
        assert_eq!(
            place_above(Path::new("https://h/set/.tacocat")),
            Some("https://h/set".into())
        );
        assert_eq!(parsed("https://h/set/x/").name(), "x");
    }

    #[test]
    fn queries_with_secrets_are_removed() {
        let (clean, secret) = parsed("https://me:pw@h/a.tacozip?sv=1&sig=abc").without_secret();
        assert_eq!(
            (clean.to_string().as_str(), secret.as_deref()),
            ("https://h/a.tacozip", Some("sv=1&sig=abc"))
        );
        let (clean, secret) = parsed("https://h/a.tacozip?download=1").without_secret();
        assert_eq!(
            (clean.to_string().as_str(), secret),
            ("https://h/a.tacozip?download=1", None)
        );
    }

    #[test]
    fn queries_that_look_random_are_removed() {
        for query in [
            "h=Zx8kQ2mV0aPq",
            "3fa85f64-5717-4562-b3fc-2c963f66afa6",
            "u=deadbeef1234",
            "x=AbCdEfGhIj",
            "X-Amz-Expires=60",
            "myAccessToken=1",
            "st=2024-01-01&sp=r&skoid=1&sktid=2&skt=2024&ske=2024&sks=b&skv=2023&\
                more=of-the-same-kind-and-so-on",
            "words=theyareoneverylongwordthatgoesonandon",
        ] {
            let (clean, secret) = parsed(&format!("https://h/a?{query}")).without_secret();
            assert_eq!(
                (clean.to_string().as_str(), secret.as_deref()),
                ("https://h/a", Some(query))
            );
        }
        for query in [
            "download=true",
            "raw=1",
            "version=2.0.1",
            "date=2024-05-01",
            "layer=SentinelTwo&level=12",
            "v=2024a",
            "latest",
        ] {
            assert_eq!(
                parsed(&format!("https://h/a?{query}")).without_secret().1,
                None,
                "{query}"
            );
        }
    }

    #[test]
    fn credentials_belong_to_scheme_host_and_port() {
        assert_eq!(
            parsed("https://Data.Example:443/a").origin(),
            "https://data.example"
        );
        assert_eq!(
            parsed("http://data.example.:8080/a").origin(),
            "http://data.example.:8080"
        );
        assert_eq!(
            parsed("http://data.example:443/").origin(),
            "http://data.example:443"
        );
        assert_eq!(parsed("/vsis3/Bucket/a").origin(), "s3://Bucket");
    }
}
