//! From where addresses can be reached. A redirect must not lead this program from a server of the
//! internet to one that only this machine or its network reaches.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::runtime;
use crate::error::Result;
use crate::model::Address;

/// Time for which the addresses of a host that was redirected to are used.
const KNOWN_FOR: Duration = Duration::from_secs(60);
/// Maximum number of hosts whose addresses are kept.
const KNOWN_MAX: usize = 64;
/// Addresses of the metadata of virtual machines in private ranges.
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// From where an address can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// From everywhere.
    Public,
    /// From a private network (RFC 1918, RFC 6598, RFC 4193).
    Private,
    /// From this machine.
    Loopback,
    /// From the same link (RFC 3927, RFC 4291), such as the metadata of a virtual machine; and
    /// addresses of no single host.
    LinkLocal,
}

impl Reach {
    /// True when a server that is reached from here may redirect to one that is reached from
    /// `target`.
    pub fn may_redirect_to(self, target: Self) -> bool {
        match target {
            Self::Public => true,
            Self::Private => matches!(self, Self::Private | Self::Loopback),
            Self::Loopback | Self::LinkLocal => self == target,
        }
    }

    fn from_address(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        match address.octets() {
            [0 | 127, ..] => Self::Loopback,
            [169, 254, ..] | [224..=255, ..] => Self::LinkLocal,
            [10, ..]
            | [192, 168, ..]
            | [192, 0, 0, _]
            | [172, 16..=31, ..]
            | [100, 64..=127, ..]
            | [198, 18 | 19, ..] => Self::Private,
            _ => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        let [first, second, third, ..] = address.segments();
        let [.., high, low] = address.segments();
        match (first, second) {
            _ if address.is_loopback() || address.is_unspecified() => Self::Loopback,
            _ if address == METADATA_V6 => Self::LinkLocal,
            // Mapped and compatible IPv4 addresses, NAT64 and 6to4.
            (0, 0) => Self::of_embedded_v4(high, low),
            (0x64, 0xff9b) => Self::of_embedded_v4(high, low),
            (0x2002, _) => Self::of_embedded_v4(second, third),
            (0xfc00..=0xfdff, _) => Self::Private,
            (0xfe80..=0xfebf, _) | (0xff00..=0xffff, _) => Self::LinkLocal,
            (0xfec0..=0xfeff, _) => Self::Private,
            _ => Self::Public,
        }
    }

    /// Of the IPv4 address with these two halves.
    fn of_embedded_v4(high: u16, low: u16) -> Self {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Self::of_v4(Ipv4Addr::new(a, b, c, d))
    }
}

/// Resolves names of hosts, and keeps the addresses of those that were redirected to: the
/// connection is made to the addresses that were checked.
#[derive(Clone, Default)]
pub(super) struct Hosts {
    known: Arc<Mutex<HashMap<String, KnownHost>>>,
}

struct KnownHost {
    addresses: Vec<SocketAddr>,
    since: Instant,
}

impl Hosts {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, KnownHost>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn addresses(&self, host: &str) -> Option<Vec<SocketAddr>> {
        self.lock()
            .get(host)
            .filter(|known| known.since.elapsed() < KNOWN_FOR)
            .map(|known| known.addresses.clone())
    }

    /// From where the host of an address is reached: the narrowest of its addresses. A name that
    /// can't be resolved counts as public: nothing is sent to it, or a proxy resolves it.
    pub async fn reach_of(&self, url: &Url) -> Reach {
        let Some(host) = url.host_str() else {
            return Reach::Public;
        };
        let plain = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = plain.parse::<IpAddr>() {
            return Reach::from_address(address);
        }
        let name = host.trim_end_matches('.').to_ascii_lowercase();
        if name == "localhost" || name.ends_with(".localhost") {
            return Reach::Loopback;
        }
        let addresses = match self.addresses(host) {
            Some(addresses) => addresses,
            None => {
                let found = tokio::net::lookup_host((host, 0)).await;
                let addresses: Vec<SocketAddr> = found.map(Iterator::collect).unwrap_or_default();
                if addresses.is_empty() {
                    return Reach::Public;
                }
                let mut known = self.lock();
                if known.len() >= KNOWN_MAX {
                    known.clear();
                }
                known.insert(
                    host.to_owned(),
                    KnownHost {
                        addresses: addresses.clone(),
                        since: Instant::now(),
                    },
                );
                addresses
            }
        };
        addresses
            .iter()
            .map(|address| Reach::from_address(address.ip()))
            .max()
            .unwrap_or(Reach::Public)
    }
}

impl Resolve for Hosts {
    fn resolve(&self, name: Name) -> Resolving {
        let known = self.addresses(name.as_str());
        Box::pin(async move {
            let addresses = match known {
                Some(addresses) => addresses,
                None => tokio::net::lookup_host((name.as_str(), 0)).await?.collect(),
            };
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// True when a document at `from` may name `to`, as a server may redirect: always where `from` is
/// on this machine.
///
/// # Errors
/// When the thread of requests can't be started.
pub fn may_link_to(from: &Path, to: &Path) -> Result<bool> {
    let (Some(from), Some(to)) = (parse_web_address(from), parse_web_address(to)) else {
        return Ok(true);
    };
    runtime::wait(async move {
        let hosts = Hosts::default();
        let target = hosts.reach_of(&to).await;
        target == Reach::Public || hosts.reach_of(&from).await.may_redirect_to(target)
    })
}

fn parse_web_address(path: &Path) -> Option<Url> {
    let address = Address::from_path(path).filter(Address::is_web)?;
    Url::parse(&address.to_string()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_by_from_where_they_are_reached() {
        for (reach, addresses) in [
            (
                Reach::Public,
                [
                    "1.1.1.1",
                    "172.15.0.1",
                    "172.32.0.1",
                    "100.63.0.1",
                    "2606:4700::1111",
                    "::ffff:1.1.1.1",
                    "2002:101:101::",
                ],
            ),
            (
                Reach::Private,
                [
                    "10.0.0.1",
                    "172.16.0.1",
                    "192.168.1.1",
                    "100.64.0.1",
                    "fd12::1",
                    "::ffff:10.0.0.1",
                    "2002:a00:1::",
                ],
            ),
            (
                Reach::Loopback,
                [
                    "127.0.0.1",
                    "127.9.9.9",
                    "0.0.0.0",
                    "::1",
                    "::",
                    "::ffff:127.0.0.1",
                    "64:ff9b::7f00:1",
                ],
            ),
            (
                Reach::LinkLocal,
                [
                    "169.254.169.254",
                    "224.0.0.1",
                    "255.255.255.255",
                    "fe80::1",
                    "ff02::1",
                    "fd00:ec2::254",
                    "::ffff:a9fe:a9fe",
                ],
            ),
        ] {
            for address in addresses {
                assert_eq!(
                    Reach::from_address(address.parse().expect(address)),
                    reach,
                    "{address}"
                );
            }
        }
    }

    #[test]
    fn redirects_lead_outwards_or_stay() {
        use Reach::{LinkLocal, Loopback, Private, Public};
        let allowed = [
            (Private, Private),
            (Loopback, Private),
            (Loopback, Loopback),
            (LinkLocal, LinkLocal),
        ];
        for from in [Public, Private, Loopback, LinkLocal] {
            for to in [Public, Private, Loopback, LinkLocal] {
                assert_eq!(
                    from.may_redirect_to(to),
                    to == Public || allowed.contains(&(from, to)),
                    "{from:?} to {to:?}"
                );
            }
        }
    }

    #[test]
    fn hosts_are_told_by_their_addresses_however_they_are_written() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let hosts = Hosts::default();
        let reach = |text: &str| runtime.block_on(hosts.reach_of(&text.parse().expect(text)));
        for text in [
            "http://localhost/",
            "http://LOCALHOST.:80/",
            "http://a.localhost/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://[::1]:9/",
        ] {
            assert_eq!(reach(text), Reach::Loopback, "{text}");
        }
        assert_eq!(reach("http://169.254.169.254/latest"), Reach::LinkLocal);
        assert_eq!(reach("https://93.184.216.34/"), Reach::Public);
        assert_eq!(reach("https://no-such-host.invalid/"), Reach::Public);
    }
}
