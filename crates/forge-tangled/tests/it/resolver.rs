//! Resolution of handles by DNS and HTTPS, through the whole resolver.

use std::sync::Arc;

use forge_core::{Action, Call, Error, Param, RepoId, RepoPath, Repos, Result};
use forge_http::{Http, Proxies, RetryPolicy, Roots};
use forge_tangled::{FixedLogin, Reach, Tangled, TangledSettings};
use forge_tangled_world::{Account, DnsDouble, DnsMood, HandleHosts, Page};

use crate::stage::{PASSWORD, Stage, action};

const HANDLE: &str = "somebody.handles.example";
const TXT: &str = "_atproto.somebody.handles.example";
const WELL_KNOWN: &str = "/.well-known/atproto-did";

/// A world in which the documents of both Alice (`widget`) and Carol (`hers`) name the same handle.
struct Names {
    stage: Stage,
    carol: Account,
    dns: DnsDouble,
    hosts: HandleHosts,
}

impl Names {
    fn new() -> Self {
        let stage = Stage::new();
        let carol = stage.world.pds().account("carol.test", PASSWORD);
        let _hers = stage.world.repository(&carol, "hers");
        for account in [&stage.alice, &carol] {
            let directory = stage.world.directory();
            directory.rename(&account.did, Some(HANDLE));
        }
        Self {
            stage,
            carol,
            dns: DnsDouble::start().unwrap(),
            hosts: HandleHosts::start().unwrap(),
        }
    }

    fn settings(&self) -> TangledSettings {
        TangledSettings {
            handles: None,
            dns: Some(self.dns.address()),
            ..self.stage.settings()
        }
    }

    /// Returns a client with empty caches.
    fn client(&self, settings: TangledSettings) -> Tangled {
        let proxy = self.hosts.url();
        let proxies = Proxies::from_env(&|name| (name == "HTTPS_PROXY").then(|| proxy.clone()));
        let roots = Roots {
            more: Some(HandleHosts::authority()),
            ..Roots::default()
        };
        let http = Http::new(forge_http::HttpSettings {
            proxies: proxies.unwrap(),
            roots,
            retry: RetryPolicy::without_pauses(),
            in_flight: 8,
            ..forge_http::HttpSettings::default()
        });
        Tangled::new(settings, http.unwrap(), Arc::new(FixedLogin(None)))
    }

    async fn repo(&self, settings: TangledSettings, owner: &str, name: &str) -> Result<RepoId> {
        let id = RepoId {
            path: RepoPath::Named {
                owner: owner.to_owned(),
                name: name.to_owned(),
            },
            ..self.stage.id()
        };
        let found = self.client(settings).repo(&id).await;
        found.map(|info| info.id)
    }

    /// Asserts that the handle resolves to `account`, which has only one repository. Both
    /// directions are checked: the repository's id must show the handle, too.
    async fn leads_to(&self, account: &Account) {
        let (name, others) = match account.did == self.carol.did {
            true => ("hers", "widget"),
            false => ("widget", "hers"),
        };
        let found = self.repo(self.settings(), HANDLE, name).await.unwrap();
        let RepoPath::Named { owner, .. } = &found.path else {
            panic!("{found}");
        };
        assert_eq!(owner, HANDLE);
        let not_theirs = self.repo(self.settings(), HANDLE, others).await;
        assert!(not_theirs.unwrap_err().is_not_found());
    }

    async fn fails(&self) -> Error {
        let found = self.repo(self.settings(), HANDLE, "widget").await;
        found.unwrap_err()
    }

    fn dns_says(&self, dids: &[&str]) {
        let texts: Vec<String> = dids.iter().map(|did| format!("did={did}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        self.dns.set(TXT, &texts);
    }

    fn host_says(&self, did: &str) {
        self.hosts.set(HANDLE, Some(Page::text(did)));
    }
}

#[tokio::test]
async fn dns_takes_precedence_over_https() {
    let names = Names::new();
    let (alice, carol) = (&names.stage.alice, &names.carol);
    names.dns_says(&[&alice.did]);
    names.leads_to(alice).await;
    assert!(names.hosts.asked(HANDLE).is_empty(), "it is not there");
    names.host_says(&carol.did);
    names.leads_to(alice).await;
    assert!(names.hosts.asked(HANDLE).iter().all(|it| it == WELL_KNOWN));
    names.dns_says(&[]);
    names.leads_to(carol).await;
    names.host_says(&format!(" {}\r\n", alice.did));
    names.leads_to(alice).await;
    names.hosts.set(HANDLE, Some(Page::status(404)));
    let e = names.fails().await;
    assert!(e.is_not_found(), "{e:?}");
    assert!(e.message().contains("nobody has the handle"), "{e:?}");
}

/// Without a network, a name server nearby may still answer, and nothing else does.
#[tokio::test]
async fn handle_of_unreachable_domain_is_not_reported_as_missing() {
    let names = Names::new();
    for (texts, mood, dns) in [
        (&[][..], DnsMood::Fine, "no TXT record"),
        (&["v=spf1 -all"][..], DnsMood::Fine, "no TXT record"),
        (&["did=nonsense"][..], DnsMood::Fine, "no TXT record"),
        (&[][..], DnsMood::Fails, "did not answer"),
    ] {
        names.dns.set(TXT, texts);
        names.dns.set_mood(mood);
        let e = names.fails().await;
        assert_eq!(e.code(), "network", "{texts:?}: {e:?}");
        let unread = format!("https://{HANDLE} could not be read: ");
        for part in [unread.as_str(), dns] {
            assert!(e.message().contains(part), "{part}: {e:?}");
        }
        assert!(e.hint().is_some(), "{e:?}");
    }
}

/// An attacker who adds a second record must not take over the handle.
#[tokio::test]
async fn different_dids_in_dns_are_an_error() {
    let names = Names::new();
    let (alice, carol) = (&names.stage.alice, &names.carol);
    names.host_says(&carol.did);
    names.dns_says(&[&alice.did, "no DID", &alice.did]);
    names.leads_to(alice).await;
    names.dns_says(&[&alice.did, &carol.did]);
    let e = names.fails().await;
    assert_eq!(e.code(), "protocol", "{e:?}");
    for named in [TXT, &alice.did, &carol.did] {
        assert!(e.message().contains(named), "{e:?}");
    }
}

#[tokio::test]
async fn handle_without_back_reference_is_not_found() {
    let names = Names::new();
    let (alice, directory) = (&names.stage.alice, names.stage.world.directory());
    directory.rename(&alice.did, Some("other.handles.example"));
    for by_dns in [true, false] {
        match by_dns {
            true => names.dns_says(&[&alice.did]),
            false => {
                names.dns_says(&[]);
                names.host_says(&alice.did);
            }
        }
        let e = names.fails().await;
        assert!(e.is_not_found(), "{e:?}");
        let why = "does not list the handle";
        assert!(e.message().contains(why), "{e:?}");
    }
    // A claimed handle is not shown for an account until it resolves to the account.
    let by_did = names.repo(names.settings(), &alice.did, "widget").await;
    let shown = |owner: &str| RepoPath::Named {
        owner: owner.to_owned(),
        name: "widget".to_owned(),
    };
    assert_eq!(by_did.unwrap().path, shown(&alice.did));
    let did = format!("did={}", alice.did);
    names.dns.set("_atproto.other.handles.example", &[&did]);
    let by_did = names.repo(names.settings(), &alice.did, "widget").await;
    assert_eq!(by_did.unwrap().path, shown("other.handles.example"));
}

#[tokio::test]
async fn silent_name_server_falls_back_to_https() {
    let names = Names::new();
    names.dns_says(&[&names.carol.did]);
    names.dns.set_mood(DnsMood::Silent);
    names.host_says(&names.stage.alice.did);
    let found = names.repo(names.settings(), HANDLE, "widget").await;
    found.unwrap();
    assert!(names.dns.asked(TXT) >= 2, "a datagram may be lost");
}

#[tokio::test]
async fn lost_dns_query_is_retried() {
    let names = Names::new();
    names.dns_says(&[&names.stage.alice.did]);
    names.host_says(&names.carol.did);
    names.dns.set_mood(DnsMood::Loses(1));
    let found = names.repo(names.settings(), HANDLE, "widget").await;
    found.unwrap();
}

/// The first record of the truncated answer would name Alice.
#[tokio::test]
async fn truncated_dns_answer_is_ignored() {
    let names = Names::new();
    names.dns_says(&[&names.stage.alice.did, &names.carol.did]);
    names.host_says(&names.carol.did);
    names.dns.set_mood(DnsMood::Truncates);
    names.leads_to(&names.carol).await;
    names.dns_says(&[&names.stage.alice.did]);
    for mood in [DnsMood::Truncates, DnsMood::Oversized, DnsMood::Fails] {
        names.dns.set_mood(mood);
        names.leads_to(&names.carol).await;
    }
    names.dns.set_mood(DnsMood::AfterAForgery);
    names.leads_to(&names.stage.alice).await;
}

/// Only a name server's explicit answer proves that a handle is unused.
#[tokio::test]
async fn failed_lookup_is_not_reported_as_missing() {
    let names = Names::new();
    names.dns_says(&[&names.stage.alice.did]);
    for (mood, page) in [
        (DnsMood::Silent, None),
        (DnsMood::Fails, Some(Page::status(404))),
        (DnsMood::Truncates, Some(Page::text("<html>"))),
        (DnsMood::Oversized, Some(Page::status(500))),
    ] {
        names.dns.set_mood(mood);
        names.hosts.set(HANDLE, page);
        let e = names.fails().await;
        assert_eq!(e.code(), "network", "{mood:?}: {e:?}");
        let server = names.dns.address().to_string();
        assert!(e.message().contains(&server), "{mood:?}: {e:?}");
        let set = Action::new(Call::ConfigSet).with(Param::Key, "hosts.tangled.org.dns_server");
        assert_eq!(*action(&e), set.choose(Param::Value));
    }
}

#[tokio::test]
async fn invalid_well_known_page_names_no_account() {
    let names = Names::new();
    let did = &names.stage.alice.did;
    for (page, why) in [
        (Page::text("<html>Welcome</html>"), "a page"),
        (Page::text(format!("{did}\n{}", names.carol.did)), "two"),
        (Page::text(format!("did={did}")), "a record"),
        (
            Page::text(format!("{did}{}", "\n".repeat(300_000))),
            "large",
        ),
        (Page::status(404), "nothing"),
        (Page::status(500), "a failure"),
    ] {
        names.hosts.set(HANDLE, Some(page));
        let e = names.fails().await;
        assert!(e.is_not_found(), "{why}: {e:?}");
    }
    assert_eq!(names.hosts.asked(HANDLE)[0], WELL_KNOWN);
    let requests = names.hosts.requests();
    for start in ["CONNECT ", "GET "] {
        let found = requests.iter().any(|it| it.starts_with(start));
        assert!(found, "{start}: {requests:?}");
    }
    assert!(names.dns.questions().iter().all(|it| it == TXT));
}

#[tokio::test]
async fn handle_redirects_are_limited_and_public() {
    let names = Names::new();
    let elsewhere = "www.handles.example";
    let to = Page::redirect(&format!("https://{elsewhere}/did"));
    names.hosts.set(HANDLE, Some(to));
    let did = names.stage.alice.did.as_str();
    names.hosts.set(elsewhere, Some(Page::text(did)));
    names.leads_to(&names.stage.alice).await;
    assert_eq!(names.hosts.asked(elsewhere)[0], "/did");

    let round = Page::redirect(&format!("https://{HANDLE}/again"));
    names.hosts.set(HANDLE, Some(round));
    let before = names.hosts.asked(HANDLE).len();
    assert!(names.fails().await.is_not_found());
    assert_eq!(names.hosts.asked(HANDLE).len() - before, 4);

    // A service on this machine may trust requests from this machine.
    let pds = names.stage.world.pds().host();
    let here = Page::redirect(&format!("{}{WELL_KNOWN}", pds.url()));
    names.hosts.set(HANDLE, Some(here));
    let settings = TangledSettings {
        reach: Reach::Public,
        ..names.settings()
    };
    let before = pds.count();
    let e = names.repo(settings, HANDLE, "widget").await.unwrap_err();
    assert!(e.is_not_found(), "{e:?}");
    assert_eq!(pds.count(), before);
}

/// Only the first handle of a document counts.
#[tokio::test]
async fn second_handle_of_did_document_is_ignored() {
    let names = Names::new();
    let did = format!("did:web:{HANDLE}");
    names.dns_says(&[&did]);
    let first = "first.handles.example";
    for (aliases, found) in [
        ([format!("at://{HANDLE}"), format!("at://{first}")], true),
        ([format!("at://{first}"), format!("at://{HANDLE}")], false),
        // Invalid handles are skipped.
        (
            ["at://no handle".to_owned(), format!("at://{HANDLE}")],
            true,
        ),
    ] {
        let pds = names.stage.world.pds().host();
        let document = serde_json::json!({
            "id": did,
            "alsoKnownAs": aliases,
            "service": [{
                "id": "#atproto_pds",
                "type": "AtprotoPersonalDataServer",
                "serviceEndpoint": pds.url(),
            }],
        });
        let page = Page::text(document.to_string());
        names.hosts.set(HANDLE, Some(page));
        // The resolved account has no data at the PDS.
        let e = names.fails().await;
        let why = format!("does not list the handle (it names {first})");
        assert_eq!(e.message().contains(&why), !found, "{aliases:?}: {e:?}");
    }
}

/// The document of a `did:web` is also read from a host that a stranger chooses.
#[tokio::test]
async fn did_web_document_is_read_from_host() {
    let names = Names::new();
    let did = format!("did:web:{HANDLE}");
    names.dns_says(&[&did]);
    let pds = names.stage.world.pds().host();
    let document = |id: &str| {
        let document = serde_json::json!({
            "id": id,
            "alsoKnownAs": [format!("at://{HANDLE}")],
            "service": [{
                "id": "#atproto_pds",
                "type": "AtprotoPersonalDataServer",
                "serviceEndpoint": pds.url(),
            }],
        });
        Page::text(document.to_string())
    };
    names.hosts.set(HANDLE, Some(document(&did)));
    // The document names the PDS, which has no such account.
    let before = pds.count();
    let e = names.fails().await;
    let asked = names.hosts.asked(HANDLE);
    assert!(asked.contains(&"/.well-known/did.json".to_owned()));
    assert!(pds.count() > before, "{e:?}");
    names.hosts.set(HANDLE, Some(document(&names.carol.did)));
    let e = names.fails().await;
    assert_eq!(e.code(), "protocol", "{e:?}");
    assert!(e.message().contains("not its identity document"), "{e:?}");
}
