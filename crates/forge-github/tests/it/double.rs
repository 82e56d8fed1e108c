//! The backend against the GitHub double, which executes requests by GitHub's schema, keeps state
//! and counts requests.

use std::sync::Arc;

use forge_core::{
    Action, Client, ErrorKind, ForgeKind, PageReq, Param, Policy, PrId, Repo, RepoId, RepoPath,
    Retry,
    model::{
        CheckRollup, CloseReq, CommentId, CreatePull, DiffReq, EditPull, FileEdit, HeadRef,
        MergeMethod, MergeReq, MergeState, NewLabel, NewReview, NewThread, PrFields, PrState,
        PullQuery, PullRequest, ReviewDecision, Reviewer, SetChange, StateFilter, ThreadFilter,
        ThreadId, UpdateBranch, Verdict,
    },
};
use forge_github::{FixedToken, GitHub};
use forge_github_double::{
    ALL_SCOPES, Fault, GitHubDouble, Options, PullSeed,
    state::{Permission, Protection, ReviewState},
};
use forge_http::{Http, HttpSettings, Proxies, RetryPolicy};
use forge_testkit::{LogWatch, watch_logs};
use futures::TryStreamExt;

const REPO: &str = "octo/tools";

/// Returns a transport that reaches the double through the proxy, as gh does.
pub fn http(double: &GitHubDouble) -> Http {
    let url = double.url();
    let get = |name: &str| (name == "HTTP_PROXY").then(|| url.clone());
    let settings = HttpSettings {
        proxies: Proxies::from_env(&get).unwrap(),
        retry: RetryPolicy::without_pauses(),
        ..HttpSettings::default()
    };
    Http::new(settings).unwrap()
}

pub fn handle(double: &GitHubDouble, token: &str) -> Repo {
    let token = Arc::new(FixedToken::new(token));
    let forge = GitHub::new("github.localhost", http(double), token);
    let path = RepoPath::Named {
        owner: "octo".into(),
        name: "tools".into(),
    };
    let id = RepoId {
        kind: ForgeKind::GITHUB,
        host: "github.localhost".into(),
        path,
    };
    Client::new(Arc::new(forge), Policy::default()).repo(id)
}

pub struct World {
    pub double: GitHubDouble,
    pub ada: Repo,
    pub grace: Repo,
    _logs: LogWatch,
}

impl World {
    pub fn new() -> Self {
        let logs = watch_logs();
        let double = GitHubDouble::start(Options::default()).unwrap();
        {
            let mut seed = double.seed();
            seed.org(
                "octo",
                &[("ada", Permission::Admin), ("grace", Permission::Write)],
            );
            seed.token("gho_0canary0ada", "ada", ALL_SCOPES);
            seed.token("gho_0canary0grace", "grace", ALL_SCOPES);
            seed.team("octo", "core", &["grace"]);
            seed.repo_with_readme(REPO);
            seed.collaborator(REPO, "ada", Permission::Admin);
            seed.collaborator(REPO, "grace", Permission::Write);
            seed.label(REPO, "bug");
            seed.label(REPO, "help, wanted");
            seed.milestone(REPO, "1.0");
            seed.commit(
                REPO,
                "feature",
                &[("a.txt", Some("one\ntwo\nthree\n"))],
                "Add a",
            );
        }
        let (ada, grace) = (
            handle(&double, "gho_0canary0ada"),
            handle(&double, "gho_0canary0grace"),
        );
        Self {
            double,
            ada,
            grace,
            _logs: logs,
        }
    }

    fn open(&self, head: &str) -> PrId {
        let mut seed = self.double.seed();
        let pull = PullSeed {
            author: "ada",
            title: "Title",
            head,
            ..PullSeed::default()
        };
        let number = seed.open_pull(REPO, &pull);
        self.ada.pull_id(number)
    }

    /// Counts the requests that `what` sends.
    async fn count<T>(&self, what: impl Future<Output = T>) -> (T, usize) {
        self.double.reset_record();
        let value = what.await;
        (value, self.double.counts().api)
    }
}

fn labels(add: &[&str], remove: &[&str]) -> SetChange<String> {
    let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
    SetChange {
        add: own(add),
        remove: own(remove),
    }
}

#[tokio::test]
async fn lifecycle_from_opening_to_merge() {
    let world = World::new();
    let mut req = CreatePull::new("feature", "Add a");
    req.description = "Ünïcode".into();
    req.labels = vec!["Help, wanted".into(), "bug".into()];
    req.assignees = vec!["@me".into(), "grace".into()];
    req.reviewers = vec![Reviewer::parse("grace"), Reviewer::parse("octo/core")];
    req.milestone = Some("1.0".into());
    req.draft = true;
    let (made, n) = world.count(world.ada.create_pull(&req)).await;
    let made = made.unwrap();
    assert_eq!((n, &made.warnings[..]), (3, &[][..]));
    let pull = made.value;
    assert!(pull.draft && pull.labels.len() == 2 && pull.assignees.len() == 2);
    assert_eq!(
        (
            pull.pending_reviewers.len(),
            pull.milestone.as_ref().map(|m| m.title.as_str())
        ),
        (2, Some("1.0"))
    );
    let id = pull.id.clone();

    let (ready, n) = world.count(world.ada.set_draft(&id, false)).await;
    assert_eq!((ready.unwrap().value.draft, n), (false, 2));
    let (said, n) = world.count(world.grace.comment(&id, "Hello", None)).await;
    assert_eq!(
        (said.unwrap().value.author.login, n),
        ("grace".to_owned(), 2)
    );

    let mut review = NewReview::new(Verdict::RequestChanges, "Please.");
    review.threads = vec![NewThread::new("a.txt", Some(2), "Why?")];
    let (reviewed, n) = world.count(world.grace.submit_review(&id, &review)).await;
    assert_eq!((reviewed.unwrap().value.comments.len(), n), (1, 2));

    let threads = world
        .ada
        .threads(&id, ThreadFilter::Unresolved, PageReq::first(10))
        .await
        .unwrap()
        .items;
    assert_eq!((threads.len(), threads[0].line), (1, Some(2)));
    let root = CommentId {
        pr: id.clone(),
        key: threads[0].comments[0].id.clone(),
    };
    let (reply, n) = world
        .count(world.ada.comment(&id, "Because.", Some(&root)))
        .await;
    assert_eq!((reply.unwrap().value.body.as_str(), n), ("Because.", 2));
    let thread = ThreadId {
        pr: id.clone(),
        key: threads[0].id.clone(),
    };
    assert!(
        world
            .ada
            .resolve_thread(&thread, true)
            .await
            .unwrap()
            .value
            .resolved
    );
    let resolved = world
        .ada
        .threads(&id, ThreadFilter::Resolved, PageReq::first(10))
        .await
        .unwrap()
        .items;
    assert_eq!(resolved[0].comments.len(), 2);
    world
        .grace
        .submit_review(&id, &NewReview::new(Verdict::Approve, ""))
        .await
        .unwrap();

    let mut edit = EditPull::default();
    edit.title = Some("Add a file".into());
    edit.description = Some("Better".into());
    edit.labels = labels(&[], &["bug"]);
    edit.assignees = labels(&[], &["grace"]);
    edit.milestone = Some(None);
    let (edited, n) = world.count(world.ada.edit_pull(&id, &edit)).await;
    let edited = edited.unwrap().value;
    assert_eq!(
        (
            edited.title.as_str(),
            edited.labels.len(),
            edited.milestone,
            n
        ),
        ("Add a file", 1, None, 2)
    );

    let everything = PrFields::STATS
        | PrFields::MERGEABILITY
        | PrFields::COMMENTS
        | PrFields::REVIEWS
        | PrFields::THREADS
        | PrFields::COMMITS
        | PrFields::FILES
        | PrFields::CHECKS
        | PrFields::LINKED_ISSUES;
    let (view, n) = world.count(world.ada.pull(&id, everything)).await;
    let view = view.unwrap();
    assert_eq!((n, &view.warnings[..]), (1, &[][..]));
    assert_eq!((view.approvals, view.changes_requested), (1, 0));
    assert_eq!(
        (
            view.comments.unwrap().len(),
            view.reviews.unwrap().len(),
            view.threads.unwrap().len()
        ),
        (1, 3, 1)
    );
    assert_eq!(
        (
            view.commits.unwrap().len(),
            view.files.unwrap().len(),
            view.additions
        ),
        (1, 1, Some(3))
    );

    let found = world.ada.mergeability(&id).await.unwrap();
    assert_eq!(found.state, MergeState::Mergeable);
    let mut req = MergeReq::default();
    req.method = Some(MergeMethod::Squash);
    req.delete_branch = true;
    let (merged, n) = world.count(world.ada.merge(&id, &req)).await;
    let merged = merged.unwrap();
    assert_eq!(
        (n, &merged.warnings[..]),
        (3, &[][..]),
        "the third deletes the branch"
    );
    assert!(merged.value.branch_deleted && merged.value.commit.is_some());
    let again = world
        .ada
        .merge(&id, &MergeReq::default())
        .await
        .unwrap()
        .value;
    assert!(again.already_merged);
    let kinds: Vec<_> = world
        .ada
        .history(&id, PageReq::first(50))
        .await
        .unwrap()
        .items;
    assert!(kinds.len() >= 4, "{kinds:?}");
}

#[tokio::test]
async fn simple_operations_keep_request_budgets() {
    let world = World::new();
    let id = world.open("feature");
    let (plain, n) = {
        world
            .double
            .seed()
            .commit(REPO, "second", &[("b.txt", Some("b\n"))], "Add b");
        world
            .count(world.ada.create_pull(&CreatePull::new("second", "Second")))
            .await
    };
    assert_eq!((plain.unwrap().warnings.len(), n), (0, 2));
    let (checks, n) = world.count(world.ada.checks(&id)).await;
    assert_eq!((checks.unwrap().overall, n), (CheckRollup::Neutral, 1));
    let (diff, n) = world.count(world.ada.diff(&id, &DiffReq::default())).await;
    let text: Vec<Vec<u8>> = diff.unwrap().body.try_collect().await.unwrap();
    assert_eq!(
        (
            String::from_utf8(text.concat()).unwrap().contains("+two"),
            n
        ),
        (true, 1)
    );
    let mut req = CloseReq::default();
    req.comment = Some("Bye".into());
    let (closed, n) = world.count(world.ada.close(&id, &req)).await;
    assert_eq!((closed.unwrap().value.state, n), (PrState::Closed, 2));
    let (open, n) = world.count(world.ada.reopen(&id, Some("Hello"))).await;
    assert_eq!((open.unwrap().value.state, n), (PrState::Open, 2));
    let (list, n) = world
        .count(world.ada.pulls(&PullQuery::default(), PageReq::first(30)))
        .await;
    assert_eq!((list.unwrap().items.len(), n), (2, 1));
    let mut query = PullQuery::default();
    query.author = Some("@me".into());
    let (list, n) = world
        .count(world.ada.pulls(&query, PageReq::first(30)))
        .await;
    assert_eq!((list.unwrap().items.len(), n), (2, 1));
    let head = HeadRef::branch("feature");
    let (status, n) = world
        .count(world.ada.status(Some(&head), PrFields::ROW))
        .await;
    let status = status.unwrap();
    assert_eq!(
        (
            status.created_by.len(),
            status.current_branch.unwrap().number,
            n
        ),
        (2, Some(id.key.to_string().parse().unwrap()), 1)
    );
    let found = world
        .ada
        .find(&head, StateFilter::Open, PrFields::NONE)
        .await
        .unwrap()
        .pulls;
    assert_eq!(found.len(), 1);
}

#[tokio::test]
async fn board_changes_keep_request_budget() {
    let world = World::new();
    {
        let mut seed = world.double.seed();
        seed.project("octo", "Roadmap", &["Todo"]);
        seed.project("ada", "Mine", &["Todo"]);
    }
    let mut req = CreatePull::new("feature", "Add a");
    req.labels = vec!["bug".into()];
    req.reviewers = vec![Reviewer::parse("grace")];
    req.milestone = Some("1.0".into());
    req.projects = vec!["roadmap".into(), "Mine".into()];
    let (made, n) = world.count(world.ada.create_pull(&req)).await;
    let made = made.unwrap();
    assert_eq!((n, made.warnings.len()), (3, 0), "{:?}", made.warnings);
    let titles = async || {
        let pull = world.ada.pull(&made.value.id, PrFields::PROJECTS).await;
        let items = pull.unwrap().projects.unwrap();
        items.into_iter().map(|i| i.title).collect::<Vec<_>>()
    };
    assert_eq!(titles().await, ["Roadmap", "Mine"]);
    let edit = |add: &[&str], remove: &[&str]| {
        let mut edit = EditPull::default();
        edit.projects = labels(add, remove);
        edit
    };
    let change = edit(&[], &["ROADMAP"]);
    let (done, n) = world
        .count(world.ada.edit_pull(&made.value.id, &change))
        .await;
    assert_eq!((done.unwrap().warnings.len(), n), (0, 2));
    assert_eq!(titles().await, ["Mine"]);
    let again = world
        .ada
        .edit_pull(&made.value.id, &edit(&["mine"], &[]))
        .await;
    assert_eq!(again.unwrap().warnings.len(), 1);
    let unknown = world
        .ada
        .edit_pull(&made.value.id, &edit(&["Roadmab"], &[]))
        .await;
    assert!(
        unknown
            .unwrap_err()
            .hint()
            .unwrap()
            .text()
            .contains("Roadmap")
    );
    assert_eq!(titles().await, ["Mine"]);
}

#[tokio::test]
async fn removing_reviewers_keeps_others() {
    let world = World::new();
    let id = world.open("feature");
    let reviewers = |add: &[&str], remove: &[&str]| {
        let mut edit = EditPull::default();
        edit.reviewers = SetChange {
            add: add.iter().map(|r| Reviewer::parse(r)).collect(),
            remove: remove.iter().map(|r| Reviewer::parse(r)).collect(),
        };
        edit
    };
    world.double.seed().bot("copilot-pull-request-reviewer");
    let all = reviewers(&["grace", "octo/core", "@copilot"], &[]);
    let (asked, n) = world.count(world.ada.edit_pull(&id, &all)).await;
    assert_eq!((asked.unwrap().value.pending_reviewers.len(), n), (3, 2));
    let leave = reviewers(&[], &["grace", "@copilot"]);
    let (left, n) = world.count(world.ada.edit_pull(&id, &leave)).await;
    let left = left.unwrap().value;
    assert_eq!(n, 2);
    let now = world.ada.pull(&id, PrFields::NONE).await.unwrap();
    assert_eq!(left.pending_reviewers, now.pending_reviewers);
    assert_eq!(left.version, now.version);
    let handles: Vec<_> = now.pending_reviewers.iter().map(Reviewer::handle).collect();
    assert_eq!(handles, ["octo/core"]);
}

#[tokio::test]
async fn copilot_is_assigned_if_enabled() {
    let world = World::new();
    let id = world.open("feature");
    let mut assign = EditPull::default();
    assign.assignees = labels(&["@copilot"], &[]);
    let e = world.ada.edit_pull(&id, &assign).await.unwrap_err();
    assert!(e.message().contains("Copilot cannot be assigned"), "{e}");
    world.double.seed().bot("copilot-swe-agent");
    let (done, n) = world.count(world.ada.edit_pull(&id, &assign)).await;
    assert_eq!((done.is_ok(), n), (true, 2));
    assert_eq!(world.double.seed().pull_of(REPO, 1).assignees.len(), 1);
}

#[tokio::test]
async fn merge_queue_accepts_ready_pull_request() {
    let world = World::new();
    let id = world.open("feature");
    let rules = Protection {
        checks: ["ci".to_owned()].into(),
        merge_queue: true,
        ..Protection::default()
    };
    world.double.seed().protect(REPO, "main", rules);
    world
        .double
        .seed()
        .configure(REPO, |repo| repo.allow_auto_merge = true);
    world.grace.mergeability(&id).await.unwrap();
    let mut req = MergeReq::default();
    let e = world.grace.merge(&id, &req).await.unwrap_err();
    let auto = Action::again(&[]).with(Param::Auto, "true");
    assert_eq!(e.hint().unwrap().action(), Some(&auto));
    req.auto = true;
    let (later, n) = world.count(world.grace.merge(&id, &req)).await;
    let later = later.unwrap().value;
    assert_eq!((later.queued, later.queue_position, n), (true, None, 3));
    world.double.seed().check(REPO, 1, "CI", "ci", "SUCCESS");
    let again = world.grace.merge(&id, &req).await.unwrap();
    assert!(again.value.queued && again.warnings[0].message.contains("merge queue already"));
    world.double.seed().run_queue();
    let now = world.grace.pull(&id, PrFields::NONE).await.unwrap();
    assert_eq!(now.state, PrState::Merged);

    let other = world.open("other");
    world.double.seed().check(REPO, 2, "CI", "ci", "SUCCESS");
    world.grace.mergeability(&other).await.unwrap();
    let (put, n) = world
        .count(world.grace.merge(&other, &MergeReq::default()))
        .await;
    assert_eq!((put.unwrap().value.queue_position, n), (Some(1), 2));
}

#[tokio::test]
async fn stack_is_merged_from_bottom() {
    let world = World::new();
    let bottom = world.open("bottom");
    {
        let mut seed = world.double.seed();
        seed.commit(REPO, "top", &[("top.txt", Some("x\n"))], "Add top");
        let pull = PullSeed {
            author: "ada",
            title: "Top",
            head: "top",
            base: "bottom",
            ..PullSeed::default()
        };
        assert_eq!(seed.open_pull(REPO, &pull), 2);
        seed.stack(REPO, &[1, 2]);
    }
    let top = world.ada.pull_id(2);
    world.ada.mergeability(&top).await.unwrap();
    let (made, n) = world
        .count(world.ada.merge(&top, &MergeReq::default()))
        .await;
    let made = made.unwrap();
    assert_eq!(made.value.pull_request.state, PrState::Merged);
    // Five requests: the query, the refused merge, the stack route, one poll, and the merged pull
    // request.
    assert_eq!(n, 5);
    let below = world.ada.pull(&bottom, PrFields::NONE).await.unwrap();
    assert_eq!(below.state, PrState::Merged);
}

#[tokio::test]
async fn stack_merge_as_admin_bypasses_rules() {
    let world = World::new();
    let bottom = world.open("bottom");
    {
        let mut seed = world.double.seed();
        seed.commit(REPO, "top", &[("top.txt", Some("x\n"))], "Add top");
        let rules = Protection {
            checks: ["ci".to_owned()].into(),
            ..Protection::default()
        };
        seed.protect(REPO, "main", rules);
    }
    let top = world
        .ada
        .create_pull(&on_top("top", &bottom))
        .await
        .unwrap();
    let top = top.value.id;
    world.ada.mergeability(&top).await.unwrap();
    let mut req = MergeReq::default();
    let e = world.ada.merge(&top, &req).await.unwrap_err();
    assert_eq!(e.code(), "precondition_failed", "{e:?}");
    req.admin = true;
    let made = world.ada.merge(&top, &req).await.unwrap().value;
    assert_eq!(made.pull_request.state, PrState::Merged);
    let below = world.ada.pull(&bottom, PrFields::NONE).await.unwrap();
    assert_eq!(below.state, PrState::Merged);
}

#[tokio::test]
async fn stack_merge_repeated_waits_for_running_merge() {
    let world = World::new();
    let bottom = world.open("bottom");
    {
        let mut seed = world.double.seed();
        seed.commit(REPO, "top", &[("top.txt", Some("x\n"))], "Add top");
    }
    let top = world
        .ada
        .create_pull(&on_top("top", &bottom))
        .await
        .unwrap();
    let top = top.value.id;
    world.ada.mergeability(&top).await.unwrap();
    let lost = Fault::status(502).committed();
    let route = "/repos/octo/tools/pulls/2/merge-async";
    world.double.fault(lost.on_path(route));
    let req = MergeReq::default();
    let e = world.ada.merge(&top, &req).await.unwrap_err();
    let hint = e.hint().unwrap();
    assert!(
        hint.text().contains("merge the pull request again"),
        "{hint}"
    );
    let made = world.ada.merge(&top, &req).await.unwrap().value;
    assert_eq!(made.pull_request.state, PrState::Merged);
    let below = world.ada.pull(&bottom, PrFields::NONE).await.unwrap();
    assert_eq!(below.state, PrState::Merged);
}

fn on_top(head: &str, below: &PrId) -> CreatePull {
    let mut req = CreatePull::new(head, "On top");
    req.depends_on = Some(below.clone());
    req
}

/// Returns the numbers of the pull requests in each stack.
fn stacks(double: &GitHubDouble) -> Vec<Vec<u64>> {
    let seed = double.seed();
    let numbers = |pulls: &[u64]| -> Vec<u64> {
        let found = pulls.iter().filter_map(|id| seed.pulls.get(id));
        found.map(|pull| pull.number).collect()
    };
    seed.stacks.iter().map(|it| numbers(&it.pulls)).collect()
}

#[tokio::test]
async fn create_on_top_joins_stack() {
    let world = World::new();
    let bottom = world.open("bottom");
    for head in ["middle", "top"] {
        let files = [(head, Some("x\n"))];
        world.double.seed().commit(REPO, head, &files, "Add it");
    }
    let req = on_top("middle", &bottom);
    let (middle, n) = world.count(world.ada.create_pull(&req)).await;
    let middle = middle.unwrap();
    // Four requests: the query, the read of stacks, the mutation, and the new stack.
    assert_eq!((n, middle.warnings.len()), (4, 0), "{:?}", middle.warnings);
    let mut req = on_top("top", &middle.value.id);
    req.labels = vec!["bug".into()];
    let (top, n) = world.count(world.ada.create_pull(&req)).await;
    let top = top.unwrap();
    assert_eq!((n, top.warnings.len()), (5, 0), "{:?}", top.warnings);
    assert_eq!(top.steps.len(), 3, "{:?}", top.steps);
    assert_eq!(top.value.depends_on, Some(middle.value.id.key.clone()));
    assert_eq!(stacks(&world.double), [[1, 2, 3]]);

    let mut base = EditPull::default();
    base.base = Some("main".into());
    let e = world.ada.edit_pull(&top.value.id, &base).await.unwrap_err();
    assert!(e.hint().unwrap().text().contains("from its stack"), "{e:?}");
}

#[tokio::test]
async fn stack_with_lost_answer_is_created_once() {
    let world = World::new();
    let bottom = world.open("bottom");
    let lost = Fault::status(502).committed();
    let lost = lost.on_path("/repos/octo/tools/stacks").skip(1);
    world.double.fault(lost);
    let made = world
        .ada
        .create_pull(&on_top("feature", &bottom))
        .await
        .unwrap();
    assert!(
        made.warnings[0].message.starts_with("the write succeeded"),
        "{:?}",
        made.warnings
    );
    assert_eq!(stacks(&world.double), [[1, 2]]);
}

#[tokio::test]
async fn create_on_top_without_stacks_sets_base_only() {
    let world = World::new();
    let bottom = world.open("bottom");
    world.double.seed().stacks_off = true;
    let (made, n) = world
        .count(world.ada.create_pull(&on_top("feature", &bottom)))
        .await;
    let made = made.unwrap();
    assert_eq!((n, made.warnings.len()), (3, 1), "{:?}", made.warnings);
    assert_eq!(made.value.base_branch, "bottom");
    assert!(stacks(&world.double).is_empty());
    let seen = world.ada.pull(&made.value.id, PrFields::DEPENDS_ON).await;
    assert_eq!(seen.unwrap().depends_on, Some(bottom.key));
}

#[tokio::test]
async fn stack_part_merge_is_atomic() {
    let world = World::new();
    let bottom = world.open("bottom");
    {
        let mut seed = world.double.seed();
        seed.commit(REPO, "top", &[("README.md", Some("ours\n"))], "Change it");
    }
    let top = world
        .ada
        .create_pull(&on_top("top", &bottom))
        .await
        .unwrap();
    {
        let mut seed = world.double.seed();
        seed.commit(REPO, "main", &[("README.md", Some("theirs\n"))], "So too");
    }
    world.ada.mergeability(&top.value.id).await.unwrap();
    let e = world
        .ada
        .merge(&top.value.id, &MergeReq::default())
        .await
        .unwrap_err();
    assert_eq!(e.code(), "precondition_failed", "{e:?}");
    let below = world.ada.pull(&bottom, PrFields::NONE).await.unwrap();
    assert_eq!(below.state, PrState::Open);
}

#[tokio::test]
async fn list_takes_one_request_per_hundred_rows() {
    let world = World::new();
    world.double.seed().many_pulls(REPO, 250);
    let mut query = PullQuery::default();
    query.fields = PrFields::ROW;
    let (list, n) = world
        .count(world.ada.pulls(&query, PageReq::first(250)))
        .await;
    assert_eq!((list.unwrap().items.len(), n), (250, 3));
}

#[tokio::test]
async fn required_checks_are_marked() {
    let world = World::new();
    let id = world.open("feature");
    let number = id.key.to_string().parse().unwrap();
    {
        let mut seed = world.double.seed();
        seed.check(REPO, number, "CI", "build", "FAILURE");
        seed.check(REPO, number, "CI", "build", "SUCCESS");
        seed.status(REPO, number, "ci/legacy", "PENDING");
    }
    let report = world.ada.checks(&id).await.unwrap();
    let names: Vec<_> = report
        .checks
        .iter()
        .map(|c| (c.name.as_str(), c.required))
        .collect();
    assert_eq!(names, [("ci/legacy", Some(false)), ("build", Some(false))]);
    assert_eq!(report.overall, CheckRollup::Pending);
}

#[tokio::test]
async fn large_pull_request_sections_are_paged() {
    let world = World::new();
    {
        let mut seed = world.double.seed();
        for n in 0..130 {
            let path = format!("dir/{n:03}");
            seed.commit(REPO, "big", &[(&path, Some("x\n"))], &format!("Commit {n}"));
        }
        let files: Vec<(String, &str)> =
            (0..220).map(|n| (format!("more/{n:03}"), "y\n")).collect();
        let files: Vec<(&str, Option<&str>)> =
            files.iter().map(|(p, t)| (p.as_str(), Some(*t))).collect();
        seed.commit(REPO, "big", &files, "Many files");
    }
    let id = world.open("big");
    let (view, n) = world
        .count(world.ada.pull(&id, PrFields::COMMITS | PrFields::FILES))
        .await;
    let view = view.unwrap();
    assert_eq!(
        (view.commits.unwrap().len(), view.files.unwrap().len(), n),
        (131, 350, 4)
    );
    assert_eq!(
        world
            .ada
            .commits(&id, PageReq::first(500))
            .await
            .unwrap()
            .items
            .len(),
        131
    );
    assert_eq!(
        world
            .ada
            .files(&id, PageReq::first(500))
            .await
            .unwrap()
            .items
            .len(),
        350
    );
    // GitHub refuses the diff because it has more than 300 files.
    let diff = world.ada.diff(&id, &DiffReq::default()).await.unwrap();
    assert!(
        diff.warnings[0].message.contains("rebuilt from its files"),
        "{:?}",
        diff.warnings
    );
    let text: Vec<Vec<u8>> = diff.body.try_collect().await.unwrap();
    let text = String::from_utf8(text.concat()).unwrap();
    assert_eq!(text.matches("diff --git").count(), 350);
}

#[tokio::test]
async fn lost_reply_in_long_thread_is_found() {
    let world = World::new();
    let id = world.open("feature");
    {
        let mut seed = world.double.seed();
        let thread = seed.thread(REPO, 1, "grace", "a.txt");
        for _ in 0..110 {
            seed.reply(thread, "ada", "Done.");
        }
    }
    let read = || async {
        let page = PageReq::first(1);
        let threads = world.ada.threads(&id, ThreadFilter::Unresolved, page);
        threads.await.unwrap().items.remove(0)
    };
    let thread = CommentId {
        pr: id.clone(),
        key: read().await.id,
    };
    let lost = || Fault::status(502).on_operation("addPullRequestReviewThreadReply");
    world.double.fault(lost().committed());
    let made = world.ada.comment(&id, "Done.", Some(&thread)).await;
    let made = made.unwrap();
    assert_eq!(made.warnings.len(), 1, "{made:?}");
    let comments = read().await.comments;
    assert_eq!((comments.len(), &comments[111].id), (112, &made.value.id));
    // The reply with the same text is older than the write.
    world.double.fault(lost());
    let e = world.ada.comment(&id, "Done.", Some(&thread)).await;
    assert_eq!(e.unwrap_err().retry(), Retry::Ambiguous);
    assert_eq!(read().await.comments.len(), 112);
}

#[tokio::test]
async fn approvals_beyond_one_page_are_counted() {
    let world = World::new();
    let id = world.open("feature");
    let approve = |readers: std::ops::Range<usize>| {
        let mut seed = world.double.seed();
        for n in readers {
            let reader = format!("reader{n}");
            seed.review(REPO, 1, &reader, ReviewState::Approved, "Good.");
        }
    };
    let view = || world.count(world.ada.pull(&id, PrFields::NONE));
    approve(0..100);
    let (seen, n) = view().await;
    assert_eq!((seen.unwrap().approvals, n), (100, 1));

    approve(100..128);
    {
        // The reviewer's later comment does not withdraw the change request.
        let mut seed = world.double.seed();
        seed.review(REPO, 1, "grace", ReviewState::ChangesRequested, "No.");
        seed.review(REPO, 1, "linus", ReviewState::Commented, "Hm.");
        seed.review(REPO, 1, "grace", ReviewState::Commented, "Still no.");
    }
    let whole = |pull: &PullRequest| {
        assert_eq!(pull.warnings, []);
        assert_eq!((pull.approvals, pull.changes_requested), (128, 1));
        assert_eq!(pull.latest_reviews.len(), 130);
        assert_eq!(pull.review_counts().commented, 1);
        let decision = pull.review_decision;
        assert_eq!(decision, Some(ReviewDecision::ChangesRequested));
    };
    let (seen, n) = view().await;
    whole(&seen.unwrap());
    assert_eq!(n, 2);
    let query = PullQuery::default();
    let (rows, n) = world
        .count(world.ada.pulls(&query, PageReq::first(10)))
        .await;
    whole(&rows.unwrap().items[0]);
    assert_eq!(n, 2);

    // The results of changes also include all reviewers.
    let mut title = EditPull::default();
    title.title = Some("New".into());
    let (edited, n) = world.count(world.ada.edit_pull(&id, &title)).await;
    whole(&edited.unwrap().value);
    assert_eq!(n, 3);
    let req = CloseReq::default();
    let (closed, n) = world.count(world.ada.close(&id, &req)).await;
    whole(&closed.unwrap().value);
    assert_eq!(n, 3);
    world.ada.reopen(&id, None).await.unwrap();
    let merged = world.ada.merge(&id, &MergeReq::default()).await.unwrap();
    whole(&merged.value.pull_request);
}

#[tokio::test]
async fn labels_are_defined_and_deleted() {
    let world = World::new();
    let mut new = NewLabel::new("new one");
    new.color = Some("ff0000".into());
    world.ada.define_label(&new).await.unwrap();
    assert_eq!(
        world.ada.define_label(&new).await.unwrap_err().code(),
        "already_exists"
    );
    let names: Vec<_> = world
        .ada
        .labels(PageReq::first(2))
        .await
        .unwrap()
        .items
        .into_iter()
        .map(|l| l.name)
        .collect();
    assert_eq!(names, ["bug", "help, wanted"]);
    world.ada.delete_label("New One").await.unwrap();
    assert!(
        world
            .ada
            .delete_label("new one")
            .await
            .unwrap_err()
            .is_not_found()
    );
}

#[tokio::test]
async fn create_with_invalid_input_creates_nothing() {
    let world = World::new();
    let field = |e: &forge_core::Error| match e.kind() {
        ErrorKind::InvalidInput { field } => field.unwrap_or_default(),
        other => panic!("{other:?}"),
    };
    let plain = || CreatePull::new("feature", "Title");
    let with = |change: fn(&mut CreatePull)| {
        let mut req = plain();
        change(&mut req);
        req
    };
    for (req, wanted) in [
        (with(|req| req.labels = vec!["bgu".into()]), "labels"),
        (
            with(|req| req.reviewers = vec![Reviewer::parse("grcae")]),
            "reviewers",
        ),
        (
            with(|req| req.reviewers = vec![Reviewer::parse("octo/cor")]),
            "reviewers",
        ),
        (
            with(|req| req.assignees = vec!["grcae".into()]),
            "assignees",
        ),
        (with(|req| req.milestone = Some("2.0".into())), "milestone"),
        (with(|req| req.base = Some("nowhere".into())), "base"),
        (CreatePull::new("nowhere", "Title"), "head"),
        (CreatePull::new("main", "Title"), "head"),
    ] {
        let e = world.ada.create_pull(&req).await.unwrap_err();
        assert_eq!(field(&e), wanted);
        assert!(e.hint().is_some(), "{e:?}");
    }
    assert!(world.double.seed().pulls_of(REPO).is_empty());
    assert_eq!(world.double.counts().mutations, 0);
    world.ada.create_pull(&plain()).await.unwrap();
    let e = world.ada.create_pull(&plain()).await.unwrap_err();
    assert!(matches!(
        e.kind(),
        ErrorKind::AlreadyExists { existing: Some(_) }
    ));
    assert!(
        world
            .ada
            .pull(&world.ada.pull_id(999), PrFields::NONE)
            .await
            .unwrap_err()
            .is_not_found()
    );
}

#[tokio::test]
async fn create_from_fork_works() {
    let world = World::new();
    {
        let mut seed = world.double.seed();
        seed.fork(REPO, "grace");
        seed.commit("grace/tools", "theirs", &[("c.txt", Some("c\n"))], "Add c");
    }
    let mut req = CreatePull::new("theirs", "From a fork");
    req.head.owner = Some("grace".into());
    let made = world.grace.create_pull(&req).await.unwrap().value;
    assert_eq!(
        made.head_repo.unwrap().owner_and_name(),
        Some(("grace", "tools"))
    );
    let head = HeadRef::in_fork("grace", "theirs");
    assert_eq!(
        world
            .ada
            .find(&head, StateFilter::Open, PrFields::NONE)
            .await
            .unwrap()
            .pulls
            .len(),
        1
    );
    assert!(
        world
            .ada
            .find(
                &HeadRef::branch("theirs"),
                StateFilter::Open,
                PrFields::NONE
            )
            .await
            .unwrap()
            .pulls
            .is_empty()
    );
}

#[tokio::test]
async fn branch_of_deleted_fork_is_unrelated_to_own_branch() {
    let world = World::new();
    let number = {
        let mut seed = world.double.seed();
        seed.fork(REPO, "grace");
        seed.commit("grace/tools", "main", &[("c.txt", Some("c\n"))], "Add c");
        let pull = PullSeed {
            author: "grace",
            title: "From a fork",
            head: "grace:main",
            base: "feature",
            ..PullSeed::default()
        };
        let number = seed.open_pull(REPO, &pull);
        seed.delete_repo("grace/tools");
        number
    };
    for (head, count) in [
        (HeadRef::branch("main"), 0),
        (HeadRef::in_fork("octo", "main"), 0),
        (HeadRef::in_fork("grace", "main"), 1),
    ] {
        let found = world.ada.find(&head, StateFilter::Open, PrFields::NONE);
        assert_eq!(found.await.unwrap().pulls.len(), count, "{head:?}");
    }
    let pr = world.ada.pull_id(number);
    let read = world.ada.pull(&pr, PrFields::NONE).await.unwrap();
    assert!(read.head_repo_is_unknown && read.head_repo.is_none());
    assert!(read.is_cross_repository());
    assert_eq!(read.fork_owner(), Some("grace"));
    let mut edit = EditPull::default();
    edit.base = Some("main".into());
    let edited = world.ada.edit_pull(&pr, &edit).await.unwrap().value;
    assert_eq!(
        (edited.base_branch.as_str(), edited.head_branch.as_str()),
        ("main", "main")
    );
    let mut req = CloseReq::default();
    req.delete_branch = true;
    let closed = world.ada.close(&pr, &req).await.unwrap();
    assert_eq!(closed.value.state, PrState::Closed);
    let gone = |w: &forge_core::Warning| w.message.ends_with("is gone, or hidden");
    assert!(closed.warnings.iter().any(gone), "{:?}", closed.warnings);
}

#[tokio::test]
async fn edits_and_updates_take_two_requests() {
    let world = World::new();
    let edits = |path: &str| {
        let mut req = CreatePull::new("", "Edit a file");
        req.edits = vec![FileEdit::write(path, "x\n")];
        req
    };
    let (made, n) = world
        .count(world.ada.create_pull(&edits("docs/a.md")))
        .await;
    let made = made.unwrap().value;
    assert_eq!((n, made.head_repo), (2, None));
    let mut labelled = edits("b.md");
    labelled.labels = vec!["bug".into()];
    labelled.base = Some("main".into());
    let (other, n) = world.count(world.grace.create_pull(&labelled)).await;
    let other = other.unwrap().value;
    assert_eq!(
        (n, other.author.login.as_str(), other.labels.len()),
        (3, "grace", 1)
    );
    world
        .ada
        .merge(&made.id, &MergeReq::default())
        .await
        .unwrap();

    let req = UpdateBranch::default();
    let (updated, n) = world
        .count(world.grace.update_branch(&other.id, &req))
        .await;
    let updated = updated.unwrap();
    assert_eq!((n, updated.unchanged), (2, false));
    assert_ne!(updated.value.head_oid, other.head_oid);
    let (again, n) = world
        .count(world.grace.update_branch(&other.id, &req))
        .await;
    assert_eq!((n, again.unwrap().unchanged), (2, true));
}
