//! Decides whether to contact an address that another account chose. Such an address comes from a
//! DID document, a record or a redirect.

use std::{net::IpAddr, sync::Arc};

use bytes::Bytes;
use forge_core::{Action, Call, Error, ErrorKind, Hint, Param, Result};
use forge_http::{Body, Http, NoRedirect, PublicOnly, is_private_address, redirected};
use http::{Request, Response};
use url::Url;

use crate::{Origin, Reach, ReadLimits, TangledSettings};

/// Who chose the address of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamedBy {
    /// The user, in the configuration.
    User,
    /// Another account, in its DID document or in a record.
    Stranger,
}

/// Sends the requests of this crate, and refuses forbidden addresses.
///
/// Host names are checked here, before anything is sent. The transport checks IP addresses when it
/// connects. A name therefore cannot lead to another address after its check.
#[derive(Debug)]
pub(crate) struct Guard {
    http: Http,
    settings: Arc<TangledSettings>,
}

impl Guard {
    pub fn new(http: Http, settings: Arc<TangledSettings>) -> Self {
        Self { http, settings }
    }

    /// Returns the size limits for answers of services.
    pub fn read_limits(&self) -> &ReadLimits {
        &self.settings.read_limits
    }

    /// Sends a request and follows at most `most` redirects. Refuses a redirect to another service,
    /// unless a stranger's DID document may name that service.
    ///
    /// # Errors
    ///
    /// As [`Http::send`]; `protocol` for a forbidden address, and for more than `most` redirects.
    pub async fn send(
        &self,
        mut request: Request<Bytes>,
        mut by: NamedBy,
        most: usize,
    ) -> Result<Response<Body>> {
        request.extensions_mut().insert(NoRedirect);
        for _ in 0..=most {
            if by == NamedBy::Stranger && self.is_public_only(&request.uri().to_string()) {
                request.extensions_mut().insert(PublicOnly);
            }
            let sent = self.http.send(request.clone()).await;
            let response = sent.map_err(|e| self.explained(e))?;
            let Some(next) = redirected(&request, &response) else {
                return Ok(response);
            };
            if self.leads_elsewhere(&request.uri().to_string(), &next.uri().to_string())? {
                by = NamedBy::Stranger;
            }
            request = next;
        }
        let host = request.uri().host().unwrap_or_default().to_owned();
        Err(Error::new(
            ErrorKind::Protocol,
            format!("more than {most} redirects, the last to {host}"),
        ))
    }

    /// Returns the IP addresses of a service that a stranger named. The caller passes them to a
    /// program that makes its own connection, such as git. `None` if every address is allowed, or
    /// if a proxy makes the connection.
    ///
    /// # Errors
    /// As [`Http::public_addresses`].
    pub async fn addresses(&self, origin: &Origin) -> Result<Option<Vec<IpAddr>>> {
        match Url::parse(origin.as_str()) {
            Ok(url) if self.is_public_only(origin.as_str()) => {
                let found = self.http.public_addresses(&url).await;
                found.map_err(|e| self.explained(e))
            }
            _ => Ok(None),
        }
    }

    /// Refuses a service whose host is a private address instead of a name.
    ///
    /// # Errors
    /// `protocol`.
    pub fn check_literal(&self, origin: &Origin) -> Result<()> {
        match Url::parse(origin.as_str()) {
            Ok(url) if self.is_public_only(origin.as_str()) => {
                forge_http::check_literal(&url).map_err(|e| self.explained(e))
            }
            _ => Ok(()),
        }
    }

    fn explained(&self, e: Error) -> Error {
        match is_private_address(&e) {
            true => e.with_hint(self.allow_private()),
            false => e,
        }
    }

    /// Returns true if a stranger's `url` may be contacted only at public IP addresses. Loopback is
    /// allowed only under its own names, such as `localhost`.
    fn is_public_only(&self, url: &str) -> bool {
        match self.settings.reach {
            Reach::Public => true,
            Reach::Loopback => !Url::parse(url).is_ok_and(|url| crate::origin::is_here(&url)),
            Reach::Private => false,
        }
    }

    /// Returns true if a redirect leads to another service. Refuses a redirect to a service that a
    /// stranger's DID document must not name.
    ///
    /// # Errors
    /// `protocol`.
    fn leads_elsewhere(&self, from: &str, to: &str) -> Result<bool> {
        let (Ok(from), Ok(to)) = (Url::parse(from), Url::parse(to)) else {
            // An invalid URL is not refused here, because the request to it fails with a clearer
            // error.
            return Ok(true);
        };
        if from.origin() == to.origin() {
            return Ok(false);
        }
        let root = to.origin().ascii_serialization();
        let Err(why) = Origin::allowed(&root, self.settings.reach) else {
            return Ok(true);
        };
        let from = from.host_str().unwrap_or_default();
        Err(Error::new(
            ErrorKind::Protocol,
            format!("{from} redirects to {root}, which is not contacted: {why}"),
        )
        .with_hint(self.allow_private()))
    }

    fn allow_private(&self) -> Hint {
        let key = format!("hosts.{}.private_addresses", self.settings.host);
        let set = Action::new(Call::ConfigSet).with(Param::Key, key);
        Hint::new("allow private addresses if its services are in a private network")
            .with_action(set.with(Param::Value, "true"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(reach: Reach) -> Guard {
        let settings = TangledSettings {
            reach,
            ..TangledSettings::usual().unwrap()
        };
        let http = Http::new(forge_http::HttpSettings::default()).unwrap();
        Guard::new(http, Arc::new(settings))
    }

    #[test]
    fn redirect_to_private_name_is_refused() {
        for (reach, to, allowed) in [
            (Reach::Public, "https://10.0.0.1/x", false),
            (Reach::Public, "https://intranet/x", false),
            (Reach::Public, "https://wiki.internal/x", false),
            (Reach::Public, "http://localhost:1/x", false),
            (Reach::Public, "https://pds.example/y", true),
            (Reach::Loopback, "https://10.0.0.1/x", false),
            (Reach::Loopback, "http://localhost:1/x", true),
            (Reach::Private, "https://10.0.0.1/x", true),
            (Reach::Private, "https://wiki.internal/x", true),
        ] {
            let followed = guard(reach).leads_elsewhere("https://pds.example/x", to);
            assert_eq!(followed.is_ok(), allowed, "{to} with {reach:?}");
        }
    }

    #[tokio::test]
    async fn private_address_of_a_stranger_is_not_contacted() {
        for (reach, address, code) in [
            (Reach::Public, "https://10.0.0.1", "protocol"),
            (Reach::Public, "https://127.0.0.1:9", "protocol"),
            (Reach::Public, "https://198.18.0.1", "protocol"),
            (Reach::Public, "https://[64:ff9b::a00:1]", "protocol"),
            (Reach::Loopback, "https://10.0.0.1", "protocol"),
            // No service listens on this port.
            (Reach::Loopback, "https://127.0.0.1:9", "network"),
            (Reach::Private, "https://127.0.0.1:9", "network"),
        ] {
            let request = Request::get(format!("{address}/x")).body(Bytes::new());
            let guard = guard(reach);
            let sent = guard.send(request.unwrap(), NamedBy::Stranger, 0).await;
            let e = sent.err().unwrap();
            assert_eq!(e.code(), code, "{address} with {reach:?}: {e:?}");
        }
    }
}
