//! A handle belongs to the account that it resolves to if the account's DID document names the
//! handle.

use forge_core::{PullRequests, RepoId, RepoPath, Repos};

use crate::stage::{PASSWORD, Stage};

fn named(stage: &Stage, owner: &str, name: &str) -> RepoId {
    RepoId {
        path: RepoPath::Named {
            owner: owner.to_owned(),
            name: name.to_owned(),
        },
        ..stage.id()
    }
}

#[tokio::test]
async fn handle_missing_from_did_document_is_not_found() {
    for renamed in [Some("other.test"), None] {
        let stage = Stage::new();
        // The handle's domain still resolves to Alice, but her document names another handle or
        // none.
        stage.world.directory().rename(&stage.alice.did, renamed);
        let forge = stage.tangled_with(stage.settings(), None);
        let e = forge.repo(&stage.id()).await.unwrap_err();
        assert!(e.is_not_found(), "{renamed:?}: {e:?}");
        assert!(e.message().contains("does not list the handle"), "{e:?}");
        assert!(e.hint().unwrap().text().contains("DID"), "{e:?}");
        // The new handle is not Alice's until it resolves to her account.
        let e = forge.repo(&named(&stage, "other.test", "widget")).await;
        assert!(e.unwrap_err().is_not_found());
        // The account is found by its DID, and is shown as its DID.
        let by_did = named(&stage, &stage.alice.did, "widget");
        assert_eq!(forge.repo(&by_did).await.unwrap().id, by_did);
    }
}

#[tokio::test]
async fn claimed_foreign_handle_is_shown_as_did() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.bob), "topic").await;
    assert_eq!(made.author.login, "bob.test");
    stage
        .world
        .directory()
        .rename(&stage.bob.did, Some("alice.test"));
    let forge = stage.tangled(&stage.alice);
    let view = forge.view(&made.id, Default::default()).await.unwrap();
    assert_eq!(view.author.login, stage.bob.did);
    // The handle still belongs to Alice.
    assert_eq!(forge.repo(&stage.id()).await.unwrap().id, stage.id());
}

#[tokio::test]
async fn did_web_account_is_found_on_own_host() {
    let stage = Stage::new();
    let carol = stage.world.pds().web_account("carol.test", PASSWORD);
    assert!(carol.did.starts_with("did:web:"), "{}", carol.did);
    let _hers = stage.world.repository(&carol, "hers");
    let expected = named(&stage, "carol.test", "hers");
    for owner in ["carol.test", carol.did.as_str()] {
        let forge = stage.tangled_with(stage.settings(), None);
        let found = forge.repo(&named(&stage, owner, "hers")).await.unwrap();
        assert_eq!(found.id, expected, "{owner}");
    }
    let directory = stage.world.directory();
    directory.rename(&carol.did, Some("alice.test"));
    let forge = stage.tangled_with(stage.settings(), None);
    let found = forge.repo(&named(&stage, &carol.did, "hers")).await;
    assert_eq!(found.unwrap().id, named(&stage, &carol.did, "hers"));
    directory.forget(&carol.did);
    let forge = stage.tangled_with(stage.settings(), None);
    let e = forge.repo(&named(&stage, &carol.did, "hers")).await;
    assert!(e.unwrap_err().is_not_found());
    // DIDs of other methods are not looked up.
    for did in [
        "did:web:localhost:users:carol",
        "did:web:carol.example%3A8443",
        "did:web:carol.example%3a22",
        "did:key:z6MkhaXgBZD",
    ] {
        let e = forge.repo(&named(&stage, did, "hers")).await.unwrap_err();
        assert_eq!(e.code(), "invalid_input", "{did}: {e:?}");
    }
}
