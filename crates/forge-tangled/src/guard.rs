//! Which addresses are contacted that somebody else names: in a document, in a record, or by
//! sending us on.

use std::sync::Arc;

use forge_core::{Action, Call, Error, ErrorKind, Hint, Param, Result};
use forge_http::Http;
use url::Url;

use crate::{Origin, Reach, Settings, cache::Cache, origin::is_public};

/// The rule, and the addresses that have met it.
#[derive(Debug)]
pub(crate) struct Guard {
    http: Http,
    settings: Arc<Settings>,
    checked: Cache<()>,
}

impl Guard {
    pub fn new(http: Http, settings: Arc<Settings>) -> Self {
        let checked = Cache::new(settings.kept);
        Self {
            http,
            settings,
            checked,
        }
    }

    /// Refuses a service whose name leads to a private address, unless the configuration allows
    /// those.
    ///
    /// # Errors
    /// `protocol`.
    pub async fn check(&self, origin: &Origin) -> Result<()> {
        let cell = self.checked.cell(origin.as_str());
        let checked = cell.get_or_try_init(|| async {
            match self.is_private(origin).await {
                false => Ok(()),
                true => Err(Error::new(
                    ErrorKind::Protocol,
                    format!(
                        "{} leads to a private address and is not contacted",
                        origin.host()
                    ),
                )),
            }
        });
        checked.await.copied()
    }

    /// Refuses to be sent from one address to another that a document could not name either.
    ///
    /// # Errors
    /// `protocol`.
    pub async fn may_follow(&self, from: &str, to: &str) -> Result<()> {
        let (Ok(from), Ok(to)) = (Url::parse(from), Url::parse(to)) else {
            // The request itself will say so better.
            return Ok(());
        };
        if from.origin() == to.origin() {
            return Ok(());
        }
        let root = to.origin().ascii_serialization();
        let why = match Origin::allowed(&root, self.settings.reach) {
            Ok(origin) => match self.is_private(&origin).await {
                false => return Ok(()),
                true => "it leads to a private address",
            },
            Err(why) => why,
        };
        let from = from.host_str().unwrap_or_default();
        Err(Error::new(
            ErrorKind::Protocol,
            format!("{from} sends us on to {root}, which is not contacted: {why}"),
        )
        .with_hint(
            Hint::new("allow private addresses if its services are in a private network")
                .with_action(
                    Action::new(Call::ConfigSet)
                        .with(
                            Param::Key,
                            format!("hosts.{}.private_addresses", self.settings.host),
                        )
                        .with(Param::Value, "true"),
                ),
        ))
    }

    /// A public name may lead to a private address. Where a proxy makes the connection, it decides:
    /// we may not even be able to resolve the name.
    async fn is_private(&self, origin: &Origin) -> bool {
        let Ok(url) = Url::parse(origin.as_str()) else {
            return false;
        };
        let is_allowed = match self.settings.reach {
            Reach::Public => false,
            // This machine is allowed by its own names, and by no other that leads to it.
            Reach::Loopback => origin.is_here(),
            Reach::Private => true,
        };
        if is_allowed || self.http.settings().proxies.for_url(&url).is_some() {
            return false;
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        let port = url.port_or_known_default().unwrap_or(443);
        match tokio::net::lookup_host((host.as_str(), port)).await {
            Ok(mut found) => !found.all(|address| is_public(address.ip())),
            // The request itself will say so better.
            Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nobody_sends_us_on_to_where_a_document_could_not() {
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
            let settings = Settings {
                reach,
                ..Settings::usual().unwrap()
            };
            let http = Http::new(forge_http::Settings::default()).unwrap();
            let guard = Guard::new(http, Arc::new(settings));
            let followed = guard.may_follow("https://pds.example/x", to).await;
            assert_eq!(followed.is_ok(), allowed, "{to} with {reach:?}");
        }
    }
}
