//! Computes the cross references in timelines from the current texts.

use super::{
    graphql::{Ctx, Node, Val, account_node, node_id},
    resolve::closing_issues,
    state::{Id, State},
};

/// An issue or a pull request that other texts may reference.
pub(crate) struct Target {
    pub(crate) node: Node,
    pub(crate) id: Id,
    pub(crate) repo: Id,
    pub(crate) number: u64,
}

/// An issue or pull request with texts that may reference others.
struct Source {
    node: Node,
    id: Id,
    repo: Id,
    author: Id,
    at: String,
    texts: Vec<String>,
}

/// Returns the `CrossReferencedEvent`s of a timeline with their times. There is one event for each
/// issue or pull request that references `target`, if the viewer may see it.
pub(crate) fn events(ctx: &Ctx<'_>, target: &Target) -> Vec<(String, Val)> {
    let sources = sources(&ctx.state());
    sources
        .into_iter()
        .filter(|source| source.id != target.id && ctx.may_see(source.repo))
        .filter(|source| {
            let own = source.repo == target.repo;
            let full = ctx.state().full_name(target.repo).to_lowercase();
            source
                .texts
                .iter()
                .any(|text| names(text, own, &full, &ctx.web, target.number))
        })
        .map(|source| (source.at.clone(), event(ctx, target, &source)))
        .collect()
}

fn event(ctx: &Ctx<'_>, target: &Target, source: &Source) -> Val {
    let closes = {
        let state = ctx.state();
        let pull = state.pulls.get(&source.id);
        pull.is_some_and(|pull| closing_issues(&state, pull).contains(&target.id))
    };
    let kind = match target.node {
        Node::Pull(_) => "pull",
        _ => "issues",
    };
    let url = format!("{}/{kind}/{}", ctx.repo_url(target.repo), target.number);
    Val::record(
        "CrossReferencedEvent",
        vec![
            (
                "id",
                format!("CRE_{}_{}", node_id(&target.node), source.id).into(),
            ),
            ("actor", account_node(&ctx.state(), source.author).into()),
            ("createdAt", (&source.at).into()),
            ("referencedAt", (&source.at).into()),
            ("isCrossRepository", (source.repo != target.repo).into()),
            ("url", url.into()),
            ("source", source.node.clone().into()),
            ("target", target.node.clone().into()),
            ("willCloseTarget", closes.into()),
        ],
    )
}

fn sources(state: &State) -> Vec<Source> {
    let comments = |id: Id| {
        let all = state.comments.values();
        all.filter(move |it| it.subject == id)
            .map(|it| it.body.clone())
    };
    let issues = state.issues.values().map(|issue| Source {
        node: Node::Issue(issue.id),
        id: issue.id,
        repo: issue.repo,
        author: issue.author,
        at: issue.created_at.clone(),
        texts: [issue.body.clone()]
            .into_iter()
            .chain(comments(issue.id))
            .collect(),
    });
    let pulls = state.pulls.values().map(|pull| {
        let reviews = state.reviews.values().filter(|it| it.pull == pull.id);
        let threads = state.threads.values().filter(|it| it.pull == pull.id);
        let lines = threads.flat_map(|thread| {
            let all = state.review_comments.values();
            all.filter(move |it| it.thread == thread.id)
        });
        Source {
            node: Node::Pull(pull.id),
            id: pull.id,
            repo: pull.repo,
            author: pull.author,
            at: pull.created_at.clone(),
            texts: [pull.body.clone()]
                .into_iter()
                .chain(comments(pull.id))
                .chain(reviews.map(|it| it.body.clone()))
                .chain(lines.map(|it| it.body.clone()))
                .collect(),
        }
    });
    issues.chain(pulls).collect()
}

/// Returns true if a text references `number` in the repository `full`. `own` is true if the text
/// belongs to `full`.
fn names(text: &str, own: bool, full: &str, web: &str, number: u64) -> bool {
    let text = without_code(text).to_lowercase();
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let number = number.to_string();
    let short = format!("#{number}");
    let by_number = text.match_indices(&short).any(|(at, _)| {
        let (before, behind) = text.split_at(at);
        let start = before
            .rfind(|c: char| !(c.is_alphanumeric() || "_-./".contains(c)))
            .map_or(0, |at| {
                at + before[at..].chars().next().map_or(1, char::len_utf8)
            });
        let word = &before[start..];
        ends(&behind[short.len()..]) && (word == full || own && word.is_empty())
    });
    by_number
        || ["pull", "issues"].iter().any(|kind| {
            let url = format!("{web}/{full}/{kind}/{number}");
            text.match_indices(&url.to_lowercase())
                .any(|(at, url)| ends(&text[at + url.len()..]))
        })
}

/// Returns a text without its code blocks and code spans.
pub(crate) fn without_code(text: &str) -> String {
    let mut fenced = false;
    let mut kept = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let plain = line.split('`').step_by(2).collect::<Vec<_>>();
            kept.push_str(&plain.join("\u{fffc}"));
            kept.push('\n');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_by_number_name_or_url_are_found() {
        let named = |text: &str, own: bool| names(text, own, "octo/tools", "https://h", 7);
        for text in [
            "#7",
            "see #7.",
            "(#7)",
            "octo/tools#7",
            "Octo/Tools#7",
            "https://h/octo/tools/pull/7",
            "https://h/octo/tools/issues/7#x",
        ] {
            assert!(named(text, true), "{text}");
        }
        assert!(named("octo/tools#7", false) && !named("#7", false));
        for text in [
            "#70",
            "#7a",
            "x#7",
            "octo/other#7",
            "`#7`",
            "```\n#7\n```",
            "https://h/octo/tools/pull/70",
            "https://h/octo/other/pull/7",
        ] {
            assert!(!named(text, true), "{text}");
        }
    }
}
