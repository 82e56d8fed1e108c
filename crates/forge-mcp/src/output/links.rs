use forge_core::model::{Link, LinkState, Links, SubjectKind};

use crate::content::{Cleaner, name};

/// Formats one line for each link. If `known` returns false for a link, its line shows only the
/// locator.
pub(crate) fn link_lines(
    links: &Links,
    known: impl Fn(&Link) -> bool,
    cleaner: &Cleaner,
) -> Vec<String> {
    let lists = links.lists().into_iter();
    let lines = lists.flat_map(|(relation, links)| links.iter().map(move |link| (relation, link)));
    lines
        .map(|(relation, link)| {
            let more = if known(link) {
                about(link, cleaner)
            } else {
                String::new()
            };
            let to = name(&cleaner.line(&link.to_string()));
            format!("{relation} {to}{more}\n")
        })
        .collect()
}

/// Formats the part of a line after the locator: ` (issue, open) "Title"`.
fn about(link: &Link, cleaner: &Cleaner) -> String {
    let kind = link.kind.map(|kind| match kind {
        SubjectKind::PullRequest => "pull request",
        SubjectKind::Issue => "issue",
    });
    let state = link.state.map(|state| match state {
        LinkState::Open => "open",
        LinkState::Closed => "closed",
        LinkState::Merged => "merged",
    });
    let words: Vec<&str> = kind.into_iter().chain(state).collect();
    let mut text = String::new();
    if !words.is_empty() {
        text.push_str(&format!(" ({})", words.join(", ")));
    }
    if let Some(text_of) = &link.title {
        text.push_str(&format!(" {}", cleaner.line(text_of)));
    }
    text
}
