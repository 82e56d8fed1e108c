//! Writes the events of pull requests.

use forge_core::{Error, ErrorKind, Result, model::PrState};
use forge_git::{CatFile, RawCommit, Signing, signature};

use super::{
    EventStore, Index, LogEntry, PullEvent, RefChange, RefConflict, Snapshot, StoredPull,
    WriteRetry, read::broken, refs,
};
use crate::ident::CommitIdentity;

/// The message of the root commit of every chain of events.
const ROOT: &[u8] = b"pull requests of forge, format 1\n\nEach child commit is one event; see docs/local.md of forge.\n";
/// A fixed author, so that every chain of a repository starts at the same root commit.
const ROOT_AUTHOR: &[u8] = b"forge <forge@localhost> 0 +0000";

/// Number of pull requests whose state is read at once.
const BATCH_SIZE: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexChange {
    None,
    Opened,
    Closed,
}

#[derive(Clone, Debug)]
pub(crate) struct NewEvent {
    pub event: PullEvent,
    /// The state after the event. [`EventStore::append`] sets the fields that every event changes.
    pub snapshot: Snapshot,
    pub index: IndexChange,
    /// Changes of other refs, applied before the change of the pull request's ref.
    pub before: Vec<RefChange>,
    /// Changes of other refs, applied after the change of the pull request's ref.
    pub after: Vec<RefChange>,
}

impl NewEvent {
    /// Creates an event that changes only the pull request.
    pub fn new(event: PullEvent, snapshot: Snapshot) -> Self {
        Self {
            event,
            snapshot,
            index: IndexChange::None,
            before: Vec::new(),
            after: Vec::new(),
        }
    }
}

/// Result of one attempt to write an event.
#[derive(Debug)]
pub(crate) enum AppendOutcome {
    /// The pull request after the event.
    Done(Box<StoredPull>),
    /// A concurrent writer was faster.
    Lost(RefConflict),
}

impl EventStore {
    /// Writes a tree with one file.
    pub async fn put_file(&self, name: &str, data: &[u8]) -> Result<String> {
        let blob = self.git.put("blob", data).await?;
        let entry = format!("100644 blob {blob}\t{name}\n");
        let oid = self
            .git
            .run_ok_with_stdin(["mktree"], entry.as_bytes())
            .await?;
        Ok(String::from_utf8_lossy(&oid).trim().to_owned())
    }

    /// Writes the root commit of all chains of events. The first event has the root as its first
    /// parent and the head commit as its second, so `git log --first-parent` shows only the events.
    pub async fn put_root(&self) -> Result<String> {
        let tree = self.git.run_ok_with_stdin(["mktree"], b"").await?;
        let tree = String::from_utf8_lossy(&tree).trim().to_owned();
        let root = RawCommit {
            tree: &tree,
            author: ROOT_AUTHOR,
            committer: ROOT_AUTHOR,
            message: ROOT,
            ..RawCommit::default()
        };
        self.git.put("commit", &root.encode()).await
    }

    /// Writes the commit of an event.
    pub async fn put_event(
        &self,
        tree: &str,
        parents: &[String],
        by: &CommitIdentity,
        message: &str,
    ) -> Result<String> {
        let who = signature(&by.actor, by.at);
        let commit = RawCommit {
            tree,
            parents: parents.iter().map(String::as_str).collect(),
            author: who.as_bytes(),
            committer: who.as_bytes(),
            encoding: None,
            message: message.as_bytes(),
        };
        self.git.put("commit", &commit.encode()).await
    }

    /// Writes the first event of pull request `number`. Also changes the refs in `before`.
    pub async fn open(
        &self,
        cat: &mut CatFile,
        pull: StoredPull,
        by: &CommitIdentity,
        event: PullEvent,
        before: Vec<RefChange>,
    ) -> Result<AppendOutcome> {
        let mut draft = NewEvent::new(event, pull.snapshot.clone());
        draft.index = IndexChange::Opened;
        draft.before = before;
        self.attempt(cat, pull, None, by, draft).await
    }

    /// Writes the next event of `pull`.
    pub async fn append(
        &self,
        cat: &mut CatFile,
        pull: &StoredPull,
        by: &CommitIdentity,
        draft: NewEvent,
    ) -> Result<AppendOutcome> {
        let tip = Some(pull.tip.clone());
        Box::pin(self.attempt(cat, pull.clone(), tip, by, draft)).await
    }

    async fn attempt(
        &self,
        cat: &mut CatFile,
        mut pull: StoredPull,
        previous: Option<String>,
        by: &CommitIdentity,
        draft: NewEvent,
    ) -> Result<AppendOutcome> {
        let NewEvent {
            event,
            mut snapshot,
            index,
            before,
            after,
        } = draft;
        if let Some(tip) = &previous {
            let whole = self.check_chain(tip, pull.snapshot.events).await?;
            whole.map_err(|why| broken(pull.number, why))?;
        }
        let recorded = previous.as_ref().and(pull.snapshot.head_oid.clone());
        snapshot.events += 1;
        snapshot.updated_at = by.at;
        snapshot.format = snapshot.lowest_format();
        if pull.is_open() && snapshot.state != PrState::Merged {
            // A clone that lacks the newest head must not record its older one.
            let is_old = match (&recorded, &pull.head_oid) {
                (Some(_), Some(head)) => self.is_old_head(&pull, head).await?,
                _ => false,
            };
            if !is_old {
                snapshot.head_oid.clone_from(&pull.head_oid);
            }
            snapshot.base_oid.clone_from(&pull.base_oid);
        }
        let mut parents = match &previous {
            Some(tip) => vec![tip.clone()],
            None => vec![self.put_root().await?],
        };
        // The head commit becomes a parent of the event, so that git keeps it after its branch is
        // deleted.
        let head = snapshot
            .head_oid
            .clone()
            .filter(|h| Some(h) != recorded.as_ref());
        let merged = match &event {
            PullEvent::Merged(intent) => vec![intent.onto.clone(), intent.result.clone()],
            _ => Vec::new(),
        };
        for oid in head.into_iter().chain(merged) {
            if !parents.contains(&oid) && cat.info(&oid).await?.is_some() {
                parents.push(oid);
            }
        }
        let entry = LogEntry {
            seq: snapshot.events,
            at: by.at,
            actor: by.actor.clone(),
            head: snapshot.head_oid.clone(),
            event,
        };
        let message = entry.message().map_err(encoding_error)?;
        let tree = self.put_file(refs::PULL_FILE, &snapshot.encode()?).await?;
        let tip = self.put_event(&tree, &parents, by, &message).await?;

        let name = refs::pull(pull.number);
        let new = tip.clone();
        let ours = match previous {
            Some(old) => RefChange::Update { name, new, old },
            None => RefChange::Create { name, new },
        };
        let index_change = self.index_change(cat, pull.number, index).await?;
        let (early, late) = match index {
            IndexChange::Opened => (index_change, None),
            IndexChange::None | IndexChange::Closed => (None, index_change),
        };
        let changes: Vec<_> = before
            .into_iter()
            .chain(early)
            .chain([ours])
            .chain(late)
            .chain(after)
            .collect();
        let reason = format!(
            "forge: #{} {}",
            pull.number,
            message.lines().next().unwrap_or("")
        );
        if let Some(lost) = self.update_refs(&reason, &changes).await? {
            return Ok(AppendOutcome::Lost(lost));
        }
        pull.tip = tip;
        pull.snapshot = snapshot;
        pull.unrecorded_merge = None;
        Ok(AppendOutcome::Done(Box::new(pull)))
    }

    /// Returns true if `head` is an earlier head of the open pull request `pull` than the recorded
    /// one. False if the recorded head was a tip of the branch in this repository: somebody then
    /// moved the branch back here.
    ///
    /// # Errors
    /// `git` if git cannot be run.
    pub async fn is_old_head(&self, pull: &StoredPull, head: &str) -> Result<bool> {
        let Some(recorded) = pull.snapshot.head_oid.as_deref() else {
            return Ok(false);
        };
        // Each recorded head is a parent of its event.
        if recorded == head || !self.git.contains(&pull.tip, head).await? {
            return Ok(false);
        }
        let name = refs::branch(&pull.snapshot.head_branch);
        Ok(!self.git.was_tip(&name, recorded).await?)
    }

    async fn index_change(
        &self,
        cat: &mut CatFile,
        number: u64,
        change: IndexChange,
    ) -> Result<Option<RefChange>> {
        if change == IndexChange::None {
            return Ok(None);
        }
        let loaded = self.index(cat).await?;
        let mut index = loaded.index;
        if loaded.rebuilt {
            // The state of every pull request is checked once, because the rebuilt index is then
            // stored.
            let all: Vec<u64> = index.open.below(u64::MAX).collect();
            let open = |s: &Snapshot| s.state == PrState::Open;
            let mut may_be_open = Vec::new();
            for chunk in all.chunks(BATCH_SIZE) {
                may_be_open.extend(self.preselect(cat, chunk, open).await?);
            }
            index = Index {
                highest: index.highest,
                ..Index::rebuild(may_be_open)
            };
        }
        match change {
            IndexChange::Closed => index.close(number),
            _ => index.open(number),
        }
        let new = self.git.put("blob", index.encode().as_bytes()).await?;
        let name = refs::INDEX.to_owned();
        Ok(match loaded.old {
            Some(old) if old == new => None,
            Some(old) => Some(RefChange::Update { name, new, old }),
            None => {
                self.clear_unreadable_index();
                Some(RefChange::Create { name, new })
            }
        })
    }

    /// Reads pull request `number` for a write. If a merge has moved the base branch but was not
    /// recorded as done, records this first.
    pub async fn read_to_write(
        &self,
        cat: &mut CatFile,
        number: u64,
        attempts: &mut WriteRetry,
    ) -> Result<StoredPull> {
        loop {
            let pull = self.read(cat, number).await?;
            let Some(intent) = pull.unrecorded_merge.clone() else {
                return Ok(pull);
            };
            let by = CommitIdentity {
                actor: intent.by.clone(),
                at: intent.started_at,
                signing: Signing::default(),
            };
            let mut draft = NewEvent::new(PullEvent::Merged(intent), pull.snapshot.clone());
            draft.index = IndexChange::Closed;
            match self.append(cat, &pull, &by, draft).await? {
                AppendOutcome::Done(pull) => return Ok(*pull),
                AppendOutcome::Lost(lost) => attempts.wait_before_retry(lost).await?,
            }
        }
    }
}

pub(super) fn encoding_error(e: serde_json::Error) -> Error {
    Error::new(ErrorKind::Internal, format!("cannot encode an event: {e}")).with_source(e)
}
