//! Decides whether an IP address is publicly routable.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns true if an address is publicly routable.
///
/// If a stranger chose the host of a request, the request may go only to a public address, because
/// it then reveals nothing about the local network.
///
/// Translators and relays map some IPv6 addresses to IPv4 addresses. Such an IPv6 address is public
/// if its IPv4 address is public. These addresses are not refused in general, because in an
/// IPv6-only network every name resolves to them.
#[must_use]
pub fn is_public_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

/// Returns true unless the address is in the IPv4 special-purpose registry (RFC 6890 and
/// successors).
fn is_public_v4(ip: Ipv4Addr) -> bool {
    let is_special = matches!(
        ip.octets(),
        // "This" network, multicast, and the range reserved for future use.
        [0 | 224..=255, ..]
            // Shared address space of carriers (RFC 6598).
            | [100, 64..=127, ..]
            // Protocol assignments (RFC 6890).
            | [192, 0, 0, _]
            // Benchmarks (RFC 2544). Some local proxies answer with these addresses.
            | [198, 18..=19, ..]
    );
    !(is_special
        || ip.is_loopback()
        || ip.is_private()
        || ip.is_link_local()
        || ip.is_documentation())
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    if let Some(mapped) = ip.to_ipv4() {
        return is_public_v4(mapped);
    }
    let octets = ip.octets();
    let v4_at = |places: [usize; 4]| -> Ipv4Addr {
        places
            .map(|place| octets.get(place).copied().unwrap_or_default())
            .into()
    };
    match ip.segments() {
        // NAT64 with the well-known prefix (RFC 6052).
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => is_public_v4(v4_at([12, 13, 14, 15])),
        // NAT64 with a local prefix (RFC 8215). The length of the prefix is unknown, so the address
        // is decoded in each of the four longer forms of RFC 6052. A form is ignored if the decoded
        // IPv4 address cannot belong to a host.
        [0x64, 0xff9b, 1, ..] => {
            let forms = [
                [6, 7, 9, 10],
                [7, 9, 10, 11],
                [9, 10, 11, 12],
                [12, 13, 14, 15],
            ];
            let hosts = || {
                let inside = forms.into_iter().map(v4_at);
                inside.filter(|ip| !matches!(ip.octets(), [0 | 224..=255, ..]))
            };
            hosts().next().is_some() && hosts().all(is_public_v4)
        }
        // 6to4 (RFC 3056).
        [0x2002, ..] => is_public_v4(v4_at([2, 3, 4, 5])),
        // Protocol assignments, such as Teredo, and documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // All other addresses are public only if they are global unicast.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_and_public_addresses_are_distinguished() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.1.1",
            "100.64.0.1",
            "0.0.0.0",
            "192.0.0.1",
            "192.0.2.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fd00::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "::ffff:10.0.0.1",
            "::10.0.0.1",
        ] {
            assert!(!is_public_address(private.parse().unwrap()), "{private}");
        }
        for public in [
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "192.0.1.1",
            "2606:4700::1111",
            "2001:4860::8888",
            "::ffff:8.8.8.8",
        ] {
            assert!(is_public_address(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn benchmark_address_is_private() {
        for (address, public) in [
            ("198.17.255.255", true),
            ("198.18.0.0", false),
            ("198.19.255.255", false),
            ("198.20.0.0", true),
        ] {
            assert_eq!(
                is_public_address(address.parse().unwrap()),
                public,
                "{address}"
            );
        }
    }

    #[test]
    fn embedded_ipv4_decides_for_nat64_and_6to4() {
        for (address, public) in [
            ("64:ff9b::8.8.8.8", true),
            ("64:ff9b::10.0.0.1", false),
            ("64:ff9b::127.0.0.1", false),
            ("64:ff9b::169.254.169.254", false),
            ("64:ff9b::198.18.0.1", false),
            ("2002:808:808::1", true),
            ("2002:a00:1::1", false),
            ("2002:7f00:1::", false),
            ("2002:c0a8:101::c0a8:101", false),
        ] {
            assert_eq!(
                is_public_address(address.parse().unwrap()),
                public,
                "{address}"
            );
        }
    }

    #[test]
    fn local_nat64_is_decoded_at_each_length() {
        for (address, public, form) in [
            ("64:ff9b:1::8.8.8.8", true, "/96"),
            ("64:ff9b:1:fffe::8.8.8.8", true, "/96"),
            ("64:ff9b:1::10.0.0.1", false, "/96"),
            ("64:ff9b:1:808:8:800::", true, "/48"),
            ("64:ff9b:1:a00:0:100::", false, "/48"),
            // A stranger can choose the suffix, but cannot hide the private address with it.
            ("64:ff9b:1:a00:0:100:808:808", false, "/48"),
            ("64:ff9b:1:8:8:808::", true, "/56"),
            ("64:ff9b:1:a:0:1::", false, "/56"),
            ("64:ff9b:1:0:8:808:800:0", true, "/64"),
            ("64:ff9b:1:0:a:0:100:0", false, "/64"),
            ("64:ff9b:1::", false, "none"),
        ] {
            assert_eq!(
                is_public_address(address.parse().unwrap()),
                public,
                "{address} {form}"
            );
        }
    }
}
