//! The comments of the last pull request whose comments were listed.
//!
//! An id may lead anywhere, so who changes a comment asks first whether it is of the pull request
//! that it is named with. Of a comment that was listed there it is known.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use forge_core::PrId;

/// A name can come to mean another repository while a server runs.
const FRESH: Duration = Duration::from_secs(300);

/// The ids that were listed.
#[derive(Debug, Default)]
pub(crate) struct Listed(Mutex<Option<Of>>);

#[derive(Debug)]
struct Of {
    pr: PrId,
    at: Instant,
    ids: HashSet<String>,
}

impl Listed {
    /// Keeps a page of what `pr` has, beside the pages before it; what another one has is forgotten.
    pub fn keep(&self, pr: &PrId, ids: impl Iterator<Item = String>) {
        let mut listed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match listed.as_mut().filter(|of| of.is_fresh(pr)) {
            Some(of) => of.ids.extend(ids),
            None => {
                *listed = Some(Of {
                    pr: pr.clone(),
                    at: Instant::now(),
                    ids: ids.collect(),
                });
            }
        }
    }

    /// Whether `pr` is known to have it.
    pub fn has(&self, pr: &PrId, id: &str) -> bool {
        let listed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        listed
            .as_ref()
            .is_some_and(|of| of.is_fresh(pr) && of.ids.contains(id))
    }
}

impl Of {
    fn is_fresh(&self, pr: &PrId) -> bool {
        self.pr == *pr && self.at.elapsed() < FRESH
    }
}

#[cfg(test)]
mod tests {
    use forge_core::{ForgeKind, RepoId, RepoPath};

    use super::*;

    #[test]
    fn what_one_has_is_of_no_other() {
        let repo = RepoId {
            kind: ForgeKind::GITHUB,
            host: "github.com".to_owned(),
            path: RepoPath::Named {
                owner: "o".to_owned(),
                name: "r".to_owned(),
            },
        };
        let [seven, eight] = [7, 8].map(|number| PrId::number(repo.clone(), number));
        let listed = Listed::default();
        let keep = |pr, id: &str| listed.keep(pr, std::iter::once(id.to_owned()));
        keep(&seven, "IC_1");
        keep(&seven, "IC_2");
        assert!(listed.has(&seven, "IC_1") && listed.has(&seven, "IC_2"));
        assert!(!listed.has(&seven, "IC_3") && !listed.has(&eight, "IC_1"));
        keep(&eight, "IC_3");
        assert!(listed.has(&eight, "IC_3") && !listed.has(&eight, "IC_1"));
        assert!(!listed.has(&seven, "IC_1"));
    }
}
