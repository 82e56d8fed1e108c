//! Versions: submissions that are pairs of commits on the knot, instead of patches.
//!
//! A record can have both lists: `rounds`, which are patches, and `versions`. Both are of the same
//! author. An index shows one of them, and a knot merges the other, so a record whose lists
//! disagree is not merged.

use std::sync::Arc;

use forge_core::{
    Capability, Error, ErrorKind, Hint, Precondition, Result, Warning, text::one_line,
};
use serde_json::Value;

use super::{
    record::{Content, Round, TangledPull, find_non_empty_list, round},
    view::LocatedPull,
};
use crate::{
    Era, ShFields, Tangled,
    hints::resubmit,
    knot::Compared,
    patch::{CommitRange, Patch},
    repository::TangledRepository,
    sources::is_down,
};

/// Why forge neither merges nor adds a version.
pub(crate) const NO_VERSION_METHOD: &str =
    "no method of a knot is known that merges or adds a version, which is a pair of commits";

/// Hint for changes of a version that cannot be read.
pub(super) const READ_ELSEWHERE: &str =
    "look at the changes on the web, or fetch the head branch with git";

impl Tangled {
    /// Reads the changes of a version from the knot of its repository.
    pub(super) async fn read_version(
        &self,
        repository: &TangledRepository,
        base: &str,
        head: &str,
    ) -> Result<Arc<Patch>> {
        let compared = self.compare(repository, base, head).await;
        let patch = compared.and_then(|compared| patch_between(compared, base, head));
        patch.map(Arc::new).map_err(|e| {
            if e.hint().is_none() {
                e.with_hint(Hint::new(READ_ELSEWHERE))
            } else {
                e
            }
        })
    }

    /// Returns the patch of a round that is only shown. As [`Self::patch_of`], except that the
    /// index shows the changes of a version that the knot does not.
    ///
    /// An index can lie, so nothing that is written may rest on this patch: it has a doubt.
    pub(crate) async fn shown_patch_of(
        &self,
        repository: &TangledRepository,
        pull: &TangledPull,
        number: usize,
        round: &Round,
    ) -> Result<Arc<Patch>> {
        let read = self.patch_of(repository, pull, number, round).await;
        let (Err(error), Content::Commits { base, head }) = (&read, &round.content) else {
            return read;
        };
        if repository.era == Era::Org10 || !is_down(error) {
            return read;
        }
        // The index names a repository by the at-uri of its record (recorded in October 2026).
        let uri = &repository.record.uri;
        let compared = self.compare_at(self.index(), uri, base, head).await;
        match compared.and_then(|compared| patch_between(compared, base, head)) {
            Ok(mut patch) => {
                if let Some(range) = &mut patch.range {
                    range.doubt = Some(format!(
                        "{} shows them, and the knot does not: {}",
                        self.index_name(),
                        error.message()
                    ));
                }
                Ok(Arc::new(patch))
            }
            Err(_) => read,
        }
    }

    /// Returns the newest patch that is only shown, as [`Self::shown_patch_of`] does.
    pub(crate) async fn latest_shown_patch(
        &self,
        repository: &TangledRepository,
        pull: &TangledPull,
    ) -> Result<Arc<Patch>> {
        match pull.latest() {
            Some((number, round)) => self.shown_patch_of(repository, pull, number, round).await,
            None => self.latest_patch(repository, pull).await,
        }
    }

    /// Fails if the record has rounds and versions that are not the same changes.
    ///
    /// # Errors
    /// `precondition_failed`; the errors of a read of the newest round.
    pub(super) async fn refuse_contradiction(&self, located: &LocatedPull) -> Result<()> {
        let pull = &located.pull;
        let contradiction = match find_contradiction(pull, self.fields()) {
            Some(why) => Some(why),
            None => self.find_other_head(located).await?,
        };
        let Some(why) = contradiction else {
            return Ok(());
        };
        let uri = &pull.record.uri;
        let message = format!("cannot merge {uri}: its rounds and its versions disagree: {why}");
        Err(Error::precondition(Precondition::Rule, message).with_hint(
            forge_core::Hint::new("have its author submit the change again")
                .with_action(resubmit(uri)),
        ))
    }

    /// Compares the last commit of the newest round with that of the newest version.
    async fn find_other_head(&self, located: &LocatedPull) -> Result<Option<String>> {
        let pull = &located.pull;
        let Some((rounds, versions)) = both_lists(&pull.record.value, self.fields()) else {
            return Ok(None);
        };
        let (Some(newest), Some(version)) = (rounds.last(), versions.last()) else {
            return Ok(None);
        };
        if blob_of(version, self.fields()).is_some() {
            return Ok(None);
        }
        let head = version.get(&*self.fields().version_head);
        let Some(head) = head.and_then(Value::as_str) else {
            return Ok(Some("its newest version names no last commit".to_owned()));
        };
        let newest = round(newest, self.fields());
        let number = rounds.len() - 1;
        let patch = self
            .patch_of(&located.repository, pull, number, &newest)
            .await?;
        Ok((patch.head() != Some(head)).then(|| {
            format!(
                "the newest round ends at {}, and the newest version at {}",
                patch.head().unwrap_or("no commit"),
                one_line(head)
            )
        }))
    }
}

/// Fails for a pull request whose newest round is a version. How a knot merges one was never
/// recorded, and no knot says that it merges one.
pub(super) fn refuse_version(pull: &TangledPull) -> Result<()> {
    if !pull.ends_with_version() {
        return Ok(());
    }
    let uri = &pull.record.uri;
    let why = format!("{uri} has versions instead of rounds, and {NO_VERSION_METHOD}");
    let hint = Hint::new("merge it on the web, or push its commits to the base branch with git");
    Err(Error::unsupported(Capability::MergeRebase, &why, hint))
}

/// Returns the warning of a view that forge does not merge the pull request.
pub(super) fn unmerged_version_warning(pull: &TangledPull) -> Option<Warning> {
    let is_version = pull.ends_with_version();
    is_version.then(|| {
        Warning::new(format!("forge does not merge it: {NO_VERSION_METHOD}"))
            .with_hint("merge it on the web, or push its commits to the base branch with git")
    })
}

/// Builds the changes from the commit `base` to the commit `head` from a comparison. The patch has
/// a doubt if it may lack a part of these changes.
fn patch_between(compared: Compared, base: &str, head: &str) -> Result<Patch> {
    let text = compared.patch.ok_or_else(|| {
        let message = format!("the comparison of {base} and {head} has no patch");
        Error::new(ErrorKind::Protocol, message)
    })?;
    let mut patch = Patch::parse(text.into_bytes());
    let start = compared.merge_base.filter(|start| *start != base);
    let doubt = match (start, patch.head()) {
        (Some(start), _) => Some(format!(
            "they begin at {}, because the base {base} of the version is not below its head",
            one_line(&start)
        )),
        (None, Some(last)) if last != head => Some(format!(
            "the last commit in them is {last}, and the version ends at {head}: a comparison \
             leaves merge commits out"
        )),
        (None, None) if base != head => Some(format!("they have no commit, not even {head}")),
        (None, _) => None,
    };
    patch.range = Some(CommitRange {
        head: head.to_owned(),
        combined: compared
            .combined_patch_raw
            .filter(|diff| !diff.is_empty())
            .map(String::into_bytes),
        doubt,
    });
    Ok(patch)
}

/// Returns how the lists of a record contradict each other, as far as the record itself shows it.
pub(super) fn find_contradiction(pull: &TangledPull, fields: &ShFields) -> Option<String> {
    let (rounds, versions) = both_lists(&pull.record.value, fields)?;
    if rounds.len() != versions.len() {
        let (rounds, versions) = (rounds.len(), versions.len());
        return Some(format!("it has {rounds} rounds and {versions} versions"));
    }
    let blobs = |list: &'_ [Value]| -> Vec<Option<String>> {
        list.iter().map(|value| blob_of(value, fields)).collect()
    };
    let pairs = blobs(rounds).into_iter().zip(blobs(versions));
    let mut pairs = pairs.enumerate();
    let other = pairs.find(|(_, (round, version))| version.is_some() && round != version);
    other.map(|(number, _)| format!("round {number} and version {number} are different patches"))
}

fn both_lists<'a>(value: &'a Value, fields: &ShFields) -> Option<(&'a [Value], &'a [Value])> {
    if fields.versions == fields.rounds {
        return None;
    }
    let rounds = find_non_empty_list(value, &fields.rounds)?;
    let versions = find_non_empty_list(value, &fields.versions)?;
    Some((rounds, versions))
}

/// Returns the CID of a submission's patch.
fn blob_of(submission: &Value, fields: &ShFields) -> Option<String> {
    let blob = submission.get(&*fields.patch_blob)?;
    let cid = blob.get("ref")?.get("$link")?.as_str()?;
    Some(cid.to_owned())
}
