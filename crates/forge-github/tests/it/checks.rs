//! Check logs: one request, and the redirect to storage.

use forge_core::model::{Check, CheckStatus};
use insta::assert_json_snapshot;
use serde_json::json;
use wiremock::ResponseTemplate;

use crate::{
    script::{Script, TOKEN, data, rest},
    wire::{changed, one},
};

const LOG: &str = "GET /repos/octo/tools/actions/jobs/345/logs";

/// Returns a check run of GitHub Actions.
fn run() -> Check {
    let mut check = Check::new("build", CheckStatus::Failure);
    check.progress = Some("COMPLETED".into());
    check.conclusion = Some("FAILURE".into());
    check.workflow = Some("CI".into());
    check.event = Some("push".into());
    check.url = Some("https://github.com/octo/tools/actions/runs/12/job/345?pr=7".into());
    check
}

#[tokio::test]
async fn log_end_has_whole_lines() {
    let time = "2026-01-02T03:04:05.1234567Z";
    let text = format!("\u{feff}{time} first line\n{time} second line\n{time} error: it fails\n");
    let answer = || {
        rest(
            LOG,
            ResponseTemplate::new(200).set_body_string(text.clone()),
        )
    };
    let script = Script::play(vec![answer(), answer()]).await;
    let all = script.repo.check_log(&script.pr(), &run(), 1000).await;
    let end = script.repo.check_log(&script.pr(), &run(), 20).await;
    assert_json_snapshot!("check_log", (script.sent(), all.unwrap(), end.unwrap()));
}

#[tokio::test]
async fn token_in_log_is_masked() {
    let header = format!("authorization: Bearer {TOKEN}\n");
    // The second log is cut within the token.
    for (text, most) in [(format!("begin\n{header}end\n"), 1000), (header, 8)] {
        let answer = ResponseTemplate::new(200).set_body_string(text);
        let script = Script::play(vec![rest(LOG, answer)]).await;
        let log = script.repo.check_log(&script.pr(), &run(), most).await;
        let log = log.unwrap().unwrap().text;
        assert!(log.contains("***") && !log.contains("token"), "{log}");
    }
}

#[tokio::test]
async fn long_log_is_shown_to_the_end() {
    let lines: String = (0..2_000).map(|n| format!("line {n}\n")).collect();
    let answer = ResponseTemplate::new(200).set_body_string(lines);
    let script = Script::play(vec![rest(LOG, answer)]).await;
    let log = script.repo.check_log(&script.pr(), &run(), 4_000).await;
    let log = log.unwrap().unwrap();
    assert!(log.cut && log.text.ends_with("line 1998\nline 1999\n"));
}

#[tokio::test]
async fn check_reasons_are_messages_or_failed_steps() {
    let note = |level: &str, path: &str, line: u64, message: &str| {
        json!({
            "annotationLevel": level, "path": path, "location": {"start": {"line": line}},
            "message": message,
        })
    };
    let steps = json!({"nodes": [
        {"name": "Set up job", "conclusion": "SUCCESS"},
        {"name": "Run tests", "conclusion": "FAILURE"},
    ]});
    let exit = note(
        "FAILURE",
        ".github",
        9,
        "Process completed with exit code 1.",
    );
    let nodes = json!({"nodes": [
        {"id": "R2", "annotations": {"nodes": [
            exit, note("WARNING", "a.rs", 1, "unused"),
            note("FAILURE", "src/a.rs", 7, "expected 1,\nfound 2"),
        ]}, "steps": steps},
        {"id": "R1", "annotations": {"nodes": [exit]}, "steps": steps},
        null,
    ]});
    let script = Script::play(vec![data("CheckReasons", nodes)]).await;
    let of = |id: &str| {
        let mut check = run();
        check.id = id.into();
        check
    };
    let (first, second, gone) = (of("R1"), of("R2"), of("R3"));
    let status = of("");
    let asked = [&first, &second, &gone, &status];
    let reasons = script.repo.check_reasons(&script.pr(), &asked).await;
    assert_json_snapshot!("check_reasons", (script.sent(), reasons.unwrap()));
}

#[tokio::test]
async fn rerun_is_one_request_for_each_workflow_run() {
    let job = |name: &str, run: u64, workflow: bool| {
        let suite = json!({ "workflowRun": {
            "event": "push", "url": format!("https://github.com/octo/tools/actions/runs/{run}"),
            "workflow": { "name": "CI" },
        } });
        json!({
            "__typename": "CheckRun", "id": name, "name": name, "status": "COMPLETED",
            "conclusion": "FAILURE", "detailsUrl": format!("https://github.com/octo/tools/actions/runs/{run}/job/1"),
            "checkSuite": if workflow { suite } else { json!({ "workflowRun": null }) },
        })
    };
    let jobs = [
        job("build", 12, true),
        job("test", 12, true),
        job("lint", 34, true),
        job("else", 56, false),
    ];
    let head = "a".repeat(40);
    let commit = json!({ "oid": head, "statusCheckRollup": { "contexts": { "nodes": jobs } } });
    let pull = changed(7, json!({ "head": { "nodes": [{ "commit": commit }] } }));
    let post = |run: u64, status: u16| {
        let route = format!("POST /repos/octo/tools/actions/runs/{run}/rerun-failed-jobs");
        rest(
            &route,
            ResponseTemplate::new(status).set_body_json(json!({})),
        )
    };
    let script = Script::play(vec![
        data("PullView", one(pull)),
        post(12, 201),
        post(34, 403),
    ])
    .await;
    let outcome = script.repo.rerun_failed_checks(&script.pr()).await.unwrap();
    let names: Vec<_> = outcome.value.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names.len(), 2, "{outcome:?}");
    assert!(names.contains(&"build") && names.contains(&"test"));
    let told: Vec<_> = outcome
        .warnings
        .iter()
        .map(|w| w.message.as_str())
        .collect();
    assert!(
        told[0].starts_with("run 34 was not started again"),
        "{told:?}"
    );
    assert!(told[1].ends_with("not run again: else"), "{told:?}");
    script.sent();
}

/// The creator of a check chooses its link. Here the link names a run with the right number in
/// another repository.
#[tokio::test]
async fn rerun_ignores_link_to_another_repository() {
    let job = |link: &str| {
        json!({
            "__typename": "CheckRun", "id": link, "name": link, "status": "COMPLETED",
            "conclusion": "FAILURE", "detailsUrl": format!("{link}/actions/runs/78/job/1"),
            "checkSuite": { "workflowRun": { "event": "push", "workflow": { "name": "CI" } } },
        })
    };
    let jobs = [
        "https://github.com/octo/other",
        "https://evil.example/octo/tools",
        "https://evil.example/?https://github.com/octo/tools",
        "https://github.com/octo/tools/actions/runs/x",
    ]
    .map(job);
    let head = "a".repeat(40);
    let commit = json!({ "oid": head, "statusCheckRollup": { "contexts": { "nodes": jobs } } });
    let pull = changed(7, json!({ "head": { "nodes": [{ "commit": commit }] } }));
    let script = Script::play(vec![data("PullView", one(pull))]).await;
    let e = script.repo.rerun_failed_checks(&script.pr()).await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "precondition_failed", "{e:?}");
    script.sent();
}

/// The link names a run of another commit, but GitHub reports the run to which the check belongs.
#[tokio::test]
async fn rerun_ignores_link_to_another_run() {
    let job = json!({
        "__typename": "CheckRun", "id": "R1", "name": "build", "status": "COMPLETED",
        "conclusion": "FAILURE",
        "detailsUrl": "https://github.com/octo/tools/actions/runs/99/job/1",
        "checkSuite": { "workflowRun": {
            "event": "push", "url": "https://github.com/octo/tools/actions/runs/12",
            "workflow": { "name": "CI" },
        } },
    });
    let commit = json!({
        "oid": "a".repeat(40), "statusCheckRollup": { "contexts": { "nodes": [job] } }
    });
    let pull = changed(7, json!({ "head": { "nodes": [{ "commit": commit }] } }));
    let script = Script::play(vec![data("PullView", one(pull))]).await;
    let e = script.repo.rerun_failed_checks(&script.pr()).await;
    let e = e.unwrap_err();
    assert_eq!(e.code(), "precondition_failed", "{e:?}");
    script.sent();
}

#[tokio::test]
async fn check_without_log_sends_no_request() {
    let mut status = run();
    status.workflow = None;
    let mut elsewhere = run();
    elsewhere.url = Some("https://ci.example/345".into());
    let mut of_another_run = run();
    of_another_run.run_url = Some("https://github.com/octo/tools/actions/runs/34".into());
    let script = Script::play(vec![]).await;
    for check in [status, elsewhere, of_another_run] {
        let log = script.repo.check_log(&script.pr(), &check, 1000).await;
        assert_eq!(log.unwrap(), None, "{check:?}");
    }
}

#[tokio::test]
async fn missing_and_forbidden_logs_are_errors() {
    for (status, code, has_advice) in [
        (404, "not_found", true),
        (410, "not_found", true),
        // Nobody knows this text, so it gets no advice.
        (403, "permission_denied", false),
    ] {
        let no = ResponseTemplate::new(status).set_body_json(json!({ "message": "Not today" }));
        let script = Script::play(vec![rest(LOG, no)]).await;
        let log = script.repo.check_log(&script.pr(), &run(), 1000).await;
        let e = log.unwrap_err();
        assert_eq!(e.code(), code, "{e:?}");
        assert_eq!(e.hint().is_some(), has_advice, "{e:?}");
    }
}
