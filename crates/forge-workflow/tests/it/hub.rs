//! Workflows on the GitHub double: the number of requests for each decision, and concurrent claims.

use std::sync::Arc;

use forge_core::{
    Client, ForgeKind, Policy, Repo, RepoId, RepoPath,
    locator::Hosts,
    model::{BoardId, EditIssue, IssueId, PrFields, PrState, PullRequest},
};
use forge_github::{FixedToken, GitHub};
use forge_github_double::{
    ALL_SCOPES, Fault, GitHubDouble, Options, PullSeed,
    state::{Id, Permission},
};
use forge_http::{Http, HttpSettings, Proxies, RetryPolicy};
use forge_workflow::{
    ClaimGuarantee, ClaimRequest, Definition, FieldStore, LabelStore, MAX_GROUP, MergeEffects,
    MoveRequest, PickRequest, Store, Workflow,
};

pub const REPO: &str = "octo/tools";

pub struct Hub {
    pub double: GitHubDouble,
    pub board: Id,
    pub repo: Repo,
    pub flow: Workflow,
}

pub fn handle(double: &GitHubDouble, token: &str) -> Repo {
    let url = double.url();
    let get = |name: &str| (name == "HTTP_PROXY").then(|| url.clone());
    let settings = HttpSettings {
        proxies: Proxies::from_env(&get).unwrap(),
        retry: RetryPolicy::without_pauses(),
        ..HttpSettings::default()
    };
    let http = Http::new(settings).unwrap();
    let forge = GitHub::new("github.localhost", http, Arc::new(FixedToken::new(token)));
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

pub fn fields() -> Box<dyn Store> {
    Box::new(FieldStore::new(Some(BoardId {
        owner: "octo".to_owned(),
        number: 1,
    })))
}

impl Hub {
    pub fn new() -> Self {
        let double = GitHubDouble::start(Options::default()).unwrap();
        let definition = Definition::preset("ralph").unwrap();
        let board = {
            let mut seed = double.seed();
            seed.org(
                "octo",
                &[("ada", Permission::Admin), ("grace", Permission::Write)],
            );
            for (token, user) in [("gho_0canary0ada", "ada"), ("gho_0canary0grace", "grace")] {
                seed.token(token, user, ALL_SCOPES);
            }
            seed.repo_with_readme(REPO);
            seed.collaborator(REPO, "ada", Permission::Admin);
            seed.collaborator(REPO, "grace", Permission::Write);
            let board = seed.project("octo", "Work", &["Todo", "In Progress", "Done"]);
            let states: Vec<&str> = definition.states.iter().map(|s| s.name.as_str()).collect();
            seed.project_field(board, "Workflow State", &states);
            seed.project_field(board, "Estimate", &["XS", "S", "M", "L", "XL"]);
            seed.project_field(board, "Priority", &["P0", "P1", "P2", "P3"]);
            board
        };
        let repo = handle(&double, "gho_0canary0ada");
        let flow = Workflow::new(repo.clone(), definition, fields());
        Self {
            double,
            board,
            repo,
            flow,
        }
    }

    pub fn id(&self, number: u64) -> IssueId {
        self.repo.issue_id(number)
    }

    /// Opens an issue in a state on the board and returns its number.
    pub fn issue(&self, state: &str) -> u64 {
        let mut seed = self.double.seed();
        let number = seed.open_issue(REPO, "ada", state, "");
        let item = seed.project_item(self.board, REPO, number, "Todo");
        seed.project_value(item, "Workflow State", state);
        number
    }

    pub fn state(&self, number: u64) -> String {
        let values = self.double.seed().project_values(self.board, REPO, number);
        let state = values
            .into_iter()
            .find(|(name, _)| name == "Workflow State");
        state.map(|(_, value)| value).unwrap_or_default()
    }

    /// Returns the numbers of queries and mutations since the last call.
    fn requests(&self) -> (usize, usize) {
        let counts = self.double.counts();
        self.double.reset_record();
        (counts.queries + counts.rest, counts.mutations)
    }
}

#[tokio::test]
async fn group_read_costs_two_requests_plus_hops() {
    let hub = Hub::new();
    let numbers: Vec<u64> = (0..6).map(|_| hub.issue("Research Needed")).collect();
    {
        let mut seed = hub.double.seed();
        for pair in numbers.windows(2) {
            seed.blocked_by((REPO, pair[1]), (REPO, pair[0]));
        }
    }
    // The last issue is three links away from the third one, so three requests are allowed.
    hub.requests();
    let view = hub.flow.group(&hub.id(numbers[2])).await.unwrap();
    assert_eq!(view.group.members.len(), 6);
    let (middle, writes) = hub.requests();
    assert!(middle <= 3, "{middle}");
    assert_eq!(writes, 0);
    for (hops, wanted) in [(1, 2), (2, 2), (3, 3), (4, 4)] {
        let hub = Hub::new();
        let numbers: Vec<u64> = (0..=hops).map(|_| hub.issue("Research Needed")).collect();
        for pair in numbers.windows(2) {
            hub.double
                .seed()
                .blocked_by((REPO, pair[1]), (REPO, pair[0]));
        }
        hub.requests();
        let view = hub.flow.group(&hub.id(numbers[0])).await.unwrap();
        assert_eq!(view.group.members.len(), hops + 1);
        assert!(
            view.issues
                .iter()
                .all(|m| m.state.as_deref() == Some("Research Needed"))
        );
        let (reads, _) = hub.requests();
        assert!(reads <= wanted, "{hops} hops cost {reads}");
    }
}

#[tokio::test]
async fn issues_outside_the_board_cost_no_further_read() {
    for pick in [false, true] {
        let hub = Hub::new();
        let mut seed = hub.double.seed();
        let numbers: Vec<u64> = (0..3)
            .map(|_| seed.open_issue(REPO, "ada", "No state", ""))
            .collect();
        for pair in numbers.windows(2) {
            seed.blocked_by((REPO, pair[1]), (REPO, pair[0]));
        }
        drop(seed);
        hub.requests();
        if pick {
            let picked = hub.flow.pick(&PickRequest::of_state("Backlog")).await;
            assert!(picked.unwrap().pick.issue.is_none());
            assert_eq!(hub.requests(), (1, 0));
        } else {
            let view = hub.flow.group(&hub.id(numbers[0])).await.unwrap();
            assert_eq!(view.group.members.len(), 3);
            assert_eq!(hub.requests(), (2, 0));
        }
    }
}

#[tokio::test]
async fn group_of_over_200_issues_is_marked_truncated() {
    for (count, seed) in [
        (MAX_GROUP, 199),
        (MAX_GROUP + 30, 0),
        (MAX_GROUP + 30, 100),
        (MAX_GROUP + 30, 229),
    ] {
        // The test needs a separate server, because three such groups cost more points than an
        // account has in an hour.
        let hub = Hub::new();
        let numbers: Vec<u64> = (0..count).map(|_| hub.issue("Backlog")).collect();
        // A tree: each issue blocks eight others.
        for (n, number) in numbers.iter().enumerate().skip(1) {
            let root = numbers[(n - 1) / 8];
            hub.double.seed().blocked_by((REPO, *number), (REPO, root));
        }
        hub.requests();
        let view = hub.flow.group(&hub.id(numbers[seed])).await.unwrap();
        let case = format!("{count} from {seed}: {:?}", view.warnings);
        assert_eq!(view.group.truncated, count > MAX_GROUP, "{case}");
        let found = view.convergence(hub.flow.definition(), "Backlog").unwrap();
        assert_eq!(found.converged, count <= MAX_GROUP, "{case}");
        assert_eq!(view.group.members.len(), MAX_GROUP, "{case}");
        assert!(view.group.members.contains(&hub.id(numbers[seed])));
        // The maximum group size bounds the number of reads, with ten issues in each query.
        let (reads, _) = hub.requests();
        assert!(reads <= MAX_GROUP / 10 + 5, "{reads} reads, {case}");
    }
}

#[tokio::test]
async fn long_chain_is_read_from_every_member() {
    for seed in [0, 60, 119] {
        // The test needs a separate server for each seed, because the chain costs many points.
        let hub = Hub::new();
        let numbers: Vec<u64> = (0..120).map(|_| hub.issue("Backlog")).collect();
        for pair in numbers.windows(2) {
            hub.double
                .seed()
                .blocked_by((REPO, pair[1]), (REPO, pair[0]));
        }
        let whole: Vec<IssueId> = numbers.iter().map(|n| hub.id(*n)).collect();
        let view = hub.flow.group(&whole[seed]).await.unwrap();
        assert_eq!(view.group.members, whole, "from {seed}");
        let is_cut = view.group.truncated || !view.warnings.is_empty();
        assert!(!is_cut, "from {seed}: {:?}", view.warnings);
    }
}

#[tokio::test]
async fn r_001_21_position_and_convergence_cost_one_group_read() {
    // C-001-22: one query has the states of the group.
    let hub = Hub::new();
    let parent = hub.issue("Backlog");
    for state in ["Ready for Plan", "Ready for Plan", "Research Needed"] {
        let number = hub.issue(state);
        hub.double.seed().sub_issue((REPO, parent), (REPO, number));
    }
    hub.requests();
    let (position, _) = hub.flow.position(&hub.id(2)).await.unwrap();
    assert_eq!(position.phase, "RESEARCH");
    assert!(hub.requests().0 <= 2);
    let (found, _) = hub
        .flow
        .convergence(&hub.id(2), "Ready for Plan")
        .await
        .unwrap();
    assert_eq!((found.converged, found.total, found.ready), (false, 3, 2));
    assert!(hub.requests().0 <= 2);
}

#[tokio::test]
async fn move_takes_two_reads_and_one_write() {
    let hub = Hub::new();
    let number = hub.issue("Backlog");
    let first = MoveRequest::new("Research Needed", "triage");
    // The first move looks up the board ids. The second move uses the cache.
    hub.flow.set_state(&hub.id(number), &first).await.unwrap();
    hub.requests();
    let mut second = first;
    second.to = "__ESCALATE__";
    let done = hub
        .flow
        .set_state(&hub.id(number), &second)
        .await
        .unwrap()
        .value;
    assert_eq!(done.previous_state, "Research Needed");
    assert_eq!(hub.state(number), "Human Needed");
    // Two reads and one write: the issue with its trail, the ids for the edit, and the edit of
    // both.
    assert_eq!(hub.requests(), (2, 1));
}

#[tokio::test]
async fn pick_reads_pages_of_a_hundred_until_certain() {
    let hub = Hub::new();
    for n in 0..130 {
        let number = hub.issue("Research Needed");
        if n == 3 {
            let mut seed = hub.double.seed();
            let items: Vec<Id> = seed.items.keys().copied().collect();
            let item = *items.last().unwrap();
            seed.project_value(item, "Priority", "P0");
            seed.project_value(item, "Estimate", "XS");
            assert_eq!(number, 4);
        }
        if n == 119 {
            let mut seed = hub.double.seed();
            let item = seed.items.keys().copied().last().unwrap();
            seed.project_value(item, "Priority", "P0");
        }
    }
    let request = PickRequest::of_command("research");
    hub.requests();
    let picked = hub.flow.pick(&request).await.unwrap();
    assert_eq!(picked.pick.issue.unwrap().member.id, hub.id(4));
    assert_eq!((picked.scanned, picked.truncated), (100, true));
    // A single read: an issue without comments has no trail.
    assert_eq!(hub.requests(), (1, 0));
    hub.double.seed().comment(REPO, 4, "ada", "Mine?");
    let again = hub.flow.pick(&request).await.unwrap();
    assert_eq!(again.pick.issue.unwrap().member.id, hub.id(4));
    // Two reads: the page, and the trail of the issue with comments.
    assert_eq!(hub.requests(), (2, 0));
    let request = PickRequest::of_state("Backlog");
    let picked = hub.flow.pick(&request).await.unwrap();
    assert_eq!((picked.pick.issue, picked.scanned), (None, 130));
    assert_eq!(hub.requests(), (2, 0));
    hub.double.seed().set_clock_to_now();
    let hold = ClaimRequest::new("triage").with_holder("agent");
    hub.flow.claim(&hub.id(4), &hold).await.unwrap();
    hub.requests();
    let request = PickRequest::of_command("research");
    let picked = hub.flow.pick(&request).await.unwrap();
    assert_eq!(picked.pick.issue.unwrap().member.id, hub.id(120));
    assert_eq!((picked.scanned, picked.truncated), (130, false));
    // Three reads: the first page, the trail of the claimed issue, and the second page, which is
    // read only because the issue is claimed.
    assert_eq!(hub.requests(), (3, 0));
}

#[tokio::test]
async fn pick_with_labels_reads_only_needed_lists() {
    let hub = Hub::new();
    let store = Box::new(LabelStore::new("state: ".to_owned()));
    let flow = Workflow::new(
        hub.repo.clone(),
        Definition::preset("ralph").unwrap(),
        store,
    );
    flow.init(false).await.unwrap();
    hub.double.seed().set_clock_to_now();
    let open = |state: &str, estimate: &str| {
        let mut seed = hub.double.seed();
        let number = seed.open_issue(REPO, "ada", state, "");
        for label in [format!("state: {state}"), format!("estimate: {estimate}")] {
            seed.label_issue(REPO, number, &label);
        }
        hub.id(number)
    };
    let split = PickRequest::of_command("split");
    let last = open("Plan in Review", "M");
    open("Backlog", "S");
    hub.requests();
    let picked = flow.pick(&split).await.unwrap().pick;
    assert_eq!(
        picked.issue.map(|found| found.member.id),
        Some(last.clone())
    );
    // Three reads, because there is a list for each input state.
    assert_eq!(hub.requests(), (3, 0));
    let first = open("Backlog", "L");
    hub.requests();
    let picked = flow.pick(&split).await.unwrap().pick;
    assert_eq!(
        picked.issue.map(|found| found.member.id),
        Some(first.clone())
    );
    assert_eq!(hub.requests(), (1, 0));
    // If all issues of a list are held, the next list is read.
    let hold = ClaimRequest::new("split").with_holder("agent");
    flow.claim(&first, &hold).await.unwrap();
    hub.requests();
    let picked = flow.pick(&split).await.unwrap().pick;
    assert_eq!(picked.issue.map(|found| found.member.id), Some(last));
    // Four reads: the trail of the held issue, and three lists.
    assert_eq!(hub.requests(), (4, 0));
}

#[tokio::test]
async fn advance_costs_two_reads_and_batched_writes() {
    let hub = Hub::new();
    let parent = hub.issue("Backlog");
    for _ in 0..25 {
        let number = hub.issue("Ready for Plan");
        hub.double.seed().sub_issue((REPO, parent), (REPO, number));
    }
    hub.requests();
    let report = hub
        .flow
        .advance(&hub.id(parent), "In Review", false, false)
        .await
        .unwrap();
    assert_eq!(report.advanced.len(), 25, "{report:?}");
    assert!(report.errors.is_empty());
    for number in 2..=26 {
        assert_eq!(hub.state(number), "In Review");
    }
    // Two reads: the children with their parent, and the ids for the edits.
    assert_eq!(hub.requests(), (2, 2));
    let again = hub
        .flow
        .advance(&hub.id(parent), "In Review", false, false)
        .await
        .unwrap();
    assert!(again.advanced.is_empty());
    let (reads, writes) = hub.requests();
    assert!(reads <= 2 && writes == 0, "{reads} reads, {writes} writes");
}

#[tokio::test]
async fn advance_query_includes_trails_of_children() {
    let hub = Hub::new();
    hub.double.seed().set_clock_to_now();
    let parent = hub.issue("Backlog");
    for _ in 0..25 {
        let number = hub.issue("Ready for Plan");
        let mut seed = hub.double.seed();
        seed.sub_issue((REPO, parent), (REPO, number));
        seed.comment(REPO, number, "ada", "Who takes this?");
    }
    let plan = ClaimRequest::new("plan").with_holder("agent");
    let claimed = hub.id(5);
    hub.flow.claim(&claimed, &plan).await.unwrap();
    // A person moves the claimed issue back on the board, without the workflow.
    let state = (
        "Workflow State".to_owned(),
        Some("Ready for Plan".to_owned()),
    );
    let mut back = EditIssue::default();
    back.values = [state].into();
    back.board = fields().board().cloned();
    hub.repo.edit_issue(&claimed, &back).await.unwrap();
    hub.requests();
    let report = hub
        .flow
        .advance(&hub.id(parent), "In Review", false, false)
        .await
        .unwrap();
    assert_eq!(report.advanced.len(), 24, "{report:?}");
    let skipped = &report.skipped;
    assert_eq!(skipped.len(), 1, "{report:?}");
    assert_eq!(skipped[0].id, claimed);
    assert_eq!(skipped[0].reason, "agent works on it");
    assert_eq!(hub.state(5), "Ready for Plan");
    // The comments cost no further request, because each trail is read with its issue.
    assert_eq!(hub.requests(), (2, 2));
}

#[tokio::test]
async fn child_with_long_trail_is_read_separately() {
    let hub = Hub::new();
    hub.double.seed().set_clock_to_now();
    let parent = hub.issue("Backlog");
    let number = hub.issue("Ready for Plan");
    {
        let mut seed = hub.double.seed();
        seed.sub_issue((REPO, parent), (REPO, number));
        for n in 0..60 {
            seed.comment(REPO, number, "ada", &format!("Remark {n}"));
        }
    }
    let plan = ClaimRequest::new("plan").with_holder("agent");
    hub.flow.claim(&hub.id(number), &plan).await.unwrap();
    let state = (
        "Workflow State".to_owned(),
        Some("Ready for Plan".to_owned()),
    );
    let mut back = EditIssue::default();
    back.values = [state].into();
    back.board = fields().board().cloned();
    hub.repo.edit_issue(&hub.id(number), &back).await.unwrap();
    let report = hub
        .flow
        .advance(&hub.id(parent), "In Review", false, false)
        .await
        .unwrap();
    assert!(report.advanced.is_empty(), "{report:?}");
    assert_eq!(report.skipped[0].reason, "agent works on it");
}

#[tokio::test]
async fn advance_reports_only_unmovable_children_as_failed() {
    let hub = Hub::new();
    let parent = hub.issue("Backlog");
    for _ in 0..25 {
        let number = hub.issue("Ready for Plan");
        let mut seed = hub.double.seed();
        seed.sub_issue((REPO, parent), (REPO, number));
        if [3, 24].contains(&number) {
            let item = seed.items.keys().copied().last();
            seed.archive_item(item.unwrap());
        }
    }
    hub.requests();
    let report = hub
        .flow
        .advance(&hub.id(parent), "In Review", false, false)
        .await
        .unwrap();
    let failed: Vec<_> = report.errors.iter().map(|e| e.id.key.to_string()).collect();
    assert_eq!(failed, ["3", "24"], "{report:?}");
    for e in &report.errors {
        assert!(e.error.starts_with("Failed to update: "), "{}", e.error);
        assert!(!e.hint.text().is_empty(), "{e:?}");
    }
    assert_eq!(report.advanced.len(), 23);
    for number in 2..=26 {
        let wanted = match [3, 24].contains(&number) {
            true => "Ready for Plan",
            false => "In Review",
        };
        assert_eq!(hub.state(number), wanted, "#{number}");
    }
    let trail = hub.flow.trail(&hub.id(3)).await.unwrap();
    assert!(
        trail.moves.is_empty(),
        "the trail has no move that did not happen"
    );
}

#[tokio::test]
async fn group_keeps_issues_of_two_repositories_apart() {
    const OTHER: &str = "octo/other";
    let hub = Hub::new();
    {
        let mut seed = hub.double.seed();
        seed.repo_with_readme(OTHER);
        seed.collaborator(OTHER, "ada", Permission::Admin);
    }
    let first = hub.issue("Ready for Plan");
    let same = hub.double.seed().open_issue(OTHER, "ada", "Other", "");
    assert_eq!(first, same, "both issues have the same number");
    let second = hub.issue("Ready for Plan");
    {
        let mut seed = hub.double.seed();
        seed.blocked_by((REPO, first), (OTHER, same));
        seed.blocked_by((REPO, second), (REPO, first));
    }
    let whole = hub.flow.group(&hub.id(first)).await.unwrap().group;
    let names: Vec<String> = whole.members.iter().map(ToString::to_string).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names[0].ends_with("octo/other#1"), "{names:?}");
    for member in &whole.members {
        let from = hub.flow.group(member).await.unwrap().group;
        assert_eq!(from.members, whole.members, "from {member}");
        assert_eq!(from.primary, whole.primary);
    }
    // GitHub ignores the case of names, so another spelling is the same issue.
    let mut spelled = hub.id(first);
    spelled.repo.path = RepoPath::Named {
        owner: "Octo".into(),
        name: "Tools".into(),
    };
    let from = hub.flow.group(&spelled).await.unwrap().group;
    let keys = |ids: &[IssueId]| -> Vec<_> {
        let key = |id: &IssueId| (id.repo.comparison_key(), id.key.clone());
        ids.iter().map(key).collect()
    };
    assert_eq!(keys(&from.members), keys(&whole.members));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn twenty_claimers_on_github_have_one_winner() {
    let hub = Arc::new(Hub::new());
    assert_eq!(hub.flow.promise(), ClaimGuarantee::Ordered);
    let number = hub.issue("Research Needed");
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..20 {
        let hub = hub.clone();
        tasks.spawn(async move {
            let token = ["gho_0canary0ada", "gho_0canary0grace"][n % 2];
            let repo = handle(&hub.double, token);
            let flow = Workflow::new(repo, Definition::preset("ralph").unwrap(), fields());
            let name = format!("agent-{n:02}");
            let req = ClaimRequest::new("research").with_holder(&name);
            (flow.claim(&hub.id(number), &req).await, name.clone())
        });
    }
    let (mut won, mut lost) = (Vec::new(), Vec::new());
    while let Some(done) = tasks.join_next().await {
        match done.unwrap() {
            (Ok(done), name) => won.push((name, done.value.claim.unwrap())),
            (Err(e), _) => lost.push(e),
        }
    }
    let [(winner, claim)] = won.as_slice() else {
        panic!("{won:?} {lost:?}");
    };
    for e in &lost {
        assert_eq!(e.code(), "conflict", "{e}");
        assert!(e.message().contains(winner.as_str()), "{e}");
    }
    assert_eq!(hub.state(number), "Research in Progress");
    let trail = hub.flow.trail(&hub.id(number)).await.unwrap();
    assert_eq!(trail.claim.unwrap().id, claim.id);
    assert!(trail.lost.is_empty(), "the losing claims are withdrawn");
}

#[tokio::test]
async fn lost_answers_of_a_claim_are_read_back() {
    for skip in 0..2 {
        let hub = Hub::new();
        let number = hub.issue("Research Needed");
        let req = ClaimRequest::new("research").with_holder("agent");
        hub.double
            .fault(Fault::status(502).on_mutations().committed().skip(skip));
        let done = hub.flow.claim(&hub.id(number), &req).await;
        let claim = done
            .unwrap_or_else(|e| panic!("write {skip}: {e}"))
            .value
            .claim
            .unwrap();
        assert_eq!(hub.state(number), "Research in Progress");
        let trail = hub.flow.trail(&hub.id(number)).await.unwrap();
        assert_eq!(trail.claim.unwrap().id, claim.id);
        assert_eq!(hub.double.faults_left(), 0);
    }
}

#[tokio::test]
async fn refused_write_leaves_neither_claim_nor_state() {
    let hub = Hub::new();
    let number = hub.issue("Research Needed");
    let req = ClaimRequest::new("research").with_holder("agent");
    // The comment is written, but the move fails.
    hub.double.fault(Fault::status(502).on_mutations().skip(1));
    hub.flow.claim(&hub.id(number), &req).await.unwrap_err();
    assert_eq!(hub.state(number), "Research Needed");
    assert_eq!(hub.flow.trail(&hub.id(number)).await.unwrap().claim, None);
    hub.flow.claim(&hub.id(number), &req).await.unwrap();
}

#[tokio::test]
async fn forged_entry_of_a_stranger_is_ignored() {
    let hub = Hub::new();
    let number = hub.issue("Research Needed");
    let req = ClaimRequest::new("research").with_holder("agent");
    let claim = hub
        .flow
        .claim(&hub.id(number), &req)
        .await
        .unwrap()
        .value
        .claim
        .unwrap();
    let body = {
        let seed = hub.double.seed();
        let comments = seed.comments_of(REPO, number);
        comments.last().unwrap().body.clone()
    };
    {
        let mut seed = hub.double.seed();
        seed.user("mallory");
        let ends = format!(
            "**a** → **b** by c\n\n<!-- forge-workflow: {{\"id\":\"x\",\"event\":\"moved\",\"from\":null,\"to\":\"Done\",\"command\":\"c\",\"ends\":\"{}\"}} -->",
            claim.id
        );
        seed.comment(REPO, number, "mallory", &ends);
        let forced = body
            .replace(&claim.id, "mine")
            .replace("\"from\"", &format!("\"forced\":\"{}\",\"from\"", claim.id));
        seed.comment(REPO, number, "mallory", &forced);
        // A team member quotes the entry.
        let quoted = format!("> {}\n\nWhat is this?", body.replace('\n', "\n> "));
        seed.comment(REPO, number, "ada", &quoted);
    }
    let trail = hub.flow.trail(&hub.id(number)).await.unwrap();
    assert_eq!(trail.claim.as_ref().unwrap().id, claim.id);
    assert_eq!(
        (trail.ids.len(), trail.lost.len(), trail.moves.len()),
        (1, 0, 0)
    );
    hub.flow
        .heartbeat(&hub.id(number), &claim.id)
        .await
        .unwrap();
}

#[tokio::test]
async fn fields_and_labels_are_created_once() {
    let hub = Hub::new();
    assert!(hub.flow.init(false).await.unwrap().made.is_empty());
    let definition = Definition::preset("small").unwrap();
    let flow = Workflow::new(hub.repo.clone(), definition.clone(), fields());
    let dry = flow.init(true).await.unwrap();
    assert!(dry.made.iter().all(|s| s.kind == "field"), "{dry:?}");
    let made = flow.init(false).await.unwrap();
    assert_eq!(made.made, dry.made);
    assert!(flow.init(false).await.unwrap().made.is_empty());
    let flow = Workflow::new(
        hub.repo.clone(),
        definition,
        Box::new(LabelStore::new("state: ".to_owned())),
    );
    let made = flow.init(false).await.unwrap().made;
    assert!(made.iter().any(|s| s.name == "state: Todo"), "{made:?}");
    assert!(flow.init(false).await.unwrap().made.is_empty());
}

/// Opens a pull request that closes issues 1 to 3: the first is on the board, the second on no board,
/// the third on another one.
async fn pull_of_three_issues(hub: &Hub) -> PullRequest {
    hub.issue("In Review");
    let number = {
        let mut seed = hub.double.seed();
        let other = seed.project("octo", "Other", &["Todo"]);
        for title in ["On no board", "On another board"] {
            seed.open_issue(REPO, "ada", title, "");
        }
        seed.project_item(other, REPO, 3, "Todo");
        seed.commit(REPO, "feature", &[("new.txt", Some("1\n"))], "Add");
        let pull = PullSeed {
            author: "ada",
            title: "Mend it",
            body: "Fixes #1, fixes #2, fixes #3.",
            head: "feature",
            ..PullSeed::default()
        };
        seed.open_pull(REPO, &pull)
    };
    let id = hub.repo.pull_id(number);
    hub.repo.pull(&id, PrFields::LINKED_ISSUES).await.unwrap()
}

fn items_on_board(hub: &Hub) -> usize {
    let seed = hub.double.seed();
    let items = seed.items.values();
    items.filter(|item| item.project == hub.board).count()
}

#[tokio::test]
async fn merge_adds_no_issue_to_the_board() {
    let hub = Hub::new();
    let mut pull = pull_of_three_issues(&hub).await;
    let hosts = Hosts::builtin();
    let effects = MergeEffects::new(hub.repo.clone(), Some(&hub.flow), hosts);
    let plan = effects.plan(&pull).await.unwrap();
    assert_eq!(plan.in_words(), "#1: In Review -> Done (closed)");
    let off: Vec<&str> = plan.off_board().iter().map(|l| l.issue.as_str()).collect();
    assert_eq!(off, ["#2", "#3"]);
    let reason = "it is not on board octo/1; `add_to_board = true` in [on_merge] adds such issues";
    assert!(plan.off_board().iter().all(|left| left.reason == reason));
    pull.state = PrState::Merged;
    pull.merge_commit = Some("a".repeat(40));
    let report = effects.apply(&pull, plan).await;
    assert_eq!(report.transitioned.len(), 1);
    assert_eq!(report.skipped.len(), 2, "{report:?}");
    assert_eq!(items_on_board(&hub), 1);
}

#[tokio::test]
async fn merge_adds_issues_to_the_board_if_asked() {
    let hub = Hub::new();
    let mut pull = pull_of_three_issues(&hub).await;
    let mut definition = Definition::preset("ralph").unwrap();
    definition.on_merge.add_to_board = true;
    let flow = Workflow::new(hub.repo.clone(), definition, fields());
    let hosts = Hosts::builtin();
    let effects = MergeEffects::new(hub.repo.clone(), Some(&flow), hosts);
    let plan = effects.plan(&pull).await.unwrap();
    let words = "#1: In Review -> Done (closed), \
                 #2: no state -> Done (closed), added to board octo/1, \
                 #3: no state -> Done (closed), added to board octo/1";
    assert_eq!(plan.in_words(), words);
    assert!(plan.off_board().is_empty());
    pull.state = PrState::Merged;
    pull.merge_commit = Some("a".repeat(40));
    let report = effects.apply(&pull, plan).await;
    assert_eq!(report.transitioned.len(), 3, "{report:?}");
    assert_eq!(items_on_board(&hub), 3);
    assert_eq!(hub.state(3), "Done");
}

/// An issue that leaves the board after the question is not added to it again.
#[tokio::test]
async fn issue_removed_from_board_meanwhile_stays_off() {
    let hub = Hub::new();
    let mut pull = pull_of_three_issues(&hub).await;
    let mut definition = Definition::preset("ralph").unwrap();
    definition.on_merge.add_to_board = true;
    let flow = Workflow::new(hub.repo.clone(), definition, fields());
    let hosts = Hosts::builtin();
    let effects = MergeEffects::new(hub.repo.clone(), Some(&flow), hosts);
    let mut plan = effects.plan(&pull).await.unwrap();
    plan.steps.truncate(1);
    hub.double
        .seed()
        .items
        .retain(|_, item| item.project != hub.board);
    pull.state = PrState::Merged;
    pull.merge_commit = Some("a".repeat(40));
    let report = effects.apply(&pull, plan).await;
    assert_eq!(
        report.skipped[0].reason,
        "it left the board in the meantime"
    );
    assert_eq!(items_on_board(&hub), 0);
}
