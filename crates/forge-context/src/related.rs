//! Related pull requests: dependencies and dependents, and those that share files, an issue, or a
//! prefix of the branch name.

use std::collections::BTreeSet;

use forge_core::{
    Page, PrKey, Timestamp, Warning,
    mentions::{may_search_text, ticket_key},
    model::{FileChange, Link, LinkState, Links, PrState, PullRequest},
};
use serde::Serialize;

use crate::{
    ContextReq, FileClass, LinkedItem, PREFIX_TYPES,
    linked::{LinkPlace, Relationship, linked_items},
};

/// Default maximum number of related pull requests.
pub const MAX_RELATED: usize = 5;
/// Default age limit, in days. Closed and merged pull requests without an update for longer are
/// left out.
pub const LOOKBACK_DAYS: i64 = 30;
/// Maximum number of pull requests that are examined. If the forge can sort by update time, the
/// last updated pull requests are examined, otherwise the newest ones.
pub const MAX_CANDIDATES: usize = 50;

/// Relation to another pull request, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RelatedBy {
    /// The pull request builds on the related one.
    Dependency,
    /// The related pull request builds on this one.
    Dependent,
    /// Both change the same files. Derived files (generated, lock and vendored files) are ignored.
    SameFiles,
    /// Both close or relate to the same issue, or name it in their title or branch.
    LinkedIssue,
    /// The branch names begin with the same ticket or the same path.
    SameBranchPrefix,
}

impl RelatedBy {
    /// Every kind, strongest first.
    pub const ALL: [Self; 5] = [
        Self::Dependency,
        Self::Dependent,
        Self::SameFiles,
        Self::LinkedIssue,
        Self::SameBranchPrefix,
    ];

    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dependency => "dependency",
            Self::Dependent => "dependent",
            Self::SameFiles => "same_files",
            Self::LinkedIssue => "linked_issue",
            Self::SameBranchPrefix => "same_branch_prefix",
        }
    }

    /// Returns the meaning, for the documentation.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Dependency => "this pull request builds on the related one",
            Self::Dependent => "the related pull request builds on this one",
            Self::SameFiles => {
                "both change the same file; generated, lock and vendored files do not count"
            }
            Self::LinkedIssue => {
                "both close, relate to, or name in title or branch the same issue or ticket"
            }
            Self::SameBranchPrefix => {
                "the branch names begin with the same ticket, or with the same path; a single word \
                 such as `fix` does not count"
            }
        }
    }
}

/// A related pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RelatedPull {
    /// The key of the pull request.
    pub key: PrKey,
    /// The title, if known.
    pub title: Option<String>,
    /// The author, if known.
    pub author: Option<String>,
    /// The state, if known.
    pub state: Option<LinkState>,
    /// The strongest relation.
    pub relationship: RelatedBy,
    /// The files that both change.
    pub overlap_files: Vec<String>,
    /// The web page, if known.
    pub url: Option<String>,
}

/// Selects related pull requests from `candidates` and `links`, strongest first, limited by the
/// settings of `req`. `items` are the linked items of `pull`. Adds a warning if not all descriptions
/// were searched for linked issues.
#[must_use]
pub fn related_pulls(
    pull: &PullRequest,
    items: &[LinkedItem],
    links: Option<&Links>,
    candidates: &[PullRequest],
    req: &ContextReq,
    warnings: &mut Vec<Warning>,
) -> Vec<RelatedPull> {
    let settings = &req.settings.related;
    let since = req.checked_at.unix() - settings.lookback_days * 24 * 60 * 60;
    let files = written_files(pull);
    let issues = issue_keys(items);
    let prefix = branch_prefix(&pull.head_branch);
    let mut found: Vec<(RelatedPull, Timestamp)> = Vec::new();
    for other in candidates {
        let is_recent = other.updated_at.unix() >= since || other.state == PrState::Open;
        if other.id.key == pull.id.key || !is_recent {
            continue;
        }
        let overlap: Vec<String> = written_files(other).intersection(&files).cloned().collect();
        let mut shares_issue = || {
            if !may_search_text(&other.description, warnings) {
                return false;
            }
            let theirs = linked_items(other, &req.hosts, &req.tickets.keys, &mut Vec::new());
            !issue_keys(&theirs).is_disjoint(&issues)
        };
        let same_prefix = || prefix.is_some() && branch_prefix(&other.head_branch) == prefix;
        let relationship = if is_below(other, pull) {
            RelatedBy::Dependency
        } else if is_below(pull, other) {
            RelatedBy::Dependent
        } else if settings.looks_for(RelatedBy::SameFiles) && !overlap.is_empty() {
            RelatedBy::SameFiles
        } else if settings.looks_for(RelatedBy::LinkedIssue) && shares_issue() {
            RelatedBy::LinkedIssue
        } else if settings.looks_for(RelatedBy::SameBranchPrefix) && same_prefix() {
            RelatedBy::SameBranchPrefix
        } else {
            continue;
        };
        let related = RelatedPull {
            key: other.id.key.clone(),
            title: Some(other.title.clone()),
            author: Some(other.author.login.clone()),
            state: Some(other.state.into()),
            relationship,
            overlap_files: overlap,
            url: Some(other.url.clone()),
        };
        found.push((related, other.updated_at));
    }
    if let Some(links) = links {
        add_dependency_links(&mut found, &links.depends_on, RelatedBy::Dependency);
        add_dependency_links(&mut found, &links.needed_by, RelatedBy::Dependent);
    }
    found.sort_by(|(a, a_at), (b, b_at)| {
        let overlap = |related: &RelatedPull| related.overlap_files.len();
        a.relationship
            .cmp(&b.relationship)
            .then_with(|| overlap(b).cmp(&overlap(a)))
            .then_with(|| b_at.cmp(a_at))
            .then_with(|| a.key.cmp(&b.key))
    });
    found.truncate(settings.max);
    found.into_iter().map(|(related, _)| related).collect()
}

/// Returns a warning if the repository has more pull requests than were examined.
pub(crate) fn unexamined(candidates: &Page<PullRequest>) -> Option<Warning> {
    candidates.next.as_ref()?;
    let read = candidates.items.len();
    let all = candidates.total.map(|total| format!(" of {total}"));
    let all = all.unwrap_or_default();
    let message = format!("only {read}{all} pull requests were examined for related ones");
    let warning = Warning::new(message).of_section("related_prs");
    Some(warning.with_hint("list the pull requests that change the same files"))
}

/// Adds the dependencies that the forge itself reports. They take precedence over a relation that
/// was found by comparing the pull requests.
fn add_dependency_links(
    found: &mut Vec<(RelatedPull, Timestamp)>,
    links: &[Link],
    relationship: RelatedBy,
) {
    for link in links {
        match found.iter_mut().find(|(known, _)| known.key == link.key) {
            Some((known, _)) => known.relationship = relationship,
            None => {
                let related = RelatedPull {
                    key: link.key.clone(),
                    title: link.title.clone(),
                    author: None,
                    state: link.state,
                    relationship,
                    overlap_files: Vec::new(),
                    url: None,
                };
                found.push((related, Timestamp::from_unix(0)));
            }
        }
    }
}

/// Returns true if `upper` builds on `lower`. This is so if the record of `upper` names `lower`, or
/// if the base branch of `upper` is the head branch of `lower`.
fn is_below(lower: &PullRequest, upper: &PullRequest) -> bool {
    let chained = lower.head_branch == upper.base_branch
        && !lower.is_cross_repository()
        && lower.state == PrState::Open
        && upper.state == PrState::Open;
    upper.depends_on.as_ref() == Some(&lower.id.key) || chained
}

fn written_files(pull: &PullRequest) -> BTreeSet<String> {
    let files = pull.files.iter().flatten();
    files
        .flat_map(FileChange::names)
        .filter(|path| !FileClass::of(path).is_derived())
        .map(str::to_owned)
        .collect()
}

/// Returns the keys of the issues and tickets that a pull request is about. A plain mention, as in
/// `Unlike #3.`, does not count.
fn issue_keys(items: &[LinkedItem]) -> BTreeSet<&str> {
    let is_firm = |at: &LinkPlace| matches!(at, LinkPlace::Title | LinkPlace::Branch);
    let firm = |item: &&LinkedItem| {
        item.relationship != Relationship::References || item.found_in.iter().any(is_firm)
    };
    items.iter().filter(firm).map(|i| i.key.as_str()).collect()
}

/// Returns the ticket or number in a branch name. If there is none, returns the path before the
/// last part.
fn branch_prefix(branch: &str) -> Option<&str> {
    let last = branch.rsplit('/').next().unwrap_or(branch);
    if let Some(ticket) = ticket_key(last) {
        return Some(ticket);
    }
    let (number, _) = last.split_once(['-', '_']).unwrap_or_default();
    if !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()) {
        return Some(number);
    }
    let (path, _) = branch.rsplit_once('/')?;
    let is_type = |word: &str| {
        let mut words = PREFIX_TYPES.iter();
        words.any(|(known, _)| known.eq_ignore_ascii_case(word))
    };
    (!is_type(path)).then_some(path)
}

#[cfg(test)]
mod tests {
    use forge_core::{PrId, RepoId, locator::Hosts, model::SubjectKind};

    use super::*;
    use crate::sample::{file, pull};

    const NOW: i64 = 1_700_000_000;

    fn other(number: u64, branch: &str, paths: &[&str]) -> PullRequest {
        let mut pull = pull();
        pull.id = PrId::number(RepoId::local("/r"), number);
        pull.head_branch = branch.to_owned();
        pull.title = format!("T{number}");
        pull.files = Some(paths.iter().map(|path| file(path, 1, 0)).collect());
        pull
    }

    fn related(pull: &PullRequest, links: &Links, all: &[PullRequest]) -> Vec<String> {
        let mut req = ContextReq::new(Hosts::builtin());
        req.checked_at = Timestamp::from_unix(NOW);
        let items = linked_items(pull, &req.hosts, &req.tickets.keys, &mut Vec::new());
        let related = related_pulls(pull, &items, Some(links), all, &req, &mut Vec::new());
        let of = |r: RelatedPull| {
            let files = r.overlap_files.join(" ");
            format!("{} {} {files}", r.relationship.name(), r.key)
                .trim_end()
                .to_owned()
        };
        related.into_iter().map(of).collect()
    }

    #[test]
    fn r_002_9_related_pulls_are_ranked() {
        let mut own = other(7, "team/api/work", &["src/a.rs", "src/b.rs", "Cargo.lock"]);
        own.description = "Closes #3".to_owned();
        own.base_branch = "below".to_owned();
        let mut upper = other(5, "upper", &["z.rs"]);
        upper.base_branch = "team/api/work".to_owned();
        let mut same_issue = other(9, "n", &["z.rs"]);
        same_issue.description = "fixes #3".to_owned();
        let all = [
            own.clone(),
            other(1, "below", &["src/a.rs"]),
            other(2, "x", &["src/a.rs"]),
            other(3, "y", &["src/b.rs", "src/a.rs"]),
            other(4, "team/api/next", &["Cargo.lock"]),
            upper,
            other(6, "z", &["z.rs", "Cargo.lock"]),
            same_issue,
        ];
        assert_eq!(
            related(&own, &Links::default(), &all),
            [
                "dependency 1 src/a.rs",
                "dependent 5",
                "same_files 3 src/a.rs src/b.rs",
                "same_files 2 src/a.rs",
                "linked_issue 9",
            ]
        );
        assert_eq!(
            related(&own, &Links::default(), &all[4..5]),
            ["same_branch_prefix 4"]
        );
        let mut of_deleted_fork = other(1, "below", &["src/a.rs"]);
        of_deleted_fork.head_repo_is_unknown = true;
        assert_eq!(
            related(&own, &Links::default(), &[of_deleted_fork]),
            ["same_files 1 src/a.rs"]
        );
    }

    #[test]
    fn c_002_11_same_issue_in_title_or_branch_relates_pulls() {
        let mut own = other(7, "work", &["a.rs"]);
        own.title = "PROJ-12: part one, for #3".to_owned();
        let mut by_title = other(2, "x", &["b.rs"]);
        by_title.title = "fix(PROJ-12): part two".to_owned();
        let mut mention = other(4, "y", &["b.rs"]);
        mention.description = "Unlike #3 and PROJ-12.".to_owned();
        let all = [
            by_title,
            other(3, "PROJ-12/x", &["b.rs"]),
            mention,
            other(5, "3-x", &["b.rs"]),
        ];
        assert_eq!(
            related(&own, &Links::default(), &all),
            ["linked_issue 2", "linked_issue 3", "linked_issue 5"]
        );
    }

    #[test]
    fn related_pulls_include_dependencies_recorded_by_forge() {
        let own = other(7, "work", &["src/a.rs"]);
        let repo = Some(RepoId::local("/r"));
        let kind = Some(SubjectKind::PullRequest);
        let mut links = Links::default();
        links.depends_on = vec![Link::bare(kind, repo.clone(), PrKey::Number(2))];
        links.needed_by = vec![Link::bare(kind, repo, PrKey::Number(8))];
        let all = [other(2, "x", &["src/a.rs"])];
        assert_eq!(
            related(&own, &links, &all),
            ["dependency 2 src/a.rs", "dependent 8"]
        );
    }

    #[test]
    fn r_002_18_lookback_excludes_old_merged_pulls() {
        let own = other(7, "work", &["src/a.rs"]);
        let mut old = other(2, "x", &["src/a.rs"]);
        old.updated_at = Timestamp::from_unix(NOW - 31 * 86_400);
        assert_eq!(related(&own, &Links::default(), &[old.clone()]).len(), 1);
        old.state = PrState::Merged;
        assert!(related(&own, &Links::default(), &[old.clone()]).is_empty());
        old.updated_at = Timestamp::from_unix(NOW - 29 * 86_400);
        assert_eq!(related(&own, &Links::default(), &[old]).len(), 1);
    }

    #[test]
    fn branch_prefix_needs_a_ticket_or_a_path() {
        for (branch, prefix) in [
            ("feature/PROJ-1-x", Some("PROJ-1")),
            ("fix/12-x", Some("12")),
            ("team/api/x", Some("team/api")),
            ("fix/x", None),
            ("work", None),
            ("a-b", None),
        ] {
            assert_eq!(branch_prefix(branch), prefix, "{branch}");
        }
    }
}
