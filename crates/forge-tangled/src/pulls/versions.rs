//! Compares the two lists of submissions that a record can have: `rounds`, which are patches, and
//! `versions`, which are pairs of commits. Both lists are of the same author. An index shows one of
//! them, and a knot merges the other, so a record whose lists disagree is not merged.

use forge_core::{Error, Precondition, Result, text::one_line};
use serde_json::Value;

use super::{
    record::{TangledPull, find_non_empty_list, round},
    view::LocatedPull,
};
use crate::{ShFields, Tangled, hints::resubmit};

/// Field of a version: its last commit, hex.
const HEAD: &str = "head";

impl Tangled {
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
        let Some(head) = version.get(HEAD).and_then(Value::as_str) else {
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
