//! HTTP answers that a double sends.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use hyper::{
    Response,
    body::{Body, Frame, SizeHint},
};
use serde_json::Value;

/// An HTTP answer before it is sent.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    /// HTTP status of the answer.
    pub status: u16,
    /// Names and values of the headers. `content-length` is added when the answer is sent.
    pub headers: Vec<(String, String)>,
    /// Complete body of the answer.
    pub body: Vec<u8>,
}

impl Reply {
    /// Creates an answer with a JSON body.
    pub fn json(status: u16, value: &Value) -> Self {
        Self::text(
            status,
            "application/json; charset=utf-8",
            value.to_string().into_bytes(),
        )
    }

    /// Creates an answer with this content type.
    pub fn text(status: u16, kind: &str, body: Vec<u8>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), kind.to_owned())],
            body,
        }
    }

    /// Sets a header, and replaces an existing one with this name.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.headers
            .retain(|(it, _)| !it.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.into()));
    }

    /// Converts the answer for hyper. With `keep`, the connection breaks after that many bytes of
    /// the body.
    pub fn into_response(self, keep: Option<usize>) -> Response<Parts> {
        let length = self.body.len();
        let mut parts = Parts::default();
        match keep {
            Some(keep) => {
                let kept = self.body.get(..keep.min(length)).unwrap_or_default();
                if !kept.is_empty() {
                    parts.0.push_back(Ok(Bytes::copy_from_slice(kept)));
                }
                parts
                    .0
                    .push_back(Err(io::ErrorKind::ConnectionAborted.into()));
            }
            None if self.body.is_empty() => {}
            None => parts.0.push_back(Ok(self.body.into())),
        }
        let mut response = Response::builder().status(self.status);
        for (name, value) in &self.headers {
            response = response.header(name, value);
        }
        if self.status != 204 {
            response = response.header("content-length", length);
        }
        // Building the response fails only for an invalid header, and only tests choose the
        // headers.
        response.body(parts).unwrap_or_default()
    }
}

/// A body in parts. An error as a part breaks the connection.
#[derive(Debug, Default)]
pub struct Parts(VecDeque<io::Result<Bytes>>);

impl Body for Parts {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        Poll::Ready(self.0.pop_front().map(|part| part.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
