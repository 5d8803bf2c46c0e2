//! The one place that knows who may read what: settings of this run, the environment, profiles, tokens and signed links become
//! clients of object stores. GDAL reads through the same clients, so it needs none of this. Nothing here is ever printed or
//! written down.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::path::Path as Key;
use object_store::{ClientOptions, ObjectStore, RetryConfig};

use super::http::Connector;
use super::profile;
use crate::error::{Error, Result};
use crate::model::{Address, Scheme};

/// A word that lets its bearer in. Shown as dots, left out of everything that is written.
#[derive(Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(transparent)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// How to reach other machines in this run, where the environment does not say it or is to be overruled.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Access {
    /// The server to ask instead of the provider's own: `http://localhost:9000`.
    pub endpoint: Option<String>,
    /// Region of the bucket.
    pub region: Option<String>,
    /// Profile of the AWS command line.
    pub profile: Option<String>,
    /// Account of Azure.
    pub account: Option<String>,
    /// Send no credentials.
    pub anonymous: bool,
    /// Bearer token for `https://`.
    #[serde(skip_serializing)]
    pub token: Option<Secret>,
    /// Requests at one time; what the user set when absent.
    pub connections: Option<usize>,
}

/// Scheme, authority, and the query of a signed link.
type Place = (Scheme, Box<str>, Option<Box<str>>);

#[derive(Default)]
struct Known {
    access: Access,
    /// Queries of signed links by their address.
    links: Vec<(String, Box<str>)>,
    stores: HashMap<Place, Arc<dyn ObjectStore>>,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

fn known() -> MutexGuard<'static, Option<Known>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Uses these settings from now on.
pub fn set_access(access: Access) {
    let mut known = known();
    let known = known.get_or_insert_default();
    known.access = access;
    known.stores.clear();
}

/// The settings of this run.
pub fn access() -> Access {
    known().as_ref().map(|known| known.access.clone()).unwrap_or_default()
}

/// Requests at one time.
pub(super) fn connections() -> usize {
    let set = known().as_ref().and_then(|known| known.access.connections);
    set.map_or_else(super::limits::connections, |set| set.clamp(1, 64))
}

/// Takes in what somebody typed, pasted or gave as an argument: an address comes back in its plain spelling, without a query that
/// lets its bearer in. That is remembered for this run and sent with requests for the address and what is below it. Everything
/// else comes back as it is.
pub fn admit(text: &str) -> String {
    let Some(address) = Address::parse(text.trim()) else { return text.to_owned() };
    let (clean, secret) = address.without_secret();
    let clean = clean.to_string();
    if let Some(secret) = secret {
        let mut known = known();
        let known = known.get_or_insert_default();
        known.links.retain(|(other, _)| *other != clean);
        known.links.push((clean.clone(), secret));
    }
    clean
}

/// The client for an address, and the object's name in it.
pub(super) fn store_for(address: &Address) -> Result<(Arc<dyn ObjectStore>, Key)> {
    let bad = |error: object_store::path::Error| Error::usage("this address can't be read").at(address).because(error.to_string());
    let key = match address.is_web() {
        true => Key::from_url_path(&*address.path).map_err(bad)?,
        false => Key::parse(&*address.path).map_err(bad)?,
    };
    let access = access();
    let query = address.is_web().then(|| link_of(address).or_else(|| address.query.clone())).flatten();
    let name = (address.scheme, address.authority.clone(), query);
    if let Some(store) = known().as_ref().and_then(|known| known.stores.get(&name).cloned()) {
        return Ok((store, key));
    }
    let built = match address.scheme {
        Scheme::Http | Scheme::Https => web(address, name.2.as_deref(), &access),
        Scheme::S3 => s3(&address.authority, &access),
        Scheme::Gs => google(&address.authority, &access),
        Scheme::Az => azure(&address.authority, &access),
    };
    let store = built.map_err(|error| match error {
        Fault::Own(error) => error.at(address),
        Fault::Store(error) => Error::usage("the settings for this address are not complete")
            .at(address)
            .because(root_cause(&error))
            .hint("set the variables that its provider's own tools use, or try it without credentials (--anonymous)"),
    })?;
    let mut known = known();
    let known = known.get_or_insert_default();
    // Settings may have changed meanwhile. And of several threads all get the same client: by it open files are told apart.
    let store = if known.access == access { known.stores.entry(name).or_insert(store).clone() } else { store };
    Ok((store, key))
}

enum Fault {
    Own(Error),
    Store(object_store::Error),
}

impl From<object_store::Error> for Fault {
    fn from(error: object_store::Error) -> Self {
        Fault::Store(error)
    }
}

type Built = std::result::Result<Arc<dyn ObjectStore>, Fault>;

/// The query of the signed link that an address belongs to: its own, or that of a folder above it.
fn link_of(address: &Address) -> Option<Box<str>> {
    let text = address.to_string();
    let known = known();
    let links = known.as_ref()?.links.iter().rev();
    let holds = |link: &str| text == link || text.strip_prefix(link.trim_end_matches('/')).is_some_and(|r| r.starts_with('/'));
    links.filter(|(link, _)| holds(link)).max_by_key(|(link, _)| link.len()).map(|(_, query)| query.clone())
}

fn variable(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
}

fn is_yes(text: Option<String>) -> bool {
    text.is_some_and(|text| ["yes", "true", "1", "on"].contains(&text.trim().to_ascii_lowercase().as_str()))
}

/// The rest is said where the client is made ([`Connector`]).
fn options() -> ClientOptions {
    ClientOptions::new().with_allow_http(true)
}

fn no_retry() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

/// True for the hosts that get the token in `HF_TOKEN`, and no others.
pub(super) fn is_hub(authority: &str) -> bool {
    let host = authority.split(':').next().unwrap_or_default();
    ["huggingface.co", "hf.co"].iter().any(|known| host == *known || host.ends_with(&format!(".{known}")))
}

fn web(address: &Address, query: Option<&str>, access: &Access) -> Built {
    let scheme = if address.scheme == Scheme::Http { "http" } else { "https" };
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    let given = access.token.as_ref().map(|token| token.0.clone()).or_else(|| variable(&["GDAL_HTTP_BEARER"]));
    let token = given.or_else(|| variable(&["HF_TOKEN"]).filter(|_| is_hub(&address.authority)));
    let token = token.filter(|_| !access.anonymous);
    let mut headers = object_store::HeaderMap::new();
    if let Some(value) = token.and_then(|token| format!("Bearer {}", token.trim()).parse().ok()) {
        headers.insert("authorization", value);
    }
    let builder = HttpBuilder::new()
        .with_url(format!("{scheme}://{}/{query}", address.authority))
        .with_client_options(options())
        .with_retry(no_retry())
        .with_http_connector(Connector { headers });
    Ok(Arc::new(builder.build()?))
}

fn s3(bucket: &str, access: &Access) -> Built {
    let named = access.profile.clone().or_else(|| variable(&["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]));
    let profile = profile::load(named.as_deref().unwrap_or("default"));
    if let (Some(name), None) = (&named, &profile) {
        let error = Error::usage(format!("there is no AWS profile called {name}"));
        return Err(Fault::Own(error.hint("list them with `aws configure list-profiles`, or leave the profile away")));
    }
    let profile = profile.unwrap_or_default();
    let own = |key: &str| profile.get(key).cloned();
    let endpoint = access.endpoint.clone().or_else(|| variable(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]));
    let endpoint = endpoint.or_else(gdal_endpoint).or_else(|| own("endpoint_url"));
    let region = access.region.clone().or_else(|| variable(&["AWS_REGION", "AWS_DEFAULT_REGION"])).or_else(|| own("region"));
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(bucket)
        .with_region(region.unwrap_or_else(|| "us-east-1".into()))
        .with_client_options(options())
        .with_retry(no_retry())
        .with_http_connector(Connector::default());
    if let Some(endpoint) = endpoint {
        builder = builder.with_endpoint(endpoint.trim_end_matches('/'));
    }
    let given = variable(&["AWS_ACCESS_KEY_ID"]).is_some() && access.profile.is_none();
    let elsewhere =
        variable(&["AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"]);
    if access.anonymous || is_yes(variable(&["AWS_NO_SIGN_REQUEST"])) {
        builder = builder.with_skip_signature(true);
    } else if given || (elsewhere.is_some() && access.profile.is_none()) {
        // `from_env` has taken them.
    } else if let (Some(id), Some(secret)) = (own("aws_access_key_id"), own("aws_secret_access_key")) {
        builder = builder.with_access_key_id(id).with_secret_access_key(secret);
        if let Some(token) = own("aws_session_token") {
            builder = builder.with_token(token);
        }
    } else if let Some(name) = &access.profile {
        let error = Error::unsupported(format!("the AWS profile {name} has no access key of its own"));
        return Err(Fault::Own(error.hint("export the keys of a session with `aws configure export-credentials --format env`")));
    } else {
        // Nothing says who asks: a public bucket answers, others say 403.
        builder = builder.with_skip_signature(true);
    }
    Ok(Arc::new(builder.build()?))
}

/// GDAL's spelling: a host without scheme, and `AWS_HTTPS=NO` for those that have no certificate.
fn gdal_endpoint() -> Option<String> {
    let host = variable(&["AWS_S3_ENDPOINT"])?;
    if host.contains("://") {
        return Some(host);
    }
    let plain = variable(&["AWS_HTTPS"]).is_some() && !is_yes(variable(&["AWS_HTTPS"]));
    Some(format!("{}://{host}", if plain { "http" } else { "https" }))
}

fn google(bucket: &str, access: &Access) -> Built {
    let mut builder = GoogleCloudStorageBuilder::from_env()
        .with_bucket_name(bucket)
        .with_client_options(options())
        .with_retry(no_retry())
        .with_http_connector(Connector::default());
    if let Some(endpoint) = &access.endpoint {
        builder = builder.with_base_url(endpoint.trim_end_matches('/'));
    }
    let keys =
        ["GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH", "GOOGLE_SERVICE_ACCOUNT_KEY"];
    let home = directories::BaseDirs::new().map(|dirs| dirs.config_dir().join("gcloud/application_default_credentials.json"));
    let nobody = variable(&keys).is_none() && !home.is_some_and(|file| file.exists());
    if access.anonymous || nobody || is_yes(variable(&["GS_NO_SIGN_REQUEST"])) {
        builder = builder.with_skip_signature(true);
    }
    Ok(Arc::new(builder.build()?))
}

fn azure(container: &str, access: &Access) -> Built {
    let mut builder = MicrosoftAzureBuilder::from_env()
        .with_container_name(container)
        .with_client_options(options())
        .with_retry(no_retry())
        .with_http_connector(Connector::default());
    let account = access.account.clone().or_else(|| variable(&["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"]));
    if let Some(account) = account {
        builder = builder.with_account(account);
    }
    if let Some(endpoint) = &access.endpoint {
        builder = builder.with_endpoint(endpoint.trim_end_matches('/').to_owned());
    }
    if access.anonymous || is_yes(variable(&["AZURE_NO_SIGN_REQUEST"])) {
        builder = builder.with_skip_signature(true);
    }
    Ok(Arc::new(builder.build()?))
}

/// The last reason of a chain. Those above it repeat the whole address, with what a signed link carries.
pub(super) fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut last = error;
    while let Some(below) = last.source() {
        last = below;
    }
    let text = last.to_string();
    // Messages of servers may be long and hold the address again.
    let words = text.split_whitespace().map(|word| match (word.contains("://"), word.find('?')) {
        (true, Some(query)) => &word[..query],
        _ => word,
    });
    words.collect::<Vec<_>>().join(" ").chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_neither_shown_nor_written() {
        let access = Access { token: Some(Secret("hunter2".into())), ..Access::default() };
        let shown = format!("{access:?}{}", serde_json::to_string(&access).expect("writes"));
        assert!(!shown.contains("hunter2"), "{shown}");
        let read: Access = serde_json::from_str(r#"{"token":"hunter2"}"#).expect("reads");
        assert_eq!(read, access);
    }

    #[test]
    fn a_signed_link_is_taken_off_and_holds_below_its_folder() {
        let clean = admit(" https://signed.example/set?sv=1&sig=abc ");
        assert_eq!(clean, "https://signed.example/set");
        let query = |text: &str| link_of(&Address::parse(text).expect("is an address"));
        assert_eq!(query("https://signed.example/set/DATA/a").as_deref(), Some("sv=1&sig=abc"));
        assert_eq!(query("https://signed.example/settings"), None);
        assert_eq!(admit("/data/a?sig=1"), "/data/a?sig=1");
    }
}
