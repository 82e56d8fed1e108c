//! Follows redirects. Reads are redirected to any host, writes only within their host, and
//! credentials never reach another origin.

use std::net::Ipv4Addr;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use url::{Host, Url};

use crate::{Body, proxy, redact};

/// Maximum number of redirects that are followed for one request.
pub const MAX_REDIRECTS: usize = 5;

/// Returns the request that follows a redirect, or `None` if the response is final.
///
/// - A read is redirected to any host. It loses its credentials if host, port or scheme change, for
///   example if a log comes from a storage server with a signed URL.
/// - A write is redirected only within its origin, and only by 307 and 308, which keep the method.
/// - A remote server cannot redirect to this machine, because local services trust local clients.
pub(crate) fn next(
    request: &Request<Bytes>,
    from: &Url,
    status: StatusCode,
    headers: &HeaderMap,
) -> Option<Request<Bytes>> {
    let keeps_method = matches!(status.as_u16(), 307 | 308);
    if !keeps_method && !matches!(status.as_u16(), 301..=303) {
        return None;
    }
    let target = from
        .join(headers.get(header::LOCATION)?.to_str().ok()?)
        .ok()?;
    if is_here(&target) && !is_here(from) {
        return None;
    }
    let same_origin = from.origin() == target.origin();
    let read = matches!(*request.method(), Method::GET | Method::HEAD);
    let stays = keeps_method && same_origin;
    if !(read || stays) {
        return None;
    }
    let mut next = request.clone();
    *next.uri_mut() = target.as_str().parse().ok()?;
    if !same_origin {
        for name in redact::HEADERS {
            next.headers_mut().remove(*name);
        }
    }
    Some(next)
}

/// Returns true if the host of a URL is this machine: a loopback address, the unspecified address
/// (which connects to loopback), an IPv6 form of either, or a local name with or without a final
/// dot.
fn is_here(url: &Url) -> bool {
    let is_here_v4 = |ip: Ipv4Addr| ip.is_loopback() || ip.is_unspecified();
    match url.host() {
        Some(Host::Domain(name)) => proxy::is_local_name(name.trim_end_matches('.')),
        Some(Host::Ipv4(ip)) => is_here_v4(ip),
        Some(Host::Ipv6(ip)) => {
            let mapped = ip.to_ipv4_mapped();
            ip.is_loopback() || ip.is_unspecified() || mapped.is_some_and(is_here_v4)
        }
        None => false,
    }
}

/// Returns the request that [`crate::Http::send`] would send for a redirect, or `None` if the
/// response is final. For callers that use [`crate::NoRedirect`] to check the target first.
#[must_use]
pub fn redirected(request: &Request<Bytes>, response: &Response<Body>) -> Option<Request<Bytes>> {
    let from = Url::parse(&request.uri().to_string()).ok()?;
    next(request, &from, response.status(), response.headers())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(from: &str, to: &str) -> Option<String> {
        let request = Request::get(from).body(Bytes::new()).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(header::LOCATION, to.parse().unwrap());
        let from = Url::parse(from).unwrap();
        let next = next(&request, &from, StatusCode::FOUND, &headers);
        next.map(|request| request.uri().to_string())
    }

    #[test]
    fn remote_server_cannot_redirect_to_this_machine() {
        for here in [
            "http://localhost:8080/admin",
            "https://localhost/",
            "http://pds.localhost/",
            "http://127.0.0.1:1/",
            "http://127.1/",
            "http://[::1]:1/",
            "https://localhost.:1/",
            "https://pds.localhost./",
            "https://0.0.0.0:1/",
            "https://[::]:1/",
            "https://[::ffff:127.0.0.1]:1/",
            "https://[::ffff:0.0.0.0]:1/",
        ] {
            assert_eq!(followed("https://forge.example/x", here), None, "{here}");
            let by_us = followed("http://localhost:1/x", here);
            assert!(by_us.is_some(), "{here}");
        }
        let elsewhere = "https://storage.example/y";
        let to = followed("https://forge.example/x", elsewhere);
        assert_eq!(to.as_deref(), Some(elsewhere));
    }
}
