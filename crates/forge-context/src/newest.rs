//! Keeps only the newest entries of long sections. A warning tells how to read the older entries.

use forge_core::{
    Action, Hint, Op, Param, Warning,
    model::{CheckStatus, PullRequest},
};

/// Maximum number of entries per section.
pub const MAX_ENTRIES: usize = 100;

/// Removes old comments, reviews, threads and checks from `pull`. Runs after the merge verdict was
/// computed, because the verdict needs all entries. Open threads and failed checks are removed
/// last.
pub(crate) fn cut_sections(pull: &mut PullRequest, warnings: &mut Vec<Warning>) {
    let mut told = |section: &str, left: usize, all: usize| {
        if left > 0 {
            let kept = all - left;
            let message = format!("{kept} of {all} {section} are shown; {left} are left out");
            let read = Action::op(Op::PrView)
                .on(&pull.id.key)
                .with(Param::Include, section);
            let hint = Hint::new("read all of them").with_action(read);
            warnings.push(Warning::new(message).with_hint(hint));
        }
    };
    if let Some(comments) = &mut pull.comments {
        let all = comments.len();
        told("comments", keep_newest(comments, |_| false), all);
    }
    if let Some(reviews) = &mut pull.reviews {
        let all = reviews.len();
        told("reviews", keep_newest(reviews, |_| false), all);
    }
    if let Some(threads) = &mut pull.threads {
        let all = threads.len();
        told(
            "threads",
            keep_newest(threads, |thread| thread.resolved),
            all,
        );
    }
    if let Some(report) = &mut pull.checks {
        let all = report.checks.len();
        let is_over = |status| matches!(status, CheckStatus::Success | CheckStatus::Skipped);
        let left = keep_newest(&mut report.checks, |check| is_over(check.status));
        told("checks", left, all);
    }
}

/// Removes the oldest entries until [`MAX_ENTRIES`] are left, and returns how many were removed.
/// Entries for which `first` is true are removed before other entries.
fn keep_newest<T>(all: &mut Vec<T>, first: impl Fn(&T) -> bool) -> usize {
    let over = all.len().saturating_sub(MAX_ENTRIES);
    let mut left = over;
    all.retain(|entry| {
        let goes = left > 0 && first(entry);
        left -= usize::from(goes);
        !goes
    });
    all.drain(..left);
    over
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{pull, thread};

    #[test]
    fn long_sections_keep_newest_and_open_items() {
        let mut pull = pull();
        let threads = (0..250).map(|n| {
            let mut one = thread(n % 5 != 0);
            one.id = n.to_string();
            one
        });
        pull.threads = Some(threads.collect());
        let mut warnings = Vec::new();
        cut_sections(&mut pull, &mut warnings);
        let kept = pull.threads.unwrap();
        assert_eq!(kept.len(), MAX_ENTRIES);
        assert_eq!(kept.iter().filter(|t| !t.resolved).count(), 50);
        assert_eq!(kept.last().unwrap().id, "249");
        let said = "100 of 250 threads are shown; 150 are left out";
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].message, said);
    }
}
