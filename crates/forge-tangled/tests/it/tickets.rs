//! Reading and writing tickets of Tangled 1.0 in the account of the repository.

use forge_core::{
    Action, Labels, Op, PageReq, Param, PrId, PrKey, PullRequests, RepoId, RepoPath, Repos,
    Reviews, Warning,
    model::{
        CreatePull, EditPull, NewReview, Permission, PrFields, PrState, PullQuery, Resubmit,
        ReviewState, SetChange, StateFilter, Verdict,
    },
};
use forge_tangled::TangledSettings;
use forge_tangled_world::{Audience, Fault, KnotOptions, PdsOptions, World};
use serde_json::{Value, json};

use crate::stage::{Stage, action};

const TICKET: &str = "org.tangled.track.ticket";

#[tokio::test]
async fn pull_requests_rounds_comments_and_labels_are_read() {
    let stage = Stage::new();
    let repo = stage.world.repository_1_0(&stage.alice, "new");
    let base = repo.git.oid("main").unwrap();
    let first = repo.git.commit("topic", "Add a", &[("a", Some("1\n"))]);
    let second = repo.git.commit("topic", "Add b", &[("b", Some("1\n2\n"))]);
    let knot = stage.world.knot();
    let put = |collection: &str, rkey: &str, value: Value| {
        knot.put_record(&repo.did, &format!("org.tangled.{collection}"), rkey, value)
    };
    let ticket = |title: &str, state: &str, branch: Option<&str>| {
        let mut value = json!({
            "title": {"$type": "org.tangled.markup.markdown#inline", "text": title},
            "body": {"$type": "org.tangled.markup.markdown", "text": "Why"},
            "state": state,
            "tangledLabels": [{"key": "bug"}],
            "createdAt": "2026-11-01T00:00:00Z",
            "x-tngl-editor": stage.alice.did,
        });
        if let Some(branch) = branch {
            value["targetBranch"] = json!(branch);
        }
        value
    };
    let (uri, cid) = put(
        "track.ticket",
        "3mkuuamwfj322",
        ticket("One", "open", Some("main")),
    );
    put(
        "track.ticket",
        "3mkuuamwfj323",
        ticket("Issue", "open", None),
    );
    put(
        "track.ticket",
        "3mkuuamwfj324",
        ticket("Done", "completed", Some("main")),
    );
    for (n, head) in [(1, &first), (2, &second)] {
        let patch = json!({
            "ticket": "3mkuuamwfj322", "base": {"oid": base}, "head": {"oid": head},
            "source": {"repo": repo.did, "branch": "topic"},
            "createdAt": format!("2026-11-0{n}T00:00:00Z"),
            "x-tngl-editor": stage.bob.did,
        });
        put("review.patch", &format!("patch{n}"), patch);
    }
    let comment = json!({
        "subject": {"$type": "com.atproto.repo.strongRef", "uri": uri, "cid": cid},
        "body": {"$type": "org.tangled.markup.markdown", "text": "Nice"},
        "createdAt": "2026-11-03T00:00:00Z", "x-tngl-editor": stage.bob.did,
    });
    put("feed.comment", "3mkuuamwfj325", comment);

    let id = stage.id_of(&repo);
    let forge = stage.tangled(&stage.alice);
    let list = |state| {
        let mut query = PullQuery::default();
        query.state = state;
        let (forge, id) = (&forge, &id);
        async move { forge.list(id, &query, PageReq::first(30)).await.unwrap() }
    };
    let open = list(StateFilter::Open).await;
    assert_eq!((open.items.len(), open.scanned), (1, Some(2)));
    assert_eq!(open.total, Some(1));
    let mut query = PullQuery::default();
    query.assignee = Some("bob.test".into());
    let assigned = forge.list(&id, &query, PageReq::first(9)).await.unwrap();
    assert!(assigned.items.is_empty());
    assert!(assigned.warnings[0].message.contains("'assignees'"));
    for (search, titles) in [
        ("ONE label:BUG author:Bob.test", &["One"][..]),
        ("one author:@me", &[][..]),
        ("done is:closed", &["Done"][..]),
        ("nothing is:closed", &[][..]),
    ] {
        let mut query = PullQuery::default();
        query.search = Some(search.into());
        let page = forge.list(&id, &query, PageReq::first(9)).await.unwrap();
        let found: Vec<&str> = page.items.iter().map(|pr| pr.title.as_str()).collect();
        assert_eq!(found, titles, "{search}");
    }
    let source = open.source.as_deref().unwrap_or_default();
    assert!(source.starts_with("the knot "), "{source}");
    let closed = list(StateFilter::Closed).await;
    assert_eq!(closed.items[0].title, "Done");
    assert!(
        closed.warnings[0].message.contains("completed"),
        "{:?}",
        closed.warnings
    );

    let pr = PrId {
        repo: id.clone(),
        key: PrKey::Record(uri.clone()),
    };
    let fields = PrFields::COMMENTS | PrFields::COMMITS | PrFields::STATS | PrFields::CHECKS;
    let view = forge.view(&pr, fields).await.unwrap();
    let of_checks = |w: &forge_core::Warning| w.section == Some("checks");
    assert!(view.warnings.iter().all(of_checks), "{:?}", view.warnings);
    assert!(view.checks.is_none());
    assert_eq!(
        (view.title.as_str(), view.description.as_str()),
        ("One", "Why")
    );
    assert_eq!(
        (view.state, view.author.login.as_str()),
        (PrState::Open, "bob.test")
    );
    assert_eq!(view.head_oid.as_deref(), Some(second.as_str()));
    assert_eq!(
        (view.head_branch.as_str(), view.base_branch.as_str()),
        ("topic", "main")
    );
    assert_eq!(view.labels[0].name, "bug");
    assert_eq!(view.commits.map(|c| c.len()), Some(2));
    assert_eq!((view.changed_files, view.additions), (Some(2), Some(3)));
    let comments = view.comments.unwrap();
    assert_eq!(
        (comments[0].body.as_str(), comments[0].author.login.as_str()),
        ("Nice", "bob.test")
    );

    let history = forge.history(&pr, PageReq::first(10)).await.unwrap();
    assert_eq!(history.items.len(), 2, "opened, and another round");
    assert!(!history.warnings.is_empty());
    let round = forge.round(&pr, 0).await.unwrap();
    assert!(String::from_utf8(round).unwrap().contains("Add a"));
    let found = forge
        .pull_of_record(&forge_core::AtUri::parse(&uri).unwrap())
        .await
        .unwrap();
    assert_eq!(found.key, pr.key);
    // The same reads work without the index.
    stage.world.index().host().set_down(true);
    assert!(stage.tangled(&stage.bob).view(&pr, fields).await.is_ok());
}

/// The manifest names the owner; its keys are not documented.
#[tokio::test]
async fn manifest_without_owner_is_a_warning() {
    let stage = Stage::new();
    let repo = stage.world.repository_1_0(&stage.alice, "new");
    repo.git.commit("topic", "Add a", &[("a", Some("1\n"))]);
    let id = RepoId {
        path: RepoPath::Named {
            owner: "alice.test".to_owned(),
            name: "new".to_owned(),
        },
        ..stage.id()
    };
    let forge = stage.tangled(&stage.alice);
    let made = forge.create(&id, &CreatePull::new("topic", "One")).await;
    let pr = made.unwrap().value.id;
    for (manifest, doubted) in [
        (json!({ "owner": stage.alice.did, "name": "new" }), false),
        (json!({ "owner": "somebody", "name": "new" }), true),
        (json!({ "title": "new" }), true),
    ] {
        let kind = "org.tangled.repo.manifest";
        let knot = stage.world.knot();
        knot.put_record(&repo.did, kind, "self", manifest.clone());
        let forge = stage.tangled(&stage.alice);
        let query = PullQuery::default();
        let page = forge.list(&id, &query, PageReq::first(9)).await.unwrap();
        let view = forge.view(&pr, PrFields::NONE).await.unwrap();
        for warnings in [&page.warnings, &view.warnings] {
            let told = warnings
                .iter()
                .filter(|w| w.message.contains("only the declaration says"));
            assert_eq!(told.count(), usize::from(doubted), "{manifest}");
        }
        let comments = || knot.records(&repo.did, "org.tangled.feed.comment").len();
        let before = comments();
        let said = forge.comment(&pr, "So?", None).await;
        assert_eq!(said.is_ok(), !doubted, "{manifest}: {said:?}");
        let mut title = EditPull::default();
        title.title = Some(format!("{manifest}"));
        let edited = forge.edit(&pr, &title).await;
        assert_eq!(edited.is_ok(), !doubted, "{manifest}: {edited:?}");
        if let Err(e) = edited {
            assert!(e.message().contains("nothing was written"), "{e:?}");
            assert!(e.hint().unwrap().text().contains("manifest_owner"));
            assert_eq!(comments(), before);
        }
    }
}

/// A knot's answer about a range of commits applies to a single repository.
#[tokio::test]
async fn patch_of_other_repository_is_not_shown() {
    let stage = Stage::new();
    let (repo, id) = stage.repo_1_0();
    let other = stage.world.repository_1_0(&stage.alice, "other");
    repo.git.commit("topic", "Add a", &[("a", Some("1\n"))]);
    let forge = stage.tangled(&stage.alice);
    let made = forge.create(&id, &CreatePull::new("topic", "One")).await;
    let made = made.unwrap().value;
    let knot = stage.world.knot();
    for kind in [TICKET, "org.tangled.review.patch"] {
        for (uri, _, value) in knot.records(&repo.did, kind) {
            let rkey = uri.rsplit('/').next().unwrap();
            let text = value.to_string().replace(&repo.did, &other.did);
            let value = serde_json::from_str(&text).unwrap();
            knot.put_record(&other.did, kind, rkey, value);
        }
    }
    let theirs = PrId {
        repo: stage.id_of(&other),
        key: PrKey::Record(made.node_id.replace(&repo.did, &other.did)),
    };
    let lie = "diff --git a/lie b/lie\nnew file mode 100644\n--- /dev/null\n+++ b/lie\n\
        @@ -0,0 +1 @@\n+lie\n";
    let plain = [("content-type", "text/plain")];
    let format_patch = Fault::answer(200, &plain, lie).on("org.tangled.temp.git.formatPatch");
    let encoded = other.did.replace(':', "%3A");
    knot.host().fault(format_patch.about(&encoded).always());
    let forge = stage.tangled(&stage.bob);
    let mut files = Vec::new();
    for pr in [&theirs, &made.id] {
        let page = forge.files(pr, PageReq::first(9)).await.unwrap();
        files.extend(page.items.into_iter().map(|file| file.path));
    }
    assert_eq!(files, ["lie", "a"]);
}

/// Checks that the result is unchanged, and that the warning "experimental" follows the reason.
#[track_caller]
fn is_experimental(unchanged: bool, warnings: &[Warning]) {
    let told = warnings.iter().skip(1);
    let told = told.filter(|w| w.message.contains("experimental"));
    assert!(unchanged && told.count() == 1, "{warnings:?}");
}

/// Returns true if a warning calls this name a guess.
fn guessed(warnings: &[Warning], name: &str) -> bool {
    let told = format!("'{name}', which is a guess");
    warnings.iter().any(|w| w.message.contains(&told))
}

/// Writes to a repository of 1.0, on knots that require either audience.
#[tokio::test]
async fn ticket_lifecycle_works_with_either_audience() {
    for (audience, configured) in [
        (Audience::Host, forge_tangled::Audience::Knot),
        (Audience::Repository, forge_tangled::Audience::Repository),
    ] {
        let options = KnotOptions {
            audience,
            ..KnotOptions::default()
        };
        let stage = Stage::of(World::with(PdsOptions::default(), options).unwrap());
        let repo = stage.world.repository_1_0(&stage.alice, "new");
        stage.world.knot().add_collaborator(&repo, &stage.bob.did);
        let id = stage.id_of(&repo);
        let mut settings = stage.settings();
        settings.dialects.audience = configured;
        let as_account = |account| stage.tangled_with(settings.clone(), Some(account));
        let forge = as_account(&stage.alice);
        repo.git.commit("topic", "Add a", &[("a", Some("1\n"))]);
        let mut req = CreatePull::new("topic", "One");
        req.description = "Why".into();
        let made = forge.create(&id, &req).await.unwrap();
        assert_eq!(made.ingestion.word(), "immediate");
        assert!(made.warnings[0].message.contains("experimental"));
        assert!(guessed(&made.warnings, "repo"), "{:?}", made.warnings);
        let pr = made.value.id.clone();
        assert_eq!(
            (made.value.title.as_str(), made.value.author.login.as_str()),
            ("One", "alice.test")
        );
        assert_eq!(made.value.head_oid, repo.git.oid("topic"));
        let twin = forge.create(&id, &req).await.unwrap_err();
        assert_eq!(twin.code(), "already_exists");
        assert_eq!(stage.world.knot().records(&repo.did, TICKET).len(), 1);

        let said = as_account(&stage.bob)
            .comment(&pr, "Nice", None)
            .await
            .unwrap();
        assert_eq!(said.value.author.login, "bob.test");
        let subject = &said.warnings[1].message;
        assert!(
            subject.contains("refers to the pull request's ticket"),
            "{:?}",
            said.warnings
        );
        let head = repo.git.commit("topic", "Add b", &[("b", Some("1\n"))]);
        let round = forge.resubmit(&pr, &Resubmit::default()).await.unwrap();
        assert_eq!(round.value.head_oid.as_deref(), Some(head.as_str()));
        assert!(guessed(&round.warnings, "repo"), "{:?}", round.warnings);
        let mut same = Resubmit::default();
        same.comment = Some("Here.".into());
        for is_said in [false, true] {
            // The second time, the comment already exists.
            let same = forge.resubmit(&pr, &same).await.unwrap();
            is_experimental(same.already, &same.warnings);
            assert_eq!(same.unchanged, is_said, "{same:?}");
        }
        let nothing = forge.edit(&pr, &EditPull::default()).await.unwrap();
        is_experimental(nothing.unchanged, &nothing.warnings);

        let mut edit = EditPull::default();
        edit.title = Some("Two".into());
        assert_eq!(forge.edit(&pr, &edit).await.unwrap().value.title, "Two");
        let mut stale = EditPull::default();
        stale.title = Some("Three".into());
        stale.expected_version = Some(made.value.version);
        assert_eq!(
            forge.edit(&pr, &stale).await.unwrap_err().code(),
            "conflict"
        );
        let closed = forge.close(&pr, &Default::default()).await.unwrap();
        assert_eq!(closed.value.state, PrState::Closed);
        assert!(guessed(&closed.warnings, "closed"), "{:?}", closed.warnings);
        let again = forge.close(&pr, &Default::default()).await.unwrap();
        is_experimental(again.unchanged, &again.warnings);
        let open = forge.reopen(&pr, Some("Again")).await.unwrap();
        assert_eq!(
            (open.value.state, open.value.comments_count),
            (PrState::Open, 3)
        );
        assert!(!guessed(&open.warnings, "open"), "{:?}", open.warnings);
        let again = forge.reopen(&pr, Some("Again")).await.unwrap();
        is_experimental(again.unchanged, &again.warnings);
        assert!(
            stage
                .world
                .pds()
                .records(&stage.alice.did, "sh.tangled.repo.pull")
                .is_empty()
        );
    }
}

#[tokio::test]
async fn spelling_of_state_and_labels_follows_existing_tickets() {
    let stage = Stage::new();
    let (repo, id) = stage.repo_1_0();
    let old = json!({
        "title": {"text": "Old"}, "state": "completed", "targetBranch": "main",
        "tangledLabels": [{"key": "bug"}, {"key": "priority", "value": "high", "more": 1}],
        "createdAt": "2026-11-01T00:00:00Z",
    });
    stage
        .world
        .knot()
        .put_record(&repo.did, TICKET, "3mkuuamwfj322", old);
    repo.git.commit("topic", "Add a", &[("a", Some("1\n"))]);
    let forge = stage.tangled(&stage.alice);
    let mut req = CreatePull::new("topic", "One");
    req.labels = vec!["docs".into()];
    let e = forge.create(&id, &req).await.unwrap_err();
    assert!(e.message().contains("'docs'"), "{e:?}");
    req.labels = vec!["BUG".into(), "priority:high".into()];
    let made = forge.create(&id, &req).await.unwrap().value;
    assert_eq!(made.labels[0].name, "bug");
    assert_eq!(made.labels[1].name, "priority:high");
    let mut there = EditPull::default();
    there.labels = SetChange {
        add: vec!["priority:high".into()],
        remove: vec!["none".into()],
    };
    let same = forge.edit(&made.id, &there).await.unwrap();
    is_experimental(same.unchanged, &same.warnings);
    let listed = forge.labels(&id, PageReq::first(9)).await.unwrap();
    let rows = listed.items.into_iter();
    let rows: Vec<_> = rows.map(|l| (l.name, l.description.unwrap())).collect();
    let counted = |name: &str| (name.to_owned(), "seen on 2 tickets".to_owned());
    let counted = ["bug", "priority:high"].map(counted);
    assert_eq!(rows, counted);
    let told = &listed.warnings[0].message;
    assert!(told.contains("it is unknown how"), "{told}");
    let closed = forge.close(&made.id, &Default::default()).await.unwrap();
    assert_eq!(closed.value.state, PrState::Closed);
    let told = closed.warnings.iter().any(|w| {
        let message = &w.message;
        message.contains("'completed'") && !message.contains("guess")
    });
    assert!(told, "{:?}", closed.warnings);
    let rkey = made.node_id.rsplit('/').next().unwrap();
    let records = stage.world.knot().records(&repo.did, TICKET);
    let ours = records
        .iter()
        .find(|(uri, ..)| uri.ends_with(rkey))
        .unwrap();
    assert_eq!(ours.2["state"], "completed");
    let high = json!({"key": "priority", "value": "high"});
    assert_eq!(ours.2["tangledLabels"][1], high, "as it is spelled there");
}

#[tokio::test]
async fn lost_knot_answers_neither_fail_nor_repeat() {
    for method in [
        "com.atproto.repo.createRecord",
        "org.tangled.review.submitPatch",
    ] {
        let stage = Stage::new();
        let (repo, id) = stage.repo_1_0();
        repo.git.commit("topic", "Add a", &[("a", Some("1\n"))]);
        let knot = stage.world.knot();
        knot.host().fault(Fault::reset().committed().on(method));
        let forge = stage.tangled(&stage.alice);
        forge
            .create(&id, &CreatePull::new("topic", "One"))
            .await
            .unwrap();
        assert_eq!(knot.records(&repo.did, TICKET).len(), 1, "{method}");
        assert_eq!(
            knot.records(&repo.did, "org.tangled.review.patch").len(),
            1,
            "{method}"
        );
    }
}

#[tokio::test]
async fn ticket_with_refused_patch_is_deleted() {
    let stage = Stage::new();
    let (repo, id) = stage.repo_1_0();
    repo.git.commit("topic", "Add a", &[("a", Some("1\n"))]);
    let refusal = Fault::error(400, "InvalidRequest", "no").on("org.tangled.review.submitPatch");
    stage.world.knot().host().fault(refusal);
    let forge = stage.tangled(&stage.alice);
    let req = CreatePull::new("topic", "One");
    let e = forge.create(&id, &req).await.unwrap_err();
    // The guessed spelling may be the reason.
    assert!(
        e.hint()
            .unwrap()
            .text()
            .contains("'repo', which is a guess")
    );
    assert!(stage.world.knot().records(&repo.did, TICKET).is_empty());
}

#[tokio::test]
async fn ticket_review_is_a_comment_without_verdict() {
    let stage = Stage::new();
    let (repo, id) = stage.repo_1_0();
    let head = repo.git.commit("topic", "Add a", &[("a", Some("1\n"))]);
    let settings = TangledSettings {
        verdict_comments: true,
        ..stage.settings()
    };
    let forge = stage.tangled_with(settings, Some(&stage.alice));
    let made = forge.create(&id, &CreatePull::new("topic", "One")).await;
    let pr = made.unwrap().value.id;
    let remark = NewReview::new(Verdict::Comment, "Nice.");
    let stale = remark.clone().with_expected_head("0".repeat(40));
    let prefix = remark.clone().with_expected_head(&head[..39]);
    let e = forge.submit_review(&pr, &prefix).await.unwrap_err();
    assert_eq!(e.code(), "invalid_input", "{e:?}");
    let approval = NewReview::new(Verdict::Approve, "Good.");
    for (review, code) in [(&stale, "conflict"), (&approval, "unsupported")] {
        let e = forge.submit_review(&pr, review).await.unwrap_err();
        assert_eq!(e.code(), code, "{e:?}");
        if code == "unsupported" {
            let comment = Action::op(Op::Comment).on(&pr.key);
            assert_eq!(*action(&e), comment.with(Param::Body, "Good."));
        }
    }
    let given = forge.submit_review(&pr, &remark).await.unwrap();
    assert!(given.warnings[0].message.contains("experimental"));
    assert_eq!(given.value.state, ReviewState::Commented);
    assert_eq!(given.value.commit, Some(head));
    let knot = stage.world.knot();
    let said = knot.records(&repo.did, "org.tangled.feed.comment");
    assert_eq!(said.len(), 1);
    assert_eq!(said[0].2["body"]["text"], "Nice.");
}

#[tokio::test]
async fn owner_and_collaborators_come_from_repository_account() {
    let stage = Stage::new();
    let (repo, id) = stage.repo_1_0();
    let knot = stage.world.knot();
    let info = stage.tangled(&stage.bob).repo(&id).await.unwrap();
    assert_eq!(info.permission, Permission::Read);
    let invited = "org.tangled.graph.collaborator";
    let since = json!({ "createdAt": "2026-11-01T00:00:00Z" });
    knot.put_record(&repo.did, invited, &stage.bob.did, since);
    let info = stage.tangled(&stage.bob).repo(&id).await.unwrap();
    assert_eq!(info.permission, Permission::Write);
    assert!(info.warnings.is_empty(), "{:?}", info.warnings);
    // A later refusal then mentions the unread collaborators.
    let down = Fault::gateway(503).on("com.atproto.repo.listRecords");
    knot.host().fault(down.about(invited).always());
    let info = stage.tangled(&stage.bob).repo(&id).await.unwrap();
    assert_eq!(info.permission, Permission::Read);
    let told = info.warnings.iter().map(|w| w.message.as_str());
    let told: Vec<_> = told.filter(|it| it.contains("could not be read")).collect();
    assert_eq!(told.len(), 1, "{:?}", info.warnings);
    for host in [knot.host(), stage.world.index().host()] {
        let requests = host.requests();
        let older = requests.iter().filter_map(|it| it.method());
        let older: Vec<_> = older.filter(|it| it.starts_with("sh.tangled.")).collect();
        assert!(older.is_empty(), "{older:?}");
    }
}
