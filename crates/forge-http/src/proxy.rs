//! Chooses the proxy of a request. reqwest uses this choice, so the proxy that was checked is the
//! proxy in use.

use std::net::IpAddr;

use forge_core::{Error, ErrorKind, Result};
use url::{Host, Url};

/// The proxies of a process, from the same variables as in curl, git and gh.
///
/// - `HTTP_PROXY` is for http, `HTTPS_PROXY` for https, and `ALL_PROXY` for both.
/// - `NO_PROXY` lists hosts, domains, addresses and address ranges that use no proxy. The value `*`
///   means all hosts.
/// - Each variable is also read in lower case.
/// - As in gh, `localhost` and loopback addresses never use a proxy, but `github.localhost` may use
///   one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    http: Option<Url>,
    https: Option<Url>,
    direct: Vec<String>,
}

impl Proxies {
    /// Reads the proxies from the environment variables, which `get` returns.
    ///
    /// # Errors
    /// `config` if a proxy is not a URL, or is of an unsupported kind (SOCKS).
    pub fn from_env(get: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let either = |upper: &str| {
            let value = get(upper).or_else(|| get(&upper.to_ascii_lowercase()));
            value.filter(|text| !text.trim().is_empty())
        };
        // In a CGI program, HTTP_PROXY comes from the request header "Proxy", so it is ignored.
        let http = if get("REQUEST_METHOD").is_some() {
            None
        } else {
            either("HTTP_PROXY")
        };
        let all = either("ALL_PROXY");
        let url = |name: &str, value: Option<String>| {
            value
                .or_else(|| all.clone())
                .map(|text| proxy_url(name, text.trim()))
                .transpose()
        };
        let direct = either("NO_PROXY").unwrap_or_default();
        Ok(Self {
            http: url("HTTP_PROXY", http)?,
            https: url("HTTPS_PROXY", either("HTTPS_PROXY"))?,
            direct: direct
                .split([',', ' '])
                .map(|entry| entry.trim().to_ascii_lowercase())
                .filter(|entry| !entry.is_empty())
                .collect(),
        })
    }

    /// Returns the proxy for `url`, or `None` for a direct connection.
    #[must_use]
    pub fn for_url(&self, url: &Url) -> Option<&Url> {
        let proxy = if url.scheme() == "https" {
            &self.https
        } else {
            &self.http
        };
        let proxy = proxy.as_ref()?;
        let host = url.host()?;
        let itself = host == Host::Domain("localhost") || is_loopback_address(&host);
        (!itself && !self.is_direct(&host, url.port_or_known_default())).then_some(proxy)
    }

    fn is_direct(&self, host: &Host<&str>, port: Option<u16>) -> bool {
        self.direct.iter().any(|entry| {
            if entry == "*" {
                return true;
            }
            if let Some((range, address)) = entry.parse().ok().zip(address(host)) {
                return in_range(&address, &range, None);
            }
            if let (Some((range, bits)), Some(address)) = (entry.split_once('/'), address(host)) {
                let range: Option<IpAddr> = range.parse().ok();
                return range
                    .zip(bits.parse().ok())
                    .is_some_and(|(range, bits)| in_range(&address, &range, Some(bits)));
            }
            let (name, wanted) = match entry.rsplit_once(':') {
                Some((name, port)) if !name.contains(':') => (name, port.parse::<u16>().ok()),
                _ => (entry.as_str(), None),
            };
            let name = name.trim_start_matches("*.").trim_start_matches('.');
            let host = host.to_string();
            let matches = host == name
                || host
                    .strip_suffix(name)
                    .is_some_and(|front| front.ends_with('.'));
            !name.is_empty() && matches && (wanted.is_none() || wanted == port)
        })
    }
}

fn proxy_url(name: &str, text: &str) -> Result<Url> {
    let refused = |why: &str| {
        let error = Error::new(ErrorKind::Config, format!("the proxy in {name} {why}"));
        error.with_hint(format!("set {name} to http://host:port, or unset it"))
    };
    let full = if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    let url =
        Url::parse(&full).map_err(|e| refused(&format!("is not a URL: {e}")).with_source(e))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused(&format!(
            "has the scheme '{}', which is not supported",
            url.scheme()
        )));
    }
    if url.host().is_none() {
        return Err(refused("names no host"));
    }
    Ok(url)
}

fn address(host: &Host<&str>) -> Option<IpAddr> {
    match host {
        Host::Domain(_) => None,
        Host::Ipv4(a) => Some(IpAddr::V4(*a)),
        Host::Ipv6(a) => Some(IpAddr::V6(*a)),
    }
}

fn in_range(address: &IpAddr, range: &IpAddr, bits: Option<u32>) -> bool {
    let (a, b, width) = match (address, range) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (u128::from(a.to_bits()), u128::from(b.to_bits()), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits(), b.to_bits(), 128),
        _ => return false,
    };
    let free = width - bits.unwrap_or(width).min(width);
    a.checked_shr(free).unwrap_or(0) == b.checked_shr(free).unwrap_or(0)
}

fn is_loopback_address(host: &Host<&str>) -> bool {
    address(host).is_some_and(|a| a.is_loopback())
}

/// Returns true if a connection to `host` stays on this machine. RFC 6761 requires this for names
/// below `localhost`, and [`crate::resolve`] enforces it for any system resolver.
pub(crate) fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => is_local_name(name),
        address => is_loopback_address(address),
    }
}

/// Returns true if RFC 6761 reserves `name` for this machine. `name` must be in lower case.
pub(crate) fn is_local_name(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(vars: &[(&str, &str)]) -> Result<Proxies> {
        Proxies::from_env(&|name| {
            vars.iter()
                .find(|(k, _)| *k == name)
                .map(|(_, v)| (*v).to_owned())
        })
    }

    fn route(vars: &[(&str, &str)], url: &str) -> Option<String> {
        let proxies = proxies(vars).unwrap();
        proxies
            .for_url(&Url::parse(url).unwrap())
            .map(ToString::to_string)
    }

    #[test]
    fn proxy_variable_follows_scheme_in_any_case() {
        let p = "http://127.0.0.1:8080/";
        assert_eq!(
            route(&[("HTTP_PROXY", p)], "http://a.example/x").as_deref(),
            Some(p)
        );
        assert_eq!(
            route(&[("http_proxy", p)], "http://a.example/x").as_deref(),
            Some(p)
        );
        assert_eq!(route(&[("HTTP_PROXY", p)], "https://a.example/x"), None);
        assert_eq!(
            route(&[("HTTPS_PROXY", p)], "https://a.example/x").as_deref(),
            Some(p)
        );
        assert_eq!(
            route(&[("ALL_PROXY", "127.0.0.1:8080")], "https://a.example").as_deref(),
            Some(p)
        );
        assert_eq!(
            route(&[("HTTP_PROXY", p)], "http://github.localhost/x").as_deref(),
            Some(p)
        );
    }

    #[test]
    fn loopback_and_listed_hosts_bypass_proxy() {
        let vars = |no| [("ALL_PROXY", "http://127.0.0.1:8080"), ("NO_PROXY", no)];
        for url in [
            "http://localhost:1/",
            "http://127.0.0.1:1/",
            "http://[::1]:1/",
        ] {
            assert_eq!(route(&vars(""), url), None, "{url}");
        }
        for (no, url, direct) in [
            ("*", "http://a.example/", true),
            ("a.example", "http://a.example/", true),
            ("a.example", "http://b.a.example/", true),
            (".a.example", "http://b.a.example/", true),
            ("*.a.example", "http://b.a.example/", true),
            ("a.example", "http://ba.example/", false),
            ("b.example, a.example", "http://a.example/", true),
            ("a.example:80", "http://a.example/", true),
            ("a.example:81", "http://a.example/", false),
            ("10.0.0.0/8", "http://10.2.3.4/", true),
            ("10.0.0.0/8", "http://11.2.3.4/", false),
            ("10.2.3.4", "http://10.2.3.4/", true),
            ("10.2.3.4", "http://10.2.3.5/", false),
            ("0.0.0.0/0", "http://10.2.3.5/", true),
            ("fd00::/8", "http://[fd00::1]/", true),
        ] {
            assert_eq!(
                route(&vars(no), url).is_none(),
                direct,
                "NO_PROXY={no} {url}"
            );
        }
    }

    #[test]
    fn invalid_proxy_is_refused_without_printing_value() {
        for text in ["socks5://u:canary@h:1", "http://", "://canary"] {
            let error = proxies(&[("HTTP_PROXY", text)]).unwrap_err();
            assert_eq!(error.code(), "config");
            assert!(!format!("{error:?}").contains("canary"));
        }
    }

    #[test]
    fn cgi_program_ignores_http_proxy() {
        let vars = [("HTTP_PROXY", "http://h:1"), ("REQUEST_METHOD", "GET")];
        assert_eq!(route(&vars, "http://a.example/"), None);
    }
}
