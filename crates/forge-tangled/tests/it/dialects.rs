//! Names of the protocol that are others by configuration.

use forge_core::{
    PageReq, PullRequests, RepoId, RepoPath, Reviews,
    model::{CreatePull, MergeReq, PrFields, PrState, PullQuery, StateFilter},
};
use forge_tangled::{Audience, Dialects, Settings};
use forge_testkit::tangled::{self, Host, KnotOptions, PdsOptions, World};

use crate::stage::Stage;

/// Everything that knot and index are asked has another name than usual, and the client knows it.
fn renamed(stage: &Stage) -> Settings {
    let mut dialects = Dialects::default();
    for (key, usual) in Dialects::default().names() {
        let host = match key.split_once('_') {
            Some(("knot", _)) => stage.world.knot().host(),
            Some(("index", _)) => stage.world.index().host(),
            _ => continue,
        };
        let now = format!("org.example.{}", key.replace('_', ""));
        host.rename_method(&usual, &now);
        dialects.set(&key, &now).unwrap();
    }
    Settings {
        dialects,
        ..stage.settings()
    }
}

/// The methods of tangled that were called, which have to be called by their new names.
fn called(host: &Host) -> Vec<String> {
    let requests = host.requests().into_iter();
    let all = requests.filter_map(|it| it.method().map(str::to_owned));
    let called: Vec<String> = all.filter(|it| !it.starts_with("com.atproto.")).collect();
    assert!(
        called.iter().all(|it| it.starts_with("org.example.")),
        "{called:?}"
    );
    called
}

fn has(called: &[String], name: &str) -> bool {
    called.iter().any(|it| *it == format!("org.example.{name}"))
}

#[tokio::test]
async fn methods_are_called_by_the_names_that_are_configured() {
    let stage = Stage::new();
    let settings = renamed(&stage);
    let forge = stage.tangled_with(settings, Some(&stage.alice));
    stage.repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
    let req = CreatePull::new("topic", "One");
    let made = forge.create(stage.repo_id(), &req).await.unwrap();
    assert_eq!(made.ingestion.word(), "confirmed");
    let pr = made.value.id;
    let said = forge.comment(&pr, "Nice", None).await.unwrap();
    assert_eq!(said.ingestion.word(), "confirmed");
    let query = PullQuery {
        state: StateFilter::Open,
        ..PullQuery::default()
    };
    let page = PageReq::first(30);
    let open = forge.list(stage.repo_id(), &query, page).await.unwrap();
    assert_eq!(open.items.len(), 1);
    assert!(open.warnings.is_empty(), "{:?}", open.warnings);
    let merged = forge.merge(&pr, &MergeReq::default()).await.unwrap();
    assert_eq!(merged.ingestion.word(), "confirmed");
    let fields = PrFields::COMMENTS | PrFields::MERGEABILITY;
    let view = forge.view(&pr, fields).await.unwrap();
    assert_eq!(view.state, PrState::Merged);
    assert_eq!(view.comments.unwrap()[0].body, "Nice");
    assert!(view.warnings.is_empty(), "{:?}", view.warnings);

    let knot = called(stage.world.knot().host());
    assert!(has(&knot, "knotmerge"), "{knot:?}");
    assert!(has(&knot, "knotcompare"), "{knot:?}");
    let index = called(stage.world.index().host());
    assert!(has(&index, "indexlistpulls"), "{index:?}");
    assert!(has(&index, "indexlistcomments"), "{index:?}");
}

/// The double of 1.0 knows methods by their new names, too, and one audience: who is configured to
/// ask for that one is never refused.
#[tokio::test]
async fn a_ticket_is_opened_by_other_names_and_for_the_audience_that_is_configured() {
    for (audience, sent) in [(Audience::Knot, 2), (Audience::Repository, 1)] {
        let options = KnotOptions {
            audience: tangled::Audience::Repository,
            ..KnotOptions::default()
        };
        let stage = Stage::of(World::with(PdsOptions::default(), options).unwrap());
        let mut settings = renamed(&stage);
        settings.dialects.audience = audience;
        let repo = stage.world.repository_1_0(&stage.alice, "new");
        let id = RepoId {
            path: RepoPath::Did(repo.did.clone()),
            ..stage.id()
        };
        repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
        let forge = stage.tangled_with(settings, Some(&stage.alice));
        let req = CreatePull::new("topic", "One");
        let made = forge.create(&id, &req).await.unwrap();
        assert_eq!(made.value.head_oid, repo.git.oid("topic"));
        let view = forge.view(&made.value.id, PrFields::COMMITS).await.unwrap();
        assert_eq!(view.commits.map(|c| c.len()), Some(1));
        assert!(view.warnings.is_empty(), "{:?}", view.warnings);
        let knot = stage.world.knot().host();
        let create = "com.atproto.repo.createRecord";
        assert_eq!(knot.count_of(create), sent, "{audience:?}");
        let called = called(knot);
        assert!(has(&called, "knotsubmitpatch"), "{called:?}");
        assert!(has(&called, "knotformatpatch"), "{called:?}");
    }
}
