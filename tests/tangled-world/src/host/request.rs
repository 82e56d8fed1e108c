//! A request, read to its end.

use std::collections::BTreeMap;

use http_body_util::BodyExt;
use hyper::{Request, body};
use percent_encoding::percent_decode_str;

#[derive(Debug, Default)]
pub(crate) struct Incoming {
    pub(crate) method: String,
    pub(crate) path: String,
    /// The method by the name that it was asked by, where that is not its usual one.
    pub(crate) asked: Option<String>,
    pub(crate) query: String,
    /// With names in small letters.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Incoming {
    /// A header by its name in small letters, empty when it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .iter()
            .find(|(it, _)| it == name)
            .map_or("", |(_, value)| value)
    }

    /// The XRPC method that is called.
    pub(crate) fn nsid(&self) -> Option<&str> {
        self.path.strip_prefix("/xrpc/")
    }

    /// The same request by the usual name of the method, where `names` maps new names to usual
    /// ones; a replaced usual name means nothing.
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

    /// A parameter of the query.
    pub(crate) fn param(&self, name: &str) -> Option<String> {
        self.params(name).into_iter().next()
    }

    /// Every value of a parameter.
    pub(crate) fn params(&self, name: &str) -> Vec<String> {
        self.query
            .split('&')
            .filter_map(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                (decode(key) == name).then(|| decode(value))
            })
            .collect()
    }

    /// The token of a `Bearer` authorization.
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
