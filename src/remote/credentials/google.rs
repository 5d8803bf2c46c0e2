//! Clients of Google Cloud Storage.

use std::path::PathBuf;

use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};

use super::client::{client_for, client_options, connector_for, without_retries};
use super::environment::{is_yes, read_variable};
use super::fault::{BuiltBucket, SignedBuilder};
use super::settings::Access;
use super::token::refuse_unencrypted_keys;
use crate::remote::bucket::{Bucket, Signer};
use crate::remote::http::Connector;

pub(super) fn configure_google(
    bucket: &str,
    access: &Access,
) -> SignedBuilder<GoogleCloudStorageBuilder> {
    let mut builder = GoogleCloudStorageBuilder::from_env()
        .with_bucket_name(bucket)
        .with_client_options(client_options())
        .with_retry(without_retries())
        .with_http_connector(Connector::default());
    if let Some(endpoint) = &access.endpoint {
        builder = builder
            .with_base_url(endpoint.trim_end_matches('/'))
            .with_http_connector(connector_for(endpoint));
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
    let nobody = read_variable(&keys).is_none() && !home.is_some_and(|file| file.exists());
    let signs = !(access.anonymous || nobody || is_yes(read_variable(&["GS_NO_SIGN_REQUEST"])));
    if !signs {
        builder = builder.with_skip_signature(true);
    }
    refuse_unencrypted_keys(access.endpoint.as_deref(), signs, &["GOOGLE_ALLOW_HTTP"])?;
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

pub(super) fn bucket_of_google(
    bucket: &str,
    (builder, signs): (GoogleCloudStorageBuilder, bool),
) -> BuiltBucket {
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
