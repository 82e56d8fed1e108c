//! The origin of a tangled service: scheme, host and port.

use std::fmt;

use forge_core::{
    Error, ErrorKind, Result,
    text::{one_line, truncate_chars},
};
use forge_http::redact;
use url::{Host, Url};

/// The address of a service: `https://pds.example`. Clear text (`http`) is allowed only on this
/// machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin(String);

/// The addresses that may be contacted if a stranger's document names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Only public names over HTTPS: no address literals, no `localhost`.
    #[default]
    Public,
    /// The addresses of [`Self::Public`], and this machine in clear text. This is for services on
    /// loopback.
    Loopback,
    /// The addresses of [`Self::Loopback`], and private names and addresses over HTTPS. This is for
    /// services of a company's own network.
    Private,
}

/// Reason why a service on this machine is not contacted.
const HERE: &str = "it is this machine";

impl Origin {
    /// Parses an origin that the user configured: `https` anywhere, `http` to this machine.
    ///
    /// # Errors
    /// `config` if the text is not a URL of this form.
    pub fn configured(text: &str) -> Result<Self> {
        let refused = |why: &str| {
            Error::new(
                ErrorKind::Config,
                format!("'{text}' is not usable as the address of a service: {why}"),
            )
            .with_hint("write it as https://host, or for this machine http://localhost:PORT")
        };
        let url = Url::parse(text).map_err(|e| refused(&e.to_string()).with_source(e))?;
        if url.scheme() == "http" && !is_here(&url) {
            return Err(refused("it would be reached in clear text"));
        }
        Self::of(&url).ok_or_else(|| refused("it has more than a scheme, a host and a port"))
    }

    /// Parses an origin that another account's document names.
    ///
    /// # Errors
    /// `protocol` if `reach` does not allow the origin.
    pub fn found(text: &str, reach: Reach) -> Result<Self> {
        let refused = |why: &str| {
            Error::new(
                ErrorKind::Protocol,
                format!(
                    "a record or an identity document names '{}' as a service, which is not \
                     contacted: {why}",
                    one_line(&truncate_chars(&redact(text), 200).0)
                ),
            )
        };
        Self::allowed(text, reach).map_err(|why| match why {
            HERE => refused(why).with_hint(
                "add the service to the configuration: a service on this machine is used \
                 only if it is configured",
            ),
            _ => refused(why),
        })
    }

    /// Parses an origin as [`Self::found`] does, or returns the reason of the refusal.
    pub(crate) fn allowed(text: &str, reach: Reach) -> Result<Self, &'static str> {
        let url = Url::parse(text).map_err(|_| "it is not a valid address")?;
        let here = is_here(&url);
        if here && reach == Reach::Public {
            return Err(HERE);
        }
        match url.host() {
            Some(Host::Domain(name)) if here || is_public_name(name) => {}
            Some(_) if here || reach == Reach::Private => {}
            _ => return Err("it is not a public host name"),
        }
        if url.scheme() != "https" && !(here && url.scheme() == "http") {
            return Err("it is not https");
        }
        Self::of(&url).ok_or("it has more than a scheme, a host and a port")
    }

    /// Returns the origin of a knot or another service that is named by host and port.
    ///
    /// # Errors
    /// As [`Self::found`].
    pub fn of_host(host: &str, reach: Reach) -> Result<Self> {
        let name = host.split(':').next().unwrap_or_default();
        let here = name == "localhost" || name == "127.0.0.1";
        let scheme = if here && reach != Reach::Public {
            "http"
        } else {
            "https"
        };
        Self::found(&format!("{scheme}://{host}"), reach)
    }

    /// Returns the origin of a knot from the endpoint in a repository's DID document.
    ///
    /// The endpoint can have a path, such as `https://knot.example/repo/<tag>`: documents that knots
    /// mint since October 2026 have one. What the path means is not published. The knot answers at
    /// its origin, so no request uses the path.
    ///
    /// # Errors
    /// As [`Self::found`].
    pub fn of_knot_endpoint(text: &str, reach: Reach) -> Result<Self> {
        if let Ok(mut url) = Url::parse(text)
            && url.query().is_none()
            && url.fragment().is_none()
        {
            url.set_path("");
            return Self::found(url.as_str(), reach);
        }
        Self::found(text, reach)
    }

    fn of(url: &Url) -> Option<Self> {
        let plain = matches!(url.path(), "" | "/")
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        (plain && url.has_host()).then(|| Self(url.origin().ascii_serialization()))
    }

    /// Returns `https://host:port`, without a slash at the end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the host, and the port if it is not the default of the scheme.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.split_once("://").map_or("", |(_, host)| host)
    }

    /// Returns the DID of a service at this origin, which is the audience of its tokens. A port is
    /// written with `%3A` (did:web specification; a PDS refuses any other form).
    #[must_use]
    pub fn service_did(&self) -> String {
        format!("did:web:{}", self.host().replace(':', "%3A"))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns true if the URL names this machine, by a loopback name or address, which no other
/// machine has.
pub(crate) fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// Returns true for a name with a dot whose ending is not reserved for private networks.
fn is_public_name(name: &str) -> bool {
    const PRIVATE: [&str; 5] = [".local", ".internal", ".lan", ".home.arpa", ".localdomain"];
    name.contains('.') && !PRIVATE.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_address_of_did_document_must_be_public() {
        for (text, public, loopback) in [
            ("https://pds.example.com", true, true),
            ("https://pds.example.com/", true, true),
            ("https://pds.example.com:8443", true, true),
            ("http://pds.example.com", false, false),
            ("https://pds.example.com/x", false, false),
            ("https://u:p@pds.example.com", false, false),
            ("https://10.0.0.1", false, false),
            ("https://8.8.8.8", false, false),
            ("https://[fd00::1]", false, false),
            ("https://router.local", false, false),
            ("https://intranet", false, false),
            ("http://localhost:2583", false, true),
            ("http://127.0.0.1:2583", false, true),
            ("ftp://pds.example.com", false, false),
            ("nonsense", false, false),
        ] {
            assert_eq!(Origin::found(text, Reach::Public).is_ok(), public, "{text}");
            assert_eq!(
                Origin::found(text, Reach::Loopback).is_ok(),
                loopback,
                "{text}"
            );
        }
    }

    #[test]
    fn knot_endpoint_with_path_is_its_origin() {
        let origin = |text| Origin::of_knot_endpoint(text, Reach::Public);
        for text in [
            "https://knot.example.com",
            "https://knot.example.com/",
            "https://knot.example.com/repo/7vjxktcthtc22f6kioxezmt62a",
            "https://knot.example.com/%2e%2e//x",
        ] {
            let knot = origin(text).unwrap();
            assert_eq!(knot.as_str(), "https://knot.example.com", "{text}");
        }
        assert_eq!(
            origin("https://knot.example.com:8443/repo/a")
                .unwrap()
                .as_str(),
            "https://knot.example.com:8443"
        );
        for text in [
            "https://u:p@knot.example.com/repo/a",
            "https://knot.example.com/repo?a",
            "https://knot.example.com/repo#a",
            "http://knot.example.com/repo/a",
            "https://10.0.0.1/repo/a",
            "https://router.local/repo/a",
            "data:knot.example.com/repo",
        ] {
            assert!(origin(text).is_err(), "{text}");
        }
    }

    #[test]
    fn refused_address_may_come_from_a_record() {
        let refused = [
            Origin::found("https://10.0.0.1", Reach::Public),
            Origin::of_host("localhost:6000", Reach::Public),
        ];
        for refused in refused {
            let error = refused.unwrap_err();
            let words = "a record or an identity document names '";
            assert!(error.message().starts_with(words), "{error:?}");
            assert!(!error.message().contains("  "), "{error:?}");
        }
    }

    #[test]
    fn refused_address_shows_no_password() {
        let padding = "x".repeat(190);
        for text in [
            "abcd-efgh-ijkl-mnop",
            &format!("{padding}/abcd-efgh-ijkl-mnop"),
        ] {
            let error = Origin::found(text, Reach::Public).unwrap_err();
            assert!(!error.message().contains("abcd"), "{error:?}");
        }
    }

    #[test]
    fn configured_private_network_allows_private_hosts() {
        for (text, allowed) in [
            ("https://10.0.0.1", true),
            ("https://knot.internal", true),
            ("https://intranet:8443", true),
            ("http://127.0.0.1:2583", true),
            ("http://10.0.0.1", false),
            ("http://knot.internal", false),
            ("https://u:p@knot.internal", false),
        ] {
            let found = Origin::found(text, Reach::Private);
            assert_eq!(found.is_ok(), allowed, "{text}");
        }
    }

    #[test]
    fn service_did_includes_the_port() {
        let did = |text| Origin::configured(text).unwrap().service_did();
        assert_eq!(did("https://knot.example/"), "did:web:knot.example");
        assert_eq!(did("http://localhost:6000"), "did:web:localhost%3A6000");
        assert!(Origin::configured("http://knot.example").is_err());
    }
}
