//! Links: references in records, URLs of web pages, and unknown parts.

use forge_core::{
    Issues, PrKey, PullRequests, Warning,
    model::{
        CreatePull, Issue, IssueId, Link, LinkState, MergeReq, NewIssue, PrFields, Subject,
        SubjectKind,
    },
};
use forge_tangled::{Dialects, IngestedCollections, TangledSettings};
use forge_tangled_world::PdsOptions;
use serde_json::json;

use crate::stage::{PASSWORD, Stage};

const ISSUE: &str = "sh.tangled.repo.issue";
const TICKET: &str = "org.tangled.track.ticket";

async fn open(stage: &Stage, title: &str, body: &str) -> Issue {
    let new = NewIssue::new(title, body);
    let forge = stage.tangled(&stage.alice);
    forge.create_issue(&stage.id(), &new).await.unwrap().value
}

fn of(issue: &Issue) -> Subject {
    Subject::Issue(issue.id.clone())
}

fn titles(links: &[Link]) -> Vec<&str> {
    links
        .iter()
        .map(|link| link.title.as_deref().unwrap_or_default())
        .collect()
}

fn said(warnings: &[Warning], part: &str) -> bool {
    warnings.iter().any(|w| w.message.contains(part))
}

#[tokio::test]
async fn references_of_records_are_links_in_both_directions() {
    let stage = Stage::new();
    let issue = open(&stage, "One", "Why").await;
    let record = json!({
        "repo": stage.repo.did, "title": "Two", "body": "Nothing in it",
        "references": [issue.node_id, "at://did:plc:elsewhere/app.bsky.feed.post/3k", 7, "x"],
        "createdAt": "2026-11-01T00:00:00Z",
    });
    let (uri, _) = stage
        .world
        .pds()
        .put(&stage.bob.did, ISSUE, "3mkuuamwfj322", record);
    let forge = stage.tangled(&stage.alice);
    let two = Subject::Issue(IssueId {
        repo: stage.id(),
        key: PrKey::Record(uri.clone()),
    });
    let found = forge.links(&two).await.unwrap();
    assert_eq!(titles(&found.mentions), ["One"]);
    let found = forge.links(&of(&issue)).await.unwrap();
    assert_eq!(titles(&found.mentioned_by), ["Two"]);
    let two = &found.mentioned_by[0];
    assert_eq!(two.kind, Some(SubjectKind::Issue));
    assert_eq!(two.state, Some(LinkState::Open));
    assert_eq!(two.to_string(), uri);
    assert!(said(&found.warnings, "comments elsewhere"), "{found:?}");
    // The client does not trust the states of an index that ingests none.
    let old = TangledSettings {
        ingested: IngestedCollections::at("2026-06", &Dialects::default()),
        ..stage.settings()
    };
    let forge = stage.tangled_with(old, Some(&stage.alice));
    let found = forge.links(&of(&issue)).await.unwrap();
    assert_eq!(titles(&found.mentioned_by), ["Two"]);
    assert_eq!(found.mentioned_by[0].state, None);
    assert!(
        said(&found.warnings, "states of the linked records are unknown"),
        "{found:?}"
    );
}

#[tokio::test]
async fn references_of_a_pull_close_issues() {
    const PULL: &str = "sh.tangled.repo.pull";
    let stage = Stage::new();
    let one = open(&stage, "One", "Why").await;
    let two = open(&stage, "Two", "Why").await;
    let pull = stage.open(&stage.handle(&stage.alice), "topic").await;
    let pds = stage.world.pds();
    let (_, mut record) = pds.record(&pull.node_id).unwrap();
    // A handle may move to another account, so an at-uri with a handle closes nothing.
    let by_handle = two.node_id.replace(&stage.alice.did, &stage.alice.handle);
    record["references"] = json!([one.node_id, by_handle, pull.node_id, 7]);
    let rkey = pull.node_id.rsplit('/').next().unwrap();
    pds.put(&stage.alice.did, PULL, rkey, record);
    let forge = stage.tangled(&stage.bob);
    let found = forge.links(&Subject::Pull(pull.id.clone())).await.unwrap();
    assert_eq!(titles(&found.closes), ["One"]);
    let found = forge.links(&of(&one)).await.unwrap();
    assert_eq!(titles(&found.closed_by), [pull.title.as_str()]);
    assert!(found.mentioned_by.is_empty(), "{found:?}");
    let found = forge.links(&of(&two)).await.unwrap();
    assert!(found.closed_by.is_empty(), "{found:?}");
    let view = forge.view(&pull.id, PrFields::NONE).await.unwrap();
    let closing = view.closing_references.iter().map(IssueId::to_string);
    assert_eq!(closing.collect::<Vec<_>>(), [one.node_id.as_str()]);
    let on_merge: Vec<_> = view
        .closed_on_merge
        .iter()
        .map(IssueId::to_string)
        .collect();
    assert_eq!(on_merge, [one.node_id.as_str()]);
    // An account that only an at-uri names is not contacted.
    let index = stage.world.index().host();
    index.reset_record();
    pds.host().reset_record();
    let named = [
        one.node_id.clone(),
        by_handle,
        pull.node_id,
        format!("at://did:web:stranger.test/{ISSUE}/3mkuuamwfj322"),
    ];
    let listed = forge.listed_issues(&stage.id(), &named).await.unwrap();
    assert_eq!(listed.into_iter().collect::<Vec<_>>(), [one.node_id]);
    assert_eq!(index.requests().len(), 1);
    assert!(pds.host().requests().is_empty());
}

/// The record of a pull request must not choose the host that `forge` contacts.
#[tokio::test]
async fn lower_pull_is_read_only_if_listed() {
    const PULL: &str = "sh.tangled.repo.pull";
    let stage = Stage::new();
    let pull = stage.open(&stage.handle(&stage.alice), "topic").await;
    let theirs = stage.world.another_pds(PdsOptions::default()).unwrap();
    let mallory = theirs.account("mallory.test", PASSWORD);
    let below = format!("at://{}/{PULL}/3mkuuamwfj322", mallory.did);
    let pds = stage.world.pds();
    let (_, mut record) = pds.record(&pull.node_id).unwrap();
    record["dependentOn"] = json!(below);
    let rkey = pull.node_id.rsplit('/').next().unwrap();
    pds.put(&stage.alice.did, PULL, rkey, record);
    theirs.host().reset_record();
    let forge = stage.tangled(&stage.bob);
    let merged = forge.merge(&pull.id, &MergeReq::default()).await;
    let e = merged.unwrap_err();
    assert!(e.message().contains("the forge does not list"), "{e:?}");
    for index_is_down in [false, true] {
        let index = stage.world.index();
        index.host().set_down(index_is_down);
        index.backlinks().set_down(index_is_down);
        let forge = stage.tangled(&stage.bob);
        let view = forge.view(&pull.id, PrFields::MERGEABILITY).await.unwrap();
        assert!(said(&view.warnings, "the forge does not list"), "{view:?}");
        let named = [pull.node_id.clone(), below.clone()];
        let listed = forge.listed_pulls(&stage.id(), &named).await.unwrap();
        assert!(listed.into_iter().eq([pull.node_id.clone()]));
    }
    let knot = stage.world.knot().host();
    assert_eq!(knot.count_of("sh.tangled.repo.merge"), 0);
    assert!(theirs.host().requests().is_empty());
}

#[tokio::test]
async fn repository_page_urls_resolve_to_records() {
    let stage = Stage::new();
    let one = open(&stage, "One", "Why").await;
    let did = &stage.repo.did;
    let body = format!(
        "See https://tangled.org/alice.test/widget/issues/1, https://tangled.org/{did}/issues/77 \
         and https://tangled.org/bob.test/other/issues/1. Fixes #1."
    );
    let two = open(&stage, "Two", &body).await;
    let forge = stage.tangled(&stage.bob);
    forge.links(&of(&two)).await.unwrap();
    let index = stage.world.index();
    index.host().reset_record();
    index.web().reset_record();
    let found = forge.links(&of(&two)).await.unwrap();
    let named: Vec<_> = found.mentions.iter().map(Link::to_string).collect();
    assert_eq!(
        named,
        [one.node_id.as_str(), "tangled.org/bob.test/other#1"]
    );
    assert_eq!(found.mentions[1].title, None);
    assert!(found.closes.is_empty());
    // The requests are the comments and two lists. Two pages of this repository are read, and no
    // page of the linked repository.
    assert_eq!(index.host().requests().len(), 3);
    assert_eq!(index.web().requests().len(), 2);
    let found = forge.links(&of(&one)).await.unwrap();
    assert_eq!(titles(&found.mentioned_by), [""; 0]);
    assert!(
        said(&found.warnings, "1 more record(s) link to numbered pages"),
        "{found:?}"
    );
    // The page also names the issue by its number on the web.
    let by_number = Subject::Issue(IssueId::number(stage.id(), 1));
    let found = forge.links(&by_number).await.unwrap();
    assert_eq!(titles(&found.mentioned_by), ["Two"]);
    assert!(!said(&found.warnings, "numbered pages"), "{found:?}");
}

#[tokio::test]
async fn stack_is_a_link_and_a_cycle_terminates() {
    let stage = Stage::new();
    let repo = stage.handle(&stage.alice);
    let lower = stage.open(&repo, "lower").await;
    stage.repo.git.set_branch("upper", "lower");
    stage.repo.git.commit("upper", "U", &[("u", Some("u\n"))]);
    let mut req = CreatePull::new("upper", "Upper");
    req.depends_on = Some(lower.id.clone());
    let upper = repo.create_pull(&req).await.unwrap().value;
    let links = async |id: &forge_core::PrId| {
        let subject = Subject::Pull(id.clone());
        stage.tangled(&stage.bob).links(&subject).await.unwrap()
    };
    let found = links(&upper.id).await;
    assert_eq!(titles(&found.depends_on), [lower.title.as_str()]);
    assert_eq!(titles(&links(&lower.id).await.needed_by), ["Upper"]);
    // The author makes the lower pull request depend on the upper: a cycle.
    let pds = stage.world.pds();
    let pulls = pds.records(&stage.alice.did, "sh.tangled.repo.pull");
    let (_, _, record) = pulls
        .iter()
        .find(|(uri, ..)| *uri == lower.node_id)
        .unwrap();
    let mut record = record.clone();
    record["dependentOn"] = json!(upper.node_id);
    let rkey = lower.node_id.rsplit('/').next().unwrap();
    pds.put(&stage.alice.did, "sh.tangled.repo.pull", rkey, record);
    let found = links(&lower.id).await;
    assert_eq!(titles(&found.depends_on), ["Upper"]);
    assert_eq!(titles(&found.needed_by), ["Upper"]);
}

#[tokio::test]
async fn links_are_read_from_known_accounts_without_index() {
    let stage = Stage::new();
    let one = open(&stage, "One", "Why").await;
    let two = open(&stage, "Two", &format!("See {}", one.node_id)).await;
    for backlinks in [true, false] {
        stage.world.index().host().set_down(true);
        stage.world.index().backlinks().set_down(!backlinks);
        let forge = stage.tangled(&stage.alice);
        let found = forge.links(&of(&two)).await.unwrap();
        assert_eq!(titles(&found.mentions), ["One"], "{backlinks}");
        let found = forge.links(&of(&one)).await.unwrap();
        assert_eq!(titles(&found.mentioned_by), ["Two"], "{backlinks}");
        assert_eq!(found.mentioned_by[0].state, None);
        assert!(said(&found.warnings, "read from"), "{:?}", found.warnings);
    }
}

#[tokio::test]
async fn mentions_between_tickets_are_links() {
    let stage = Stage::new();
    let repo = stage.world.repository_1_0(&stage.alice, "new");
    let knot = stage.world.knot();
    let issue = format!("at://{}/{TICKET}/3mkuuamwfj322", repo.did);
    let ticket = |title: &str, body: &str| {
        json!({
            "title": {"text": title}, "body": {"text": body}, "state": "open",
            "createdAt": "2026-11-01T00:00:00Z", "x-tngl-editor": stage.bob.did,
        })
    };
    knot.put_record(&repo.did, TICKET, "3mkuuamwfj322", ticket("One", "Why"));
    let mut pull = ticket("Pull", &format!("Since {issue}."));
    pull["targetBranch"] = json!("main");
    knot.put_record(&repo.did, TICKET, "3mkuuamwfj323", pull);
    let id = stage.id_of(&repo);
    let subject = Subject::Issue(IssueId {
        repo: id,
        key: PrKey::Record(issue),
    });
    let forge = stage.tangled(&stage.alice);
    let found = forge.links(&subject).await.unwrap();
    assert_eq!(titles(&found.mentioned_by), ["Pull"]);
    assert_eq!(found.mentioned_by[0].kind, Some(SubjectKind::PullRequest));
    assert!(
        found.mentions.is_empty() && found.warnings.is_empty(),
        "{found:?}"
    );
}

/// A number, a link and an at-uri after a closing word count, each once, before the references.
#[tokio::test]
async fn closing_words_and_references_are_one_list() {
    const PULL: &str = "sh.tangled.repo.pull";
    let stage = Stage::new();
    let one = open(&stage, "One", "Why").await;
    let two = open(&stage, "Two", "Why").await;
    let pull = stage.open(&stage.handle(&stage.alice), "topic").await;
    let pds = stage.world.pds();
    let (_, mut record) = pds.record(&pull.node_id).unwrap();
    record["body"] = json!(format!(
        "Fixes #769, closes {} and resolves https://tangled.org/alice.test/widget/issues/5. See #2. \
         `Fixes #3`",
        one.node_id
    ));
    record["references"] = json!([one.node_id, two.node_id]);
    let rkey = pull.node_id.rsplit('/').next().unwrap();
    pds.put(&stage.alice.did, PULL, rkey, record);
    let forge = stage.tangled(&stage.bob);
    let view = forge.view(&pull.id, PrFields::NONE).await.unwrap();
    let keys: Vec<_> = view
        .closed_on_merge
        .iter()
        .map(|id| id.key.to_string())
        .collect();
    assert_eq!(keys, ["769", &one.node_id, "5", &two.node_id]);
}
