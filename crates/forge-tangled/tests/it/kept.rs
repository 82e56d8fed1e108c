//! What was found out is used for a while and then looked up anew: a process may run for weeks.

use std::time::Duration;

use forge_core::{AtUri, PullRequests, RepoId, RepoPath, Repos, model::MergeReq};
use forge_tangled::{Era, Origin, Settings};
use serde_json::json;

use crate::stage::Stage;

const MERGE: &str = "sh.tangled.repo.merge";
const DECLARATION: &str = "org.tangled.repo.declaration";

/// Nothing is kept, as if each call came after the time was over.
fn forgetful(stage: &Stage) -> Settings {
    Settings {
        kept: Duration::ZERO,
        ..stage.settings()
    }
}

#[tokio::test]
async fn who_is_no_collaborator_any_more_is_refused_by_us() {
    let stage = Stage::new();
    let owner = stage.handle(&stage.alice);
    let first = stage.open(&owner, "first").await;
    let second = stage.open(&owner, "second").await;
    let forge = stage.tangled_with(forgetful(&stage), Some(&stage.bob));
    let req = MergeReq::default();
    forge.merge(&first.id, &req).await.unwrap();
    let knot = stage.world.knot();
    knot.remove_collaborator(&stage.repo, &stage.bob.did);
    let e = forge.merge(&second.id, &req).await.unwrap_err();
    assert_eq!(e.code(), "permission_denied", "{e:?}");
    assert_eq!(knot.host().count_of(MERGE), 1, "nothing was sent");
}

#[tokio::test]
async fn who_has_another_handle_is_called_by_it() {
    let stage = Stage::new();
    let directory = stage.world.directory();
    let settings = Settings {
        // It leads each handle to whose document names it.
        handles: Some(Origin::configured(&directory.host().url()).unwrap()),
        ..forgetful(&stage)
    };
    let forge = stage.tangled_with(settings, None);
    let id = stage.id_of(&stage.repo);
    assert_eq!(forge.repo(&id).await.unwrap().id, stage.id());
    directory.rename(&stage.alice.did, Some("renamed.test"));
    let renamed = RepoId {
        path: RepoPath::Named {
            owner: "renamed.test".to_owned(),
            name: "widget".to_owned(),
        },
        ..stage.id()
    };
    assert_eq!(forge.repo(&id).await.unwrap().id, renamed);
    assert!(forge.repo(&stage.id()).await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn what_is_declared_meanwhile_is_of_1_0_from_then_on() {
    let stage = Stage::new();
    let repo = stage.world.repository_1_0(&stage.alice, "moving");
    let (pds, alice) = (stage.world.pds(), stage.alice.did.as_str());
    pds.delete(alice, DECLARATION, "moving");
    let older = json!({
        "name": "moving", "knot": stage.world.knot().host().authority(), "repoDid": repo.did,
        "createdAt": "2026-05-01T00:00:00Z",
    });
    pds.put(alice, "sh.tangled.repo", "moving", older);
    let forge = stage.tangled_with(forgetful(&stage), None);
    let id = RepoId {
        path: RepoPath::Named {
            owner: "alice.test".to_owned(),
            name: "moving".to_owned(),
        },
        ..stage.id()
    };
    assert_eq!(forge.era(&id).await.unwrap(), Era::Sh2026);
    let declaration = json!({ "repo": repo.did, "createdAt": "2026-11-01T00:00:00Z" });
    pds.put(alice, DECLARATION, "moving", declaration);
    assert_eq!(forge.era(&id).await.unwrap(), Era::Org10);
}

/// Nothing of the older protocol is written there any more, also not the same once more.
#[tokio::test]
async fn what_is_declared_meanwhile_gets_no_record_put_again() {
    const PULL: &str = "sh.tangled.repo.pull";
    const STATUS: &str = "sh.tangled.repo.pull.status";
    let stage = Stage::new();
    let repo = stage.world.repository_1_0(&stage.alice, "moving");
    let (pds, alice) = (stage.world.pds(), stage.alice.did.as_str());
    pds.delete(alice, DECLARATION, "moving");
    let older = json!({
        "name": "moving", "knot": stage.world.knot().host().authority(), "repoDid": repo.did,
        "createdAt": "2026-05-01T00:00:00Z",
    });
    pds.put(alice, "sh.tangled.repo", "moving", older);
    let pull = json!({
        "$type": PULL, "title": "One", "target": { "repo": repo.did, "branch": "main" },
        "createdAt": "2026-06-01T00:00:00Z", "rounds": [],
    });
    let (pull, _) = pds.add(alice, PULL, pull);
    stage.world.index().lose_next(STATUS, 99);
    let status = json!({
        "$type": STATUS, "pull": pull, "status": format!("{STATUS}.closed"),
        "createdAt": "2026-06-02T00:00:00Z",
    });
    let (status, _) = pds.add(alice, STATUS, status);
    let settings = Settings {
        wait: Duration::from_millis(50),
        ..forgetful(&stage)
    };
    let forge = stage.tangled_with(settings, Some(&stage.alice));
    let at = AtUri::parse(&status).unwrap();
    let version = || pds.record(&status).unwrap().0;
    let first = version();
    forge.put_again(&at).await.unwrap();
    let second = version();
    assert_ne!(first, second, "it was put again");
    let declaration = json!({ "repo": repo.did, "createdAt": "2026-11-01T00:00:00Z" });
    pds.put(alice, DECLARATION, "moving", declaration);
    let e = forge.put_again(&at).await.unwrap_err();
    assert_eq!(e.code(), "precondition_failed", "{e:?}");
    assert!(e.message().contains("of Tangled 1.0 by now"), "{e:?}");
    assert_eq!(version(), second);
}

#[tokio::test]
async fn within_the_time_nothing_is_asked_twice() {
    let stage = Stage::new();
    let forge = stage.tangled_with(stage.settings(), None);
    forge.era(&stage.id()).await.unwrap();
    let hosts = [
        stage.world.directory().host(),
        stage.world.pds().host(),
        stage.world.knot().host(),
    ];
    let count = || hosts.iter().map(|host| host.count()).sum::<usize>();
    let before = count();
    forge.era(&stage.id()).await.unwrap();
    assert_eq!(count(), before);
    assert_eq!(stage.settings().kept, Duration::from_secs(300));
}
