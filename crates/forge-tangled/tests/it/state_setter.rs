//! States that Tangled's own account has set, for the index whose rule it is.

use forge_core::{
    ErrorKind, Issues, Labels, PageReq, Precondition, PullRequests, Timestamp,
    model::{
        CloseReq, IssueFields, IssueState, MergeReq, NewIssue, NewLabel, PrFields, PrState,
        PullRequest, StatusEventKind,
    },
};
use forge_tangled::{Origin, StateSetter, Tangled, TangledSettings};
use forge_tangled_world::{Account, Fault};
use serde_json::{Value, json};

use crate::stage::{PASSWORD, Stage};

const PULL: &str = "sh.tangled.repo.pull";
const STATUS: &str = "sh.tangled.repo.pull.status";
const ISSUE_STATE: &str = "sh.tangled.repo.issue.state";
const GET: &str = "com.atproto.repo.getRecord";
const LIST: &str = "com.atproto.repo.listRecords";

/// Returns a time after the opening of a pull request, within the skew that clocks may have.
fn soon(seconds: i64) -> String {
    Timestamp::from_unix(Timestamp::now().unix() + 60 + seconds).to_string()
}

/// A pull request in Alice's repository, and the account that may set its state.
struct Ground {
    stage: Stage,
    setter: Account,
    pull: PullRequest,
}

impl Ground {
    async fn new() -> Self {
        let stage = Stage::new();
        let setter = stage.world.pds().account("setter.test", PASSWORD);
        let pull = stage.open(&stage.handle(&stage.alice), "topic").await;
        Self {
            stage,
            setter,
            pull,
        }
    }

    fn settings(&self) -> TangledSettings {
        let usual = self.stage.settings();
        TangledSettings {
            state_setter: Some(StateSetter {
                account: self.setter.did.clone(),
                index: usual.index.clone(),
            }),
            ..usual
        }
    }

    fn forge(&self) -> Tangled {
        self.stage
            .tangled_with(self.settings(), Some(&self.stage.bob))
    }

    fn status(&self, state: &str, at: &str) -> Value {
        json!({
            "$type": STATUS, "pull": self.pull.node_id,
            "status": format!("{STATUS}.{state}"), "createdAt": at,
        })
    }

    /// Has Tangled's account close the pull request, and returns the at-uri of the status.
    fn close(&self) -> String {
        let closed = self.status("closed", &soon(0));
        self.stage
            .world
            .pds()
            .add(&self.setter.did, STATUS, closed)
            .0
    }

    /// Has the index list this status of Tangled's account alone.
    fn claim(&self, uri: &str, status: &Value) {
        let item = json!({ "uri": uri, "cid": "bafyreib", "value": status });
        let body = json!({ "items": [item] }).to_string();
        let kind = [("content-type", "application/json")];
        let lie = Fault::answer(200, &kind, body).on(&format!("{PULL}.listStatuses"));
        self.stage.world.index().host().fault(lie.always());
    }

    fn fault_of_setter(&self, method: &str) {
        let query = format!("repo={}", self.setter.did.replace(':', "%3A"));
        let fault = Fault::gateway(502).on(method).about(&query);
        self.stage.world.pds().host().fault(fault.always());
    }

    fn requests_about_setter(&self, method: &str) -> usize {
        let query = format!("repo={}", self.setter.did.replace(':', "%3A"));
        let requests = self.stage.world.pds().host().requests();
        let about = |it: &&forge_tangled_world::Recorded| {
            it.method() == Some(method) && it.query.contains(&query)
        };
        requests.iter().filter(about).count()
    }
}

fn merge_is_closed(e: &forge_core::Error) {
    assert_eq!(
        *e.kind(),
        ErrorKind::Precondition(Precondition::Closed),
        "{e:?}"
    );
}

#[tokio::test]
async fn state_of_tangled_account_counts_for_its_index_only() {
    let ground = Ground::new().await;
    let uri = ground.close();
    let pr = &ground.pull.id;
    let forge = ground.forge();
    let view = forge.view(pr, PrFields::NONE).await.unwrap();
    assert_eq!(view.state, PrState::Closed);
    assert!(view.closed_at.is_some());
    let history = forge.history(pr, PageReq::first(9)).await.unwrap().items;
    let closed = history.iter().find(|it| it.id == uri).unwrap();
    assert_eq!(closed.kind, StatusEventKind::Closed);
    assert_eq!(closed.authority.as_deref(), Some("Tangled's own account"));
    ground.stage.world.pds().host().reset_record();
    let e = forge.merge(pr, &MergeReq::default()).await.unwrap_err();
    merge_is_closed(&e);
    // The account has too many records to be read whole.
    assert_eq!(ground.requests_about_setter(LIST), 0);
    assert_eq!(ground.requests_about_setter(GET), 1);

    let other_index = TangledSettings {
        state_setter: Some(StateSetter {
            account: ground.setter.did.clone(),
            index: Origin::configured("https://api.tangled.org").unwrap(),
        }),
        ..ground.stage.settings()
    };
    let usual = ground.stage.settings();
    assert!(usual.state_setter.is_some());
    for settings in [other_index, usual] {
        let forge = ground.stage.tangled_with(settings, Some(&ground.stage.bob));
        let view = forge.view(pr, PrFields::NONE).await.unwrap();
        assert_eq!(view.state, PrState::Open);
        let history = forge.history(pr, PageReq::first(9)).await.unwrap().items;
        let closed = history.iter().find(|it| it.id == uri).unwrap();
        assert_eq!(closed.authority.as_deref(), Some("none"));
    }
    ground
        .stage
        .handle(&ground.stage.bob)
        .merge(pr, &MergeReq::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn issue_state_of_tangled_account_counts() {
    let ground = Ground::new().await;
    let forge = ground.forge();
    let new = NewIssue::new("One", "");
    let made = forge.create_issue(&ground.stage.id(), &new).await.unwrap();
    let issue = made.value;
    let state = json!({
        "$type": ISSUE_STATE, "issue": issue.node_id, "state": format!("{ISSUE_STATE}.closed"),
        "createdAt": soon(0),
    });
    let pds = ground.stage.world.pds();
    pds.add(&ground.setter.did, ISSUE_STATE, state);
    let seen = forge
        .issue(&issue.id, &IssueFields::default())
        .await
        .unwrap();
    assert_eq!(seen.state, IssueState::Closed);
    let history = forge
        .issue_history(&issue.id, PageReq::first(9))
        .await
        .unwrap()
        .items;
    let closed = history.iter().find(|it| it.kind == StatusEventKind::Closed);
    let authority = closed.unwrap().authority.as_deref();
    assert_eq!(authority, Some("Tangled's own account"));
    let stranger = ground.stage.tangled(&ground.stage.bob);
    let seen = stranger
        .issue(&issue.id, &IssueFields::default())
        .await
        .unwrap();
    assert_eq!(seen.state, IssueState::Open);
}

#[tokio::test]
async fn claimed_state_of_tangled_account_does_not_count() {
    let ground = Ground::new().await;
    let opened = ground.status("open", &soon(0));
    let pds = ground.stage.world.pds();
    let (uri, _) = pds.add(&ground.setter.did, STATUS, opened);
    let missing = uri.replace(uri.rsplit('/').next().unwrap(), "3mzzzzzzzzzz2");
    let closed = ground.status("closed", &soon(30));
    for (uri, why) in [
        (&missing, "its server does not have it"),
        (&uri, "its server has another version of it"),
    ] {
        ground.stage.world.index().host().clear_faults();
        ground.claim(uri, &closed);
        let forge = ground.forge();
        let view = forge.view(&ground.pull.id, PrFields::NONE).await.unwrap();
        assert_eq!(view.state, PrState::Open);
        let told = view.warnings.iter().filter(|w| w.message.contains(why));
        assert_eq!(told.count(), 1, "{:?}", view.warnings);
        let history = forge
            .history(&ground.pull.id, PageReq::first(9))
            .await
            .unwrap();
        let claimed = history.items.iter().find(|it| it.id == *uri).unwrap();
        assert_eq!(claimed.authority.as_deref(), Some("none"));
    }
    // What the index claims does not prevent a merge either.
    ground
        .forge()
        .merge(&ground.pull.id, &MergeReq::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn unreadable_state_of_tangled_account_refuses_merge() {
    let ground = Ground::new().await;
    ground.close();
    let (pr, req) = (&ground.pull.id, MergeReq::default());
    let (pds, index) = (ground.stage.world.pds(), ground.stage.world.index());
    ground.fault_of_setter(GET);
    let e = ground.forge().merge(pr, &req).await.unwrap_err();
    assert!(e.message().contains("is unknown"), "{e:?}");
    let view = ground.forge().view(pr, PrFields::NONE).await.unwrap();
    let told = |w: &forge_core::Warning| w.message.contains("does not count");
    assert!(view.warnings.iter().any(told), "{:?}", view.warnings);
    pds.host().clear_faults();
    // Without the index, the backlinks name the record.
    index.host().set_down(true);
    merge_is_closed(&ground.forge().merge(pr, &req).await.unwrap_err());
    index.backlinks().set_down(true);
    let e = ground.forge().merge(pr, &req).await.unwrap_err();
    assert!(e.message().contains("is unknown"), "{e:?}");
    // A flood of other accounts cuts the index's list.
    index.host().set_down(false);
    index.backlinks().set_down(false);
    let strangers = ground.stage.world.pds().account("carol.test", PASSWORD);
    for _ in 0..40 {
        let mut status = ground.status("open", &soon(30));
        status["note"] = json!("x".repeat(8_000));
        pds.add(&strangers.did, STATUS, status);
    }
    let mut settings = ground.settings();
    settings.read_limits.list = 64 * 1024;
    let forge = ground.stage.tangled_with(settings, Some(&ground.stage.bob));
    merge_is_closed(&forge.merge(pr, &req).await.unwrap_err());
    assert_eq!(ground.stage.repo.git.log("main", "%s").lines().count(), 1);
}

#[tokio::test]
async fn tangled_account_has_no_other_right() {
    let ground = Ground::new().await;
    let pr = &ground.pull.id;
    let alice = ground.stage.tangled(&ground.stage.alice);
    let label = NewLabel::new("bug");
    alice
        .define_label(&ground.stage.id(), &label)
        .await
        .unwrap();
    let repo = format!("at://{}/sh.tangled.repo/widget", ground.stage.alice.did);
    let (_, repo) = ground.stage.world.pds().record(&repo).unwrap();
    let bug = repo["labels"].as_array().unwrap().last().unwrap().clone();
    let op = json!({
        "$type": "sh.tangled.label.op", "subject": ground.pull.node_id, "delete": [],
        "add": [{ "key": bug, "value": "null" }], "performedAt": "2026-11-20T00:00:00Z",
    });
    let pds = ground.stage.world.pds();
    pds.add(&ground.setter.did, "sh.tangled.label.op", op);
    let view = ground.forge().view(pr, PrFields::NONE).await.unwrap();
    assert!(view.labels.is_empty(), "{:?}", view.labels);

    let forge = ground
        .stage
        .tangled_with(ground.settings(), Some(&ground.setter));
    let e = forge.merge(pr, &MergeReq::default()).await.unwrap_err();
    assert!(
        matches!(e.kind(), ErrorKind::PermissionDenied { .. }),
        "{e:?}"
    );
    let e = forge
        .define_label(&ground.stage.id(), &NewLabel::new("x"))
        .await;
    assert!(e.is_err());
    let closed = forge.close(pr, &CloseReq::default()).await.unwrap();
    assert_eq!(closed.value.state, PrState::Closed);
}

/// Tangled has written states of 2025 with the record key of their pull requests.
#[tokio::test]
async fn backfilled_state_has_no_time_of_its_own() {
    let ground = Ground::new().await;
    let pr = &ground.pull.id;
    let key = ground.pull.node_id.rsplit('/').next().unwrap();
    let (_, record) = ground
        .stage
        .world
        .pds()
        .record(&ground.pull.node_id)
        .unwrap();
    let created_at = record["createdAt"].as_str().unwrap();
    let pds = ground.stage.world.pds();
    let owner = &ground.stage.alice.did;
    let status = ground.status("merged", created_at);
    // Pull requests of 2025 have no opening status.
    for (uri, ..) in pds.records(owner, STATUS) {
        pds.delete(owner, STATUS, uri.rsplit('/').next().unwrap());
    }
    let forge = ground.forge();
    for account in [owner, &ground.setter.did] {
        pds.put(account, STATUS, key, status.clone());
        let view = forge.view(pr, PrFields::NONE).await.unwrap();
        assert_eq!(view.state, PrState::Merged, "{account}");
        assert_eq!((view.merged_at, view.closed_at), (None, None), "{account}");
        let history = forge.history(pr, PageReq::first(9)).await.unwrap().items;
        let merged = history.iter().find(|it| it.kind == StatusEventKind::Merged);
        let detail = merged.unwrap().detail.clone().unwrap();
        assert!(detail.contains("when it happened is unknown"), "{detail}");
        pds.delete(account, STATUS, key);
    }
    // The record key alone decides: a recorded state is dated 5 seconds after its pull request.
    let created: Timestamp = created_at.parse().unwrap();
    let later = Timestamp::from_unix(created.unix() + 5).to_string();
    pds.put(owner, STATUS, key, ground.status("merged", &later));
    let view = forge.view(pr, PrFields::NONE).await.unwrap();
    assert_eq!(view.state, PrState::Merged);
    assert_eq!((view.merged_at, view.closed_at), (None, None));
    pds.delete(owner, STATUS, key);
    // With another key, a state has its own time.
    pds.add(owner, STATUS, status);
    let view = forge.view(pr, PrFields::NONE).await.unwrap();
    assert!(view.merged_at.is_some());
}

/// A recorded issue of 2025 was edited 15 months after its state was written, and got a new date.
#[tokio::test]
async fn backfilled_issue_state_older_than_issue_has_no_time() {
    let ground = Ground::new().await;
    let forge = ground.forge();
    let new = NewIssue::new("One", "");
    let made = forge.create_issue(&ground.stage.id(), &new).await.unwrap();
    let issue = made.value;
    let (pds, owner) = (ground.stage.world.pds(), &ground.stage.alice.did);
    let key = issue.node_id.rsplit('/').next().unwrap();
    let state = json!({
        "$type": ISSUE_STATE, "issue": issue.node_id, "state": format!("{ISSUE_STATE}.closed"),
        "createdAt": "2025-03-17T08:48:28Z",
    });
    pds.put(owner, ISSUE_STATE, key, state);
    // The state that forge wrote with the issue is newer, and open.
    for author in [&ground.stage.alice.did, &ground.stage.bob.did] {
        for (uri, ..) in pds.records(author, ISSUE_STATE) {
            if !uri.ends_with(key) {
                pds.delete(author, ISSUE_STATE, uri.rsplit('/').next().unwrap());
            }
        }
    }
    let seen = forge
        .issue(&issue.id, &IssueFields::default())
        .await
        .unwrap();
    assert_eq!(seen.state, IssueState::Closed);
    assert_eq!(seen.closed_at, None);
    let page = forge.issue_history(&issue.id, PageReq::first(9)).await;
    let history = page.unwrap().items;
    let closed = history.iter().find(|it| it.kind == StatusEventKind::Closed);
    let detail = closed.unwrap().detail.clone().unwrap();
    assert!(detail.contains("when it happened is unknown"), "{detail}");
}

#[tokio::test]
async fn states_of_tangled_account_take_ten_requests_at_most() {
    let ground = Ground::new().await;
    let (pds, pr) = (ground.stage.world.pds(), &ground.pull.id);
    for (states, requests) in [(1, 1), (2, 2), (12, 10)] {
        while pds.records(&ground.setter.did, STATUS).len() < states {
            let at = soon(0);
            pds.add(&ground.setter.did, STATUS, ground.status("closed", &at));
        }
        let forge = ground.forge();
        pds.host().reset_record();
        let view = forge.view(pr, PrFields::NONE).await.unwrap();
        assert_eq!(view.state, PrState::Closed);
        assert_eq!(ground.requests_about_setter(GET), requests, "{states}");
        assert_eq!(ground.requests_about_setter(LIST), 0);
    }
}
