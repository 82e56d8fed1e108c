//! Stacks: pull requests that build on each other (`dependentOn`).
//!
//! A stack is a chain, because tangled's index (the service that lists all records) ingests only
//! one pull request on top of each pull request.

use std::collections::BTreeSet;

use forge_core::{
    Action, Arg, AtUri, Call, Error, ErrorKind, Hint, Param, PrId, PrKey, Precondition, Result,
    Warning,
    model::{BranchClaim, PrState, SubjectKind},
    text::one_line,
};

use super::{
    head_claims::branch_claim,
    merge_claim::{CALLED_MERGED, find_merge_claim},
    merge_detection::MergeDetection,
    record::TangledPull,
    state::EffectiveState,
    view::LocatedPull,
};
use crate::{
    Era, Tangled,
    hints::{AS_PATCH, merge},
    index_pager::{IndexPager, Item, SCAN},
    repository::TangledRepository,
    xrpc_error,
};

/// Maximum height of a stack.
const HIGHEST: usize = 50;
/// Maximum number of open pull requests that are compared with a base branch.
const MAX_COMPARED: u64 = 1_000;
/// Usual names of default branches. A pull request to the default branch is in no stack, and these
/// names save a request.
const DEFAULT_NAMES: [&str; 2] = ["main", "master"];

impl Tangled {
    /// Returns the unmerged pull requests below a pull request in its stack, the lowest first.
    ///
    /// The search ends at a merged pull request, because its base branch contains everything below
    /// it.
    ///
    /// An author can write records that form a cycle. This fails for a cycle, because a cycle has
    /// no lowest pull request.
    pub(crate) async fn open_below(&self, located: &LocatedPull) -> Result<Vec<LocatedPull>> {
        let mut seen = BTreeSet::from([located.pull.record.uri.clone()]);
        let mut below = Vec::new();
        let mut next = located.pull.depends_on.clone();
        while let Some(uri) = next {
            if !seen.insert(uri.clone()) {
                return Err(cycle_error(located, &uri));
            }
            if below.len() >= HIGHEST {
                return Err(Error::new(
                    ErrorKind::Protocol,
                    format!(
                        "{} is on top of more than {HIGHEST} open pull requests",
                        located.pull.record.uri
                    ),
                ));
            }
            let upper = below.last().unwrap_or(located);
            let found = match self.locate_below(upper, uri).await {
                Ok(found) => found,
                // The author has deleted the lower pull request, so the upper one no longer depends
                // on it.
                Err(e) if xrpc_error::is_gone(&e) => break,
                Err(e) => return Err(e),
            };
            if !self.is_to_be_merged(&found).await? {
                break;
            }
            next = found.pull.depends_on.clone();
            below.push(found);
        }
        below.reverse();
        Ok(below)
    }

    /// Reads the pull request `uri`, on which the record of `upper` builds.
    ///
    /// A record can name any account, so an unknown account is contacted only if the repository
    /// lists the pull request.
    async fn locate_below(&self, upper: &LocatedPull, uri: String) -> Result<LocatedPull> {
        let repository = &upper.repository;
        let account = AtUri::parse(&uri)?.authority;
        let author = &upper.pull.uri.authority;
        if account != *author && !(self.known_accounts(repository, None).await).contains(&account) {
            let records = std::slice::from_ref(&uri);
            let kind = SubjectKind::PullRequest;
            if (self.listed_records(repository, kind, records).await?).is_empty() {
                return Err(unlisted(upper, &uri));
            }
        }
        let id = PrId {
            repo: repository.id.clone(),
            key: PrKey::Record(uri),
        };
        self.locate(&id).await
    }

    /// Returns true if a pull request is still to be merged.
    ///
    /// There are two cases:
    /// - Its state is open.
    /// - Only an account without push access calls it merged, and the branch lacks the change. The
    ///   author can be such an account, because an author may set the state without push access.
    async fn is_to_be_merged(&self, located: &LocatedPull) -> Result<bool> {
        let statuses = self
            .deciding_statuses(&located.repository, &located.pull)
            .await?;
        if EffectiveState::of(&statuses).state == PrState::Open {
            return Ok(true);
        }
        let Some(said) = find_merge_claim(&statuses) else {
            return Ok(false);
        };
        if self
            .writers(&located.repository)
            .await
            .may_write(&said.author)
        {
            return Ok(false);
        }
        Ok(self.landed_as_titled(located, said).await? != MergeDetection::Yes)
    }

    /// Finds the open pull request whose head branch is the base branch of `pull`. The record of
    /// `pull` does not say that it builds on that one.
    ///
    /// Anybody can write a record that names a branch, so the author must be able to push it. What
    /// the index calls open is not verified: the result is shown, and refuses nothing.
    pub(super) async fn find_pull_of_base(
        &self,
        repository: &TangledRepository,
        pull: &TangledPull,
    ) -> Result<Option<String>> {
        if repository.era == Era::Org10 || DEFAULT_NAMES.contains(&pull.base.as_str()) {
            return Ok(None);
        }
        let names = &self.settings.dialects;
        let (method, of) = (&names.methods.index.list_pulls, &names.inputs.index);
        let params = vec![
            (&*of.subject, repository.target()),
            (&*of.wanted_status, &*of.state_open),
        ];
        let writers = self.writers(repository).await;
        let mut walk = IndexPager::new(self.index(), (method, of), params, None, SCAN);
        while walk.scanned() < MAX_COMPARED
            && let Some(row) = walk.next().await?
        {
            let item = Item::parse(row, "pull request", of);
            let other = item.and_then(|item| TangledPull::parse(item.record, self.fields()));
            let is_below = other.as_ref().is_ok_and(|other| {
                other.head == pull.base
                    && other.record.uri != pull.record.uri
                    && branch_claim(repository, other, &writers) == BranchClaim::Proven
            });
            if let (true, Ok(other)) = (is_below, other) {
                let default = self.default_branch(repository).await?;
                let is_default = default.is_some_and(|default| default.name == pull.base);
                return Ok((!is_default).then_some(other.record.uri));
            }
        }
        Ok(None)
    }

    /// Returns the warning for a merge into the head branch of another open pull request.
    pub(super) async fn merged_into_head_warning(&self, located: &LocatedPull) -> Option<Warning> {
        let (repository, pull) = (&located.repository, &located.pull);
        let below = self.find_pull_of_base(repository, pull).await.ok()??;
        let base = one_line(&pull.base);
        let message = format!(
            "it was merged into '{base}', which is the head branch of the open pull request {below}"
        );
        let hint = Hint::new("merge that one too, or its changes are not where it leads");
        Some(Warning::new(message).with_hint(hint.with_action(merge(&below))))
    }

    /// Fails if a pull request below in the stack is still to be merged. A knot merges only one
    /// round at a time onto the branch, so the lowest pull request must be merged first.
    pub(crate) async fn require_parent_merged(&self, located: &LocatedPull) -> Result<()> {
        let below = self.open_below(located).await?;
        let Some(lowest) = below.first() else {
            return Ok(());
        };
        let is = match self.state_of(&lowest.repository, &lowest.pull).await? {
            PrState::Open => "which is open",
            _ => "which only a status record calls merged",
        };
        let lowest = &lowest.pull.record.uri;
        Err(Error::precondition(
            Precondition::Stacked,
            format!(
                "{} builds on {}, {is}",
                located.pull.record.uri,
                match below.as_slice() {
                    [_] => lowest.clone(),
                    many => format!("{} others, of which {lowest} is the lowest", many.len()),
                }
            ),
        )
        .with_hint(Hint::from(format!("merge {lowest} first")).with_action(merge(lowest))))
    }

    /// Returns the pull request `pr` if a new one can build on it.
    pub(crate) async fn to_build_on(
        &self,
        repository: &TangledRepository,
        pr: &PrId,
    ) -> Result<LocatedPull> {
        let below = self.locate(pr).await?;
        let uri = &below.pull.record.uri;
        if below.repository.record.uri != repository.record.uri {
            return Err(Error::invalid(
                "depends_on",
                format!("{uri} is a pull request of {}", below.repository.id),
            )
            .with_hint(
                Hint::new("name one of the same repository to build on")
                    .with_action(Action::again(&[(Param::DependsOn, Arg::Choose)])),
            ));
        }
        let state = self.state_of(&below.repository, &below.pull).await?;
        if state != PrState::Open {
            let (why, is) = match state {
                PrState::Merged => (Precondition::Merged, CALLED_MERGED),
                _ => (Precondition::Closed, "closed"),
            };
            return Err(
                Error::precondition(why, format!("{uri} is {is}")).with_hint(
                    Hint::new("open it without depending on another")
                        .with_action(Action::again(&[(Param::DependsOn, Arg::Omit)])),
                ),
            );
        }
        // A second pull request on top of the same one is refused here, because tangled's index
        // would drop its record silently.
        if let Some(other) = self
            .find_other_dependent(repository.target(), uri, "")
            .await
        {
            return Err(Error::new(
                ErrorKind::AlreadyExists {
                    existing: Some(other.clone()),
                },
                format!("another pull request builds on {uri} already: {other}"),
            )
            .with_hint(
                Hint::new("build on the other pull request, because a stack is a chain")
                    .with_action(Action::new(Call::Again).with(Param::DependsOn, other)),
            ));
        }
        self.open_below(&below).await?;
        Ok(below)
    }

    /// Returns the head revision of the pull request below in the stack, merged or not.
    ///
    /// `None` if there is no such pull request, or if its author has deleted it.
    pub(crate) async fn tip_below(&self, located: &LocatedPull) -> Result<Option<String>> {
        let Some(uri) = &located.pull.depends_on else {
            return Ok(None);
        };
        match self.locate_below(located, uri.clone()).await {
            Ok(below) => self.tip_of(&below).await.map(Some),
            Err(e) if xrpc_error::is_gone(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Returns the revision on the knot at which a pull request ends.
    pub(crate) async fn tip_of(&self, located: &LocatedPull) -> Result<String> {
        let pull = &located.pull;
        let patch = self.latest_patch(&located.repository, pull).await?;
        if let Some(head) = patch.head() {
            return Ok(head.to_owned());
        }
        if !pull.head.is_empty() && pull.fork(&located.repository).is_none() {
            return Ok(pull.head.clone());
        }
        Err(Error::invalid(
            "depends_on",
            format!(
                "{} is a plain diff, so its last commit is unknown",
                pull.record.uri
            ),
        )
        .with_hint(Hint::new("pass the changes as a patch").with_action(AS_PATCH)))
    }
}

fn unlisted(upper: &LocatedPull, below: &str) -> Error {
    Error::precondition(
        Precondition::Stacked,
        format!(
            "{} builds on {below}, and the forge does not list it as a pull request of the \
             repository",
            upper.pull.record.uri
        ),
    )
    .with_hint("have its author remove `dependentOn` from the record")
}

fn cycle_error(located: &LocatedPull, uri: &str) -> Error {
    let again = AtUri::parse(uri).map_or_else(
        |_| forge_core::text::one_line(uri).into_owned(),
        |uri| uri.to_string(),
    );
    Error::new(
        ErrorKind::Protocol,
        format!(
            "{} builds on itself: the pull requests below it lead back to {again}",
            located.pull.record.uri
        ),
    )
    .with_hint("have its author remove `dependentOn` from one of the records")
}
