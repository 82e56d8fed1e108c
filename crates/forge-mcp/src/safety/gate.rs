//! Checks whether a call may access a repository.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use forge_core::{Error, ErrorKind, PrId, Repo, RepoId, RepoPath, Result, Trust, text::one_line};
use tokio::sync::OnceCell;

use super::{AllowList, allow::canonical};

/// The allow lists, and a cache of the names under which forges know repositories.
#[derive(Debug)]
pub(crate) struct AccessGate {
    read: AllowList,
    paths: AllowList,
    write: AllowList,
    /// Directories that are allowed although neither `--allow-repo` nor `--allow-path` lists them,
    /// such as the start directory. Symbolic links are resolved.
    own: OnceCell<Vec<PathBuf>>,
    /// The names that forges have confirmed; the map's key is the requested name in canonical form.
    known: Mutex<HashMap<String, KnownRepo>>,
}

/// The names of a repository, as its forge confirms them.
#[derive(Clone, Debug)]
struct KnownRepo {
    id: RepoId,
    aliases: Vec<RepoId>,
    asked: Instant,
}

/// Maximum number of repositories whose names are remembered.
const MAX_REPOS: usize = 1_000;

/// How long a name is remembered. A repository can be renamed while the server runs.
const CACHE_LIFETIME: Duration = Duration::from_secs(300);

impl AccessGate {
    pub fn new(read: AllowList, paths: AllowList, write: AllowList) -> Self {
        Self {
            read,
            paths,
            write,
            own: OnceCell::new(),
            known: Mutex::default(),
        }
    }

    /// Returns true if there are no lists.
    pub fn is_open(&self) -> bool {
        self.read.is_empty() && self.write.is_empty()
    }

    /// Returns true if a list restricts reads, or writes if `write` is set.
    pub fn restricts(&self, write: bool) -> bool {
        !self.read.is_empty() || (write && !self.write.is_empty())
    }

    /// Returns true if checking `id` needs the list `own`, because `id` is a directory that no
    /// allow list has.
    pub fn needs_own(&self, id: &RepoId) -> bool {
        matches!(id.path, RepoPath::Dir(_)) && !self.is_listed(id)
    }

    /// Stores the directories that are allowed although no allow list has them. Runs `own` only
    /// once.
    pub async fn learn_own(&self, own: impl Future<Output = Vec<PathBuf>>) {
        self.own.get_or_init(|| own).await;
    }

    /// Returns the trust in a directory. If the server was started in the directory, or if a list
    /// names it without a wildcard, a person chose the directory. Otherwise the caller of a tool
    /// chose it.
    pub fn trust(&self, id: &RepoId) -> Trust {
        let RepoPath::Dir(path) = &id.path else {
            return Trust::Named;
        };
        let path = canonical(path);
        let mut listed = self.read.directories().chain(self.paths.directories());
        match self.is_own(&path) || listed.any(|dir| dir == path) {
            true => Trust::Named,
            false => Trust::Guarded,
        }
    }

    /// Refuses a guarded repository that borrows objects from a directory that no list allows. A
    /// branch could show commits of that other repository.
    ///
    /// # Errors
    ///
    /// Fails with `permission_denied`.
    pub fn check_borrowed_objects(&self, id: &RepoId) -> Result<()> {
        let RepoPath::Dir(path) = &id.path else {
            return Ok(());
        };
        let mut open = vec![path.clone()];
        let mut known = HashSet::new();
        while let Some(path) = open.pop() {
            let borrowed = forge_git::borrowed_objects(&path);
            let borrowed = borrowed.map_err(|why| borrowed_error(id, &why))?;
            for objects in borrowed {
                let lender = objects.parent().and_then(forge_git::root_at);
                let is_allowed = |dir: &PathBuf| {
                    let lender = RepoId::local(dir.clone());
                    objects.ends_with("objects") && self.check(&lender, false).is_ok()
                };
                let Some(lender) = lender.filter(is_allowed) else {
                    let why = format!("it names {}", one_line(&objects.to_string_lossy()));
                    return Err(borrowed_error(id, &why));
                };
                if known.insert(lender.clone()) {
                    open.push(lender);
                }
            }
        }
        Ok(())
    }

    /// Returns the listed work trees whose repository is in another directory (`git worktree`).
    pub fn linked(&self) -> impl Iterator<Item = &Path> {
        let listed = self.read.directories().chain(self.paths.directories());
        listed.filter(|dir| dir.join(".git").is_file())
    }

    fn is_own(&self, path: &Path) -> bool {
        let mut own = self.own.get().into_iter().flatten();
        own.any(|dir| dir == path)
    }

    /// Returns true if a list allows this directory.
    fn is_listed(&self, id: &RepoId) -> bool {
        self.read.lists(id) || self.paths.lists(id)
    }

    /// Checks a name before any request. A handle and a DID count as different names here, because
    /// comparing them would send a request to a host of the caller's choice.
    ///
    /// # Errors
    ///
    /// Fails with `permission_denied`.
    pub fn check(&self, id: &RepoId, write: bool) -> Result<()> {
        self.check_names(id, &[], write)
    }

    /// Checks a change of the head branch of `pr`, whose repository the forge does not name.
    ///
    /// # Errors
    ///
    /// Fails with `permission_denied` if there are lists.
    pub fn check_unknown_head(&self, pr: &PrId) -> Result<()> {
        if !self.restricts(true) {
            return Ok(());
        }
        let flag = match self.write.is_empty() {
            true => "--allow-repo",
            false => "--allow-write",
        };
        let kind = ErrorKind::PermissionDenied {
            missing: vec![flag.to_owned()],
            sso_url: None,
        };
        let message = format!(
            "this server may not change the head branch of {pr}: its repository was deleted or is \
             not visible, so {flag} does not have it"
        );
        Err(Error::new(kind, message).with_hint("ask the author to update the branch"))
    }

    /// Checks an open repository. The forge may have resolved the requested name to another one,
    /// for example after a rename or transfer. A list must contain one of the names that the forge
    /// confirms.
    ///
    /// # Errors
    ///
    /// Fails with `permission_denied`, or with the error of reading the repository.
    pub async fn check_opened(&self, repo: &Repo, write: bool) -> Result<()> {
        if matches!(repo.id().path, RepoPath::Dir(_)) {
            return self.check(repo.id(), write);
        }
        if !self.restricts(write) {
            return Ok(());
        }
        let real = self.resolve_repo(repo).await?;
        self.check_names(&real.id, &real.aliases, write)
    }

    /// Returns the names that the forge confirms for an open repository.
    ///
    /// # Errors
    ///
    /// Fails if the repository cannot be read.
    pub async fn names(&self, repo: &Repo) -> Result<Vec<RepoId>> {
        let KnownRepo { id, aliases, .. } = self.resolve_repo(repo).await?;
        Ok([vec![id], aliases].concat())
    }

    async fn resolve_repo(&self, repo: &Repo) -> Result<KnownRepo> {
        let key = repo.id().comparison_key();
        let known = self
            .lock()
            .get(&key)
            .filter(|k| k.asked.elapsed() < CACHE_LIFETIME)
            .cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let info = repo.info().await?;
        let known = KnownRepo {
            id: info.id,
            aliases: info.aliases,
            asked: Instant::now(),
        };
        let mut all = self.lock();
        if all.len() >= MAX_REPOS {
            all.clear();
        }
        all.insert(key, known.clone());
        Ok(known)
    }

    fn check_names(&self, id: &RepoId, aliases: &[RepoId], write: bool) -> Result<()> {
        let on = |list: &AllowList| list.has(id) || aliases.iter().any(|alias| list.has(alias));
        if let RepoPath::Dir(path) = &id.path {
            if !self.is_listed(id) && !self.is_own(&canonical(path)) {
                return Err(self.denied_path(id));
            }
        } else if !on(&self.read) {
            return Err(denied(id, "use", "--allow-repo", &self.read));
        }
        if write && !on(&self.write) {
            return Err(denied(id, "change", "--allow-write", &self.write));
        }
        Ok(())
    }

    fn denied_path(&self, id: &RepoId) -> Error {
        let own = match self.read.is_empty() {
            true => "the one that it was started in, ",
            false => "",
        };
        let mut lists = vec![("--allow-repo", &self.read), ("--allow-path", &self.paths)];
        lists.retain(|(_, list)| !list.is_empty());
        let lists: Vec<String> = lists
            .iter()
            .map(|(f, list)| format!("{f} {list}"))
            .collect();
        let lists = match lists.is_empty() {
            true => "no other".to_owned(),
            false => lists.join(", "),
        };
        let missing = vec!["--allow-path".to_owned()];
        Error::new(
            ErrorKind::PermissionDenied {
                missing,
                sso_url: None,
            },
            format!(
                "this server may not use {id}: of the repositories on this machine it may use \
                 {own}{lists}"
            ),
        )
        .with_hint(
            "do not try another spelling: tell the user, who can start the server with \
             --allow-path and the directory of this repository",
        )
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, KnownRepo>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn borrowed_error(id: &RepoId, why: &str) -> Error {
    Error::new(
        ErrorKind::PermissionDenied {
            missing: vec!["--allow-path".to_owned()],
            sso_url: None,
        },
        format!(
            "this server may not use {id}: it borrows objects (objects/info/alternates) from \
             elsewhere: {why}"
        ),
    )
    .with_hint(
        "tell the user, who can start the server with --allow-path and both directories, or copy \
         the objects with git repack -a -d and remove the list",
    )
}

fn denied(id: &RepoId, what: &str, flag: &str, list: &AllowList) -> Error {
    let by_did = match &id.path {
        RepoPath::Did(_) | RepoPath::Record(_) => true,
        RepoPath::Named { owner, .. } => owner.starts_with("did:"),
        RepoPath::Dir(_) => false,
    };
    // The DID may belong to a handle in the list, but only a request could show that. The hint
    // therefore says how to pass the repository.
    let hint = if by_did {
        "pass the repository as the server's list names it (by handle if the list has a handle); \
        if it is not in the list, tell the user, who can add it and restart the server"
    } else {
        "do not try another spelling: tell the user, who can start the server with this repository \
         in the list"
    };
    Error::new(
        ErrorKind::PermissionDenied {
            missing: vec![flag.to_owned()],
            sso_url: None,
        },
        format!("this server may not {what} {id}: {flag} has {list}"),
    )
    .with_hint(hint)
}

#[cfg(test)]
mod tests {
    use forge_core::locator::{self, Hosts};

    use super::*;

    fn id(text: &str) -> RepoId {
        let parsed = locator::parse(text, &Hosts::builtin()).unwrap();
        parsed.locator.repo().unwrap().clone()
    }

    fn gate(pattern: &str) -> AccessGate {
        let list = AllowList::parse(&[pattern.to_owned()], &Hosts::builtin(), RepoId::clone);
        AccessGate::new(list.unwrap(), AllowList::default(), AllowList::default())
    }

    #[test]
    fn allow_list_matches_only_confirmed_names() {
        let handle = id("tangled.org/alice.example/tools");
        let did = id("tangled.org/did:plc:alice/tools");
        let own = id("did:plc:tools");
        let names = [did.clone(), own.clone()];
        for (pattern, first) in [
            ("tangled.org/alice.example/*", true),
            ("tangled.org/did:plc:alice/*", true),
            ("did:plc:tools", true),
            ("tangled.org/bob.example/*", false),
            ("tangled.org/did:plc:bob/*", false),
            ("did:plc:other", false),
        ] {
            let gate = gate(pattern);
            let found = gate.check_names(&handle, &names, false);
            assert_eq!(found.is_ok(), first, "{pattern}");
        }
        // The forge reports a DID for an allowed handle, but the DID does not belong to that
        // handle.
        let answered = gate("tangled.org/alice.example/*").check_names(&did, &[own], false);
        assert_eq!(answered.unwrap_err().code(), "permission_denied");
    }

    #[test]
    fn unresolved_handle_and_did_do_not_match() {
        let handle = "tangled.org/alice.example/tools";
        let did = "tangled.org/did:plc:alice/tools";
        assert!(gate(handle).check(&id(handle), false).is_ok());
        assert!(gate(did).check(&id(did), false).is_ok());
        let e = gate(handle).check(&id(did), false).unwrap_err();
        assert!(
            e.hint()
                .unwrap()
                .text()
                .contains("by handle if the list has a handle")
        );
        assert!(gate(did).check(&id(handle), false).is_err());
        assert!(
            gate("tangled.org/alice.example/*")
                .check(&id(did), false)
                .is_err()
        );
        assert!(
            gate("tangled.org/alice.example/*")
                .check(&id("did:plc:alice"), false)
                .is_err()
        );
    }
}
