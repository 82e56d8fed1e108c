//! A request that the host has read completely.

use std::collections::BTreeMap;

use http_body_util::BodyExt;
use hyper::{Request, body};
use percent_encoding::percent_decode_str;

#[derive(Debug, Default)]
pub(crate) struct Incoming {
    pub(crate) method: String,
    pub(crate) path: String,
    /// The new name of the requested method; `None` if the client used the default name.
    pub(crate) asked: Option<String>,
    pub(crate) query: String,
    /// Headers, with names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Incoming {
    /// Returns the header with this lower-case name. The value is empty if the header is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .iter()
            .find(|(it, _)| it == name)
            .map_or("", |(_, value)| value)
    }

    /// Returns the XRPC method that the request calls.
    pub(crate) fn nsid(&self) -> Option<&str> {
        self.path.strip_prefix("/xrpc/")
    }

    /// Translates the method to its default name. `names` maps new names to default names. A
    /// renamed method is unknown under its default name.
    pub(super) fn renamed(mut self, names: &BTreeMap<String, String>) -> Self {
        let Some(asked) = self.nsid().map(str::to_owned) else {
            return self;
        };
        if let Some(usual) = names.get(&asked) {
            self.path = format!("/xrpc/{usual}");
            self.asked = Some(asked);
        } else if names.values().any(|usual| *usual == asked) {
            self.path = format!("/xrpc/gone.{asked}");
        }
        self
    }

    /// Returns a parameter of the query string.
    pub(crate) fn param(&self, name: &str) -> Option<String> {
        self.params(name).into_iter().next()
    }

    /// Returns all values of a parameter in the query string.
    pub(crate) fn params(&self, name: &str) -> Vec<String> {
        self.query
            .split('&')
            .filter_map(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                (decode(key) == name).then(|| decode(value))
            })
            .collect()
    }

    /// Returns the token in a `Bearer` authorization.
    pub(crate) fn bearer(&self) -> Option<&str> {
        let (scheme, token) = self.header("authorization").split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token)
    }
}

fn decode(text: &str) -> String {
    percent_decode_str(&text.replace('+', " "))
        .decode_utf8_lossy()
        .into_owned()
}

pub(super) async fn read(request: Request<body::Incoming>) -> Incoming {
    let (parts, body) = request.into_parts();
    let headers = parts
        .headers
        .iter()
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        })
        .collect();
    let body = body.collect().await.map(|body| body.to_bytes().to_vec());
    Incoming {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        asked: None,
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers,
        body: body.unwrap_or_default(),
    }
}
