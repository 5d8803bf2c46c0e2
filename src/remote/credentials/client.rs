//! What all clients have in common: options, connectors, no retries of their own.

use object_store::client::{HttpClient, HttpConnector};
use object_store::{ClientOptions, RetryConfig};

use super::fault::CredentialFault;
use super::token::is_within_machine;
use crate::model::Address;
use crate::remote::http::Connector;

/// Other options are set where the client is created ([`Connector`]).
pub(super) fn client_options() -> ClientOptions {
    ClientOptions::new().with_allow_http(true)
}

pub(super) fn without_retries() -> RetryConfig {
    RetryConfig {
        max_retries: 0,
        ..RetryConfig::default()
    }
}

/// The connector for requests signed with a provider's keys.
pub(super) fn connector_for(endpoint: &str) -> Connector {
    Connector {
        direct: Address::parse(endpoint).is_some_and(|address| is_within_machine(&address)),
        ..Connector::default()
    }
}

/// A client for requests to `url` that we make ourselves.
pub(super) fn client_for(url: &str) -> std::result::Result<HttpClient, CredentialFault> {
    Ok(connector_for(url).connect(&client_options())?)
}
