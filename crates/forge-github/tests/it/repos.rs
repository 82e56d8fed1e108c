use forge_core::{Capability, Effect, Op, Support};
use insta::assert_json_snapshot;
use serde_json::json;

use crate::{
    script::{Script, data, refused},
    wire::user,
};

#[tokio::test]
async fn viewer() {
    let script = Script::play(vec![data("Viewer", json!({ "viewer": user("ada") }))]).await;
    assert_eq!(script.repo.viewer().await.unwrap().login, "ada");
    assert_eq!(script.names(), ["Viewer"]);
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
async fn repo() {
    let script = Script::play(vec![data("Repository", repository(false))]).await;
    let info = script.repo.info().await.unwrap();
    assert_json_snapshot!("repo", (script.sent(), &info));
    let no: Vec<_> = info.overrides.iter().map(|(c, _)| *c).collect();
    assert_eq!(no, [Capability::MergeRebase, Capability::MergeAuto]);
}

#[tokio::test]
async fn an_archived_repository_can_be_read_alone() {
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
async fn a_repository_that_is_not_there() {
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
