//! Clients of S3, with settings of the environment and of profiles, and of servers with its
//! interface.

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};

use super::client::{client_for, client_options, connector_for, without_retries};
use super::environment::{drop_empty_text, is_yes, read_variable};
use super::fault::{BuiltBucket, CredentialFault, SignedBuilder};
use super::settings::Access;
use super::token::refuse_unencrypted_keys;
use crate::error::Error;
use crate::model::Address;
use crate::remote::bucket::{Bucket, Signer};
use crate::remote::http::Connector;
use crate::remote::profile;

pub(super) fn configure_s3(address: &Address, access: &Access) -> SignedBuilder<AmazonS3Builder> {
    let bucket = &*address.authority;
    let named = access
        .profile
        .clone()
        .or_else(|| read_variable(&["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]));
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
        .or_else(|| read_variable(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]));
    let endpoint = endpoint
        .or_else(read_gdal_endpoint)
        .or_else(|| own("endpoint_url"));
    let region = access
        .region
        .clone()
        .or_else(|| read_variable(&["AWS_REGION", "AWS_DEFAULT_REGION"]))
        .or_else(|| own("region"));
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(bucket)
        .with_region(region.unwrap_or_else(|| "us-east-1".into()))
        .with_client_options(client_options())
        .with_retry(without_retries())
        .with_http_connector(Connector::default());
    if let Some(endpoint) = &endpoint {
        builder = builder
            .with_endpoint(endpoint.trim_end_matches('/'))
            .with_http_connector(connector_for(endpoint));
    }
    let mut signs = true;
    let given = read_variable(&["AWS_ACCESS_KEY_ID"]).is_some() && access.profile.is_none();
    let elsewhere = read_variable(&[
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ]);
    if access.anonymous || is_yes(read_variable(&["AWS_NO_SIGN_REQUEST"])) {
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
    let said = access.endpoint.is_none() && endpoint.is_some() && endpoint == read_gdal_endpoint();
    // The endpoint from the environment, as read by the library, counts too.
    let endpoint = endpoint
        .or_else(|| builder.get_config_value(&AmazonS3ConfigKey::Endpoint))
        .filter(|_| !said);
    refuse_unencrypted_keys(endpoint.as_deref(), signs, &["AWS_ALLOW_HTTP"])?;
    Ok((builder, signs))
}

/// GDAL's settings: a host without scheme in `AWS_S3_ENDPOINT`, and `AWS_HTTPS=NO` for servers
/// without a certificate.
fn read_gdal_endpoint() -> Option<String> {
    let host = read_variable(&["AWS_S3_ENDPOINT"])?;
    if host.contains("://") {
        return Some(host);
    }
    let plain = read_variable(&["AWS_HTTPS"]).is_some() && !is_yes(read_variable(&["AWS_HTTPS"]));
    Some(format!("{}://{host}", if plain { "http" } else { "https" }))
}

pub(super) fn bucket_of_s3(bucket: &str, (builder, signs): (AmazonS3Builder, bool)) -> BuiltBucket {
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
