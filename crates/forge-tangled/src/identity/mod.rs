//! Resolves handles and DIDs to DID documents and servers.

mod dns;
mod document;

use std::{
    future::Future,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use forge_core::{
    Action, AtUri, Call, Error, ErrorKind, Hint, Noun, Param, Result, call, text::one_line,
};
use forge_http::{BodyMax, Http};
use futures::future;
use http::{Request, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

pub use document::DidDocument;

use crate::{
    Origin, TangledSettings,
    address_policy::{Guard, NamedBy},
    cache::Cache,
    part_window::PartWindow,
    xrpc::Xrpc,
};
use document::is_handle;

/// Maximum size of an identity document, in bytes: room for hundreds of keys.
const DOCUMENT_MAX: usize = 256 * 1024;
/// Maximum size of the page `/.well-known/atproto-did`, in bytes. A DID has at most 2,048 bytes.
const PAGE_MAX: usize = 4096;
/// Maximum time for a web page with a number.
const PAGE_WAIT: Duration = Duration::from_secs(30);
/// Maximum number of redirects that a request for a document follows.
const REDIRECTS_MAX: usize = 3;
/// Duration for which an account is shown by its DID after a failed lookup of its handle, and for
/// which a silent server is not asked for a part of a list.
const FAILED_FOR: Duration = Duration::from_secs(60);

/// An account that has been looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountIdentity {
    /// The DID.
    pub did: String,
    /// The handle, if it resolves to this DID and the DID document names it.
    pub handle: Option<String>,
    /// The DID document.
    pub document: DidDocument,
}

impl AccountIdentity {
    /// Returns the name to show to people: the handle, else the DID.
    #[must_use]
    pub fn name(&self) -> &str {
        self.handle.as_deref().unwrap_or(&self.did)
    }
}

/// Resolves accounts, and caches each for [`TangledSettings::kept`].
#[derive(Debug)]
pub(crate) struct Identities {
    http: Http,
    settings: Arc<TangledSettings>,
    known: Cache<AccountIdentity>,
    documents: Cache<DidDocument>,
    handles: Cache<String>,
    guard: Arc<Guard>,
    /// DIDs whose handles could not be looked up recently. They are not looked up again yet.
    failed: Cache<()>,
    /// DIDs of accounts whose servers did not answer recently.
    silent: Cache<()>,
}

impl Identities {
    pub fn new(http: Http, settings: Arc<TangledSettings>) -> Self {
        let (kept, most) = (settings.kept, settings.read_limits.cache);
        let guard = Arc::new(Guard::new(http.clone(), Arc::clone(&settings)));
        Self {
            http,
            settings,
            // If the handle could not be looked up, the account is cached without a handle, but
            // only for a minute.
            known: Cache::weighed(kept, most, |it: &AccountIdentity| it.document.weight())
                .retrying(|it| it.handle.is_none() && it.document.handle.is_some()),
            documents: Cache::weighed(kept, most, DidDocument::weight),
            handles: Cache::new(kept),
            guard,
            failed: Cache::new(FAILED_FOR),
            silent: Cache::new(FAILED_FOR),
        }
    }

    /// Returns an account by handle or DID, with or without a leading `@`.
    ///
    /// # Errors
    /// `invalid_input` if the name is neither a handle nor a DID; `not_found` if no account has the
    /// name.
    pub async fn account(&self, name: &str) -> Result<AccountIdentity> {
        let name = name.strip_prefix('@').unwrap_or(name);
        if name.starts_with("did:") {
            return self.of_did(name).await;
        }
        let handle = name.to_ascii_lowercase();
        let did = self.resolve(&handle).await?;
        let identity = self.of_did(&did).await?;
        // A domain can name any DID, so the DID document must also name the handle.
        if identity.document.handle.as_ref() != Some(&handle) {
            let but = match &identity.document.handle {
                Some(other) => format!(" (it names {other})"),
                None => String::new(),
            };
            return Err(Error::not_found(
                Noun::Account,
                format!(
                    "the handle {handle} leads to {did}, but the identity of that account does \
                     not list the handle{but}"
                ),
            )
            .with_hint("if you trust it, name the account by its DID"));
        }
        Ok(AccountIdentity {
            handle: Some(handle),
            ..identity
        })
    }

    /// Reads an account by DID, with its handle if the handle resolves to this DID.
    pub async fn of_did(&self, did: &str) -> Result<AccountIdentity> {
        check_did(did)?;
        let cell = self.known.cell(did);
        let found = cell.get_or_try_init(|| async {
            let document = self.document_of(did).await?;
            let handle = match &document.handle {
                Some(handle) => match self.resolve(handle).await {
                    Ok(back) if back == did => Some(handle.clone()),
                    _ => None,
                },
                None => None,
            };
            Ok(AccountIdentity {
                did: did.to_owned(),
                handle,
                document,
            })
        });
        found.await.cloned()
    }

    /// Returns the DID document of an account, without a check of its handle.
    async fn document_of(&self, did: &str) -> Result<DidDocument> {
        check_did(did)?;
        let cell = self.documents.cell(did);
        cell.get_or_try_init(|| self.document(did)).await.cloned()
    }

    /// Returns the name of an account, or the DID itself if the name is not known in time. The names
    /// of all accounts of a command share the limit [`TangledSettings::name_wait`], because a name
    /// is looked up at hosts that its account chose.
    ///
    /// A failed lookup is not repeated for a while, because a list may need the name of one account
    /// for a thousand records.
    pub async fn name_of(&self, did: &str) -> String {
        let begun = Instant::now();
        let limit = self.settings.name_wait;
        match call::optional(limit, self.learn(did)).await {
            Some(identity) => identity.map(|it| it.name().to_owned()),
            None => {
                // An account that had no time itself is looked up again by the next command.
                if begun.elapsed() >= limit / 2 {
                    self.mark_failed(did);
                }
                None
            }
        }
        .unwrap_or_else(|| did.to_owned())
    }

    /// Looks up an account for its name; `None` if the lookup fails or has failed a moment ago.
    pub async fn learn(&self, did: &str) -> Option<AccountIdentity> {
        check_did(did).ok()?;
        if let Some(known) = self.known.cell(did).get() {
            return Some(known.clone());
        }
        if self.failed.cell(did).initialized() {
            return None;
        }
        let found = self.of_did(did).await;
        found.map_err(|_| self.mark_failed(did)).ok()
    }

    fn mark_failed(&self, did: &str) {
        // This fails only if a concurrent lookup has recorded the same failure.
        let _ = self.failed.cell(did).set(());
    }

    /// Reads records of an account for a list or a view, which goes on without them if the account's
    /// server is silent. A server that was silent is not asked again for a while.
    ///
    /// # Errors
    /// `timeout`, which names the server; the errors of the lookup and of `read`.
    pub async fn read_account<T, F>(
        &self,
        did: &str,
        window: &PartWindow,
        read: impl FnOnce(Xrpc) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        self.check_answering(did, window)?;
        let wait = self.settings.account_wait;
        let part = async {
            let lookup = window.first(wait);
            let pds = lookup
                .read(|| self.document_host(did), self.pds(did))
                .await?;
            read(pds.patient(wait).within(*window)).await
        };
        let read = part.await;
        // At the end of the window, a server may not have had its time.
        if !window.left().is_zero() {
            self.note_silence(did, &read);
        }
        read
    }

    /// Waits for a part of a list or a view that is on the server of an account, as
    /// [`Self::read_account`] does.
    pub async fn read_part<T>(
        &self,
        did: &str,
        window: &PartWindow,
        part: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        self.check_answering(did, window)?;
        let read = window.read(|| self.server_name(did), part).await;
        self.note_silence(did, &read);
        read
    }

    /// Fails if the server of an account did not answer recently, or if there is no time for it.
    fn check_answering(&self, did: &str, window: &PartWindow) -> Result<()> {
        let why = if self.silent.cell(did).initialized() {
            "did not answer a moment ago"
        } else if window.left().is_zero() {
            "was not asked, because the others took the time for it"
        } else {
            return Ok(());
        };
        let message = format!("{} {why}", self.server_name(did));
        let after = self.settings.account_wait;
        Err(Error::new(ErrorKind::Timeout { after }, message).with_hint("try again in a minute"))
    }

    fn note_silence<T>(&self, did: &str, read: &Result<T>) {
        let is_timeout = |e: &Error| matches!(e.kind(), ErrorKind::Timeout { .. });
        if read.as_ref().is_err_and(is_timeout) {
            // This fails only if a concurrent read has recorded the same.
            let _ = self.silent.cell(did).set(());
        }
    }

    /// Returns the host of an account's server, or of its identity document if the server is not
    /// known yet.
    fn server_name(&self, did: &str) -> String {
        let document = self.documents.cell(did);
        let pds = document.get().map(|it| it.pds(self.settings.reach));
        match pds {
            Some(Ok(pds)) => pds.host().to_owned(),
            _ => self.document_host(did),
        }
    }

    fn document_host(&self, did: &str) -> String {
        let url = self.document_url(did).ok();
        let url = url.and_then(|(url, _)| Url::parse(&url).ok());
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        format!("{host}, which has the identity document of the account,")
    }

    /// Returns the client of an account's personal data server.
    pub async fn pds(&self, did: &str) -> Result<Xrpc> {
        let document = self.document_of(did).await?;
        let origin = document.pds(self.settings.reach)?;
        self.service(origin).await
    }

    /// Returns the knot (git server) that a repository's own DID document names.
    pub async fn knot(&self, did: &str) -> Result<Origin> {
        self.document_of(did).await?.knot(self.settings.reach)
    }

    /// Returns the client of a service that a DID document names. The transport refuses a host name
    /// that resolves to a private address.
    ///
    /// # Errors
    /// `protocol` if the origin is itself a private address instead of a host name.
    pub async fn service(&self, origin: Origin) -> Result<Xrpc> {
        self.guard.check_literal(&origin)?;
        Ok(self.xrpc(origin, NamedBy::Stranger))
    }

    /// Returns the client of a service that the user configured.
    pub fn configured(&self, origin: Origin) -> Xrpc {
        self.xrpc(origin, NamedBy::User)
    }

    fn xrpc(&self, origin: Origin, named_by: NamedBy) -> Xrpc {
        let guard = Arc::clone(&self.guard);
        Xrpc::new(self.http.clone(), origin, named_by, guard)
    }

    /// Returns the addresses at which git may contact a service that a DID document names.
    ///
    /// git makes its own connections, so the transport cannot check their addresses. The result is
    /// `None` if every address is allowed, or if a proxy makes the connection.
    ///
    /// # Errors
    /// `protocol` if none of the addresses is public; `network` if they cannot be resolved.
    pub async fn addresses(&self, origin: &Origin) -> Result<Option<Vec<IpAddr>>> {
        self.guard.addresses(origin).await
    }

    /// Returns the DID of a handle, without a check that the DID's document names the handle.
    pub async fn resolve(&self, handle: &str) -> Result<String> {
        if !is_handle(handle) {
            return Err(Error::invalid(
                "owner",
                format!("'{}' is neither a handle nor a DID", one_line(handle)),
            )
            .with_hint("name the account by a domain name, such as alice.example, or by its DID"));
        }
        let cell = self.handles.cell(handle);
        let did = cell.get_or_try_init(|| async {
            if let Some(service) = &self.settings.handles {
                return self.ask(service, handle).await;
            }
            let name = format!("_atproto.{handle}");
            let by_dns = dns::txt(&name, self.settings.dns);
            let (texts, web) = future::join(by_dns, self.by_web(handle)).await;
            let dns = did_of(handle, texts.as_deref().unwrap_or_default())?;
            match (dns, web, texts) {
                (Some(did), ..) | (None, Ok(Some(did)), _) => Ok(did),
                (None, Ok(None), Some(_)) => Err(unknown_handle_error(handle)),
                (None, web, texts) => {
                    Err(self.unresolved_handle_error(handle, texts.is_some(), web.err()))
                }
            }
        });
        did.await.cloned()
    }

    async fn ask(&self, service: &Origin, handle: &str) -> Result<String> {
        #[derive(Deserialize)]
        struct Answer {
            did: String,
        }
        let xrpc = self.configured(service.clone());
        let answer: Answer = xrpc
            .query("com.atproto.identity.resolveHandle", &[("handle", handle)])
            .await
            .map_err(|e| {
                let unknown = matches!(
                    crate::xrpc_error::name(&e),
                    Some("HandleNotFound" | "InvalidRequest")
                );
                if unknown {
                    unknown_handle_error(handle)
                } else {
                    e
                }
            })?;
        valid_did(answer.did).ok_or_else(|| unknown_handle_error(handle))
    }

    /// Returns the error for a handle that could not be looked up: the name server did not answer,
    /// or the domain's page could not be read because of `unread_page`. The handle may exist.
    fn unresolved_handle_error(
        &self,
        handle: &str,
        dns_answered: bool,
        unread_page: Option<Error>,
    ) -> Error {
        let handle = one_line(handle);
        let dns = match (dns_answered, self.settings.dns) {
            (true, _) => format!("_atproto.{handle} has no TXT record that names one"),
            (false, Some(server)) => format!("the name server {server} did not answer"),
            (false, None) => "the system's name servers did not answer".to_owned(),
        };
        let web = match &unread_page {
            Some(e) => format!("https://{handle} could not be read: {}", e.message()),
            None => format!("https://{handle} names no account"),
        };
        let message =
            format!("the account of the handle {handle} could not be looked up: {dns}, and {web}");
        let hint = if dns_answered {
            Hint::new("check the network and the spelling of the handle, then try again")
        } else {
            self.other_name_server()
        };
        Error::new(ErrorKind::Network, message).with_hint(hint)
    }

    fn other_name_server(&self) -> Hint {
        let key = format!("hosts.{}.dns_server", self.settings.host);
        let set = Action::new(Call::ConfigSet).with(Param::Key, key);
        Hint::new("configure another name server, name the account by its DID, or try again")
            .with_action(set.choose(Param::Value))
    }

    /// Returns the DID that the page of the handle's domain names. An answer of the domain without
    /// a DID means that the page names none.
    ///
    /// # Errors
    /// If the domain did not answer, for example without a network.
    async fn by_web(&self, handle: &str) -> Result<Option<String>> {
        let Ok(origin) = Origin::found(&format!("https://{handle}"), self.settings.reach) else {
            return Ok(None);
        };
        let url = format!("{origin}/.well-known/atproto-did");
        match self.get(&url, NamedBy::Stranger).await {
            Ok(body) => Ok(did_on(&body)),
            Err(e) if is_unanswered(&e) => Err(e),
            Err(_) => Ok(None),
        }
    }

    async fn document(&self, did: &str) -> Result<DidDocument> {
        let (url, named_by) = self.document_url(did)?;
        let body = self.get(&url, named_by).await.map_err(|e| {
            if e.is_not_found() {
                Error::not_found(Noun::Account, format!("there is no account {did}"))
            } else {
                e
            }
        })?;
        let value: Value = serde_json::from_slice(&body).map_err(|e| {
            Error::new(
                ErrorKind::Protocol,
                format!("the identity document of {did} is no JSON"),
            )
            .with_source(e)
        })?;
        DidDocument::parse(did, &value)
    }

    fn document_url(&self, did: &str) -> Result<(String, NamedBy)> {
        if did.starts_with("did:plc:") {
            return Ok((format!("{}/{did}", self.settings.plc), NamedBy::User));
        }
        let host = did.strip_prefix("did:web:").and_then(web_host);
        let host = host.ok_or_else(|| no_did(did))?;
        let origin = Origin::of_host(&host, self.settings.reach)?;
        Ok((format!("{origin}/.well-known/did.json"), NamedBy::Stranger))
    }

    /// Reads the document at an address, following redirects.
    async fn get(&self, url: &str, named_by: NamedBy) -> Result<Bytes> {
        let (status, body) = self.fetch(url, named_by, DOCUMENT_MAX).await?;
        check_status(url, status)?;
        Ok(body)
    }

    /// Reads a page of at most `max` bytes from a service that the user configured. Its redirects
    /// follow the rule for documents.
    ///
    /// # Errors
    /// `timeout` if the page does not come in time; the errors of [`Guard::send`].
    pub async fn page(&self, url: &str, max: usize) -> Result<(StatusCode, Bytes)> {
        let window = PartWindow::at_most(PAGE_WAIT);
        let page = self.fetch(url, NamedBy::User, max);
        window.read(|| url.to_owned(), page).await
    }

    async fn fetch(&self, url: &str, named_by: NamedBy, max: usize) -> Result<(StatusCode, Bytes)> {
        let mut request = Request::get(url).body(Bytes::new()).map_err(|e| {
            Error::new(
                ErrorKind::Internal,
                format!("'{url}' is not a valid address: {e}"),
            )
            .with_source(e)
        })?;
        request.extensions_mut().insert(BodyMax(max));
        // Boxed, because every operation nests several of these futures, which would overflow the
        // stack (see `Xrpc::call`).
        let sent = Box::pin(self.guard.send(request, named_by, REDIRECTS_MAX));
        let response = sent.await?;
        let status = response.status();
        let body = response.into_body().into_bytes().unwrap_or_default();
        let _ = call::received(body.len());
        Ok((status, body))
    }
}

/// Returns true if no answer came to a request, so that its failure says nothing about the address.
fn is_unanswered(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Network | ErrorKind::Timeout { .. } | ErrorKind::Cancelled
    )
}

fn check_status(url: &str, status: StatusCode) -> Result<()> {
    if status == StatusCode::NOT_FOUND || status == StatusCode::GONE {
        return Err(Error::not_found(
            Noun::Account,
            format!("there is nothing at {url}"),
        ));
    }
    if !status.is_success() {
        return Err(Error::new(
            ErrorKind::Upstream {
                status: status.as_u16(),
                request_id: None,
            },
            format!("{url} answered with status {}", status.as_u16()),
        ));
    }
    Ok(())
}

/// Returns the host and port of a `did:web`; `None` if atproto does not allow it.
///
/// atproto allows no path, a port only for localhost, and percent-encoding only for the colon.
fn web_host(identifier: &str) -> Option<String> {
    let decoded = identifier.replace("%3A", ":").replace("%3a", ":");
    let (name, port) = match decoded.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (decoded.as_str(), None),
    };
    let has_path = identifier.contains(':');
    let is_here = matches!(name, "localhost" | "127.0.0.1") || name.ends_with(".localhost");
    let fits = match port {
        Some(port) => is_here && !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()),
        None => true,
    };
    (fits && !has_path && !name.contains('%')).then_some(decoded)
}

fn valid_did(did: String) -> Option<String> {
    check_did(&did).is_ok().then_some(did)
}

/// Checks that a text is a DID of limited length. Only such a DID is looked up or cached.
///
/// # Errors
/// `invalid_input`.
fn check_did(did: &str) -> Result<()> {
    let fits = did.starts_with("did:") && AtUri::parse(&format!("at://{did}/x.y.z/self")).is_ok();
    match fits {
        true => Ok(()),
        false => Err(no_did(did)),
    }
}

fn no_did(did: &str) -> Error {
    Error::invalid(
        "owner",
        format!("'{}' is not a DID that can be looked up", one_line(did)),
    )
    .with_hint("name the account by a did:plc:… or a did:web:…")
}

/// Returns the DID in the TXT records of a handle.
///
/// # Errors
/// `protocol` if the records name different DIDs. The handle then counts as unresolved (atproto
/// specification, "Handle Resolution"), so the page at `/.well-known/atproto-did` must not decide
/// between these DIDs.
fn did_of(handle: &str, texts: &[String]) -> Result<Option<String>> {
    let dids = texts.iter().filter_map(|text| text.strip_prefix("did="));
    let mut dids = dids.filter_map(|did| valid_did(did.to_owned()));
    let first = dids.next();
    match dids.find(|other| Some(other) != first.as_ref()) {
        None => Ok(first),
        Some(other) => Err(two_accounts(handle, &first.unwrap_or_default(), &other)),
    }
}

fn two_accounts(handle: &str, one: &str, other: &str) -> Error {
    let handle = one_line(handle);
    let message =
        format!("the TXT records of _atproto.{handle} name two accounts: {one} and {other}");
    Error::new(ErrorKind::Protocol, message).with_hint(
        "name the account by its DID, or ask the owner of the domain to remove the other record",
    )
}

/// Returns the DID in a page at `/.well-known/atproto-did`.
fn did_on(page: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(page.get(..page.len().min(PAGE_MAX))?).ok()?;
    valid_did(text.trim().to_owned())
}

fn unknown_handle_error(handle: &str) -> Error {
    Error::not_found(
        Noun::Account,
        format!("nobody has the handle {}", one_line(handle)),
    )
    .with_hint("look at the spelling; a handle is a domain name, such as alice.example")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DID: &str = "did:plc:abcdefghijklmnopqrstuvwx";

    #[test]
    fn did_web_port_is_allowed_for_loopback_only() {
        for (identifier, host) in [
            ("alice.example", Some("alice.example")),
            ("localhost%3A2583", Some("localhost:2583")),
            ("localhost%3a2583", Some("localhost:2583")),
            ("pds.localhost%3A1", Some("pds.localhost:1")),
            ("127.0.0.1%3A1", Some("127.0.0.1:1")),
            ("alice.example%3A8443", None),
            ("alice.example%3a22", None),
            ("localhost.example%3A22", None),
            ("localhost%3A", None),
            ("localhost%3A1%3A2", None),
            ("alice.example:users:bob", None),
            ("alice%2Eexample", None),
            ("alice.example%2Fbob", None),
        ] {
            assert_eq!(web_host(identifier).as_deref(), host, "{identifier}");
        }
    }

    #[test]
    fn handle_with_records_of_two_dids_is_unresolved() {
        let of = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
            did_of("alice.example", &texts)
        };
        let ours = format!("did={DID}");
        let ours = ours.as_str();
        let other = "did=did:plc:xwvutsrqponmlkjihgfedcba";
        for one in [
            &[ours][..],
            &["v=spf1 -all", ours],
            &[ours, ours],
            &[ours, "did="],
        ] {
            assert_eq!(of(one).unwrap().as_deref(), Some(DID), "{one:?}");
        }
        // If one of several DIDs were accepted, anybody who can add a DNS record could take over
        // the handle.
        for two in [&[ours, other][..], &[other, ours], &[ours, ours, other]] {
            assert_eq!(of(two).unwrap_err().code(), "protocol", "{two:?}");
        }
        for none in [&["did=nonsense"][..], &["did="], &[DID], &[]] {
            assert_eq!(of(none).unwrap(), None, "{none:?}");
        }
    }

    #[test]
    fn well_known_page_with_other_text_is_refused() {
        for page in [DID.to_owned(), format!("{DID}\n"), format!(" {DID}\r\n")] {
            assert_eq!(did_on(page.as_bytes()).as_deref(), Some(DID), "{page:?}");
        }
        for page in [
            String::new(),
            "<html>Not found</html>".to_owned(),
            format!("did={DID}"),
            format!("{DID}\n{DID}"),
            format!("{DID}{}x", " ".repeat(10)),
        ] {
            assert_eq!(did_on(page.as_bytes()), None, "{page:?}");
        }
        assert_eq!(did_on(b"did:plc:\xff"), None);
    }
}
