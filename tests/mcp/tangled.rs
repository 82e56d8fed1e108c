//! Tests pull requests on tangled through the server.

use std::{io::Write as _, time::Duration};

use flate2::{Compression, write::GzEncoder};
use forge_tangled_world::{Fault, Moods, SpindleDouble};
use serde_json::{Value, json};

use crate::{
    tangled_world::{PULL, STATUS, Tangled, WIDGET},
    world::{Called, LEGACY, MODERN, User, Wire, column},
};

/// Returns the patch of a branch with commits that add these files.
fn patch(t: &Tangled, branch: &str, files: &[&str]) -> String {
    for file in files {
        let message = format!("Add {file}");
        t.repo
            .git
            .commit(branch, &message, &[(file, Some("one\n"))]);
    }
    let range = format!("main..{branch}");
    t.repo.git.run(["format-patch", "--stdout", &range]).text()
}

/// Asserts that the world's index has the record, and that the result says so.
#[track_caller]
fn assert_confirmed(result: Called) -> Called {
    let result = result.ok();
    assert_eq!(result.data()["ingestion"], "confirmed", "{}", result.text());
    assert!(
        result.text().contains("visible to others: confirmed"),
        "{}",
        result.text()
    );
    let detail = &result.data()["ingestion_detail"];
    assert!(detail["by"].is_string(), "{detail}");
    assert!(detail["after_ms"].is_u64(), "{detail}");
    result
}

#[test]
fn pull_request_lifecycle_on_tangled() {
    for era in [LEGACY, MODERN] {
        let t = Tangled::new();
        let first = patch(&t, "elsewhere", &["one.txt"]);
        let second = patch(&t, "elsewhere", &["two.txt"]);
        t.repo.git.delete_branch("elsewhere");
        let server = ["mcp", "--write", "--toolsets", "issues"];
        let mut wire = Wire::start(&t.forge(&t.alice, &server), era);
        let issue = json!({"repo": WIDGET, "title": "It breaks"});
        let issue = wire.call("issue_create", issue).ok();
        let issue = issue.data()["number"].as_str().unwrap().to_owned();
        let lost = format!("at://{}/sh.tangled.repo.issue/3jzfcijpj2z2a", t.alice.did);
        let args = json!({
            "repo": WIDGET, "title": "Work", "body": "Why.", "patch": first, "closes": [issue, lost]
        });
        let made = assert_confirmed(wire.call("pr_create", args))
            .says(&format!("merging the pull request might leave {lost} open"));
        let number = made.data()["number"].clone();
        let head = made.data()["head_oid"].clone();
        assert!(number.as_str().unwrap().starts_with("at://"), "{number}");
        let with = |more: Value| {
            let mut args = json!({"repo": WIDGET, "number": number});
            let more = more.as_object().unwrap().clone();
            args.as_object_mut().unwrap().extend(more);
            args
        };
        let round = json!({"patch": second, "comment": "With two."});
        assert_confirmed(wire.call("pr_resubmit", with(round))).says("submitted a round of");
        let files = wire
            .call("pr_view", with(json!({"include": "files,comments"})))
            .ok()
            .says("> With two.");
        let paths: Vec<_> = files.data()["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| f["path"].as_str().unwrap())
            .collect();
        assert_eq!(paths, ["one.txt", "two.txt"]);
        assert_confirmed(wire.call("pr_comment", with(json!({"body": "Plain."}))));
        let edit = json!({"title": "Better work", "append": "More."});
        assert_confirmed(wire.call("pr_edit", with(edit)));
        let view = wire
            .call("pr_view", with(json!({"include": "comments"})))
            .ok()
            .says("\"Better work\"")
            .says("> More.")
            .says("> Plain.");
        // On tangled a verdict is a comment, and other clients show it as a comment, so verdicts
        // are opt-in.
        let review = json!({"verdict": "approve", "body": "Good."});
        wire.call("pr_review", with(review))
            .fails("unsupported")
            .says("hosts.tangled.org.verdict_comments");
        let now = view.data()["pull_request"]["head_oid"].clone();
        assert_ne!(now, head);
        wire.call("pr_merge", with(json!({"expected_head": head})))
            .fails("conflict")
            .says(now.as_str().unwrap());
        wire.user = User::Declines;
        wire.call("pr_merge", with(json!({}))).fails("cancelled");
        assert!(t.repo.git.oid("main:one.txt").is_none());
        wire.user = User::Agrees;
        let merged = assert_confirmed(wire.call("pr_merge", with(json!({"expected_head": now}))));
        assert_eq!(merged.data()["merged"], true);
        assert_eq!(merged.data()["method"], "rebase");
        let closed = json!([{"issue": issue, "closed": true}]);
        assert_eq!(merged.data()["linked_issues_transitioned"], closed);
        assert_eq!(t.repo.git.show("main", "two.txt"), "one\n");
        assert_eq!(wire.asked.len(), 2);
        assert!(wire.asked[1].contains("by rebase?"), "{:?}", wire.asked);
        wire.call("pr_resubmit", with(json!({"patch": first})))
            .fails("precondition_failed");
    }
}

/// A request for changes that the index never comes to is unknown, and the user has to know that.
#[test]
fn merge_question_warns_of_unread_verdicts() {
    let t = Tangled::new();
    t.enable_verdicts();
    let pull = t.open("topic");
    let review = ["pr", "review", &pull, "--request-changes", "-b", "No."];
    t.forge(&t.bob, &review).ok();
    let server = t.forge(&t.alice, &["mcp", "--write"]);
    for is_flooded in [false, true] {
        if is_flooded {
            t.flood_comments();
        }
        let mut wire = Wire::start(&server, MODERN);
        wire.user = User::Declines;
        let args = json!({"repo": WIDGET, "number": pull});
        wire.call("pr_merge", args).fails("cancelled");
        let unread = "some comments were not read, and verdicts may be among them";
        let question = &wire.asked[0];
        assert_eq!(question.contains(unread), is_flooded, "{question}");
    }
}

#[test]
fn silent_server_of_commenter_hides_no_other_comment() {
    let t = Tangled::new();
    let pull = t.open("topic");
    let silent = t.silent_commenter(&pull);
    let mut wire = Wire::start(&t.forge(&t.alice, &["mcp"]), MODERN);
    let args = json!({"repo": WIDGET, "number": pull});
    let shown = wire.call("pr_context", args).ok().says("Fine.");
    let all = format!("{}{}", shown.text(), shown.data());
    assert!(all.contains(&silent.host().authority()), "{all}");
}

/// A branch selects no record of an account that may not push, so no question names it.
#[test]
fn branch_selects_no_record_of_stranger_to_merge() {
    let t = Tangled::new();
    t.branch("topic");
    let theirs = t.claim_of_stranger("topic");
    let clone = t.clone_on("topic");
    let start = || {
        let server = t.forge_in(clone.clone(), &t.alice, &["mcp", "--write"]);
        Wire::start(&server, MODERN)
    };
    let main = t.repo.git.oid("main");
    let mut wire = start();
    for selector in [".", "topic"] {
        let args = json!({"repo": WIDGET, "number": selector});
        wire.call("pr_merge", args).fails("not_found").says(&theirs);
    }
    assert!(wire.asked.is_empty(), "{:?}", wire.asked);
    assert_eq!(t.repo.git.oid("main"), main);
    let create = ["pr", "create", "-R", WIDGET, "-H", "topic"];
    let create = [&create[..], &["-t", "Own", "-b", "B"]].concat();
    t.forge(&t.alice, &create).ok();
    let mut wire = start();
    let args = json!({"repo": WIDGET, "number": "."});
    wire.call("pr_merge", args).ok();
    assert!(!wire.asked[0].contains(&theirs), "{:?}", wire.asked);
    assert_eq!(t.repo.git.show("main", "topic.txt"), "one\n");
    assert!(t.repo.git.oid("main:evil.txt").is_none());
}

/// The question names issues that are only in the record's references, not in its text.
#[test]
fn merge_question_names_issues_in_references() {
    let t = Tangled::new();
    let first = patch(&t, "elsewhere", &["one.txt"]);
    t.repo.git.delete_branch("elsewhere");
    let server = ["mcp", "--write", "--toolsets", "issues"];
    let mut wire = Wire::start(&t.forge(&t.alice, &server), MODERN);
    let issue = json!({"repo": WIDGET, "title": "It breaks"});
    let issue = wire.call("issue_create", issue).ok();
    let issue = issue.data()["number"].as_str().unwrap().to_owned();
    let args = json!({"repo": WIDGET, "title": "Work", "body": "Why.", "patch": first});
    let made = wire.call("pr_create", args).ok();
    let pull = made.data()["number"].as_str().unwrap().to_owned();
    let (_, mut record) = t.world.pds().record(&pull).unwrap();
    record["references"] = json!([issue]);
    let rkey = pull.rsplit('/').next().unwrap();
    t.world.pds().put(&t.alice.did, PULL, rkey, record);
    let args = json!({"repo": WIDGET, "number": pull});
    let view = wire.call("pr_view", args.clone()).ok();
    let mut merge = args;
    merge["expected_head"] = view.data()["pull_request"]["head_oid"].clone();
    wire.user = User::Agrees;
    let merged = wire.call("pr_merge", merge).ok();
    let closed = json!([{"issue": issue, "closed": true}]);
    assert_eq!(merged.data()["linked_issues_transitioned"], closed);
    let key = issue.rsplit('/').next().unwrap();
    assert!(wire.asked[0].contains(key), "{:?}", wire.asked);
}

/// A commit on the base does not change the diff of a round, even if the knot computes the diff
/// from commits. Only a new round changes it.
#[test]
fn diff_cursor_survives_base_commits() {
    let t = Tangled::new();
    let git = &t.repo.git;
    let names: Vec<String> = (0..20).map(|n| format!("many/{n:02}.txt")).collect();
    let files: Vec<_> = names.iter().map(|n| (n.as_str(), Some("one\n"))).collect();
    git.commit("elsewhere", "Add many", &files);
    git.commit("elsewhere", "Change one", &[("many/00.txt", Some("two\n"))]);
    let range = ["format-patch", "--stdout", "main..elsewhere"];
    let first = git.run(range).text();
    let second = patch(&t, "elsewhere", &["more.txt"]);
    let mut wire = Wire::start(&t.forge(&t.alice, &["mcp", "--write"]), MODERN);
    let args = json!({"repo": WIDGET, "title": "Many", "patch": first});
    let made = wire.call("pr_create", args).ok();
    let number = &made.data()["number"];
    let mut args = json!({"repo": WIDGET, "number": number, "max_chars": 1000});
    let mut pages = vec![wire.call("pr_diff", args.clone()).ok()];
    args["cursor"] = json!(pages[0].cursor().unwrap());
    git.commit("main", "Meanwhile", &[("many/19.txt", Some("two\n"))]);
    pages.extend(wire.pages("pr_diff", args.clone(), 1_000));
    assert_eq!(column(&pages, "files", "path"), names);
    // Another server, which has not read the diff, accepts the cursor as well.
    let mut other = Wire::start(&t.forge(&t.bob, &["mcp"]), MODERN);
    pages.truncate(1);
    pages.extend(other.pages("pr_diff", args.clone(), 1_000));
    assert_eq!(column(&pages, "files", "path"), names);
    let round = json!({"repo": WIDGET, "number": number, "patch": second});
    wire.call("pr_resubmit", round).ok();
    wire.call("pr_diff", args)
        .fails("conflict")
        .says("start again without cursor");
}

#[test]
fn branch_moved_after_merge_is_not_deleted() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let mut wire = Wire::start(&t.forge(&t.alice, &["mcp", "--write"]), MODERN);
    wire.call("pr_merge", json!({"repo": WIDGET, "number": uri}))
        .ok();
    let tip = t
        .repo
        .git
        .commit("topic", "Later", &[("later.txt", Some("later\n"))]);
    let delete = json!({"repo": WIDGET, "number": uri, "delete_branch": true});
    let kept = wire.call("pr_merge", delete.clone()).ok().says(&tip);
    assert_eq!(wire.asked.len(), 2);
    assert_eq!(kept.data()["branch_deleted"], false);
    assert_eq!(t.repo.git.oid("topic"), Some(tip));
    // A merged pull request cannot be closed. Closing a pull request keeps a branch that has
    // commits outside the rounds.
    let other = t.open("other");
    let tip = t
        .repo
        .git
        .commit("other", "Later", &[("later.txt", Some("later\n"))]);
    let close = json!({"repo": WIDGET, "number": other, "state": "closed", "delete_branch": true});
    wire.call("pr_set_state", close).ok().says(&tip);
    assert_eq!(t.repo.git.oid("other"), Some(tip));
    assert_eq!(t.world.pds().records(&t.alice.did, PULL).len(), 2);
}

/// The index may have lost the status record after the merge.
#[test]
fn repeated_merge_checks_the_index() {
    let t = Tangled::new();
    let mut wire = impatient_server(&t);
    let mut merge = |uri: &str| {
        let args = json!({"repo": WIDGET, "number": uri});
        wire.call("pr_merge", args).ok()
    };
    let seen = t.open("seen");
    assert_confirmed(merge(&seen));
    let lost = t.open("lost");
    t.world.index().lose_next(STATUS, 99);
    assert_eq!(merge(&lost).data()["ingestion"], "pending");
    let statuses = t.world.pds().records(&t.alice.did, STATUS).len();
    for (uri, word) in [(&seen, "confirmed"), (&lost, "pending")] {
        let again = merge(uri);
        assert_eq!(again.data()["ingestion"], word, "{}", again.text());
        assert_eq!(again.data()["unchanged"], true);
        assert_eq!(again.data()["already_merged"], true);
        assert_eq!(again.data()["state"], "merged");
    }
    assert_eq!(wire.asked.len(), 2, "{:?}", wire.asked);
    assert_eq!(t.world.pds().records(&t.alice.did, STATUS).len(), statuses);
}

/// The user agrees to the patch that the question shows. The author may replace the patch and keep
/// the commit id.
#[test]
fn merge_consent_ends_when_round_is_replaced() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let commit = t.repo.git.oid("topic").unwrap();
    let patch = t.repo.git.run(["format-patch", "--stdout", "main..topic"]);
    let patch = patch.text();
    let mut wire = Wire::start(&t.forge(&t.alice, &["mcp", "--write"]), MODERN);
    wire.user = User::Absent;
    let with = |more: Value| {
        let mut args = json!({"repo": WIDGET, "number": uri});
        args.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        args
    };
    let head = |wire: &mut Wire| {
        let view = wire.call("pr_view", with(json!({}))).ok();
        view.data()["pull_request"]["head_oid"].clone()
    };
    let seen = head(&mut wire);
    let asked = wire
        .call("pr_merge", with(json!({})))
        .fails("invalid_input")
        .says(seen.as_str().unwrap())
        .says(&format!("commit {commit}, as its author claims"));
    let pds = t.world.pds();
    let (_, mut record) = pds.record(&uri).unwrap();
    let of_patch = patch.lines().map(|line| match line.strip_prefix('+') {
        Some(added) if !added.starts_with("++ ") => format!("+evil {added}\n"),
        _ => format!("{line}\n"),
    });
    let evil: String = of_patch.collect();
    assert_ne!(evil, patch);
    // The round is compressed, because the index would drop an uncompressed round. The consent
    // would then end for another reason than the replaced round.
    let mut gz = GzEncoder::new(Vec::new(), Compression::default());
    gz.write_all(evil.as_bytes()).unwrap();
    let blob = pds.blob(&t.alice.did, "application/gzip", &gz.finish().unwrap());
    record["rounds"][0]["patchBlob"] = blob;
    let rkey = uri.rsplit('/').next().unwrap();
    pds.put(&t.alice.did, PULL, rkey, record);
    let main = t.repo.git.oid("main");
    let confirm = Wire::seal(&asked);
    wire.call("pr_merge", with(json!({"confirm": confirm})))
        .fails("invalid_input");
    let now = head(&mut wire);
    assert_ne!(now, seen);
    for expected in [&seen, &json!(commit)] {
        for tool in ["pr_merge", "pr_review"] {
            let mut args = with(json!({"expected_head": expected}));
            if tool == "pr_review" {
                args["verdict"] = json!("comment");
                args["body"] = json!("Fine.");
            }
            wire.call(tool, args)
                .fails("conflict")
                .says(expected.as_str().unwrap())
                .says(now.as_str().unwrap());
        }
    }
    assert_eq!(t.repo.git.oid("main"), main);
}

/// The record can change although patch, title and base stay the same.
#[test]
fn merge_consent_ends_when_record_is_changed() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let mut wire = Wire::start(&t.forge(&t.alice, &["mcp", "--write"]), MODERN);
    wire.user = User::Absent;
    let args = json!({"repo": WIDGET, "number": uri});
    let asked = wire.call("pr_merge", args.clone()).fails("invalid_input");
    let pds = t.world.pds();
    let (was, mut record) = pds.record(&uri).unwrap();
    record["body"] = json!("Another text.");
    let rkey = uri.rsplit('/').next().unwrap();
    let (_, is) = pds.put(&t.alice.did, PULL, rkey, record);
    assert_ne!(was, is);
    let main = t.repo.git.oid("main");
    let with = |seal: Value| {
        let mut args = args.clone();
        args["confirm"] = seal;
        args
    };
    let again = wire
        .call("pr_merge", with(Wire::seal(&asked)))
        .fails("invalid_input");
    assert_eq!(t.repo.git.oid("main"), main);
    // Consent to the new record is valid.
    let merged = wire.call("pr_merge", with(Wire::seal(&again))).ok();
    assert_eq!(merged.data()["merged"], true);
}

#[test]
fn plain_diff_has_patch_cid_as_head() {
    let t = Tangled::new();
    // A plain diff contains no commit id.
    let diff = "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n";
    let mut wire = Wire::start(&t.forge(&t.alice, &["mcp", "--write"]), MODERN);
    wire.user = User::Absent;
    let args = json!({"repo": WIDGET, "title": "Plain", "patch": diff});
    let made = wire.call("pr_create", args).ok();
    let head = made.data()["head_oid"].clone();
    let mut args = json!({"repo": WIDGET, "number": made.data()["number"]});
    let asked = wire
        .call("pr_merge", args.clone())
        .fails("invalid_input")
        .says("confirm='");
    args["expected_head"] = json!("0".repeat(40));
    wire.call("pr_merge", args.clone())
        .fails("conflict")
        .says(head.as_str().unwrap());
    args["expected_head"] = head;
    args["confirm"] = Wire::seal(&asked);
    let merged = wire.call("pr_merge", args).ok();
    assert_eq!(merged.data()["merged"], true);
    assert_eq!(t.repo.git.show("main", "new"), "x\n");
}

/// Starts a server of Alice's with a timeout of one second for the index.
fn impatient_server(t: &Tangled) -> Wire {
    let run = t.forge(&t.alice, &["mcp", "--write"]);
    Wire::start(&run.env("FORGE_WAIT", "1"), MODERN)
}

#[test]
fn unindexed_write_is_pending_with_record() {
    let t = Tangled::new();
    let uri = t.open("topic");
    t.world.index().set_moods(Moods {
        lag: Duration::from_secs(600),
        ..Moods::default()
    });
    let mut wire = impatient_server(&t);
    let args = json!({"repo": WIDGET, "number": uri, "body": "Text."});
    let said = wire.call("pr_comment", args).ok();
    assert_eq!(said.data()["ingestion"], "pending", "{}", said.text());
    let (comment, _, _) = t
        .world
        .pds()
        .records(&t.alice.did, "sh.tangled.feed.comment")
        .remove(0);
    let detail = said.data()["ingestion_detail"].as_object().unwrap();
    let names: Vec<&String> = detail.keys().collect();
    assert_eq!(names, ["uri", "waited_ms"]);
    assert_eq!(detail["uri"], comment);
    assert!(detail["waited_ms"].as_u64().unwrap() > 0);
    said.says(&format!(
        "visible to others: pending (stored, and nothing shows it yet: {comment})"
    ));
}

/// The label record refers to a draft. The same call marks that draft as ready for review.
#[test]
fn edit_with_draft_change_reports_worse_ingestion_state() {
    let t = Tangled::new();
    t.scratch.write(
        "home/.config/forge/config.toml",
        "[hosts.\"tangled.org\"]\ndraft_marker = \"[draft]\"\n",
    );
    let label = ["label", "create", "bug", "-R", WIDGET];
    t.forge(&t.alice, &label).ok();
    t.create("topic", &["--draft"]).ok();
    let (uri, _, _) = t.world.pds().records(&t.alice.did, PULL).remove(0);
    t.world.index().lose_next("sh.tangled.label.op", 99);
    let mut wire = impatient_server(&t);
    let args = json!({"repo": WIDGET, "number": uri, "add_labels": ["bug"], "draft": false});
    let edited = wire.call("pr_edit", args).ok();
    assert_eq!(edited.data()["ingestion"], "pending", "{}", edited.text());
    assert_eq!(edited.data()["unchanged"], false);
    let (op, _, _) = t
        .world
        .pds()
        .records(&t.alice.did, "sh.tangled.label.op")
        .remove(0);
    assert_eq!(edited.data()["ingestion_detail"]["uri"], op);
    assert_eq!(t.world.pds().record(&uri).unwrap().1["title"], "T");
}

/// The author of a lost record can repair it in a terminal.
#[test]
fn context_of_unindexed_pull_is_not_ready() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let pulls = t.world.pds().records(&t.alice.did, PULL);
    let cid = pulls[0].1.clone();
    let args = json!({"repo": WIDGET, "number": uri});
    let set = ["config", "set", "context.cache_ttl_seconds", "0"];
    t.forge(&t.alice, &set).ok();
    let mut wire = Wire::start(&t.forge(&t.alice, &["mcp"]), MODERN);
    let shown = wire.call("pr_context", args.clone()).ok();
    assert_eq!(shown.data()["ingestion"]["state"], "confirmed");
    assert_eq!(shown.data()["ingestion"]["cid"], cid);
    t.world.index().set_moods(Moods {
        other_cid: true,
        ..Moods::default()
    });
    let behind = wire
        .call("pr_context", args.clone())
        .ok()
        .says("ready to merge: false")
        .says("blocker: \"Not shown by the index (pending)\"\n")
        .says("unmet indexed [forge] -> time or author | author: @alice.test | \"pending: ")
        .says(&format!("record version {cid}: pending\n"))
        .says(&format!(
            "; in a terminal: forge tangled ingestion {uri} --put-again"
        ));
    let requirement = &behind.data()["verdict"]["requirements"][0];
    assert_eq!(requirement["rule"], "indexed");
    assert_eq!(requirement["cleared_by"][0]["who"], "time");
    assert_eq!(requirement["cleared_by"][1]["who"], "author");
    assert_eq!(requirement["cleared_by"][1]["names"], json!(["alice.test"]));
    t.scratch.write(
        "home/.config/forge/config.toml",
        "[hosts.\"tangled.org\"]\nindex_date = \"2025-12\"\n",
    );
    let mut wire = Wire::start(&t.forge(&t.alice, &["mcp"]), MODERN);
    let unread = wire
        .call("pr_context", args)
        .ok()
        .says("blocker: \"Not shown by the index (pds_only)\"\n");
    let of_record = &unread.data()["ingestion"];
    assert_eq!(of_record["state"], "pds_only");
    assert_eq!(of_record["cid"], cid);
    let evidence = "this index does not ingest sh.tangled.repo.pull";
    assert_eq!(of_record["evidence"], evidence);
    let instead = "open it on the web page of the repository";
    assert_eq!(of_record["detail"]["instead"], instead);
}

#[test]
fn unverified_merged_status_is_marked() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let head = t.repo.git.oid("topic");
    let status = json!({
        "pull": uri, "status": format!("{STATUS}.merged"), "createdAt": "2036-01-01T00:00:00Z",
    });
    t.world.pds().add(&t.bob.did, STATUS, status);
    let mut wire = Wire::start(&t.forge(&t.alice, &["mcp", "--write"]), MODERN);
    let said = format!(
        "a status record of bob.test (collaborator) says that {uri} is merged, and 'main' does not \
         show the change"
    );
    let args = json!({"repo": WIDGET, "number": uri});
    wire.call("pr_view", args).ok().says(&said);
    for delete in [false, true] {
        let args = json!({"repo": WIDGET, "number": uri, "delete_branch": delete});
        wire.call("pr_merge", args)
            .fails("precondition_failed")
            .says("is not verified")
            .says(&said)
            .says("Next: pr_set_state {");
    }
    assert!(wire.asked.is_empty(), "{:?}", wire.asked);
    // Closing the pull request still works.
    wire.user = User::Declines;
    let close = json!({"repo": WIDGET, "number": uri, "state": "closed", "delete_branch": true});
    wire.call("pr_set_state", close).fails("cancelled");
    wire.user = User::Agrees;
    assert!(wire.asked[0].starts_with("Close "), "{:?}", wire.asked);
    assert_eq!(t.repo.git.oid("topic"), head);
    let open = json!({"repo": WIDGET, "number": uri, "state": "open"});
    wire.call("pr_set_state", open).ok().says(&said);
    let args = json!({"repo": WIDGET, "number": uri});
    let merged = wire.call("pr_merge", args.clone()).ok();
    assert_eq!(merged.data()["already_merged"], false);
    let again = wire.call("pr_merge", args).ok();
    assert_eq!(again.data()["already_merged"], true);
}

#[test]
fn merge_without_status_record_names_no_record() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let refused = Fault::error(400, "InvalidRequest", "no");
    let pds = t.world.pds().host();
    pds.fault(refused.on("com.atproto.repo.applyWrites").always());
    let mut wire = impatient_server(&t);
    let args = json!({"repo": WIDGET, "number": uri});
    let merged = wire.call("pr_merge", args).ok();
    assert_eq!(merged.data()["merged"], true);
    assert_eq!(merged.data()["ingestion"], "pending", "{}", merged.text());
    assert_eq!(merged.data()["ingestion_detail"], json!({"waited_ms": 0}));
    assert!(!merged.text().contains("is stored"), "{}", merged.text());
    merged
        .says("visible to others: pending (it is not known whether a record was written)")
        .says("merged on the knot, but not recorded")
        .says(&format!(
            ": pr_merge {{\"method\":\"rebase\",\"number\":\"{uri}\","
        ));
    assert_eq!(t.world.pds().records(&t.alice.did, STATUS).len(), 1);
}

#[test]
fn record_unknown_to_old_index_has_recovery() {
    let t = Tangled::new();
    let uri = t.open("topic");
    t.scratch.write(
        "home/.config/forge/config.toml",
        "[hosts.\"tangled.org\"]\nindex_date = \"2026-06\"\n",
    );
    t.world.index().set_moods(Moods {
        statuses: false,
        ..Moods::default()
    });
    let mut wire = impatient_server(&t);
    let args = json!({"repo": WIDGET, "number": uri, "state": "closed"});
    let closed = wire.call("pr_set_state", args).ok();
    assert_eq!(closed.data()["ingestion"], "pds_only", "{}", closed.text());
    let instead = "close, reopen or mark it as merged on its web page";
    assert_eq!(
        closed.data()["ingestion_detail"],
        json!({ "instead": instead })
    );
    closed
        .says("visible to others: pds_only\n")
        .says(&format!("Recovery: \"{instead}\""));
}

#[test]
fn index_limit_is_told_before_the_merge() {
    let t = Tangled::new();
    let uri = t.open("topic");
    t.scratch.write(
        "home/.config/forge/config.toml",
        "[hosts.\"tangled.org\"]\nindex_date = \"2026-06\"\n",
    );
    let mut wire = impatient_server(&t);
    let status = wire.call("forge_status", json!({"repo": WIDGET})).ok();
    let limits = &status.data()["repository"]["index_limits"];
    assert_eq!(limits[0]["collection"], STATUS);
    assert_eq!(limits[0]["support"], "not_ingested");
    let instead = "close, reopen or mark it as merged on its web page";
    assert_eq!(limits[0]["instead"], instead);
    status.says(&format!(
        "index, not_ingested: {STATUS}: the record is stored on your server"
    ));
    wire.user = User::Declines;
    let args = json!({"repo": WIDGET, "number": uri});
    wire.call("pr_merge", args).fails("cancelled");
    let close = json!({"repo": WIDGET, "number": uri, "state": "closed", "delete_branch": true});
    wire.call("pr_set_state", close).fails("cancelled");
    for asked in &wire.asked {
        assert!(
            asked.contains(&format!("does not ingest {STATUS}")),
            "{asked}"
        );
        assert!(asked.contains(instead), "{asked}");
    }
    assert_eq!(wire.asked.len(), 2);
    assert_eq!(
        t.world.pds().records(&t.alice.did, STATUS).len(),
        1,
        "nothing was written"
    );
}

#[test]
fn dropped_record_has_a_reason() {
    let t = Tangled::new();
    // The patch of a round has to be compressed with gzip.
    let diff =
        b"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n";
    let uri = t.foreign(diff, |_| {});
    let mut wire = impatient_server(&t);
    let args = json!({"repo": WIDGET, "number": uri, "title": "Better"});
    let edited = wire.call("pr_edit", args).ok();
    assert_eq!(
        edited.data()["ingestion"],
        "ineffective",
        "{}",
        edited.text()
    );
    let reason = "the patch of round 0 is not gzip";
    assert_eq!(
        edited.data()["ingestion_detail"],
        json!({"uri": uri, "reason": reason})
    );
    edited.says(&format!(
        "visible to others: ineffective (stored, but the index ignores it: \"{reason}\": {uri})"
    ));
    assert_eq!(t.world.pds().record(&uri).unwrap().1["title"], "Better");
}

#[test]
fn unsupported_field_stops_edit_before_writes() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let title = || t.world.pds().record(&uri).unwrap().1["title"].clone();
    let before = title();
    let mut wire = Wire::start(&t.forge(&t.alice, &["mcp", "--write"]), MODERN);
    let args = json!({"repo": WIDGET, "number": uri, "title": "Another", "draft": true});
    wire.call("pr_edit", args)
        .fails("unsupported")
        .says("tangled has no drafts");
    assert_eq!(title(), before);
    // The tool refuses before it asks a question.
    for (tool, method, next) in [
        ("pr_merge", "squash", "\nNext: pr_resubmit {"),
        ("pr_update_branch", "rebase", "\nNext: pr_resubmit {"),
    ] {
        let args = json!({"repo": WIDGET, "number": uri, "method": method});
        wire.call(tool, args).fails("unsupported").says(next);
    }
    assert!(wire.asked.is_empty(), "{:?}", wire.asked);
}

#[test]
fn unreadable_row_field_is_reported() {
    let t = Tangled::new();
    t.open("one");
    let gone = Fault::gateway(503).on("sh.tangled.feed.listComments");
    t.world.index().host().fault(gone.always());
    let mut wire = Wire::start(&t.forge(&t.bob, &["mcp"]), MODERN);
    let list = wire.call("pr_list", json!({"repo": WIDGET})).ok();
    assert!(list.data()["warnings"].is_array(), "{}", list.data());
    list.says("Warning: \"the records were read from the backlinks at");
}

/// A spindle reports checks without logs, and it may be unreachable.
#[test]
fn checks_are_readable_without_spindle_logs() {
    let t = Tangled::new();
    let spindle = SpindleDouble::start().unwrap();
    let pds = t.world.pds();
    let (_, mut record) = pds.record(&t.repo.uri).unwrap();
    record["spindle"] = json!(spindle.host().authority());
    pds.put(&t.alice.did, "sh.tangled.repo", "widget", record);
    let uri = t.open("topic");
    let head = t.repo.git.oid("topic").unwrap();
    spindle.run(&t.repo.did, &head, "push", &[("build.yml", "failed")]);
    let mut wire = Wire::start(&t.forge(&t.alice, &["mcp", "--write"]), MODERN);
    let logs = json!({"repo": WIDGET, "number": uri, "logs": true});
    let checks = wire.call("pr_checks", logs).ok().says("\n  log: ");
    assert_eq!(checks.data()["checks"][0]["name"], "build.yml");
    checks.says("only by subscription");
    let down = Fault::error(400, "InvalidRequest", "no");
    spindle.host().fault(down.always());
    let view = json!({"repo": WIDGET, "number": uri, "include": ["checks"]});
    let view = wire
        .call("pr_view", view)
        .ok()
        .says("Warning: \"the checks ");
    assert!(!view.text().contains("has none"), "{}", view.text());
    wire.user = User::Declines;
    wire.call("pr_merge", json!({"repo": WIDGET, "number": uri}))
        .fails("cancelled");
    assert!(
        wire.asked[0].contains(" Warning: \"the checks "),
        "{:?}",
        wire.asked
    );
}

#[test]
fn stale_head_prevents_close_and_deletion() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let mut wire = Wire::start(&t.forge(&t.alice, &["mcp", "--write"]), MODERN);
    let view = wire.call("pr_view", json!({"repo": WIDGET, "number": uri}));
    let head = view.ok().data()["pull_request"]["head_oid"].clone();
    let head = head.as_str().unwrap();
    let call = |delete: bool, head: &str| {
        json!({
            "repo": WIDGET, "number": uri, "state": "closed", "delete_branch": delete,
            "expected_head": head
        })
    };
    for delete in [false, true] {
        wire.call("pr_set_state", call(delete, &"0".repeat(40)))
            .fails("conflict")
            .says(head);
    }
    assert!(wire.asked.is_empty());
    let statuses = || t.world.pds().records(&t.alice.did, STATUS).len();
    assert_eq!(statuses(), 1, "the opening one");
    wire.call("pr_set_state", call(true, head))
        .ok()
        .says("closed, and its branch is deleted");
    assert_eq!((wire.asked.len(), statuses()), (1, 2));
    assert_eq!(t.repo.git.oid("topic"), None);
    // A comment succeeds in every state.
    for (unchanged, told) in [
        (
            false,
            "(already in this state; additionally done: \"comment\")",
        ),
        (true, "(already in this state; nothing was written)"),
    ] {
        let args = json!({"repo": WIDGET, "number": uri, "state": "closed", "comment": "Why."});
        let again = wire.call("pr_set_state", args).ok().says(told);
        assert_eq!(again.data()["unchanged"], unchanged, "{}", again.text());
    }
    assert_eq!(statuses(), 2);
}

#[test]
fn status_reports_unreadable_collaborators() {
    let t = Tangled::new();
    let _ = t.world.repository_1_0(&t.alice, "new");
    let refused = Fault::error(403, "Forbidden", "No.");
    let refused = refused.about("org.tangled.graph.collaborator").always();
    t.world.knot().host().fault(refused);
    let mut wire = Wire::start(&t.forge(&t.bob, &["mcp"]), MODERN);
    let args = json!({"repo": "tangled:alice.test/new"});
    let status = wire.call("forge_status", args).ok();
    let missing = status.data()["missing"].to_string();
    assert!(
        missing.contains("unconfirmed: the collaborators of "),
        "{missing}"
    );
}

/// A knot of Tangled 1.0 itself shows the records that it stores, so faults of the index have no
/// effect.
#[test]
fn tangled_1_0_write_is_immediate_and_experimental() {
    let t = Tangled::new();
    let repo = t.world.repository_1_0(&t.alice, "new");
    repo.git.commit("topic", "Add", &[("a", Some("1\n"))]);
    let mut wire = Wire::start(&t.forge(&t.alice, &["mcp", "--write"]), MODERN);
    let mut write = |tool: &str, args: Value| {
        let written = wire.call(tool, args).ok();
        let data = written.data();
        assert_eq!(data["ingestion"], "immediate", "{tool}: {data}");
        assert!(data.get("ingestion_detail").is_none(), "{tool}: {data}");
        written.says("writing to Tangled 1.0 is experimental")
    };
    let new = "tangled:alice.test/new";
    let args = json!({"repo": new, "title": "T", "body": "B", "head": "topic"});
    let number = write("pr_create", args).data()["number"].clone();
    let args = json!({"repo": new, "number": number, "body": "Text."});
    write("pr_comment", args);
    let args = json!({"repo": new, "number": number, "state": "closed"});
    assert_eq!(write("pr_set_state", args).data()["state"], "closed");
    let tickets = t
        .world
        .knot()
        .records(&repo.did, "org.tangled.track.ticket");
    assert_eq!(tickets.len(), 1);
    assert_eq!(tickets[0].0, number.as_str().unwrap());
    assert_eq!(tickets[0].2["state"], "closed");
    let said = t
        .world
        .knot()
        .records(&repo.did, "org.tangled.feed.comment");
    assert_eq!(said.len(), 1);
}
