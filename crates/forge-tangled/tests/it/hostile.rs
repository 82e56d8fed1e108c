//! Malformed records, whether malicious or accidental.

use forge_core::{
    Action, Call, Issues, Labels, PageReq, Param, PrId, PrKey, PullRequests, Repos, Warning,
    model::{
        EditPull, IssueFields, IssueFilter, IssueQuery, NewIssue, PrFields, PullQuery, SetChange,
        StateFilter,
    },
};
use forge_tangled_world::Fault;
use serde_json::{Value, json};

use crate::stage::{Stage, action};

const PULL: &str = "sh.tangled.repo.pull";
const COMMENT: &str = "sh.tangled.feed.comment";
const LABEL_OP: &str = "sh.tangled.label.op";
const STATUS: &str = "sh.tangled.repo.pull.status";

#[tokio::test]
async fn unreadable_label_is_a_warning() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let (pds, alice) = (stage.world.pds(), stage.alice.did.as_str());
    let nameless = json!({ "name": 7 });
    let label = "sh.tangled.label.definition";
    let (label, _) = pds.put(&stage.bob.did, label, "nameless", nameless);
    let repo = format!("at://{alice}/sh.tangled.repo/widget");
    let (_, mut record) = pds.record(&repo).unwrap();
    record["labels"].as_array_mut().unwrap().push(json!(label));
    pds.put(alice, "sh.tangled.repo", "widget", record);
    let op = json!({
        "subject": made.node_id, "performedAt": "2026-11-01T00:00:00Z",
        "add": [{ "key": label, "value": "null" }], "delete": [],
    });
    pds.add(alice, LABEL_OP, op);
    let forge = stage.tangled(&stage.alice);
    let told = |warnings: &[Warning]| {
        let about = |w: &Warning| w.message.contains(&label) && w.message.contains("no name");
        assert!(warnings.iter().any(about), "{warnings:?}");
    };
    let view = forge.view(&made.id, PrFields::NONE).await.unwrap();
    told(&view.warnings);
    let page = PageReq::first(9);
    told(
        &forge
            .labels(&stage.id(), page.clone())
            .await
            .unwrap()
            .warnings,
    );
    let mut of_bugs = PullQuery::default();
    of_bugs.labels = vec!["bug".into()];
    let list = forge.list(&stage.id(), &of_bugs, page).await.unwrap();
    told(&list.warnings);
    let mut bug = EditPull::default();
    bug.labels = SetChange {
        add: vec!["bug".into()],
        remove: Vec::new(),
    };
    let e = forge.edit(&made.id, &bug).await.unwrap_err();
    assert!(e.message().contains("there is no label 'bug'"), "{e:?}");
    assert!(e.message().contains(&label), "{e:?}");
    // A deleted definition no longer defines a label.
    pds.delete(&stage.bob.did, "sh.tangled.label.definition", "nameless");
    let forge = stage.tangled(&stage.alice);
    let view = forge.view(&made.id, PrFields::NONE).await.unwrap();
    let labels = view.warnings.iter().filter(|w| w.message.contains(&label));
    assert_eq!(labels.count(), 0, "{:?}", view.warnings);
}

/// The owner of a repository chooses how many label definitions it has, and on which servers.
#[tokio::test]
async fn number_and_names_of_labels_are_bounded() {
    let stage = Stage::new();
    let (pds, alice) = (stage.world.pds(), stage.alice.did.as_str());
    let definition = "sh.tangled.label.definition";
    let label = |n: usize| format!("at://{}/{definition}/l{n}", stage.bob.did);
    let long = json!({ "name": "x".repeat(2_000) });
    pds.put(&stage.bob.did, definition, "l0", long);
    let repo = format!("at://{alice}/sh.tangled.repo/widget");
    let (_, mut record) = pds.record(&repo).unwrap();
    record["labels"] = (0..1_000).map(label).collect::<Value>();
    pds.put(alice, "sh.tangled.repo", "widget", record);
    let forge = stage.tangled(&stage.alice);
    let listed = forge.labels(&stage.id(), PageReq::first(9)).await.unwrap();
    for part in [
        "its name has more than 1000 bytes",
        "the first 500 labels of a repository are read, and 500 more are not",
    ] {
        let told = |w: &Warning| w.message.contains(part);
        assert!(listed.warnings.iter().any(told), "{:?}", listed.warnings);
    }
    let reads = pds.host().count_of("com.atproto.repo.getRecord");
    assert!((500..550).contains(&reads), "{reads}");
}

#[tokio::test]
async fn hostile_pulls_are_shown_or_reported() {
    let stage = Stage::new();
    let good = stage.open(&stage.handle(&stage.alice), "topic").await;
    let target = json!({"repo": stage.repo.did, "branch": "main"});
    let pds = stage.world.pds();
    let blob = pds.blob(&stage.bob.did, "application/gzip", b"not gzip");
    let huge = "x".repeat(900_000);
    let mut hostile = Vec::new();
    for record in [
        json!({"title": 7, "target": target}),
        json!({"title": "no branch", "target": {"repo": stage.repo.did, "branch": [1]}}),
        json!({"title": {"deep": [[[[[[[[]]]]]]]]}, "target": target, "createdAt": {}}),
    ] {
        hostile.push(pds.add(&stage.bob.did, PULL, record).0);
    }
    // The valid parts of these records are read, and warnings name the rest.
    let mut odd = Vec::new();
    for record in [
        json!({"title": "no rounds", "target": target, "createdAt": "2026-11-01T00:00:00Z"}),
        json!({"title": huge, "target": target, "rounds": "x", "createdAt": "never"}),
        json!({"title": "T", "target": target, "rounds": [null, 1, {}], "source": [], "body": {}}),
        json!({"title": "T", "target": target, "rounds": [{"patchBlob": blob}],
               "createdAt": "2026-11-01T00:00:00+23:59", "body": huge}),
        json!({"title": "T", "target": target, "rounds": [], "createdAt": "2026-02-30T25:61:61-99:99"}),
    ] {
        odd.push(pds.add(&stage.bob.did, PULL, record).0);
    }
    // Two pull requests depend on each other, and a third depends on itself.
    for (n, below) in [(0, 1), (1, 0), (2, 2)] {
        let (_, mut record) = pds.record(&odd[n]).unwrap();
        record["dependentOn"] = json!(odd[below]);
        let rkey = odd[n].rsplit('/').next().unwrap().to_owned();
        pds.put(&stage.bob.did, PULL, &rkey, record);
    }
    let subject = json!({"uri": good.node_id, "cid": 3});
    for (did, collection, record) in [
        (
            &stage.bob.did,
            COMMENT,
            json!({"subject": subject, "body": 3, "replyTo": {"uri": {}}}),
        ),
        (
            &stage.bob.did,
            COMMENT,
            json!({"subject": subject, "body": {"text": [huge]}}),
        ),
        (
            &stage.alice.did,
            LABEL_OP,
            json!({"subject": good.node_id, "add": [null], "delete": []}),
        ),
        (
            &stage.alice.did,
            LABEL_OP,
            json!({"subject": good.node_id, "add": 1, "delete": 1}),
        ),
        (
            &stage.alice.did,
            STATUS,
            json!({"pull": good.node_id, "status": null, "createdAt": 1}),
        ),
        (
            &stage.alice.did,
            STATUS,
            json!({"pull": good.node_id, "status": [huge], "createdAt": 1}),
        ),
    ] {
        hostile.push(pds.add(did, collection, record).0);
    }
    for index_is_down in [false, true] {
        stage.world.index().host().set_down(index_is_down);
        let forge = stage.tangled(&stage.bob);
        let page = forge
            .list(&stage.id(), &PullQuery::default(), PageReq::first(50))
            .await
            .unwrap();
        assert!(page.items.iter().any(|p| p.id == good.id));
        let mut told: Vec<String> = page.warnings.iter().map(|w| w.message.clone()).collect();
        for row in &page.items {
            let fields = PrFields::STATS | PrFields::COMMENTS | PrFields::COMMITS;
            let view = forge.view(&row.id, fields).await.unwrap();
            if view.id != good.id {
                assert!(!view.warnings.is_empty(), "{view:?}");
            }
            told.extend(view.warnings.into_iter().map(|w| w.message));
        }
        let lost: Vec<_> = hostile
            .iter()
            .filter(|uri| !told.iter().any(|text| text.contains(*uri)))
            // Records missing from the index are not read while the index answers.
            .filter(|uri| index_is_down || stage.world.index().knows(uri).is_some())
            .collect();
        assert!(lost.is_empty(), "{lost:#?} of {told:#?}");
        if index_is_down {
            let listed = |uri: &&String| page.items.iter().any(|p| p.node_id == **uri);
            assert!(odd.iter().all(|uri| listed(&uri)), "{:#?}", page.warnings);
        }
        let history = forge.history(&good.id, PageReq::first(50)).await.unwrap();
        assert_eq!(history.items.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_records_are_read_over_cursors() {
    const MANY: u64 = 10_000;
    let stage = Stage::new();
    let good = stage.open(&stage.handle(&stage.alice), "topic").await;
    let pds = stage.world.pds();
    for n in 0..MANY {
        let comment = json!({
            "subject": {"uri": good.node_id, "cid": good.version},
            "body": format!("comment {n}"),
            "createdAt": "2026-11-01T00:00:00Z",
        });
        pds.add(&stage.bob.did, COMMENT, comment);
    }
    let index = stage.world.index();
    for (index_is_down, backlinks_too, method, pages) in [
        (false, false, "sh.tangled.feed.listComments", 10),
        // A page has a hundred records; an empty page follows the last full page.
        (true, false, "com.atproto.repo.listRecords", 101),
        (true, true, "com.atproto.repo.listRecords", 101),
    ] {
        index.host().set_down(index_is_down);
        index.backlinks().set_down(backlinks_too);
        let forge = stage.tangled(&stage.bob);
        index.host().reset_record();
        pds.host().reset_record();
        let view = forge.view(&good.id, PrFields::NONE).await.unwrap();
        assert_eq!(view.comments_count, MANY, "{method}");
        let asked = [index.host(), pds.host()].map(|host| {
            let all = host.requests();
            let about = |it: &&forge_tangled_world::Recorded| {
                it.method() == Some(method)
                    && (method.contains("listComments") || it.query.contains(COMMENT))
                    && (method.contains("listComments")
                        || it.query.contains(&stage.bob.did.replace(':', "%3A")))
            };
            all.iter().filter(about).count()
        });
        assert_eq!(asked.iter().sum::<usize>(), pages, "{method}");
    }
    // The last comment exceeds the limit, as a warning says.
    for n in 0..5 {
        let comment = json!({
            "subject": {"uri": good.node_id, "cid": good.version},
            "body": format!("one more {n}"),
            "createdAt": "2026-11-01T00:00:00Z",
        });
        pds.add(&stage.bob.did, COMMENT, comment);
    }
    index.host().set_down(false);
    let view = stage
        .tangled(&stage.bob)
        .view(&good.id, PrFields::NONE)
        .await
        .unwrap();
    assert_eq!(view.comments_count, MANY);
    let told = |w: &forge_core::Warning| w.message.contains("more than 10000 records");
    assert!(view.warnings.iter().any(told), "{:?}", view.warnings);
    // Without the index the backlinks are read, with the same limit.
    index.host().set_down(true);
    index.backlinks().set_down(false);
    let view = stage
        .tangled(&stage.bob)
        .view(&good.id, PrFields::NONE)
        .await
        .unwrap();
    let told = |w: &forge_core::Warning| w.message.contains("there are more than 10000");
    assert!(view.warnings.iter().any(told), "{:?}", view.warnings);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tangled_1_0_records_are_read_over_cursors() {
    const MANY: usize = 10_000;
    const TICKET: &str = "org.tangled.track.ticket";
    const SAID: &str = "org.tangled.feed.comment";
    let stage = Stage::new();
    let (repo, id) = stage.repo_1_0();
    let knot = stage.world.knot();
    let at = "2026-11-01T00:00:00Z";
    let ticket = json!({
        "title": {"text": "T"}, "state": "open", "targetBranch": "main", "createdAt": at,
    });
    let mut first = None;
    for n in 0..MANY {
        let made = knot.put_record(&repo.did, TICKET, &format!("t{n:05}"), ticket.clone());
        first.get_or_insert(made);
    }
    let (uri, cid) = first.unwrap();
    for n in 0..MANY {
        let comment = json!({
            "subject": {"uri": uri, "cid": cid}, "body": {"text": format!("comment {n}")},
            "createdAt": at,
        });
        knot.put_record(&repo.did, SAID, &format!("c{n:05}"), comment);
    }
    let pages = |collection: &str| {
        let all = knot.host().requests();
        let of_it = |it: &&forge_tangled_world::Recorded| {
            it.method() == Some("com.atproto.repo.listRecords") && it.query.contains(collection)
        };
        all.iter().filter(of_it).count()
    };
    // A page has a hundred records; an empty page follows the last full page.
    let forge = stage.tangled(&stage.bob);
    let query = PullQuery::default();
    let page = forge.list(&id, &query, PageReq::first(50)).await.unwrap();
    assert_eq!(page.items.len(), 50);
    assert_eq!(pages(TICKET), 101);
    // Comments are read once per list, not once per row.
    assert_eq!(pages(SAID), 101);
    let pr = PrId {
        repo: id,
        key: PrKey::Record(uri),
    };
    let view = forge.view(&pr, PrFields::NONE).await.unwrap();
    assert_eq!(view.comments_count, MANY as u64);
    assert_eq!(pages(SAID), 202);
}

#[tokio::test]
async fn self_replies_and_odd_times_are_shown() {
    let stage = Stage::new();
    let good = stage.open(&stage.handle(&stage.alice), "topic").await;
    let pds = stage.world.pds();
    let mut comment = json!({
        "subject": {"uri": good.node_id, "cid": good.version},
        "body": {"$type": "sh.tangled.markup.markdown", "text": "me"},
        "createdAt": "2026-11-01T00:00:00-11:30",
    });
    let (uri, cid) = pds.add(&stage.bob.did, "sh.tangled.feed.comment", comment.clone());
    comment["replyTo"] = json!({"uri": uri, "cid": cid});
    let rkey = uri.rsplit('/').next().unwrap();
    pds.put(&stage.bob.did, "sh.tangled.feed.comment", rkey, comment);
    let forge = stage.tangled(&stage.alice);
    let view = forge.view(&good.id, PrFields::COMMENTS).await.unwrap();
    let comments = view.comments.unwrap();
    assert_eq!(comments.len(), 1);
    assert_eq!(comments[0].reply_to.as_ref(), Some(&uri));
    let _: Value = serde_json::to_value(&comments[0]).unwrap();
}

#[tokio::test]
async fn hostile_tickets_are_shown_or_reported() {
    let stage = Stage::new();
    let (repo, id) = stage.repo_1_0();
    let knot = stage.world.knot();
    let mut number = 0;
    let mut put = |name: &str, record: Value| {
        number += 1;
        let rkey = format!("3mkuuamwfj3{}2", char::from(b'a' + number));
        knot.put_record(&repo.did, &format!("org.tangled.{name}"), &rkey, record)
            .0
    };
    let at = "2026-11-01T00:00:00Z";
    let plain = |more: Value| {
        let mut all = json!({
            "title": {"text": "T"}, "state": "open", "targetBranch": "main", "createdAt": at,
        });
        for (name, value) in more.as_object().unwrap() {
            all[name] = value.clone();
        }
        all
    };
    let huge = "x".repeat(900_000);
    // The valid parts of these records are read, also in a list.
    let odd = [
        put("track.ticket", plain(json!({"state": 7}))),
        put("track.ticket", plain(json!({"state": huge}))),
        put("track.ticket", plain(json!({"tangledLabels": "bug"}))),
        put(
            "track.ticket",
            plain(json!({"tangledLabels": [{"key": {}}, null]})),
        ),
        put("track.ticket", plain(json!({"assignees": [7]}))),
        put("track.ticket", plain(json!({"body": {"text": [huge]}}))),
    ];
    let good = put("track.ticket", plain(json!({})));
    let issue = put(
        "track.ticket",
        json!({"title": {"text": "I"}, "state": [], "assignees": {}, "createdAt": at}),
    );
    // These records are neither pull requests nor issues.
    let mut hostile = vec![
        put("track.ticket", plain(json!({"title": 7}))),
        put("track.ticket", json!({"title": {"deep": [[[[[]]]]]}})),
        put("review.patch", json!({"ticket": 7, "base": "x"})),
        put("review.patch", json!({})),
        put(
            "feed.comment",
            json!({"subject": 3, "body": {"text": "about nothing"}}),
        ),
    ];
    let about = |uri: &str| json!({"uri": uri, "cid": 3});
    for subject in [&good, &issue] {
        hostile.push(put(
            "feed.comment",
            json!({"subject": about(subject), "body": 3}),
        ));
        let deep = json!({"subject": about(subject), "body": {"text": [huge]}, "replyTo": []});
        hostile.push(put("feed.comment", deep));
    }
    let rkey = good.rsplit('/').next().unwrap().to_owned();
    put(
        "review.patch",
        json!({"ticket": rkey, "base": {"oid": "../.."}, "head": []}),
    );

    let forge = stage.tangled(&stage.bob);
    let mut query = PullQuery::default();
    query.state = StateFilter::All;
    let page = forge.list(&id, &query, PageReq::first(50)).await.unwrap();
    let listed: Vec<&str> = page.items.iter().map(|p| p.node_id.as_str()).collect();
    assert!(odd.iter().all(|uri| listed.contains(&uri.as_str())));
    let told = |warnings: &[forge_core::Warning], uri: &str| {
        warnings.iter().any(|w| w.message.contains(uri))
    };
    for uri in &odd {
        // A long but valid state needs no warning.
        let is_word = *uri == odd[1];
        assert!(
            is_word || told(&page.warnings, uri),
            "{uri}: {:?}",
            page.warnings
        );
    }
    let mut all = page.warnings.clone();
    let fields = PrFields::STATS | PrFields::COMMENTS | PrFields::COMMITS;
    for row in &page.items {
        let view = forge.view(&row.id, fields).await.unwrap();
        assert!(!view.warnings.is_empty(), "{view:?}");
        all.extend(view.warnings);
        let comments = forge_core::Reviews::comments(&forge, &row.id, PageReq::first(9));
        assert!(told(&comments.await.unwrap().warnings, &hostile[4]));
    }
    let mut query = IssueQuery::default();
    query.state = IssueFilter::All;
    let issues = forge.issues(&id, &query, PageReq::first(50)).await.unwrap();
    assert_eq!(issues.items.len(), 1);
    let view = forge
        .issue(&issues.items[0].id, &IssueFields::COMMENTS)
        .await
        .unwrap();
    assert!(told(&view.warnings, &issue), "{:?}", view.warnings);
    all.extend(issues.warnings);
    all.extend(view.warnings);
    let lost: Vec<_> = hostile.iter().filter(|uri| !told(&all, uri)).collect();
    assert!(lost.is_empty(), "{lost:#?} of {all:#?}");
}

#[tokio::test]
async fn hostile_issues_are_shown_or_reported() {
    const ISSUE: &str = "sh.tangled.repo.issue";
    let stage = Stage::new();
    let forge = stage.tangled(&stage.alice);
    let new = NewIssue::new("Good", "");
    let good = forge.create_issue(&stage.id(), &new).await.unwrap().value;
    let pds = stage.world.pds();
    let huge = "x".repeat(900_000);
    let did = &stage.repo.did;
    let subject = json!({"uri": good.node_id, "cid": 3});
    let mut hostile = Vec::new();
    for (collection, record) in [
        (ISSUE, json!({"repo": did, "title": 7})),
        (
            ISSUE,
            json!({"repo": did, "title": {"deep": [[[[]]]]}, "createdAt": {}}),
        ),
        (
            COMMENT,
            json!({"subject": subject, "body": 3, "replyTo": {"uri": {}}}),
        ),
        (
            COMMENT,
            json!({"subject": subject, "body": {"text": [huge]}}),
        ),
        (
            LABEL_OP,
            json!({"subject": good.node_id, "add": [null], "delete": []}),
        ),
        (
            "sh.tangled.repo.issue.state",
            json!({"issue": good.node_id, "state": null}),
        ),
        (
            "sh.tangled.repo.issue.state",
            json!({"issue": good.node_id, "state": [huge]}),
        ),
    ] {
        hostile.push(pds.add(&stage.alice.did, collection, record).0);
    }
    let mut query = IssueQuery::default();
    query.state = IssueFilter::All;
    for index_is_down in [false, true] {
        stage.world.index().host().set_down(index_is_down);
        let forge = stage.tangled(&stage.bob);
        let page = forge.issues(&stage.id(), &query, PageReq::first(50)).await;
        let page = page.unwrap();
        assert!(page.items.iter().any(|i| i.id == good.id));
        let view = forge.issue(&good.id, &IssueFields::COMMENTS);
        let view = view.await.unwrap();
        let told: Vec<String> = page
            .warnings
            .into_iter()
            .chain(view.warnings)
            .map(|w| w.message)
            .collect();
        let lost: Vec<_> = hostile
            .iter()
            .filter(|uri| !told.iter().any(|text| text.contains(*uri)))
            // Records missing from the index are not read while the index answers.
            .filter(|uri| index_is_down || stage.world.index().knows(uri).is_some())
            .collect();
        assert!(lost.is_empty(), "{lost:#?} of {told:#?}");
    }
}

/// A redirect to an address that is refused in DID documents is refused as well.
#[tokio::test]
async fn redirect_to_private_address_is_refused() {
    let stage = Stage::new();
    let host = stage.world.pds().host();
    let list = "com.atproto.repo.listRecords";
    let to = |root: &str| {
        let asked = "collection=org.tangled.repo.declaration&limit=100";
        let to = format!("{root}/xrpc/{list}?repo={}&{asked}", stage.alice.did);
        let sent = Fault::answer(302, &[("location", to.as_str())], "");
        host.fault(sent.on(list).about("org.tangled.repo.declaration"));
    };
    to("https://10.0.0.1");
    let forge = stage.tangled_with(stage.settings(), None);
    let e = forge.repo(&stage.id()).await.unwrap_err();
    assert_eq!(e.code(), "protocol", "{e:?}");
    assert!(
        e.message().contains("redirects to https://10.0.0.1"),
        "{e:?}"
    );
    let set = Action::new(Call::ConfigSet)
        .with(Param::Key, "hosts.tangled.org.private_addresses")
        .with(Param::Value, "true");
    assert_eq!(*action(&e), set);
    // The test allows this machine under its other name.
    to(&host.url().replace("localhost", "127.0.0.1"));
    forge.repo(&stage.id()).await.unwrap();
    assert_eq!(host.faults_left(), 0);
}
