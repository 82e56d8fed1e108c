//! TLS errors before a request is sent, and after.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use forge_core::Retry;
use forge_http::{Http, HttpSettings, Idempotency, RetryPolicy, Roots};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivatePkcs8KeyDer, pem::PemObject},
};

use crate::retries::{http, request};

/// A certificate for 127.0.0.1 that its own key signed. It is valid until 2120.
const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIIBUzCB+qADAgECAgEBMAoGCCqGSM49BAMCMBMxETAPBgNVBAMMCGxvb3BiYWNr
MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjATMREwDwYDVQQDDAhs
b29wYmFjazBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABK5AACqXm0V9Iz6iic2j
VnH4CA6fuzs6N6pCeb7scQ/U7ebanGQNEGzyNfj/Aj4q9UuockWTzTfl/9/9Ni2J
D8CjPTA7MAkGA1UdEwQCMAAwDwYDVR0RBAgwBocEfwAAATAdBgNVHQ4EFgQUVjq9
UGeWxdJyoJtnI+WpbZqZd6kwCgYIKoZIzj0EAwIDSAAwRQIgWOIWQDv0eWGryUCn
8A7U8rPoyrjzu/6FxOXs9t3bDqoCIQCKGqQozHXFyVZbqyt+imsuUAXHVXc7kirs
+4SPo+bTkQ==
-----END CERTIFICATE-----
";
/// The key of [`CERTIFICATE`], as PKCS #8 in base64. The key protects nothing.
const KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgIjGhbk3c7Jr19Ty6wIHbXdSgz0C9V8Az\
                   qcz/8xc1CpShRANCAASuQAAql5tFfSM+oonNo1Zx+AgOn7s7OjeqQnm+7HEP1O3m2pxkDRBs8jX4/wI+\
                   KvVLqHJFk8035f/f/TYtiQ/A";
/// The header of a TLS record with 32 bytes, which are then zeros. No key decrypts that record.
const RECORD_HEADER: [u8; 5] = [23, 3, 3, 0, 32];

/// Answers each request with `head` and a broken TLS record. Returns the URL and the count of
/// requests.
fn serve(head: &'static str) -> (String, Arc<AtomicUsize>) {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).unwrap();
    let key = PrivatePkcs8KeyDer::from(STANDARD.decode(KEY).unwrap());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let requests = Arc::clone(&count);
    thread::spawn(move || {
        for socket in listener.incoming() {
            let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(tls, socket.unwrap());
            if !receives_request(&mut stream) {
                continue;
            }
            requests.fetch_add(1, Ordering::SeqCst);
            stream.write_all(head.as_bytes()).unwrap();
            stream.flush().unwrap();
            stream.sock.write_all(&RECORD_HEADER).unwrap();
            stream.sock.write_all(&[0; 32]).unwrap();
        }
    });
    (url, count)
}

/// Reads a request. Returns false if the client ends the connection before.
fn receives_request(stream: &mut StreamOwned<ServerConnection, TcpStream>) -> bool {
    let mut bytes = Vec::new();
    let mut part = [0; 1024];
    while !bytes.ends_with(b"\r\n\r\n{}") {
        match stream.read(&mut part) {
            Ok(n @ 1..) => bytes.extend_from_slice(&part[..n]),
            _ => return false,
        }
    }
    true
}

fn trusting_http() -> Http {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("loopback.pem");
    std::fs::write(&file, CERTIFICATE).unwrap();
    Http::new(HttpSettings {
        roots: Roots {
            more: Some(file),
            ..Roots::default()
        },
        retry: RetryPolicy::without_pauses(),
        ..HttpSettings::default()
    })
    .unwrap()
}

#[tokio::test]
async fn tls_error_after_request_is_ambiguous_for_writes() {
    let http = trusting_http();
    for head in ["", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"] {
        for (class, retry, sent) in [
            (Idempotency::Read, Retry::Transient, 4),
            (Idempotency::Write, Retry::Ambiguous, 1),
        ] {
            let (url, count) = serve(head);
            let error = http.send(request(&url, class)).await.unwrap_err();
            assert_eq!((error.code(), error.retry()), ("network", retry), "{error}");
            assert!(error.message().contains("decrypt"), "{error}");
            assert_eq!(count.load(Ordering::SeqCst), sent);
        }
    }
}

#[tokio::test]
async fn untrusted_certificate_is_refused_before_request() {
    let (url, count) = serve("");
    let http = http();
    let write = http.send(request(&url, Idempotency::Write));
    let error = write.await.unwrap_err();
    assert_eq!((error.code(), error.retry()), ("network", Retry::Never));
    assert!(error.message().starts_with("the TLS connection to "));
    assert_eq!(count.load(Ordering::SeqCst), 0);
}
