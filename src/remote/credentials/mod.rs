//! Credentials: settings of this run, environment, profiles, tokens and signed links are turned
//! into object store clients here and nowhere else. GDAL reads through the same clients and gets no
//! credentials. Nothing in this module is printed or stored.

mod alibaba;
mod azure;
mod client;
pub(super) mod connection_state;
mod environment;
mod fault;
mod google;
mod s3;
mod settings;
mod token;
mod web;

use std::sync::{Arc, MutexGuard, PoisonError};

use object_store::ObjectStore;
use object_store::path::Path as Key;

use super::bucket::Bucket;
use super::remote_access::remote_access;
use crate::error::{Error, Result};
use crate::model::{Address, Scheme};
use alibaba::configure_alibaba;
use azure::{bucket_of_azure, configure_azure};
use connection_state::Connections;
pub(super) use fault::root_cause;
use google::{bucket_of_google, configure_google};
use s3::{bucket_of_s3, configure_s3};
pub use settings::{Access, Secret};
pub(super) use token::is_hub;
use token::may_carry_token;
use web::{build_swift_client, build_web_client};

fn lock_connections() -> MutexGuard<'static, Option<Connections>> {
    let connections = &remote_access().connections;
    connections.lock().unwrap_or_else(PoisonError::into_inner)
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
    let mut known = lock_connections();
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
    lock_connections()
        .as_ref()
        .map(|known| known.last.clone())
        .unwrap_or_default()
}

/// The settings for an address.
pub(super) fn access_for(address: &Address) -> Access {
    lock_connections()
        .as_ref()
        .map(|known| known.access_for(address).clone())
        .unwrap_or_default()
}

/// Maximum number of parallel requests.
pub(super) fn connections() -> usize {
    let set = lock_connections()
        .as_ref()
        .and_then(|known| known.access.connections);
    set.map_or_else(
        || remote_access().limits.connections(),
        |set| set.clamp(1, 64),
    )
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
        let mut known = lock_connections();
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
        .then(|| find_link_query(address).or_else(|| address.query.clone()))
        .flatten();
    let name = (address.scheme, address.authority.clone(), query);
    if let Some(store) = lock_connections()
        .as_ref()
        .and_then(|known| known.stores.get(&name).cloned())
    {
        return Ok((store, key));
    }
    let built = match address.scheme {
        Scheme::Http | Scheme::Https => build_web_client(address, name.2.as_deref(), &access),
        Scheme::S3 => configure_s3(address, &access)
            .and_then(|(builder, _)| Ok(Arc::new(builder.build()?) as _)),
        Scheme::Gs => configure_google(&address.authority, &access)
            .and_then(|(builder, _)| Ok(Arc::new(builder.build()?) as _)),
        Scheme::Az => configure_azure(&address.authority, &access)
            .and_then(|(builder, _)| Ok(Arc::new(builder.build()?) as _)),
        Scheme::Oss => configure_alibaba(&address.authority, &access)
            .and_then(|(builder, _)| Ok(Arc::new(builder.build()?) as _)),
        Scheme::Swift => build_swift_client(&address.authority, &access),
    };
    let store = built.map_err(|fault| fault.into_error(address))?;
    // The settings may have changed meanwhile. All threads must get the same client, as it
    // identifies open files.
    let mut known = lock_connections();
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
    if let Some(bucket) = lock_connections()
        .as_ref()
        .and_then(|known| known.buckets.get(&name).cloned())
    {
        return Ok(bucket);
    }
    let bucket = match address.scheme {
        Scheme::S3 => {
            configure_s3(address, &access).and_then(|set| bucket_of_s3(&address.authority, set))
        }
        Scheme::Oss => configure_alibaba(&address.authority, &access)
            .and_then(|set| bucket_of_s3(&address.authority, set)),
        Scheme::Gs => configure_google(&address.authority, &access)
            .and_then(|set| bucket_of_google(&address.authority, set)),
        Scheme::Az => configure_azure(&address.authority, &access)
            .and_then(|set| bucket_of_azure(&address.authority, set)),
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
    let mut known = lock_connections();
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
    if let Some(known) = lock_connections().as_mut() {
        std::mem::forget(std::mem::take(&mut known.stores));
        std::mem::forget(std::mem::take(&mut known.buckets));
    }
}

/// The query of the signed link that applies to an address: its own, or that of a parent folder.
fn find_link_query(address: &Address) -> Option<Box<str>> {
    let text = address.to_string();
    let known = lock_connections();
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

#[cfg(test)]
mod tests {
    use super::token::token_for;
    use super::*;

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
    fn a_signed_link_is_taken_off_and_holds_below_its_folder() {
        let clean = admit(" https://signed.example/set?sv=1&sig=abc ");
        assert_eq!(clean, "https://signed.example/set");
        let query = |text: &str| find_link_query(&Address::parse(text).expect("is an address"));
        assert_eq!(
            query("https://signed.example/set/DATA/a").as_deref(),
            Some("sv=1&sig=abc")
        );
        assert_eq!(query("https://signed.example/settings"), None);
        assert_eq!(admit("/data/a?sig=1"), "/data/a?sig=1");
    }
}
