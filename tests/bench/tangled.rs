//! Measures a list of pull requests on tangled while the index is down.

use std::time::{Duration, Instant};

use forge_core::{
    PageReq, PullRequests as _,
    model::{PrFields, PullQuery},
};
use forge_tangled::{Origin, TangledSettings};
use forge_tangled_world::{Host, Recorded};
use forge_testkit::{Run, Scratch, forge_binary};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::{
    measure::once,
    page::{Page, mb, ms},
    stage::{PASSWORD, Stage},
};

const PULL: &str = "sh.tangled.repo.pull";
const AUTHORS: usize = 50;
const PULLS: usize = 1_000;
const TIMES: usize = 5;
const LATENCY: Duration = Duration::from_millis(100);
/// Maximum time of the list.
const MAX_TIME: Duration = Duration::from_secs(2);
/// Maximum number of concurrent requests to one host.
const IN_FLIGHT: u64 = 8;

/// Lists 1,000 pull requests by 50 authors, with 100 ms per request and at most 8 concurrent
/// requests per host.
pub fn measure(page: &mut Page) {
    page.table(
        "Tangled, with the index down",
        &format!(
            "{PULLS} open pull requests by {AUTHORS} accounts, at 100 ms per request and at most \
             {IN_FLIGHT} at a time at a host; medians of {TIMES} runs. The index does not answer; \
             backlinks and the accounts' own server do. The accounts are not known before. \"The list\" is \
             the library with a known repository; the command also looks the repository up.\n\n\
             \"In a row\" is the longest chain of requests that waited for each other. All accounts \
             are on one server, which gets two requests for each. The minimum in a row is therefore \
             those requests, {IN_FLIGHT} at a time, after one for the list of accounts and one for \
             the address of the first."
        ),
        &["What", "Requests", "In a row", "Time", "Memory"],
    );
    let stage = filled();
    let runtime = Runtime::new().unwrap();
    let list = median(|| runtime.block_on(listed(&stage)));
    let time = page.limit(
        "a list without the index",
        &ms(list.wall),
        "2 s",
        list.wall <= MAX_TIME,
    );
    page.row(&list.row("the list", time));
    let command = median(|| commanded(&stage));
    page.row(&command.row(&format!("`forge pr list -L {PULLS}`"), ms(command.wall)));
}

/// Time, requests and memory that one list takes.
struct Took {
    wall: Duration,
    requests: usize,
    chain: usize,
    /// Peak memory in KiB. `None` for the library, which runs in the servers' process.
    memory: Option<u64>,
}

impl Took {
    /// Returns the cost of a list, from the requests that the hosts have recorded.
    fn of(hosts: &[&Host], wall: Duration, memory: Option<u64>) -> Self {
        let most = hosts.iter().map(|host| host.most_at_once()).max();
        assert!(most <= Some(IN_FLIGHT), "{most:?} at a time");
        Self {
            wall,
            requests: hosts.iter().map(|host| host.count()).sum(),
            chain: Recorded::longest_chain(hosts),
            memory,
        }
    }

    fn row(&self, what: &str, time: String) -> [String; 5] {
        [
            what.to_owned(),
            self.requests.to_string(),
            self.chain.to_string(),
            time,
            self.memory.map_or(String::new(), mb),
        ]
    }
}

fn median(run: impl FnMut() -> Took) -> Took {
    let mut all: Vec<Took> = std::iter::repeat_with(run).take(TIMES).collect();
    all.sort_unstable_by_key(|took| took.wall);
    all.swap_remove(TIMES / 2)
}

/// Lists with the library's client, which has already resolved the repository.
async fn listed(stage: &Stage) -> Took {
    // Handles resolve at their owners' hosts, not at the PDS that has all accounts.
    let handles = stage.world.directory().host().url();
    let settings = TangledSettings {
        handles: Some(Origin::configured(&handles).unwrap()),
        ..stage.settings()
    };
    let forge = stage.tangled_with(settings, None);
    forge.era(&stage.id()).await.unwrap();
    let mut query = PullQuery::default();
    query.fields = PrFields::ROW;
    let hosts = hosts(stage);
    add_latency(&hosts);
    let begun = Instant::now();
    let page = forge.list(&stage.id(), &query, PageReq::first(PULLS)).await;
    let took = Took::of(&hosts, begun.elapsed(), None);
    remove_latency(&hosts);
    assert_eq!(page.unwrap().items.len(), PULLS);
    took
}

/// Lists with the real binary.
fn commanded(stage: &Stage) -> Took {
    let scratch = Scratch::new();
    let run = forge(stage, &scratch);
    let hosts = hosts(stage);
    add_latency(&hosts);
    let sample = once(&scratch, &run);
    let took = Took::of(&hosts, sample.wall, Some(sample.peak));
    remove_latency(&hosts);
    // The list has to be complete although the index is down.
    let said = run.output().success();
    assert_eq!(
        said.stdout_text().lines().count(),
        PULLS,
        "{}",
        said.stderr_text()
    );
    took
}

fn add_latency(hosts: &[&Host]) {
    for host in hosts {
        host.reset_record();
        host.set_latency(LATENCY);
    }
}

fn remove_latency(hosts: &[&Host]) {
    hosts
        .iter()
        .for_each(|host| host.set_latency(Duration::ZERO));
}

/// Creates a stage with all pull requests, whose index is down.
fn filled() -> Stage {
    let stage = Stage::new();
    let pds = stage.world.pds();
    for author in 0..AUTHORS {
        let account = pds.account(&format!("author{author}.test"), PASSWORD);
        for n in 0..PULLS / AUTHORS {
            let record = json!({
                "$type": PULL,
                "title": format!("Change {n} of {author}"),
                "target": { "repo": stage.repo.did, "branch": "main" },
                "createdAt": format!("2026-11-01T{n:02}:{author:02}:00Z"),
                "rounds": [],
            });
            pds.add(&account.did, PULL, record);
        }
    }
    stage.world.index().host().set_down(true);
    stage
}

fn hosts(stage: &Stage) -> [&Host; 5] {
    let (world, index) = (&stage.world, stage.world.index());
    [
        world.directory().host(),
        world.pds().host(),
        world.knot().host(),
        index.host(),
        index.backlinks(),
    ]
}

fn forge(stage: &Stage, scratch: &Scratch) -> Run {
    let (world, index) = (&stage.world, stage.world.index());
    let most = PULLS.to_string();
    [
        ("TANGLED_INDEX_URL", index.host().url()),
        ("TANGLED_WEB_URL", index.web().url()),
        ("TANGLED_BACKLINKS_URL", index.backlinks().url()),
        ("TANGLED_PLC_URL", world.directory().host().url()),
        ("TANGLED_RESOLVER_URL", world.directory().host().url()),
    ]
    .into_iter()
    .fold(scratch.run(forge_binary()), |run, (key, value)| {
        run.env(key, value)
    })
    .args(["pr", "list", "-R", "tangled:alice.test/widget", "-L", &most])
}
