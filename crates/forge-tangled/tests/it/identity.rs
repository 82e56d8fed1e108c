//! Resolution of repositories: names, owners, knots, and protocol versions.

use forge_core::{
    Capability, ForgeKind, Labels, PageReq, PullRequests, RepoId, RepoPath, Repos, Reviews,
    Warning, locator,
    model::{DiffReq, PrFields, PullQuery},
};
use forge_tangled::{Era, Reach, TangledSettings};
use forge_tangled_world::{Fault, KnotOptions};
use serde_json::json;

use crate::stage::Stage;

const DECLARATION: &str = "org.tangled.repo.declaration";
const DESCRIBE: &str = "sh.tangled.repo.describeRepo";

fn id(path: RepoPath) -> RepoId {
    RepoId {
        kind: ForgeKind::TANGLED,
        host: "tangled.org".to_owned(),
        path,
    }
}

fn named(owner: &str, name: &str) -> RepoId {
    id(RepoPath::Named {
        owner: owner.to_owned(),
        name: name.to_owned(),
    })
}

#[tokio::test]
async fn every_name_resolves_to_same_repository() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.bob);
    let expected = forge.repo(&stage.id()).await.unwrap().id;
    let record = forge_core::AtUri::parse(&stage.repo.uri).unwrap();
    for name in [
        named("@alice.test", "widget"),
        named("ALICE.test", "Widget"),
        named(&stage.alice.did, "widget"),
        id(RepoPath::Did(stage.repo.did.clone())),
        id(RepoPath::Record(record)),
    ] {
        assert_eq!(forge.repo(&name).await.unwrap().id, expected, "{name}");
    }
    assert_eq!(expected, locator_of("tangled.org/alice.test/widget"));
}

fn locator_of(text: &str) -> RepoId {
    let parsed = locator::parse(text, &locator::Hosts::builtin()).unwrap();
    parsed.locator.repo().unwrap().clone()
}

#[tokio::test]
async fn protocol_version_is_detected() {
    let stage = Stage::new();
    let old = stage.world.repository_2025(&stage.alice, "old");
    let _new = stage.world.repository_1_0(&stage.alice, "new");
    let pds = stage.world.pds();
    let (_, mut empty) = pds.record(&old.uri).unwrap();
    empty["name"] = json!("empty");
    empty["repoDid"] = json!("");
    pds.put(&stage.alice.did, "sh.tangled.repo", "empty", empty);
    let forge = stage.tangled(&stage.bob);
    for (name, era) in [
        ("widget", Era::Sh2026),
        ("old", Era::Sh2025),
        ("empty", Era::Sh2025),
        ("new", Era::Org10),
    ] {
        assert_eq!(
            forge.era(&named("alice.test", name)).await.unwrap(),
            era,
            "{name}"
        );
    }
}

#[tokio::test]
async fn missing_repository_error_suggests_similar_names() {
    let stage = Stage::new();
    let forge = stage.tangled(&stage.bob);
    let e = forge
        .repo(&named("alice.test", "widgte"))
        .await
        .unwrap_err();
    assert!(
        e.is_not_found() && e.hint().unwrap().text().contains("widget"),
        "{e:?}"
    );
    let e = forge.repo(&named("nobody.test", "x")).await.unwrap_err();
    assert!(e.is_not_found(), "{e:?}");
    let e = forge.repo(&named("not a handle", "x")).await.unwrap_err();
    assert_eq!(e.code(), "invalid_input");
}

#[tokio::test]
async fn repository_claimed_by_another_account_is_refused() {
    let stage = Stage::new();
    let (_, record) = stage.world.pds().record(&stage.repo.uri).unwrap();
    stage
        .world
        .pds()
        .put(&stage.bob.did, "sh.tangled.repo", "mine-now", record);
    stage.open(&stage.handle(&stage.alice), "topic").await;
    let claimed = named("bob.test", "mine-now");
    // While the knot is queried, a list may already be requested, but the list is not returned.
    for index_is_down in [false, true] {
        stage.world.index().host().set_down(index_is_down);
        let forge = stage.tangled(&stage.bob);
        let all = PullQuery::default();
        let listed = forge.list(&claimed, &all, PageReq::first(30)).await;
        for e in [listed.unwrap_err(), forge.repo(&claimed).await.unwrap_err()] {
            assert!(
                e.is_not_found() && e.message().contains("belongs to"),
                "{e:?}"
            );
        }
    }
}

/// The record that claims the repository also names a knot. That knot lacks the repository, or is
/// the claimant's own and answers falsely.
#[tokio::test]
async fn repository_claimant_cannot_choose_the_deciding_knot() {
    let stage = Stage::new();
    let (pds, directory) = (stage.world.pds(), stage.world.directory());
    let mallory = pds.account("mallory.test", crate::stage::PASSWORD);
    let theirs = stage.world.another_knot(KnotOptions::default()).unwrap();
    let (_, mut record) = pds.record(&stage.repo.uri).unwrap();
    record["knot"] = theirs.host().authority().into();
    pds.put(&mallory.did, "sh.tangled.repo", "mine-now", record);
    let claimed = named("mallory.test", "mine-now");
    let did = stage.repo.did.as_str();
    let lie = json!({ "ownerDid": mallory.did, "repoDid": did, "rkey": "mine-now" });
    let lie = Fault::answer(
        200,
        &[("content-type", "application/json")],
        lie.to_string(),
    );
    let lie = lie.on(DESCRIBE).always();
    for (lies, is_known, refused) in [
        (false, true, Some("belongs to alice")),
        (true, true, Some("belongs to alice")),
        (false, false, Some("does not have")),
        (true, false, None),
    ] {
        theirs.host().clear_faults();
        if lies {
            theirs.host().fault(lie.clone());
        }
        if !is_known {
            directory.forget(did);
        }
        let forge = stage.tangled(&stage.bob);
        let all = PullQuery::default();
        let listed = forge.list(&claimed, &all, PageReq::first(30)).await;
        match (listed, refused) {
            (Err(e), Some(why)) => {
                let why = why.replace("alice", &stage.alice.did);
                assert!(e.is_not_found() && e.message().contains(&why), "{e:?}");
            }
            (Ok(page), None) => {
                let told = |w: &Warning| w.message.contains("does not say on which knot it is");
                assert!(page.warnings.iter().any(told), "{:?}", page.warnings);
            }
            (listed, _) => panic!("{lies} {is_known}: {listed:?}"),
        }
    }
}

#[tokio::test]
async fn moved_repository_is_read_from_its_knot() {
    let stage = Stage::new();
    let (pds, knot) = (stage.world.pds(), stage.world.knot().host());
    let old = stage.world.another_knot(KnotOptions::default()).unwrap();
    let (_, mut record) = pds.record(&stage.repo.uri).unwrap();
    record["knot"] = old.host().authority().into();
    pds.put(&stage.alice.did, "sh.tangled.repo", "widget", record);
    stage
        .repo
        .git
        .commit("main", "First", &[("a", Some("x\n"))]);
    let forge = stage.tangled(&stage.bob);
    let page = forge
        .branches(&stage.id(), PageReq::first(9))
        .await
        .unwrap();
    assert_eq!((page.items.len(), page.warnings.len()), (1, 0));
    assert_eq!(old.host().count(), old.host().count_of(DESCRIBE));
    // A knot that does not answer who the owner is does not confirm the claim.
    let fault = Fault::error(501, "MethodNotImplemented", "No.");
    knot.fault(fault.on(DESCRIBE).always());
    let forge = stage.tangled(&stage.bob);
    let told = forge.repo(&stage.id()).await.unwrap().warnings;
    assert!(
        told[0].message.contains("does not name its owner"),
        "{told:?}"
    );
}

#[tokio::test]
async fn declaration_of_foreign_repository_is_refused() {
    let stage = Stage::new();
    let repo = stage.world.repository_1_0(&stage.alice, "new");
    let declaration = json!({ "repo": repo.did, "createdAt": "2026-11-01T00:00:00Z" });
    let pds = stage.world.pds();
    pds.put(&stage.bob.did, DECLARATION, "mine-now", declaration);
    let forge = stage.tangled(&stage.bob);
    let e = forge.repo(&named("bob.test", "mine-now")).await;
    let e = e.unwrap_err();
    assert!(
        e.is_not_found() && e.message().contains("belongs to"),
        "{e:?}"
    );
}

#[tokio::test]
async fn repository_of_2025_is_read_only() {
    let stage = Stage::new();
    let _ = stage.world.repository_2025(&stage.alice, "old");
    let forge = stage.tangled(&stage.alice);
    let info = forge.repo(&named("alice.test", "old")).await.unwrap();
    let no = |c| info.overrides.iter().any(|(o, s)| *o == c && !s.is_yes());
    assert!(no(Capability::PrCreate) && no(Capability::Comments) && no(Capability::LabelEdit));
    assert!(!no(Capability::PrView) && !no(Capability::PrDiff));
}

/// A repository with a declaration is never written with the older protocol, under any of its
/// names.
#[tokio::test]
async fn newly_declared_repository_uses_1_0() {
    let stage = Stage::new();
    let repo = stage.world.repository_1_0(&stage.alice, "renamed");
    let pds = stage.world.pds();
    let host = stage.world.knot().host();
    let older = |name: &str, did: Option<&str>| {
        let mut record = json!({
            "name": name, "knot": host.authority(), "createdAt": "2026-05-01T00:00:00Z",
        });
        if let Some(did) = did {
            record["repoDid"] = did.into();
        }
        record
    };
    let sh = "sh.tangled.repo";
    pds.put(
        &stage.alice.did,
        sh,
        "3mkuuamwfj322",
        older("old", Some(&repo.did)),
    );
    pds.put(
        &stage.alice.did,
        sh,
        "3mkuuamwfj323",
        older("Renamed", None),
    );
    for name in [
        "old",
        "3mkuuamwfj322",
        "3mkuuamwfj323",
        "renamed",
        "RENAMED",
    ] {
        let forge = stage.tangled(&stage.alice);
        let info = forge.repo(&named("alice.test", name)).await.unwrap();
        assert_eq!(info.id, named("alice.test", "renamed"), "{name}");
        assert!(!info.overrides.is_empty(), "{name}");
    }
}

#[tokio::test]
async fn strangers_cannot_trigger_requests_to_local_services() {
    let stage = Stage::new();
    let settings = TangledSettings {
        reach: Reach::Public,
        ..stage.settings()
    };
    let forge = stage.tangled_with(settings, None);
    let before = stage.world.knot().host().count();
    let e = forge.repo(&stage.id()).await.unwrap_err();
    assert!(e.message().contains("this machine"), "{e:?}");
    assert_eq!(stage.world.knot().host().count(), before);
}

#[tokio::test]
async fn protocol_is_unknown_beyond_declaration_limit() {
    let stage = Stage::new();
    for n in 0..2_000 {
        let declaration = json!({"createdAt": "2026-11-01T00:00:00Z"});
        let pds = stage.world.pds();
        pds.put(&stage.alice.did, DECLARATION, &format!("r{n}"), declaration);
    }
    let forge = stage.tangled(&stage.bob);
    let e = forge.repo(&stage.id()).await.unwrap_err();
    assert!(
        e.message().contains("2000 repositories of Tangled 1.0"),
        "{e:?}"
    );
}

#[tokio::test]
async fn pull_number_is_resolved_on_web_page() {
    let stage = Stage::new();
    let repo = stage.handle(&stage.alice);
    let first = stage.open(&repo, "a").await;
    let second = stage.open(&repo, "b").await;
    let forge = stage.tangled(&stage.bob);
    for (number, pr) in [(1, first), (2, second)] {
        let by_number = forge_core::PrId::number(stage.id(), number);
        let view = forge_core::PullRequests::view(&forge, &by_number, Default::default())
            .await
            .unwrap();
        assert_eq!((view.number, view.id), (Some(number), pr.id));
        assert!(
            view.url
                .ends_with(&format!("/alice.test/widget/pulls/{number}"))
        );
    }
}

#[tokio::test]
async fn page_with_ambiguous_number_is_not_trusted() {
    let stage = Stage::new();
    let repo = stage.handle(&stage.alice);
    let first = stage.open(&repo, "a").await.node_id;
    let second = stage.open(&repo, "b").await.node_id;
    let forge = stage.tangled(&stage.alice);
    let number = forge_core::PrId::number(stage.id(), 1);
    let names = |uris: &[&String]| -> String {
        let all = uris.iter();
        all.map(|uri| format!("<i data-aturi=\"{uri}\"></i>"))
            .collect()
    };
    for (page, why) in [
        (
            format!("<h1>#1</h1>{}", names(&[&second, &first])),
            format!("it names 2 records, {second}, {first}"),
        ),
        (
            format!("<h1>#2</h1>{}", names(&[&second])),
            format!("it names {second}, but not that number"),
        ),
    ] {
        let page = Fault::answer(200, &[("content-type", "text/html")], page);
        let web = stage.world.index().web();
        web.fault(page.on_path("/alice.test/widget/pulls/1"));
        let e = forge.close(&number, &Default::default()).await;
        let e = e.unwrap_err();
        assert!(e.message().ends_with(&why), "{e:?}");
        assert!(e.hint().unwrap().text().contains("at-uri"), "{e:?}");
    }
    let statuses = stage.world.pds();
    let statuses = statuses.records(&stage.alice.did, "sh.tangled.repo.pull.status");
    assert_eq!(statuses.len(), 2, "the opening ones");
}

/// A knot without the method neither confirms nor refutes the owner.
#[tokio::test]
async fn knot_without_owner_answer_is_a_warning() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await.id;
    let knot = stage.world.knot().host();
    let told = |warnings: &[Warning]| {
        let about = |w: &Warning| w.message.contains("does not name its owner");
        warnings.iter().any(about)
    };
    let (all, diff) = (PullQuery::default(), DiffReq::default());
    for status in [400, 404, 501, 403, 503] {
        let fault = Fault::error(status, "Odd", "No.");
        knot.fault(fault.on(DESCRIBE).always());
        let forge = stage.tangled(&stage.bob);
        let page = forge.list(&stage.id(), &all, PageReq::first(9)).await;
        let view = forge.view(&made, PrFields::NONE).await.unwrap();
        assert!(told(&page.unwrap().warnings), "{status}");
        assert!(told(&view.warnings), "{status}");
        let first = || PageReq::first(9);
        for warnings in [
            forge.labels(&stage.id(), first()).await.unwrap().warnings,
            forge.comments(&made, first()).await.unwrap().warnings,
            forge.history(&made, first()).await.unwrap().warnings,
            forge.branches(&stage.id(), first()).await.unwrap().warnings,
            forge.diff(&made, &diff).await.unwrap().warnings,
            forge.files(&made, first()).await.unwrap().warnings,
            forge.commits(&made, first()).await.unwrap().warnings,
        ] {
            assert!(told(&warnings), "{status}: {warnings:?}");
        }
        let e = forge.comment(&made, "So?", None).await.unwrap_err();
        assert!(e.message().contains("nothing was written"), "{e:?}");
        knot.clear_faults();
        forge.comment(&made, "So.", None).await.unwrap();
        let view = forge.view(&made, PrFields::NONE).await.unwrap();
        assert!(!told(&view.warnings), "{status}");
    }
}
