//! Opens a pull request.

use std::sync::Arc;

use forge_core::{
    Action, Capability, Error, ErrorKind, Hint, Ingestion, Op, Outcome, PageReq, Param,
    Precondition, RepoId, Result, Warning,
    model::{CreatePull, HeadRef, PrFields, PrState, PullQuery, PullRequest, StateFilter},
    text::one_line,
};
use futures::future;
use serde_json::{Value, json};

use super::{
    build::PullFacts,
    diff::unseen_changes,
    head_claims::HeadClaims,
    record::{Content, TangledPull},
    view::{LocatedPull, unread},
};
use crate::{
    Era, Tangled, blocking,
    caps::LIMITS,
    declaration::Undeclared,
    hints::{OTHER_HEAD, resubmit},
    ingest::Seen,
    knot::{Compared, no_branch},
    labels::{Before, Change, Labelled},
    patch::{self, Patch},
    records::{self, NewRecord, Record},
    related_records,
    repository::TangledRepository,
    sources::MAX_ACCOUNT_RECORDS,
    write, xrpc_error,
};

/// Maximum number of open pull requests that are searched for one with the same branches.
const MAX_CANDIDATES: usize = 100;

impl Tangled {
    /// See [`forge_core::PullRequests::create`].
    pub(crate) async fn create_pull(
        &self,
        repo: &RepoId,
        req: &CreatePull,
    ) -> Result<Outcome<PullRequest>> {
        let title = self.new_title(req)?;
        LIMITS.check_text("description", &req.description)?;
        req.check_edits()?;
        let repository = self.repository(repo).await?;
        if req.draft {
            self.require_2026(&repository, Capability::PrCreateDraft)?;
        }
        if repository.era == Era::Org10 {
            return self.create_ticket(repository, req).await;
        }
        self.require_2026(&repository, Capability::PrCreate)?;
        let author = self.session.viewer().await?.identity.clone();
        let viewer = author.did.clone();
        let below = match &req.depends_on {
            Some(below) => Some(self.to_build_on(&repository, below).await?),
            None => None,
        };
        let (undeclared, base) = future::join(self.undeclared(&repository), async {
            match (&req.base, &below) {
                (Some(base), _) => Ok(base.clone()),
                (None, Some(below)) => Ok(below.pull.base.clone()),
                (None, None) => self.default_base(&repository).await,
            }
        })
        .await;
        let (undeclared, base) = (undeclared?, base?);
        let change = self
            .label_change(
                &repository,
                &self.settings.dialects.sh.pull,
                (&req.labels, &[]),
                (&req.assignees, &[]),
            )
            .await?;
        let (mut left_out, mut twin) = (None, None);
        let (patch, source, base_oid) = match &req.patch {
            Some(patch) => {
                let patch = parse_given_patch(patch)?;
                // The knot does not compute the changes of a given patch, so it does not check the
                // base branch. That is done here.
                let tip = self.branch(&repository, &base).await?;
                let tip = tip.ok_or_else(|| no_branch("base", &repository, &base))?;
                (patch, None, Some(tip.hash))
            }
            None if !req.edits.is_empty() => {
                let (patch, base_oid, unchanged) = self
                    .patch_of_edits(&repository, &base, req, &author)
                    .await?;
                left_out = unchanged;
                (patch, None, Some(base_oid))
            }
            None => {
                let fork = self.fork_of_head(&repository, &req.head).await?;
                let (patch, base_oid) = self
                    .patch_of_branch(
                        &repository,
                        fork.as_deref(),
                        &base,
                        &req.head,
                        below.as_ref(),
                    )
                    .await?;
                let source = fork.as_deref().unwrap_or(&repository).target();
                twin = self
                    .check_open_twin(&repository, &base, &req.head.branch, source)
                    .await?;
                let source = json!({
                    (self.fields().source_branch.to_string()): req.head.branch,
                    (self.fields().source_repo.to_string()): source,
                });
                (patch, Some(source), Some(base_oid))
            }
        };
        let new = NewPull {
            title: &title,
            description: &req.description,
            base: &base,
            source,
            below: below.map(|below| below.pull.record.uri),
            viewer: &viewer,
        };
        let written = self
            .write_pull(undeclared, &repository, new, &patch, &change)
            .await?;
        let mut outcome = self.opened(repository, written, &patch).await?;
        outcome.value.base_oid = base_oid;
        outcome.warnings.extend(left_out);
        outcome.warnings.extend(twin);
        if req.description.trim().is_empty() {
            let uri = &outcome.value.node_id;
            let add = Action::op(Op::PrEdit).on(uri).choose(Param::Body);
            outcome.warnings.push(
                Warning::new(
                    "tangled's older web pages leave out a pull request without a description",
                )
                .with_hint(Hint::new("add a description").with_action(add)),
            );
        }
        Ok(outcome)
    }

    /// Returns the patch of a head branch, and the tip of the base branch.
    ///
    /// The patch has the commits that the base branch lacks. In a stack (pull requests that build
    /// on each other), the commits of the pull request below are left out as well.
    async fn patch_of_branch(
        &self,
        repository: &TangledRepository,
        fork: Option<&TangledRepository>,
        base: &str,
        head: &HeadRef,
        below: Option<&LocatedPull>,
    ) -> Result<(Patch, String)> {
        if head.branch == base && fork.is_none() {
            return Err(Error::invalid(
                "head",
                format!("'{}' is both head and base", one_line(&head.branch)),
            )
            .with_hint(Hint::new("name the branch that has the changes").with_action(OTHER_HEAD)));
        }
        let from = match below {
            Some(below) => Some(self.tip_of(below).await?),
            None => None,
        };
        let from = from.as_deref();
        match fork {
            Some(fork) => {
                self.patch_from_fork(repository, fork, (base, from), &head.branch)
                    .await
            }
            None => {
                self.patch_from_knot(repository, base, from.unwrap_or(base), &head.branch)
                    .await
            }
        }
    }

    /// Uploads the patch as a blob, then writes all records of the pull request.
    ///
    /// The records (the pull request, its opening status and its labels) are one atomic write.
    async fn write_pull(
        &self,
        undeclared: Undeclared,
        repository: &TangledRepository,
        new: NewPull<'_>,
        patch: &Patch,
        change: &Change,
    ) -> Result<WrittenPull> {
        let raw = patch.raw.clone();
        let packed = blocking::run_long(move |may| patch::pack(&raw, may)).await?;
        let blob = self.upload(&undeclared, "application/gzip", packed).await?;
        if new.source.is_none() {
            self.reject_same_patch(repository, &new, &blob, patch)
                .await?;
        }
        let names = &self.settings.dialects.sh;
        let fields = self.fields();
        let now = write::now();
        let mut value = json!({
            "$type": names.pull,
            (fields.title.to_string()): new.title,
            (fields.target.to_string()): {
                (fields.target_repo.to_string()): repository.target(),
                (fields.target_branch.to_string()): new.base,
            },
            (fields.rounds.to_string()): [{
                (fields.created_at.to_string()): now,
                (fields.patch_blob.to_string()): blob,
            }],
            (fields.created_at.to_string()): now,
        });
        if let Some(map) = value.as_object_mut() {
            if !new.description.is_empty() {
                map.insert(fields.body.to_string(), json!(new.description));
            }
            if let Some(source) = new.source {
                map.insert(fields.source.to_string(), source);
            }
            if let Some(below) = new.below {
                map.insert(fields.depends_on.to_string(), json!(below));
            }
        }
        let pull = write::checked(NewRecord::new(&names.pull, value), &self.settings.dialects)?;
        let uri = pull.uri(new.viewer);
        let mut records = vec![pull.clone(), self.status_record(&uri, PrState::Open, None)?];
        let labels = match change.is_empty() {
            true => None,
            false => Some(change.record(&self.settings.dialects, &uri, &Before::default())?),
        };
        records.extend(labels.clone());
        let written = self.create_records(undeclared, &records).await;
        let cids = written.map_err(|e| {
            if xrpc_error::is_ambiguous(&e) {
                e.with_hint(
                    Hint::new("check whether the pull request exists before you try again")
                        .with_action(Action::op(Op::PrView).on(&uri)),
                )
            } else {
                e
            }
        })?;
        let last = cids.last().cloned().into_iter().collect();
        Ok(WrittenPull {
            pull: pull.written(new.viewer, cids),
            labels: labels.map(|labels| labels.written(new.viewer, last)),
        })
    }

    async fn opened(
        &self,
        repository: std::sync::Arc<TangledRepository>,
        written: WrittenPull,
        patch: &Patch,
    ) -> Result<Outcome<PullRequest>> {
        let uri = written.pull.uri.clone();
        let mut pull = TangledPull::parse(written.pull, self.fields())?;
        let seen = Seen::Pull(&pull.target);
        let told = self.ingestion(&repository, seen, &pull.record).await;
        pull.record.cid = Some(told.cid);
        let mut ingestion = told.ingestion;
        let mut beside = PullFacts {
            state: Some(PrState::Open),
            head_oid: patch.head().map(str::to_owned),
            ..PullFacts::default()
        };
        if let Some(labels) = written.labels {
            // The index (the service that lists all records) can show the labels only if it shows
            // the pull request.
            if matches!(ingestion, Ingestion::Confirmed { .. }) {
                let seen = Seen::About(related_records::label_ops(&self.settings.dialects), &uri);
                let told = self.ingestion(&repository, seen, &labels).await;
                ingestion = ingestion.combine(told.ingestion);
            }
            // The pull request exists now, so labels that cannot be read are only a warning.
            let labelled = self.labels_of(&repository, &uri, vec![labels]).await;
            let labelled = labelled.unwrap_or_else(|e| {
                beside.warnings.push(unread("the labels", &e));
                Labelled::default()
            });
            (beside.labels, beside.assignees) = (labelled.labels, labelled.assignees);
            beside.warnings.extend(labelled.missing);
        }
        let located = LocatedPull {
            repository,
            pull,
            number: None,
        };
        let value = self.build(&located.repository, &located.pull, beside).await;
        let mut outcome = Outcome::immediate(value);
        outcome.ingestion = ingestion;
        if !located.pull.head.is_empty() {
            outcome.warnings.extend(replaced(patch, &uri));
        }
        outcome.warnings.extend(refused_form(patch, &uri));
        Ok(outcome)
    }

    /// Returns the knot's patch of a branch, and the tip of `base`.
    ///
    /// The patch is as `git format-patch` prints it. It has the commits of `head` that `from`
    /// lacks. `from` is `base` itself or, in a stack, the head of the pull request below.
    pub(crate) async fn patch_from_knot(
        &self,
        repository: &TangledRepository,
        base: &str,
        from: &str,
        head: &str,
    ) -> Result<(Patch, String)> {
        let (base_tip, head_tip) =
            futures::try_join!(self.branch(repository, base), self.branch(repository, head))?;
        let base_tip = base_tip.ok_or_else(|| no_branch("base", repository, base))?;
        head_tip.ok_or_else(|| no_branch("head", repository, head))?;
        let compared = self.compare(repository, from, head).await?;
        Ok((series(compared, from, head)?, base_tip.hash))
    }

    async fn default_base(&self, repository: &TangledRepository) -> Result<String> {
        match self.default_branch(repository).await? {
            Some(branch) => Ok(branch.name),
            None => Err(
                Error::invalid("base", format!("{} has no branch yet", repository.id))
                    .with_hint("push a first branch"),
            ),
        }
    }

    /// Fails if the viewer has an open pull request with these branches. Returns a warning about that
    /// of another account, because tangled accepts a second one.
    ///
    /// `source` is the repository of the head branch.
    async fn check_open_twin(
        &self,
        repository: &TangledRepository,
        base: &str,
        head: &str,
        source: &str,
    ) -> Result<Option<Warning>> {
        let mine = self
            .find_own_open_pull(repository, base, head, source)
            .await?;
        if let Some(uri) = mine {
            return Err(Error::new(
                ErrorKind::AlreadyExists {
                    existing: Some(uri.clone()),
                },
                format!(
                    "there is an open pull request from '{}' to '{}' already: {uri}",
                    one_line(head),
                    one_line(base)
                ),
            )
            .with_hint(resubmit_or_close(&uri)));
        }
        // Nobody else opens a pull request from a branch of the viewer's fork.
        if source != repository.target() {
            return Ok(None);
        }
        let mut query = PullQuery::default();
        query.state = StateFilter::Open;
        query.base = Some(base.to_owned());
        query.head = Some(head.to_owned());
        query.fields = PrFields::ROW;
        let claims = HeadClaims::new(self.writers(repository).await, None);
        let first = PageReq::first(MAX_CANDIDATES);
        let page = self
            .list_claimed_pulls(&repository.id, &query, first, Some(Arc::new(claims)))
            .await;
        let rows = page.map(|page| page.items).unwrap_or_default();
        // The rows are read for the warning alone, so a failure does not matter.
        let other = self.open_one_of(rows, source).await.unwrap_or_default();
        Ok(other.map(|uri| other_twin_warning(&uri)))
    }

    /// Returns the at-uri of the first row that is really open.
    ///
    /// The rows come from tangled's index, which may not know yet that a pull request is closed.
    /// The viewer's own rows are skipped, because the viewer's pull requests were checked before
    /// this call.
    async fn open_one_of(&self, rows: Vec<PullRequest>, source: &str) -> Result<Option<String>> {
        let viewer = self.session.viewer().await?;
        let viewer = viewer.identity.did.as_str();
        for row in rows {
            let Ok(located) = self.locate(&row.id).await else {
                continue;
            };
            if located.pull.author() != viewer
                && is_of(&located.repository, &located.pull, source)
                && self.state_of(&located.repository, &located.pull).await? == PrState::Open
            {
                return Ok(Some(located.pull.record.uri));
            }
        }
        Ok(None)
    }

    /// Fails if the viewer has an open pull request with the patch `blob` and no head branch.
    ///
    /// An interrupted command may have opened it. It has no head branch by which it could be found,
    /// so the patches are compared.
    async fn reject_same_patch(
        &self,
        repository: &TangledRepository,
        new: &NewPull<'_>,
        blob: &Value,
        patch: &Patch,
    ) -> Result<()> {
        let base = new.base;
        let cid = blob.pointer("/ref/$link").and_then(Value::as_str);
        for pull in self.list_own_pulls().await? {
            let same = repository.is_target(&pull.target)
                && pull.base == base
                && pull.source.is_none()
                && self.is_copy(repository, &pull, new.title, cid, patch).await;
            if same && self.state_of(repository, &pull).await? == PrState::Open {
                let uri = pull.record.uri;
                return Err(Error::new(
                    ErrorKind::AlreadyExists {
                        existing: Some(uri.clone()),
                    },
                    format!(
                        "an open pull request into '{}' already has the same patch: {uri}",
                        one_line(base)
                    ),
                )
                .with_hint(resubmit_or_close(&uri)));
            }
        }
        Ok(())
    }

    /// Returns true if the newest round of a pull request has the patch `cid`.
    ///
    /// If the titles are equal, a different patch with the same changes counts as well, because the
    /// same edits give another patch after the base branch has moved.
    async fn is_copy(
        &self,
        repository: &TangledRepository,
        pull: &TangledPull,
        title: &str,
        cid: Option<&str>,
        patch: &Patch,
    ) -> bool {
        match pull.latest().map(|(_, round)| &round.content) {
            Some(Content::Blob(theirs)) if Some(theirs.as_str()) == cid => true,
            Some(Content::Blob(_)) if pull.title == title => {
                match self.latest_patch(repository, pull).await {
                    Ok(theirs) => patch::same_changes(&theirs.diff(), &patch.diff()),
                    // The patch of `pull` could not be read, so nothing proves that the changes are
                    // equal.
                    Err(_) => false,
                }
            }
            _ => false,
        }
    }

    /// Reads the pull requests that the viewer has opened, in any repository.
    ///
    /// Fails if the viewer's server cannot list them. Otherwise the same pull request could be
    /// opened twice.
    async fn list_own_pulls(&self) -> Result<Vec<TangledPull>> {
        let viewer = self.session.viewer().await?;
        let pds = self.identities.service(viewer.pds.clone()).await?;
        let collection = &self.settings.dialects.sh.pull;
        let found =
            records::all(&pds, &viewer.identity.did, collection, MAX_ACCOUNT_RECORDS).await?;
        let pulls = found.records.into_iter();
        Ok(pulls
            .filter_map(|record| TangledPull::parse(record, self.fields()).ok())
            .collect())
    }

    /// Finds the viewer's own open pull request with these branches, on the viewer's server,
    /// because tangled's index may not know it yet.
    async fn find_own_open_pull(
        &self,
        repository: &TangledRepository,
        base: &str,
        head: &str,
        source: &str,
    ) -> Result<Option<String>> {
        for pull in self.list_own_pulls().await? {
            let same = repository.is_target(&pull.target)
                && pull.base == base
                && pull.head == head
                && is_of(repository, &pull, source);
            if !same {
                continue;
            }
            if self.state_of(repository, &pull).await? == PrState::Open {
                return Ok(Some(pull.record.uri));
            }
        }
        Ok(None)
    }
}

/// Returns the warning about an open pull request of another account with the same branches.
fn other_twin_warning(uri: &str) -> Warning {
    Warning::new(format!(
        "another account has an open pull request of these branches already: {}",
        one_line(uri)
    ))
}

/// Returns the hint for an open pull request that has the same changes already.
fn resubmit_or_close(uri: &str) -> Hint {
    Hint::new("submit another round of it, or close it first").with_action(resubmit(uri))
}

/// Returns true if the head of a pull request is in the repository `source`.
fn is_of(repository: &TangledRepository, pull: &TangledPull, source: &str) -> bool {
    match &pull.source {
        Some(named) if repository.is_target(named) => source == repository.target(),
        Some(named) => named == source,
        None => source == repository.target(),
    }
}

/// Returns the patch from a knot's comparison of `from` and `head`.
pub(crate) fn series(compared: Compared, from: &str, head: &str) -> Result<Patch> {
    let patch = compared.patch.unwrap_or_default();
    if patch.trim().is_empty() {
        return Err(Error::precondition(
            Precondition::NothingToMerge,
            format!(
                "'{}' has no commits that '{}' lacks",
                one_line(head),
                one_line(from)
            ),
        )
        .with_hint("commit and push something to the head branch first"));
    }
    Ok(Patch::parse(patch.into_bytes()))
}

/// Returns a warning if a patch that a knot has printed contains U+FFFD.
///
/// A knot prints U+FFFD for bytes that are not UTF-8, so the text does not show whether the file
/// really contains this character. `uri` is the at-uri of the pull request.
pub(super) fn replaced(patch: &Patch, uri: &str) -> Option<Warning> {
    let has = patch::text(&patch.raw).is_ok_and(|text| text.contains(char::REPLACEMENT_CHARACTER));
    has.then(|| {
        Warning::new(
            "the round contains U+FFFD: if a changed file is not UTF-8, the knot replaced some of \
             its bytes by U+FFFD, and a merge would commit the replacement",
        )
        .with_hint(
            Hint::new(
                "if a changed file is not UTF-8, mark it as `-diff` in .gitattributes, and submit \
                 another round from a clone",
            )
            .with_action(resubmit(uri).choose(Param::Head)),
        )
    })
}

/// Returns a warning if no merge by forge takes a patch that is submitted. The knot takes it, so it
/// is not refused.
///
/// `uri` is the at-uri of the pull request.
pub(super) fn refused_form(patch: &Patch, uri: &str) -> Option<Warning> {
    let warning = unseen_changes("this round", patch)?;
    let hint =
        Hint::new("submit another round as `git format-patch` prints it, with messages in UTF-8");
    Some(warning.with_hint(hint.with_action(resubmit(uri).choose(Param::Patch))))
}

/// Content of a new pull request, apart from its changes.
struct NewPull<'a> {
    title: &'a str,
    description: &'a str,
    base: &'a str,
    source: Option<Value>,
    /// The at-uri of the pull request that the new one builds on.
    below: Option<String>,
    /// The author's DID.
    viewer: &'a str,
}

/// Records that were written for a new pull request, apart from its opening status.
struct WrittenPull {
    pull: Record,
    labels: Option<Record>,
}

/// Parses a patch that the caller passed, and refuses one without changes.
pub(crate) fn parse_given_patch(patch: &[u8]) -> Result<Patch> {
    let patch = Patch::parse(patch.to_vec());
    if patch::files(&patch.diff()).is_empty() {
        return Err(
            Error::invalid("patch", "the patch changes no file, or is no patch")
                .with_hint("make it with `git format-patch --stdout BASE..HEAD`"),
        );
    }
    Ok(patch)
}
