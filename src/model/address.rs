//! Addresses of files on other machines, as they stand where a path may stand: `https://host/a.tacozip`, `s3://bucket/a`,
//! `gs://bucket/a`, `az://container/a`, and GDAL's spelling of them (`/vsicurl/https://…`, `/vsis3/bucket/a`). Pure text.

use std::fmt;
use std::path::{Path, PathBuf};

/// How a file is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Without encryption: servers of one's own.
    Http,
    /// With encryption.
    Https,
    /// Amazon S3 and what speaks like it.
    S3,
    /// Google Cloud Storage.
    Gs,
    /// Azure Blob Storage.
    Az,
}

/// Schemes with their spelling and GDAL's prefix.
const SCHEMES: [(Scheme, &str, &str); 5] = [
    (Scheme::Https, "https://", "/vsicurl/https://"),
    (Scheme::Http, "http://", "/vsicurl/http://"),
    (Scheme::S3, "s3://", "/vsis3/"),
    (Scheme::Gs, "gs://", "/vsigs/"),
    (Scheme::Az, "az://", "/vsiaz/"),
];

/// Keys of a query that let their bearer in: a query that has one of them is never shown or kept.
const SECRET_KEYS: [&str; 12] = [
    "sig",
    "signature",
    "token",
    "access_token",
    "auth",
    "key",
    "apikey",
    "api_key",
    "password",
    "awsaccesskeyid",
    "key-pair-id",
    "policy",
];

/// A file, or a folder of files, on another machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// How it is reached.
    pub scheme: Scheme,
    /// Host and port, or the bucket.
    pub authority: Box<str>,
    /// What stands behind it, without a slash at the beginning: percent-encoded for HTTP, the plain key for buckets.
    pub path: Box<str>,
    /// What follows `?`; HTTP only.
    pub query: Option<Box<str>>,
}

impl Address {
    /// Reads an address; `None` for everything else, paths of this machine among them.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = SCHEMES
            .iter()
            .find_map(|(scheme, plain, vsi)| Some((*scheme, without(text, plain).or_else(|| without(text, vsi))?)))?;
        let web = matches!(scheme, Scheme::Http | Scheme::Https);
        let rest = if web { rest.split('#').next().unwrap_or(rest) } else { rest };
        let (rest, query) = match rest.split_once('?').filter(|_| web) {
            Some((rest, query)) => (rest, Some(query).filter(|query| !query.is_empty()).map(Into::into)),
            None => (rest, None),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        // A name and password before the host are dropped: they would be shown wherever the address is.
        let authority = authority.rsplit('@').next().unwrap_or(authority);
        (!authority.is_empty()).then(|| Self { scheme, authority: authority.into(), path: path.into(), query })
    }

    /// [`Address::parse`] of a path.
    pub fn of(path: &Path) -> Option<Self> {
        Self::parse(path.to_str()?)
    }

    /// True for addresses whose path is percent-encoded.
    pub fn is_web(&self) -> bool {
        matches!(self.scheme, Scheme::Http | Scheme::Https)
    }

    /// The path as GDAL wants it.
    pub fn to_vsi(&self) -> String {
        let prefix = SCHEMES.iter().find(|(scheme, ..)| *scheme == self.scheme).map_or("", |(.., vsi)| vsi);
        self.spelled(prefix)
    }

    /// The address of `relative`, which is plain text with `/` between steps, below this one.
    pub fn child(&self, relative: &str) -> Self {
        let below = if self.is_web() { percent_encoded(relative) } else { relative.to_owned() };
        let above = self.path.trim_end_matches('/');
        let path = if above.is_empty() { below } else { format!("{above}/{below}") };
        Self { path: path.into(), ..self.clone() }
    }

    /// The folder that holds it.
    pub fn parent(&self) -> Self {
        let path = self.path.trim_end_matches('/').rsplit_once('/').map_or("", |(above, _)| above);
        Self { path: path.into(), ..self.clone() }
    }

    /// The last step of the path.
    pub fn name(&self) -> &str {
        self.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
    }

    /// Who is asked: the host, or the bucket with its scheme.
    pub fn host(&self) -> String {
        if self.is_web() { self.authority.to_string() } else { format!("{}{}", self.prefix(), self.authority) }
    }

    /// The address without a query that lets its bearer in, and that query.
    pub fn without_secret(mut self) -> (Self, Option<Box<str>>) {
        let secret = |query: &str| {
            query.split('&').any(|pair| {
                let key = pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
                SECRET_KEYS.contains(&key.as_str()) || key.starts_with("x-amz-") || key.starts_with("x-goog-")
            })
        };
        let query = self.query.take_if(|query| secret(query));
        (self, query)
    }

    fn prefix(&self) -> &'static str {
        SCHEMES.iter().find(|(scheme, ..)| *scheme == self.scheme).map_or("", |(_, plain, _)| plain)
    }

    fn spelled(&self, prefix: &str) -> String {
        let Self { authority, path, query, .. } = self;
        let slash = if path.is_empty() { "" } else { "/" };
        let query = query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{prefix}{authority}{slash}{path}{query}")
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spelled(self.prefix()))
    }
}

/// True for paths that are addresses of another machine.
pub fn is_remote(path: &Path) -> bool {
    Address::of(path).is_some()
}

/// `relative`, with `/` between steps, below `base`, which is a folder here or elsewhere.
pub fn place_below(base: &Path, relative: &str) -> PathBuf {
    match Address::of(base) {
        Some(address) => PathBuf::from(address.child(relative).to_string()),
        None => base.join(relative),
    }
}

/// The folder that holds `path`, here or elsewhere.
pub fn place_above(path: &Path) -> Option<PathBuf> {
    match Address::of(path) {
        Some(address) => Some(PathBuf::from(address.parent().to_string())),
        None => path.parent().map(Path::to_owned),
    }
}

/// A path as GDAL and the readers of Python want it: absolute, addresses in GDAL's spelling.
pub fn vsi_place(path: &Path) -> PathBuf {
    match Address::of(path) {
        Some(address) => PathBuf::from(address.to_vsi()),
        None => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
    }
}

fn without<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let start = text.get(..prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=:@".contains(&byte);
        match plain {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Address {
        Address::parse(text).expect("is an address")
    }

    #[test]
    fn both_spellings_are_one_address() {
        for (plain, vsi) in [
            ("https://host:8080/a%20b/c.tacozip", "/vsicurl/https://host:8080/a%20b/c.tacozip"),
            ("s3://bucket/a b/c.tacozip", "/vsis3/bucket/a b/c.tacozip"),
            ("gs://bucket/c", "/vsigs/bucket/c"),
            ("az://container/c", "/vsiaz/container/c"),
        ] {
            assert_eq!(parsed(plain), parsed(vsi));
            assert_eq!(parsed(vsi).to_string(), plain);
            assert_eq!(parsed(plain).to_vsi(), vsi);
        }
        for local in ["/data/a.tacozip", "a:b", "https:", "https://", "/vsizip/a.zip", "c:\\a", "file:///a"] {
            assert_eq!(Address::parse(local), None, "{local}");
        }
    }

    #[test]
    fn names_below_are_encoded_where_the_scheme_asks_for_it() {
        assert_eq!(place_below(Path::new("https://h/set/"), "DATA/a b#1"), Path::new("https://h/set/DATA/a%20b%231"));
        assert_eq!(place_below(Path::new("s3://b/set"), "DATA/a b#1"), Path::new("s3://b/set/DATA/a b#1"));
        assert_eq!(place_below(Path::new("/set"), "DATA/a"), Path::new("/set/DATA/a"));
        assert_eq!(place_above(Path::new("https://h/set/.tacocat")), Some("https://h/set".into()));
        assert_eq!(parsed("https://h/set/x/").name(), "x");
    }

    #[test]
    fn queries_that_let_somebody_in_are_taken_off() {
        let (clean, secret) = parsed("https://me:pw@h/a.tacozip?sv=1&sig=abc").without_secret();
        assert_eq!((clean.to_string().as_str(), secret.as_deref()), ("https://h/a.tacozip", Some("sv=1&sig=abc")));
        let (clean, secret) = parsed("https://h/a.tacozip?download=1").without_secret();
        assert_eq!((clean.to_string().as_str(), secret), ("https://h/a.tacozip?download=1", None));
    }
}
