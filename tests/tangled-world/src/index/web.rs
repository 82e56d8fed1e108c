//! Serves the web pages that clients read: a page maps a pull request's number to its at-uri, and
//! each round has its patch.

use std::sync::Arc;

use forge_double_wire::Reply;

use super::{Index, ingest};
use crate::host::{Incoming, Service, lock};

pub(super) struct Answers(pub(super) Arc<Index>);

impl Service for Answers {
    fn answer(&self, request: &Incoming) -> Reply {
        page(&self.0, &request.path)
            .unwrap_or_else(|| Reply::text(404, "text/html", b"<h1>404</h1>".to_vec()))
    }
}

/// Serves `/<owner>/<name>/pulls/<number>[/round/<round>[.patch]]` and
/// `/<owner>/<name>/issues/<number>`. An `@` may come before the owner.
fn page(index: &Index, path: &str) -> Option<Reply> {
    let mut parts = path
        .trim_start_matches('/')
        .trim_start_matches('@')
        .split('/');
    let (owner, name) = (parts.next()?, parts.next()?);
    let kind = parts.next()?;
    let number: usize = match (kind, parts.next()?.parse()) {
        ("pulls" | "issues", Ok(number)) => number,
        _ => return None,
    };
    let round = match (parts.next(), parts.next()) {
        (None, _) => None,
        (Some("round"), Some(round)) if kind == "pulls" => Some(round),
        _ => return None,
    };
    let mut state = lock(&index.state);
    ingest::catch_up(index, &mut state);
    let repo = index.repos.find(|it| {
        let is_owner =
            it.owner == owner || index.identities.handle(&it.owner).as_deref() == Some(owner);
        is_owner && it.name == name
    })?;
    let numbers = match kind {
        "issues" => state.issues.get(&repo.did?)?,
        _ => state.numbers.get(&repo.did?)?,
    };
    let uri = numbers.get(number.checked_sub(1)?)?;
    if let Some(round) = round.and_then(|it| it.strip_suffix(".patch")) {
        let patch = state.patches.get(uri)?.get(round.parse::<usize>().ok()?)?;
        return Some(Reply::text(
            200,
            "text/plain; charset=utf-8",
            patch.clone().into_bytes(),
        ));
    }
    let html = format!(
        "<!doctype html><html><body><main data-aturi=\"{uri}\"><h1>#{number}</h1></main></body></html>"
    );
    Some(Reply::text(
        200,
        "text/html; charset=utf-8",
        html.into_bytes(),
    ))
}
