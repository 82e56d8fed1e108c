use forge::with_closing_lines;
use forge_core::{
    Action, Arg, Capability, Error, ErrorKind, Hint, Param, PrSelector, Warning, locator,
    mentions::is_closing_word,
    model::{CreatePull, FileEdit, HeadRef, IssueFields, IssueId, Reviewer},
};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{confirmation::require_supported, reviewers};
use crate::calls::{CallContext, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec};

pub(super) struct PrCreate;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PrCreateInput {
    repo: Option<String>,
    title: String,
    head: Option<String>,
    /// Whole files; creates head
    #[serde(default)]
    edits: Vec<Edit>,
    patch: Option<String>,
    base: Option<String>,
    body: Option<String>,
    #[serde(default)]
    closes: Vec<String>,
    /// Pull request to build on
    depends_on: Option<String>,
    #[serde(default)]
    draft: bool,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    reviewers: Vec<String>,
    #[serde(default)]
    assignees: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    path: String,
    content: Option<String>,
    #[serde(default)]
    delete: bool,
}

/// Adds the hint that `repo_push` commits to an existing branch.
fn with_push_hint(e: Error) -> Error {
    if !e.is_branch_exists("head") {
        return e;
    }
    let hint = Hint::new(
        "commit to this branch with repo_push (argument branch), pass another name for a new \
        branch, or omit head",
    );
    e.with_hint(hint.with_action(Action::again(&[(Param::Head, Arg::Choose)])))
}

/// Adds to the error's hint that `edits` create the head branch, even without a clone. Changes only
/// two errors: a missing head branch, and an unsupported patch.
fn or_edits(e: Error) -> Error {
    let is_patch = matches!(
        e.kind(),
        ErrorKind::Unsupported {
            capability: Capability::PrCreatePatch
        }
    );
    if !is_patch && !e.is_no_branch("head") {
        return e;
    }
    let hint = match e.hint() {
        // A hint with variable text names similar branches, so it is kept.
        Some(hint) if !hint.is_constant() => {
            let edits = |text: &str| format!("{text}; or pass edits, which create the branch");
            hint.clone().map_text(edits)
        }
        hint => {
            let action = hint.and_then(Hint::action).cloned();
            let text = "push the branch first, or pass the changed files as edits, which creates \
                        the branch";
            Hint::new(text).with_any_action(action)
        }
    };
    e.with_hint(hint)
}

impl Edit {
    /// Converts the edit.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` unless exactly one of content and delete is given, so that a
    /// forgotten argument cannot delete a file.
    pub fn read(self) -> Result<FileEdit, Error> {
        // Clients in a strict mode send every argument, so they pass an empty content together with
        // delete.
        let content = self.content.filter(|text| !self.delete || !text.is_empty());
        let (why, hint) = match (&content, self.delete) {
            (Some(_), false) | (None, true) => {
                return Ok(match content {
                    Some(content) => FileEdit::write(self.path, content),
                    None => FileEdit::delete(self.path),
                });
            }
            (None, false) => (
                "has no content",
                "pass the whole file as content, or delete=true",
            ),
            (Some(_), true) => ("has content and is to be deleted", "pass content or delete"),
        };
        let path = forge_core::text::one_line(&self.path).into_owned();
        Err(Error::invalid("edits", format!("the edit of {path} {why}")).with_hint(hint))
    }
}

impl Tool for PrCreate {
    const SPEC: ToolSpec = ToolSpec {
        name: "pr_create",
        title: "Open a pull request",
        description: "Opens a pull request from a pushed branch, edits or patch.",
        effect: ToolEffect::Add,
    };
    type Args = PrCreateInput;
    type Out = reviewers::ReviewersOut;

    async fn run(
        call: &CallContext,
        args: PrCreateInput,
    ) -> Result<ToolOutput<reviewers::ReviewersOut>, ToolError> {
        let repo = call.repo(args.repo.as_deref()).await?;
        let config = call.server.forges().config();
        let head = args.head.unwrap_or_default();
        // The prefix is removed; otherwise a full ref name would become `refs/heads/refs/heads/x`.
        let head = head.strip_prefix("refs/heads/").unwrap_or(&head);
        let edits = args.edits.into_iter().map(Edit::read);
        let edits = edits.collect::<Result<Vec<_>, _>>()?;
        if head.is_empty() && args.patch.is_none() && edits.is_empty() {
            return Err(Error::invalid("head", "head, edits and patch are all missing")
                .with_hint("pass the branch that has the changes as head, or the changed files as edits")
                .into());
        }
        let hosts = call.server.forges().hosts();
        let head = match head {
            "" => HeadRef::branch(""),
            named => match locator::parse_selector(named, hosts).map_err(Error::from)? {
                PrSelector::Branch { owner, branch } => {
                    let mut head = HeadRef::branch(branch);
                    head.owner = owner;
                    head
                }
                // Any other text is a branch name, even a number such as 7.
                _ => HeadRef::branch(named),
            },
        };
        // In a stack, the base is the head branch of the lower pull request, not the default
        // branch.
        let (depends_on, base) = match &args.depends_on {
            Some(named) => (
                Some(call.resolve_other_pull(&repo, "depends_on", named).await?),
                args.base,
            ),
            None => (None, args.base.or_else(|| config.pr_base())),
        };
        let mut closes: Vec<IssueId> = Vec::with_capacity(args.closes.len());
        for named in &args.closes {
            // Callers may write a closing word before the issue, as in descriptions.
            let issue = match named.trim().split_once([' ', ':']) {
                Some((word, issue)) if is_closing_word(word) => issue.trim_start(),
                _ => named.as_str(),
            };
            closes.push(call.related(&repo, "closes", issue).await?);
        }
        let mut req = CreatePull::new("", args.title);
        req.description =
            with_closing_lines(args.body.unwrap_or_default(), &closes, repo.id(), hosts);
        req.base = base;
        req.head = head;
        req.draft = args.draft;
        req.patch = args.patch.map(String::into_bytes);
        req.edits = edits;
        req.labels = args.labels;
        req.assignees = args.assignees;
        req.reviewers = args.reviewers.iter().map(|r| Reviewer::parse(r)).collect();
        req.depends_on = depends_on;
        let made = repo.create_pull(&req).await;
        let takes_edits =
            req.edits.is_empty() && require_supported(&repo, &[Capability::PrCreateEdits]).is_ok();
        let mut outcome = made.map_err(|e| match call.server.options().offers("repo_push") {
            true if !req.edits.is_empty() => with_push_hint(e),
            _ if takes_edits && req.head.owner.is_none() => or_edits(e),
            _ => e,
        })?;
        for id in &closes {
            if let Err(e) = repo.issue(id, &IssueFields::NONE).await {
                let open = format!("merging the pull request might leave {id} open");
                let message = format!("{open}: {}", e.message());
                outcome.warnings.push(Warning::new(message));
            }
        }
        call.server.remember_author(&outcome.value);
        Ok(reviewers::answer(call, "opened", &req.reviewers, &outcome))
    }
}
