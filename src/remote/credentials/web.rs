//! Clients of web servers and of OpenStack Swift, which take a token.

use std::sync::Arc;

use object_store::http::HttpBuilder;
use reqwest::header::HeaderValue;

use super::client::{client_options, connector_for, without_retries};
use super::environment::read_variable;
use super::fault::{BuiltClient, CredentialFault};
use super::settings::Access;
use super::token::{is_within_machine, refuse_unencrypted_keys, token_for};
use crate::error::Error;
use crate::model::{Address, Scheme};
use crate::remote::http::Connector;

pub(super) fn build_web_client(
    address: &Address,
    query: Option<&str>,
    access: &Access,
) -> BuiltClient {
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
        .with_client_options(client_options())
        .with_retry(without_retries())
        .with_http_connector(Connector {
            headers,
            direct: is_within_machine(address),
        });
    Ok(Arc::new(builder.build()?))
}

/// OpenStack Swift, with the address and token that an earlier login gave: GDAL's SWIFT_STORAGE_URL
/// and SWIFT_AUTH_TOKEN, or those of OpenStack's own tools.
pub(super) fn build_swift_client(container: &str, access: &Access) -> BuiltClient {
    let storage = access
        .endpoint
        .clone()
        .or_else(|| read_variable(&["SWIFT_STORAGE_URL", "OS_STORAGE_URL"]));
    let Some(storage) =
        storage.filter(|storage| Address::parse(storage).is_some_and(|address| address.is_web()))
    else {
        let error = Error::usage("the address of the Swift account is not known");
        return Err(CredentialFault::Own(error.hint(
            "log in with `swift auth`, which gives OS_STORAGE_URL and OS_AUTH_TOKEN, or \
                set SWIFT_STORAGE_URL",
        )));
    };
    let token = read_variable(&["SWIFT_AUTH_TOKEN", "OS_AUTH_TOKEN"]).filter(|_| !access.anonymous);
    refuse_unencrypted_keys(Some(&storage), token.is_some(), &["SWIFT_ALLOW_HTTP"])?;
    let mut headers = object_store::HeaderMap::new();
    if let Some(mut value) = token.and_then(|token| token.trim().parse::<HeaderValue>().ok()) {
        value.set_sensitive(true);
        headers.insert("x-auth-token", value);
    }
    let builder = HttpBuilder::new()
        .with_url(format!("{}/{container}", storage.trim_end_matches('/')))
        .with_client_options(client_options())
        .with_retry(without_retries())
        .with_http_connector(Connector {
            headers,
            ..connector_for(&storage)
        });
    Ok(Arc::new(builder.build()?))
}
