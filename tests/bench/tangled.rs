//! A list of a repository on tangled whose index does not answer.

use std::time::Duration;

use forge_testkit::{
    Run, Scratch, forge_binary,
    tangled::{Host, Recorded, World},
};
use serde_json::json;

use crate::{
    measure::once,
    page::{Page, mb, ms},
};

const PASSWORD: &str = "correct0canary0horse";
const PULL: &str = "sh.tangled.repo.pull";
const AUTHORS: usize = 50;
const PULLS: usize = 1_000;
const TIMES: usize = 5;
/// What one request takes.
const LATENCY: Duration = Duration::from_millis(100);
/// What all of them may take.
const MOST: Duration = Duration::from_secs(2);

/// 1,000 pull requests by 50 authors, 100 ms a request, at most 8 at a time.
pub fn measure(page: &mut Page) {
    page.table(
        "Tangled, with the index down",
        &format!(
            "`forge pr list -L {PULLS}` of {PULLS} open pull requests by {AUTHORS} accounts at 100 ms per \
             request and at most 8 at a time. The index does not answer; backlinks and the accounts' \
             own server do. The repository is known from an earlier command, the accounts are not. \
             The median of {TIMES} runs; \"in a row\" is the longest chain of requests that waited \
             for each other."
        ),
        &["Requests", "In a row", "Time", "Memory"],
    );
    let world = filled();
    let mut samples = Vec::new();
    let (mut requests, mut chain) = (0, 0);
    for _ in 0..TIMES {
        let scratch = Scratch::new();
        world.index().host().set_down(false);
        forge(&world, &scratch, "1").ok();
        world.index().host().set_down(true);
        let hosts = hosts(&world);
        for host in hosts {
            host.reset_record();
            host.set_latency(LATENCY);
        }
        let run = forge(&world, &scratch, &PULLS.to_string());
        samples.push(once(&scratch, &run));
        requests = hosts.iter().map(|host| host.count()).sum();
        chain = Recorded::longest_chain(&hosts);
        let most = hosts.iter().map(|host| host.most_at_once()).max();
        assert!(most <= Some(8), "{most:?} at a time");
        hosts
            .iter()
            .for_each(|host| host.set_latency(Duration::ZERO));
        // That nothing was left out, and that it was not the index that said it.
        let said = run.output().success();
        assert_eq!(
            said.stdout_text().lines().count(),
            PULLS,
            "{}",
            said.stderr_text()
        );
    }
    samples.sort_unstable_by_key(|sample| sample.wall);
    let middle = samples[TIMES / 2];
    let time = page.limit(
        "a list without the index",
        &ms(middle.wall),
        "2 s",
        middle.wall <= MOST,
    );
    page.row(&[
        requests.to_string(),
        chain.to_string(),
        time,
        mb(middle.peak),
    ]);
}

fn filled() -> World {
    let world = World::start().unwrap();
    let alice = world.pds().account("alice.test", PASSWORD);
    let repo = world.repository(&alice, "widget");
    for author in 0..AUTHORS {
        let account = world
            .pds()
            .account(&format!("author{author}.test"), PASSWORD);
        for n in 0..PULLS / AUTHORS {
            let record = json!({
                "$type": PULL,
                "title": format!("Change {n} of {author}"),
                "target": { "repo": repo.did, "branch": "main" },
                "createdAt": format!("2026-11-01T{n:02}:{author:02}:00Z"),
                "rounds": [],
            });
            world.pds().add(&account.did, PULL, record);
        }
    }
    world
}

fn hosts(world: &World) -> [&Host; 5] {
    let index = world.index();
    [
        world.directory().host(),
        world.pds().host(),
        world.knot().host(),
        index.host(),
        index.backlinks(),
    ]
}

fn forge(world: &World, scratch: &Scratch, most: &str) -> Run {
    let index = world.index();
    [
        ("TANGLED_INDEX_URL", index.host().url()),
        ("TANGLED_WEB_URL", index.web().url()),
        ("TANGLED_BACKLINKS_URL", index.backlinks().url()),
        ("TANGLED_PLC_URL", world.directory().host().url()),
        // Handles lead to their owners' hosts, which are not the server of all accounts.
        ("TANGLED_RESOLVER_URL", world.directory().host().url()),
    ]
    .into_iter()
    .fold(scratch.run(forge_binary()), |run, (key, value)| {
        run.env(key, value)
    })
    .args(["pr", "list", "-R", "tangled:alice.test/widget", "-L", most])
}
