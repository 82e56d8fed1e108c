//! Requests to a knot (git server): branches, comparisons, merges.

use forge_core::{Error, ErrorKind, Hint, Result, model, text::one_line};
use forge_http::Idempotency;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Dialects, Era, KnotAnswers, Tangled,
    field_rename::{self, Answer, AnswerField},
    hints::AS_PATCH,
    json_field::null_as_default,
    patch::has_too_many_parts,
    repository::TangledRepository,
    xrpc::Xrpc,
    xrpc_error,
};

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct KnotBranch {
    pub name: String,
    pub hash: String,
    #[serde(default)]
    pub message: Option<String>,
    /// Commit time of the tip (RFC 3339).
    #[serde(default)]
    pub when: Option<String>,
}

impl Answer for KnotBranch {
    type Names = KnotAnswers;

    fn fields(names: &KnotAnswers) -> Vec<AnswerField<'_>> {
        AnswerField::from_names([
            &names.branch_name,
            &names.branch_hash,
            &names.branch_message,
            &names.branch_when,
        ])
    }
}

/// Maximum page size of `repo.branches`.
const BRANCH_PAGE: usize = 100;
/// Maximum number of pages. The branches of a repository fill fewer.
const MAX_BRANCH_PAGES: usize = 100;
/// Maximum number of branches that are read; a list of this length may be incomplete.
pub(crate) const MAX_BRANCHES: usize = BRANCH_PAGE * MAX_BRANCH_PAGES;

#[derive(Debug, Deserialize)]
struct Branches {
    /// `null` in an empty repository: Go encodes an empty list as `null`.
    #[serde(deserialize_with = "Option::deserialize")]
    branches: Option<Vec<ListedBranch>>,
}

#[derive(Debug, Deserialize)]
struct ListedBranch {
    reference: Reference,
}

#[derive(Debug, Deserialize)]
struct Reference {
    name: String,
    hash: String,
}

impl Answer for Branches {
    type Names = KnotAnswers;

    fn fields(names: &KnotAnswers) -> Vec<AnswerField<'_>> {
        let reference = AnswerField::from_names([&names.reference_name, &names.reference_hash]);
        let listed = vec![AnswerField::of(&names.reference, reference)];
        vec![AnswerField::of(&names.branches, listed)]
    }
}

/// Differences of two revisions. `patch` has the output of `git format-patch`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Compared {
    #[serde(default)]
    pub patch: Option<String>,
    #[serde(default)]
    pub combined_patch_raw: Option<String>,
    /// The newest commit that both revisions contain. The changes begin there.
    #[serde(default)]
    pub merge_base: Option<String>,
}

impl Answer for Compared {
    type Names = KnotAnswers;

    fn fields(names: &KnotAnswers) -> Vec<AnswerField<'_>> {
        AnswerField::from_names([&names.patch, &names.combined_patch, &names.compared_base])
    }
}

/// Result of a merge check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    Clean,
    Conflicts(Vec<String>),
    /// The check itself failed. The knot answers 200 even then.
    Unknown(String),
}

#[derive(Debug, Deserialize)]
struct CheckAnswer {
    is_conflicted: bool,
    #[serde(default)]
    conflicts: Option<Vec<Conflict>>,
    #[serde(default)]
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Conflict {
    #[serde(default, deserialize_with = "null_as_default")]
    filename: String,
}

impl Answer for CheckAnswer {
    type Names = KnotAnswers;

    fn fields(names: &KnotAnswers) -> Vec<AnswerField<'_>> {
        let mut fields = AnswerField::from_names([&names.conflicted, &names.check_error]);
        let conflict = AnswerField::from_names([&names.conflict_file]);
        fields.push(AnswerField::of(&names.conflicts, conflict));
        fields
    }
}

impl Tangled {
    pub(crate) async fn knot(&self, repository: &TangledRepository) -> Result<Xrpc> {
        self.identities.service(repository.knot().clone()).await
    }

    /// Reads a branch; `None` if it does not exist.
    pub(crate) async fn branch(
        &self,
        repository: &TangledRepository,
        name: &str,
    ) -> Result<Option<KnotBranch>> {
        if repository.era == Era::Org10 {
            return Ok(self.remote_refs(repository).await?.branch(name));
        }
        let knot = self.knot(repository).await?;
        let repo = repository.knot_name();
        let names = &self.settings.dialects;
        let of = &names.inputs.knot;
        let params = [(&*of.repo, repo.as_str()), (&*of.branch_name, name)];
        let method = &names.methods.knot.branch;
        let found = knot.ask::<KnotBranch>(method, &params, &names.answers.knot);
        match found.await {
            Ok(branch) => Ok(Some(branch)),
            Err(e) if xrpc_error::is_missing_ref(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Reads the default branch; `None` in an empty repository.
    pub(crate) async fn default_branch(
        &self,
        repository: &TangledRepository,
    ) -> Result<Option<KnotBranch>> {
        if repository.era == Era::Org10 {
            return Ok(self.remote_refs(repository).await?.default_branch());
        }
        let knot = self.knot(repository).await?;
        let repo = repository.knot_name();
        let names = &self.settings.dialects;
        let method = &names.methods.knot.default_branch;
        let params = [(&*names.inputs.knot.repo, repo.as_str())];
        let found = knot.ask::<KnotBranch>(method, &params, &names.answers.knot);
        match found.await {
            Ok(branch) => Ok(Some(branch)),
            Err(e)
                if xrpc_error::is_missing_ref(&e)
                    || xrpc_error::name(&e) == Some("InvalidRequest") =>
            {
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    /// Reads all branches. The cursor is the number of branches read, because answers of
    /// `repo.branches` contain no cursor.
    pub(crate) async fn all_branches(
        &self,
        repository: &TangledRepository,
    ) -> Result<Vec<model::Branch>> {
        if repository.era == Era::Org10 {
            return Ok(self.remote_refs(repository).await?.all());
        }
        let knot = self.knot(repository).await?;
        let repo = repository.knot_name();
        let names = &self.settings.dialects;
        let method = &names.methods.knot.branches;
        let of = &names.inputs.knot;
        let mut all: Vec<model::Branch> = Vec::new();
        for _ in 0..MAX_BRANCH_PAGES {
            let from = all.len().to_string();
            let limit = BRANCH_PAGE.to_string();
            let params = [
                (&*of.repo, repo.as_str()),
                ("limit", &limit),
                ("cursor", &from),
            ];
            let page: Branches = knot.ask(method, &params, &names.answers.knot).await?;
            let branches = page.branches.unwrap_or_default();
            let count = branches.len();
            all.extend(
                branches
                    .into_iter()
                    .map(|b| model::Branch::new(b.reference.name, b.reference.hash)),
            );
            if count < BRANCH_PAGE {
                break;
            }
        }
        Ok(all)
    }

    /// Compares two revisions. The result has the changes of `head` that are not in `base`.
    pub(crate) async fn compare(
        &self,
        repository: &TangledRepository,
        base: &str,
        head: &str,
    ) -> Result<Compared> {
        let knot = self.knot(repository).await?;
        self.compare_at(knot, &repository.knot_name(), base, head)
            .await
    }

    /// As [`Self::compare`], at a knot or an index that knows the repository as `repo`.
    pub(crate) async fn compare_at(
        &self,
        service: Xrpc,
        repo: &str,
        base: &str,
        head: &str,
    ) -> Result<Compared> {
        let names = &self.settings.dialects;
        let of = &names.inputs.knot;
        let params = [
            (&*of.repo, repo),
            (&*of.compare_base, base),
            (&*of.compare_head, head),
        ];
        let method = &names.methods.knot.compare;
        let service = service.for_comparison();
        let compared: Compared = service.ask(method, &params, &names.answers.knot).await?;
        let is_too_long = [&compared.patch, &compared.combined_patch_raw]
            .into_iter()
            .flatten()
            .any(|diff| has_too_many_parts(diff.as_bytes()));
        match is_too_long {
            true => Err(xrpc_error::too_many_parts(service.origin())),
            false => Ok(compared),
        }
    }

    /// Checks whether `patch` applies to `branch`. The method needs no permission.
    pub(crate) async fn merge_check(
        &self,
        repository: &TangledRepository,
        branch: &str,
        patch: &str,
    ) -> Result<Checked> {
        let knot = self.knot(repository).await?.with_class(Idempotency::Read);
        let names = &self.settings.dialects;
        let input = merge_input(names, repository, branch, patch);
        let older = (&*names.inputs.knot.name, repository.name.as_str());
        let method = &names.methods.knot.merge_check;
        let answer = call_by_name(&knot, method, input, older).await?;
        let answer: CheckAnswer = field_rename::read(answer, &names.answers.knot)
            .map_err(|why| xrpc_error::garbled(knot.origin(), method, &why, false))?;
        if let Some(error) = answer.error.filter(|e| !e.is_empty()) {
            return Ok(Checked::Unknown(one_line(&error).into_owned()));
        }
        if !answer.is_conflicted {
            return Ok(Checked::Clean);
        }
        let conflicts = answer.conflicts.unwrap_or_default();
        let mut files: Vec<String> = conflicts.into_iter().map(|c| c.filename).collect();
        files.retain(|f| !f.is_empty());
        files.sort();
        files.dedup();
        Ok(Checked::Conflicts(files))
    }

    /// Calls a procedure of the knot as the logged-in account, once the owner of the repository is
    /// confirmed. See [`call_by_name`] for `older`.
    pub(crate) async fn knot_call(
        &self,
        repository: &TangledRepository,
        class: Idempotency,
        method: &str,
        input: Value,
        older: (&str, &str),
    ) -> Result<Value> {
        self.owner_confirmed(repository).await?;
        let knot = self.knot(repository).await?;
        let audience = repository.knot().service_did();
        let token = self.session.service_token(&audience, method).await?;
        let knot = knot.with_token(token).with_class(class);
        call_by_name(&knot, method, input, older).await
    }

    /// Makes the fork's knot fetch a branch of the upstream repository as a hidden ref
    /// ([`hidden_name`]). `head` can then be compared with this ref. A repeated call changes
    /// nothing.
    pub(crate) async fn hidden_ref(
        &self,
        fork: &TangledRepository,
        branch: &str,
        head: &str,
    ) -> Result<String> {
        let names = &self.settings.dialects;
        let method = &names.methods.knot.hidden_ref;
        let of = &names.inputs.knot;
        let input = json!({
            (of.repo.to_string()): fork.target(),
            (of.fork_ref.to_string()): head,
            (of.remote_ref.to_string()): branch,
        });
        let older = (&*of.repo, fork.record.uri.as_str());
        let answer = self
            .knot_call(fork, Idempotency::Replay, method, input, older)
            .await?;
        let said = &names.answers.knot;
        let text = |name: &str| answer.get(name).and_then(Value::as_str);
        if answer.get(&*said.fetched).and_then(Value::as_bool) == Some(true) {
            let usual = || hidden_name(head, branch);
            return Ok(text(&said.fetched_ref).map_or_else(usual, str::to_owned));
        }
        let why = text(&said.fetch_error).unwrap_or("it does not say why");
        Err(Error::new(
            ErrorKind::Upstream {
                status: 200,
                request_id: None,
            },
            format!(
                "the knot of {} could not fetch '{}' for the comparison: {}",
                fork.id,
                one_line(branch),
                one_line(why)
            ),
        )
        .with_hint(Hint::new("submit the changes as a patch").with_action(AS_PATCH)))
    }

    pub(crate) async fn delete_branch(
        &self,
        repository: &TangledRepository,
        branch: &str,
    ) -> Result<()> {
        let of = &self.settings.dialects.inputs.knot;
        let input = json!({
            (of.repo.to_string()): repository.target(),
            (of.branch.to_string()): branch,
        });
        let older = (&*of.repo, repository.record.uri.as_str());
        let method = &self.settings.dialects.methods.knot.delete_branch;
        self.knot_call(repository, Idempotency::Write, method, input, older)
            .await?;
        Ok(())
    }
}

/// Returns the name of a hidden ref: a branch of the upstream repository on a fork's knot. `head`
/// can be compared with it.
pub(crate) fn hidden_name(head: &str, branch: &str) -> String {
    format!("hidden/{head}/{branch}")
}

/// Calls a procedure of a knot. If the knot does not know the repository by the name in `input`,
/// repeats the call with an older name: a field and its value.
///
/// Knots accept the repository's DID since August 2026 (`repo-did-input`). Knots before this
/// require the at-uri of the record, and merge by the owner with the record's key or, until May
/// 2026, with the repository's name. A knot that does not know the repository has changed nothing.
async fn call_by_name(
    knot: &Xrpc,
    method: &str,
    mut input: Value,
    (field, older): (&str, &str),
) -> Result<Value> {
    let answer = knot.procedure(method, &input).await;
    let unknown = answer
        .as_ref()
        .is_err_and(xrpc_error::is_unknown_repository);
    match input.get_mut(field) {
        Some(name) if unknown && *name != older => {
            *name = json!(older);
            knot.procedure(method, &input).await
        }
        _ => answer,
    }
}

/// Builds the input of a merge. It names the repository twice: by DID, and for older knots by owner
/// and record key. In the protocol of 2025 it has the owner and the name alone.
pub(crate) fn merge_input(
    names: &Dialects,
    repository: &TangledRepository,
    branch: &str,
    patch: &str,
) -> Value {
    let of = &names.inputs.knot;
    let key = repository.did.as_ref().map(|_| repository.record.rkey());
    let mut input = json!({
        (of.owner.to_string()): repository.owner.did,
        (of.name.to_string()): key.unwrap_or(&repository.name),
        (of.branch.to_string()): branch,
        (of.patch.to_string()): patch,
    });
    if let (Some(did), Some(map)) = (&repository.did, input.as_object_mut()) {
        map.insert(of.repo.to_string(), json!(did));
    }
    input
}

pub(crate) fn no_branch(field: &'static str, repository: &TangledRepository, name: &str) -> Error {
    Error::no_branch(
        field,
        format!("{} has no branch '{}'", repository.id, one_line(name)),
    )
    .with_hint("push the branch first; the knot makes the patch from it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field_rename::tests::{assert_reads_configured_names, other_names};

    #[test]
    fn knot_answers_are_read_by_configured_names() {
        let names = &other_names().knot;
        let at = "2026-11-01T00:00:00Z";
        let branch = json!({ "name": "n", "hash": "h", "message": "m", "when": at });
        assert_reads_configured_names::<KnotBranch>(names, &branch);
        let branches = json!({ "branches": [{ "reference": { "name": "n", "hash": "h" } }] });
        assert_reads_configured_names::<Branches>(names, &branches);
        let compared = json!({ "patch": "p", "combined_patch_raw": "c", "merge_base": "m" });
        assert_reads_configured_names::<Compared>(names, &compared);
        let checked =
            json!({ "is_conflicted": true, "conflicts": [{ "filename": "f" }], "error": "e" });
        assert_reads_configured_names::<CheckAnswer>(names, &checked);
    }
}
