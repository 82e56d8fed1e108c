//! The protocol's names, as data. Tangled changed its protocol twice in 2026; which of the three is
//! spoken is found out per repository.
//!
//! The names of collections, methods, types and states, the fields of records, and what methods are
//! asked with and answer stand here alone, so that one which is changed can be followed by
//! configuration: [`Dialects::set`]. What is atproto's own (`$type`, strong references, blobs, the
//! pages of lists, the names of errors) has no other.

use std::borrow::Cow;

use forge_core::{
    Error, ErrorKind, Result,
    locator::{Hosts, RecordKind},
    model::PrState,
    suggest,
    text::one_line,
};
use serde_json::{Value, json};

/// A name: of a collection, of a method, of a type, of a field, of a state.
type Name = Cow<'static, str>;

/// A knot of Tangled 1.0 stamps records with keys that begin so. Whether these count into the CID was
/// not seen.
pub(crate) const STAMP: &str = "x-tngl-";

/// Which protocol a repository speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Era {
    /// Until spring 2026: repositories by at-uri, the patch in the record or as one blob.
    Sh2025,
    /// From May 2026: repositories by DID, rounds of gzipped patch blobs.
    Sh2026,
    /// Tangled 1.0, from October 2026: records in the repository's own account, rounds of commits.
    Org10,
}

impl Era {
    /// What people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sh2025 => "2025",
            Self::Sh2026 => "2026",
            Self::Org10 => "1.0",
        }
    }
}

/// The names of one protocol. A name that does not exist in it is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Pull requests (in 1.0: tickets).
    pub pull: Name,
    /// Rounds, where they are records of their own.
    pub patch: Name,
    /// Status records.
    pub status: Name,
    /// The status tokens: open, closed, merged.
    pub states: [Name; 3],
    /// Issues (in 1.0: tickets).
    pub issue: Name,
    /// States of issues.
    pub issue_state: Name,
    /// The tokens of these states: open, closed.
    pub issue_states: [Name; 2],
    /// Comments.
    pub comment: Name,
    /// Comments on pull requests, of an older kind, which are read and not written.
    pub old_comment: Name,
    /// The same, on issues.
    pub old_issue_comment: Name,
    /// Changes of labels.
    pub label_op: Name,
    /// Definitions of labels.
    pub label: Name,
    /// Repositories.
    pub repo: Name,
    /// What a repository says of itself, in its own account.
    pub manifest: Name,
    /// Who may push.
    pub collaborator: Name,
    /// The type of a text with markup.
    pub markdown: Name,
    /// The type of a line with markup.
    pub inline: Name,
    /// The type of a label on a ticket.
    pub ticket_label: Name,
}

impl Dialect {
    /// The token of a state.
    pub(crate) fn state(&self, state: PrState) -> &str {
        let [open, closed, merged] = &self.states;
        match state {
            PrState::Open => open,
            PrState::Closed => closed,
            PrState::Merged => merged,
        }
    }

    /// Every name with its key behind `prefix`.
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

    /// Whether this is one of its collections.
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

/// Names with their keys.
type Entries<'a> = Vec<(String, &'a mut Name)>;

/// A group of names.
pub(crate) trait Table: PartialEq + Sync + 'static {
    /// The usual ones.
    fn usual() -> &'static Self;
}

/// A group of names with the usual ones as its default.
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
    /// What an index is asked.
    IndexMethods, "index":
    /// The pull requests of a repository.
    list_pulls = "sh.tangled.repo.listPulls",
    /// The issues of a repository.
    list_issues = "sh.tangled.repo.listIssues",
    /// One pull request.
    get_pull = "sh.tangled.repo.getPull",
    /// One issue.
    get_issue = "sh.tangled.repo.getIssue",
    /// One repository.
    get_repo = "sh.tangled.repo.getRepo",
    /// The statuses of a pull request.
    list_statuses = "sh.tangled.repo.pull.listStatuses",
    /// The states of an issue. The name is that of several public clients of the index.
    list_issue_states = "sh.tangled.repo.issue.listStates",
    /// The comments on either.
    list_comments = "sh.tangled.feed.listComments",
    /// The changes of the labels of either.
    list_label_ops = "sh.tangled.label.listOps",
    /// The definitions of labels of an account.
    list_labels = "sh.tangled.label.listDefinitions",
    /// The collaborators of a repository.
    list_collaborators = "sh.tangled.repo.listCollaborators",
}

names! {
    /// What a knot is asked, and told to do.
    KnotMethods, "knot":
    /// Which version it is.
    version = "sh.tangled.knot.version",
    /// Whose a repository is.
    describe_repo = "sh.tangled.repo.describeRepo",
    /// The collaborators of a repository.
    list_collaborators = "sh.tangled.repo.listCollaborators",
    /// One branch.
    branch = "sh.tangled.repo.branch",
    /// All branches.
    branches = "sh.tangled.repo.branches",
    /// The default branch.
    default_branch = "sh.tangled.repo.getDefaultBranch",
    /// The files of a directory.
    tree = "sh.tangled.repo.tree",
    /// One file.
    blob = "sh.tangled.repo.blob",
    /// The commits of a branch.
    log = "sh.tangled.repo.log",
    /// What two revisions differ in.
    compare = "sh.tangled.repo.compare",
    /// Whether a patch applies.
    merge_check = "sh.tangled.repo.mergeCheck",
    /// Applies a patch.
    merge = "sh.tangled.repo.merge",
    /// Fetches a branch of what a fork was made from.
    hidden_ref = "sh.tangled.repo.hiddenRef",
    /// Deletes a branch.
    delete_branch = "sh.tangled.repo.deleteBranch",
    /// In 1.0, the commit that two commits share.
    merge_base = "org.tangled.temp.git.getMergeBase",
    /// In 1.0, commits as patches.
    format_patch = "org.tangled.temp.git.formatPatch",
    /// In 1.0, another round.
    submit_patch = "org.tangled.review.submitPatch",
}

names! {
    /// What a spindle is asked.
    SpindleMethods, "spindle":
    /// The pipelines of commits.
    pipelines = "sh.tangled.ci.queryPipelines",
}

names! {
    /// The fields of the records of 1.0.
    Fields, "field":
    /// The title of a ticket.
    title = "title",
    /// The text of a ticket or a comment.
    body = "body",
    /// The text in a title or a body.
    text = "text",
    /// The state of a ticket.
    state = "state",
    /// The branch that a ticket is for; an issue has none.
    target_branch = "targetBranch",
    /// The labels of a ticket.
    labels = "tangledLabels",
    /// Which label it is.
    label_key = "key",
    /// The value of that label, where it has one.
    label_value = "value",
    /// The assignees of a ticket.
    assignees = "assignees",
    /// When a record was made.
    created_at = "createdAt",
    /// The ticket of a patch.
    ticket = "ticket",
    /// The commit that a patch begins at.
    base = "base",
    /// The commit that a patch ends at.
    head = "head",
    /// The id of either.
    oid = "oid",
    /// Where a patch comes from.
    source = "source",
    /// The repository of that.
    source_repo = "repo",
    /// The branch of that.
    source_branch = "branch",
    /// The repository that a patch comes from, where it is submitted.
    sent_repo = "sourceRepo",
    /// The branch that a patch comes from, where it is submitted.
    sent_branch = "sourceBranch",
    /// What a comment is about.
    subject = "subject",
    /// The comment that a comment answers.
    reply_to = "replyTo",
    /// The repository that a declaration is of.
    declared = "repo",
    /// The knot's word for who wrote a record.
    editor = "x-tngl-editor",
    /// What all names begin with that the knot puts into a record, and nobody sends.
    stamp = "x-tngl-",
}

names! {
    /// The fields of the records of 2025 and 2026.
    ShFields, "sh_field":
    /// The title of a pull request or an issue.
    title = "title",
    /// The text of a pull request, an issue or a comment.
    body = "body",
    /// The text in the text of a comment.
    text = "text",
    /// When a record, or a round in it, was made.
    created_at = "createdAt",
    /// Where a pull request is to go.
    target = "target",
    /// The repository of that.
    target_repo = "repo",
    /// The same by DID, while `repo` was an at-uri.
    target_did = "repoDid",
    /// The branch of that.
    target_branch = "branch",
    /// The target repository, in the oldest records.
    flat_repo = "targetRepo",
    /// The target branch, in the oldest records.
    flat_branch = "targetBranch",
    /// Where the changes come from.
    source = "source",
    /// The repository of that.
    source_repo = "repo",
    /// The same by DID, while `repo` was an at-uri.
    source_did = "repoDid",
    /// The branch of that.
    source_branch = "branch",
    /// The commit of that, in older records.
    source_sha = "sha",
    /// The pull request that one builds on.
    depends_on = "dependentOn",
    /// The versions of the changes.
    rounds = "rounds",
    /// The same in records of August 2026 and later, whose `rounds` are empty.
    versions = "versions",
    /// The blob of a version; in older records, of the only one.
    patch_blob = "patchBlob",
    /// The patch itself, in the oldest records.
    patch = "patch",
    /// The accounts that a text names.
    mentions = "mentions",
    /// The records that a text names.
    references = "references",
    /// The pull request that a status is of.
    status_pull = "pull",
    /// The word of a status.
    status = "status",
    /// The issue that a state is of.
    state_issue = "issue",
    /// The word of the state of an issue.
    state = "state",
    /// The repository of an issue.
    issue_repo = "repo",
    /// What a comment is about.
    subject = "subject",
    /// The comment that a comment answers.
    reply_to = "replyTo",
    /// The version of the changes that a comment is about.
    round = "pullRoundIdx",
    /// The pull request that an older comment is about.
    old_pull = "pull",
    /// The issue that an older comment is about.
    old_issue = "issue",
    /// What a change of labels is of.
    op_subject = "subject",
    /// When labels were changed.
    op_at = "performedAt",
    /// The labels that a change adds.
    op_add = "add",
    /// The labels that a change takes away.
    op_delete = "delete",
    /// Which label it is.
    op_key = "key",
    /// The value of that label.
    op_value = "value",
    /// The name of a label.
    label_name = "name",
    /// Its colour.
    label_color = "color",
    /// What values it takes.
    label_type = "valueType",
    /// The type of these.
    label_kind = "type",
    /// Their format.
    label_format = "format",
    /// The only ones that there are.
    label_values = "enum",
    /// What it is for.
    label_scope = "scope",
    /// Whether one thing can have several of its values.
    label_multiple = "multiple",
    /// The name of a repository.
    repo_name = "name",
    /// The DID of a repository.
    repo_did = "repoDid",
    /// The knot that serves a repository.
    repo_knot = "knot",
    /// The service that runs its pipelines.
    repo_spindle = "spindle",
    /// The labels that it uses.
    repo_labels = "labels",
    /// What a fork was made from.
    repo_source = "source",
    /// What a repository is, in a sentence.
    repo_description = "description",
    /// The repository that a collaborator is of.
    push_repo = "repo",
    /// The account of a collaborator.
    push_account = "subject",
}

names! {
    /// The fields of the manifest of 1.0, which were seen in prose alone.
    ManifestFields, "manifest":
    /// Whose a repository is.
    owner = "owner",
    /// The same, by another name.
    did = "did",
    /// The name of the repository.
    name = "name",
    /// The same, by another name.
    slug = "slug",
    /// An object that these may be in.
    in_owner = "owner",
    /// Another.
    in_repo = "repo",
}

names! {
    /// What the questions to an index and its rows are made of.
    IndexFields, "index_field":
    /// What a list is asked of: the parameter.
    subject = "subject",
    /// The pull request that is asked for: the parameter.
    pull = "pull",
    /// The issue that is asked for: the parameter.
    issue = "issue",
    /// The repository that is asked for: the parameter.
    repo = "repo",
    /// The status that a list of pull requests is narrowed to: the parameter.
    wanted_status = "status",
    /// The state that a list of issues is narrowed to: the parameter.
    wanted_state = "state",
    /// The author that either is narrowed to: the parameter.
    author = "author",
    /// The state of a row.
    row_state = "state",
    /// How many comments a row has.
    row_comments = "commentCount",
    /// The account of a collaborator, in a row or its record; of a knot's list, too.
    collaborator = "subject",
    /// Who added a collaborator, in a row of a list that has no at-uri.
    added_by = "addedBy",
    /// The word for open, of a row and to narrow a list to.
    state_open = "open",
    /// For closed.
    state_closed = "closed",
    /// For merged.
    state_merged = "merged",
}

names! {
    /// What the questions and orders to a knot are made of.
    KnotFields, "knot_field":
    /// The repository, in most.
    repo = "repo",
    /// The repository whose owner is asked for.
    repo_did = "repoDid",
    /// The repository whose collaborators are asked for.
    collaborators_of = "subject",
    /// The branch that is asked for.
    branch_name = "name",
    /// The older of two revisions.
    compare_base = "rev1",
    /// The newer of them.
    compare_head = "rev2",
    /// The revision of a file, a directory or a log.
    revision = "ref",
    /// The path of a file or a directory.
    path = "path",
    /// The owner of the repository of a merge, for older knots.
    owner = "did",
    /// The name of it, for older knots.
    name = "name",
    /// The branch of a merge, and the one that is deleted.
    branch = "branch",
    /// The patch of a merge.
    patch = "patch",
    /// The subject of the commit that a merge makes.
    message = "commitMessage",
    /// The text of it.
    message_body = "commitBody",
    /// The address of its author.
    email = "authorEmail",
    /// The branch of a fork that is to be compared.
    fork_ref = "forkRef",
    /// The branch that it is to be compared with.
    remote_ref = "remoteRef",
    /// In 1.0, one of two commits whose common one is asked for.
    base_of = "base",
    /// In 1.0, the other.
    base_head = "head",
    /// In 1.0, the commit that patches begin behind.
    patch_from = "from",
    /// In 1.0, the commit that they end at.
    patch_to = "to",
    /// In 1.0, the repository that a round is submitted to.
    submit_repo = "repo",
    /// In 1.0, the round.
    submit_patch = "patch",
}

names! {
    /// What the questions to a spindle are made of.
    SpindleFields, "spindle_field":
    /// The repository whose pipelines are asked for.
    repo = "repo",
    /// The commits that they ran for.
    commits = "commits",
}

names! {
    /// What the answers of knots are read by. Collaborators are in [`IndexFields::collaborator`].
    KnotAnswers, "knot_answer":
    /// The DID of the owner of a repository.
    owner = "ownerDid",
    /// The key of the owner's record of it.
    rkey = "rkey",
    /// The version of a knot.
    version = "version",
    /// What a knot says that it can.
    capabilities = "capabilities",
    /// The name of one branch.
    branch_name = "name",
    /// The commit that it ends at.
    branch_hash = "hash",
    /// The message of that commit.
    branch_message = "message",
    /// When that was committed.
    branch_when = "when",
    /// The list of all branches.
    branches = "branches",
    /// What is said of one of these.
    reference = "reference",
    /// Its name.
    reference_name = "name",
    /// The commit that it ends at.
    reference_hash = "hash",
    /// What two revisions differ in, as mails.
    patch = "patch",
    /// The same, as one diff.
    combined_patch = "combined_patch_raw",
    /// Whether a patch does not apply.
    conflicted = "is_conflicted",
    /// Where it does not.
    conflicts = "conflicts",
    /// The file of one of these places.
    conflict_file = "filename",
    /// Why it was not found out whether a patch applies.
    check_error = "error",
    /// Whether a branch of what a fork was made from was fetched.
    fetched = "success",
    /// What it is called then.
    fetched_ref = "ref",
    /// Why it was not fetched.
    fetch_error = "error",
    /// What is in a directory.
    files = "files",
    /// The name of one of these.
    file_name = "name",
    /// Its mode.
    file_mode = "mode",
    /// What is in a file.
    blob_content = "content",
    /// What that is written in.
    blob_encoding = "encoding",
    /// How many bytes a file has.
    blob_size = "size",
    /// Whether a file is too large to be sent.
    blob_too_large = "fileTooLarge",
    /// The commits of a log. What is in one is printed in more than one case, and found in any.
    commits = "commits",
    /// The id of a commit.
    commit_hash = "hash",
    /// What it was made on.
    commit_parents = "parentHashes",
    /// The same, from other knots.
    commit_parents_too = "parent_hashes",
    /// Its message.
    commit_message = "message",
    /// Who wrote it.
    commit_author = "author",
    /// Who put it there.
    commit_committer = "committer",
    /// The address of either.
    person_email = "email",
    /// When either did that.
    person_when = "when",
    /// In 1.0, the commit that two commits share.
    common = "commit",
    /// In 1.0, the id in that, where it is an object.
    common_oid = "oid",
}

names! {
    /// What the answers of spindles are read by.
    SpindleAnswers, "spindle_answer":
    /// The list of pipelines.
    pipelines = "pipelines",
    /// The commit that one ran for.
    commit = "commit",
    /// When it was made.
    created_at = "createdAt",
    /// What set it off.
    trigger = "trigger",
    /// What is in it.
    workflows = "workflows",
    /// The name of one of these.
    workflow_name = "name",
    /// How it stands.
    workflow_status = "status",
    /// What went wrong in it.
    workflow_error = "error",
    /// When it began.
    workflow_started = "startedAt",
    /// When it ended.
    workflow_finished = "finishedAt",
    /// How one stands that went well.
    success = "success",
    /// One that did not.
    failed = "failed",
    /// One that took too long.
    timeout = "timeout",
    /// One that was stopped.
    cancelled = "cancelled",
}

names! {
    /// What the web pages are read by.
    WebNames, "web":
    /// The attribute that names the record which a page is about.
    record = "data-aturi",
}

/// What answers are read by, by who answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Knots.
    pub knot: KnotAnswers,
    /// Spindles.
    pub spindle: SpindleAnswers,
}

/// The parameters and inputs of methods, and what the rows of an index are read by, by who answers
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// The index.
    pub index: IndexFields,
    /// Knots.
    pub knot: KnotFields,
    /// Spindles.
    pub spindle: SpindleFields,
}

/// The methods, by who answers them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Methods {
    /// The index.
    pub index: IndexMethods,
    /// Knots.
    pub knot: KnotMethods,
    /// Spindles.
    pub spindle: SpindleMethods,
}

/// Whom a token for a write to a repository of 1.0 is for. Both were seen, so the other is tried
/// where the first is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// The knot.
    #[default]
    Knot,
    /// The repository.
    Repository,
}

/// The key of the audience that is tried first.
const AUDIENCE: &str = "audience";

impl Audience {
    const ALL: [Self; 2] = [Self::Knot, Self::Repository];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Knot => "knot",
            Self::Repository => "repository",
        }
    }
}

/// The table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialects {
    /// `sh.tangled.*`, in both of its forms.
    pub sh: Dialect,
    /// `org.tangled.*`.
    pub org: Dialect,
    /// The fields of its records.
    pub fields: Fields,
    /// Those of `sh.tangled.*`.
    pub sh_fields: ShFields,
    /// Those of the manifest of 1.0.
    pub manifest: ManifestFields,
    /// The methods of all of them: some of `sh.tangled.*` are those of 1.0, too.
    pub methods: Methods,
    /// What these are asked with.
    pub inputs: Inputs,
    /// What their answers are read by.
    pub answers: Answers,
    /// What the web pages are read by.
    pub web: WebNames,
    /// Whom a token is for.
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
    /// The names of an era.
    #[must_use]
    pub fn of(&self, era: Era) -> &Dialect {
        match era {
            Era::Sh2025 | Era::Sh2026 => &self.sh,
            Era::Org10 => &self.org,
        }
    }

    /// Every key with the name that it stands for, in the order of the table in `docs/reference/tangled.md`.
    #[must_use]
    pub fn names(&self) -> Vec<(String, String)> {
        let mut copy = self.clone();
        let names = copy.entries().into_iter();
        names
            .map(|(key, name)| (key, name.to_string()))
            .chain([(AUDIENCE.to_owned(), self.audience.name().to_owned())])
            .collect()
    }

    /// Gives another name to what `key` stands for.
    ///
    /// # Errors
    /// `config` for a key that does not exist, and for a name of another form: where the usual one
    /// is an NSID that must be, else it is a word.
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

    /// `hosts` with the collections that a locator can name by at-uri.
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

    /// Whether a collection is of 1.0.
    pub(crate) fn is_org(&self, collection: &str) -> bool {
        collection.starts_with("org.tangled.") || self.org.has(collection)
    }

    /// Whether our lexicons describe the records of a collection: they know the usual names alone.
    pub(crate) fn is_described(&self, collection: &str) -> bool {
        let usual = Self::default();
        match self.is_org(collection) {
            true => self.org == usual.org && self.fields == usual.fields,
            false => self.sh == usual.sh && self.sh_fields == usual.sh_fields,
        }
    }

    /// A text with markup, as records of 1.0 have it.
    pub(crate) fn markdown(&self, text: &str) -> Value {
        json!({ "$type": self.org.markdown, (self.fields.text.to_string()): text })
    }

    /// A line with markup, as records of 1.0 have it.
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

/// A part of a name.
fn is_word(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// Three parts or more, and perhaps a fragment.
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
    fn records_with_configured_names_are_not_validated_by_lexicons() {
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
