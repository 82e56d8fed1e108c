use forge_core::{
    Capability, Effect, Op, PageReq, Support,
    model::{Examined, ExaminedVerdict},
};
use insta::assert_json_snapshot;
use serde_json::json;
use wiremock::ResponseTemplate;

use crate::{
    script::{Script, data, refused, rest},
    wire::{nodes, page, user},
};

#[tokio::test]
async fn viewer_is_read() {
    let script = Script::play(vec![data("Viewer", json!({ "viewer": user("ada") }))]).await;
    let viewer = script.repo.viewer().await.unwrap();
    assert_json_snapshot!("viewer", (script.sent(), viewer));
}

#[tokio::test]
async fn branches_are_paged() {
    let branch =
        |name: &str, tip: &str| json!({ "name": name, "target": { "oid": tip.repeat(40) } });
    let of = |mut list: serde_json::Value| {
        list["totalCount"] = json!(4);
        json!({ "repository": { "refs": list } })
    };
    // A ref without a target has no tip, so it is left out.
    let broken = json!({ "name": "broken", "target": null });
    let first = vec![branch("feature/a", "a"), broken];
    let script = Script::play(vec![
        data("Branches", of(page(first, "b2"))),
        data("Branches", of(nodes(vec![branch("main", "b")]))),
        data("Branches", json!({ "repository": null })),
    ])
    .await;
    let first = script.repo.branches(PageReq::first(2)).await.unwrap();
    let next = PageReq::after(first.next.clone().unwrap(), 500);
    let rest = script.repo.branches(next).await.unwrap();
    let gone = script.repo.branches(PageReq::first(2)).await.unwrap_err();
    assert!(gone.is_not_found() && gone.hint().is_some(), "{gone:?}");
    assert_json_snapshot!("branches", (script.sent(), [first, rest]));
}

fn repository(archived: bool) -> serde_json::Value {
    json!({ "repository": {
        "id": "R_1", "name": "Tools", "owner": { "login": "Octo" },
        "url": "https://github.com/Octo/Tools", "description": "", "isArchived": archived,
        "viewerPermission": "MAINTAIN", "viewerDefaultMergeMethod": "SQUASH",
        "mergeCommitAllowed": true, "squashMergeAllowed": true, "rebaseMergeAllowed": false,
        "autoMergeAllowed": false, "defaultBranchRef": { "name": "trunk" },
        "parent": { "name": "tools", "owner": { "login": "upstream" } },
    }})
}

#[tokio::test]
async fn repository_settings_are_read() {
    let script = Script::play(vec![data("Repository", repository(false))]).await;
    let info = script.repo.info().await.unwrap();
    assert_json_snapshot!("repo", (script.sent(), &info));
    let no: Vec<_> = info.overrides.iter().map(|(c, _)| *c).collect();
    assert_eq!(no, [Capability::MergeRebase, Capability::MergeAuto]);
}

#[tokio::test]
async fn archived_repository_is_read_only() {
    let script = Script::play(vec![data("Repository", repository(true))]).await;
    let caps = script.repo.capabilities().await.unwrap();
    let yes = |c: Capability| caps.iter().any(|(k, s)| *k == c && s.is_yes());
    for op in Op::ALL {
        if let Some(needed) = op.capability() {
            assert_eq!(yes(needed), op.effect() == Effect::Read, "{op:?}");
        }
    }
    assert!(yes(Capability::PrPatch) && yes(Capability::PrListSearch));
    assert!(!yes(Capability::MergeSquash) && !yes(Capability::PrCreateDraft));
    assert!(
        caps.iter()
            .any(|(_, s)| matches!(s, Support::No { why, .. } if why.contains("archived")))
    );
}

#[tokio::test]
async fn examine_reads_schema_and_routes() {
    let branch = "/repos/octo/tools/branches/trunk/protection";
    let rules = "/repos/octo/tools/rules/branches/trunk?per_page=1";
    let script = Script::play(vec![
        data("Introspection", json!({ "t0": null })),
        data("Repository", repository(false)),
        rest(
            &format!("GET {rules}"),
            ResponseTemplate::new(200).set_body_json(json!([{ "type": "update" }])),
        ),
        rest(
            &format!("GET {branch}"),
            ResponseTemplate::new(404)
                .insert_header("deprecation", "@1772323200")
                .insert_header("sunset", "Tue, 10 Mar 2027 00:00:00 GMT"),
        ),
    ])
    .await;
    let planned = script.repo.examine(false).await.unwrap();
    assert!(
        planned
            .iter()
            .all(|it| it.verdict == ExaminedVerdict::Skipped)
    );
    let found = script.repo.examine(true).await.unwrap();
    let verdicts: Vec<_> = found.iter().map(|it| it.verdict.word()).collect();
    assert_eq!(verdicts, ["differs", "ok", "ok"]);
    let names = |all: &[Examined]| all.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&planned), names(&found));
    let deprecated = "HTTP 404; the host deprecates this version of its API (Deprecation: \
                      @1772323200; Sunset: Tue, 10 Mar 2027 00:00:00 GMT)";
    assert_eq!(found[2].detail, deprecated);
    assert_eq!(found[1].detail, "HTTP 200");
    // A type that the schema lacks counts as a type without fields.
    assert!(found[0].detail.contains("Actor.login"), "{found:?}");
    script.sent();
}

#[tokio::test]
async fn missing_repository_is_not_found() {
    let message = "Could not resolve to a Repository with the name 'octo/tools'.";
    let script = Script::play(vec![refused(
        "Repository",
        "repository",
        "NOT_FOUND",
        message,
    )])
    .await;
    let e = script.repo.info().await.unwrap_err();
    assert_eq!(e.code(), "not_found");
    assert!(e.hint().is_some() && e.message().contains("octo/tools"));
    script.sent();
}

#[tokio::test]
async fn protection_of_branch_is_read_or_unknown() {
    let branch = |status, body| {
        let answer = ResponseTemplate::new(status).set_body_json(body);
        rest("GET /repos/octo/tools/branches/release%2F1", answer)
    };
    let script = Script::play(vec![
        branch(200, json!({ "name": "release/1", "protected": true })),
        branch(200, json!({ "name": "release/1", "protected": false })),
        branch(404, json!({ "message": "Branch not found" })),
        branch(
            403,
            json!({ "message": "Resource not accessible by integration" }),
        ),
        branch(200, json!({ "name": "release/1" })),
    ])
    .await;
    for protected in [true, false, false] {
        let read = script.repo.branch_is_protected("release/1").await;
        assert_eq!(read.unwrap(), protected);
    }
    // An answer that does not tell is an error, and not the answer "no".
    for code in ["permission_denied", "protocol"] {
        let unread = script.repo.branch_is_protected("release/1").await;
        assert_eq!(unread.unwrap_err().code(), code);
    }
    script.sent();
}

#[tokio::test]
async fn forking_takes_one_request() {
    let made = json!({ "name": "tools-1", "owner": { "login": "mona" } });
    let script = Script::play(vec![
        rest(
            "POST /repos/octo/tools/forks",
            ResponseTemplate::new(202).set_body_json(made),
        ),
        rest(
            "POST /repos/octo/tools/forks",
            ResponseTemplate::new(403).set_body_json(json!({ "message": "Forking is disabled" })),
        ),
    ])
    .await;
    let fork = script.repo.fork().await.unwrap().value;
    assert_eq!(fork.owner_and_name(), Some(("mona", "tools-1")));
    let refused = script.repo.fork().await.unwrap_err();
    assert_eq!(refused.code(), "permission_denied", "{refused:?}");
    script.sent();
}
