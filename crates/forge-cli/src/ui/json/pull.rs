use std::collections::BTreeMap;

use forge_core::{
    PrKey, RepoId, RepoPath, Timestamp,
    model::{
        Actor, AutoMerge, Check, Comment, Commit, FileChange, FileStatus, Label, LinkedIssue,
        MergeState, Milestone, PrFields, PrState, ProjectItem, PullRequest, RepoNode, Review,
        ReviewDecision, ReviewState, Reviewer,
    },
};

use super::{Json, JsonField, thread::thread};

macro_rules! fields {
    ($($name:literal $needs:ident $get:expr;)*) => {
        /// The 46 fields of gh's `pr list`, `view` and `status`, and also `reviewThreads`. They are
        /// sorted by name.
        ///
        /// A field that the forge does not support has gh's value for missing data: `null`, `""`,
        /// `[]`, `false` or 0.
        pub const PULL_FIELDS: &[JsonField<PullRequest, PrFields>] =
            &[$(JsonField { name: $name, needs: PrFields::$needs, get: $get },)*];
    };
}

fields! {
    "additions" STATS |p| number(p.additions);
    "assignees" NONE |p| Json::list(&p.assignees, assignee);
    "author" NONE |p| author(&p.author);
    "autoMergeRequest" AUTO_MERGE |p| Json::maybe(p.auto_merge.as_ref(), auto_merge);
    "baseRefName" NONE |p| Json::text(&p.base_branch);
    "baseRefOid" NONE |p| Json::text(p.base_oid.as_deref().unwrap_or(""));
    "body" NONE |p| Json::text(&p.description);
    "changedFiles" STATS |p| number(p.changed_files);
    "closed" NONE |p| Json::Bool(p.state != PrState::Open);
    "closedAt" NONE |p| time(p.closed_at);
    "closingIssuesReferences" LINKED_ISSUES |p| closing_issues(p);
    "comments" COMMENTS |p| section(p.comments.as_deref(), comment);
    "commits" COMMITS |p| section(p.commits.as_deref(), commit);
    "createdAt" NONE |p| time(Some(p.created_at));
    "deletions" STATS |p| number(p.deletions);
    "files" FILES |p| section(p.files.as_deref(), file);
    "fullDatabaseId" DATABASE_ID |p| Json::text(p.database_id.map(|id| id.to_string()).unwrap_or_default());
    "headRefName" NONE |p| Json::text(&p.head_branch);
    "headRefOid" NONE |p| Json::text(p.head_oid.as_deref().unwrap_or(""));
    "headRepository" NONE |p| head_repository(p);
    "headRepositoryOwner" NONE |p| head_repository_owner(p);
    "id" NONE |p| Json::text(&p.node_id);
    "isCrossRepository" NONE |p| Json::Bool(p.is_cross_repository());
    "isDraft" NONE |p| Json::Bool(p.draft);
    "labels" NONE |p| Json::list(&p.labels, label);
    "latestReviews" NONE |p| latest_reviews(p);
    "maintainerCanModify" MAINTAINER_ACCESS |p| Json::Bool(p.maintainer_can_modify.unwrap_or(false));
    "mergeCommit" NONE |p| Json::maybe(p.merge_commit.as_ref(), oid);
    "mergeStateStatus" MERGEABILITY |p| Json::text(p.mergeability.as_ref().map_or("UNKNOWN", |m| &m.status));
    "mergeable" MERGEABILITY |p| Json::text(mergeable(p));
    "mergedAt" NONE |p| time(p.merged_at);
    "mergedBy" NONE |p| Json::maybe(p.merged_by.as_ref(), author);
    "milestone" NONE |p| Json::maybe(p.milestone.as_ref(), milestone);
    "number" NONE |p| number(p.number);
    "potentialMergeCommit" POTENTIAL_MERGE |p| Json::maybe(p.potential_merge_commit.as_ref(), oid);
    "projectCards" NONE |_| Json::Array(vec![]);
    "projectItems" PROJECTS |p| section(p.projects.as_deref(), project_item);
    "reactionGroups" REACTIONS |p| p.reactions.as_ref().map_or(Json::Array(vec![]), reactions);
    "reviewDecision" NONE |p| Json::text(decision(p.review_decision));
    "reviewRequests" NONE |p| Json::list(&p.pending_reviewers, reviewer);
    "reviewThreads" THREADS |p| section(p.threads.as_deref(), thread);
    "reviews" REVIEWS |p| section(p.reviews.as_deref(), review);
    "state" NONE |p| Json::text(state(p.state));
    "statusCheckRollup" CHECKS |p| section(p.checks.as_ref().map(|c| &*c.checks), check);
    "title" NONE |p| Json::text(&p.title);
    "updatedAt" NONE |p| time(Some(p.updated_at));
    "url" NONE |p| Json::text(&p.url);
}

/// The fields that [`PrFields::ROW`] provides on every forge. The head commit and the closing time
/// are not among them, because an index (tangled's appview) may lack these.
pub(super) const ROW_FIELDS: &[&str] = &[
    "author",
    "baseRefName",
    "baseRefOid",
    "closed",
    "createdAt",
    "headRefName",
    "headRepository",
    "headRepositoryOwner",
    "id",
    "isCrossRepository",
    "isDraft",
    "number",
    "state",
    "title",
    "updatedAt",
    "url",
];

pub(super) fn number(value: Option<u64>) -> Json {
    value.map_or(Json::Null, Json::Number)
}

pub(super) fn time(at: Option<Timestamp>) -> Json {
    at.map_or(Json::Null, |at| Json::text(at.to_string()))
}

pub(super) fn section<T>(items: Option<&[T]>, each: impl Fn(&T) -> Json) -> Json {
    Json::list(items.unwrap_or_default(), each)
}

fn state(state: PrState) -> &'static str {
    match state {
        PrState::Open => "OPEN",
        PrState::Closed => "CLOSED",
        PrState::Merged => "MERGED",
    }
}

fn mergeable(p: &PullRequest) -> &'static str {
    match p.mergeability.as_ref().map(|m| m.state) {
        Some(MergeState::Mergeable) => "MERGEABLE",
        Some(MergeState::Conflicting) => "CONFLICTING",
        Some(MergeState::Unknown) | None => "UNKNOWN",
    }
}

fn decision(decision: Option<ReviewDecision>) -> &'static str {
    match decision {
        Some(ReviewDecision::Approved) => "APPROVED",
        Some(ReviewDecision::ChangesRequested) => "CHANGES_REQUESTED",
        Some(ReviewDecision::ReviewRequired) => "REVIEW_REQUIRED",
        None => "",
    }
}

fn head(p: &PullRequest) -> &RepoId {
    p.head_repo.as_ref().unwrap_or(&p.id.repo)
}

fn head_repository(p: &PullRequest) -> Json {
    if p.head_repo_is_unknown {
        return Json::Null;
    }
    let (name, full) = match head(p).owner_and_name() {
        Some((owner, name)) => (name.to_owned(), format!("{owner}/{name}")),
        None => (directory(head(p)), head(p).to_string()),
    };
    Json::Object(vec![
        ("id", Json::text(p.head_node.as_ref().map_or("", |n| &n.id))),
        ("name", Json::text(name)),
        ("nameWithOwner", Json::text(full)),
    ])
}

/// Returns the last component of a local repository's path.
fn directory(repo: &RepoId) -> String {
    match &repo.path {
        RepoPath::Dir(dir) => dir
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default(),
        _ => repo.to_string(),
    }
}

fn head_repository_owner(p: &PullRequest) -> Json {
    if p.head_repo_is_unknown {
        // As in gh, an unknown owner has an empty login.
        return match &p.unknown_head_owner {
            Some(o) => repository_owner(&o.id, &o.login, o.name.as_ref()),
            None => Json::Object(vec![("login", Json::text(""))]),
        };
    }
    let login = match &head(p).path {
        RepoPath::Named { owner, .. } => owner,
        // The account that has the record of the repository.
        RepoPath::Record(uri) => &uri.authority,
        RepoPath::Did(_) | RepoPath::Dir(_) => return Json::Null,
    };
    let node = p.head_node.as_ref();
    let id = node.map_or("", |n| &n.owner_id);
    repository_owner(id, login, node.and_then(|n| n.owner_name.as_ref()))
}

fn repository_owner(id: &str, login: &str, name: Option<&String>) -> Json {
    let mut members = vec![("id", Json::text(id)), ("login", Json::text(login))];
    members.extend(name.map(|name| ("name", Json::text(name))));
    Json::Object(members)
}

fn oid(oid: &String) -> Json {
    Json::Object(vec![("oid", Json::text(oid))])
}

pub(super) fn milestone(m: &Milestone) -> Json {
    Json::Object(vec![
        ("number", Json::Number(m.number.unwrap_or(0))),
        ("title", Json::text(&m.title)),
        (
            "description",
            Json::text(m.description.as_deref().unwrap_or("")),
        ),
        ("dueOn", time(m.due_on)),
    ])
}

fn auto_merge(a: &AutoMerge) -> Json {
    let text = |value: &Option<String>| Json::maybe(value.as_ref(), |v| Json::text(v));
    Json::Object(vec![
        ("authorEmail", text(&a.author_email)),
        ("commitBody", text(&a.body)),
        ("commitHeadline", text(&a.subject)),
        ("mergeMethod", Json::text(a.method.as_str().to_uppercase())),
        ("enabledAt", time(a.enabled_at)),
        ("enabledBy", author(&a.enabled_by)),
    ])
}

/// Returns a board item in gh's form. The column is empty if the item is in no column of the board.
pub(super) fn project_item(item: &ProjectItem) -> Json {
    let status = item.status.as_ref();
    Json::Object(vec![
        (
            "status",
            Json::Object(vec![
                ("optionId", Json::text(status.map_or("", |s| &s.id))),
                ("name", Json::text(status.map_or("", |s| &s.name))),
            ]),
        ),
        ("title", Json::text(&item.title)),
    ])
}

pub(super) fn assignee(a: &Actor) -> Json {
    Json::Object(vec![
        ("id", Json::text(&a.id)),
        ("login", Json::text(&a.login)),
        ("name", Json::text(a.name.as_deref().unwrap_or(""))),
        ("databaseId", Json::Number(a.database_id.unwrap_or(0))),
    ])
}

pub(super) fn author(a: &Actor) -> Json {
    if a.bot {
        return Json::Object(vec![
            ("is_bot", Json::Bool(true)),
            ("login", Json::text(format!("app/{}", a.login))),
        ]);
    }
    Json::Object(vec![
        ("id", Json::text(&a.id)),
        ("is_bot", Json::Bool(false)),
        ("login", Json::text(&a.login)),
        ("name", Json::text(a.name.as_deref().unwrap_or(""))),
    ])
}

pub(super) fn login(a: &Actor) -> Json {
    Json::Object(vec![("login", Json::text(&a.login))])
}

pub(super) fn label(l: &Label) -> Json {
    Json::Object(vec![
        ("id", Json::text(&l.id)),
        ("name", Json::text(&l.name)),
        (
            "description",
            Json::text(l.description.as_deref().unwrap_or("")),
        ),
        ("color", Json::text(&l.color)),
    ])
}

fn reviewer(r: &Reviewer) -> Json {
    match r {
        Reviewer::User { login, .. } => Json::Object(vec![
            ("__typename", Json::text("User")),
            ("login", Json::text(login)),
        ]),
        Reviewer::Bot { login } => Json::Object(vec![
            ("__typename", Json::text("Bot")),
            ("login", Json::text(login)),
        ]),
        Reviewer::Team { slug, name } => Json::Object(vec![
            ("__typename", Json::text("Team")),
            ("name", Json::text(name.as_deref().unwrap_or(""))),
            ("slug", Json::text(slug)),
        ]),
    }
}

/// Returns the reactions in GitHub's order.
pub(super) fn reactions(given: &BTreeMap<String, u64>) -> Json {
    const ORDER: [&str; 8] = [
        "THUMBS_UP",
        "THUMBS_DOWN",
        "LAUGH",
        "HOORAY",
        "CONFUSED",
        "HEART",
        "ROCKET",
        "EYES",
    ];
    let mut given: Vec<(&String, &u64)> = given.iter().collect();
    given.sort_by_key(|(name, _)| ORDER.iter().position(|o| o == name).unwrap_or(ORDER.len()));
    Json::list(&given, |(name, count)| {
        Json::Object(vec![
            ("content", Json::text(*name)),
            (
                "users",
                Json::Object(vec![("totalCount", Json::Number(**count))]),
            ),
        ])
    })
}

pub(super) fn comment(c: &Comment) -> Json {
    with_round(
        c.round,
        vec![
            ("id", Json::text(&c.id)),
            ("author", login(&c.author)),
            (
                "authorAssociation",
                Json::text(c.author_association.as_deref().unwrap_or("NONE")),
            ),
            ("body", Json::text(&c.body)),
            ("createdAt", time(Some(c.created_at))),
            ("includesCreatedEdit", Json::Bool(c.updated_at.is_some())),
            ("isMinimized", Json::Bool(c.minimized_reason.is_some())),
            (
                "minimizedReason",
                Json::text(c.minimized_reason.as_deref().unwrap_or("")),
            ),
            ("reactionGroups", reactions(&c.reactions)),
            ("url", Json::text(&c.url)),
            ("viewerDidAuthor", Json::Bool(c.viewer_did_author)),
        ],
    )
}

/// Adds a comment's round (the version of the pull request) to the fields of gh's object.
fn with_round(round: Option<usize>, mut fields: Vec<(&'static str, Json)>) -> Json {
    let round = round.and_then(|n| u64::try_from(n).ok());
    fields.extend(round.map(|n| ("round", Json::Number(n))));
    Json::Object(fields)
}

fn review_state(state: ReviewState) -> &'static str {
    match state {
        ReviewState::Approved => "APPROVED",
        ReviewState::ChangesRequested => "CHANGES_REQUESTED",
        ReviewState::Commented => "COMMENTED",
        ReviewState::Dismissed => "DISMISSED",
        ReviewState::Pending => "PENDING",
    }
}

/// Returns the latest review of each reviewer. As in gh, the author counts as a reviewer.
fn latest_reviews(p: &PullRequest) -> Json {
    let mut all: Vec<&Review> = p.latest_reviews.iter().chain(&p.author_review).collect();
    all.sort_by_key(|r| r.submitted_at);
    Json::list(&all, |r| review(r))
}

fn review(r: &Review) -> Json {
    with_round(
        r.round,
        vec![
            ("id", Json::text(&r.id)),
            ("author", login(&r.author)),
            (
                "authorAssociation",
                Json::text(r.author_association.as_deref().unwrap_or("NONE")),
            ),
            ("body", Json::text(r.body.as_deref().unwrap_or(""))),
            ("submittedAt", time(Some(r.submitted_at))),
            ("includesCreatedEdit", Json::Bool(false)),
            ("reactionGroups", reactions(&r.reactions)),
            ("state", Json::text(review_state(r.state))),
            (
                "commit",
                Json::Object(vec![("oid", Json::text(r.commit.as_deref().unwrap_or("")))]),
            ),
        ],
    )
}

fn commit(c: &Commit) -> Json {
    let authored = c.authors.first().map(|a| a.at);
    let authors = Json::list(&c.authors, |a| {
        Json::Object(vec![
            ("email", Json::text(&a.email)),
            ("id", Json::text(a.account_id.as_deref().unwrap_or(""))),
            ("login", Json::text(a.login.as_deref().unwrap_or(""))),
            ("name", Json::text(&a.name)),
        ])
    });
    Json::Object(vec![
        ("authoredDate", time(authored)),
        ("authors", authors),
        ("committedDate", time(Some(c.committer.at))),
        ("messageBody", Json::text(&c.message_body)),
        ("messageHeadline", Json::text(&c.message_headline)),
        ("oid", Json::text(&c.oid)),
    ])
}

/// Returns the issues that the forge closes with the merge; on a forge that closes none, those that
/// a merge by forge closes. Of an issue that is known by its record, the at-uri is the id.
fn closing_issues(p: &PullRequest) -> Json {
    let by_forge = p.linked_issues.iter().flatten().map(linked_issue);
    let on_merge = p.closed_on_merge.iter().map(|issue| {
        let (id, number) = match &issue.key {
            PrKey::Number(number) => ("", Json::Number(*number)),
            PrKey::Record(uri) => (uri.as_str(), Json::Null),
        };
        linked(id, number, &issue.repo, None, id)
    });
    Json::Array(by_forge.chain(on_merge).collect())
}

fn linked_issue(i: &LinkedIssue) -> Json {
    let number = Json::Number(i.number);
    linked(&i.id, number, &i.repo, i.repo_node.as_ref(), &i.url)
}

/// Returns the object of a linked issue or pull request, with its repository.
pub(super) fn linked(
    id: &str,
    number: Json,
    repo: &RepoId,
    node: Option<&RepoNode>,
    url: &str,
) -> Json {
    let (owner, name) = repo.owner_and_name().unwrap_or_default();
    let (repo_id, owner_id) = node.map_or(("", ""), |n| (n.id.as_str(), n.owner_id.as_str()));
    Json::Object(vec![
        ("id", Json::text(id)),
        ("number", number),
        (
            "repository",
            Json::Object(vec![
                ("id", Json::text(repo_id)),
                ("name", Json::text(name)),
                (
                    "owner",
                    Json::Object(vec![
                        ("id", Json::text(owner_id)),
                        ("login", Json::text(owner)),
                    ]),
                ),
            ]),
        ),
        ("url", Json::text(url)),
    ])
}

fn file(f: &FileChange) -> Json {
    let change = match f.status {
        FileStatus::Added => "ADDED",
        FileStatus::Modified => "MODIFIED",
        FileStatus::Deleted => "DELETED",
        FileStatus::Renamed => "RENAMED",
        FileStatus::Copied => "COPIED",
    };
    Json::Object(vec![
        ("path", Json::text(&f.path)),
        ("additions", Json::Number(f.additions.unwrap_or(0))),
        ("deletions", Json::Number(f.deletions.unwrap_or(0))),
        ("changeType", Json::text(change)),
    ])
}

fn check(c: &Check) -> Json {
    let Some(status) = &c.progress else {
        return Json::Object(vec![
            ("__typename", Json::text("StatusContext")),
            ("context", Json::text(&c.name)),
            ("state", Json::text(c.conclusion.as_deref().unwrap_or(""))),
            ("targetUrl", Json::text(c.url.as_deref().unwrap_or(""))),
            ("startedAt", time(c.started_at)),
        ]);
    };
    Json::Object(vec![
        ("__typename", Json::text("CheckRun")),
        ("name", Json::text(&c.name)),
        (
            "workflowName",
            Json::text(c.workflow.as_deref().unwrap_or("")),
        ),
        ("status", Json::text(status)),
        (
            "conclusion",
            Json::text(c.conclusion.as_deref().unwrap_or("")),
        ),
        ("startedAt", time(c.started_at)),
        ("completedAt", time(c.completed_at)),
        ("detailsUrl", Json::text(c.url.as_deref().unwrap_or(""))),
    ])
}

#[cfg(test)]
mod tests {
    use forge_core::{AtUri, ForgeKind};

    use super::*;
    use crate::cmd::pr::sample::pull;

    #[test]
    fn field_table_has_46_gh_fields_and_threads() {
        let names: Vec<&str> = PULL_FIELDS.iter().map(|f| f.name).collect();
        let expected = "additions assignees author autoMergeRequest baseRefName baseRefOid body \
            changedFiles closed closedAt closingIssuesReferences comments commits createdAt \
            deletions files fullDatabaseId headRefName headRefOid headRepository \
            headRepositoryOwner id isCrossRepository isDraft labels latestReviews \
            maintainerCanModify mergeCommit mergeStateStatus mergeable mergedAt mergedBy milestone \
            number potentialMergeCommit projectCards projectItems reactionGroups reviewDecision \
            reviewRequests reviewThreads reviews state statusCheckRollup title updatedAt url";
        assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());
        assert_eq!(names.len(), 47);
    }

    #[test]
    fn row_fields_need_no_extra_sections() {
        for name in ROW_FIELDS {
            let field = PULL_FIELDS.iter().find(|f| f.name == *name).unwrap();
            assert!(field.needs.is_empty(), "{name}");
        }
    }

    #[test]
    fn fields_of_minimal_pull_request_have_typed_values() {
        let p = pull();
        let value = |name: &str| {
            let field = PULL_FIELDS.iter().find(|f| f.name == name).unwrap();
            (field.get)(&p).compact()
        };
        for list in [
            "commits",
            "files",
            "reviews",
            "reviewThreads",
            "comments",
            "statusCheckRollup",
            "projectItems",
        ] {
            assert_eq!(value(list), "[]", "{list}");
        }
        for null in [
            "closedAt",
            "mergedAt",
            "mergedBy",
            "mergeCommit",
            "milestone",
            "headRepositoryOwner",
        ] {
            assert_eq!(value(null), "null", "{null}");
        }
        assert_eq!(value("mergeable"), "\"UNKNOWN\"");
        assert_eq!(value("reviewDecision"), "\"APPROVED\"");
        assert_eq!(
            value("author"),
            r#"{"id":"","is_bot":false,"login":"ada","name":"Ada Lovelace"}"#
        );
        assert_eq!(
            value("reviewRequests"),
            r#"[{"__typename":"User","login":"alan"}]"#
        );
        assert_eq!(
            value("headRepository"),
            r#"{"id":"","name":"repo","nameWithOwner":"file:///srv/repo"}"#
        );
    }

    #[test]
    fn owner_of_fork_record_is_account_of_record() {
        let owner_of = |path| {
            let mut p = pull();
            p.head_repo = Some(RepoId {
                kind: ForgeKind::TANGLED,
                host: String::new(),
                path,
            });
            head_repository_owner(&p).compact()
        };
        let uri = |text: &str| RepoPath::Record(AtUri::parse(text).unwrap());
        for account in ["did:plc:laqygfbyvnkyuhsuaxmp6ez3", "carol.example"] {
            assert_eq!(
                owner_of(uri(&format!(
                    "at://{account}/sh.tangled.repo/3m7lfz7dl5z22"
                ))),
                format!(r#"{{"id":"","login":"{account}"}}"#)
            );
        }
        // The DID of a repository does not name its owner.
        let did = RepoPath::Did("did:plc:laqygfbyvnkyuhsuaxmp6ez3".to_owned());
        assert_eq!(owner_of(did), "null");
    }

    #[test]
    fn unknown_head_repository_is_null_like_in_gh() {
        let mut p = pull();
        p.head_repo_is_unknown = true;
        assert_eq!(head_repository(&p).compact(), "null");
        assert_eq!(head_repository_owner(&p).compact(), r#"{"login":""}"#);
        let mut owner = Actor::new("carol");
        owner.id = "U_c".to_owned();
        p.unknown_head_owner = Some(owner);
        assert_eq!(
            head_repository_owner(&p).compact(),
            r#"{"id":"U_c","login":"carol"}"#
        );
    }
}
