//! Which repositories a call may reach.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use forge_core::{Error, ErrorKind, Repo, RepoId, RepoPath, Result};

use super::AllowList;

/// The two lists, and what has been learnt of names that mean other repositories.
#[derive(Debug)]
pub(crate) struct Gate {
    read: AllowList,
    write: AllowList,
    /// Key of a repository as it was named to the id that its forge answers with.
    renamed: Mutex<HashMap<String, RepoId>>,
}

/// How many names are remembered.
const REMEMBERED: usize = 1_000;

impl Gate {
    pub fn new(read: AllowList, write: AllowList) -> Self {
        Self {
            read,
            write,
            renamed: Mutex::default(),
        }
    }

    /// Before anything is sent.
    ///
    /// # Errors
    /// `permission_denied`.
    pub fn check(&self, id: &RepoId, write: bool) -> Result<()> {
        if !self.read.has(id) {
            return Err(denied(id, "use", "--allow-repo", &self.read));
        }
        if write && !self.write.has(id) {
            return Err(denied(id, "change", "--allow-write", &self.write));
        }
        Ok(())
    }

    /// Once it is open: a forge may answer an old name with a repository of another name.
    ///
    /// # Errors
    /// `permission_denied`; what the forge says of the repository.
    pub async fn check_opened(&self, repo: &Repo, write: bool) -> Result<()> {
        if self.read.is_empty() && (self.write.is_empty() || !write) {
            return Ok(());
        }
        if matches!(repo.id().path, RepoPath::Dir(_)) {
            return self.check(repo.id(), write);
        }
        let key = repo.id().comparison_key();
        let known = self.lock().get(&key).cloned();
        let real = match known {
            Some(id) => id,
            None => {
                let id = repo.info().await?.id;
                let mut renamed = self.lock();
                if renamed.len() >= REMEMBERED {
                    renamed.clear();
                }
                renamed.insert(key, id.clone());
                id
            }
        };
        // The name that was allowed is a handle, and the forge answers with what never changes.
        if self.read.cannot_tell(&real) {
            return Ok(());
        }
        self.check(&real, write)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, RepoId>> {
        self.renamed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn denied(id: &RepoId, what: &str, flag: &str, list: &AllowList) -> Error {
    Error::new(
        ErrorKind::PermissionDenied { missing: vec![flag.to_owned()], sso_url: None },
        format!("this server may not {what} {id}: {flag} has {list}"),
    )
    .with_hint(
        "do not try another spelling: tell the user, who can start the server with this repository in the list",
    )
}
