//! A test for each ingestion state, and for each index behaviour that leads to it.

use std::{sync::Arc, time::Duration};

use forge_core::{
    Action, AtUri, Client, IndexLimit, Ingestion, Issues, Labels, Observer, Op, Outcome, Policy,
    PullRequests, Reviews, SentRequest,
    model::{
        CloseReq, CommentId, EditPull, NewIssue, NewLabel, PrState, PullRequest, Resubmit,
        SetChange,
    },
};
use forge_tangled::{Dialects, IngestedCollections, Ingests, TangledSettings};
use forge_tangled_world::{Fault, Moods};

use serde_json::json;

use crate::stage::Stage;

fn impatient(stage: &Stage) -> TangledSettings {
    TangledSettings {
        wait: Duration::from_millis(150),
        ..stage.settings()
    }
}

async fn create(
    stage: &Stage,
    settings: TangledSettings,
) -> forge_core::Outcome<forge_core::model::PullRequest> {
    let forge = stage.tangled_with(settings, Some(&stage.alice));
    stage.repo.git.commit("topic", "A", &[("a", Some("x\n"))]);
    let req = forge_core::model::CreatePull::new("topic", "T");
    forge.create(&stage.id(), &req).await.unwrap()
}

#[tokio::test]
async fn indexed_record_is_confirmed() {
    let stage = Stage::new();
    stage.world.index().set_moods(Moods {
        lag: Duration::from_millis(200),
        ..Moods::default()
    });
    let made = create(&stage, stage.settings()).await;
    let Ingestion::Confirmed { by, after } = &made.ingestion else {
        panic!("{:?}", made.ingestion);
    };
    assert_eq!(*by, stage.world.index().host().authority());
    assert!(*after >= Duration::from_millis(100), "{after:?}");
    let known = stage.world.index().knows(&made.value.node_id);
    assert_eq!(known, Some(made.value.version));
}

#[tokio::test]
async fn unindexed_record_is_pending_after_timeout() {
    for mood in ["lag", "lost", "no pulls", "down", "429", "other cid"] {
        let stage = Stage::new();
        let index = stage.world.index();
        match mood {
            "lag" => index.set_moods(Moods {
                lag: Duration::from_secs(60),
                ..Moods::default()
            }),
            "lost" => index.lose_next("sh.tangled.repo.pull", 9),
            "no pulls" => index.set_moods(Moods {
                pulls: false,
                ..Moods::default()
            }),
            "down" => index.host().set_down(true),
            "429" => index.host().fault(Fault::rate_limited(600).always()),
            _ => index.set_moods(Moods {
                other_cid: true,
                ..Moods::default()
            }),
        }
        let made = create(&stage, impatient(&stage)).await;
        let Ingestion::Pending { uri: Some(uri), .. } = &made.ingestion else {
            panic!("{mood}: {:?}", made.ingestion);
        };
        assert_eq!(*uri, made.value.node_id, "{mood}");
        assert!(stage.world.pds().record(uri).is_some(), "{mood}");
    }
}

#[tokio::test]
async fn unknown_index_method_does_not_confirm_a_deletion() {
    const LIST: &str = "sh.tangled.feed.listComments";
    let stage = Stage::new();
    let index = stage.world.index().host();
    let pr = create(&stage, stage.settings()).await.value.id;
    let forge = stage.tangled_with(impatient(&stage), Some(&stage.alice));
    for (answer, word) in [
        (Fault::gateway(404), "pending"),
        (Fault::error(404, "XRPCNotSupported", ""), "pending"),
        (Fault::error(501, "MethodNotImplemented", ""), "pending"),
        (Fault::error(400, "InvalidRequest", "unknown"), "pending"),
        (Fault::error(404, "RecordNotFound", ""), "confirmed"),
    ] {
        let said = forge.comment(&pr, "Fine.", None).await.unwrap().value;
        let told = format!("{answer:?}");
        index.fault(answer.on(LIST).always());
        let comment = CommentId {
            pr: pr.clone(),
            key: said.id,
        };
        let deleted = forge.delete_comment(&comment).await.unwrap();
        assert_eq!(deleted.ingestion.word(), word, "{told}");
        index.clear_faults();
    }
}

#[tokio::test]
async fn lost_record_is_put_once_more() {
    let stage = Stage::new();
    stage.world.index().lose_next("sh.tangled.repo.pull", 1);
    let settings = TangledSettings {
        wait: Duration::from_millis(1000),
        ..stage.settings()
    };
    let made = create(&stage, settings).await;
    assert_eq!(made.ingestion.word(), "confirmed");
    let (cid, record) = stage.world.pds().record(&made.value.node_id).unwrap();
    assert_eq!(cid, made.value.version);
    assert_eq!(record["mentions"], serde_json::json!([]));
}

/// A command that was interrupted after its write is run again.
#[tokio::test]
async fn repeated_change_is_pending_if_index_lost_record() {
    const PULL: &str = "sh.tangled.repo.pull";
    const STATUS: &str = "sh.tangled.repo.pull.status";
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let (pds, index) = (stage.world.pds(), stage.world.index());
    let forge = stage.tangled_with(impatient(&stage), Some(&stage.alice));
    stage
        .repo
        .git
        .commit("topic", "More", &[("more", Some("y\n"))]);
    index.lose_next(PULL, 99);
    index.lose_next(STATUS, 99);
    let (round, close) = (Resubmit::default(), CloseReq::default());
    let mut same = EditPull::default();
    same.title = Some(made.title.clone());
    let first = forge.resubmit(&made.id, &round).await.unwrap();
    assert!(!first.unchanged);
    let stored = pds.record(&made.node_id);
    let again = forge.resubmit(&made.id, &round).await.unwrap();
    let edited = forge.edit(&made.id, &same).await.unwrap();
    forge.close(&made.id, &close).await.unwrap();
    let closed = forge.close(&made.id, &close).await.unwrap();
    let statuses = pds.records(&stage.alice.did, STATUS);
    // The first status was written together with the pull request.
    assert_eq!(statuses.len(), 2);
    let closing = statuses.iter().map(|s| &s.0).max().unwrap();
    for (outcome, of) in [
        (again, &made.node_id),
        (edited, &made.node_id),
        (closed, closing),
    ] {
        assert!(outcome.unchanged, "{outcome:?}");
        let Ingestion::Pending { uri, .. } = &outcome.ingestion else {
            panic!("{outcome:?}");
        };
        assert_eq!(uri.as_ref(), Some(of));
    }
    assert_eq!(pds.record(&made.node_id), stored, "nothing was written");
}

/// A repeated call still adds a comment and deletes a branch although the state is already set. The
/// next call finds both steps done.
#[tokio::test]
async fn steps_of_repeated_change_are_reported() {
    const COMMENT: &str = "sh.tangled.feed.comment";
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let (pds, alice) = (stage.world.pds(), stage.alice.did.as_str());
    stage.world.index().lose_next(COMMENT, 99);
    let forge = stage.tangled_with(impatient(&stage), Some(&stage.alice));
    let is_told = |outcome: Outcome<PullRequest>, steps: &[&str]| {
        let named: Vec<_> = outcome.steps.iter().map(|s| (&*s.name, s.done)).collect();
        let wanted: Vec<_> = steps.iter().map(|name| (*name, true)).collect();
        assert_eq!(named, wanted);
        assert!(outcome.already, "{outcome:?}");
        assert_eq!(outcome.unchanged, steps.is_empty(), "{outcome:?}");
        assert_eq!(outcome.ingestion.word(), "pending", "{outcome:?}");
    };
    let mut round = Resubmit::default();
    round.comment = Some("As it was.".to_owned());
    for steps in [&["comment"][..], &[]] {
        is_told(forge.resubmit(&made.id, &round).await.unwrap(), steps);
    }
    for steps in [&["comment"][..], &[]] {
        let open = forge.reopen(&made.id, Some("Still open.")).await;
        is_told(open.unwrap(), steps);
    }
    forge.close(&made.id, &CloseReq::default()).await.unwrap();
    let mut close = CloseReq::default();
    close.comment = Some("Still no.".to_owned());
    close.delete_branch = true;
    for steps in [&["comment"][..], &[]] {
        is_told(forge.close(&made.id, &close).await.unwrap(), steps);
    }
    assert_eq!(pds.records(alice, COMMENT).len(), 3);
    assert!(stage.repo.git.oid("topic").is_some());
}

#[tokio::test]
async fn write_without_wait_is_pending_without_requests() {
    let stage = Stage::new();
    let settings = TangledSettings {
        wait: Duration::ZERO,
        ..stage.settings()
    };
    let made = create(&stage, settings).await;
    assert_eq!(made.ingestion.word(), "pending");
    assert_eq!(
        stage
            .world
            .index()
            .host()
            .count_of("sh.tangled.repo.listPulls"),
        1,
        "whether others have the branch open"
    );
}

/// The index answers with the record when it is asked for that record alone, because it then reads
/// the author's server.
#[tokio::test]
async fn record_missing_in_lists_is_not_confirmed() {
    const ISSUE: &str = "sh.tangled.repo.issue";
    let stage = Stage::new();
    let index = stage.world.index();
    let forge = stage.tangled_with(impatient(&stage), Some(&stage.alice));
    index.lose_next("sh.tangled.repo.pull", 9);
    index.lose_next(ISSUE, 9);
    let pull = create(&stage, impatient(&stage)).await.value.node_id;
    let new = NewIssue::new("Lost", "");
    let issue = forge.create_issue(&stage.id(), &new).await.unwrap();
    assert_eq!(issue.ingestion.word(), "pending");
    for uri in [pull, issue.value.node_id] {
        let uri = forge_core::AtUri::parse(&uri).unwrap();
        let report = forge.check_ingestion(&uri).await.unwrap();
        assert_eq!(report.ingestion.word(), "pending", "{report:?}");
    }
}

#[tokio::test]
async fn record_behind_an_empty_page_is_confirmed() {
    let stage = Stage::new();
    let made = create(&stage, stage.settings()).await.value;
    let page = |items: serde_json::Value, cursor: Option<&str>| {
        let body = serde_json::json!({ "items": items, "cursor": cursor });
        let json = [("content-type", "application/json")];
        Fault::answer(200, &json, body.to_string()).on("sh.tangled.repo.listPulls")
    };
    let row = serde_json::json!({ "uri": made.node_id, "cid": made.version, "value": {} });
    let pages = page(serde_json::json!([]), Some("1"));
    let pages = pages.then(page(serde_json::json!([row]), None));
    stage.world.index().host().fault(pages);
    let uri = forge_core::AtUri::parse(&made.node_id).unwrap();
    let report = stage.tangled(&stage.bob).check_ingestion(&uri).await;
    let report = report.unwrap();
    assert_eq!(report.ingestion.word(), "confirmed", "{report:?}");
}

#[tokio::test]
async fn comment_behind_an_empty_page_is_shown() {
    let stage = Stage::new();
    let made = create(&stage, stage.settings()).await.value;
    let page = |items: serde_json::Value, cursor: Option<&str>| {
        let body = serde_json::json!({ "items": items, "cursor": cursor });
        let json = [("content-type", "application/json")];
        Fault::answer(200, &json, body.to_string()).on("sh.tangled.feed.listComments")
    };
    let row = serde_json::json!({
        "uri": format!("at://{}/sh.tangled.feed.comment/3mkuuamwfj322", stage.alice.did),
        "cid": "bafyrei",
        "value": {
            "subject": { "uri": made.node_id, "cid": made.version }, "body": { "text": "Fine." },
            "createdAt": "2026-11-01T00:00:00Z",
        },
    });
    let pages = page(serde_json::json!([]), Some("1"));
    let pages = pages.then(page(serde_json::json!([row]), None));
    stage.world.index().host().fault(pages);
    let forge = stage.tangled(&stage.bob);
    let view = forge.view(&made.id, Default::default()).await.unwrap();
    assert_eq!(view.comments_count, 1, "{:?}", view.warnings);
}

#[tokio::test]
async fn collection_unknown_to_index_is_pds_only() {
    let stage = Stage::new();
    let mut settings = stage.settings();
    let status = "sh.tangled.repo.pull.status";
    settings.ingested.set(status, Ingests::No);
    let made = create(&stage, settings.clone()).await;
    assert_eq!(made.ingestion.word(), "confirmed");
    let forge = stage.tangled_with(settings, Some(&stage.alice));
    let closed = forge
        .close(&made.value.id, &CloseReq::default())
        .await
        .unwrap();
    let instead = "close, reopen or mark it as merged on its web page".to_owned();
    assert_eq!(closed.ingestion, Ingestion::PdsOnly { instead });
    // A label of an unindexed record is also not shown.
    let settings = TangledSettings {
        ingested: IngestedCollections::at("2025-10", &Dialects::default()),
        ..stage.settings()
    };
    let forge = stage.tangled_with(settings, Some(&stage.alice));
    let bug = NewLabel::new("bug");
    forge.define_label(&stage.id(), &bug).await.unwrap();
    let mut edit = EditPull::default();
    edit.labels = SetChange {
        add: vec!["bug".to_owned()],
        remove: Vec::new(),
    };
    let edited = forge.edit(&made.value.id, &edit).await.unwrap();
    let instead = "set the labels on its web page".to_owned();
    assert_eq!(edited.ingestion, Ingestion::PdsOnly { instead });
    // The recovery fits the operation.
    let mut edit = EditPull::default();
    edit.title = Some("Another".to_owned());
    let edited = forge.edit(&made.value.id, &edit).await.unwrap();
    let instead = "make the change on its web page".to_owned();
    assert_eq!(edited.ingestion, Ingestion::PdsOnly { instead });
}

#[tokio::test]
async fn record_about_missing_subject_is_ineffective() {
    const STATUS: &str = "sh.tangled.repo.pull.status";
    const COMMENT: &str = "sh.tangled.feed.comment";
    let stage = Stage::new();
    let (pds, alice) = (stage.world.pds(), stage.alice.did.as_str());
    let gone = format!("at://{alice}/sh.tangled.repo.pull/3kaaaaaaaaaa2");
    stage.world.index().lose_next(STATUS, 9);
    stage.world.index().lose_next(COMMENT, 9);
    let at = "2026-11-01T00:00:00Z";
    let status = serde_json::json!({
        "pull": gone, "status": format!("{STATUS}.closed"), "createdAt": at,
    });
    let comment = serde_json::json!({
        "subject": {"uri": gone, "cid": "bafyrei"}, "body": {"text": "Fine."}, "createdAt": at,
    });
    let forge = stage.tangled(&stage.alice);
    for (collection, record) in [(STATUS, status), (COMMENT, comment)] {
        let uri = forge_core::AtUri::parse(&pds.add(alice, collection, record).0).unwrap();
        let report = forge.check_ingestion(&uri).await.unwrap();
        let Ingestion::Ineffective { reason, .. } = &report.ingestion else {
            panic!("{report:?}");
        };
        let said = format!("its subject {gone} does not exist");
        assert!(reason.starts_with(&said), "{reason}");
        let instead = report.instead.unwrap();
        assert_eq!(instead.action(), Some(&Action::op(Op::PrList)));
        // A server that fails does not prove that the record is missing.
        pds.host()
            .fault(Fault::gateway(404).about("3kaaaaaaaaaa2").always());
        let report = forge.check_ingestion(&uri).await.unwrap();
        assert_eq!(report.ingestion.word(), "pending", "{report:?}");
        pds.host().clear_faults();
    }
}

#[tokio::test]
async fn record_ignored_by_index_is_refused_before_write() {
    let stage = Stage::new();
    let carol = stage
        .world
        .pds()
        .account("carol.test", crate::stage::PASSWORD);
    let made = create(&stage, stage.settings()).await.value;
    let forge = stage.tangled(&carol);
    let e = forge
        .close(&made.id, &CloseReq::default())
        .await
        .unwrap_err();
    assert_eq!(e.code(), "permission_denied");
    let mut edit = forge_core::model::EditPull::default();
    edit.labels = forge_core::model::SetChange {
        add: vec!["assignee".to_owned()],
        remove: Vec::new(),
    };
    let e = forge.edit(&made.id, &edit).await.unwrap_err();
    assert_eq!(e.code(), "permission_denied");
    let pds = stage.world.pds();
    assert!(
        pds.records(&carol.did, "sh.tangled.repo.pull.status")
            .is_empty()
    );
    assert!(pds.records(&carol.did, "sh.tangled.label.op").is_empty());
}

#[tokio::test]
async fn status_of_stranger_appears_only_in_history() {
    let stage = Stage::new();
    let carol = stage
        .world
        .pds()
        .account("carol.test", crate::stage::PASSWORD);
    let made = create(&stage, stage.settings()).await.value;
    stage.world.pds().add(
        &carol.did,
        "sh.tangled.repo.pull.status",
        serde_json::json!({
            "pull": made.node_id,
            "status": "sh.tangled.repo.pull.status.merged",
            "createdAt": "2036-01-01T00:00:00Z",
        }),
    );
    let forge = stage.tangled(&stage.bob);
    let view = forge.view(&made.id, Default::default()).await.unwrap();
    assert_eq!(view.state, forge_core::model::PrState::Open);
    let history = forge
        .history(&made.id, forge_core::PageReq::first(10))
        .await
        .unwrap();
    let last = history.items.last().unwrap();
    assert_eq!(last.actor.login, "carol.test");
    assert_eq!(last.authority.as_deref(), Some("none"));
    assert!(last.detail.as_ref().unwrap().contains("does not count"));
}

#[tokio::test]
async fn collaborator_on_a_later_page_counts() {
    const STATUS: &str = "sh.tangled.repo.pull.status";
    let stage = Stage::new();
    let pds = stage.world.pds();
    let carol = pds.account("carol.test", crate::stage::PASSWORD);
    let made = create(&stage, stage.settings()).await.value;
    let status = serde_json::json!({
        "pull": made.node_id,
        "status": format!("{STATUS}.closed"),
        "createdAt": "2036-01-01T00:00:00Z",
    });
    pds.add(&carol.did, STATUS, status);
    let page = |did: &str, cursor: Option<&str>| {
        let body = serde_json::json!({"items": [{"subject": did}], "cursor": cursor});
        let json = [("content-type", "application/json")];
        Fault::answer(200, &json, body.to_string()).on("sh.tangled.repo.listCollaborators")
    };
    let pages = page(&stage.bob.did, Some("2")).then(page(&carol.did, None));
    stage.world.knot().host().fault(pages);
    let forge = stage.tangled(&stage.bob);
    let view = forge.view(&made.id, Default::default()).await.unwrap();
    assert_eq!(view.state, forge_core::model::PrState::Closed);
}

#[tokio::test]
async fn knot_without_collaborators_is_a_warning() {
    let stage = Stage::new();
    let made = create(&stage, stage.settings()).await.value;
    let close = CloseReq::default();
    let bob = stage.tangled(&stage.bob);
    bob.close(&made.id, &close).await.unwrap();
    let seen = async || {
        let forge = stage.tangled(&stage.alice);
        let view = forge.view(&made.id, Default::default()).await.unwrap();
        let mut told = view.warnings.into_iter().map(|w| w.message);
        let told = told.find(|text| text.starts_with("the collaborators are read from"));
        (view.state, told.unwrap_or_default())
    };
    assert_eq!(seen().await, (PrState::Closed, String::new()));
    let gone = Fault::gateway(503).on("sh.tangled.repo.listCollaborators");
    stage.world.knot().host().fault(gone.always());
    // While Bob's push access is unknown, his status does not count, and a warning says so.
    let (state, told) = seen().await;
    assert_eq!(state, PrState::Open);
    assert!(told.contains("from the owner's records"), "{told}");
    let bob = stage.tangled(&stage.bob);
    let e = bob.close(&made.id, &close).await.unwrap_err();
    assert_eq!(e.code(), "permission_denied");
    assert!(e.message().contains("the knot does not list them"), "{e:?}");
    let made_pusher = serde_json::json!({
        "repo": stage.repo.did, "subject": stage.bob.did, "createdAt": "2026-11-01T00:00:00Z",
    });
    let (pds, collection) = (stage.world.pds(), "sh.tangled.repo.collaborator");
    pds.add(&stage.alice.did, collection, made_pusher);
    let (state, told) = seen().await;
    assert_eq!(state, PrState::Closed);
    assert!(told.contains("from the owner's records"), "{told}");
}

#[tokio::test]
async fn every_status_record_is_in_the_history() {
    const STATUS: &str = "sh.tangled.repo.pull.status";
    let stage = Stage::new();
    let pds = stage.world.pds();
    let carol = pds.account("carol.test", crate::stage::PASSWORD);
    let made = create(&stage, stage.settings()).await.value;
    let (opening, _, record) = pds.records(&stage.alice.did, STATUS).remove(0);
    let mut open = record;
    open["createdAt"] = "2036-01-01T00:00:00Z".into();
    let (of_stranger, _) = pds.add(&carol.did, STATUS, open.clone());
    open["createdAt"] = "2036-01-02T00:00:00Z".into();
    let (of_author, _) = pds.add(&stage.alice.did, STATUS, open);
    let forge = stage.tangled(&stage.bob);
    let page = forge_core::PageReq::first(10);
    let history = forge.history(&made.id, page).await.unwrap().items;
    let detail = |n: usize| history[n].detail.clone().unwrap_or_default();
    // The opening status is not a separate event.
    assert_eq!(detail(0), format!("its status record is {opening}"));
    let ids: Vec<_> = history.iter().skip(1).map(|e| e.id.as_str()).collect();
    assert_eq!(ids, [of_stranger.as_str(), &of_author]);
    let idle = format!("the status '{STATUS}.open', which changes nothing");
    assert_eq!(detail(2), idle);
    assert_eq!(
        detail(1),
        format!("{idle}; does not count: the account may not set the state")
    );
}

#[tokio::test]
async fn record_older_than_thousand_others_is_found() {
    const STATUS: &str = "sh.tangled.repo.pull.status";
    let stage = Stage::new();
    let pds = stage.world.pds();
    let made = create(&stage, stage.settings()).await.value;
    let add = |at: &str| {
        let status = serde_json::json!({
            "pull": made.node_id,
            "status": format!("{STATUS}.open"),
            "createdAt": at,
        });
        pds.add(&stage.alice.did, STATUS, status).0
    };
    let old = add("2026-11-01T00:00:00Z");
    for _ in 0..1_000 {
        add("2036-11-02T00:00:00Z");
    }
    let uri = forge_core::AtUri::parse(&old).unwrap();
    let forge = stage.tangled(&stage.bob);
    let report = forge.check_ingestion(&uri).await.unwrap();
    assert_eq!(report.ingestion.word(), "confirmed", "{report:?}");
}

#[tokio::test]
async fn label_definition_reports_ingestion() {
    const DEFINITION: &str = "sh.tangled.label.definition";
    let bug = NewLabel::new("bug");
    for (mood, words) in [
        ("", ["confirmed", "confirmed", "confirmed"]),
        // The last write restores the earlier record, which the index still has.
        ("lag", ["pending", "pending", "confirmed"]),
        ("down", ["pending", "pending", "pending"]),
        ("no definitions", ["pds_only", "pds_only", "confirmed"]),
        ("lost", ["confirmed", "confirmed", "confirmed"]),
        ("other cid", ["pending", "pending", "pending"]),
    ] {
        let stage = Stage::new();
        let index = stage.world.index();
        let mut settings = impatient(&stage);
        match mood {
            "lag" => index.set_moods(Moods {
                lag: Duration::from_secs(60),
                ..Moods::default()
            }),
            "down" => index.host().set_down(true),
            "no definitions" => settings.ingested.set(DEFINITION, Ingests::No),
            "lost" => {
                settings.wait = Duration::from_secs(5);
                settings.poll = Duration::from_millis(5);
                index.lose_next(DEFINITION, 1);
            }
            "other cid" => index.set_moods(Moods {
                other_cid: true,
                ..Moods::default()
            }),
            _ => settings.wait = Duration::from_secs(5),
        }
        let forge = stage.tangled_with(settings, Some(&stage.alice));
        let id = stage.id();
        let defined = forge.define_label(&id, &bug).await.unwrap();
        let mut again = bug.clone();
        again.color = Some("ff0000".to_owned());
        again.overwrite = true;
        let changed = forge.define_label(&id, &again).await.unwrap();
        let deleted = forge.delete_label(&id, "bug").await.unwrap();
        let told = [
            defined.ingestion.word(),
            changed.ingestion.word(),
            deleted.ingestion.word(),
        ];
        assert_eq!(told, words, "{mood}");
        if mood.is_empty() {
            let uri = forge_core::AtUri::parse(&defined.value.id).unwrap();
            let report = forge.check_ingestion(&uri).await.unwrap();
            assert_eq!(report.ingestion.word(), "confirmed", "{report:?}");
        }
    }
}

#[tokio::test]
async fn record_with_at_uri_of_repository_is_confirmed() {
    let stage = Stage::new();
    let issue = json!({
        "repo": stage.repo.uri, "title": "Older", "createdAt": "2026-05-01T00:00:00Z",
    });
    let pds = stage.world.pds();
    let (uri, _) = pds.add(&stage.alice.did, "sh.tangled.repo.issue", issue);
    let forge = stage.tangled(&stage.alice);
    let uri = AtUri::parse(&uri).unwrap();
    let report = forge.check_ingestion(&uri).await.unwrap();
    assert_eq!(report.ingestion.word(), "confirmed", "{report:?}");
}

const PULL: &str = "sh.tangled.repo.pull";
const ISSUE: &str = "sh.tangled.repo.issue";

/// Stores records of Alice's that break a rule of the ingester of July 2026, in forms that the
/// index of October 2026 listed. Returns name and at-uri of each.
fn legacy_records(stage: &Stage) -> Vec<(&'static str, AtUri)> {
    let (pds, alice) = (stage.world.pds(), stage.alice.did.as_str());
    let (did, uri) = (&stage.repo.did, &stage.repo.uri);
    let issue = |time: &str| json!({"repo": uri, "title": "Older", "createdAt": time});
    let at = "2025-12-09T20:45:35Z";
    let target = json!({"repo": did, "branch": "main"});
    let pull = |value: serde_json::Value| {
        let mut pull = json!({"title": "Older", "createdAt": at, "target": target, "patch": "p"});
        pull.as_object_mut()
            .unwrap()
            .extend(value.as_object().unwrap().clone());
        pull
    };
    let of_2025 = json!({"target": {"repo": uri, "branch": "main", "repoDid": did}});
    let records = [
        ("issue without a time", ISSUE, issue("")),
        ("issue with a date", ISSUE, issue("2025-03-05")),
        ("at-uri in the target", PULL, pull(of_2025)),
        (
            "at-uri in the source",
            PULL,
            pull(json!({"source": {"repo": uri, "branch": "x"}})),
        ),
        (
            "round without a time",
            PULL,
            pull(json!({"rounds": [{"createdAt": ""}]})),
        ),
        (
            "parent without an at-uri",
            PULL,
            pull(json!({"dependentOn": "7"})),
        ),
    ];
    let stored = records.into_iter().map(|(name, collection, record)| {
        (
            name,
            AtUri::parse(&pds.add(alice, collection, record).0).unwrap(),
        )
    });
    stored.collect()
}

/// Edits the title of a pull request or an issue.
async fn edit_title(forge: &forge_tangled::Tangled, uri: &AtUri, title: &str) -> Ingestion {
    if uri.collection == ISSUE {
        let id = forge.issue_of_record(uri).await.unwrap();
        let mut edit = forge_core::model::EditIssue::default();
        edit.title = Some(title.to_owned());
        forge.edit_issue(&id, &edit).await.unwrap().ingestion
    } else {
        let id = forge.pull_of_record(uri).await.unwrap();
        let mut edit = EditPull::default();
        edit.title = Some(title.to_owned());
        forge.edit(&id, &edit).await.unwrap().ingestion
    }
}

/// A rule of one ingester is no observation: the list of the index decides.
#[tokio::test]
async fn listed_legacy_record_is_confirmed() {
    let stage = Stage::new();
    let takes_legacy = Moods {
        takes_legacy: true,
        ..Moods::default()
    };
    stage.world.index().set_moods(takes_legacy);
    let forge = stage.tangled(&stage.alice);
    for (name, uri) in legacy_records(&stage) {
        let ingestion = edit_title(&forge, &uri, "Better").await;
        assert_eq!(ingestion.word(), "confirmed", "{name}: {ingestion:?}");
        let report = forge.check_ingestion(&uri).await.unwrap();
        assert_eq!(report.ingestion.word(), "confirmed", "{name}: {report:?}");
    }
}

/// An index that is not asked, does not answer or shows another version proves nothing.
#[tokio::test]
async fn broken_rule_without_observation_is_a_doubt() {
    for mood in ["no wait", "down", "429", "other cid"] {
        let stage = Stage::new();
        let index = stage.world.index();
        let mut moods = Moods {
            takes_legacy: true,
            ..Moods::default()
        };
        let mut settings = impatient(&stage);
        let records = legacy_records(&stage);
        match mood {
            "no wait" => settings.wait = Duration::ZERO,
            "down" => index.host().set_down(true),
            "429" => index.host().fault(Fault::rate_limited(600).always()),
            _ => moods.other_cid = true,
        }
        index.set_moods(moods);
        let forge = stage.tangled_with(settings, Some(&stage.alice));
        for (name, uri) in records {
            let ingestion = edit_title(&forge, &uri, "Better").await;
            let Ingestion::Pending { doubt, .. } = &ingestion else {
                panic!("{mood}, {name}: {ingestion:?}");
            };
            let doubt = doubt.as_deref().unwrap_or_default();
            let is_named = doubt.starts_with("an index of July 2026 ignored such a record (`");
            assert!(is_named, "{mood}, {name}: {doubt}");
        }
    }
}

#[tokio::test]
async fn rule_of_configured_version_is_proved() {
    let stage = Stage::new();
    let settings = TangledSettings {
        ingested: IngestedCollections::at("2026-07", &Dialects::default()),
        wait: Duration::ZERO,
        ..stage.settings()
    };
    let forge = stage.tangled_with(settings, Some(&stage.alice));
    for (name, uri) in legacy_records(&stage) {
        let ingestion = edit_title(&forge, &uri, "Better").await;
        assert_eq!(ingestion.word(), "ineffective", "{name}: {ingestion:?}");
    }
}

#[tokio::test]
async fn record_of_unknown_collection_is_a_doubt() {
    let stage = Stage::new();
    stage.world.index().lose_next(PULL, 9);
    let settings = TangledSettings {
        ingested: IngestedCollections::of_tangled(&Dialects::default()),
        ..impatient(&stage)
    };
    let made = create(&stage, settings.clone()).await;
    let host = stage.world.index().host().authority();
    let unknown = format!("it is unknown whether {host} ingests {PULL}");
    let Ingestion::Pending { doubt, .. } = &made.ingestion else {
        panic!("{:?}", made.ingestion);
    };
    assert_eq!(doubt.as_ref(), Some(&unknown));
    let forge = stage.tangled_with(settings, Some(&stage.alice));
    let uri = AtUri::parse(&made.value.node_id).unwrap();
    let report = forge.check_ingestion(&uri).await.unwrap();
    assert_eq!(
        report.because,
        format!("{host} does not list the record; {unknown}")
    );
}

/// From October 2026, tangled's index ingests no label operations, and still lists older ones.
#[tokio::test]
async fn stopped_collection_is_pds_only_unless_listed() {
    const LABEL_OP: &str = "sh.tangled.label.op";
    let stage = Stage::new();
    let made = create(&stage, stage.settings()).await.value;
    let settings = TangledSettings {
        ingested: IngestedCollections::of_tangled(&Dialects::default()),
        ..stage.settings()
    };
    let forge = stage.tangled_with(settings, Some(&stage.alice));
    let assign = |change: SetChange<String>| {
        let mut edit = EditPull::default();
        edit.assignees = change;
        edit
    };
    let bob = || vec![stage.bob.handle.clone()];
    let add = SetChange {
        add: bob(),
        remove: Vec::new(),
    };
    stage
        .handle(&stage.alice)
        .edit_pull(&made.id, &assign(add))
        .await
        .unwrap();
    let (older, ..) = stage
        .world
        .pds()
        .records(&stage.alice.did, LABEL_OP)
        .remove(0);
    stage.world.index().lose_next(LABEL_OP, 9);
    let remove = SetChange {
        add: Vec::new(),
        remove: bob(),
    };
    let edited = forge.edit(&made.id, &assign(remove)).await.unwrap();
    let instead = "set the labels on its web page".to_owned();
    assert_eq!(edited.ingestion, Ingestion::PdsOnly { instead });
    for (uri, ..) in stage.world.pds().records(&stage.alice.did, LABEL_OP) {
        let report = forge
            .check_ingestion(&AtUri::parse(&uri).unwrap())
            .await
            .unwrap();
        let wanted = if uri == older {
            "confirmed"
        } else {
            "pds_only"
        };
        assert_eq!(report.ingestion.word(), wanted, "{report:?}");
    }
}

/// Records index limits and counts the writes that were sent before each.
#[derive(Default)]
struct Told(std::sync::Mutex<Vec<String>>);

impl Observer for Told {
    fn started(&self, _: Op, _: &str) {}
    fn finished(&self, _: Op, _: &str, _: Duration, _: Option<&'static str>) {}
    fn rate_limited(&self, _: &str, _: Duration) {}

    fn index_limited(&self, limit: &IndexLimit) {
        self.0
            .lock()
            .unwrap()
            .push(format!("{}: {}", limit.collection, limit.instead));
    }

    fn requested(&self, request: &SentRequest<'_>) {
        let writes = ["createRecord", "putRecord", "deleteRecord", "applyWrites"];
        if writes.iter().any(|write| request.path.ends_with(write)) {
            self.0.lock().unwrap().push("write".to_owned());
        }
    }
}

#[tokio::test]
async fn index_limit_is_told_before_each_write() {
    let stage = Stage::new();
    let settings = TangledSettings {
        ingested: IngestedCollections::at("2025-12", &Dialects::default()),
        ..stage.settings()
    };
    let made = create(&stage, stage.settings()).await.value;
    let told = Arc::new(Told::default());
    let mut policy = Policy::default();
    policy.observer = Some(Arc::clone(&told) as Arc<dyn Observer>);
    let forge = stage.tangled_with(settings, Some(&stage.alice));
    let repo = Client::new(Arc::new(forge), policy).repo(stage.id());
    let mut edit = EditPull::default();
    edit.title = Some("Another".to_owned());
    let take = || std::mem::take(&mut *told.0.lock().unwrap());
    repo.edit_pull(&made.id, &edit).await.unwrap();
    let limit = "sh.tangled.repo.pull: make the change on its web page";
    assert_eq!(take(), [limit, "write"]);
    repo.close(&made.id, &CloseReq::default()).await.unwrap();
    let limit = "sh.tangled.repo.pull.status: close, reopen or mark it as merged on its web page";
    assert_eq!(take(), [limit, "write"]);
    repo.comment(&made.id, "Fine.", None).await.unwrap();
    assert_eq!(
        take(),
        ["sh.tangled.feed.comment: comment on its web page", "write"]
    );
    repo.edit_pull(&made.id, &edit).await.unwrap();
    assert_eq!(take(), [""; 0], "nothing is written");
    repo.create_issue(&NewIssue::new("One", "")).await.unwrap();
    assert_eq!(take(), ["write"], "such an index ingests issues");
}

#[tokio::test]
async fn index_limits_hold_only_where_an_index_is_needed() {
    let stage = Stage::new();
    let limits_of = async |ingested: IngestedCollections, id: &forge_core::RepoId| {
        let settings = TangledSettings {
            ingested,
            ..stage.settings()
        };
        let forge = stage.tangled_with(settings, Some(&stage.alice));
        forge_core::Repos::index_limits(&forge, id).await.unwrap()
    };
    let names = Dialects::default();
    let today = || IngestedCollections::of_tangled(&names);
    assert!(limits_of(today(), stage.repo_id()).await.len() > 5);
    let (_, of_1_0) = stage.repo_1_0();
    assert!(limits_of(today(), &of_1_0).await.is_empty());
    let asked = || stage.world.pds().host().requests().len();
    let before = asked();
    let none = limits_of(IngestedCollections::default(), stage.repo_id()).await;
    assert!(none.is_empty());
    assert_eq!(asked(), before, "nobody is asked");
}

/// After a repository got another record, older at-uris name nothing. The DID beside them decides.
#[tokio::test]
async fn stale_at_uri_beside_a_did_is_ignored() {
    let stage = Stage::new();
    let (pds, alice) = (stage.world.pds(), stage.alice.did.as_str());
    let (did, stale) = (
        &stage.repo.did,
        format!("at://{alice}/sh.tangled.repo/3liuighjy2h22"),
    );
    let issue = json!({"repo": stale, "repoDid": did, "title": "Older", "createdAt": ""});
    let (issue, _) = pds.add(alice, ISSUE, issue);
    let pull = json!({
        "title": "Older", "createdAt": "2025-12-09T20:45:35Z", "patch": "p",
        "target": {"repo": stale, "repoDid": did, "branch": "main"},
        "source": {"repo": stale, "branch": "topic"},
    });
    let (pull, _) = pds.add(alice, PULL, pull);
    let forge = stage.tangled(&stage.bob);
    let found = forge
        .issue_of_record(&AtUri::parse(&issue).unwrap())
        .await
        .unwrap();
    let fields = forge_core::model::IssueFields::NONE;
    assert_eq!(forge.issue(&found, &fields).await.unwrap().title, "Older");
    let found = forge
        .pull_of_record(&AtUri::parse(&pull).unwrap())
        .await
        .unwrap();
    let view = forge.view(&found, Default::default()).await.unwrap();
    assert!(!view.is_cross_repository(), "{:?}", view.head_repo);
    // The backlinks name the account by the DID.
    stage.world.index().host().set_down(true);
    let forge = stage.tangled(&stage.bob);
    let page = forge_core::PageReq::first(10);
    let query = forge_core::model::IssueQuery::default();
    let issues = forge.issues(&stage.id(), &query, page).await.unwrap().items;
    assert_eq!(
        issues.iter().map(|it| &it.title).collect::<Vec<_>>(),
        ["Older"]
    );
}

#[tokio::test]
async fn collaborator_record_with_stale_at_uri_counts() {
    let stage = Stage::new();
    let made = create(&stage, stage.settings()).await.value;
    let carol = stage
        .world
        .pds()
        .account("carol.test", crate::stage::PASSWORD);
    let gone = Fault::gateway(503).on("sh.tangled.repo.listCollaborators");
    stage.world.knot().host().fault(gone.always());
    let (pds, alice) = (stage.world.pds(), stage.alice.did.as_str());
    let stale = format!("at://{alice}/sh.tangled.repo/3liuighjy2h22");
    for (repo_did, may) in [("did:plc:another", false), (stage.repo.did.as_str(), true)] {
        let record = json!({
            "repo": stale, "repoDid": repo_did, "subject": carol.did,
            "createdAt": "2025-05-01T00:00:00Z",
        });
        pds.add(alice, "sh.tangled.repo.collaborator", record);
        let forge = stage.tangled(&carol);
        let closed = forge.close(&made.id, &CloseReq::default()).await;
        assert_eq!(closed.is_ok(), may, "{repo_did}: {closed:?}");
    }
}
