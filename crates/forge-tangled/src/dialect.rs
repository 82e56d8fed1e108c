//! The names of tangled's protocol, as data.
//!
//! A dialect is the set of names of one protocol version. Tangled changed its protocol twice in
//! 2026, so the version is determined for each repository.
//!
//! Only this module has the names of collections, methods, types, states, record fields, parameters
//! and answer fields. If tangled renames one, the configuration sets the new name
//! ([`Dialects::set`]). Names of atproto itself (`$type`, strong references, blobs, the pages of
//! lists, errors) are fixed.

use std::borrow::Cow;

use forge_core::{
    Error, ErrorKind, Result,
    locator::{Hosts, RecordKind},
    model::PrState,
    suggest,
    text::one_line,
};
use serde_json::{Value, json};

/// Name of a collection, a method, a type, a field or a state.
type Name = Cow<'static, str>;

/// Prefix of the stamps: fields that a knot of Tangled 1.0 adds to records. It is not known whether
/// the CID of a record covers its stamps.
pub(crate) const STAMP: &str = "x-tngl-";
/// Prefix of the collections of Tangled 1.0. Records of these collections can have stamps.
pub(crate) const STAMPED: &str = "org.tangled.";

/// Field of a markup object: the text before the web's post-processing, which the web offers for
/// the next edit.
pub(crate) const ORIGINAL: &str = "original";

/// The version of the protocol that a repository uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Era {
    /// Until spring 2026. Records name a repository by at-uri; a patch is in the record or in one
    /// blob.
    Sh2025,
    /// From May 2026. Records name a repository by DID; each round is a gzipped patch blob.
    Sh2026,
    /// Tangled 1.0, from October 2026. Records are in the repository's own account; rounds are
    /// commits.
    Org10,
}

impl Era {
    /// Returns the name of the era for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sh2025 => "2025",
            Self::Sh2026 => "2026",
            Self::Org10 => "1.0",
        }
    }
}

/// The names of one protocol version. A name that this version lacks is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Collection of pull requests; in Tangled 1.0 of tickets, which are pull requests and issues.
    pub pull: Name,
    /// Collection of rounds, in a protocol that keeps each round in its own record.
    pub patch: Name,
    /// Collection of status records.
    pub status: Name,
    /// Values of a pull request's status: open, closed, merged.
    pub states: [Name; 3],
    /// Collection of issues; in Tangled 1.0 of tickets, which are pull requests and issues.
    pub issue: Name,
    /// Collection of the states of issues.
    pub issue_state: Name,
    /// Values of an issue's state: open, closed.
    pub issue_states: [Name; 2],
    /// Collection of comments.
    pub comment: Name,
    /// Older collection of comments on pull requests, which is only read.
    pub old_comment: Name,
    /// Older collection of comments on issues, which is only read.
    pub old_issue_comment: Name,
    /// Collection of label operations, which change labels.
    pub label_op: Name,
    /// Collection of label definitions.
    pub label: Name,
    /// Collection of repositories.
    pub repo: Name,
    /// Collection of manifests. A manifest describes a repository in the repository's own account.
    pub manifest: Name,
    /// Collection of collaborators: accounts that may push.
    pub collaborator: Name,
    /// The type of a text with markup.
    pub markdown: Name,
    /// The type of a line with markup.
    pub inline: Name,
    /// The type of a label on a ticket.
    pub ticket_label: Name,
}

impl Dialect {
    /// Returns the word for a state of a pull request.
    pub(crate) fn state(&self, state: PrState) -> &str {
        let [open, closed, merged] = &self.states;
        match state {
            PrState::Open => open,
            PrState::Closed => closed,
            PrState::Merged => merged,
        }
    }

    /// Returns every name with its configuration key, which begins with `prefix`.
    fn entries(&mut self, prefix: &str) -> Entries<'_> {
        let [open, closed, merged] = &mut self.states;
        let [issue_open, issue_closed] = &mut self.issue_states;
        let all = [
            ("pull", &mut self.pull),
            ("patch", &mut self.patch),
            ("status", &mut self.status),
            ("state_open", open),
            ("state_closed", closed),
            ("state_merged", merged),
            ("issue", &mut self.issue),
            ("issue_state", &mut self.issue_state),
            ("issue_open", issue_open),
            ("issue_closed", issue_closed),
            ("comment", &mut self.comment),
            ("old_comment", &mut self.old_comment),
            ("old_issue_comment", &mut self.old_issue_comment),
            ("label_op", &mut self.label_op),
            ("label", &mut self.label),
            ("repo", &mut self.repo),
            ("manifest", &mut self.manifest),
            ("collaborator", &mut self.collaborator),
            ("markdown", &mut self.markdown),
            ("inline", &mut self.inline),
            ("ticket_label", &mut self.ticket_label),
        ];
        all.into_iter()
            .filter(|(_, name)| !name.is_empty())
            .map(|(key, name)| (format!("{prefix}_{key}"), name))
            .collect()
    }

    fn has(&self, collection: &str) -> bool {
        [
            &self.pull,
            &self.patch,
            &self.issue,
            &self.comment,
            &self.label,
            &self.repo,
            &self.manifest,
            &self.collaborator,
        ]
        .iter()
        .any(|name| **name == collection)
    }
}

/// Names with their configuration keys.
type Entries<'a> = Vec<(String, &'a mut Name)>;

/// A table of configurable names, such as the methods of a knot.
pub(crate) trait Table: PartialEq + Sync + 'static {
    /// Returns the default names.
    fn usual() -> &'static Self;
}

/// Defines a table of names, with the default name of each field.
macro_rules! names {
    ($(#[$doc:meta])* $group:ident, $prefix:literal:
     $($(#[$of:meta])* $field:ident = $usual:literal,)*) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $group {
            $($(#[$of])* pub $field: Name,)*
        }

        impl Table for $group {
            fn usual() -> &'static Self {
                static USUAL: $group = $group { $($field: name($usual),)* };
                &USUAL
            }
        }

        impl Default for $group {
            fn default() -> Self {
                Self::usual().clone()
            }
        }

        impl $group {
            fn entries(&mut self) -> Entries<'_> {
                vec![$((
                    concat!($prefix, "_", stringify!($field)).to_owned(),
                    &mut self.$field,
                ),)*]
            }
        }
    };
}

names! {
    /// Methods of an index, which collects the records of all accounts.
    IndexMethods, "index":
    /// The pull requests of a repository.
    list_pulls = "sh.tangled.repo.listPulls",
    /// The issues of a repository.
    list_issues = "sh.tangled.repo.listIssues",
    /// The repositories of an account.
    list_repos = "sh.tangled.repo.listRepos",
    /// The statuses of a pull request.
    list_statuses = "sh.tangled.repo.pull.listStatuses",
    /// The states of an issue. Several public clients of the index use this method name.
    list_issue_states = "sh.tangled.repo.issue.listStates",
    /// The comments on a pull request or an issue.
    list_comments = "sh.tangled.feed.listComments",
    /// The label operations on a pull request or an issue.
    list_label_ops = "sh.tangled.label.listOps",
    /// The label definitions of an account.
    list_labels = "sh.tangled.label.listDefinitions",
}

names! {
    /// Methods of a knot (git server).
    KnotMethods, "knot":
    /// The version of the knot.
    version = "sh.tangled.knot.version",
    /// The owner of a repository.
    describe_repo = "sh.tangled.repo.describeRepo",
    /// The collaborators of a repository.
    list_collaborators = "sh.tangled.repo.listCollaborators",
    /// A branch.
    branch = "sh.tangled.repo.branch",
    /// All branches.
    branches = "sh.tangled.repo.branches",
    /// The default branch.
    default_branch = "sh.tangled.repo.getDefaultBranch",
    /// The files of a directory.
    tree = "sh.tangled.repo.tree",
    /// A file.
    blob = "sh.tangled.repo.blob",
    /// The commits of a branch.
    log = "sh.tangled.repo.log",
    /// The differences of two revisions.
    compare = "sh.tangled.repo.compare",
    /// Checks whether a patch applies.
    merge_check = "sh.tangled.repo.mergeCheck",
    /// Applies a patch.
    merge = "sh.tangled.repo.merge",
    /// Fetches a branch of the upstream repository into a fork.
    hidden_ref = "sh.tangled.repo.hiddenRef",
    /// Deletes a branch.
    delete_branch = "sh.tangled.repo.deleteBranch",
    /// In Tangled 1.0, the merge base of two commits.
    merge_base = "org.tangled.temp.git.getMergeBase",
    /// In Tangled 1.0, commits as patches.
    format_patch = "org.tangled.temp.git.formatPatch",
    /// In Tangled 1.0, submits a round (two commits).
    submit_patch = "org.tangled.review.submitPatch",
}

names! {
    /// Methods of a spindle (CI service).
    SpindleMethods, "spindle":
    /// The pipelines of commits.
    pipelines = "sh.tangled.ci.queryPipelines",
    /// The pipelines of commits, in Tangled 1.0.
    org_pipelines = "org.tangled.ci.queryPipelines",
}

names! {
    /// The fields of the records of Tangled 1.0.
    Fields, "field":
    /// The title of a ticket.
    title = "title",
    /// The text of a ticket or a comment.
    body = "body",
    /// The text, in the object that is a title or a body.
    text = "text",
    /// The state of a ticket.
    state = "state",
    /// The target branch of a ticket. An issue has none.
    target_branch = "targetBranch",
    /// The labels of a ticket.
    labels = "tangledLabels",
    /// The key of a label, which identifies the label.
    label_key = "key",
    /// The value of a label, if it has one.
    label_value = "value",
    /// The assignees of a ticket.
    assignees = "assignees",
    /// The time when a record was created.
    created_at = "createdAt",
    /// The ticket of a patch.
    ticket = "ticket",
    /// The commit that a patch begins at.
    base = "base",
    /// The commit that a patch ends at.
    head = "head",
    /// The commit id in a base or head.
    oid = "oid",
    /// The source of a patch: its head repository and branch.
    source = "source",
    /// The head repository, in the source of a patch.
    source_repo = "repo",
    /// The head branch, in the source of a patch.
    source_branch = "branch",
    /// The head repository, in the request that submits a round.
    sent_repo = "sourceRepo",
    /// The head branch, in the request that submits a round.
    sent_branch = "sourceBranch",
    /// The record that a comment is about.
    subject = "subject",
    /// The comment that a comment answers.
    reply_to = "replyTo",
    /// The repository, in the owner's declaration that it uses Tangled 1.0.
    declared = "repo",
    /// The last editor of a record, as the knot states it.
    editor = "x-tngl-editor",
    /// The prefix of the fields that only the knot writes into a record.
    stamp = "x-tngl-",
}

names! {
    /// The fields of records in the protocols of 2025 and 2026.
    ShFields, "sh_field":
    /// The title of a pull request or an issue.
    title = "title",
    /// The text of a pull request, an issue or a comment.
    body = "body",
    /// The text in the body of a comment.
    text = "text",
    /// The time when a record, or a round in it, was created.
    created_at = "createdAt",
    /// The target of a pull request.
    target = "target",
    /// The repository of the target.
    target_repo = "repo",
    /// The DID of the repository, in records whose `repo` is an at-uri. Also of issues and
    /// collaborators.
    target_did = "repoDid",
    /// The branch of the target.
    target_branch = "branch",
    /// The target repository, in the oldest records.
    flat_repo = "targetRepo",
    /// The target branch, in the oldest records.
    flat_branch = "targetBranch",
    /// The source of the changes.
    source = "source",
    /// The repository of the source.
    source_repo = "repo",
    /// The DID of the source repository, in records whose `repo` is an at-uri.
    source_did = "repoDid",
    /// The branch of the source.
    source_branch = "branch",
    /// The commit of the source, in older records.
    source_sha = "sha",
    /// The pull request on which a pull request builds.
    depends_on = "dependentOn",
    /// The rounds of a pull request.
    rounds = "rounds",
    /// The rounds in records of August 2026 and later, whose `rounds` are empty.
    versions = "versions",
    /// The commit on which a version is based.
    version_base = "base",
    /// The last commit of a version.
    version_head = "head",
    /// The blob of a round; in older records, of the only round.
    patch_blob = "patchBlob",
    /// The patch itself, in the oldest records.
    patch = "patch",
    /// The accounts that a text names.
    mentions = "mentions",
    /// The records that a text names.
    references = "references",
    /// The pull request that a status record is about.
    status_pull = "pull",
    /// The state of the pull request, in a status record.
    status = "status",
    /// The issue that a state record is about.
    state_issue = "issue",
    /// The state of the issue, in a state record.
    state = "state",
    /// The repository of an issue.
    issue_repo = "repo",
    /// The record that a comment is about.
    subject = "subject",
    /// The comment that a comment answers.
    reply_to = "replyTo",
    /// The round that a comment is about.
    round = "pullRoundIdx",
    /// The pull request that an older comment is about.
    old_pull = "pull",
    /// The issue that an older comment is about.
    old_issue = "issue",
    /// The record that a label operation changes.
    op_subject = "subject",
    /// The time of a label operation.
    op_at = "performedAt",
    /// The labels that an operation adds.
    op_add = "add",
    /// The labels that an operation removes.
    op_delete = "delete",
    /// The definition of an added or removed label.
    op_key = "key",
    /// The value of an added or removed label.
    op_value = "value",
    /// The name of a label.
    label_name = "name",
    /// The colour of a label.
    label_color = "color",
    /// The object that describes a label's values.
    label_type = "valueType",
    /// The type, in the object that describes a label's values.
    label_kind = "type",
    /// The format, in the object that describes a label's values.
    label_format = "format",
    /// The allowed values of a label.
    label_values = "enum",
    /// The collections whose records can have a label.
    label_scope = "scope",
    /// True if a record can have several values of a label.
    label_multiple = "multiple",
    /// The name of a repository.
    repo_name = "name",
    /// The DID of a repository.
    repo_did = "repoDid",
    /// The knot that serves a repository.
    repo_knot = "knot",
    /// The spindle that runs a repository's pipelines.
    repo_spindle = "spindle",
    /// The label definitions of a repository.
    repo_labels = "labels",
    /// The repository from which a fork was made.
    repo_source = "source",
    /// The description of a repository, in a sentence.
    repo_description = "description",
    /// The repository to which a collaborator may push.
    push_repo = "repo",
    /// The account of a collaborator.
    push_account = "subject",
}

names! {
    /// The fields of the manifest of Tangled 1.0, which are known only from prose. A manifest
    /// describes a repository.
    ManifestFields, "manifest":
    /// The owner of a repository.
    owner = "owner",
    /// The owner of a repository, under another likely field name.
    did = "did",
    /// The name of the repository.
    name = "name",
    /// The name of the repository, under another likely field name.
    slug = "slug",
    /// The spindle that runs the repository's pipelines, a DID or a host.
    spindle = "spindle",
    /// An object that may contain the fields for owner and name.
    in_owner = "owner",
    /// Another object that may contain the fields for owner and name.
    in_repo = "repo",
}

names! {
    /// Parameters of an index, and fields of the rows in its lists.
    IndexFields, "index_field":
    /// The object that a list is about (parameter).
    subject = "subject",
    /// The status that filters a list of pull requests (parameter).
    wanted_status = "status",
    /// The state that filters a list of issues (parameter).
    wanted_state = "state",
    /// The author that filters a list (parameter).
    author = "author",
    /// The state of the pull request or issue in a row.
    row_state = "state",
    /// The number of comments, in a row.
    row_comments = "commentCount",
    /// The account of a collaborator, in a row of a knot's list or in the record of the row.
    collaborator = "subject",
    /// The word for open, in rows and in filters.
    state_open = "open",
    /// The word for closed, in rows and in filters.
    state_closed = "closed",
    /// The word for merged, in rows and in filters.
    state_merged = "merged",
}

names! {
    /// Parameters of a knot.
    KnotFields, "knot_field":
    /// The repository, in most methods.
    repo = "repo",
    /// The repository whose owner is requested.
    repo_did = "repoDid",
    /// The repository whose collaborators are requested.
    collaborators_of = "subject",
    /// The requested branch.
    branch_name = "name",
    /// The older of two revisions.
    compare_base = "rev1",
    /// The newer of two revisions.
    compare_head = "rev2",
    /// The revision of a file, a directory or a log.
    revision = "ref",
    /// The path of a file or a directory.
    path = "path",
    /// The owner of the repository to merge into, for older knots.
    owner = "did",
    /// The name of the repository to merge into, for older knots.
    name = "name",
    /// The branch to merge into, or to delete.
    branch = "branch",
    /// The patch to merge.
    patch = "patch",
    /// The subject line of the commit message of a merge.
    message = "commitMessage",
    /// The body of the commit message of a merge.
    message_body = "commitBody",
    /// The e-mail address of the author of a merge.
    email = "authorEmail",
    /// The branch of a fork in a comparison.
    fork_ref = "forkRef",
    /// The upstream branch in a comparison.
    remote_ref = "remoteRef",
    /// In Tangled 1.0, the first of two commits whose merge base is requested.
    base_of = "base",
    /// In Tangled 1.0, the second of two commits whose merge base is requested.
    base_head = "head",
    /// In Tangled 1.0, the commit after which patches begin.
    patch_from = "from",
    /// In Tangled 1.0, the commit at which patches end.
    patch_to = "to",
    /// In Tangled 1.0, the repository to which a round is submitted.
    submit_repo = "repo",
    /// In Tangled 1.0, the submitted round.
    submit_patch = "patch",
}

names! {
    /// Parameters of a spindle.
    SpindleFields, "spindle_field":
    /// The repository whose pipelines are requested.
    repo = "repo",
    /// The commits whose pipelines are requested.
    commits = "commits",
}

names! {
    /// Fields in the answers of knots. The field for collaborators is
    /// [`IndexFields::collaborator`].
    KnotAnswers, "knot_answer":
    /// The DID of the owner of a repository.
    owner = "ownerDid",
    /// The key of a repository's record in the owner's account.
    rkey = "rkey",
    /// The version of a knot.
    version = "version",
    /// The capabilities of a knot.
    capabilities = "capabilities",
    /// The name of a branch.
    branch_name = "name",
    /// The tip of a branch.
    branch_hash = "hash",
    /// The commit message of the tip.
    branch_message = "message",
    /// The commit time of the tip.
    branch_when = "when",
    /// The list of all branches.
    branches = "branches",
    /// The ref of a branch in the list.
    reference = "reference",
    /// The name of a ref.
    reference_name = "name",
    /// The commit of a ref.
    reference_hash = "hash",
    /// The differences of two revisions, as `git format-patch` mails.
    patch = "patch",
    /// The differences of two revisions, as one diff.
    combined_patch = "combined_patch_raw",
    /// The newest commit that both of two compared revisions contain.
    compared_base = "merge_base",
    /// True if a patch does not apply.
    conflicted = "is_conflicted",
    /// The conflicts of a patch.
    conflicts = "conflicts",
    /// The file of a conflict.
    conflict_file = "filename",
    /// The reason why a merge check failed.
    check_error = "error",
    /// True if a branch of the upstream repository was fetched.
    fetched = "success",
    /// The name of the fetched ref.
    fetched_ref = "ref",
    /// The reason why a branch was not fetched.
    fetch_error = "error",
    /// The entries of a directory.
    files = "files",
    /// The name of an entry.
    file_name = "name",
    /// The mode of an entry.
    file_mode = "mode",
    /// The content of a file.
    blob_content = "content",
    /// The encoding of a file's content.
    blob_encoding = "encoding",
    /// The size of a file, in bytes.
    blob_size = "size",
    /// True if a file is too large to be sent.
    blob_too_large = "fileTooLarge",
    /// The commits of a log. The names of a commit's fields are found in any letter case.
    commits = "commits",
    /// The id of a commit.
    commit_hash = "hash",
    /// The parents of a commit.
    commit_parents = "parentHashes",
    /// The parents of a commit, under the field name that some knots use.
    commit_parents_too = "parent_hashes",
    /// The message of a commit.
    commit_message = "message",
    /// The author of a commit.
    commit_author = "author",
    /// The committer of a commit.
    commit_committer = "committer",
    /// The address of an author or committer.
    person_email = "email",
    /// The time of an author or committer.
    person_when = "when",
    /// In Tangled 1.0, the merge base of two commits.
    common = "commit",
    /// In Tangled 1.0, the commit id, if the merge base is an object.
    common_oid = "oid",
}

names! {
    /// Fields in the answers of spindles.
    SpindleAnswers, "spindle_answer":
    /// The list of pipelines.
    pipelines = "pipelines",
    /// The commit of a pipeline.
    commit = "commit",
    /// The time when a pipeline was created.
    created_at = "createdAt",
    /// The trigger of a pipeline.
    trigger = "trigger",
    /// The workflows of a pipeline.
    workflows = "workflows",
    /// The name of a workflow.
    workflow_name = "name",
    /// The status of a workflow.
    workflow_status = "status",
    /// The error of a workflow.
    workflow_error = "error",
    /// The time when a workflow began.
    workflow_started = "startedAt",
    /// The time when a workflow ended.
    workflow_finished = "finishedAt",
    /// The status of a workflow that succeeded.
    success = "success",
    /// The status of a workflow that failed.
    failed = "failed",
    /// The status of a workflow that timed out.
    timeout = "timeout",
    /// The status of a workflow that was stopped.
    cancelled = "cancelled",
}

names! {
    /// Names in the web pages.
    WebNames, "web":
    /// The HTML attribute with the at-uri of the record that a page shows.
    record = "data-aturi",
}

/// Names of the fields in answers, by service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Fields in the answers of knots (git servers).
    pub knot: KnotAnswers,
    /// Fields in the answers of spindles (CI services).
    pub spindle: SpindleAnswers,
}

/// The parameters and inputs of methods and the fields of an index's rows, by service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Parameters of the index, and fields of the rows in its lists.
    pub index: IndexFields,
    /// Parameters of knots (git servers).
    pub knot: KnotFields,
    /// Parameters of spindles (CI services).
    pub spindle: SpindleFields,
}

/// The methods, by service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Methods {
    /// Methods of the index.
    pub index: IndexMethods,
    /// Methods of knots (git servers).
    pub knot: KnotMethods,
    /// Methods of spindles (CI services).
    pub spindle: SpindleMethods,
}

/// Audience of a token for a write to a repository of Tangled 1.0. Tokens with either audience have
/// been seen. The configuration chooses one, and a token for the other is never requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// The token is for the knot's service.
    #[default]
    Knot,
    /// The token is for the repository's own DID.
    Repository,
}

/// Configuration key of the audience.
const AUDIENCE: &str = "audience";

impl Audience {
    const ALL: [Self; 2] = [Self::Knot, Self::Repository];

    /// Returns the word for the audience in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Knot => "knot",
            Self::Repository => "repository",
        }
    }
}

/// All names of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialects {
    /// Names of `sh.tangled.*`, the protocols of 2025 and 2026.
    pub sh: Dialect,
    /// Names of `org.tangled.*`, the protocol of Tangled 1.0.
    pub org: Dialect,
    /// The fields of the records of Tangled 1.0.
    pub fields: Fields,
    /// The fields of `sh.tangled.*`.
    pub sh_fields: ShFields,
    /// The fields of the manifest of Tangled 1.0.
    pub manifest: ManifestFields,
    /// The methods of all protocol versions together, because Tangled 1.0 keeps some of
    /// `sh.tangled.*`.
    pub methods: Methods,
    /// The parameters of the methods, and the fields of an index's rows.
    pub inputs: Inputs,
    /// The fields in the answers.
    pub answers: Answers,
    /// The names in the web pages.
    pub web: WebNames,
    /// The audience of a token for a write to a repository of Tangled 1.0.
    pub audience: Audience,
}

const fn name(text: &'static str) -> Name {
    Cow::Borrowed(text)
}

impl Default for Dialects {
    fn default() -> Self {
        Self {
            sh: Dialect {
                pull: name("sh.tangled.repo.pull"),
                patch: name(""),
                status: name("sh.tangled.repo.pull.status"),
                states: [
                    name("sh.tangled.repo.pull.status.open"),
                    name("sh.tangled.repo.pull.status.closed"),
                    name("sh.tangled.repo.pull.status.merged"),
                ],
                issue: name("sh.tangled.repo.issue"),
                issue_state: name("sh.tangled.repo.issue.state"),
                issue_states: [
                    name("sh.tangled.repo.issue.state.open"),
                    name("sh.tangled.repo.issue.state.closed"),
                ],
                comment: name("sh.tangled.feed.comment"),
                old_comment: name("sh.tangled.repo.pull.comment"),
                old_issue_comment: name("sh.tangled.repo.issue.comment"),
                label_op: name("sh.tangled.label.op"),
                label: name("sh.tangled.label.definition"),
                repo: name("sh.tangled.repo"),
                manifest: name(""),
                collaborator: name("sh.tangled.repo.collaborator"),
                markdown: name("sh.tangled.markup.markdown"),
                inline: name(""),
                ticket_label: name(""),
            },
            org: Dialect {
                pull: name("org.tangled.track.ticket"),
                patch: name("org.tangled.review.patch"),
                status: name(""),
                states: [name("open"), name("closed"), name("merged")],
                issue: name("org.tangled.track.ticket"),
                issue_state: name(""),
                issue_states: [name(""), name("")],
                comment: name("org.tangled.feed.comment"),
                old_comment: name(""),
                old_issue_comment: name(""),
                label_op: name(""),
                label: name("org.tangled.label.definition"),
                repo: name("org.tangled.repo.declaration"),
                manifest: name("org.tangled.repo.manifest"),
                collaborator: name("org.tangled.graph.collaborator"),
                markdown: name("org.tangled.markup.markdown"),
                inline: name("org.tangled.markup.markdown#inline"),
                ticket_label: name("org.tangled.label.defs#labelToken"),
            },
            fields: Fields::default(),
            sh_fields: ShFields::default(),
            manifest: ManifestFields::default(),
            methods: Methods::default(),
            inputs: Inputs::default(),
            answers: Answers::default(),
            web: WebNames::default(),
            audience: Audience::default(),
        }
    }
}

impl Dialects {
    /// Returns the names of an era.
    #[must_use]
    pub fn of(&self, era: Era) -> &Dialect {
        match era {
            Era::Sh2025 | Era::Sh2026 => &self.sh,
            Era::Org10 => &self.org,
        }
    }

    /// Returns every key with its name, in the order of the table in `docs/reference/tangled.md`.
    #[must_use]
    pub fn names(&self) -> Vec<(String, String)> {
        let mut copy = self.clone();
        let names = copy.entries().into_iter();
        names
            .map(|(key, name)| (key, name.to_string()))
            .chain([(AUDIENCE.to_owned(), self.audience.name().to_owned())])
            .collect()
    }

    /// Sets the name of `key`.
    ///
    /// # Errors
    /// `config` for an unknown key, and for a value in the wrong form: a key whose usual name is an
    /// NSID takes an NSID, every other key takes a word.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        let bad = |takes: &str| {
            let value = one_line(value);
            Error::new(
                ErrorKind::Config,
                format!("the name `{key}` of tangled's protocol is '{value}'; it takes {takes}"),
            )
        };
        if key == AUDIENCE {
            let found = Audience::ALL.into_iter().find(|a| a.name() == value);
            self.audience = found.ok_or_else(|| bad("`knot` or `repository`"))?;
            return Ok(());
        }
        let keys: Vec<String> = self.names().into_iter().map(|(key, _)| key).collect();
        let found = self.entries().into_iter().find(|(known, _)| known == key);
        let Some((_, name)) = found else {
            let key = one_line(key);
            let near = suggest::did_you_mean(&key, keys.iter().map(String::as_str));
            return Err(Error::new(
                ErrorKind::Config,
                format!("tangled's protocol has no name `{key}`"),
            )
            .with_hint(
                near.unwrap_or_else(|| "see docs/reference/tangled.md for the names".to_owned()),
            ));
        };
        let (fits, takes) = match name.contains('.') {
            true => (is_nsid(value), "an NSID, such as `sh.tangled.repo.merge`"),
            false => (is_word(value), "a word, such as `createdAt`"),
        };
        if !fits {
            return Err(bad(takes));
        }
        *name = Cow::Owned(value.to_owned());
        Ok(())
    }

    /// Adds to `hosts` the collections of records that a user can name by at-uri.
    pub(crate) fn in_locators(&self, hosts: Hosts) -> Hosts {
        let (ticket, repo) = (RecordKind::Ticket, RecordKind::Repo);
        [
            (&self.sh.pull, ticket),
            (&self.sh.issue, ticket),
            (&self.sh.repo, repo),
            (&self.org.pull, ticket),
            (&self.org.issue, ticket),
            (&self.org.repo, repo),
            (&self.org.manifest, RecordKind::Manifest),
        ]
        .into_iter()
        .fold(hosts, |hosts, (name, records)| {
            hosts.with_collection(name, records)
        })
    }

    /// Returns true for a collection of Tangled 1.0.
    pub(crate) fn is_org(&self, collection: &str) -> bool {
        collection.starts_with("org.tangled.") || self.org.has(collection)
    }

    /// Returns true if forge's lexicons describe the records of a collection. The lexicons have
    /// only the usual names.
    pub(crate) fn is_described(&self, collection: &str) -> bool {
        let usual = Self::default();
        match self.is_org(collection) {
            true => self.org == usual.org && self.fields == usual.fields,
            false => self.sh == usual.sh && self.sh_fields == usual.sh_fields,
        }
    }

    /// Builds a text with markup for a record of Tangled 1.0.
    pub(crate) fn markdown(&self, text: &str) -> Value {
        json!({ "$type": self.org.markdown, (self.fields.text.to_string()): text })
    }

    /// Builds a line with markup for a record of Tangled 1.0.
    pub(crate) fn inline(&self, text: &str) -> Value {
        json!({ "$type": self.org.inline, (self.fields.text.to_string()): text })
    }

    fn entries(&mut self) -> Entries<'_> {
        let Methods {
            index,
            knot,
            spindle,
        } = &mut self.methods;
        let mut all = self.sh.entries("sh");
        all.extend(self.org.entries("org"));
        all.extend(self.fields.entries());
        all.extend(self.sh_fields.entries());
        all.extend(self.manifest.entries());
        all.extend(index.entries());
        all.extend(self.inputs.index.entries());
        all.extend(knot.entries());
        all.extend(self.inputs.knot.entries());
        all.extend(self.answers.knot.entries());
        all.extend(spindle.entries());
        all.extend(self.inputs.spindle.entries());
        all.extend(self.answers.spindle.entries());
        all.extend(self.web.entries());
        all
    }
}

/// Returns true for a word, such as a part of an NSID.
fn is_word(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// Returns true for an NSID: at least three parts, and an optional fragment.
fn is_nsid(text: &str) -> bool {
    let (nsid, fragment) = match text.split_once('#') {
        Some((nsid, fragment)) => (nsid, Some(fragment)),
        None => (text, None),
    };
    nsid.len() <= 317
        && nsid.split('.').count() >= 3
        && nsid.split('.').all(is_word)
        && fragment.is_none_or(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_can_be_set_by_its_key() {
        let usual = Dialects::default();
        let mut keys: Vec<String> = usual.names().into_iter().map(|(key, _)| key).collect();
        let count = keys.len();
        for (key, old) in usual.names() {
            let new = match old.as_str() {
                "knot" => "repository",
                name if name.contains('.') => "org.example.other",
                _ => "other",
            };
            let mut names = usual.clone();
            names.set(&key, new).unwrap();
            let changed: Vec<_> = names
                .names()
                .into_iter()
                .zip(usual.names())
                .filter(|(now, before)| now != before)
                .map(|(now, _)| now)
                .collect();
            assert_eq!(changed, [(key, new.to_owned())]);
        }
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), count, "a key stands twice");
    }

    #[test]
    fn invalid_dialect_key_or_value_is_refused() {
        let mut names = Dialects::default();
        for (key, value, said) in [
            ("knot_merge", "merge", "takes an NSID"),
            ("knot_merge", "sh.tangled", "takes an NSID"),
            ("knot_merge", "sh.tangled.repo.merge?x", "takes an NSID"),
            ("knot_merge", "sh..repo.merge", "takes an NSID"),
            ("field_title", "a.b.c", "takes a word"),
            ("field_title", "", "takes a word"),
            ("field_title", "7", "takes a word"),
            ("audience", "me", "`knot` or `repository`"),
            ("knot_mege", "sh.tangled.repo.merge", "no name `knot_mege`"),
        ] {
            let e = names.set(key, value).unwrap_err();
            assert_eq!(e.code(), "config");
            assert!(e.message().contains(said), "{e}");
        }
        let e = names.set("knot_mege", "x.y.z").unwrap_err();
        assert!(e.hint().unwrap().text().contains("'knot_merge'"), "{e:?}");
        assert_eq!(names, Dialects::default());
    }

    #[test]
    fn configured_names_are_not_checked_by_lexicons() {
        let mut names = Dialects::default();
        assert!(names.is_described("sh.tangled.repo.pull"));
        names.set("field_title", "heading").unwrap();
        assert!(names.is_described("sh.tangled.repo.pull"));
        assert!(!names.is_described("org.tangled.track.ticket"));
        names.set("sh_field_title", "heading").unwrap();
        assert!(!names.is_described("sh.tangled.repo.pull"));
        names.set("sh_field_title", "title").unwrap();
        names.set("sh_pull", "org.example.pull").unwrap();
        assert!(!names.is_described("org.example.pull"));
    }

    #[test]
    fn documented_name_table_matches_default_dialect() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/reference/tangled.md"
        );
        let page = std::fs::read_to_string(path).unwrap();
        let rows = page
            .lines()
            .skip_while(|l| !l.starts_with("| Name | Usually"));
        let shown: Vec<&str> = rows.skip(2).take_while(|l| l.starts_with('|')).collect();
        let wanted = Dialects::default().names();
        assert_eq!(shown.len(), wanted.len());
        for (line, (key, name)) in shown.iter().zip(wanted) {
            let begin = format!("| `{key}` | `{name}` | ");
            assert!(line.starts_with(&begin), "{line} is not {begin}");
        }
    }
}
