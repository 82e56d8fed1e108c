//! Addresses at which a host is contacted if a stranger named it.

use std::{
    io,
    net::{IpAddr, TcpListener},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use forge_http::{
    Http, HttpSettings, Lookup, Proxies, PublicOnly, RetryPolicy, is_private_address,
};
use futures::future::BoxFuture;
use http::Request;

/// An unassigned address in the publicly routable range.
const UNASSIGNED: &str = "2000::1";
const HERE: &str = "127.0.0.1";

/// A name lookup that returns its answers in order, and repeats the last one.
#[derive(Debug, Default)]
struct LookupDouble {
    answers: Mutex<Vec<Vec<IpAddr>>>,
    asked: AtomicUsize,
}

impl LookupDouble {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parsed = |answer: &&[&str]| answer.iter().map(|ip| ip.parse().unwrap()).collect();
        Arc::new(Self {
            answers: Mutex::new(answers.iter().rev().map(parsed).collect()),
            asked: AtomicUsize::new(0),
        })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Lookup for LookupDouble {
    fn lookup<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let answer = match answers.len() {
            1 => answers[0].clone(),
            _ => answers.pop().unwrap(),
        };
        Box::pin(async move { Ok(answer) })
    }
}

/// A local port that counts connections and never answers.
struct Port {
    number: u16,
    connected: Arc<AtomicUsize>,
}

impl Port {
    fn open() -> Self {
        let listener = TcpListener::bind((HERE, 0)).unwrap();
        let number = listener.local_addr().unwrap().port();
        let connected = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connected);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                count.fetch_add(1, Ordering::SeqCst);
                drop(stream);
            }
        });
        Self { number, connected }
    }

    fn connected(&self) -> usize {
        self.connected.load(Ordering::SeqCst)
    }

    /// Builds a request to a host name at this port.
    fn request(&self, host: &str) -> Request<Bytes> {
        let url = format!("https://{host}:{}/x", self.number);
        Request::get(url).body(Bytes::new()).unwrap()
    }

    fn public_only(&self, host: &str) -> Request<Bytes> {
        let mut request = self.request(host);
        request.extensions_mut().insert(PublicOnly);
        request
    }
}

fn http(lookup: &Arc<LookupDouble>, vars: &[(&str, &str)]) -> Http {
    let get = |name: &str| {
        let found = vars.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Http::new(HttpSettings {
        lookup: Arc::clone(lookup) as Arc<dyn Lookup>,
        proxies: Proxies::from_env(&get).unwrap(),
        retry: RetryPolicy {
            retries: 0,
            ..RetryPolicy::without_pauses()
        },
        connect_timeout: Duration::from_millis(300),
        ..HttpSettings::default()
    })
    .unwrap()
}

#[tokio::test]
async fn name_with_private_address_is_not_contacted() {
    let port = Port::open();
    for answer in [HERE, "10.0.0.1", "198.18.0.7", "64:ff9b::7f00:1", "::1"] {
        let lookup = LookupDouble::new(&[&[answer]]);
        let http = http(&lookup, &[]);
        let e = http.send(port.public_only("pds.example")).await;
        let e = e.unwrap_err();
        assert_eq!(e.code(), "protocol", "{answer}: {e:?}");
        assert!(is_private_address(&e), "{answer}: {e:?}");
        assert!(e.message().contains("pds.example"), "{e:?}");
        assert_eq!(lookup.asked(), 1, "{answer}: the lookup is not repeated");
    }
    assert_eq!(port.connected(), 0);
    // Services that the user configured may have any address.
    let lookup = LookupDouble::new(&[&[HERE]]);
    let e = http(&lookup, &[]).send(port.request("pds.example")).await;
    assert_eq!(e.unwrap_err().code(), "network");
    assert_eq!(port.connected(), 1);
}

#[tokio::test]
async fn rebound_name_is_not_contacted() {
    let port = Port::open();
    let lookup = LookupDouble::new(&[&[UNASSIGNED], &[HERE]]);
    let http = http(&lookup, &[]);
    // The connection uses the checked address: there is one lookup, not two.
    let e = http.send(port.public_only("pds.example")).await;
    assert!(!is_private_address(&e.unwrap_err()));
    assert_eq!(lookup.asked(), 1);
    let e = http.send(port.public_only("pds.example")).await;
    assert!(is_private_address(&e.unwrap_err()));
    assert_eq!((lookup.asked(), port.connected()), (2, 0));
}

#[tokio::test]
async fn private_address_among_public_addresses_is_left_out() {
    let port = Port::open();
    let lookup = LookupDouble::new(&[&[HERE, UNASSIGNED]]);
    let e = http(&lookup, &[])
        .send(port.public_only("pds.example"))
        .await;
    assert!(!is_private_address(&e.unwrap_err()));
    assert_eq!(port.connected(), 0);
}

/// A connection to a service of the user is not reused for a host that a stranger named.
#[tokio::test]
async fn connections_to_private_addresses_are_not_shared() {
    let port = Port::open();
    let lookup = LookupDouble::new(&[&[HERE]]);
    let http = http(&lookup, &[]);
    let _ = http.send(port.request("pds.example")).await;
    let before = port.connected();
    let e = http.send(port.public_only("pds.example")).await;
    assert!(is_private_address(&e.unwrap_err()));
    assert_eq!(port.connected(), before);
}

#[tokio::test]
async fn private_address_literal_is_refused() {
    let port = Port::open();
    let lookup = LookupDouble::new(&[&[HERE]]);
    for host in [HERE, "localhost", "[::1]", "[::ffff:7f00:1]", "2130706433"] {
        let e = http(&lookup, &[]).send(port.public_only(host)).await;
        let e = e.unwrap_err();
        assert!(is_private_address(&e), "{host}: {e:?}");
    }
    assert_eq!((lookup.asked(), port.connected()), (0, 0));
}

#[tokio::test]
async fn proxied_name_is_not_looked_up() {
    let port = Port::open();
    let proxy = format!("http://{HERE}:{}", port.number);
    let lookup = LookupDouble::new(&[&["10.0.0.1"]]);
    let http = http(&lookup, &[("HTTPS_PROXY", &proxy)]);
    let e = http.send(port.public_only("pds.example")).await;
    assert!(!is_private_address(&e.unwrap_err()));
    assert_eq!((lookup.asked(), port.connected()), (0, 1));
    let url = "https://pds.example/".parse().unwrap();
    assert_eq!(http.public_addresses(&url).await.unwrap(), None);
}

#[tokio::test]
async fn public_addresses_of_name_exclude_private_addresses() {
    let lookup = LookupDouble::new(&[&["10.0.0.1", UNASSIGNED], &["10.0.0.1"]]);
    let http = http(&lookup, &[]);
    let url = "https://knot.example/".parse().unwrap();
    let found = http.public_addresses(&url).await.unwrap();
    assert_eq!(found, Some(vec![UNASSIGNED.parse().unwrap()]));
    let e = http.public_addresses(&url).await.unwrap_err();
    assert!(is_private_address(&e), "{e:?}");
}
