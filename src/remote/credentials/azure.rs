//! Clients of Azure Blob Storage.

use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};

use super::client::{client_for, client_options, connector_for, without_retries};
use super::environment::{drop_empty_text, is_yes, read_variable};
use super::fault::{BuiltBucket, CredentialFault, SignedBuilder};
use super::settings::Access;
use super::token::refuse_unencrypted_keys;
use crate::error::Error;
use crate::remote::bucket::{Bucket, Signer};
use crate::remote::http::Connector;

pub(super) fn configure_azure(
    container: &str,
    access: &Access,
) -> SignedBuilder<MicrosoftAzureBuilder> {
    let mut builder = MicrosoftAzureBuilder::from_env()
        .with_container_name(container)
        .with_client_options(client_options())
        .with_retry(without_retries())
        .with_http_connector(Connector::default());
    let account = access
        .account
        .clone()
        .or_else(|| read_variable(&["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"]));
    if let Some(account) = account {
        builder = builder.with_account(account);
    }
    if let Some(endpoint) = &access.endpoint {
        let connector = connector_for(endpoint);
        builder = builder
            .with_endpoint(endpoint.trim_end_matches('/').to_owned())
            .with_http_connector(connector);
    }
    let signs = !(access.anonymous || is_yes(read_variable(&["AZURE_NO_SIGN_REQUEST"])));
    if !signs {
        builder = builder.with_skip_signature(true);
    }
    refuse_unencrypted_keys(
        builder
            .get_config_value(&AzureConfigKey::Endpoint)
            .as_deref(),
        signs,
        &["AZURE_ALLOW_HTTP"],
    )?;
    Ok((builder, signs))
}

pub(super) fn bucket_of_azure(
    container: &str,
    (builder, signs): (MicrosoftAzureBuilder, bool),
) -> BuiltBucket {
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
            let base = read_variable(&["AZURITE_BLOB_STORAGE_URL"])
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
