//! Judges which pull requests a branch name stands for.
//!
//! A pull request is a record in its author's account, so anybody can write one that names any
//! branch of any repository as its head.

use std::sync::{Mutex, PoisonError};

use forge_core::{
    PrKey,
    model::{BranchClaim, HeadMatches, UnprovenPull},
};

use super::{record::TangledPull, status::Writers};
use crate::repository::TangledRepository;

/// Returns whether a pull request stands for the branch of `repository` that it names as its head.
pub(crate) fn branch_claim(
    repository: &TangledRepository,
    pull: &TangledPull,
    writers: &Writers,
) -> BranchClaim {
    if pull.fork(repository).is_some() {
        return BranchClaim::OtherRepository;
    }
    BranchClaim::of_author(writers.may_push(pull.author()))
}

/// The search for the pull requests of a head branch.
#[derive(Debug)]
pub(super) struct HeadClaims {
    writers: Writers,
    /// DID of the account in `owner:branch`.
    owner: Option<String>,
    refused: Mutex<HeadMatches>,
}

impl HeadClaims {
    pub fn new(writers: Writers, owner: Option<String>) -> Self {
        Self {
            writers,
            owner,
            refused: Mutex::default(),
        }
    }

    /// Returns true if the branch name selects `pull`. Notes a pull request that only claims the
    /// branch.
    pub fn accepts(&self, repository: &TangledRepository, pull: &TangledPull) -> bool {
        let claim = branch_claim(repository, pull, &self.writers);
        if let Some(owner) = &self.owner {
            let is_own_branch =
                *owner == repository.owner.did && claim != BranchClaim::OtherRepository;
            if pull.author() == owner {
                return true;
            }
            if !is_own_branch {
                return false;
            }
        }
        if claim == BranchClaim::Proven {
            return true;
        }
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.add_unproven(PrKey::Record(pull.record.uri.clone()), claim);
        false
    }

    /// Returns the pull requests that claim the branch in vain, or at least the first of them.
    pub fn unproven(&self) -> Vec<UnprovenPull> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.unproven.clone()
    }
}
