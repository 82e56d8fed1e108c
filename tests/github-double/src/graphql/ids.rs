//! Global node ids: a prefix for the type, as on GitHub, and the object's number.

use super::value::{Fail, Node};
use crate::state::{AccountKind, Id, State};

const MARK: &str = "_kwDO";

fn plain(prefix: &str, id: Id) -> String {
    format!("{prefix}{MARK}{id:010}")
}

fn with_text(prefix: &str, id: Id, text: &str) -> String {
    use std::fmt::Write as _;
    let hex = text.bytes().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    format!("{prefix}{MARK}{id:010}{hex}")
}

/// Returns the global node id of an object.
pub(crate) fn node_id(node: &Node) -> String {
    match node {
        Node::Query => "Q".to_owned(),
        Node::Mutation => "M".to_owned(),
        Node::User(id) => plain("U", *id),
        Node::Organization(id) => plain("O", *id),
        Node::Bot(id) => plain("BOT", *id),
        Node::Team(id) => plain("T", *id),
        Node::Repo(id) => plain("R", *id),
        Node::Ref(id, name) => with_text("REF", *id, name),
        Node::Commit(id, oid) => with_text("C", *id, oid),
        Node::Tree(id, oid) => with_text("TR", *id, oid),
        Node::Blob(id, oid) => with_text("B", *id, oid),
        Node::Pull(id) => plain("PR", *id),
        Node::PullCommit(id, oid) => with_text("PURC", *id, oid),
        Node::Issue(id) => plain("I", *id),
        Node::Label(id) => plain("LA", *id),
        Node::Milestone(id) => plain("MI", *id),
        Node::Comment(id) => plain("IC", *id),
        Node::Reaction(_, id) => plain("REA", *id),
        Node::Review(id) => plain("PRR", *id),
        Node::Thread(id) => plain("PRRT", *id),
        Node::ReviewComment(id) => plain("PRRC", *id),
        Node::ReviewRequest(id, index) => with_text("RR", *id, &index.to_string()),
        Node::Suite(id) => plain("CS", *id),
        Node::Run(id) => plain("CR", *id),
        Node::Status(id) => plain("SC", *id),
        Node::Rollup(id, oid) => with_text("SCR", *id, oid),
        Node::CommitStatus(id, oid) => with_text("S", *id, oid),
        Node::WorkflowRun(id) => plain("WFR", *id),
        Node::Workflow(id) => plain("W", *id),
        Node::App(slug) => with_text("A", 0, slug),
        Node::Project(id) => plain("PVT", *id),
        Node::Item(id) => plain("PVTI", *id),
        Node::Field(id) => plain("PVTSSF", *id),
        Node::Protection(id, branch) => with_text("BPR", *id, branch),
    }
}

pub(crate) fn account_node(state: &State, id: Id) -> Node {
    match state.accounts.get(&id).map(|account| account.kind) {
        Some(AccountKind::Organization) => Node::Organization(id),
        Some(AccountKind::Bot) => Node::Bot(id),
        _ => Node::User(id),
    }
}

/// Returns the object with this global node id.
///
/// Fails as GitHub does if no such object exists.
pub(crate) fn find(state: &State, id: &str) -> Result<Node, Fail> {
    let missing = || {
        Fail::not_found(format!(
            "Could not resolve to a node with the global id of '{id}'"
        ))
    };
    let (prefix, rest) = id.split_once(MARK).ok_or_else(missing)?;
    let (digits, text) = rest.split_at_checked(10).ok_or_else(missing)?;
    let number: Id = digits.parse().map_err(|_| missing())?;
    let text = || unhex(text).ok_or_else(missing);
    let node = match prefix {
        "U" if state.accounts.contains_key(&number) => Node::User(number),
        "O" if state.accounts.contains_key(&number) => Node::Organization(number),
        "BOT" if state.accounts.contains_key(&number) => Node::Bot(number),
        "T" if state.teams.contains_key(&number) => Node::Team(number),
        "R" if state.repos.contains_key(&number) => Node::Repo(number),
        "REF" if state.repos.contains_key(&number) => Node::Ref(number, text()?),
        "C" if state.repos.contains_key(&number) => Node::Commit(number, text()?),
        "PR" if state.pulls.contains_key(&number) => Node::Pull(number),
        "I" if state.issues.contains_key(&number) => Node::Issue(number),
        "LA" if state.labels.contains_key(&number) => Node::Label(number),
        "MI" if state.milestones.contains_key(&number) => Node::Milestone(number),
        "IC" if state.comments.contains_key(&number) => Node::Comment(number),
        "PRR" if state.reviews.contains_key(&number) => Node::Review(number),
        "PRRT" if state.threads.contains_key(&number) => Node::Thread(number),
        "PRRC" if state.review_comments.contains_key(&number) => Node::ReviewComment(number),
        "CS" if state.suites.contains_key(&number) => Node::Suite(number),
        "CR" if state.runs.contains_key(&number) => Node::Run(number),
        "SC" if state.statuses.contains_key(&number) => Node::Status(number),
        "PVT" if state.projects.contains_key(&number) => Node::Project(number),
        "PVTI" if state.items.contains_key(&number) => Node::Item(number),
        "PVTSSF" => {
            let mut fields = state.projects.values().flat_map(|it| &it.fields);
            match fields.any(|field| field.id == number) {
                true => Node::Field(number),
                false => return Err(missing()),
            }
        }
        _ => return Err(missing()),
    };
    Ok(node)
}

fn unhex(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    if !bytes.len().is_multiple_of(2) {
        return None;
    }
    let mut out = Vec::new();
    for pair in bytes.chunks(2) {
        let pair = std::str::from_utf8(pair).ok()?;
        out.push(u8::from_str_radix(pair, 16).ok()?);
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_id_resolves_to_object() {
        let mut state = State::new(std::path::PathBuf::new(), 1);
        let id = state.next_id();
        state.statuses.clear();
        assert!(find(&state, &plain("PR", id)).is_err());
        assert_eq!(
            find(&state, "garbage").unwrap_err().message,
            "Could not resolve to a node with the global id of 'garbage'"
        );
        assert!(find(&state, "PR_kwDO12").is_err());
        assert_eq!(unhex("6d61696e").as_deref(), Some("main"));
        assert_eq!(unhex("zz"), None);
    }
}
