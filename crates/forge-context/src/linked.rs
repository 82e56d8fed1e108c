//! Issues that a pull request closes, relates to or mentions, and where each link was found.

use std::collections::HashMap;

use forge_core::{
    Action, Hint, Op, PrKey, RepoId, Warning,
    locator::Hosts,
    mentions::{MentionTarget, may_search_text, mentions, ticket_keys, tickets},
    model::{Comment, Issue, IssueId, Link, LinkState, Links, PullRequest, SubjectKind},
    text::{Quote, quote},
};
use serde::Serialize;

use crate::{TicketKeys, ticket::ReadTicket};

/// Maximum number of comments that are kept for an issue. The newest are kept.
const MAX_COMMENTS: usize = 5;
/// Maximum number of unread issues that a warning names.
const MAX_NAMED: usize = 10;
/// Maximum number of linked items of a pull request. The items with the strongest relationship are
/// kept.
const MAX_ITEMS: usize = 200;

/// Relationship of a pull request to an issue, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Relationship {
    /// The forge lists the issue as closed by the pull request, or a word such as `Fixes` precedes
    /// it.
    Closes,
    /// Words such as `related to`, `part of` or `see` precede the issue.
    Related,
    /// The issue is mentioned.
    References,
}

impl Relationship {
    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closes => "closes",
            Self::Related => "related",
            Self::References => "references",
        }
    }

    const fn of(closes: bool, relates: bool) -> Self {
        match (closes, relates) {
            (true, _) => Self::Closes,
            (false, true) => Self::Related,
            (false, false) => Self::References,
        }
    }
}

/// Where a link was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LinkPlace {
    /// The forge's own list of links.
    Forge,
    /// The title.
    Title,
    /// The description.
    Description,
    /// The message of a commit.
    Commit,
    /// The name of the head branch.
    Branch,
    /// A comment or a review.
    Comment,
}

impl LinkPlace {
    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forge => "forge",
            Self::Title => "title",
            Self::Description => "description",
            Self::Commit => "commit",
            Self::Branch => "branch",
            Self::Comment => "comment",
        }
    }
}

/// Target of a link.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkTarget {
    /// An issue or pull request on a forge. The repository of a Tangled record is `None` until it
    /// is looked up.
    Forge(Option<RepoId>, PrKey),
    /// A ticket of an issue tracker.
    Ticket(String),
}

/// An issue or pull request that the pull request closes, relates to or mentions.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct LinkedItem {
    /// The target of the link.
    pub target: LinkTarget,
    /// `#12`, `owner/name#12`, an at-uri, or `PROJ-12`.
    pub key: String,
    /// Issue or pull request; `None` if unknown.
    pub kind: Option<SubjectKind>,
    /// The title, if it was read.
    pub title: Option<String>,
    /// The state; `None` if it was not read.
    pub state: Option<LinkState>,
    /// The status of a ticket in the terms of its tracker, such as `In Progress`.
    pub status: Option<String>,
    /// The web page, if known.
    pub url: Option<String>,
    /// The strongest relationship of all mentions.
    pub relationship: Relationship,
    /// All places where the link was found.
    pub found_in: Vec<LinkPlace>,
    /// The labels.
    pub labels: Vec<String>,
    /// The description, if it was read.
    pub body: Option<String>,
    /// The newest comments, oldest first.
    pub comments: Vec<Comment>,
}

impl LinkedItem {
    fn new(target: LinkTarget, own: &RepoId, relationship: Relationship, at: LinkPlace) -> Self {
        let kind = match target {
            LinkTarget::Forge(..) => None,
            LinkTarget::Ticket(_) => Some(SubjectKind::Issue),
        };
        Self {
            key: key_of(&target, own),
            target,
            kind,
            title: None,
            state: None,
            status: None,
            url: None,
            relationship,
            found_in: vec![at],
            labels: Vec::new(),
            body: None,
            comments: Vec::new(),
        }
    }

    /// Returns the key of the issue if this item is an issue of the repository `own`.
    #[must_use]
    pub fn issue_in(&self, own: &RepoId) -> Option<&PrKey> {
        match &self.target {
            LinkTarget::Forge(repo, key) if self.kind != Some(SubjectKind::PullRequest) => {
                let is_own = repo.as_ref().is_some_and(|repo| is_same_repo(repo, own));
                (is_own || repo.is_none() && self.kind == Some(SubjectKind::Issue)).then_some(key)
            }
            _ => None,
        }
    }

    /// Returns the id of the issue if it belongs to another repository on the same host and can be
    /// read there. An owner that is a handle or DID is refused, because resolving it would contact
    /// a host that was chosen by the author of the text.
    #[must_use]
    pub fn issue_elsewhere(&self, own: &RepoId) -> Option<IssueId> {
        match &self.target {
            LinkTarget::Forge(Some(repo), key @ PrKey::Number(_))
                if self.kind != Some(SubjectKind::PullRequest) && !is_same_repo(repo, own) =>
            {
                let (owner, _) = repo.owner_and_name()?;
                let is_of_host = repo.kind == own.kind && repo.host == own.host;
                (is_of_host && !owner.contains(['.', ':'])).then(|| IssueId {
                    repo: repo.clone(),
                    key: key.clone(),
                })
            }
            _ => None,
        }
    }

    /// Sets title, state, text and comments from `issue`.
    pub fn fill(&mut self, issue: Issue) {
        self.kind = Some(SubjectKind::Issue);
        self.title = Some(issue.title);
        self.state = Some(issue.state.into());
        self.url = Some(issue.url);
        self.labels = issue.labels.into_iter().map(|label| label.name).collect();
        self.body = Some(issue.body);
        let mut comments = issue.comments.unwrap_or_default();
        let older = comments.len().saturating_sub(MAX_COMMENTS);
        comments.drain(..older);
        self.comments = comments;
    }

    /// Returns true if only the branch name mentions the item. The number may then mean something
    /// else.
    #[must_use]
    pub fn is_guess(&self) -> bool {
        self.found_in == [LinkPlace::Branch]
    }
}

fn is_same_repo(a: &RepoId, b: &RepoId) -> bool {
    a.comparison_key() == b.comparison_key()
}

fn key_of(target: &LinkTarget, own: &RepoId) -> String {
    match target {
        LinkTarget::Ticket(key) => key.clone(),
        LinkTarget::Forge(_, PrKey::Record(uri)) => uri.clone(),
        LinkTarget::Forge(Some(repo), PrKey::Number(n)) if !is_same_repo(repo, own) => {
            match repo.owner_and_name() {
                Some((owner, name)) if repo.host == own.host => format!("{owner}/{name}#{n}"),
                _ => format!("{repo}#{n}"),
            }
        }
        LinkTarget::Forge(_, PrKey::Number(n)) => format!("#{n}"),
    }
}

/// Returns the links of `pull` from its texts and from the forge's own list: closing links first,
/// then related ones, then mentions. Makes no request.
#[must_use]
pub fn linked_items(
    pull: &PullRequest,
    hosts: &Hosts,
    keys: &TicketKeys,
    warnings: &mut Vec<Warning>,
) -> Vec<LinkedItem> {
    let mut found = LinkCollector {
        pull,
        keys,
        items: Vec::new(),
        known: HashMap::new(),
    };
    for issue in pull.linked_issues.iter().flatten() {
        let target = LinkTarget::Forge(Some(issue.repo.clone()), PrKey::Number(issue.number));
        let own = &pull.id.repo;
        let item = LinkedItem::new(target, own, Relationship::Closes, LinkPlace::Forge);
        found.push(LinkedItem {
            kind: Some(SubjectKind::Issue),
            title: Some(issue.title.clone()),
            state: Some(if issue.open {
                LinkState::Open
            } else {
                LinkState::Closed
            }),
            url: Some(issue.url.clone()),
            ..item
        });
    }
    for issue in &pull.closing_references {
        let target = LinkTarget::Forge(Some(issue.repo.clone()), issue.key.clone());
        let kind = Some(SubjectKind::Issue);
        found.add_target(target, kind, Relationship::Closes, LinkPlace::Forge);
    }
    found.text(&pull.title, LinkPlace::Title, hosts, warnings);
    found.text(&pull.description, LinkPlace::Description, hosts, warnings);
    for commit in pull.commits.iter().flatten() {
        let message = format!("{}\n\n{}", commit.message_headline, commit.message_body);
        if !may_search_text(&message, warnings) {
            break;
        }
        found.text(&message, LinkPlace::Commit, hosts, warnings);
    }
    found.branch(&pull.head_branch);
    let mut items = found.items;
    items.sort_by_key(|item| item.relationship);
    if items.len() > MAX_ITEMS {
        warnings.push(Warning::new(format!(
            "this pull request names {} issues and tickets; those after the first {MAX_ITEMS} were \
             left out",
            items.len()
        )));
        items.truncate(MAX_ITEMS);
    }
    items
}

/// Returns a warning that names the issues of other repositories that were not read. The warning
/// may also name pull requests, because a mention does not tell an issue from a pull request.
pub(crate) fn unread_elsewhere(items: &[LinkedItem], own: &RepoId) -> Option<Warning> {
    let unread = items
        .iter()
        .filter(|item| item.body.is_none() && item.issue_elsewhere(own).is_some());
    let (count, first) = count_and_names(unread);
    (count > 0).then(|| {
        Warning::new(format!(
            "{count} issue(s) or pull request(s) of other repositories were not read: {first}"
        ))
    })
}

/// Returns a warning that names the issues of which only title and state are known. These are the
/// issues beyond the limit, and those that only a comment names. The warning does not name issues
/// with a key in `failed`, because an error reports them.
pub(crate) fn unread_texts(
    items: &[LinkedItem],
    own: &RepoId,
    failed: &[String],
) -> Option<Warning> {
    let is_unread = |item: &&LinkedItem| {
        let is_issue = item.kind == Some(SubjectKind::Issue) && item.issue_in(own).is_some();
        item.body.is_none() && is_issue && !failed.contains(&item.key)
    };
    let first = items.iter().find(is_unread)?;
    let (count, names) = count_and_names(items.iter().filter(is_unread));
    let view = Action::op(Op::IssueView);
    let view = first.issue_in(own).map(|key| view.on(key));
    let hint = Hint::new("view these issues one by one").with_any_action(view);
    let message = format!("the texts of {count} linked issue(s) were not read: {names}");
    Some(Warning::new(message).with_hint(hint))
}

/// Returns a warning that names the tickets that were not requested from the tracker, because their
/// number exceeds the limit. Without a tracker, `read` is empty and there is no warning.
pub(crate) fn unread_tickets(items: &[LinkedItem], read: &[ReadTicket]) -> Option<Warning> {
    let is_unread = |item: &&LinkedItem| match &item.target {
        LinkTarget::Ticket(key) => read.iter().all(|(known, _)| known != key),
        LinkTarget::Forge(..) => false,
    };
    let (count, names) = count_and_names(items.iter().filter(is_unread));
    (count > 0 && !read.is_empty())
        .then(|| Warning::new(format!("{count} ticket(s) were not read: {names}")))
}

/// Returns the number of `items`, and the keys of the first items. A key that could imitate other
/// text is quoted, because the owner and the repository name in a key come from the host.
fn count_and_names<'a>(items: impl Iterator<Item = &'a LinkedItem>) -> (usize, String) {
    let keys: Vec<&str> = items.map(|item| item.key.as_str()).collect();
    let first = keys.get(..MAX_NAMED).unwrap_or(&keys).iter();
    let shown = first.map(|key| match key.bytes().all(|b| b.is_ascii_graphic()) {
        true => (*key).to_owned(),
        false => quote(key, Quote::Inline),
    });
    (keys.len(), shown.collect::<Vec<_>>().join(", "))
}

/// Shortens the longest texts of `items` until all texts together have at most `most` bytes. A long
/// text therefore never displaces a shorter one. The returned warning has the number of bytes that
/// were cut.
pub(crate) fn cut_texts(items: &mut [LinkedItem], most: usize) -> Option<Warning> {
    let mut texts: Vec<&mut String> = items
        .iter_mut()
        .flat_map(|item| {
            let comments = item.comments.iter_mut().map(|comment| &mut comment.body);
            item.body.iter_mut().chain(comments)
        })
        .collect();
    texts.sort_by_key(|text| text.len());
    let (mut left, mut over) = (most, 0);
    for (n, text) in texts.iter_mut().rev().enumerate().rev() {
        let end = text.floor_char_boundary(left / (n + 1));
        left -= end;
        over += text.len() - end;
        text.truncate(end);
    }
    (over > 0).then(|| {
        Warning::new(format!(
            "the texts of linked issues have more than {most} bytes; {over} bytes are left out"
        ))
        .with_hint("view a shortened issue to read the whole text")
    })
}

/// Adds the links that the forge reports to `items`. A known item gets its kind, title and state;
/// any other link, such as a mention in a comment, becomes a new item. The returned warning tells
/// how many links exceed the limit.
pub fn add_links(
    items: &mut Vec<LinkedItem>,
    pull: &PullRequest,
    links: &Links,
) -> Option<Warning> {
    let closes = links.closes.iter().map(|l| (l, Relationship::Closes));
    let named = links.mentions.iter().map(|l| (l, Relationship::References));
    for (link, relationship) in closes.chain(named) {
        let known = items.iter_mut().find(|item| is_same(item, link));
        let place = match relationship {
            Relationship::Closes => LinkPlace::Forge,
            _ => LinkPlace::Comment,
        };
        match known {
            Some(item) => {
                item.kind = item.kind.or(link.kind);
                item.title = item.title.take().or_else(|| link.title.clone());
                item.state = item.state.or(link.state);
                if relationship < item.relationship {
                    item.relationship = relationship;
                    item.found_in.insert(0, place);
                }
            }
            None => {
                let target = LinkTarget::Forge(link.repo.clone(), link.key.clone());
                let item = LinkedItem::new(target, &pull.id.repo, relationship, place);
                items.push(LinkedItem {
                    kind: link.kind,
                    title: link.title.clone(),
                    state: link.state,
                    ..item
                });
            }
        }
    }
    items.sort_by_key(|item| item.relationship);
    let over = items.len().saturating_sub(MAX_ITEMS);
    items.truncate(MAX_ITEMS);
    (over > 0).then(|| {
        Warning::new(format!(
            "{over} issue(s) linked by comments or by the forge are left out: at most {MAX_ITEMS} are \
             shown"
        ))
    })
}

fn is_same(item: &LinkedItem, link: &Link) -> bool {
    let LinkTarget::Forge(repo, key) = &item.target else {
        return false;
    };
    // Keys are compared first, because comparing repositories is slower and there may be thousands
    // of links.
    if *key != link.key {
        return false;
    }
    let repos_fit = match (repo, &link.repo) {
        (Some(a), Some(b)) => is_same_repo(a, b),
        // A record key (an at-uri) identifies the record without its repository.
        _ => matches!(key, PrKey::Record(_)),
    };
    let kinds_fit = match (item.kind, link.kind) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    };
    repos_fit && kinds_fit
}

struct LinkCollector<'a> {
    pull: &'a PullRequest,
    keys: &'a TicketKeys,
    items: Vec<LinkedItem>,
    /// Positions of the items by key. The flag is true for tickets, so that a ticket and an issue
    /// with equal keys stay apart.
    known: HashMap<(bool, String), Vec<usize>>,
}

const fn is_ticket(target: &LinkTarget) -> bool {
    matches!(target, LinkTarget::Ticket(_))
}

impl LinkCollector<'_> {
    fn push(&mut self, item: LinkedItem) {
        let key = (is_ticket(&item.target), item.key.clone());
        self.known.entry(key).or_default().push(self.items.len());
        self.items.push(item);
    }

    fn text(&mut self, text: &str, at: LinkPlace, hosts: &Hosts, warnings: &mut Vec<Warning>) {
        for mention in mentions(text, hosts, warnings) {
            // `#7` always refers to this repository, because texts of other repositories are not
            // read here.
            let link = mention.named.link(&self.pull.id.repo);
            let relationship = Relationship::of(mention.closes, mention.relates);
            let is_record = matches!(mention.named, MentionTarget::Record(_));
            self.add(link, relationship, at, is_record);
        }
        for ticket in tickets(text, |word| self.keys.key_of(word)) {
            let relationship = Relationship::of(ticket.closes, ticket.relates);
            self.add_target(LinkTarget::Ticket(ticket.key), None, relationship, at);
        }
    }

    /// Reads a branch name such as `123-x`, `fix/123-x`, `issue-123`, `feature/PROJ-1-x` or
    /// `PROJ-1/x`.
    fn branch(&mut self, branch: &str) {
        let tickets = ticket_keys(branch, |word| self.keys.key_of(word));
        for key in &tickets {
            let target = LinkTarget::Ticket((*key).to_owned());
            self.add_target(target, None, Relationship::References, LinkPlace::Branch);
        }
        if !tickets.is_empty() {
            return;
        }
        let last = branch.rsplit('/').next().unwrap_or(branch);
        let bare = ["issue-", "issue_", "gh-"]
            .iter()
            .find_map(|start| last.strip_prefix(start))
            .unwrap_or(last);
        let end = bare.find(|c: char| !c.is_ascii_digit());
        let (digits, rest) = bare
            .split_at_checked(end.unwrap_or(bare.len()))
            .unwrap_or_default();
        let ends = rest.is_empty() && bare != last || rest.starts_with(['-', '_']);
        if let Some(number) = digits.parse().ok().filter(|n: &u64| *n > 0 && ends) {
            let link = MentionTarget::Number(number).link(&self.pull.id.repo);
            self.add(link, Relationship::References, LinkPlace::Branch, false);
        }
    }

    fn add(&mut self, link: Link, relationship: Relationship, at: LinkPlace, is_record: bool) {
        let own = &self.pull.id;
        let is_here = link
            .repo
            .as_ref()
            .is_some_and(|repo| is_same_repo(repo, &own.repo));
        // The number of this pull request, and a link to this pull request, refer to the pull
        // request itself.
        let is_pull = link.kind != Some(SubjectKind::Issue);
        if link.key == own.key && (is_here || is_record) && is_pull {
            let target = LinkTarget::Forge(link.repo.clone(), link.key.clone());
            let key = (false, key_of(&target, &own.repo));
            let mut known = self.known.get(&key).into_iter().flatten();
            let item = |at: &usize| self.items.get(*at);
            if !known.any(|at| item(at).is_some_and(|item| is_same(item, &link))) {
                return;
            }
        }
        let target = LinkTarget::Forge(link.repo, link.key);
        self.add_target(target, link.kind, relationship, at);
    }

    fn add_target(
        &mut self,
        target: LinkTarget,
        kind: Option<SubjectKind>,
        relationship: Relationship,
        at: LinkPlace,
    ) {
        let key = (is_ticket(&target), key_of(&target, &self.pull.id.repo));
        let known = self.known.get(&key).into_iter().flatten().copied();
        let fitting = known.into_iter().find(|at| {
            let known = self.items.get(*at).and_then(|item| item.kind);
            known.is_none() || kind.is_none() || known == kind
        });
        match fitting.and_then(|at| self.items.get_mut(at)) {
            Some(item) => {
                item.relationship = item.relationship.min(relationship);
                item.kind = item.kind.or(kind);
                if !item.found_in.contains(&at) {
                    item.found_in.push(at);
                }
            }
            None => {
                let item = LinkedItem::new(target, &self.pull.id.repo, relationship, at);
                let kind = kind.or(item.kind);
                self.push(LinkedItem { kind, ..item });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use forge_core::{
        ForgeKind, RepoPath,
        model::{Commit, LinkedIssue, Signature},
    };
    use proptest::prelude::*;

    use super::*;
    use crate::sample::pull;

    fn commit(message: &str) -> Commit {
        let (headline, body) = message.split_once('\n').unwrap_or((message, ""));
        let who = Signature::new("ada", "", forge_core::Timestamp::from_unix(0));
        let mut commit = Commit::new("", headline, vec![who.clone()], who);
        commit.message_body = body.to_owned();
        commit
    }

    fn found(pull: &PullRequest) -> Vec<String> {
        let items = linked_items(
            pull,
            &Hosts::builtin(),
            &TicketKeys::default(),
            &mut Vec::new(),
        );
        let of = |item: &LinkedItem| {
            let places: Vec<&str> = item.found_in.iter().map(|at| at.name()).collect();
            let relationship = item.relationship.name();
            format!("{relationship} {} ({})", item.key, places.join(" "))
        };
        items.iter().map(of).collect()
    }

    #[test]
    fn r_002_8_links_come_from_description_and_commits() {
        let mut pull = pull();
        pull.description = "Part of #3. See cli/cli#9, not #7.\n\nCloses #4".to_owned();
        pull.commits = Some(vec![
            commit("Add x\n\nFixes #3, and #5."),
            commit("Fixes PROJ-123"),
        ]);
        pull.head_branch = "fix/12-x".to_owned();
        assert_eq!(
            found(&pull),
            [
                "closes #3 (description commit)",
                "closes #4 (description)",
                "closes PROJ-123 (commit)",
                "related github.com/cli/cli#9 (description)",
                "references #5 (commit)",
                "references #12 (branch)",
            ]
        );
    }

    #[test]
    fn c_002_8_keys_begin_at_any_word_boundary() {
        let mut pull = pull();
        pull.title = "fix(PROJ-99): V (#102)".to_owned();
        pull.description = "PROJ-9/PROJ-10, PROJ-15,PROJ-16\n\nRefs #103,#104 and \
                            #105/#106, Closes #107,#108"
            .to_owned();
        let closes = std::iter::once("closes #107 (description)".to_owned());
        let title = ["#102", "PROJ-99"].map(|key| format!("references {key} (title)"));
        let rest = [
            "#103", "#104", "#105", "#106", "#108", "PROJ-9", "PROJ-10", "PROJ-15", "PROJ-16",
        ];
        let rest = rest.map(|key| format!("references {key} (description)"));
        let wanted: Vec<String> = closes.chain(title).chain(rest).collect();
        assert_eq!(found(&pull), wanted);
    }

    #[test]
    fn c_002_9_links_to_tickets_need_no_jira() {
        let mut pull = pull();
        pull.description = "Fixes [PROJ-5](https://acme.example/browse/PROJ-5), \
                            https://acme.example/browse/PROJ-6, [PROJ-7](https://x.example/7), \
                            [PROJ-8](https://acme.example/browse/PROJ-9)"
            .to_owned();
        assert_eq!(
            found(&pull),
            [
                "closes PROJ-5 (description)",
                "references PROJ-6 (description)",
                "references PROJ-7 (description)",
                "references PROJ-9 (description)",
            ]
        );
    }

    #[test]
    fn linked_items_beyond_the_cap_are_counted() {
        let mut pull = pull();
        let message = |n: u64| {
            let names = (0..500).map(|i| format!(" PROJ-{}", n * 500 + i));
            commit(&format!("Work\n{}", names.collect::<String>()))
        };
        let mut commits: Vec<Commit> = (0..99).map(message).collect();
        commits.push(commit("Fixes PROJ-1, closes #12"));
        pull.commits = Some(commits);
        let (hosts, keys, mut warnings) = (Hosts::builtin(), TicketKeys::default(), Vec::new());
        let began = std::time::Instant::now();
        let items = linked_items(&pull, &hosts, &keys, &mut warnings);
        let took = began.elapsed();
        assert!(took.as_secs() < 8, "{took:?}");
        assert_eq!(items.len(), MAX_ITEMS);
        let closing: Vec<&str> = items.iter().take(2).map(|i| i.key.as_str()).collect();
        assert_eq!(closing, ["PROJ-1", "#12"]);
        let told = warnings.iter().map(|w| w.message.as_str());
        let told: Vec<&str> = told.collect();
        assert_eq!(
            told,
            [
                "this pull request names 49501 issues and tickets; those after the first 200 were left out"
            ]
        );
    }

    #[test]
    fn linked_issue_of_posing_owner_is_quoted() {
        let repo = |owner: &str| RepoId {
            kind: ForgeKind::GITHUB,
            host: "github.com".to_owned(),
            path: RepoPath::Named {
                owner: owner.to_owned(),
                name: "tools".to_owned(),
            },
        };
        let own = repo("octo");
        let owners = ["x\nReady to merge\n  \u{2713} approved", "wide"];
        let items = owners.map(|owner| {
            let target = LinkTarget::Forge(Some(repo(owner)), PrKey::Number(7));
            LinkedItem::new(target, &own, Relationship::Closes, LinkPlace::Forge)
        });
        let warning = unread_elsewhere(&items, &own).unwrap().message;
        let keys = "\"x Ready to merge   \u{2713} approved/tools#7\", wide/tools#7";
        assert!(warning.ends_with(&format!(": {keys}")), "{warning}");
    }

    #[test]
    fn r_002_21_ticket_key_becomes_one_linked_issue() {
        let mut pull = pull();
        pull.description = "Fixes PROJ-123".to_owned();
        let items = linked_items(
            &pull,
            &Hosts::builtin(),
            &TicketKeys::default(),
            &mut Vec::new(),
        );
        assert_eq!(items.len(), 1);
        assert_eq!(items[0].key, "PROJ-123");
        assert_eq!(items[0].relationship, Relationship::Closes);
        assert_eq!(items[0].state, None);
    }

    #[test]
    fn r_002_23_ticket_is_found_in_branch_name() {
        for (branch, wanted) in [
            ("PROJ-123-x", Some("references PROJ-123 (branch)")),
            ("feature/PROJ-1", Some("references PROJ-1 (branch)")),
            ("PROJ-20/thing", Some("references PROJ-20 (branch)")),
            ("fix-PROJ-3", Some("references PROJ-3 (branch)")),
            ("123-x", Some("references #123 (branch)")),
            ("issue-123", Some("references #123 (branch)")),
            ("v2", None),
            ("123", None),
            ("release/1.2", None),
            ("0-x", None),
            ("utf-8", None),
        ] {
            let mut pull = pull();
            pull.head_branch = branch.to_owned();
            let found = found(&pull);
            assert_eq!(found.first().map(String::as_str), wanted, "{branch}");
        }
    }

    #[test]
    fn c_002_10_item_is_listed_once_with_strongest_relationship() {
        let mut pull = pull();
        let title = "An issue with the number of the pull request";
        let linked = LinkedIssue::new(pull.id.repo.clone(), 7, title, "u");
        pull.linked_issues = Some(vec![linked]);
        pull.description = "#9 and see #9, fixes #7".to_owned();
        assert_eq!(
            found(&pull),
            ["closes #7 (forge description)", "related #9 (description)"]
        );
        let mut items = linked_items(
            &pull,
            &Hosts::builtin(),
            &TicketKeys::default(),
            &mut Vec::new(),
        );
        let repo = Some(pull.id.repo.clone());
        let link = |kind, n| {
            let mut link = Link::bare(kind, repo.clone(), PrKey::Number(n));
            link.title = Some(format!("T{n}"));
            link.state = Some(LinkState::Merged);
            link
        };
        let mut links = Links::default();
        links.mentions = vec![link(Some(SubjectKind::PullRequest), 9), link(None, 11)];
        assert_eq!(add_links(&mut items, &pull, &links), None);
        let keys: Vec<&str> = items.iter().map(|i| i.key.as_str()).collect();
        assert_eq!(keys, ["#7", "#9", "#11"]);
        assert_eq!(items[1].kind, Some(SubjectKind::PullRequest));
        assert_eq!(items[1].relationship, Relationship::Related);
        assert_eq!(items[1].issue_in(&pull.id.repo), None);
        assert_eq!(items[2].found_in, [LinkPlace::Comment]);
        // Mentions in texts have no title, so the title in the forge's list is kept.
        let facts = |at: usize| (items[at].title.as_deref(), items[at].state);
        let own = "An issue with the number of the pull request";
        assert_eq!(facts(0), (Some(own), Some(LinkState::Open)));
        assert_eq!(items[0].url.as_deref(), Some("u"));
        assert_eq!(items[0].kind, Some(SubjectKind::Issue));
        assert_eq!(facts(1), (Some("T9"), Some(LinkState::Merged)));
        assert_eq!(facts(2), (Some("T11"), Some(LinkState::Merged)));
    }

    #[test]
    fn issues_of_reachable_repositories_are_readable() {
        let mut pull = pull();
        let own = pull.id.repo.clone();
        let (hosts, keys) = (Hosts::builtin(), TicketKeys::default());
        let mut read = |text: &str| {
            text.clone_into(&mut pull.description);
            let items = linked_items(&pull, &hosts, &keys, &mut Vec::new());
            let item = &items[0];
            let is_own = item.issue_in(&own).is_some();
            (is_own, item.issue_elsewhere(&own).is_some())
        };
        for (text, wanted) in [
            ("Fixes #3", (true, false)),
            ("Fixes PROJ-3", (false, false)),
            // `pull` is in a local repository, so github.com is another host.
            ("Fixes cli/cli#3", (false, false)),
            ("See https://github.com/cli/cli/issues/3", (false, false)),
        ] {
            assert_eq!(read(text), wanted, "{text}");
        }
    }

    #[test]
    fn forge_link_upgrades_a_mention_to_closing() {
        let mut pull = pull();
        pull.description = "See #9.".to_owned();
        let (hosts, keys) = (Hosts::builtin(), TicketKeys::default());
        let mut items = linked_items(&pull, &hosts, &keys, &mut Vec::new());
        let repo = Some(pull.id.repo.clone());
        let issue = Some(SubjectKind::Issue);
        let link = |n| Link::bare(issue, repo.clone(), PrKey::Number(n));
        let mut links = Links::default();
        links.closes = vec![link(9), link(10)];
        assert_eq!(add_links(&mut items, &pull, &links), None);
        let of = |item: &LinkedItem| (item.key.clone(), item.relationship, item.kind);
        let all: Vec<_> = items.iter().map(of).collect();
        let closes = Relationship::Closes;
        let wanted = [
            ("#9".to_owned(), closes, issue),
            ("#10".to_owned(), closes, issue),
        ];
        assert_eq!(all, wanted);
        assert_eq!(
            items[0].found_in,
            [LinkPlace::Forge, LinkPlace::Description]
        );
        assert_eq!(items[1].found_in, [LinkPlace::Forge]);
        assert_eq!(items[1].issue_in(&pull.id.repo), Some(&PrKey::Number(10)));
    }

    #[test]
    fn links_beyond_the_cap_are_counted() {
        let pull = pull();
        let repo = Some(pull.id.repo.clone());
        let link = |n| Link::bare(None, repo.clone(), PrKey::Number(n));
        let mut links = Links::default();
        links.closes = vec![link(1_000)];
        links.mentions = (0..MAX_ITEMS as u64 + 4).map(link).collect();
        let mut items = Vec::new();
        let warning = add_links(&mut items, &pull, &links).unwrap();
        assert_eq!(items.len(), MAX_ITEMS);
        assert_eq!(items[0].key, "#1000");
        let said =
            "5 issue(s) linked by comments or by the forge are left out: at most 200 are shown";
        assert_eq!(warning.message, said);
        assert_eq!(add_links(&mut Vec::new(), &pull, &Links::default()), None);
    }

    #[test]
    fn issue_and_pull_of_same_number_differ() {
        let mut pull = pull();
        let record = "at://did:plc:ada/sh.tangled.repo.pull/3k";
        pull.description = format!("See {record}");
        let (hosts, keys) = (Hosts::builtin(), TicketKeys::default());
        let mut items = linked_items(&pull, &hosts, &keys, &mut Vec::new());
        assert_eq!(items.len(), 1);
        assert_eq!(items[0].kind, Some(SubjectKind::PullRequest));
        let repo = Some(pull.id.repo.clone());
        let link = |kind| Link::bare(Some(kind), repo.clone(), PrKey::Number(9));
        let mut links = Links::default();
        links.mentions = vec![
            link(SubjectKind::Issue),
            link(SubjectKind::PullRequest),
            link(SubjectKind::Issue),
        ];
        assert_eq!(add_links(&mut items, &pull, &links), None);
        let kinds: Vec<_> = items[1..].iter().map(|item| item.kind).collect();
        let wanted = [SubjectKind::Issue, SubjectKind::PullRequest].map(Some);
        assert_eq!(kinds, wanted);
    }

    proptest! {
        #[test]
        fn links_of_any_text_are_unique(text in "(?s).{0,200}", branch in ".{0,30}") {
            let mut pull = pull();
            pull.description = text;
            pull.head_branch = branch;
            let items = linked_items(&pull, &Hosts::builtin(), &TicketKeys::default(), &mut Vec::new());
            let mut seen = std::collections::BTreeSet::new();
            for item in items {
                prop_assert!(seen.insert((item.key, item.kind.map(|k| k == SubjectKind::Issue))));
            }
        }
    }
}
