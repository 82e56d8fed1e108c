//! Redirects: followed for reads, and for writes within their host; credentials stay at home.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, header};
use url::Url;

/// How many are followed.
pub(crate) const MOST: usize = 5;

/// The request that an answer sends us to, or `None` when the answer is to be taken as it is.
///
/// A read is followed anywhere, but its credentials are dropped when host, port or scheme change
/// (a log or an archive is then fetched from storage with a signed URL). A write is followed with
/// 307 and 308 alone, which keep its method, and within its origin.
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
    let same_origin = from.origin() == target.origin();
    let read = matches!(*request.method(), Method::GET | Method::HEAD);
    let stays = keeps_method && same_origin;
    if !(read || stays) {
        return None;
    }
    let mut next = request.clone();
    *next.uri_mut() = target.as_str().parse().ok()?;
    if !same_origin {
        for name in [
            header::AUTHORIZATION,
            header::COOKIE,
            header::PROXY_AUTHORIZATION,
        ] {
            next.headers_mut().remove(name);
        }
        next.headers_mut().remove("dpop");
    }
    Some(next)
}
