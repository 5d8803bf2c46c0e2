//! Clients of Alibaba Cloud.

use object_store::aws::AmazonS3Builder;

use super::client::{client_options, connector_for, without_retries};
use super::environment::{is_yes, read_variable};
use super::fault::SignedBuilder;
use super::settings::Access;
use super::token::refuse_unencrypted_keys;

/// The endpoint of Alibaba Cloud that GDAL takes where none is named.
const OSS_ENDPOINT: &str = "oss-us-east-1.aliyuncs.com";

/// Alibaba Cloud through its interface for S3, with GDAL's variables.
pub(super) fn configure_alibaba(bucket: &str, access: &Access) -> SignedBuilder<AmazonS3Builder> {
    let endpoint = access
        .endpoint
        .clone()
        .or_else(|| read_variable(&["OSS_ENDPOINT"]))
        .unwrap_or_else(|| OSS_ENDPOINT.into());
    let plain = read_variable(&["OSS_HTTPS"]).is_some() && !is_yes(read_variable(&["OSS_HTTPS"]));
    let (scheme, host) = endpoint
        .split_once("://")
        .unwrap_or((if plain { "http" } else { "https" }, &endpoint));
    let host = host.trim_end_matches('/');
    let region = access.region.clone().or_else(|| {
        let name = host.split('.').find_map(|part| part.strip_prefix("oss-"))?;
        Some(name.trim_end_matches("-internal").to_owned())
    });
    // The provider accepts names of buckets as part of the host alone; other servers with this
    // interface may require them in the path.
    let in_host = read_variable(&["OSS_VIRTUAL_HOSTING"])
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
        .with_client_options(client_options())
        .with_retry(without_retries())
        .with_http_connector(connector_for(&origin));
    let keys = (
        read_variable(&["OSS_ACCESS_KEY_ID"]),
        read_variable(&["OSS_SECRET_ACCESS_KEY"]),
    );
    let signs = match keys {
        (Some(id), Some(secret)) if !access.anonymous => {
            builder = builder
                .with_access_key_id(id)
                .with_secret_access_key(secret);
            if let Some(token) = read_variable(&["OSS_SESSION_TOKEN"]) {
                builder = builder.with_token(token);
            }
            true
        }
        _ => {
            builder = builder.with_skip_signature(true);
            false
        }
    };
    refuse_unencrypted_keys(Some(&origin), signs && !plain, &["OSS_ALLOW_HTTP"])?;
    Ok((builder, signs))
}
