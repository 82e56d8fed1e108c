//! Opening a pull request, and submitting another round of one.

use forge_core::{
    Capability, Error, ErrorKind, Outcome, PageReq, PrId, Precondition, RepoId, Result,
    model::{CreatePull, PrFields, PrState, PullQuery, PullRequest, StateFilter},
    text::one_line,
};
use serde_json::{Value, json};

use super::{build::Beside, record::Pull, view::Located};
use crate::{
    Era, Tangled, fault,
    ingest::Seen,
    knot::no_branch,
    labels::Change,
    patch::{self, Patch},
    records::{self, NewRecord, Record},
    repository::Repository,
    sources::ACCOUNT_MOST,
    write,
};

/// The most open pull requests that are looked through for one of the same branches.
const LOOK: usize = 100;

impl Tangled {
    /// See [`forge_core::PullRequests::create`].
    pub(crate) async fn create_pull(
        &self,
        repo: &RepoId,
        req: &CreatePull,
    ) -> Result<Outcome<PullRequest>> {
        let title = title(&req.title)?;
        body("description", &req.description)?;
        let repository = self.repository(repo).await?;
        if repository.era == Era::Org10 {
            return self.create_ticket(repository, req).await;
        }
        self.speaks_2026(&repository, Capability::PrCreate)?;
        let viewer = self.session.viewer().await?.identity.did.clone();
        if let Some(owner) = &req.head.owner {
            self.same_repository(&repository, owner).await?;
        }
        let base = match &req.base {
            Some(base) => base.clone(),
            None => self.default_base(&repository).await?,
        };
        let head = &req.head.branch;
        if *head == base {
            return Err(Error::invalid(
                "head",
                format!("'{}' is head and base at once", one_line(head)),
            )
            .with_hint("pass the branch that has the changes as --head"));
        }
        let change = self
            .label_change(&repository, (&req.labels, &[]), (&req.assignees, &[]))
            .await?;
        let (patch, base_oid) = self.patch_from_knot(&repository, &base, head).await?;
        self.no_twin(&repository, &base, head).await?;
        let source = json!({ "branch": head, "repo": repository.target() });
        let written = self
            .write_pull(
                &repository,
                &viewer,
                &title,
                &req.description,
                &base,
                Some(source),
                &patch,
                &change,
            )
            .await?;
        let mut outcome = self.opened(repository, written, &patch, &change).await?;
        outcome.value.base_oid = Some(base_oid);
        Ok(outcome)
    }

    /// Opens a pull request from a patch (the output of `git format-patch`, or a plain diff), without
    /// a branch that has it. `req.head` is not used.
    ///
    /// # Errors
    /// As [`forge_core::PullRequests::create`]; `invalid_input` (field `patch`) for what is no patch.
    pub async fn create_from_patch(
        &self,
        repo: &RepoId,
        req: &CreatePull,
        patch: &[u8],
    ) -> Result<Outcome<PullRequest>> {
        let title = title(&req.title)?;
        body("description", &req.description)?;
        let repository = self.repository(repo).await?;
        self.speaks_2026(&repository, Capability::PrCreate)?;
        let viewer = self.session.viewer().await?.identity.did.clone();
        let base = match &req.base {
            Some(base) => base.clone(),
            None => self.default_base(&repository).await?,
        };
        let patch = Patch::parse(patch.to_vec());
        if patch::files(&patch.diff()).is_empty() {
            return Err(
                Error::invalid("patch", "this changes no file, or is no patch")
                    .with_hint("make it with `git format-patch --stdout BASE..HEAD`"),
            );
        }
        let change = self
            .label_change(&repository, (&req.labels, &[]), (&req.assignees, &[]))
            .await?;
        let written = self
            .write_pull(
                &repository,
                &viewer,
                &title,
                &req.description,
                &base,
                None,
                &patch,
                &change,
            )
            .await?;
        self.opened(repository, written, &patch, &change).await
    }

    /// The blob, then everything else in one go: the pull request, its opening status, its labels.
    #[allow(clippy::too_many_arguments)]
    async fn write_pull(
        &self,
        repository: &Repository,
        viewer: &str,
        title: &str,
        description: &str,
        base: &str,
        source: Option<Value>,
        patch: &Patch,
        change: &Change,
    ) -> Result<Record> {
        let blob = self
            .upload("application/gzip", patch::pack(&patch.raw)?)
            .await?;
        let names = &self.settings.dialects.sh;
        let now = write::now();
        let mut value = json!({
            "$type": names.pull,
            "title": title,
            "target": { "repo": repository.target(), "branch": base },
            "rounds": [{ "createdAt": now, "patchBlob": blob }],
            "createdAt": now,
        });
        if let Some(map) = value.as_object_mut() {
            if !description.is_empty() {
                map.insert("body".to_owned(), json!(description));
            }
            if let Some(source) = source {
                map.insert("source".to_owned(), source);
            }
        }
        let pull = write::checked(NewRecord::new(&names.pull, value))?;
        let uri = pull.uri(viewer);
        let mut records = vec![pull.clone(), self.status_record(&uri, PrState::Open, None)?];
        if !change.is_empty() {
            records.push(change.record(&names.label_op, &uri)?);
        }
        let cids = self.create_records(&records).await.map_err(|e| {
            if fault::is_ambiguous(&e) {
                e.with_hint(format!(
                    "look whether it is there before trying again: `forge pr view {uri}`"
                ))
            } else {
                e
            }
        })?;
        Ok(Record {
            uri,
            cid: cids.into_iter().next(),
            value: pull.value,
        })
    }

    async fn opened(
        &self,
        repository: std::sync::Arc<Repository>,
        record: Record,
        patch: &Patch,
        change: &Change,
    ) -> Result<Outcome<PullRequest>> {
        let uri = record.uri.clone();
        let mut pull = Pull::parse(record)?;
        let (ingestion, cid) = self.ingestion_of_pull(&pull.uri, pull.record.cid()).await;
        pull.record.cid = Some(cid);
        let mut beside = Beside {
            state: Some(PrState::Open),
            head_oid: patch.head().map(str::to_owned),
            ..Beside::default()
        };
        if !change.is_empty() {
            let viewer = self.session.viewer().await?.identity.did.clone();
            let mut operation = change.record(&self.settings.dialects.sh.label_op, &uri)?;
            operation.rkey = "self".to_owned();
            let record = Record {
                uri: operation.uri(&viewer),
                cid: None,
                value: operation.value,
            };
            let (labels, assignees) = self.labels_of(&repository, &uri, vec![record]).await?;
            (beside.labels, beside.assignees) = (labels, assignees);
        }
        let located = Located {
            repository,
            pull,
            number: None,
        };
        let value = self.build(&located.repository, &located.pull, beside).await;
        let mut outcome = Outcome::immediate(value);
        outcome.ingestion = ingestion;

        Ok(outcome)
    }

    /// Submits another round: what the head branch has now.
    ///
    /// # Errors
    /// `permission_denied` for somebody else's pull request; `precondition_failed` when it is not
    /// open or the branch has nothing new; `conflict` when its record changed in the meantime.
    pub async fn resubmit(&self, pr: &PrId) -> Result<Outcome<PullRequest>> {
        let located = self.locate(pr).await?;
        if located.repository.era == Era::Org10 {
            return self.resubmit_ticket(&located).await;
        }
        self.speaks_2026(&located.repository, Capability::PrCreate)?;
        if located.pull.head.is_empty() || located.pull.is_from_fork() {
            return Err(Error::invalid(
                "pr",
                format!(
                    "{} was not made from a branch of its repository",
                    located.pull.record.uri
                ),
            )
            .with_hint("submit the new round as a patch"));
        }
        let (patch, _) = self
            .patch_from_knot(&located.repository, &located.pull.base, &located.pull.head)
            .await?;
        self.add_round(&located, &patch).await
    }

    /// Submits another round from a patch.
    ///
    /// # Errors
    /// As [`Self::resubmit`]; `invalid_input` (field `patch`) for what is no patch.
    pub async fn resubmit_patch(&self, pr: &PrId, patch: &[u8]) -> Result<Outcome<PullRequest>> {
        let located = self.locate(pr).await?;
        self.speaks_2026(&located.repository, Capability::PrCreate)?;
        let patch = Patch::parse(patch.to_vec());
        if patch::files(&patch.diff()).is_empty() {
            return Err(
                Error::invalid("patch", "this changes no file, or is no patch")
                    .with_hint("make it with `git format-patch --stdout BASE..HEAD`"),
            );
        }
        self.add_round(&located, &patch).await
    }

    async fn add_round(&self, located: &Located, patch: &Patch) -> Result<Outcome<PullRequest>> {
        let pull = &located.pull;
        let state = self.state_of(&located.repository, pull).await?;
        if state != PrState::Open {
            let why = match state {
                PrState::Merged => Precondition::Merged,
                _ => Precondition::Closed,
            };
            return Err(Error::precondition(
                why,
                format!(
                    "{} is not open, so that no round can be added",
                    pull.record.uri
                ),
            ));
        }
        let latest = self.latest_patch(&located.repository, pull).await;
        if latest.is_ok_and(|latest| latest.raw == patch.raw) {
            let view = self.view_fresh(located, PrFields::NONE).await?;
            return Ok(Outcome::unchanged(
                view,
                forge_core::Warning::new(
                    "the newest round has these very changes; nothing was submitted",
                ),
            ));
        }
        let blob = self
            .upload("application/gzip", patch::pack(&patch.raw)?)
            .await?;
        let round = json!({ "createdAt": write::now(), "patchBlob": blob });
        let record = self
            .edit_record(&pull.uri, Some(pull.record.cid()), |value| {
                match value.get_mut("rounds").and_then(Value::as_array_mut) {
                    Some(rounds) => {
                        rounds.push(round.clone());
                        Ok(())
                    }
                    None => Err(Error::new(
                        ErrorKind::Protocol,
                        format!("{} has no list of rounds to add one to", pull.record.uri),
                    )),
                }
            })
            .await?;
        let (uri, cid) = (record.uri.clone(), record.cid().to_owned());
        let ingestion = self
            .ingestion(Seen::Pull, &self.settings.dialects.sh.pull, &uri, &cid)
            .await;
        let located = Located {
            pull: Pull::parse(record)?,
            ..located.clone()
        };
        let value = self.view_fresh(&located, PrFields::NONE).await?;
        let mut outcome = Outcome::immediate(value);
        outcome.ingestion = ingestion;
        Ok(outcome)
    }

    /// What the knot makes of two branches, as `git format-patch` does, and the tip of the base.
    pub(crate) async fn patch_from_knot(
        &self,
        repository: &Repository,
        base: &str,
        head: &str,
    ) -> Result<(Patch, String)> {
        let (base_tip, head_tip) =
            futures::try_join!(self.branch(repository, base), self.branch(repository, head))?;
        let base_tip = base_tip.ok_or_else(|| no_branch("base", repository, base))?;
        head_tip.ok_or_else(|| no_branch("head", repository, head))?;
        let compared = self.compare(repository, base, head).await?;
        let patch = compared.patch.unwrap_or_default();
        if patch.trim().is_empty() {
            return Err(Error::precondition(
                Precondition::NothingToMerge,
                format!(
                    "'{}' has no commits that '{}' has not",
                    one_line(head),
                    one_line(base)
                ),
            )
            .with_hint("commit and push something to the head branch first"));
        }
        Ok((Patch::parse(patch.into_bytes()), base_tip.hash))
    }

    async fn default_base(&self, repository: &Repository) -> Result<String> {
        match self.default_branch(repository).await? {
            Some(branch) => Ok(branch.name),
            None => Err(
                Error::invalid("base", format!("{} has no branch yet", repository.id))
                    .with_hint("push a first branch"),
            ),
        }
    }

    /// Changes of another repository have to be submitted as a patch: which fork an owner means is
    /// not in the request.
    async fn same_repository(&self, repository: &Repository, owner: &str) -> Result<()> {
        if self.did_of(owner).await? == repository.owner.did {
            return Ok(());
        }
        Err(crate::caps::refusal(Capability::PrCreateCrossRepository))
    }

    /// Refuses a second open pull request of the same branches.
    async fn no_twin(&self, repository: &Repository, base: &str, head: &str) -> Result<()> {
        let query = PullQuery {
            state: StateFilter::Open,
            base: Some(base.to_owned()),
            head: Some(head.to_owned()),
            fields: PrFields::ROW,
            ..PullQuery::default()
        };
        let mine = self.own_open(repository, base, head).await?;
        let indexed = match mine {
            Some(uri) => Some(uri),
            None => {
                let page = self
                    .list_pulls(&repository.id, &query, PageReq::first(LOOK))
                    .await;
                let rows = page.map(|page| page.items).unwrap_or_default();
                self.open_one_of(rows).await?
            }
        };
        match indexed {
            None => Ok(()),
            Some(url) => Err(Error::new(
                ErrorKind::AlreadyExists {
                    existing: Some(url.clone()),
                },
                format!(
                    "there is an open pull request from '{}' to '{}' already: {url}",
                    one_line(head),
                    one_line(base)
                ),
            )
            .with_hint("submit another round of it, or close it first")),
        }
    }

    /// The first of these rows of the index that is open in truth and somebody else's: the viewer's
    /// own have been looked at, and the index may not know yet that one is closed.
    async fn open_one_of(&self, rows: Vec<PullRequest>) -> Result<Option<String>> {
        let viewer = self.session.viewer().await?.identity.did.as_str();
        for row in rows.into_iter().filter(|row| row.head_repo.is_none()) {
            let Ok(located) = self.locate(&row.id).await else {
                continue;
            };
            if located.pull.author() != viewer
                && self.state_of(&located.repository, &located.pull).await? == PrState::Open
            {
                return Ok(Some(row.url));
            }
        }
        Ok(None)
    }

    /// The viewer's own open one of these branches, which the index may not know yet.
    async fn own_open(
        &self,
        repository: &Repository,
        base: &str,
        head: &str,
    ) -> Result<Option<String>> {
        let viewer = self.session.viewer().await?;
        let pds = self.identities.service(viewer.pds.clone()).await?;
        let collection = &self.settings.dialects.sh.pull;
        // A server that cannot say what is there must not get a second one.
        let found = records::all(&pds, &viewer.identity.did, collection, ACCOUNT_MOST).await?;
        for record in found.records {
            let Ok(pull) = Pull::parse(record) else {
                continue;
            };
            if !(repository.is_target(&pull.target) && pull.base == base && pull.head == head)
                || pull.is_from_fork()
            {
                continue;
            }
            if self.state_of(repository, &pull).await? == PrState::Open {
                return Ok(Some(pull.record.uri));
            }
        }
        Ok(None)
    }
}

/// A title that can be written.
pub(crate) fn title(text: &str) -> Result<String> {
    let title = text.trim();
    let most = crate::CAPABILITIES.limits.title_max;
    if title.is_empty() {
        return Err(Error::invalid("title", "the title is empty").with_hint("pass --title"));
    }
    if title.contains(['\n', '\r']) {
        return Err(Error::invalid("title", "the title has a line break"));
    }
    let length = title.chars().count();
    if length > most {
        return Err(Error::invalid(
            "title",
            format!("the title has {length} characters, more than {most}"),
        ));
    }
    Ok(title.to_owned())
}

/// A description or comment that fits into a record.
pub(crate) fn body(field: &'static str, text: &str) -> Result<()> {
    let most = crate::CAPABILITIES.limits.body_max;
    let length = text.chars().count();
    if length > most {
        return Err(Error::invalid(
            field,
            format!("the {field} has {length} characters, more than {most}"),
        ));
    }
    Ok(())
}
