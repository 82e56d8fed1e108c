//! A client is killed at one of its requests, and another client repeats the command.

use std::{future::Future, path::Path, time::Duration};

use forge_core::{
    ErrorKind, PrId, PullRequests, RepoId, Timestamp,
    model::{CloseReq, CreatePull, FileEdit, LocalClone, MergeReq, PrState, Resubmit},
};
use forge_tangled::{Tangled, TangledSettings};
use forge_tangled_world::{Repository, Trap};
use forge_testkit::GitDir;
use serde_json::Value;

use crate::{stage::Stage, ticket_records::TicketRecords};

const PULL: &str = "sh.tangled.repo.pull";
const STATUS: &str = "sh.tangled.repo.pull.status";

/// A world, and sessions that outlive their processes.
struct Scene {
    stage: Stage,
    sessions: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        Self {
            stage: Stage::new(),
            sessions: tempfile::tempdir().unwrap(),
        }
    }

    /// Returns a new process that knows only the stored session.
    fn process(&self) -> Tangled {
        self.waiting(self.stage.settings().wait)
    }

    /// Returns a new process that waits up to `wait` for the index.
    fn waiting(&self, wait: Duration) -> Tangled {
        let settings = TangledSettings {
            sessions: Some(self.sessions.path().to_owned()),
            wait,
            ..self.stage.settings()
        };
        self.stage.tangled_with(settings, Some(&self.stage.alice))
    }

    fn set(&self, trap: Option<&Trap>) {
        let (world, index) = (&self.stage.world, self.stage.world.index());
        for host in [
            world.directory().host(),
            world.pds().host(),
            world.knot().host(),
            index.host(),
            index.backlinks(),
        ] {
            host.set_trap(trap.cloned());
        }
    }

    /// Runs `work` until it reaches request `at`, as [`Trap::around_writes`] counts; returns whether
    /// the request was reached.
    async fn until(
        &self,
        at: u64,
        after: bool,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> bool {
        let trap = Trap::around_writes(at, after);
        self.set(Some(&trap));
        let task = tokio::spawn(work);
        while !trap.has_sprung() && !task.is_finished() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        task.abort();
        // Answers to the other requests in flight are lost.
        let _ = task.await;
        self.set(None);
        trap.has_sprung()
    }

    /// Opens a pull request in a process that is stopped as in [`Self::until`].
    async fn until_created(&self, at: u64, after: bool, id: RepoId, req: &CreatePull) -> bool {
        let (process, req) = (self.process(), req.clone());
        let work = async move {
            let _ = process.create(&id, &req).await;
        };
        self.until(at, after, work).await
    }

    /// Opens a pull request in a new process, although it may already exist. Checks that exactly
    /// one exists afterwards. `before` lists those that existed before; returns their number.
    async fn create_again(&self, req: &CreatePull, before: &[String]) -> usize {
        let done = self.process().create(self.stage.repo_id(), req).await;
        let title = &req.title;
        let now = self.titled(title);
        assert_eq!(now.len(), 1, "{title}: {done:?}");
        assert_eq!(self.about(STATUS, &now[0]).len(), 1);
        match done {
            Ok(made) => {
                assert!(before.is_empty(), "{title}");
                assert_eq!(made.value.node_id, now[0]);
            }
            // The pull request existed already, and the error names it.
            Err(e) => {
                assert_eq!(before, now, "{title}: {e:?}");
                let existing = Some(now[0].clone());
                assert_eq!(*e.kind(), ErrorKind::AlreadyExists { existing }, "{e:?}");
            }
        }
        before.len()
    }

    /// Resubmits in a process that is stopped as in [`Self::until`].
    async fn until_resubmitted(&self, at: u64, after: bool, pr: &PrId, req: Resubmit) -> bool {
        let (process, id) = (self.process(), pr.clone());
        let work = async move {
            let _ = process.resubmit(&id, &req).await;
        };
        self.until(at, after, work).await
    }

    /// Closes in a process that is stopped as in [`Self::until`].
    async fn until_closed(&self, at: u64, after: bool, pr: &PrId, req: CloseReq) -> bool {
        let (process, id) = (self.process(), pr.clone());
        let work = async move {
            let _ = process.close(&id, &req).await;
        };
        self.until(at, after, work).await
    }

    /// Returns the records of a collection about a pull request.
    fn about(&self, collection: &str, uri: &str) -> Vec<Value> {
        let all = self
            .stage
            .world
            .pds()
            .records(&self.stage.alice.did, collection);
        let all = all.into_iter().map(|(_, _, value)| value);
        all.filter(|value| value["pull"] == uri).collect()
    }

    fn pulls_from(&self, branch: &str) -> Vec<String> {
        let all = self.stage.world.pds().records(&self.stage.alice.did, PULL);
        let all = all
            .into_iter()
            .filter(|(_, _, value)| value["source"]["branch"] == branch);
        all.map(|(uri, _, _)| uri).collect()
    }

    fn titled(&self, title: &str) -> Vec<String> {
        let all = self.stage.world.pds().records(&self.stage.alice.did, PULL);
        let all = all
            .into_iter()
            .filter(|(_, _, value)| value["title"] == title);
        all.map(|(uri, _, _)| uri).collect()
    }

    fn commit(&self, branch: &str, message: &str, file: &str, text: &str) {
        self.stage
            .repo
            .git
            .commit(branch, message, &[(file, Some(text))]);
    }

    async fn opened(&self, branch: &str) -> PrId {
        let req = CreatePull::new(branch, branch);
        let made = self.process().create(self.stage.repo_id(), &req).await;
        made.unwrap().value.id
    }
}

/// Calls `once` to kill at each request that writes or follows a write, before and after the request
/// is executed. `once` returns whether the command reached the request; the loop ends when it did
/// not. Requires at least `least` requests, because fewer would prove nothing.
async fn at_each_write(least: u64, mut once: impl AsyncFnMut(u64, bool) -> bool) {
    let mut at = 1;
    loop {
        let came_before = once(at, false).await;
        let came_after = once(at, true).await;
        if !came_before && !came_after {
            break;
        }
        at += 1;
    }
    println!("{} requests", at - 1);
    assert!(at > least, "{} requests", at - 1);
}

/// Returns a resubmission with a comment.
fn with_more() -> Resubmit {
    let mut req = Resubmit::default();
    req.comment = Some("With more.".to_owned());
    req
}

/// Returns a closing request with a comment.
fn not_now() -> CloseReq {
    let mut req = CloseReq::default();
    req.comment = Some("Not now.".to_owned());
    req
}

/// Opens a pull request from a branch, and stacked pull requests from a fork.
pub async fn creation() {
    for is_stacked in [false, true] {
        let scene = Scene::new();
        let stage = &scene.stage;
        let (knot, pds) = (stage.world.knot(), stage.world.pds());
        let fork = stage.world.fork_on(knot, &stage.repo, &stage.alice, "fork");
        let source = if is_stacked { &fork } else { &stage.repo };
        let commit = |branch: &str| {
            let file = [(branch, Some("x\n"))];
            source.git.commit(branch, branch, &file);
            let mut req = CreatePull::new(branch, branch);
            if is_stacked {
                req.head.owner = Some(stage.alice.handle.clone());
                req.head.repo = Some(fork.name.clone());
            }
            req
        };
        let mut finished = 0;
        at_each_write(2, async |at, after| {
            let branch = format!("b{at}{after}");
            let mut below = None;
            if is_stacked {
                let lower = format!("{branch}.lower");
                let req = commit(&lower);
                let made = scene.process().create(stage.repo_id(), &req).await;
                below = Some(made.unwrap().value.id);
                source.git.set_branch(&branch, &lower);
            }
            let mut req = commit(&branch);
            req.depends_on.clone_from(&below);
            let id = stage.id();
            let came_there = scene.until_created(at, after, id, &req).await;
            let before = scene.titled(&req.title);
            finished += scene.create_again(&req, &before).await;
            let (_, record) = pds.record(&scene.titled(&req.title)[0]).unwrap();
            assert_eq!(record["source"]["repo"], source.did.as_str());
            let below = below.map(|below| below.key.to_string());
            assert_eq!(record["dependentOn"].as_str(), below.as_deref());
            came_there
        })
        .await;
        assert!(finished > 0);
        let fetched = knot.host().count_of("sh.tangled.repo.hiddenRef");
        assert_eq!(fetched > 0, is_stacked);
    }
}

/// Returns a request for a pull request without a branch that adds one file.
fn without_a_branch(kind: &str, file: &str) -> CreatePull {
    let mut req = CreatePull::new("", file);
    match kind {
        "edits" => req.edits = vec![FileEdit::write(file, "x\n")],
        _ => {
            let patch = format!(
                "diff --git a/{file} b/{file}\nnew file mode 100644\n--- /dev/null\n\
                 +++ b/{file}\n@@ -0,0 +1 @@\n+x\n"
            );
            req.patch = Some(patch.into_bytes());
        }
    }
    req
}

/// Waits for the next second, so that later records have a later time.
async fn another_second() {
    let now = Timestamp::now();
    while Timestamp::now() == now {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Opens pull requests that no branch identifies. Repeats the command in a later second.
pub async fn creation_without_a_branch() {
    let scene = Scene::new();
    for kind in ["edits", "patch"] {
        let mut finished = 0;
        at_each_write(2, async |at, after| {
            let title = format!("{kind}-{at}-{after}");
            let req = without_a_branch(kind, &title);
            let id = scene.stage.id();
            let came_there = scene.until_created(at, after, id, &req).await;
            let before = scene.titled(&title);
            if !before.is_empty() {
                another_second().await;
            }
            finished += scene.create_again(&req, &before).await;
            came_there
        })
        .await;
        assert!(finished > 0);
    }
}

/// Submits another round.
pub async fn round() {
    let scene = Scene::new();
    at_each_write(2, async |at, after| {
        let branch = format!("b{at}{after}");
        scene.commit(&branch, "First", &branch, "x\n");
        let pr = scene.opened(&branch).await;
        scene.commit(&branch, "Second", &branch, "x\ny\n");
        let req = Resubmit::default();
        let came_there = scene.until_resubmitted(at, after, &pr, req).await;
        let done = scene
            .process()
            .resubmit(&pr, &Resubmit::default())
            .await
            .unwrap();
        let uri = &scene.pulls_from(&branch)[0];
        let (cid, record) = scene.stage.world.pds().record(uri).unwrap();
        assert_eq!(done.value.version, cid);
        let rounds = record["rounds"].as_array().map(Vec::len);
        assert_eq!(rounds, Some(2), "request {at}, after: {after}");
        assert_eq!(done.value.head_oid, scene.stage.repo.git.oid(&branch));
        came_there
    })
    .await;
}

/// The comment with a round, or with closing, is written once.
pub async fn comments() {
    const COMMENT: &str = "sh.tangled.feed.comment";
    let scene = Scene::new();
    let said = |uri: &str| {
        let all = scene.stage.world.pds();
        let all = all.records(&scene.stage.alice.did, COMMENT).into_iter();
        all.filter(|(_, _, value)| value["subject"]["uri"] == uri)
            .count()
    };
    let mut found: u32 = 0;
    at_each_write(2, async |at, after| {
        let branch = format!("b{at}{after}");
        scene.commit(&branch, "First", &branch, "x\n");
        let pr = scene.opened(&branch).await;
        let uri = scene.pulls_from(&branch).remove(0);
        scene.commit(&branch, "Second", &branch, "x\ny\n");
        let mut came_there = scene.until_resubmitted(at, after, &pr, with_more()).await;
        scene.process().resubmit(&pr, &with_more()).await.unwrap();
        assert_eq!(said(&uri), 1, "round, request {at}, after: {after}");

        came_there |= scene.until_closed(at, after, &pr, not_now()).await;
        let before = said(&uri);
        let done = scene.process().close(&pr, &not_now()).await.unwrap();
        assert_eq!(done.value.state, PrState::Closed);
        assert_eq!(said(&uri), 2, "close, request {at}, after: {after}");
        let closed = format!("{STATUS}.closed");
        let statuses = scene.about(STATUS, &uri).into_iter();
        let closings = statuses.filter(|value| value["status"] == closed.as_str());
        assert_eq!(closings.count(), 1, "request {at}, after: {after}");
        if before == 2 {
            let told = done.warnings.iter();
            let told = told.filter(|w| w.message.contains("already exists"));
            assert_eq!(told.count(), 1, "{:?}", done.warnings);
            found += 1;
        }
        came_there
    })
    .await;
    assert!(found > 0);
}

/// Requests a merge that also deletes the branch.
fn with_branch() -> MergeReq {
    let mut req = MergeReq::default();
    req.delete_branch = true;
    req
}

/// Merges, and deletes the branch at the end.
pub async fn merge() {
    let scene = Scene::new();
    let git = &scene.stage.repo.git;
    // `git am` can apply a further line after any number of equal lines, so a repeated merge would
    // show.
    let lines = |n: u64| "x\n".repeat(usize::try_from(n).unwrap());
    scene.commit("main", "Ten lines", "same", &lines(10));
    let mut length: u64 = 10;
    let mut found: u32 = 0;
    at_each_write(2, async |at, after| {
        let branch = format!("b{at}{after}");
        length += 1;
        scene.commit(
            &branch,
            &format!("Add a line from {branch}"),
            "same",
            &lines(length),
        );
        let pr = scene.opened(&branch).await;
        let (process, id) = (scene.process(), pr.clone());
        let came_there = scene
            .until(at, after, async move {
                let _ = process.merge(&id, &with_branch()).await;
            })
            .await;
        let done = scene.process().merge(&pr, &with_branch()).await;
        let done = done.unwrap_or_else(|e| panic!("request {at}, after: {after}: {e:?}"));
        found += u32::from(done.value.already_merged);
        assert_eq!(done.value.pull_request.state, PrState::Merged);
        let times = git.log("main", "%s").matches(&branch).count();
        assert_eq!(times, 1, "request {at}, after: {after}");
        assert_eq!(git.show("main", "same"), lines(length));
        assert_eq!(git.oid(&branch), None, "request {at}, after: {after}");
        let uri = &scene.pulls_from(&branch)[0];
        let merged = format!("{STATUS}.merged");
        let merged = scene
            .about(STATUS, uri)
            .into_iter()
            .filter(|value| value["status"] == merged.as_str());
        assert_eq!(merged.count(), 1, "request {at}, after: {after}");
        came_there
    })
    .await;
    assert!(found > 0);
}

/// A scene with a repository of Tangled 1.0.
struct Tickets {
    scene: Scene,
    repo: Repository,
    id: RepoId,
}

impl Tickets {
    fn new() -> Self {
        let scene = Scene::new();
        let repo = scene.stage.world.repository_1_0(&scene.stage.alice, "new");
        let id = scene.stage.id_of(&repo);
        Self { scene, repo, id }
    }

    fn records(&self) -> TicketRecords<'_> {
        TicketRecords::of(self.scene.stage.world.knot(), &self.repo)
    }

    fn commit(&self, branch: &str, text: &str) {
        let file = [(branch, Some(text))];
        self.repo.git.commit(branch, branch, &file);
    }

    /// Requests a merge from a clone, which is created in `dir`.
    fn merge_from(&self, dir: &Path) -> MergeReq {
        let clone = GitDir::init(dir, &[]);
        let path = self.repo.path().to_string_lossy().into_owned();
        for args in [
            ["remote", "add", "knot", &path],
            ["config", "--add", "user.name", "Alice"],
            ["config", "--add", "user.email", "alice@example.org"],
        ] {
            clone.run(args).ok();
        }
        let mut req = MergeReq::default();
        let trust = forge_core::Trust::Person;
        req.clone = Some(LocalClone::new(dir, "knot", trust));
        req
    }

    async fn opened(&self, branch: &str) -> PrId {
        self.commit(branch, "x\n");
        let req = CreatePull::new(branch, branch);
        let made = self.scene.process().create(&self.id, &req).await;
        made.unwrap().value.id
    }
}

/// Opens a pull request of Tangled 1.0.
pub async fn ticket_creation() {
    let tickets = Tickets::new();
    let mut begun: u32 = 0;
    at_each_write(2, async |at, after| {
        let branch = format!("b{at}{after}");
        tickets.commit(&branch, "x\n");
        let req = CreatePull::new(branch.as_str(), branch.as_str());
        let id = tickets.id.clone();
        let came_there = tickets.scene.until_created(at, after, id, &req).await;
        let before = tickets.records().titled(&branch);
        let finished = before
            .iter()
            .any(|(uri, _)| tickets.records().rounds(uri) > 0);
        begun += u32::from(!before.is_empty() && !finished);
        let done = tickets.scene.process().create(&tickets.id, &req).await;
        let now = tickets.records().titled(&branch);
        assert_eq!(now.len(), 1, "request {at}, after: {after}: {done:?}");
        let uri = &now[0].0;
        assert_eq!(
            tickets.records().rounds(uri),
            1,
            "request {at}, after: {after}"
        );
        match done {
            Ok(made) => {
                assert!(!finished, "request {at}, after: {after}");
                assert_eq!(made.value.node_id, *uri);
            }
            Err(e) => {
                assert!(finished, "request {at}, after: {after}: {e:?}");
                let existing = Some(uri.clone());
                assert_eq!(*e.kind(), ErrorKind::AlreadyExists { existing }, "{e:?}");
            }
        }
        came_there
    })
    .await;
    assert!(begun > 0);
}

/// Submits another round of a pull request of Tangled 1.0.
pub async fn ticket_round() {
    let tickets = Tickets::new();
    let mut found: u32 = 0;
    at_each_write(2, async |at, after| {
        let branch = format!("b{at}{after}");
        let pr = tickets.opened(&branch).await;
        tickets.commit(&branch, "x\ny\n");
        let (scene, req) = (&tickets.scene, Resubmit::default());
        let came_there = scene.until_resubmitted(at, after, &pr, req).await;
        let process = tickets.scene.process();
        let done = process.resubmit(&pr, &Resubmit::default()).await.unwrap();
        found += u32::from(done.unchanged);
        let uri = &tickets.records().titled(&branch)[0].0;
        assert_eq!(
            tickets.records().rounds(uri),
            2,
            "request {at}, after: {after}"
        );
        assert_eq!(done.value.head_oid, tickets.repo.git.oid(&branch));
        came_there
    })
    .await;
    assert!(found > 0);
}

/// The state is set, and the comment of a state or of a round is written once.
pub async fn ticket_comments() {
    let tickets = Tickets::new();
    let mut found: u32 = 0;
    at_each_write(2, async |at, after| {
        let branch = format!("b{at}{after}");
        let pr = tickets.opened(&branch).await;
        let uri = tickets.records().titled(&branch).remove(0).0;
        tickets.commit(&branch, "x\ny\n");
        let scene = &tickets.scene;
        let mut came_there = scene.until_resubmitted(at, after, &pr, with_more()).await;
        scene.process().resubmit(&pr, &with_more()).await.unwrap();
        let said = tickets.records().said(&uri, "With more.");
        assert_eq!(said, 1, "round, request {at}, after: {after}");

        came_there |= scene.until_closed(at, after, &pr, not_now()).await;
        let before = tickets.records().said(&uri, "Not now.");
        let done = scene.process().close(&pr, &not_now()).await.unwrap();
        assert_eq!(done.value.state, PrState::Closed);
        let said = tickets.records().said(&uri, "Not now.");
        assert_eq!(said, 1, "close, request {at}, after: {after}");
        assert_eq!(tickets.records().titled(&branch)[0].1["state"], "closed");
        found += u32::from(before == 1);
        // The same comment at a later time is a new comment.
        if at == 1 {
            let process = scene.process();
            process.reopen(&pr, None).await.unwrap();
            process.close(&pr, &not_now()).await.unwrap();
            assert_eq!(tickets.records().said(&uri, "Not now."), 2);
        }
        came_there
    })
    .await;
    assert!(found > 0);
}

/// The round is pushed once, onto the current base branch, and recorded.
pub async fn ticket_merge() {
    let tickets = Tickets::new();
    let dir = tempfile::tempdir().unwrap();
    let req = tickets.merge_from(dir.path());
    // Leaves time for the knot to detect a merge itself.
    let process = || tickets.scene.waiting(Duration::from_millis(50));
    let git = &tickets.repo.git;
    let mut found: u32 = 0;
    at_each_write(2, async |at, after| {
        let branch = format!("b{at}{after}");
        let pr = tickets.opened(&branch).await;
        let other = format!("{branch}.other");
        git.commit("main", &other, &[(&other, Some("x\n"))]);
        let (killed, id, asked) = (process(), pr.clone(), req.clone());
        let came_there = tickets
            .scene
            .until(at, after, async move {
                let _ = killed.merge(&id, &asked).await;
            })
            .await;
        let done = process().merge(&pr, &req).await;
        let done = done.unwrap_or_else(|e| panic!("request {at}, after: {after}: {e:?}"));
        found += u32::from(done.value.already_merged && !done.unchanged);
        assert_eq!(done.value.pull_request.state, PrState::Merged);
        let log = git.log("main", "%s");
        let times = log.lines().filter(|line| *line == branch).count();
        assert_eq!(times, 1, "request {at}, after: {after}: {log}");
        assert_eq!(git.show("main", &branch), "x\n");
        assert_eq!(tickets.records().titled(&branch)[0].1["state"], "merged");
        came_there
    })
    .await;
    assert!(found > 0);
}
