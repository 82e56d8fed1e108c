//! Finds out whether a branch has the changes of a pull request.
//!
//! The search reads the branch's log, then the changes of the commits in question. A series of
//! commits is recognized by author, time and subject of each commit, and a plain diff by its
//! subject.

use std::collections::HashSet;

use forge_core::{Result, Timestamp, model::LocalClone, text::one_line};
use serde_json::Value;

use super::view::LocatedPull;
use crate::{
    KnotAnswers, Tangled, applied,
    json_field::OptionalField,
    patch::{self, Patch, PatchMail},
    repository::TangledRepository,
};

/// Maximum page size of `sh.tangled.repo.log`.
const PAGE: usize = 100;
/// Maximum number of pages of a log. More pages would take longer than a caller would wait.
const MAX_PAGES: usize = 100;
/// Maximum difference between the clocks of an author and of a knot, in seconds.
const CLOCKS_DIFFER: i64 = 900;
/// Maximum number of commits with a matching subject whose changes are read. Each costs a request.
/// Several commits in a row cost only one request and count as one.
const MAX_ALIKE: usize = 10;

/// Result of the search for a change on a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MergeDetection {
    Yes,
    No,
    /// The branch has a commit with this subject. It may be the change, but nothing proves it.
    Perhaps(String),
    /// It cannot be determined whether the branch has the change, for this reason.
    Unknown(String),
}

/// The tree that a merge makes on the branch as it was before.
#[derive(Clone, Debug)]
pub(super) struct ExpectedTree<'a> {
    /// The clone in which the round was applied.
    pub clone: &'a LocalClone,
    /// Id of the tree, hex.
    pub tree: String,
}

impl ExpectedTree<'_> {
    /// Compares the tree with the one that the new commits of the branch make.
    async fn detect(&self, before: &str, theirs: &Patch) -> Result<MergeDetection> {
        let made = applied::tree_of_commits(self.clone, before, theirs).await?;
        Ok(match made {
            Some(tree) if tree == self.tree => MergeDetection::Yes,
            Some(_) => MergeDetection::No,
            None => MergeDetection::Unknown(
                "the commits that the knot shows do not apply to the branch as it was".to_owned(),
            ),
        })
    }
}

/// How far back a log is read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until<'a> {
    /// Back to this commit, exclusive.
    Commit(&'a str),
    /// Back to a page of commits older than this time, in seconds since the epoch. Every commit of
    /// the page must be older, because a single one may have a wrong date.
    Time(i64),
}

impl Until<'_> {
    /// Limits the search to commits since the submission of the round.
    pub(super) fn submitted(located: &LocatedPull) -> Self {
        let pull = &located.pull;
        let round = pull.latest().and_then(|(_, round)| round.created_at);
        Self::since(round.unwrap_or(pull.created_at))
    }

    /// Limits the search to commits since `at`, a time by another account's clock.
    pub(super) fn since(at: Timestamp) -> Self {
        let at = at.unix();
        // A time in the future proves nothing, so the search is then not limited.
        let said = at <= Timestamp::now().unix().saturating_add(CLOCKS_DIFFER);
        Self::Time(match said {
            true => at.saturating_sub(CLOCKS_DIFFER),
            false => i64::MIN,
        })
    }

    /// Returns true if a commit may come from a merge within the limit.
    ///
    /// The commit time decides, because a merge makes new commits with new commit times.
    fn leaves(self, made: &Made) -> bool {
        match self {
            Self::Commit(_) => true,
            Self::Time(since) => made.committed >= since,
        }
    }
}

/// The identity of a commit in a series: its subject, its author's address and its author time. An
/// amended commit keeps all three.
type Key<'a> = (&'a str, &'a str, i64);

/// A commit of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Made {
    oid: Option<String>,
    parent: Option<String>,
    subject: String,
    email: String,
    /// Author time.
    at: i64,
    /// Commit time.
    committed: i64,
}

impl Made {
    fn key(&self) -> Key<'_> {
        (bare(&self.subject), &self.email, self.at)
    }
}

/// Commits of a branch, newest first.
struct Log {
    commits: Vec<Made>,
    /// True if the log goes back as far as requested.
    whole: bool,
    /// Number of commits that could not be read; `commits` lacks them.
    unread: usize,
}

impl Tangled {
    /// Searches the branch with the tip `tip` for the changes of a patch.
    ///
    /// Only commits within `until` count. `names` matters only for a plain diff: it lists the
    /// subjects that the commit of the diff may have. A merge would now use the first of them. So a
    /// commit with the first subject gives [`MergeDetection::Perhaps`] even if nothing proves that
    /// it has the changes. A commit with another subject counts only with a proof.
    pub(super) async fn landed_in(
        &self,
        located: &LocatedPull,
        patch: &Patch,
        tip: &str,
        until: Until<'_>,
        names: &[String],
    ) -> Result<MergeDetection> {
        let repository = &located.repository;
        let mails = patch.mails.as_slice();
        let log = self.log(repository, tip, until, mails).await?;
        let series = of_series(&log.commits, mails);
        if self.make_series(repository, &series, mails).await? {
            return Ok(MergeDetection::Yes);
        }
        if let Some(made) = series.iter().find(|made| until.leaves(made)) {
            return Ok(MergeDetection::Perhaps(made.subject.clone()));
        }
        if mails.is_empty() {
            let alike = called(&log.commits, names, until);
            for made in alike.iter().take(MAX_ALIKE) {
                if self.makes(repository, made, patch).await? {
                    return Ok(MergeDetection::Yes);
                }
            }
            let now = names.first();
            if let Some(made) = alike.iter().find(|made| Some(&made.subject) == now) {
                return Ok(MergeDetection::Perhaps(made.subject.clone()));
            }
        }
        let base = one_line(&located.pull.base);
        Ok(match (log.whole, log.unread) {
            (true, 0) => MergeDetection::No,
            (false, 0) => MergeDetection::Unknown(format!(
                "the knot shows only {} commits of '{base}', and the change may be in an earlier \
                 commit",
                log.commits.len(),
            )),
            (_, unread) => MergeDetection::Unknown(format!(
                "{unread} commits of '{base}' cannot be read, and the change may be in one of them"
            )),
        })
    }

    /// Searches the commits from `before` to the tip `after` for the changes of a patch.
    ///
    /// If these commits are exactly the changes, one request proves it. They must also make the
    /// `expected` tree, if it is known: equal lines can be at another place. `name` is the subject
    /// that the commit of a plain diff has.
    pub(super) async fn landed_between(
        &self,
        located: &LocatedPull,
        patch: &Patch,
        (before, after): (&str, &str),
        name: String,
        expected: Option<ExpectedTree<'_>>,
    ) -> Result<MergeDetection> {
        // The comparison may fail because others have pushed more commits than forge reads. Then
        // the log is searched instead.
        if let Ok(compared) = self.compare(&located.repository, before, after).await {
            let theirs = Patch::parse(compared.patch.unwrap_or_default().into_bytes());
            match expected {
                // The tree decides. The knot can print the same change in other lines: a renamed
                // file, or another choice of equal lines.
                Some(expected) if are_same_commits(&theirs, patch, &name) => {
                    return expected.detect(before, &theirs).await;
                }
                None if is_whole_change(&theirs, patch, &name) => return Ok(MergeDetection::Yes),
                _ => {}
            }
        }
        let until = Until::Commit(before);
        self.landed_in(located, patch, after, until, &[name]).await
    }

    /// Reads the newest commits page by page, back to `until` or until all commits of a series are
    /// found. The cursor of `sh.tangled.repo.log` is the number of commits on the earlier pages.
    async fn log(
        &self,
        repository: &TangledRepository,
        tip: &str,
        until: Until<'_>,
        mails: &[PatchMail],
    ) -> Result<Log> {
        let knot = self.knot(repository).await?;
        let repo = repository.knot_name();
        let names = &self.settings.dialects;
        let method = &names.methods.knot.log;
        let of = &names.inputs.knot;
        let limit = PAGE.to_string();
        let mut commits: Vec<Made> = Vec::new();
        let mut unread = 0;
        for number in 0..MAX_PAGES {
            let cursor = (number * PAGE).to_string();
            let mut params = vec![
                (&*of.repo, repo.as_str()),
                (&*of.revision, tip),
                ("limit", limit.as_str()),
            ];
            if number > 0 {
                params.push(("cursor", cursor.as_str()));
            }
            let answer: Value = knot.query(method, &params).await?;
            let listed = listed(&answer, &names.answers.knot);
            // A knot that does not know the cursor sends the first page again, so the log is
            // incomplete.
            let first = listed.iter().flatten().next();
            if number > 0 && first.is_some() && first == commits.first() {
                return Ok(Log {
                    commits,
                    whole: false,
                    unread,
                });
            }
            // A branch with a tip has a commit, so an empty log counts as an unread commit.
            if number == 0 && listed.is_empty() {
                unread += 1;
            }
            let is_last = listed.len() < PAGE;
            let there = match until {
                Until::Commit(oid) => {
                    let is = |made: &Made| made.oid.as_deref() == Some(oid);
                    listed.iter().position(|made| made.as_ref().is_some_and(is))
                }
                Until::Time(_) => None,
            };
            let mut page = Vec::new();
            let reach = there.unwrap_or(listed.len());
            for made in listed.into_iter().take(reach) {
                match made {
                    Some(made) => page.push(made),
                    None => unread += 1,
                }
            }
            let is_old = match until {
                Until::Time(since) => page.iter().all(|made| made.committed < since),
                Until::Commit(_) => false,
            };
            commits.append(&mut page);
            if there.is_some() || is_old || is_last || !of_series(&commits, mails).is_empty() {
                return Ok(Log {
                    commits,
                    whole: true,
                    unread,
                });
            }
        }
        Ok(Log {
            commits,
            whole: false,
            unread,
        })
    }

    /// Returns true if these commits, newest first, provably make the changes of a series.
    async fn make_series(
        &self,
        repository: &TangledRepository,
        commits: &[&Made],
        mails: &[PatchMail],
    ) -> Result<bool> {
        // Commits that follow each other are read with a single request.
        let follows =
            |newer: &&Made, older: &&Made| newer.parent.is_some() && newer.parent == older.oid;
        let runs: Vec<&[&Made]> = commits.chunk_by(follows).take(MAX_ALIKE).collect();
        // The printed commits, oldest first.
        let mut printed: Vec<PatchMail> = Vec::new();
        for run in runs {
            let base = run.last().and_then(|oldest| oldest.parent.as_deref());
            let head = run.first().and_then(|newest| newest.oid.as_deref());
            let (Some(base), Some(head)) = (base, head) else {
                continue;
            };
            let compared = self.compare(repository, base, head).await?;
            let mut theirs = Patch::parse(compared.patch.unwrap_or_default().into_bytes());
            theirs.mails.append(&mut printed);
            printed = theirs.mails;
            if has_in_order(&printed, mails, is_same) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns true if a commit provably makes the changes of a plain diff.
    async fn makes(
        &self,
        repository: &TangledRepository,
        made: &Made,
        patch: &Patch,
    ) -> Result<bool> {
        let (Some(oid), Some(parent)) = (&made.oid, &made.parent) else {
            return Ok(false);
        };
        let compared = self.compare(repository, parent, oid).await?;
        let theirs = compared.patch.unwrap_or_default();
        let theirs = Patch::parse(theirs.into_bytes());
        Ok(makes_diff(&theirs, patch))
    }
}

/// Returns true if the knot's patch makes the changes of a plain diff.
///
/// `ours` is converted to UTF-8 with losses, as the knot does it, because JSON has only UTF-8.
fn makes_diff(theirs: &Patch, ours: &Patch) -> bool {
    let ours = ours.diff();
    let ours = String::from_utf8_lossy(&ours);
    patch::same_changes(&theirs.diff(), ours.as_bytes())
}

/// Returns true if the knot's patch has exactly the commits of `ours`, in the same order.
fn is_whole_change(theirs: &Patch, ours: &Patch, name: &str) -> bool {
    let has_same_lines = match ours.mails.as_slice() {
        [] => makes_diff(theirs, ours),
        mails => (theirs.mails.iter().zip(mails)).all(|(made, mail)| is_same(made, mail)),
    };
    has_same_lines && are_same_commits(theirs, ours, name)
}

/// Returns true if the knot's patch has commits of the same subjects, authors and times as `ours`,
/// in the same order and no others, whatever they change. `name` is the subject of a plain diff.
fn are_same_commits(theirs: &Patch, ours: &Patch, name: &str) -> bool {
    match (theirs.mails.as_slice(), ours.mails.as_slice()) {
        ([made], []) => bare(&made.subject) == bare(name),
        (theirs, ours) => {
            let mut pairs = theirs.iter().zip(ours);
            let is_one = |made: &PatchMail, mail: &PatchMail| {
                key_of(made) == key_of(mail) && name_in_commit(made) == name_in_commit(mail)
            };
            !ours.is_empty()
                && theirs.len() == ours.len()
                && pairs.all(|(made, mail)| is_one(made, mail))
        }
    }
}

/// Returns true if each element of `wanted` has an element of its own in `found`, in the same order.
fn has_in_order<F, W>(found: &[F], wanted: &[W], is_it: impl Fn(&F, &W) -> bool) -> bool {
    let mut found = found.iter();
    wanted
        .iter()
        .all(|wanted| found.any(|candidate| is_it(candidate, wanted)))
}

fn key_of(mail: &PatchMail) -> Key<'_> {
    let author = &mail.author;
    (bare(&mail.subject), &author.email, author.at.unix())
}

/// Returns true if a commit that the knot prints equals a commit of the round.
///
/// `git am` drops a CR at the end of a line, and the knot prints UTF-8. So the diffs are compared
/// without CR and as UTF-8.
pub(super) fn is_same(theirs: &PatchMail, ours: &PatchMail) -> bool {
    let diff = |mail: &PatchMail| String::from_utf8_lossy(&mail.diff).replace("\r\n", "\n");
    key_of(theirs) == key_of(ours)
        && name_in_commit(theirs) == name_in_commit(ours)
        && patch::same_changes(diff(theirs).as_bytes(), diff(ours).as_bytes())
}

/// Returns the author's name as git writes it into a commit: without punctuation at both ends
/// (`ident.c`, `strbuf_addstr_without_crud`).
fn name_in_commit(mail: &PatchMail) -> &str {
    let is_dropped = |c: char| c <= ' ' || ".,:;<>\"\\'".contains(c);
    mail.author.name.trim_matches(is_dropped)
}

/// Returns the commits of a log that can be those of a series, newest first.
///
/// Commit ids are not compared, because a merge on tangled applies each commit under a new id.
/// Returns no commits if one commit of the series is missing, was reverted, or comes before a commit
/// that it follows in the series. Two equal mails need two commits.
fn of_series<'a>(log: &'a [Made], mails: &[PatchMail]) -> Vec<&'a Made> {
    let wanted: HashSet<Key<'_>> = mails.iter().map(key_of).collect();
    let found = not_reverted(log, |made| wanted.contains(&made.key()));
    let newest_first: Vec<&PatchMail> = mails.iter().rev().collect();
    match has_in_order(&found, &newest_first, |made, mail| {
        made.key() == key_of(mail)
    }) {
        true => found,
        false => Vec::new(),
    }
}

/// Returns the commits with one of these subjects that were not reverted, newest first.
fn called<'a>(log: &'a [Made], names: &[String], until: Until<'_>) -> Vec<&'a Made> {
    not_reverted(log, |made| {
        until.leaves(made) && names.contains(&made.subject)
    })
}

/// Returns the wanted commits of a log, newest first, without those that were reverted later.
fn not_reverted(log: &[Made], is_wanted: impl Fn(&Made) -> bool) -> Vec<&Made> {
    let mut reverted: HashSet<&str> = HashSet::new();
    let mut found = Vec::new();
    for made in log {
        if is_wanted(made) && !reverted.contains(made.subject.as_str()) {
            found.push(made);
        }
        reverted.extend(reverts(&made.subject));
    }
    found
}

/// Returns the subject of the reverted commit, from the subject that `git revert` writes.
fn reverts(subject: &str) -> Option<&str> {
    subject.strip_prefix("Revert \"")?.strip_suffix('"')
}

/// Returns the subject of a commit message: its first paragraph on one line, as
/// `git log --format=%s` prints it.
pub(super) fn subject_of(message: &str) -> String {
    let lines = message.lines().map(str::trim);
    let lines = lines.skip_while(|line| line.is_empty());
    let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    lines.join(" ")
}

/// Returns a subject without the mail marks that `git am` removes: leading `[…]` and `Re:`.
pub(super) fn bare(subject: &str) -> &str {
    let mut rest = subject.trim();
    loop {
        let marked = match rest.strip_prefix('[') {
            Some(inner) => inner.split_once(']').map(|(_, behind)| behind),
            None => rest
                .get(..3)
                .filter(|mark| mark.eq_ignore_ascii_case("re:"))
                .and_then(|_| rest.get(3..)),
        };
        match marked {
            Some(behind) => rest = behind.trim_start(),
            None => return rest,
        }
    }
}

/// Returns the commits of a page of a knot's log, in the order of the page. `None` stands for a
/// commit that cannot be read, which may be the wanted one.
fn listed(answer: &Value, names: &KnotAnswers) -> Vec<Option<Made>> {
    let read = |value: &Value| {
        let mut found = Vec::new();
        collect_commits(value, names, &mut found);
        found
    };
    match answer.field(&names.commits).unwrap_or(answer).as_array() {
        Some(list) => list.iter().map(|it| read(it).into_iter().next()).collect(),
        None => read(answer).into_iter().map(Some).collect(),
    }
}

/// Collects the commits of a log. Knots have changed the form of the log, so the keys are found at
/// any depth, in upper or lower case.
fn collect_commits(value: &Value, names: &KnotAnswers, out: &mut Vec<Made>) {
    match value {
        Value::Array(list) => list.iter().for_each(|v| collect_commits(v, names, out)),
        Value::Object(map) => {
            let get = |name: &str| {
                let found = map.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value)
            };
            let of = |who: &str, name: &str| {
                let mut fields = get(who)?.as_object()?.iter();
                let found = fields.find(|(key, _)| key.eq_ignore_ascii_case(name))?;
                found.1.as_str()
            };
            let time = |who: &str| {
                let at = of(who, &names.person_when)?.parse::<Timestamp>().ok()?;
                Some(at.unix())
            };
            let message = get(&names.commit_message).and_then(Value::as_str);
            let author = &names.commit_author;
            if let (Some(message), Some(email), Some(at)) =
                (message, of(author, &names.person_email), time(author))
            {
                let parents = get(&names.commit_parents).or_else(|| get(&names.commit_parents_too));
                out.push(Made {
                    oid: get(&names.commit_hash).and_then(oid),
                    parent: parents.and_then(|p| oid(p.as_array()?.first()?)),
                    subject: subject_of(message),
                    email: email.to_owned(),
                    at,
                    committed: time(&names.commit_committer).unwrap_or(at),
                });
            }
            map.values().for_each(|v| collect_commits(v, names, out));
        }
        _ => {}
    }
}

/// Returns the id of a git object: a hex text, or an array of bytes as Go prints it.
fn oid(value: &Value) -> Option<String> {
    if let Some(hex) = value.as_str() {
        return Some(hex.to_ascii_lowercase());
    }
    let bytes = value.as_array()?;
    let byte = |b: &Value| u8::try_from(b.as_u64()?).ok().map(|b| format!("{b:02x}"));
    bytes.iter().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{dialect::Table as _, field_rename::tests::other_names};

    fn made(subject: &str) -> Made {
        Made {
            oid: None,
            parent: None,
            subject: subject.to_owned(),
            email: "a@x.example".to_owned(),
            at: 7,
            committed: 70,
        }
    }

    fn mails(subjects: &[&str]) -> Vec<PatchMail> {
        let text = subjects.iter().fold(String::new(), |text, subject| {
            text + "From 1111111111111111111111111111111111111111 Mon Sep 17 00:00:00 2001\n"
                + "From: A <a@x.example>\nDate: Thu, 1 Jan 1970 00:00:07 +0000\n"
                + &format!("Subject: [PATCH] {subject}\n\n---\n")
        });
        Patch::parse(text.into_bytes()).mails
    }

    #[test]
    fn series_is_merged_if_every_commit_is_unreverted() {
        let two = mails(&["[core] One", "Two"]);
        assert_eq!(two.len(), 2);
        let holds = |log: &[Made], mails: &[PatchMail]| !of_series(log, mails).is_empty();
        for (log, there) in [
            // `git am` removes the text in brackets, so `One` and `[core] One` both match.
            (&["More", "Two", "One", "Old"][..], true),
            (&["Two", "[core] One"], true),
            (&["Two"], false),
            (&["Revert \"Two\"", "Two", "One"], false),
            (&["Two", "Revert \"Two\"", "Two", "One"], true),
            (&["two", "One"], false),
        ] {
            let log: Vec<Made> = log.iter().map(|s| made(s)).collect();
            assert_eq!(holds(&log, &two), there, "{log:?}");
        }
        // Each mail needs a commit of its own, in the order of the series.
        let twice = mails(&["One", "One", "Two"]);
        for (log, there) in [
            (&["Two", "One", "One"][..], true),
            (&["Two", "More", "One", "More", "One"], true),
            (&["Two", "One"], false),
            (&["One", "Two", "One"], false),
            (&["Two", "Two", "One"], false),
        ] {
            let log: Vec<Made> = log.iter().map(|s| made(s)).collect();
            assert_eq!(holds(&log, &twice), there, "{log:?}");
        }
        assert!(!holds(&[made("One"), made("Two")], &mails(&["One", "Two"])));
        let other = |change: fn(&mut Made)| {
            let mut log = vec![made("Two"), made("One")];
            log.iter_mut().for_each(change);
            holds(&log, &two)
        };
        assert!(!other(|m| m.at = 8) && !other(|m| m.email.clear()));
        assert!(other(|m| m.committed = 0) && !holds(&[made("One")], &[]));
    }

    #[test]
    fn mails_match_by_author_time_subject_and_lines() {
        let mail = |subject: &str, line: &str| {
            let diff = format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n{line}\n");
            let mut mail = mails(&[subject]).remove(0);
            mail.diff = diff.into_bytes();
            mail
        };
        let ours = mail("One", "+b");
        for (theirs, same) in [
            (mail("One", "+b"), true),
            (mail("One", "+b\r"), true),
            (mail("One", "+c"), false),
            (mail("Two", "+b"), false),
        ] {
            assert_eq!(is_same(&theirs, &ours), same, "{theirs:?}");
        }
    }

    #[test]
    fn mails_match_by_name_of_author() {
        let mail = |name: &str, email: &str| {
            let mut mail = mails(&["One"]).remove(0);
            mail.diff = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n".to_vec();
            (mail.author.name, mail.author.email) = (name.to_owned(), email.to_owned());
            mail
        };
        let ours = mail("Ada L.", "a@x.example");
        for (theirs, same) in [
            (mail("Ada L.", "a@x.example"), true),
            // git writes no punctuation at the ends of a name.
            (mail("Ada L", "a@x.example"), true),
            (mail("Eve", "a@x.example"), false),
            (mail("", "a@x.example"), false),
            (mail("Ada L.", "e@x.example"), false),
        ] {
            assert_eq!(is_same(&theirs, &ours), same, "{theirs:?}");
        }
        let wanted = [ours.clone(), ours.clone()];
        assert!(!has_in_order(&wanted[..1], &wanted, is_same));
        assert!(has_in_order(&wanted, &wanted, is_same));
        let eve = mail("Eve", "a@x.example");
        assert!(has_in_order(
            &[ours.clone(), eve.clone(), ours.clone()],
            &wanted,
            is_same
        ));
        let swapped = [eve.clone(), ours.clone()];
        assert!(!has_in_order(&swapped, &[ours, eve], is_same));
    }

    #[test]
    fn change_between_tips_is_whole_or_unproved() {
        let printed = |subjects: &[&str]| {
            let mails = mails(subjects).into_iter().map(|mut mail| {
                mail.diff = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n".to_vec();
                mail
            });
            let mut patch = Patch::parse(Vec::new());
            patch.mails = mails.collect();
            patch
        };
        let two = printed(&["One", "Two"]);
        for (theirs, whole) in [
            (&["One", "Two"][..], true),
            (&["Two", "One"], false),
            (&["One"], false),
            (&["One", "Two", "Three"], false),
            (&[], false),
        ] {
            assert_eq!(
                is_whole_change(&printed(theirs), &two, ""),
                whole,
                "{theirs:?}"
            );
        }
        let plain = Patch::parse(b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n".to_vec());
        assert!(plain.mails.is_empty());
        for (theirs, name, whole) in [
            (&["One"][..], "One", true),
            (&["One"], "Two", false),
            (&["One", "Two"], "One", false),
            (&[], "One", false),
        ] {
            assert_eq!(
                is_whole_change(&printed(theirs), &plain, name),
                whole,
                "{theirs:?}"
            );
        }
        let mut other = printed(&["One"]);
        other.mails[0].diff = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+c\n".to_vec();
        assert!(!is_whole_change(&other, &plain, "One"));
    }

    #[test]
    fn commits_with_subject_exclude_reverted_and_older() {
        let names = ["One".to_owned()];
        let log = [made("One"), made("Revert \"One\""), made("One")];
        let count = |until| called(&log, &names, until).len();
        assert_eq!(count(Until::Commit("x")), 1);
        assert_eq!(count(Until::Time(70)), 1);
        assert_eq!(count(Until::Time(71)), 0);
    }

    #[test]
    fn commit_log_of_every_form_is_read() {
        let usual = KnotAnswers::usual();
        let who = json!({"Name": "A", "Email": "a@x.example", "When": "1970-01-01T00:00:07Z"});
        let go = json!({"commits": [{
            "Hash": [1, 255], "ParentHashes": [[2, 16], [3, 3]], "Author": who,
            "Committer": {"When": "1970-01-01T00:01:10Z"}, "Message": "\nOne\nand more\n\nBody\n",
        }]});
        let wanted = Made {
            oid: Some("01ff".to_owned()),
            parent: Some("0210".to_owned()),
            ..made("One and more")
        };
        let mut read = Vec::new();
        collect_commits(&go, usual, &mut read);
        assert_eq!(read, [wanted]);
        let other = json!([{"commit": {
            "hash": "01FF", "message": "Two", "author": {"email": "a@x.example", "when": "1970-01-01T00:00:07Z"},
        }}]);
        let mut read = Vec::new();
        collect_commits(&other, usual, &mut read);
        let wanted = Made {
            oid: Some("01ff".to_owned()),
            committed: 7,
            ..made("Two")
        };
        assert_eq!(read, [wanted]);
        assert_eq!(oid(&json!([256])), None);
    }

    #[test]
    fn commit_log_is_read_by_configured_names() {
        let who = |at: &str| json!({ "XKnotAnswerPersonEmail": "a@x.example", "XKnotAnswerPersonWhen": at });
        for parents in ["XKnotAnswerCommitParents", "xknotanswercommitparentstoo"] {
            let commit = json!({
                "XKnotAnswerCommitHash": "01ff", "XKnotAnswerCommitMessage": "One", (parents): ["02"],
                "XKnotAnswerCommitAuthor": who("1970-01-01T00:00:07Z"),
                "XKnotAnswerCommitCommitter": who("1970-01-01T00:01:10Z"),
            });
            let answer = json!({ "xknotanswercommits": [commit, "no commit"], "commits": [] });
            let wanted = Made {
                oid: Some("01ff".to_owned()),
                parent: Some("02".to_owned()),
                ..made("One")
            };
            let read = listed(&answer, &other_names().knot);
            assert_eq!(read, [Some(wanted), None]);
            let usual = listed(&answer, KnotAnswers::usual());
            assert!(usual.is_empty(), "{usual:?}");
        }
    }

    #[test]
    fn malformed_commit_in_log_is_still_listed() {
        let usual = KnotAnswers::usual();
        let whole = json!({
            "hash": "00", "message": "One",
            "author": {"email": "a@x.example", "when": "1970-01-01T00:00:07Z"},
        });
        for (author, why) in [
            (json!({"when": "1970-01-01T00:00:07Z"}), "no address"),
            (
                json!({"email": "a@x.example", "when": "at seven"}),
                "no time",
            ),
            (json!("Ada"), "another form"),
        ] {
            let mut broken = whole.clone();
            broken["author"] = author;
            for answer in [
                json!({ "commits": [whole, broken] }),
                json!([{ "commit": whole }, broken]),
            ] {
                let read: Vec<bool> = listed(&answer, usual).iter().map(Option::is_some).collect();
                assert_eq!(read, [true, false], "{why}: {answer}");
            }
        }
        assert!(listed(&json!({ "commits": null }), usual).is_empty());
    }
}
