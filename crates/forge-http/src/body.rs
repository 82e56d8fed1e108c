use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use forge_core::Error;
use http_body::{Body as HttpBody, Frame, SizeHint};

use crate::failure;

/// The body of an HTTP response, in memory or streamed.
#[derive(Debug)]
pub struct Body(BodyKind);

#[derive(Debug)]
enum BodyKind {
    Whole(Option<Bytes>),
    Stream { body: reqwest::Body, host: String },
}

impl Body {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self(BodyKind::Whole(Some(bytes).filter(|b| !b.is_empty())))
    }

    pub(crate) fn stream(body: reqwest::Body, host: String) -> Self {
        Self(BodyKind::Stream { body, host })
    }

    /// Returns the bytes of a body in memory, or `None` for a streamed body
    /// ([`crate::StreamBody`]).
    #[must_use]
    pub fn into_bytes(self) -> Option<Bytes> {
        match self.0 {
            BodyKind::Whole(bytes) => Some(bytes.unwrap_or_default()),
            BodyKind::Stream { .. } => None,
        }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        match &mut self.get_mut().0 {
            BodyKind::Whole(bytes) => Poll::Ready(bytes.take().map(|b| Ok(Frame::data(b)))),
            BodyKind::Stream { body, host } => Pin::new(body)
                .poll_frame(cx)
                .map(|frame| frame.map(|f| f.map_err(|e| failure::broken_body(&e, host)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            BodyKind::Whole(bytes) => bytes.is_none(),
            BodyKind::Stream { body, .. } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            BodyKind::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64))
            }
            BodyKind::Stream { body, .. } => body.size_hint(),
        }
    }
}
