//! Single rounds, and what changed from one to another.

use std::{collections::BTreeMap, sync::Arc};

use forge_core::{
    Action, Arg, Error, ErrorKind, Hint, Noun, Param, PrId, Result, Warning,
    model::{Diff, DiffFormat, DiffReq},
    text::one_line,
};
use futures::stream;

use super::view::Located;
use crate::{Tangled, hints::resubmit, patch::Patch};

/// The call that failed, with another round.
const OTHER_ROUND: Action = Action::again(&[(Param::Round, Arg::Choose)]);

impl Tangled {
    /// The patch of round `round`, counted from 0, as it is stored.
    ///
    /// # Errors
    /// `not_found` for a round that there is not; as [`forge_core::PullRequests::diff`].
    pub async fn round(&self, pr: &PrId, round: usize) -> Result<Vec<u8>> {
        let located = self.locate(pr).await?;
        Ok(self.patch_of_round(&located, round).await?.raw.clone())
    }

    async fn patch_of_round(&self, located: &Located, round: usize) -> Result<Arc<Patch>> {
        let pull = &located.pull;
        match pull.rounds.get(round) {
            Some(found) => self.patch_of(&located.repository, pull, round, found).await,
            None => Err(Error::new(
                ErrorKind::NotFound { what: Noun::Other },
                format!("{} has no round {round}", pull.record.uri),
            )
            .with_hint(match pull.rounds.len() {
                0 => Hint::new("have its author submit a round")
                    .with_action(resubmit(&pull.record.uri)),
                1 => Hint::new("name round 0, the only one").with_action(OTHER_ROUND),
                many => Hint::from(format!(
                    "name one of its rounds; it has {many}, from round 0 to round {}",
                    many - 1
                ))
                .with_action(OTHER_ROUND),
            })),
        }
    }

    /// The changes of a round (the newest where none is named), all or only those that `since` did
    /// not have in the same way.
    pub(crate) async fn diff_of_rounds(
        &self,
        located: &Located,
        round: Option<usize>,
        since: Option<usize>,
        req: &DiffReq,
    ) -> Result<Diff> {
        let newest = located.pull.rounds.len().saturating_sub(1);
        let round = round.unwrap_or(newest);
        let patch = self.patch_of_round(located, round).await?;
        let Some(since) = since else {
            return self.diff_of_patch(located, &patch, req).await;
        };
        if since >= round {
            return Err(Error::invalid(
                "since",
                format!("round {since} does not come before round {round}"),
            )
            .with_hint(
                Hint::new("name an earlier round; they are counted from 0, the newest last")
                    .with_action(Action::again(&[(Param::Since, Arg::Choose)])),
            ));
        }
        if req.format == DiffFormat::Patch {
            return Err(Error::invalid(
                "since",
                "there is no patch series from one round to another",
            )
            .with_hint("read the diff between them, or the patch series of one round"));
        }
        let before = self.patch_of_round(located, since).await?;
        let ((old, first), (new, second)) = futures::join!(
            self.net_diff(located, &before),
            self.net_diff(located, &patch)
        );
        let between = between(&old, &new);
        let mut warnings: Vec<Warning> = first.or(second).into_iter().collect();
        warnings.push(
            Warning::new(format!(
                "files whose changes are those of round {since} are left out; the others are shown \
                 with all of their changes"
            ))
            .with_hint("see more with `git range-diff` in a clone that has both heads"),
        );
        if !between.gone.is_empty() {
            warnings.push(Warning::new(format!(
                "changed in round {since} and no longer in round {round}: {}",
                between.gone.join(", ")
            )));
        }
        Ok(Diff {
            base_oid: None,
            head_oid: patch.head().unwrap_or_default().to_owned(),
            body: Box::pin(stream::iter([Ok(between.diff)])),
            warnings,
        })
    }
}

/// What a newer diff has that an older one has not in the same way.
#[derive(Debug, PartialEq, Eq)]
struct Between {
    diff: Vec<u8>,
    /// The files that only the older one changes, as they are named in it.
    gone: Vec<String>,
}

fn between(old: &[u8], new: &[u8]) -> Between {
    let before: BTreeMap<&[u8], Vec<&[u8]>> = sections(old);
    let after: BTreeMap<&[u8], Vec<&[u8]>> = sections(new);
    let mut diff = Vec::new();
    for (file, lines) in &after {
        let same = before
            .get(file)
            .is_some_and(|old| essence(old) == essence(lines));
        if !same {
            lines.iter().for_each(|line| diff.extend_from_slice(line));
        }
    }
    let gone = before
        .keys()
        .filter(|file| !after.contains_key(*file))
        .map(|file| name(file))
        .collect();
    Between { diff, gone }
}

/// The lines of each file of a diff, by its first line. A file that several commits change has the
/// lines of all of them.
fn sections(diff: &[u8]) -> BTreeMap<&[u8], Vec<&[u8]>> {
    let mut sections: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
    let mut file: Option<&[u8]> = None;
    for line in diff.split_inclusive(|b| *b == b'\n') {
        if line.starts_with(b"diff --git ") {
            file = Some(line);
        }
        if let Some(file) = file {
            sections.entry(file).or_default().push(line);
        }
    }
    sections
}

/// The lines of a file without what changes when only the base moved: ids of blobs, and numbers of
/// lines. Of a binary file that is not shown the ids are all that tells one content from another.
fn essence<'a>(lines: &[&'a [u8]]) -> Vec<&'a [u8]> {
    let is_hidden = lines.iter().any(|line| line.starts_with(b"Binary files "));
    let essence = |line: &'a [u8]| -> &'a [u8] {
        if line.starts_with(b"index ") && !is_hidden {
            return b"index";
        }
        if line.starts_with(b"@@ ") {
            return b"@@";
        }
        line
    };
    lines.iter().copied().map(essence).collect()
}

/// `b/src/lib.rs` of `diff --git a/src/lib.rs b/src/lib.rs`.
fn name(first: &[u8]) -> String {
    let text = String::from_utf8_lossy(first);
    let text = text.trim_end();
    let name = text.rsplit_once(" b/").map_or(text, |(_, name)| name);
    one_line(name).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, index: &str, at: u32, line: &str) -> String {
        format!(
            "diff --git a/{name} b/{name}\nindex {index}\n--- a/{name}\n+++ b/{name}\n@@ -{at} +{at} @@\n-old\n+{line}\n"
        )
    }

    #[test]
    fn what_only_moved_is_left_out_and_what_is_gone_is_named() {
        let old =
            file("a", "1..2", 1, "one") + &file("b", "3..4", 1, "two") + &file("c", "5..6", 1, "x");
        let new =
            file("a", "7..8", 9, "one") + &file("b", "3..9", 1, "TWO") + &file("d", "1..1", 1, "y");
        let found = between(old.as_bytes(), new.as_bytes());
        let wanted = file("b", "3..9", 1, "TWO") + &file("d", "1..1", 1, "y");
        assert_eq!(String::from_utf8(found.diff).unwrap(), wanted);
        assert_eq!(found.gone, ["c"]);
    }

    #[test]
    fn a_binary_file_that_was_replaced_is_shown() {
        let binary = |name: &str, index: &str| {
            format!(
                "diff --git a/{name} b/{name}\nindex {index} 100644\nBinary files a/{name} and b/{name} differ\n"
            )
        };
        let same = binary("a", "1..2");
        let old = same.clone() + &binary("b", "3..4");
        let new = same + &binary("b", "3..5");
        let found = between(old.as_bytes(), new.as_bytes());
        let wanted = binary("b", "3..5");
        assert_eq!(String::from_utf8(found.diff).unwrap(), wanted);
    }
}
