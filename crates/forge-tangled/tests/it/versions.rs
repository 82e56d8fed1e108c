//! Pull requests whose record has versions: pairs of commits on the knot, instead of patches.

use forge_core::{
    AtUri, Checks, PageReq, PrId, PullRequests, Reviews,
    model::{
        CheckStatus, Diff, DiffReq, MergeReq, MergeState, NewReview, PrFields, PullQuery,
        PullRequest, Resubmit, ReviewState, Rounds, Verdict,
    },
};
use forge_tangled::{Tangled, TangledSettings};
use forge_tangled_world::{Account, Fault, SpindleDouble};
use futures::TryStreamExt as _;
use serde_json::{Value, json};

use crate::stage::Stage;

const PULL: &str = "sh.tangled.repo.pull";
const COMMENT: &str = "sh.tangled.feed.comment";
const COMPARE: &str = "sh.tangled.repo.compare";
const MERGE: &str = "sh.tangled.repo.merge";

/// A pull request of Alice with two commits, whose record has a version instead of its round.
struct Ground {
    stage: Stage,
    pull: PullRequest,
    base: String,
    head: String,
    /// The packed patch of the round that the version replaces.
    packed: Vec<u8>,
}

impl Ground {
    async fn new() -> Self {
        let stage = Stage::new();
        let git = &stage.repo.git;
        let base = git.oid("main").unwrap();
        let pull = stage.open(&stage.handle(&stage.alice), "topic").await;
        let head = git.commit("topic", "Last", &[("topic.txt", Some("2\n"))]);
        let pds = stage.world.pds();
        let (_, record) = pds.record(&pull.node_id).unwrap();
        let cid = record["rounds"][0]["patchBlob"]["ref"]["$link"].as_str();
        let packed = pds.blob_bytes(&stage.alice.did, cid.unwrap()).unwrap();
        let ground = Self {
            stage,
            pull,
            base,
            head,
            packed,
        };
        let version = ground.version(&ground.base, &ground.head);
        ground.put(json!([]), json!([version]));
        ground
    }

    fn version(&self, base: &str, head: &str) -> Value {
        json!({ "base": base, "head": head, "createdAt": "2026-09-30T11:59:19.791Z" })
    }

    fn record(&self) -> Value {
        let (_, record) = self.stage.world.pds().record(&self.pull.node_id).unwrap();
        record
    }

    fn put(&self, rounds: Value, versions: Value) {
        let mut record = self.record();
        record["rounds"] = rounds;
        record["versions"] = versions;
        let uri = AtUri::parse(&self.pull.node_id).unwrap();
        let pds = self.stage.world.pds();
        pds.put(&uri.authority, PULL, &uri.rkey, record);
    }

    /// Returns a client that writes and reads verdicts.
    fn forge(&self, account: &Account) -> Tangled {
        let settings = TangledSettings {
            verdict_comments: true,
            ..self.stage.settings()
        };
        self.stage.tangled_with(settings, Some(account))
    }

    fn id(&self) -> &PrId {
        &self.pull.id
    }

    /// Has the knot know no commit of a comparison, and the index show another change instead.
    fn show_by_index_alone(&self) {
        let world = &self.stage.world;
        let missing = Fault::error(404, "RevisionNotFound", "failed to resolve revision");
        world.knot().host().fault(missing.on(COMPARE).always());
        let patch = format!(
            "From {} Mon Sep 17 00:00:00 2001\nFrom: A <a@example.com>\nDate: Fri, 2 Oct 2026 \
             10:00:00 +0000\nSubject: [PATCH] Claimed\n\n---\ndiff --git a/claimed b/claimed\nnew \
             file mode 100644\nindex 0000000..ce01362\n--- /dev/null\n+++ b/claimed\n@@ -0,0 +1 \
             @@\n+hello\n-- \n2.43.0\n",
            self.head
        );
        let answer = json!({ "patch": patch, "merge_base": self.base, "combined_patch_raw": null });
        let kind = [("content-type", "application/json")];
        let answer = Fault::answer(200, &kind, answer.to_string());
        world.index().host().fault(answer.on(COMPARE).always());
    }
}

fn told(warnings: &[forge_core::Warning], part: &str) -> usize {
    let told = warnings.iter().filter(|it| it.message.contains(part));
    told.count()
}

async fn body(diff: Diff) -> String {
    let parts: Vec<Vec<u8>> = diff.body.try_collect().await.unwrap();
    String::from_utf8(parts.concat()).unwrap()
}

#[tokio::test]
async fn version_is_read_from_the_knot() {
    let ground = Ground::new().await;
    let forge = ground.forge(&ground.stage.bob);
    let knot = ground.stage.world.knot().host();
    knot.reset_record();
    let fields = PrFields::COMMITS | PrFields::STATS | PrFields::FILES | PrFields::MERGEABILITY;
    let view = forge.view(ground.id(), fields).await.unwrap();
    assert_eq!(view.rounds, Some(1));
    assert_eq!(view.head_oid.as_ref(), Some(&ground.head));
    assert_eq!(view.base_oid.as_ref(), Some(&ground.base));
    assert_eq!(
        (view.head_patch.as_ref(), view.head_id()),
        (None, Some(&*ground.head))
    );
    assert_eq!((view.additions, view.deletions), (Some(1), Some(0)));
    assert_eq!(view.files.unwrap()[0].path, "topic.txt");
    let commits = view.commits.unwrap();
    assert_eq!(commits.last().unwrap().oid, ground.head);
    assert_eq!(commits.len(), 2);
    let mergeability = view.mergeability.unwrap();
    assert_eq!(mergeability.head_oid, ground.head);
    let word = (mergeability.state, mergeability.status.as_str());
    assert_eq!(word, (MergeState::Mergeable, "BLOCKED"));
    assert_eq!(told(&view.warnings, "forge does not merge it"), 1);
    assert_eq!(told(&view.warnings, "not proved"), 0, "{:?}", view.warnings);
    let commits = format!("rev1={}&rev2={}", ground.base, ground.head);
    let requests = knot.requests().into_iter();
    let compared: Vec<_> = requests.filter(|it| it.method() == Some(COMPARE)).collect();
    assert_eq!(compared.len(), 1);
    assert!(compared[0].query.contains(&commits), "{:?}", compared[0]);

    let diff = forge.diff(ground.id(), &DiffReq::default()).await.unwrap();
    assert_eq!(diff.head_oid, ground.head);
    assert_eq!(diff.base_oid.as_ref(), Some(&ground.base));
    assert!(diff.warnings.is_empty(), "{:?}", diff.warnings);
    assert!(body(diff).await.ends_with("+2\n"));
    let files = forge.files(ground.id(), PageReq::first(9)).await.unwrap();
    assert_eq!(files.items.len(), 1);
    let commits = forge.commits(ground.id(), PageReq::first(9)).await;
    assert_eq!(commits.unwrap().items.len(), 2);
    let patch = forge.round(ground.id(), 0).await.unwrap();
    assert!(String::from_utf8_lossy(&patch).contains("Subject: [PATCH] Last"));
    assert_eq!(ground.stage.world.index().host().count_of(COMPARE), 0);
}

#[tokio::test]
async fn diff_names_the_base_of_its_version() {
    let ground = Ground::new().await;
    let first = ground.stage.repo.git.oid("topic~1").unwrap();
    let old = ground.version(&ground.base, &first);
    ground.put(
        json!([]),
        json!([old, ground.version(&first, &ground.head)]),
    );
    let forge = ground.forge(&ground.stage.bob);
    let view = forge.view(ground.id(), PrFields::NONE).await.unwrap();
    assert_eq!(view.base_oid.as_ref(), Some(&first));
    let (mut oldest, mut since) = (DiffReq::default(), DiffReq::default());
    oldest.rounds = Some(Rounds::new(Some(0), None));
    since.rounds = Some(Rounds::new(None, Some(0)));
    for (req, base) in [(oldest, &ground.base), (since, &first)] {
        let diff = forge.diff(ground.id(), &req).await.unwrap();
        assert_eq!(diff.base_oid.as_ref(), Some(base));
    }
    let rows = forge
        .list(
            ground.stage.repo_id(),
            &PullQuery::default(),
            PageReq::first(9),
        )
        .await
        .unwrap();
    assert_eq!(rows.items[0].base_oid.as_ref(), Some(&first));
}

#[tokio::test]
async fn checks_of_version_need_no_patch() {
    let ground = Ground::new().await;
    let spindle = SpindleDouble::start().unwrap();
    let (pds, did) = (ground.stage.world.pds(), &ground.stage.alice.did);
    let uri = format!("at://{did}/sh.tangled.repo/widget");
    let (_, mut repo) = pds.record(&uri).unwrap();
    repo["spindle"] = json!(spindle.host().authority());
    pds.put(did, "sh.tangled.repo", "widget", repo);
    let run = [("build.yml", "failed")];
    spindle.run(&ground.stage.repo.did, &ground.head, "push", &run);
    ground.show_by_index_alone();
    let forge = ground.forge(&ground.stage.bob);
    let report = forge.checks(ground.id()).await.unwrap();
    assert_eq!(report.commit, ground.head);
    assert_eq!(report.checks[0].status, CheckStatus::Failure);
    let view = forge.view(ground.id(), PrFields::CHECKS).await.unwrap();
    assert_eq!(view.checks.unwrap().checks.len(), 1);
}

#[tokio::test]
async fn version_that_only_index_shows_decides_nothing() {
    let ground = Ground::new().await;
    ground.show_by_index_alone();
    let forge = ground.forge(&ground.stage.bob);
    let fields = PrFields::COMMITS | PrFields::STATS | PrFields::MERGEABILITY;
    let view = forge.view(ground.id(), fields).await.unwrap();
    assert_eq!(view.head_oid.as_ref(), Some(&ground.head));
    assert_eq!(view.commits.unwrap()[0].message_headline, "Claimed");
    assert!(view.mergeability.is_none());
    assert_eq!(
        told(
            &view.warnings,
            "the changes of this round are not proved: the index at"
        ),
        1
    );
    assert_eq!(
        told(&view.warnings, "whether it can be merged"),
        1,
        "{:?}",
        view.warnings
    );
    let diff = forge.diff(ground.id(), &DiffReq::default()).await.unwrap();
    assert_eq!(told(&diff.warnings, "failed to resolve revision"), 1);
    assert!(body(diff).await.contains("b/claimed"));
    let commits = forge.commits(ground.id(), PageReq::first(9)).await.unwrap();
    assert_eq!(told(&commits.warnings, "are not proved"), 1);

    let e = forge.mergeability(ground.id()).await.unwrap_err();
    assert!(e.message().contains("failed to resolve revision"), "{e:?}");
    let e = forge.round(ground.id(), 0).await.unwrap_err();
    assert!(e.message().contains("are not proved"), "{e:?}");
    for verdict in [Verdict::Approve, Verdict::RequestChanges, Verdict::Comment] {
        let review = NewReview::new(verdict, "Fine.");
        let e = forge.submit_review(ground.id(), &review).await.unwrap_err();
        assert!(e.message().contains("failed to resolve revision"), "{e:?}");
    }
    let pds = ground.stage.world.pds();
    assert!(pds.records(&ground.stage.bob.did, COMMENT).is_empty());
}

#[tokio::test]
async fn unread_version_has_a_recovery() {
    let ground = Ground::new().await;
    let world = &ground.stage.world;
    let missing = || Fault::error(404, "RevisionNotFound", "failed to resolve revision");
    world.knot().host().fault(missing().on(COMPARE).always());
    world.index().host().fault(missing().on(COMPARE).always());
    let forge = ground.forge(&ground.stage.bob);
    let read = forge.diff(ground.id(), &DiffReq::default()).await;
    let e = read.unwrap_err();
    assert!(e.message().contains("failed to resolve revision"), "{e:?}");
    let hint = e.hint().unwrap().to_string();
    assert!(hint.contains("fetch the head branch with git"), "{hint}");
    let e = forge.mergeability(ground.id()).await.unwrap_err();
    assert!(e.hint().is_some(), "{e:?}");
}

/// A comparison leaves merge commits out, and begins at the merge base.
#[tokio::test]
async fn comparison_of_other_commits_than_the_version_is_doubted() {
    let ground = Ground::new().await;
    let git = &ground.stage.repo.git;
    let side = git.commit("side", "Side", &[("s", Some("1\n"))]);
    let commit = [
        "commit-tree",
        "topic^{tree}",
        "-p",
        &ground.head,
        "-p",
        &side,
        "-m",
        "Merge",
    ];
    let merge = git.run(commit).text().trim().to_owned();
    git.set_branch("merged", &merge);
    let forge = ground.forge(&ground.stage.bob);
    for (base, head, why) in [
        (&ground.base, &merge, "leaves merge commits out"),
        (&side, &ground.head, "is not below its head"),
    ] {
        ground.put(json!([]), json!([ground.version(base, head)]));
        let diff = forge.diff(ground.id(), &DiffReq::default()).await.unwrap();
        // Where the changes begin is not proved either.
        assert_eq!(
            (diff.head_oid.as_str(), &diff.base_oid),
            (head.as_str(), &None)
        );
        assert_eq!(told(&diff.warnings, why), 1, "{:?}", diff.warnings);
        let e = forge.mergeability(ground.id()).await.unwrap_err();
        assert!(e.message().contains(why), "{e:?}");
    }
    // An answer without a patch is not an empty change.
    ground.put(
        json!([]),
        json!([ground.version(&ground.base, &ground.head)]),
    );
    let kind = [("content-type", "application/json")];
    let empty = Fault::answer(200, &kind, json!({ "patch": null }).to_string());
    let knot = ground.stage.world.knot().host();
    knot.fault(empty.on(COMPARE).always());
    let forge = ground.forge(&ground.stage.bob);
    let e = forge.diff(ground.id(), &DiffReq::default()).await.err();
    assert!(e.unwrap().message().contains("has no patch"));
}

#[tokio::test]
async fn merge_and_resubmit_of_version_are_refused() {
    let ground = Ground::new().await;
    let git = &ground.stage.repo.git;
    let first = git.oid("topic~1").unwrap();
    let (pds, did) = (ground.stage.world.pds(), &ground.stage.alice.did);
    let blob = pds.blob(did, "application/gzip", &ground.packed);
    let round = json!({ "createdAt": "2026-09-30T11:59:19.791Z", "patchBlob": blob });
    let rounds = json!([round]);
    let forge = ground.forge(&ground.stage.alice);
    for (rounds, versions) in [
        (
            json!([]),
            json!([ground.version(&ground.base, &ground.head)]),
        ),
        // The round and the version are the same commit.
        (rounds, json!([ground.version(&ground.base, &first)])),
    ] {
        ground.put(rounds, versions);
        let before = ground.record();
        let e = forge.merge(ground.id(), &MergeReq::default()).await;
        let e = e.unwrap_err();
        assert_eq!(e.code(), "unsupported", "{e:?}");
        assert!(
            e.message().contains("no method of a knot is known"),
            "{e:?}"
        );
        let e = forge.resubmit(ground.id(), &Resubmit::default()).await;
        let e = e.unwrap_err();
        assert_eq!(e.code(), "unsupported", "{e:?}");
        assert!(
            e.message().contains("no method of a knot is known"),
            "{e:?}"
        );
        assert_eq!(ground.record(), before);
    }
    assert_eq!(ground.stage.world.knot().host().count_of(MERGE), 0);
    let statuses = "sh.tangled.repo.pull.status";
    assert!(pds.records(&ground.stage.bob.did, statuses).is_empty());
}

#[tokio::test]
async fn verdict_on_version_names_both_commits() {
    let ground = Ground::new().await;
    let (alice, bob) = (&ground.stage.alice, &ground.stage.bob);
    let forge = ground.forge(bob);
    let mut review = NewReview::new(Verdict::Approve, "");
    review.expected_head = Some(ground.base.clone());
    let e = forge.submit_review(ground.id(), &review).await.unwrap_err();
    assert_eq!(e.code(), "conflict", "{e:?}");
    review.expected_head = Some(ground.head.clone());
    let given = forge.submit_review(ground.id(), &review).await.unwrap();
    assert_eq!(given.value.commit.as_ref(), Some(&ground.head));
    let pds = ground.stage.world.pds();
    let (_, _, comment) = pds.records(&bob.did, COMMENT).remove(0);
    let line = format!("Approved round 0 ({}..{})", ground.base, ground.head);
    assert_eq!(comment["body"]["text"], line);
    assert_eq!(comment.get("pullRoundIdx"), None);

    let reader = ground.forge(alice);
    let states = async || {
        let page = reader
            .reviews(ground.id(), PageReq::first(9))
            .await
            .unwrap();
        let all = page.items.into_iter();
        all.map(|review| (review.state, review.commit))
            .collect::<Vec<_>>()
    };
    let approved = (ReviewState::Approved, Some(ground.head.clone()));
    assert_eq!(states().await, [approved]);
    // The same head from another base is another change.
    let first = ground.stage.repo.git.oid("topic~1").unwrap();
    ground.put(json!([]), json!([ground.version(&first, &ground.head)]));
    assert_eq!(states().await, []);
}
