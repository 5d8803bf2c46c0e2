//! Credentials: settings of this run, environment, profiles, tokens and signed links are turned
//! into object store clients here and nowhere else. GDAL reads through the same clients and gets no
//! credentials. Nothing in this module is printed or stored.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::HttpConnector;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path as Key;
use object_store::{ClientOptions, ObjectStore, RetryConfig};
use reqwest::header::HeaderValue;

use super::bucket::{Bucket, Signer};
use super::http::Connector;
use super::profile;
use crate::error::{Error, Result};
use crate::model::{Address, Scheme};

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
    /// Servers and buckets that the settings apply to, as [`Address::origin`] spells them; all when
    /// empty. A token requires servers.
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

/// Scheme, authority, and query of a signed link.
type TokenScope = (Scheme, Box<str>, Option<Box<str>>);

#[derive(Default)]
struct KnownToken {
    /// Settings of all servers not in `of_hosts`.
    access: Access,
    /// Settings by server or bucket.
    of_hosts: HashMap<String, Access>,
    /// The most recent settings.
    last: Access,
    /// Queries of signed links, by address.
    links: Vec<(String, Box<str>)>,
    stores: HashMap<TokenScope, Arc<dyn ObjectStore>>,
    /// Where objects are written.
    buckets: HashMap<(Scheme, Box<str>), Arc<Bucket>>,
}

static TOKENS: Mutex<Option<KnownToken>> = Mutex::new(None);

fn lock_known_tokens() -> MutexGuard<'static, Option<KnownToken>> {
    TOKENS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the connection settings of the named servers, or of all others when none is named. A server
/// keeps its token until another one is set or `anonymous` is.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for a token without servers, or for a server without
/// encryption.
pub fn set_access(access: Access) -> Result<()> {
    let hosts: Vec<String> = access
        .hosts
        .iter()
        .map(|host| Address::parse(host).map_or(host.clone(), |it| it.origin()))
        .collect();
    if access.token.is_some() {
        if hosts.is_empty() {
            let error = Error::usage("the token names no server");
            return Err(error.hint("name the servers in `hosts`, as https://HOST"));
        }
        if let Some(host) = hosts.iter().find(|host| exposes_token(host)) {
            let error =
                Error::usage("a token is not sent without encryption, as it could be intercepted")
                    .at_place(host);
            return Err(error.hint("use the server's https:// address, or omit the token"));
        }
    }
    let mut known = lock_known_tokens();
    let known = known.get_or_insert_default();
    known.last = Access {
        token: None,
        hosts: Vec::new(),
        ..access.clone()
    };
    // The number of parallel requests is global.
    known.access.connections = access.connections;
    if hosts.is_empty() {
        known.access = access;
    } else {
        for host in hosts {
            let before = known
                .of_hosts
                .remove(&host)
                .and_then(|before| before.token)
                .filter(|_| !access.anonymous);
            let token = access.token.clone().or(before);
            known.of_hosts.insert(
                host,
                Access {
                    token,
                    ..access.clone()
                },
            );
        }
    }
    known.stores.clear();
    known.buckets.clear();
    Ok(())
}

/// True for a server that is named with an address without encryption.
fn exposes_token(host: &str) -> bool {
    Address::parse(host).is_some_and(|address| address.is_web() && !may_carry_token(&address))
}

/// The most recent settings without token and servers: the initial values of a form.
pub fn access() -> Access {
    lock_known_tokens()
        .as_ref()
        .map(|known| known.last.clone())
        .unwrap_or_default()
}

impl KnownToken {
    fn access_for(&self, address: &Address) -> &Access {
        self.of_hosts.get(&address.origin()).unwrap_or(&self.access)
    }
}

/// The settings for an address.
pub(super) fn access_for(address: &Address) -> Access {
    lock_known_tokens()
        .as_ref()
        .map(|known| known.access_for(address).clone())
        .unwrap_or_default()
}

/// Maximum number of parallel requests.
pub(super) fn connections() -> usize {
    let set = lock_known_tokens()
        .as_ref()
        .and_then(|known| known.access.connections);
    set.map_or_else(super::limits::connections, |set| set.clamp(1, 64))
}

/// Normalizes text entered by the user: an address is returned in canonical form without a query
/// that may contain a secret, which is remembered for this run and sent with requests to the
/// address and paths below it. Other text is returned unchanged.
pub fn admit(text: &str) -> String {
    let Some(address) = Address::parse(text.trim()) else {
        return text.to_owned();
    };
    admit_address(address).to_string()
}

/// [`admit`] for a parsed address.
pub(super) fn admit_address(address: Address) -> Address {
    let (clean, secret) = address.without_secret();
    if let Some(secret) = secret {
        let text = clean.to_string();
        let mut known = lock_known_tokens();
        let known = known.get_or_insert_default();
        known.links.retain(|(other, _)| *other != text);
        known.links.push((text, secret));
    }
    clean
}

/// The client for an address, and the object's key.
pub(super) fn store_for(address: &Address) -> Result<(Arc<dyn ObjectStore>, Key)> {
    let bad = |error| unreadable_address_error(address, &error);
    let key = if address.is_web() {
        Key::from_url_path(&*address.path).map_err(bad)?
    } else {
        Key::parse(&*address.path).map_err(bad)?
    };
    let access = access_for(address);
    let query = address
        .is_web()
        .then(|| link_of(address).or_else(|| address.query.clone()))
        .flatten();
    let name = (address.scheme, address.authority.clone(), query);
    if let Some(store) = lock_known_tokens()
        .as_ref()
        .and_then(|known| known.stores.get(&name).cloned())
    {
        return Ok((store, key));
    }
    let built = match address.scheme {
        Scheme::Http | Scheme::Https => web(address, name.2.as_deref(), &access),
        Scheme::S3 => {
            s3(address, &access).and_then(|(builder, _)| Ok(Arc::new(builder.build()?) as _))
        }
        Scheme::Gs => google(&address.authority, &access)
            .and_then(|(builder, _)| Ok(Arc::new(builder.build()?) as _)),
        Scheme::Az => azure(&address.authority, &access)
            .and_then(|(builder, _)| Ok(Arc::new(builder.build()?) as _)),
        Scheme::Oss => alibaba(&address.authority, &access)
            .and_then(|(builder, _)| Ok(Arc::new(builder.build()?) as _)),
        Scheme::Swift => swift(&address.authority, &access),
    };
    let store = built.map_err(|fault| fault.into_error(address))?;
    // The settings may have changed meanwhile. All threads must get the same client, as it
    // identifies open files.
    let mut known = lock_known_tokens();
    let known = known.get_or_insert_default();
    let is_current = *known.access_for(address) == access;
    let store = if is_current {
        known.stores.entry(name).or_insert(store).clone()
    } else {
        store
    };
    Ok((store, key))
}

fn unreadable_address_error(address: &Address, error: &object_store::path::Error) -> Error {
    Error::usage("this address can't be read")
        .at_place(address)
        .because(error.to_string())
}

enum CredentialFault {
    Own(Error),
    Store(object_store::Error),
}

impl CredentialFault {
    fn into_error(self, address: &Address) -> Error {
        match self {
            CredentialFault::Own(error) => error.at_place(address),
            CredentialFault::Store(error) => {
                Error::usage("the settings for this address are not complete")
                    .at_place(address)
                    .because(root_cause(&error))
                    .hint(
                        "set the variables that its provider's own tools use, or try it without \
                            credentials (--anonymous)",
                    )
            }
        }
    }
}

impl From<object_store::Error> for CredentialFault {
    fn from(error: object_store::Error) -> Self {
        CredentialFault::Store(error)
    }
}

type BuiltCredentials = std::result::Result<Arc<dyn ObjectStore>, CredentialFault>;
/// The settings of a client, and whether it signs its requests.
type Set<B> = std::result::Result<(B, bool), CredentialFault>;

/// Where the objects of an address are written, and how requests for it are signed: with the
/// settings and credentials that reading has.
///
/// # Errors
/// [`Kind::Unsupported`](crate::error::Kind::Unsupported) for an address without a protocol for
/// writing, [`Kind::Usage`](crate::error::Kind::Usage) for incomplete settings.
pub(super) fn bucket_for(address: &Address) -> Result<Arc<Bucket>> {
    let (access, name) = (
        access_for(address),
        (address.scheme, address.authority.clone()),
    );
    if let Some(bucket) = lock_known_tokens()
        .as_ref()
        .and_then(|known| known.buckets.get(&name).cloned())
    {
        return Ok(bucket);
    }
    let bucket =
        match address.scheme {
            Scheme::S3 => s3(address, &access).and_then(|set| s3_bucket(&address.authority, set)),
            Scheme::Oss => alibaba(&address.authority, &access)
                .and_then(|set| s3_bucket(&address.authority, set)),
            Scheme::Gs => google(&address.authority, &access)
                .and_then(|set| google_bucket(&address.authority, set)),
            Scheme::Az => azure(&address.authority, &access)
                .and_then(|set| azure_bucket(&address.authority, set)),
            Scheme::Http | Scheme::Https | Scheme::Swift => {
                return Err(Error::unsupported(
                    "outputs are written to this machine, or to an s3://, \
                        gs://, az:// or oss:// address",
                )
                .at_place(address)
                .hint(
                    "write to a file or folder here, and bring it there with the tool of that \
                    store",
                ));
            }
        };
    let bucket = Arc::new(bucket.map_err(|fault| fault.into_error(address))?);
    let mut known = lock_known_tokens();
    let known = known.get_or_insert_default();
    let is_current = *known.access_for(address) == access;
    Ok(if is_current {
        known.buckets.entry(name).or_insert(bucket).clone()
    } else {
        bucket
    })
}

/// Forgets the clients of the process that this one was forked from, whose connections are that
/// process's. Nothing is freed.
pub(super) fn forget_clients() {
    if let Some(known) = lock_known_tokens().as_mut() {
        std::mem::forget(std::mem::take(&mut known.stores));
        std::mem::forget(std::mem::take(&mut known.buckets));
    }
}

/// A client for requests to `url` that we make ourselves.
fn client_for(url: &str) -> std::result::Result<object_store::client::HttpClient, CredentialFault> {
    Ok(signing(url).connect(&options())?)
}

fn s3_bucket(
    bucket: &str,
    (builder, signs): (AmazonS3Builder, bool),
) -> std::result::Result<Bucket, CredentialFault> {
    let set = |key| drop_empty_text(builder.get_config_value(&key));
    let region = set(AmazonS3ConfigKey::Region).unwrap_or_else(|| "us-east-1".into());
    let endpoint = set(AmazonS3ConfigKey::Endpoint).or_else(|| set(AmazonS3ConfigKey::S3Endpoint));
    let in_host = is_yes(set(AmazonS3ConfigKey::VirtualHostedStyleRequest));
    // The library takes an endpoint for virtual hosts with the bucket in its name.
    let url = match endpoint {
        Some(endpoint) if in_host => endpoint.trim_end_matches('/').to_owned(),
        Some(endpoint) => format!("{}/{bucket}", endpoint.trim_end_matches('/')),
        None if in_host => format!("https://{bucket}.s3.{region}.amazonaws.com"),
        None => format!("https://s3.{region}.amazonaws.com/{bucket}"),
    };
    let signer = Signer::S3 {
        store: Box::new(builder.build()?),
        region,
        signs,
    };
    Ok(Bucket {
        client: client_for(&url)?,
        name: bucket.into(),
        url,
        signer,
    })
}

fn google_bucket(
    bucket: &str,
    (builder, signs): (GoogleCloudStorageBuilder, bool),
) -> std::result::Result<Bucket, CredentialFault> {
    let url = builder
        .get_config_value(&GoogleConfigKey::BaseUrl)
        .unwrap_or_else(|| "https://storage.googleapis.com".into());
    let url = url.trim_end_matches('/').to_owned();
    let signer = Signer::Google {
        store: Box::new(builder.build()?),
        signs,
    };
    Ok(Bucket {
        client: client_for(&url)?,
        name: bucket.into(),
        url,
        signer,
    })
}

fn azure_bucket(
    container: &str,
    (builder, signs): (MicrosoftAzureBuilder, bool),
) -> std::result::Result<Bucket, CredentialFault> {
    let set = |key| drop_empty_text(builder.get_config_value(&key));
    let emulated = is_yes(set(AzureConfigKey::UseEmulator));
    let account =
        set(AzureConfigKey::AccountName).or_else(|| emulated.then(|| "devstoreaccount1".into()));
    let Some(account) = account else {
        let error = Error::usage("the storage account is not known");
        return Err(CredentialFault::Own(
            error.hint("set AZURE_STORAGE_ACCOUNT_NAME"),
        ));
    };
    let url = match set(AzureConfigKey::Endpoint) {
        _ if emulated => {
            let base = variable(&["AZURITE_BLOB_STORAGE_URL"])
                .unwrap_or_else(|| "http://127.0.0.1:10000".into());
            format!("{}/{account}/{container}", base.trim_end_matches('/'))
        }
        Some(endpoint) => format!("{}/{container}", endpoint.trim_end_matches('/')),
        None => format!("https://{account}.blob.core.windows.net/{container}"),
    };
    let signer = Signer::Azure {
        store: Box::new(builder.build()?),
        account,
        signs,
    };
    Ok(Bucket {
        client: client_for(&url)?,
        name: container.into(),
        url,
        signer,
    })
}

fn drop_empty_text(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

/// The query of the signed link that applies to an address: its own, or that of a parent folder.
fn link_of(address: &Address) -> Option<Box<str>> {
    let text = address.to_string();
    let known = lock_known_tokens();
    let links = known.as_ref()?.links.iter().rev();
    links
        .filter(|(link, _)| link_covers(link, &text))
        .max_by_key(|(link, _)| link.len())
        .map(|(_, query)| query.clone())
}

/// True for the link of an address or of a folder above it.
fn link_covers(link: &str, address: &str) -> bool {
    let below = address.strip_prefix(link.trim_end_matches('/'));
    address == link || below.is_some_and(|rest| rest.starts_with('/'))
}

fn variable(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| {
        std::env::var(name)
            .ok()
            .filter(|value| !value.trim().is_empty())
    })
}

fn is_yes(text: Option<String>) -> bool {
    text.is_some_and(|text| {
        ["yes", "true", "1", "on"].contains(&text.trim().to_ascii_lowercase().as_str())
    })
}

/// Other options are set where the client is created ([`Connector`]).
fn options() -> ClientOptions {
    ClientOptions::new().with_allow_http(true)
}

fn no_retry() -> RetryConfig {
    RetryConfig {
        max_retries: 0,
        ..RetryConfig::default()
    }
}

/// The servers that receive the token in `HF_TOKEN`.
const HUB: [&str; 2] = ["https://huggingface.co", "https://hf.co"];

/// True for a server that receives the token in `HF_TOKEN`.
pub(super) fn is_hub(address: &Address) -> bool {
    HUB.contains(&address.origin().as_str())
}

/// True when a token may be sent: encrypted, or to this machine.
fn may_carry_token(address: &Address) -> bool {
    match address.scheme {
        Scheme::Https => true,
        Scheme::Http => is_within_machine(address),
        Scheme::S3 | Scheme::Gs | Scheme::Az | Scheme::Oss | Scheme::Swift => false,
    }
}

/// True for unencrypted requests to this machine.
fn is_within_machine(address: &Address) -> bool {
    address.scheme == Scheme::Http && is_loopback(&address.authority)
}

/// The connector for requests signed with a provider's keys.
fn signing(endpoint: &str) -> Connector {
    Connector {
        direct: Address::parse(endpoint).is_some_and(|address| is_within_machine(&address)),
        ..Connector::default()
    }
}

fn is_loopback(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// True when the list contains the server. Entries are separated by commas, with optional scheme
/// and port; an entry without scheme means `https`, or a server on this machine.
fn is_listed(address: &Address, list: &str) -> bool {
    let origin = address.origin();
    list.split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .any(|entry| match entry.contains("://") {
            true => Address::parse(entry).is_some_and(|named| named.origin() == origin),
            false => ["https", "http"].iter().any(|scheme| {
                Address::parse(&format!("{scheme}://{entry}"))
                    .is_some_and(|named| named.origin() == origin)
            }),
        })
}

/// The token for a web server: the one set for it, the one of the environment when the environment
/// names this server, or that of the hub.
fn token_for(address: &Address, access: &Access) -> Option<String> {
    if access.anonymous || !may_carry_token(address) {
        return None;
    }
    let typed = access
        .token
        .as_ref()
        .filter(|_| !access.hosts.is_empty())
        .map(|token| token.0.clone());
    let listed =
        || variable(&["TACO_STUDIO_BEARER_HOSTS"]).is_some_and(|list| is_listed(address, &list));
    let stated = || variable(&["GDAL_HTTP_BEARER"]).filter(|_| listed());
    let hub = || variable(&["HF_TOKEN"]).filter(|_| is_hub(address));
    typed
        .or_else(stated)
        .or_else(hub)
        .map(|token| token.trim().to_owned())
}

/// Refuses to sign unencrypted requests, which would reveal session keys. `allowed` lists the
/// variables that permit it.
fn refuse_open(
    endpoint: Option<&str>,
    signs: bool,
    allowed: &[&str],
) -> std::result::Result<(), CredentialFault> {
    let Some(address) = endpoint
        .and_then(Address::parse)
        .filter(|address| address.scheme == Scheme::Http && signs)
    else {
        return Ok(());
    };
    if is_loopback(&address.authority) || allowed.iter().any(|name| is_yes(variable(&[name]))) {
        return Ok(());
    }
    let name = allowed.first().copied().unwrap_or_default();
    let error = Error::usage(format!(
        "credentials are not sent to {} without encryption",
        address.origin()
    ));
    Err(CredentialFault::Own(error.hint(format!(
        "use its https:// address, send no credentials (--anonymous), or allow it with {name}=true"
    ))))
}

fn web(address: &Address, query: Option<&str>, access: &Access) -> BuiltCredentials {
    let scheme = if address.scheme == Scheme::Http {
        "http"
    } else {
        "https"
    };
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    let mut headers = object_store::HeaderMap::new();
    if let Some(mut value) = token_for(address, access)
        .and_then(|token| format!("Bearer {token}").parse::<HeaderValue>().ok())
    {
        value.set_sensitive(true);
        headers.insert("authorization", value);
    }
    let builder = HttpBuilder::new()
        .with_url(format!("{scheme}://{}/{query}", address.authority))
        .with_client_options(options())
        .with_retry(no_retry())
        .with_http_connector(Connector {
            headers,
            direct: is_within_machine(address),
        });
    Ok(Arc::new(builder.build()?))
}

fn s3(address: &Address, access: &Access) -> Set<AmazonS3Builder> {
    let bucket = &*address.authority;
    let named = access
        .profile
        .clone()
        .or_else(|| variable(&["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]));
    let profile = profile::load(named.as_deref().unwrap_or("default"));
    if let (Some(name), None) = (&named, &profile) {
        let error = Error::usage(format!("there is no AWS profile called {name}"));
        return Err(CredentialFault::Own(error.hint(
            "list them with `aws configure list-profiles`, or omit the profile",
        )));
    }
    let profile = profile.unwrap_or_default();
    let own = |key: &str| profile.get(key).cloned();
    let endpoint = access
        .endpoint
        .clone()
        .or_else(|| variable(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]));
    let endpoint = endpoint
        .or_else(gdal_endpoint)
        .or_else(|| own("endpoint_url"));
    let region = access
        .region
        .clone()
        .or_else(|| variable(&["AWS_REGION", "AWS_DEFAULT_REGION"]))
        .or_else(|| own("region"));
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(bucket)
        .with_region(region.unwrap_or_else(|| "us-east-1".into()))
        .with_client_options(options())
        .with_retry(no_retry())
        .with_http_connector(Connector::default());
    if let Some(endpoint) = &endpoint {
        builder = builder
            .with_endpoint(endpoint.trim_end_matches('/'))
            .with_http_connector(signing(endpoint));
    }
    let mut signs = true;
    let given = variable(&["AWS_ACCESS_KEY_ID"]).is_some() && access.profile.is_none();
    let elsewhere = variable(&[
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ]);
    if access.anonymous || is_yes(variable(&["AWS_NO_SIGN_REQUEST"])) {
        (builder, signs) = (builder.with_skip_signature(true), false);
    } else if given || (elsewhere.is_some() && access.profile.is_none()) {
        // `from_env` has read them.
    } else if let (Some(id), Some(secret)) =
        (own("aws_access_key_id"), own("aws_secret_access_key"))
    {
        builder = builder
            .with_access_key_id(id)
            .with_secret_access_key(secret);
        if let Some(token) = own("aws_session_token") {
            builder = builder.with_token(token);
        }
    } else if let Some(name) = &access.profile {
        let error = Error::unsupported(format!(
            "the AWS profile {name} has no access key of its own"
        ));
        return Err(CredentialFault::Own(error.hint(
            "export the keys of a session with `aws configure export-credentials --format env`",
        )));
    } else {
        // Without credentials: public buckets respond, others with status 403.
        (builder, signs) = (builder.with_skip_signature(true), false);
    }
    // GDAL's endpoint setting states explicitly that encryption is off.
    let said = access.endpoint.is_none() && endpoint.is_some() && endpoint == gdal_endpoint();
    // The endpoint from the environment, as read by the library, counts too.
    let endpoint = endpoint
        .or_else(|| builder.get_config_value(&AmazonS3ConfigKey::Endpoint))
        .filter(|_| !said);
    refuse_open(endpoint.as_deref(), signs, &["AWS_ALLOW_HTTP"])?;
    Ok((builder, signs))
}

/// GDAL's settings: a host without scheme in `AWS_S3_ENDPOINT`, and `AWS_HTTPS=NO` for servers
/// without a certificate.
fn gdal_endpoint() -> Option<String> {
    let host = variable(&["AWS_S3_ENDPOINT"])?;
    if host.contains("://") {
        return Some(host);
    }
    let plain = variable(&["AWS_HTTPS"]).is_some() && !is_yes(variable(&["AWS_HTTPS"]));
    Some(format!("{}://{host}", if plain { "http" } else { "https" }))
}

fn google(bucket: &str, access: &Access) -> Set<GoogleCloudStorageBuilder> {
    let mut builder = GoogleCloudStorageBuilder::from_env()
        .with_bucket_name(bucket)
        .with_client_options(options())
        .with_retry(no_retry())
        .with_http_connector(Connector::default());
    if let Some(endpoint) = &access.endpoint {
        builder = builder
            .with_base_url(endpoint.trim_end_matches('/'))
            .with_http_connector(signing(endpoint));
    }
    let keys = [
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_SERVICE_ACCOUNT",
        "GOOGLE_SERVICE_ACCOUNT_PATH",
        "GOOGLE_SERVICE_ACCOUNT_KEY",
    ];
    let home = directories::BaseDirs::new().map(|dirs| {
        find_google_config_folder(&dirs).join("gcloud/application_default_credentials.json")
    });
    let nobody = variable(&keys).is_none() && !home.is_some_and(|file| file.exists());
    let signs = !(access.anonymous || nobody || is_yes(variable(&["GS_NO_SIGN_REQUEST"])));
    if !signs {
        builder = builder.with_skip_signature(true);
    }
    refuse_open(access.endpoint.as_deref(), signs, &["GOOGLE_ALLOW_HTTP"])?;
    Ok((builder, signs))
}

/// The folder of configurations in which Google's own tools keep their credentials.
fn find_google_config_folder(dirs: &directories::BaseDirs) -> PathBuf {
    if cfg!(windows) {
        dirs.config_dir().to_owned()
    } else {
        dirs.home_dir().join(".config")
    }
}

fn azure(container: &str, access: &Access) -> Set<MicrosoftAzureBuilder> {
    let mut builder = MicrosoftAzureBuilder::from_env()
        .with_container_name(container)
        .with_client_options(options())
        .with_retry(no_retry())
        .with_http_connector(Connector::default());
    let account = access
        .account
        .clone()
        .or_else(|| variable(&["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"]));
    if let Some(account) = account {
        builder = builder.with_account(account);
    }
    if let Some(endpoint) = &access.endpoint {
        let connector = signing(endpoint);
        builder = builder
            .with_endpoint(endpoint.trim_end_matches('/').to_owned())
            .with_http_connector(connector);
    }
    let signs = !(access.anonymous || is_yes(variable(&["AZURE_NO_SIGN_REQUEST"])));
    if !signs {
        builder = builder.with_skip_signature(true);
    }
    refuse_open(
        builder
            .get_config_value(&AzureConfigKey::Endpoint)
            .as_deref(),
        signs,
        &["AZURE_ALLOW_HTTP"],
    )?;
    Ok((builder, signs))
}

/// The endpoint of Alibaba Cloud that GDAL takes where none is named.
const OSS_ENDPOINT: &str = "oss-us-east-1.aliyuncs.com";

/// Alibaba Cloud through its interface for S3, with GDAL's variables.
fn alibaba(bucket: &str, access: &Access) -> Set<AmazonS3Builder> {
    let endpoint = access
        .endpoint
        .clone()
        .or_else(|| variable(&["OSS_ENDPOINT"]))
        .unwrap_or_else(|| OSS_ENDPOINT.into());
    let plain = variable(&["OSS_HTTPS"]).is_some() && !is_yes(variable(&["OSS_HTTPS"]));
    let (scheme, host) = endpoint
        .split_once("://")
        .unwrap_or((if plain { "http" } else { "https" }, &endpoint));
    let host = host.trim_end_matches('/');
    let region = access.region.clone().or_else(|| {
        let name = host.split('.').find_map(|part| part.strip_prefix("oss-"))?;
        Some(name.trim_end_matches("-internal").to_owned())
    });
    // The provider accepts names of buckets as part of the host alone; other servers with this
    // interface may want them in the path.
    let in_host = variable(&["OSS_VIRTUAL_HOSTING"])
        .map_or(host.ends_with("aliyuncs.com"), |text| is_yes(Some(text)));
    let host = if host.starts_with("oss-") && host.ends_with("aliyuncs.com") {
        format!("s3.{host}")
    } else {
        host.to_owned()
    };
    let origin = format!("{scheme}://{host}");
    let url = if in_host {
        format!("{scheme}://{bucket}.{host}")
    } else {
        origin.clone()
    };
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_region(region.unwrap_or_else(|| "us-east-1".into()))
        .with_endpoint(url)
        .with_virtual_hosted_style_request(in_host)
        .with_client_options(options())
        .with_retry(no_retry())
        .with_http_connector(signing(&origin));
    let keys = (
        variable(&["OSS_ACCESS_KEY_ID"]),
        variable(&["OSS_SECRET_ACCESS_KEY"]),
    );
    let signs = match keys {
        (Some(id), Some(secret)) if !access.anonymous => {
            builder = builder
                .with_access_key_id(id)
                .with_secret_access_key(secret);
            if let Some(token) = variable(&["OSS_SESSION_TOKEN"]) {
                builder = builder.with_token(token);
            }
            true
        }
        _ => {
            builder = builder.with_skip_signature(true);
            false
        }
    };
    refuse_open(Some(&origin), signs && !plain, &["OSS_ALLOW_HTTP"])?;
    Ok((builder, signs))
}

/// OpenStack Swift, with the address and token that an earlier login gave: GDAL's SWIFT_STORAGE_URL
/// and SWIFT_AUTH_TOKEN, or those of OpenStack's own tools.
fn swift(container: &str, access: &Access) -> BuiltCredentials {
    let storage = access
        .endpoint
        .clone()
        .or_else(|| variable(&["SWIFT_STORAGE_URL", "OS_STORAGE_URL"]));
    let Some(storage) =
        storage.filter(|storage| Address::parse(storage).is_some_and(|address| address.is_web()))
    else {
        let error = Error::usage("the address of the Swift account is not known");
        return Err(CredentialFault::Own(error.hint(
            "log in with `swift auth`, which gives OS_STORAGE_URL and OS_AUTH_TOKEN, or \
                set SWIFT_STORAGE_URL",
        )));
    };
    let token = variable(&["SWIFT_AUTH_TOKEN", "OS_AUTH_TOKEN"]).filter(|_| !access.anonymous);
    refuse_open(Some(&storage), token.is_some(), &["SWIFT_ALLOW_HTTP"])?;
    let mut headers = object_store::HeaderMap::new();
    if let Some(mut value) = token.and_then(|token| token.trim().parse::<HeaderValue>().ok()) {
        value.set_sensitive(true);
        headers.insert("x-auth-token", value);
    }
    let builder = HttpBuilder::new()
        .with_url(format!("{}/{container}", storage.trim_end_matches('/')))
        .with_client_options(options())
        .with_retry(no_retry())
        .with_http_connector(Connector {
            headers,
            ..signing(&storage)
        });
    Ok(Arc::new(builder.build()?))
}

/// The innermost error of a chain. Outer ones repeat the address with the secrets of a signed link.
pub(super) fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut last = error;
    while let Some(below) = last.source() {
        last = below;
    }
    let text = last.to_string();
    // Server messages may be long and repeat the address.
    let words = text
        .split_whitespace()
        .map(|word| match (word.contains("://"), word.find('?')) {
            (true, Some(query)) => &word[..query],
            _ => word,
        });
    words
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(300)
        .collect()
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

    fn address(text: &str) -> Address {
        Address::parse(text).expect("is an address")
    }

    #[test]
    fn a_token_belongs_to_the_server_that_it_was_typed_for() {
        let token = |text: &str| Some(Secret(text.into()));
        let typed = |hosts: &[&str], token: Option<Secret>| Access {
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            token,
            ..Access::default()
        };
        set_access(typed(&["https://One.example/data/a.tacozip"], token("one"))).expect("is taken");
        set_access(typed(&["https://two.example:8443"], token("two"))).expect("is taken");
        let sent = |text: &str| token_for(&address(text), &access_for(&address(text)));
        assert_eq!(sent("https://one.example/b").as_deref(), Some("one"));
        assert_eq!(sent("https://one.example:443/b").as_deref(), Some("one"));
        assert_eq!(sent("https://two.example:8443/b").as_deref(), Some("two"));
        for other in [
            "https://two.example/b",
            "https://three.example/",
            "https://one.example.evil.example/",
            "http://one.example/b",
        ] {
            assert_eq!(sent(other), None, "{other}");
        }
        // Other settings for a server keep its token, unless `anonymous` is set.
        set_access(typed(&["https://one.example"], None)).expect("is taken");
        assert_eq!(sent("https://one.example/b").as_deref(), Some("one"));
        set_access(Access {
            anonymous: true,
            ..typed(&["https://one.example"], None)
        })
        .expect("is taken");
        assert_eq!(sent("https://one.example/b"), None);
        assert_eq!(access().token, None, "a token does not come back");
    }

    #[test]
    fn a_token_is_never_sent_without_encryption_or_without_a_server() {
        let typed = |host: &str| {
            let hosts = Some(host)
                .filter(|host| !host.is_empty())
                .map(str::to_owned)
                .into_iter()
                .collect();
            set_access(Access {
                hosts,
                token: Some(Secret("x".into())),
                ..Access::default()
            })
        };
        assert!(
            typed("http://plain.example")
                .expect_err("is refused")
                .to_string()
                .contains("without encryption")
        );
        assert!(
            typed("")
                .expect_err("is refused")
                .to_string()
                .contains("no server")
        );
        for host in [
            "http://localhost:80",
            "http://127.9.9.9:1",
            "http://[::1]:8080",
        ] {
            assert!(may_carry_token(&address(host)), "{host}");
        }
        for host in [
            "http://127.0.0.1.example",
            "http://localhost.example",
            "http://10.0.0.1",
            "s3://bucket",
        ] {
            assert!(!may_carry_token(&address(host)), "{host}");
        }
    }

    #[test]
    fn tokens_of_the_environment_go_to_stated_servers_only() {
        for hub in ["https://huggingface.co/datasets/a", "https://hf.co/a"] {
            assert!(is_hub(&address(hub)), "{hub}");
        }
        for other in [
            "http://huggingface.co/a",
            "https://huggingface.co:8443/a",
            "https://a.huggingface.co/",
            "https://nothf.co/",
        ] {
            assert!(!is_hub(&address(other)), "{other}");
        }
        let list = " data.example , 127.0.0.1:8080,https://other.example:8443";
        for listed in [
            "https://data.example/a",
            "http://127.0.0.1:8080/a",
            "https://OTHER.example:8443/a",
        ] {
            assert!(is_listed(&address(listed), list), "{listed}");
        }
        for other in [
            "https://data.example:8443/a",
            "https://x.data.example/",
            "https://other.example/",
            "http://other.example:8443/",
        ] {
            assert!(!is_listed(&address(other), list), "{other}");
        }
    }

    #[test]
    fn keys_sign_requests_without_encryption_within_this_machine_only() {
        let refused = |endpoint: &str, signs| {
            refuse_open(Some(endpoint), signs, &["TACO_STUDIO_NEVER_SET"]).is_err()
        };
        assert!(refused("http://minio.example:9000", true));
        assert!(
            !refused("http://minio.example:9000", false)
                && !refused("https://minio.example:9000", true)
        );
        assert!(!refused("http://localhost:9000", true) && !refused("http://127.0.0.1:9000", true));
    }

    #[test]
    fn a_signed_link_is_taken_off_and_holds_below_its_folder() {
        let clean = admit(" https://signed.example/set?sv=1&sig=abc ");
        assert_eq!(clean, "https://signed.example/set");
        let query = |text: &str| link_of(&Address::parse(text).expect("is an address"));
        assert_eq!(
            query("https://signed.example/set/DATA/a").as_deref(),
            Some("sv=1&sig=abc")
        );
        assert_eq!(query("https://signed.example/settings"), None);
        assert_eq!(admit("/data/a?sig=1"), "/data/a?sig=1");
    }
}
