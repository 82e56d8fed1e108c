//! Reads a pull request from its author's account, and other accounts' records about the pull
//! request.

use std::sync::Arc;

use forge_core::{
    Action, Arg, AtUri, Capability, Error, ErrorKind, Hint, Noun, Param, PrId, PrKey, Precondition,
    Result, Warning,
    model::{ChecksReport, MergeState, Mergeability, PrFields, PrState, PullRequest},
};
use futures::future;

use super::{
    build::PullFacts,
    diff::doubt_warning,
    list::knot_name,
    merge::as_text,
    merge_claim::find_merge_claim,
    record::{Content, Round, TangledPull},
    status,
    versions::{READ_ELSEWHERE, find_contradiction, unmerged_version_warning},
};
use crate::{
    Era, Tangled, checks, comments,
    hints::{another_round_hint, list_pulls},
    knot::Checked,
    labels::{self, Labelled},
    malformed,
    part_window::PartWindow,
    patch::{self, Patch},
    records::{self, Record},
    related_records,
    repository::TangledRepository,
    sources::Sourced,
    tickets::{self, Talk},
    verdicts, xrpc_error,
};

/// A pull request with its repository.
#[derive(Clone, Debug)]
pub(crate) struct LocatedPull {
    pub repository: Arc<TangledRepository>,
    pub pull: TangledPull,
    pub number: Option<u64>,
}

/// Records about a pull request, from tangled's index, or from other sources while it is down.
struct PullRecords {
    statuses: Result<Sourced<Vec<Record>>>,
    comments: Result<Sourced<Vec<Record>>>,
    operations: Result<Sourced<Vec<Record>>>,
    writers: status::Writers,
}

pub(crate) fn missing_pull_error(uri: &AtUri) -> Error {
    Error::not_found(Noun::PullRequest, format!("there is no pull request {uri}"))
        .with_hint(list_pulls())
}

impl Tangled {
    /// Finds a pull request by at-uri, or by its number on the web page.
    pub(crate) async fn locate(&self, pr: &PrId) -> Result<LocatedPull> {
        let repository = self.repository(&pr.repo).await?;
        let (uri, number) = self.address(&repository, &pr.key).await?;
        let pull = if repository.era == Era::Org10 {
            self.ticket(&repository, &uri).await?
        } else {
            self.pull_at(&repository, &uri).await?
        };
        Ok(LocatedPull {
            repository,
            pull,
            number,
        })
    }

    /// Returns the at-uri of a key's record, and the number if the key is a number.
    async fn address(
        &self,
        repository: &TangledRepository,
        key: &PrKey,
    ) -> Result<(AtUri, Option<u64>)> {
        let (uri, number) = match key {
            PrKey::Number(number) => (
                self.number_to_uri(repository, *number).await?,
                Some(*number),
            ),
            PrKey::Record(uri) => (AtUri::parse(uri)?, None),
        };
        Ok((self.with_did(uri).await?, number))
    }

    /// Reads a pull request from its author's server.
    async fn pull_at(&self, repository: &TangledRepository, uri: &AtUri) -> Result<TangledPull> {
        if uri.collection != self.settings.dialects.sh.pull {
            return Err(missing_pull_error(uri));
        }
        let pds = self.identities.pds(&uri.authority).await?;
        let record = records::get_uri(&pds, uri).await.map_err(|e| {
            match xrpc_error::is_missing_record(&e) {
                true => missing_pull_error(uri),
                false => e,
            }
        })?;
        let pull = TangledPull::parse(record, self.fields())?;
        if !repository.is_target(&pull.target) {
            return Err(Error::not_found(
                Noun::PullRequest,
                format!(
                    "{uri} is a pull request of {}, not of {}",
                    pull.target, repository.id
                ),
            )
            .with_hint(
                Hint::new("name the repository that it is for")
                    .with_action(Action::again(&[(Param::Repo, Arg::Choose)])),
            ));
        }
        Ok(pull)
    }

    /// Returns the at-uri with the DID of the account instead of its handle.
    pub(crate) async fn with_did(&self, uri: AtUri) -> Result<AtUri> {
        if uri.authority.starts_with("did:") {
            return Ok(uri);
        }
        let authority = self.identities.account(&uri.authority).await?.did;
        Ok(AtUri { authority, ..uri })
    }

    /// See [`forge_core::PullRequests::view`].
    ///
    /// All reads need only the at-uri, so they run concurrently. The record comes from its author's
    /// server, everything else from the index, the service that lists all records.
    pub(crate) async fn view_pull(&self, pr: &PrId, fields: PrFields) -> Result<PullRequest> {
        let repository = self.repository(&pr.repo).await?;
        if repository.era == Era::Org10 {
            let located = self.locate(pr).await?;
            return self.view_ticket(&located, fields).await;
        }
        let (uri, number) = self.address(&repository, &pr.key).await?;
        let said = async { Ok(self.read_remarks(&repository, &uri, fields).await) };
        // The spindle (CI server) is asked as soon as the record names the commit, concurrently
        // with the other reads.
        let pull = async {
            let pull = self.pull_at(&repository, &uri).await?;
            let wants = |field| fields.contains(field) && !fields.contains(PrFields::ROW);
            let checks = async {
                match wants(PrFields::CHECKS) {
                    true => self.checks_section(&repository, &pull).await,
                    false => None,
                }
            };
            let ingestion = async {
                match wants(PrFields::INGESTION) {
                    true => Some(self.ingestion_of_pull(&pull).await),
                    false => None,
                }
            };
            let below = async {
                if wants(PrFields::DEPENDS_ON) && pull.depends_on.is_none() {
                    self.find_pull_of_base(&repository, &pull).await
                } else {
                    Ok(None)
                }
            };
            let (checks, ingestion, below) = future::join3(checks, ingestion, below).await;
            Ok::<_, Error>((pull, checks, ingestion, below))
        };
        let ((pull, checks, ingestion, below), said) = future::try_join(pull, said).await?;
        let located = LocatedPull {
            repository,
            pull,
            number,
        };
        let looks = fields.contains(PrFields::MERGEABILITY) && !fields.contains(PrFields::ROW);
        let statuses = match &said.statuses {
            Ok(found) if looks => {
                let (pull, names) = (&located.pull, &self.settings.dialects);
                let (uri, author) = (pull.record.uri.as_str(), pull.author());
                status::read(found.value.clone(), uri, author, &said.writers, names)
            }
            _ => Vec::new(),
        };
        let mut view = self.view_with(&located, said, fields).await?;
        // A status can say "merged" wrongly, so the view says whether the branch has the change.
        if let Some(said) = find_merge_claim(&statuses) {
            self.verify_merge_claim(&located, said, &mut view).await;
        }
        view.ingestion = ingestion;
        match below {
            Ok(below) if view.state == PrState::Open && view.depends_on.is_none() => {
                view.depends_on = below.map(PrKey::Record);
            }
            Ok(_) => {}
            Err(e) => view
                .warnings
                .push(unread("the pull request below", &e).of_section("depends_on")),
        }
        add_checks(&mut view, checks);
        Ok(view)
    }

    /// Reads everything about a located pull request, and builds its model.
    pub(crate) async fn view_located(
        &self,
        located: &LocatedPull,
        fields: PrFields,
    ) -> Result<PullRequest> {
        if located.repository.era == Era::Org10 {
            return self.view_ticket(located, fields).await;
        }
        let said = future::join(
            self.read_remarks(&located.repository, &located.pull.uri, fields),
            // Reads the patch into the cache while the other records are read.
            self.patch_for_view(&located.repository, &located.pull),
        );
        let (said, _) = said.await;
        self.view_with(located, said, fields).await
    }

    /// Reads the pull request after a write. The viewer's own records come from the viewer's
    /// server, because tangled's index may not show them yet.
    pub(crate) async fn view_fresh(
        &self,
        located: &LocatedPull,
        fields: PrFields,
    ) -> Result<PullRequest> {
        let LocatedPull {
            repository, pull, ..
        } = located;
        if repository.era == Era::Org10 {
            return self.view_ticket(located, fields).await;
        }
        let names = &self.settings.dialects;
        let kinds = [
            related_records::statuses(names),
            related_records::comments(names),
            related_records::label_ops(names),
        ];
        let uri = pull.record.uri.as_str();
        let (said, fresh) = future::join(
            self.read_remarks(repository, &pull.uri, fields),
            self.fresh_of_viewer(kinds.each_ref(), uri),
        )
        .await;
        let [statuses, comments, operations] = fresh;
        let said = PullRecords {
            statuses: statuses.overlay_found(said.statuses),
            comments: comments.overlay_found(said.comments),
            operations: operations.overlay_found(said.operations),
            writers: said.writers,
        };
        self.view_with(located, said, fields).await
    }

    /// Reads other accounts' records about a pull request. Labels are not read for a row of a list.
    async fn read_remarks(
        &self,
        repository: &TangledRepository,
        uri: &AtUri,
        fields: PrFields,
    ) -> PullRecords {
        let text = uri.to_string();
        let names = &self.settings.dialects;
        let (status_kind, comment_kind) = (
            related_records::statuses(names),
            related_records::comments(names),
        );
        let accounts = || self.known_accounts(repository, Some(&uri.authority));
        let labels = async {
            if fields.contains(PrFields::ROW) {
                return Ok(Sourced::default());
            }
            self.label_ops_about(repository, &text).await
        };
        let (mut statuses, comments, operations, mut writers) = future::join4(
            self.about(&status_kind, &text, accounts()),
            self.about(&comment_kind, &text, accounts()),
            labels,
            self.writers(repository),
        )
        .await;
        self.confirm_states(&mut statuses, &mut writers).await;
        PullRecords {
            statuses,
            comments,
            operations,
            writers,
        }
    }

    async fn view_with(
        &self,
        located: &LocatedPull,
        said: PullRecords,
        fields: PrFields,
    ) -> Result<PullRequest> {
        let LocatedPull {
            repository, pull, ..
        } = located;
        let uri = pull.record.uri.as_str();
        let mut warnings = Vec::new();
        let statuses = section("the status", said.statuses, &mut warnings);
        let comments = self.comments_section(said.comments, &mut warnings);
        let operations = section("the labels", said.operations, &mut warnings);
        warnings.extend(malformed::malformed_warnings(&statuses, |r| {
            status::broken(r, &self.settings.dialects)
        }));
        warnings.extend(malformed::malformed_warnings(&comments, |r| {
            comments::broken(r, self.fields())
        }));
        warnings.extend(malformed::malformed_warnings(&operations, |r| {
            labels::broken(r, self.fields())
        }));
        warnings.extend(repository.doubt());
        if let Some(why) = find_contradiction(pull, self.fields()) {
            let message =
                format!("its rounds and its versions disagree, so it is not merged: {why}");
            warnings.push(Warning::new(message));
        }
        warnings.extend(said.writers.doubt.clone());
        let names = &self.settings.dialects;
        let statuses = status::read(statuses, uri, pull.author(), &said.writers, names);
        let row = fields.contains(PrFields::ROW);
        let patch = async {
            match row {
                true => None,
                false => Some(self.patch_for_view(repository, pull).await),
            }
        };
        let (patch, labels) =
            future::join(patch, self.labels_of(repository, uri, operations)).await;
        let labelled = labels.unwrap_or_else(|e| {
            warnings.push(unread("the labels", &e));
            Labelled::default()
        });
        warnings.extend(labelled.missing);
        let patch = match patch {
            Some(Ok(patch)) => Some(patch),
            Some(Err(e)) => {
                warnings.push(unread("the changes", &e));
                None
            }
            None => None,
        };
        let (verdicts, comments) =
            self.split_verdicts(pull, comments::sorted(comments, self.fields()));
        let beside = PullFacts {
            state: None,
            statuses,
            labels: labelled.labels,
            assignees: labelled.assignees,
            comments: comments.len() as u64,
            number: located.number,
            head_oid: patch.as_ref().and_then(|p| p.head().map(str::to_owned)),
            warnings,
        };
        let mut view = self.build(repository, pull, beside).await;
        if view.state == PrState::Open {
            view.warnings.extend(unmerged_version_warning(pull));
        }
        if fields.contains(PrFields::COMMENTS) {
            view.comments = Some(self.comment_models(repository, &comments).await);
        }
        let wanted = fields.contains(PrFields::REVIEWS);
        let (given, told) = self
            .convert_verdicts(located, verdicts, &said.writers, wanted)
            .await;
        view.warnings.extend(told);
        verdicts::add_up(&mut view, &given);
        view.reviews = wanted.then(|| verdicts::reviews(given));
        if fields.contains(PrFields::THREADS) {
            view.threads = Some(Vec::new());
        }
        if let Some(patch) = patch {
            self.fill(&mut view, located, &patch, fields).await;
        }
        Ok(view)
    }

    /// Returns the comments. Verdicts are comments, so the latest reviews are incomplete if some
    /// comments were not read.
    fn comments_section(
        &self,
        comments: Result<Sourced<Vec<Record>>>,
        warnings: &mut Vec<Warning>,
    ) -> Vec<Record> {
        let is_cut = comments.as_ref().map_or(true, |found| found.is_cut);
        if is_cut && self.settings.verdict_comments {
            let message = "some comments were not read, and verdicts may be among them";
            warnings.push(Warning::new(message).of_section(verdicts::SECTION));
        }
        section("the comments", comments, warnings)
    }

    /// Reads a pull request of Tangled 1.0, where all records are in one account.
    async fn view_ticket(&self, located: &LocatedPull, fields: PrFields) -> Result<PullRequest> {
        let checks = async {
            if fields.contains(PrFields::CHECKS) && !fields.contains(PrFields::ROW) {
                self.checks_section(&located.repository, &located.pull)
                    .await
            } else {
                None
            }
        };
        let (talk, patch, checks) = future::join3(
            self.all_ticket_comments(&located.repository),
            self.patch_for_view(&located.repository, &located.pull),
            checks,
        )
        .await;
        let mut view = self
            .view_ticket_with(located, talk.as_ref(), patch, fields)
            .await?;
        view.warnings.extend(located.repository.doubt());
        add_checks(&mut view, checks);
        Ok(view)
    }

    /// Reads a pull request of Tangled 1.0. Its comments are in `talk`, which was read for several
    /// pull requests together.
    pub(crate) async fn view_ticket_of(
        &self,
        located: &LocatedPull,
        talk: std::result::Result<&Talk, &Error>,
        fields: PrFields,
    ) -> Result<PullRequest> {
        let patch = self
            .patch_for_view(&located.repository, &located.pull)
            .await;
        self.view_ticket_with(located, talk, patch, fields).await
    }

    async fn view_ticket_with(
        &self,
        located: &LocatedPull,
        talk: std::result::Result<&Talk, &Error>,
        patch: Result<Arc<Patch>>,
        fields: PrFields,
    ) -> Result<PullRequest> {
        let LocatedPull {
            repository, pull, ..
        } = located;
        let names = &self.settings.dialects;
        let comments = talk.map(|talk| talk.about(&pull.record, names));
        let said = tickets::inline(&pull.record, &self.settings.dialects);
        let mut warnings = said.warnings;
        warnings.extend(pull.warnings.iter().cloned());
        let (comments, told) = comments.unwrap_or_else(|e| {
            warnings.push(unread("the comments", e));
            Default::default()
        });
        for warning in told {
            // The patches were read twice, so this warning may be there already.
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        warnings.extend(malformed::malformed_warnings(&comments, |r| {
            comments::broken(r, self.fields())
        }));
        let comments = comments::sorted(comments, self.fields());
        let patch = patch
            .inspect_err(|e| warnings.push(unread("the changes", e)))
            .ok();
        let beside = PullFacts {
            state: said.state,
            labels: said.labels,
            assignees: self.actors(&said.assignees).await,
            comments: comments.len() as u64,
            number: located.number,
            warnings,
            ..PullFacts::default()
        };
        let mut view = self.build(repository, pull, beside).await;
        if fields.contains(PrFields::COMMENTS) {
            view.comments = Some(self.comment_models(repository, &comments).await);
        }
        if fields.contains(PrFields::REVIEWS) {
            view.reviews = Some(Vec::new());
        }
        if fields.contains(PrFields::INGESTION) {
            view.ingestion = Some(Self::ingestion_of_ticket(pull));
        }
        if fields.contains(PrFields::THREADS) {
            view.threads = Some(Vec::new());
        }
        if let Some(patch) = patch {
            self.fill(&mut view, located, &patch, fields).await;
        }
        Ok(view)
    }

    /// Adds the parts of the view that come from the patch.
    async fn fill(
        &self,
        view: &mut PullRequest,
        located: &LocatedPull,
        patch: &Patch,
        fields: PrFields,
    ) {
        if fields.contains(PrFields::STATS) || fields.contains(PrFields::FILES) {
            let (diff, warning) = self.net_diff(located, patch).await;
            view.warnings.extend(warning);
            let files = patch::files(&diff);
            let sum = |of: fn(&forge_core::model::FileChange) -> Option<u64>| {
                files.iter().filter_map(of).sum::<u64>()
            };
            view.additions = Some(sum(|f| f.additions));
            view.deletions = Some(sum(|f| f.deletions));
            view.changed_files = Some(files.len() as u64);
            view.files = fields.contains(PrFields::FILES).then_some(files);
        }
        if fields.contains(PrFields::COMMITS) {
            view.commits = Some(patch.commits());
            match doubt_warning("this round", patch) {
                Some(doubt) if !view.warnings.contains(&doubt) => view.warnings.push(doubt),
                _ => {}
            }
        }
        let checked = located.repository.era != Era::Org10 && view.state == PrState::Open;
        if fields.contains(PrFields::MERGEABILITY) && checked {
            let knot = || knot_name(&located.repository);
            let checked = self.mergeability_of(located, patch);
            match PartWindow::begin().read(knot, checked).await {
                Ok(found) => view.mergeability = Some(found),
                Err(e) => {
                    let unread = unread("whether it can be merged", &e);
                    view.warnings.push(unread.of_section("mergeability"));
                }
            }
        }
    }

    pub(crate) async fn latest_patch(
        &self,
        repository: &TangledRepository,
        pull: &TangledPull,
    ) -> Result<Arc<Patch>> {
        match pull.latest() {
            Some((number, round)) => self.patch_of(repository, pull, number, round).await,
            None => Err(no_patch(pull, 0)),
        }
    }

    /// Returns the newest patch for a view, which goes on without the patch if its server is silent.
    pub(crate) async fn patch_for_view(
        &self,
        repository: &TangledRepository,
        pull: &TangledPull,
    ) -> Result<Arc<Patch>> {
        self.patch_within(repository, pull, &PartWindow::begin())
            .await
    }

    /// As [`Self::patch_for_view`], for a row of a list.
    pub(crate) async fn patch_for_row(
        &self,
        repository: &TangledRepository,
        pull: &TangledPull,
    ) -> Result<Arc<Patch>> {
        let window = PartWindow::at_most(self.settings.account_wait);
        self.patch_within(repository, pull, &window).await
    }

    async fn patch_within(
        &self,
        repository: &TangledRepository,
        pull: &TangledPull,
        window: &PartWindow,
    ) -> Result<Arc<Patch>> {
        let patch = self.latest_shown_patch(repository, pull);
        match pull.latest().map(|(_, round)| &round.content) {
            Some(Content::Blob(_)) => {
                let author = pull.author();
                self.identities.read_part(author, window, patch).await
            }
            _ => window.read(|| knot_name(repository), patch).await,
        }
    }

    /// Returns the patch of a round. A round never changes, so its patch is read only once.
    pub(crate) async fn patch_of(
        &self,
        repository: &TangledRepository,
        pull: &TangledPull,
        number: usize,
        round: &Round,
    ) -> Result<Arc<Patch>> {
        let cid = match &round.content {
            Content::Text { patch, .. } => {
                return Ok(Arc::new(Patch::parse(patch.clone().into_bytes())));
            }
            Content::Missing => return Err(no_patch(pull, number)),
            Content::Commits { base, head } => {
                // The cache key contains the repository, because another knot could send other
                // changes for the same commit ids.
                let of = repository.target();
                let cell = self.patches.cell(&format!("{of} {base} {head}"));
                let patch = cell.get_or_try_init(|| async {
                    match repository.era {
                        Era::Org10 => self.commits_as_patch(repository, base, head).await,
                        Era::Sh2025 | Era::Sh2026 => {
                            self.read_version(repository, base, head).await
                        }
                    }
                });
                let patch = patch.await.cloned();
                self.patches.shed();
                return patch;
            }
            Content::Blob(cid) => cid,
        };
        let cell = self.patches.cell(&format!("{} {cid}", pull.author()));
        let patch = cell.get_or_try_init(|| async {
            let pds = self.identities.pds(pull.author()).await?;
            let read = |blob: &[u8], may| Ok(Arc::new(Patch::parse(patch::unpack(blob, may)?)));
            let blob = records::blob(&pds, &pull.uri, cid, read).await;
            blob.map_err(|e| {
                if e.is_not_found() {
                    e.with_hint(another_round_hint(&pull.record.uri))
                } else {
                    e
                }
            })
        });
        let patch = patch.await.cloned();
        self.patches.shed();
        patch
    }

    /// See [`forge_core::PullRequests::mergeability`].
    pub(crate) async fn mergeability_pull(&self, pr: &PrId) -> Result<Mergeability> {
        let located = self.locate(pr).await?;
        self.require_2026(&located.repository, Capability::PrMergeability)?;
        let why = match self.state_of(&located.repository, &located.pull).await? {
            PrState::Open => {
                let patch = self
                    .latest_patch(&located.repository, &located.pull)
                    .await?;
                return self.mergeability_of(&located, &patch).await;
            }
            PrState::Closed => Precondition::Closed,
            PrState::Merged => Precondition::Merged,
        };
        Err(Error::precondition(
            why,
            format!("{} is not open", located.pull.record.uri),
        ))
    }

    /// Checks whether the newest round applies to the target branch now.
    pub(crate) async fn mergeability_of(
        &self,
        located: &LocatedPull,
        patch: &Patch,
    ) -> Result<Mergeability> {
        let LocatedPull {
            repository, pull, ..
        } = located;
        if let Some(doubt) = patch.doubt() {
            let message = format!("the changes are not proved: {doubt}");
            return Err(Error::new(ErrorKind::Protocol, message));
        }
        let below = self.open_below(located).await?;
        let mut series = String::new();
        for below in &below {
            let patch = self.latest_patch(repository, &below.pull).await?;
            series.push_str(as_text(&below.pull, &patch)?);
        }
        series.push_str(as_text(pull, patch)?);
        let (checked, branch) = future::try_join(
            self.merge_check(repository, &pull.base, &series),
            self.branch(repository, &pull.base),
        )
        .await?;
        let (state, status, conflicts) = match checked {
            Checked::Clean if self.is_draft(&pull.title) => {
                (MergeState::Mergeable, "DRAFT", Vec::new())
            }
            Checked::Clean if !below.is_empty() || pull.ends_with_version() => {
                (MergeState::Mergeable, "BLOCKED", Vec::new())
            }
            Checked::Clean => (MergeState::Mergeable, "CLEAN", Vec::new()),
            Checked::Conflicts(files) => (MergeState::Conflicting, "DIRTY", files),
            Checked::Unknown(why) => {
                tracing::warn!(why, "the knot could not check whether it can be merged");
                (MergeState::Unknown, "UNKNOWN", Vec::new())
            }
        };
        let mut mergeability = Mergeability::new(state, status);
        mergeability.conflicts = conflicts;
        mergeability.head_oid = patch.head().unwrap_or_default().to_owned();
        mergeability.base_oid = branch.map(|b| b.hash).unwrap_or_default();
        Ok(mergeability)
    }
}

/// Adds the checks to a view, or the warning that they could not be read.
fn add_checks(view: &mut PullRequest, checks: Option<Result<ChecksReport>>) {
    match checks {
        Some(Ok(report)) => view.checks = Some(report),
        Some(Err(e)) => view.warnings.push(checks::unread_checks(&e)),
        None => {}
    }
}

pub(crate) fn section<T: Default>(
    what: &str,
    found: Result<Sourced<T>>,
    warnings: &mut Vec<Warning>,
) -> T {
    match found {
        Ok(found) => {
            for warning in found.warnings {
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
            found.value
        }
        Err(e) => {
            warnings.push(unread(what, &e));
            T::default()
        }
    }
}

/// Returns the warning that a part of a view could not be read.
pub(crate) fn unread(what: &str, error: &Error) -> Warning {
    let warning = Warning::new(format!("{what} could not be read: {}", error.message()));
    match error.hint() {
        Some(hint) => warning.with_hint(hint),
        None => warning,
    }
}

fn no_patch(pull: &TangledPull, number: usize) -> Error {
    let uri = &pull.record.uri;
    let (what, hint) = match pull.has_versions {
        true => (
            format!("version {number} of {uri} has neither a patch nor two full commit ids"),
            Hint::new(READ_ELSEWHERE),
        ),
        false => (
            format!("round {number} of {uri} has no patch"),
            another_round_hint(uri),
        ),
    };
    Error::new(ErrorKind::Protocol, what).with_hint(hint)
}
