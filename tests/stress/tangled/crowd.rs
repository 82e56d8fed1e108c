use std::thread;

use forge_testkit::{Output, Run};

use super::hall::Hall;

fn at_once(runs: &[Run]) -> Vec<Output> {
    thread::scope(|scope| {
        let running: Vec<_> = runs
            .iter()
            .map(|run| scope.spawn(|| run.output()))
            .collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    })
}

#[test]
fn thirty_programs_edit_one_pull_request() {
    let hall = Hall::new();
    hall.branch("topic", "topic", "x\n");
    hall.create("topic").ok();
    let uri = hall.pulls("topic").remove(0);
    let pds = hall.world.pds();
    // The session has expired, so one process has to renew it for all.
    pds.set_clock(3 * 3600);
    let edits: Vec<_> = (0..30)
        .map(|n| {
            let (flag, text) = if n % 2 == 0 {
                ("--title", format!("Title {n}"))
            } else {
                ("--body", format!("Body {n}"))
            };
            hall.forge(&["pr", "edit", &uri, flag, &text])
        })
        .collect();
    for output in at_once(&edits) {
        let _ = output.success();
    }
    let sessions = [
        "com.atproto.server.createSession",
        "com.atproto.server.refreshSession",
    ];
    assert_eq!(sessions.map(|method| pds.host().count_of(method)), [1, 1]);
    let versions = pds.versions(&uri);
    let mut texts = Vec::new();
    for pair in versions.windows(2) {
        let (before, after) = (&pair[0].1, &pair[1].1);
        let changed: Vec<_> = ["title", "body"]
            .into_iter()
            .filter(|name| before[name] != after[name])
            .collect();
        assert_eq!(changed.len(), 1, "{before:#}\n{after:#}");
        texts.push(after[changed[0]].as_str().unwrap().to_owned());
    }
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 30, "an edit is lost: {texts:?}");
    assert_eq!(versions.len(), 31);
}
