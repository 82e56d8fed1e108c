//! The transport as a `tower` service, for octocrab.

use std::{
    error::Error as StdError,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use forge_core::{Error, ErrorKind};
use http_body_util::BodyExt;
use tower_service::Service;

use crate::{Body, Http};

/// Sends the requests of a client that expects a `tower` service. If that client boxes its errors,
/// they can be downcast to [`forge_core::Error`].
#[derive(Clone, Debug)]
pub struct HttpService(Http);

impl HttpService {
    /// Creates the service on top of `http`.
    #[must_use]
    pub fn new(http: Http) -> Self {
        Self(http)
    }
}

impl<B> Service<http::Request<B>> for HttpService
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: StdError + Send + Sync + 'static,
{
    type Response = http::Response<Body>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let http = self.0.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let bytes = body.collect().await.map_err(|e| {
                Error::new(
                    ErrorKind::Internal,
                    format!("a request body could not be read: {e}"),
                )
                .with_source(e)
            })?;
            http.send(http::Request::from_parts(parts, bytes.to_bytes()))
                .await
        })
    }
}
