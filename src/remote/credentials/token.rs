//! Which servers receive tokens and keys: those they were set for, with encryption or within this
//! machine.

use std::net::IpAddr;

use super::environment::{is_yes, read_variable};
use super::fault::CredentialFault;
use super::settings::Access;
use crate::error::Error;
use crate::model::{Address, Scheme};

/// The servers that receive the token in `HF_TOKEN`.
const HUB: [&str; 2] = ["https://huggingface.co", "https://hf.co"];

/// True for a server that receives the token in `HF_TOKEN`.
pub(in crate::remote) fn is_hub(address: &Address) -> bool {
    HUB.contains(&address.origin().as_str())
}

/// True when a token may be sent: encrypted, or to this machine.
pub(super) fn may_carry_token(address: &Address) -> bool {
    match address.scheme {
        Scheme::Https => true,
        Scheme::Http => is_within_machine(address),
        Scheme::S3 | Scheme::Gs | Scheme::Az | Scheme::Oss | Scheme::Swift => false,
    }
}

/// True for unencrypted requests to this machine.
pub(super) fn is_within_machine(address: &Address) -> bool {
    address.scheme == Scheme::Http && is_loopback(&address.authority)
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
pub(super) fn token_for(address: &Address, access: &Access) -> Option<String> {
    if access.anonymous || !may_carry_token(address) {
        return None;
    }
    let typed = access
        .token
        .as_ref()
        .filter(|_| !access.hosts.is_empty())
        .map(|token| token.0.clone());
    let listed = || {
        read_variable(&["TACO_STUDIO_BEARER_HOSTS"]).is_some_and(|list| is_listed(address, &list))
    };
    let stated = || read_variable(&["GDAL_HTTP_BEARER"]).filter(|_| listed());
    let hub = || read_variable(&["HF_TOKEN"]).filter(|_| is_hub(address));
    typed
        .or_else(stated)
        .or_else(hub)
        .map(|token| token.trim().to_owned())
}

/// Refuses to sign unencrypted requests, which would reveal session keys. `allowed` lists the
/// variables that permit it.
pub(super) fn refuse_unencrypted_keys(
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
    if is_loopback(&address.authority) || allowed.iter().any(|name| is_yes(read_variable(&[name])))
    {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        Address::parse(text).expect("is an address")
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
            refuse_unencrypted_keys(Some(endpoint), signs, &["TACO_STUDIO_NEVER_SET"]).is_err()
        };
        assert!(refused("http://minio.example:9000", true));
        assert!(
            !refused("http://minio.example:9000", false)
                && !refused("https://minio.example:9000", true)
        );
        assert!(!refused("http://localhost:9000", true) && !refused("http://127.0.0.1:9000", true));
    }
}
