//! Tests each ingestion state with each fault of the index that causes it: the state, the exit code
//! and the text.

use std::{io::Write as _, path::PathBuf, time::Duration};

use flate2::{Compression, write::GzEncoder};
use forge_tangled_world::{Fault, Moods, Recorded};
use forge_testkit::{Output, Run};
use serde_json::json;

use super::world::{PULL, STATUS, Tangled, WIDGET, says};

/// The list that shows whether the index has ingested a pull request, and the parameter with which
/// it is requested only for that.
const LIST: &str = "sh.tangled.repo.listPulls";
const BY_AUTHOR: &str = "author=";

impl Tangled {
    /// Returns how often the index was asked whether it has ingested a pull request.
    pub(super) fn looks(&self) -> usize {
        let asked = self.world.index().host().requests();
        let is_look = |it: &&Recorded| it.method() == Some(LIST) && it.query.contains(BY_AUTHOR);
        asked.iter().filter(is_look).count()
    }
}

/// Name of an index fault, and the function that causes it.
type IndexFault = (&'static str, fn(&Tangled));

/// Runs `pr create` under a fault of the index. Returns the world and the output.
fn created(set: impl Fn(&Tangled), more: &[&str]) -> (Tangled, Output) {
    let t = Tangled::new();
    set(&t);
    let output = t.create("topic", more).output();
    (t, output)
}

fn moods(t: &Tangled, moods: Moods) {
    t.world.index().set_moods(moods);
}

fn said(t: &Tangled, output: &Output) -> String {
    t.transcript(output)
}

#[test]
fn knot_write_is_immediate() {
    let t = Tangled::new();
    let repo = t.world.repository_1_0(&t.alice, "new");
    repo.git.commit("topic", "Add", &[("a", Some("1\n"))]);
    let args = [
        "pr",
        "create",
        "-R",
        "tangled:alice.test/new",
        "-H",
        "topic",
    ];
    let output = t
        .forge(&t.alice, &[&args[..], &["-t", "T", "-b", "B"]].concat())
        .output()
        .exits(0);
    let stderr = output.stderr_text();
    assert!(stderr.contains("experimental"), "{stderr}");
    for word in ["confirmed", "pending", "pds_only", "ineffective"] {
        assert!(!stderr.contains(word), "{stderr}");
    }
}

#[test]
fn write_is_confirmed_once_index_shows_the_record() {
    let (t, output) = created(|_| {}, &[]);
    insta::assert_snapshot!(said(&t, &output.exits(0)));
}

#[test]
fn write_is_confirmed_despite_a_lagging_index() {
    let lag = Duration::from_millis(400);
    let (t, output) = created(
        |t| {
            moods(
                t,
                Moods {
                    lag,
                    ..Moods::default()
                },
            )
        },
        &["--wait", "30s"],
    );
    let output = output.exits(0).says("confirmed: ");
    let (uri, cid, _) = t.world.pds().records(&t.alice.did, PULL).remove(0);
    assert_eq!(t.world.index().knows(&uri), Some(cid));
    assert!(!output.stderr_text().contains("pending"));
}

#[test]
fn lost_record_is_confirmed_after_rewrite() {
    let (t, output) = created(|t| t.world.index().lose_next(PULL, 1), &["--wait", "8s"]);
    insta::assert_snapshot!(said(&t, &output.exits(0)));
    let (_, _, record) = t.world.pds().records(&t.alice.did, PULL).remove(0);
    assert_eq!(record["mentions"], json!([]), "the bytes have changed");
}

#[test]
fn write_without_waiting_is_pending() {
    let (t, output) = created(|_| {}, &["--no-wait"]);
    insta::assert_snapshot!(said(&t, &output.exits(0)));
    assert_eq!(t.looks(), 0);
    // Creating a label writes a definition. Deleting a label rewrites the repository's record.
    for (verb, more, written) in [
        ("create", None, "sh.tangled.label.definition"),
        ("delete", Some("--yes"), "sh.tangled.repo"),
    ] {
        let args = ["label", verb, "bug", "-R", WIDGET, "--no-wait"];
        let args: Vec<&str> = args.into_iter().chain(more).collect();
        let word = format!("! pending: written as at://{}/{written}/", t.alice.did);
        let said = t.forge(&t.alice, &args).output().exits(0).stderr_text();
        assert!(said.contains(&word), "{said}");
        assert!(
            said.contains("; the command did not wait for the index"),
            "{said}"
        );
    }
}

/// The index may lag, lose the record, ignore its collection, return another version, or send no
/// answer. Under each of these faults the record is missing, but nothing proves that it stays
/// missing.
#[test]
fn write_under_every_index_fault_is_pending() {
    let ailments: [IndexFault; 6] = [
        ("it lags", |t| {
            moods(
                t,
                Moods {
                    lag: Duration::from_secs(600),
                    ..Moods::default()
                },
            );
        }),
        ("it loses it each time", |t| {
            t.world.index().lose_next(PULL, 99)
        }),
        ("it takes in no pull requests", |t| {
            moods(
                t,
                Moods {
                    pulls: false,
                    ..Moods::default()
                },
            );
        }),
        ("it answers with another version", |t| {
            moods(
                t,
                Moods {
                    other_cid: true,
                    ..Moods::default()
                },
            );
        }),
        ("it asks to slow down", |t| {
            let fault = Fault::rate_limited(600).on(LIST).about(BY_AUTHOR);
            t.world.index().host().fault(fault.always());
        }),
        ("it is down", |t| {
            let fault = Fault::gateway(503).on(LIST).about(BY_AUTHOR);
            t.world.index().host().fault(fault.always());
        }),
    ];
    let mut first = None;
    for (ailment, set) in ailments {
        let (t, output) = created(set, &["--wait", "600ms"]);
        let said = said(&t, &output.exits(0));
        assert!(
            said.contains("stderr: ! pending: written as at://"),
            "{ailment}: {said}"
        );
        let pulls = t.world.pds().records(&t.alice.did, PULL);
        assert_eq!(pulls.len(), 1, "{ailment}");
        assert_eq!(
            *first.get_or_insert_with(|| said.clone()),
            said,
            "{ailment}"
        );
    }
    insta::assert_snapshot!(first.unwrap());
}

#[test]
fn lost_status_is_rewritten_once() {
    let t = Tangled::new();
    let uri = t.open("topic");
    t.world.index().lose_next(STATUS, 1);
    let close = ["pr", "close", &uri, "--wait", "8s"];
    says(&t.forge(&t.alice, &close), 0, "confirmed: ");
    let json = ["pr", "view", &uri, "--json", "state", "-q", ".state"];
    assert_eq!(t.forge(&t.bob, &json).text(), "CLOSED\n");
}

#[test]
fn status_ignored_by_the_index_is_pending() {
    let t = Tangled::new();
    let uri = t.open("topic");
    moods(
        &t,
        Moods {
            statuses: false,
            ..Moods::default()
        },
    );
    let close = ["pr", "close", &uri, "--wait", "600ms"];
    says(&t.forge(&t.alice, &close), 0, "! pending: written as at://");
    let state = ["pr", "view", &uri, "--json", "state", "-q", ".state"];
    let again = ["pr", "close", &uri, "--no-wait"];
    let again = || t.forge(&t.alice, &again).output().exits(0);
    let statuses = t.world.pds().records(&t.alice.did, STATUS);
    let closing = statuses.iter().map(|(uri, ..)| uri).max().unwrap();
    let word = format!("! pending: written as {closing}; the command did not wait for the index");
    let _ = again().says("is already closed").says(&word);
    assert_eq!(
        t.forge(&t.bob, &state).text(),
        "OPEN\n",
        "that of the index"
    );
    t.scratch.write(
        "home/.config/forge/config.toml",
        "[hosts.\"tangled.org\"]\nindex_date = \"2026-06\"\n",
    );
    let _ = again()
        .says("is already closed")
        .says("warning: pds_only: ")
        .says("Recovery: close, reopen or mark it as merged on its web page");
    let now = t.world.pds().records(&t.alice.did, STATUS);
    assert_eq!(now.len(), statuses.len());
}

/// A repeated command reports the ingestion state that the first command reported.
#[test]
fn repeated_change_of_dropped_record_is_ineffective() {
    let t = Tangled::new();
    t.scratch.write(
        "home/.config/forge/config.toml",
        "[hosts.\"tangled.org\"]\ndraft_marker = \"[draft]\"\n",
    );
    let uri = t.foreign(b"no gzip", |_| {});
    let ready = ["pr", "ready", &uri, "--wait", "300ms"];
    let ready = t.forge(&t.alice, &ready).output().exits(1);
    let _ = ready
        .says("is already \"ready for review\"")
        .says("the index ignores it: ");
}

#[test]
fn close_with_comment_reports_the_worse_state() {
    let t = Tangled::new();
    let uri = t.open("topic");
    t.world.index().lose_next("sh.tangled.feed.comment", 99);
    let close = ["pr", "close", &uri, "-c", "No.", "--wait", "800ms"];
    says(&t.forge(&t.alice, &close), 0, "! pending: written as at://");
    // A comment without a state change has the same ingestion state.
    let comments = || {
        t.world
            .pds()
            .records(&t.alice.did, "sh.tangled.feed.comment")
    };
    let close = ["pr", "close", &uri, "-c", "Never.", "--wait", "300ms"];
    for is_said in [false, true] {
        let said = t.forge(&t.alice, &close).output().exits(0).stderr_text();
        assert!(said.contains("is already closed"), "{said}");
        let done = said.contains("\nadditionally done: comment\n");
        assert_eq!(done, !is_said, "{said}");
        assert!(said.contains("! pending: written as at://"), "{said}");
        assert!(!said.contains("Closed pull request"), "{said}");
    }
    assert_eq!(comments().len(), 2);
}

/// The knot has merged, but the PDS refuses the status record, or its response is lost.
#[test]
fn merge_without_status_record_names_no_record() {
    let write = "com.atproto.repo.applyWrites";
    for (fault, told) in [
        (
            Fault::error(400, "InvalidRequest", "no"),
            "but not recorded, so that it still shows as open",
        ),
        (Fault::gateway(502), "merged on the knot, "),
    ] {
        let t = Tangled::new();
        let uri = t.open("topic");
        let pds = t.world.pds().host();
        pds.fault(fault.on(write).always());
        let merge = ["pr", "merge", &uri, "--rebase"];
        let said = t.forge(&t.alice, &merge).output().exits(0).stderr_text();
        assert!(said.contains(told), "{said}");
        let finish = format!(": forge pr merge {uri} --rebase\n");
        assert!(said.contains(&finish), "{said}");
        let word = "! pending: it is unknown whether a record was written";
        assert!(said.contains(word), "{said}");
        assert!(!said.contains(&format!("{STATUS}/")), "{said}");
        assert!(!said.contains("forge tangled ingestion"), "{said}");
        assert_eq!(t.world.pds().records(&t.alice.did, STATUS).len(), 1);
        pds.clear_faults();
        says(&t.forge(&t.alice, &merge), 0, "already merged");
        assert_eq!(t.world.pds().records(&t.alice.did, STATUS).len(), 2);
        assert_eq!(t.repo.git.log("main", "%s").matches("Add topic").count(), 1);
    }
}

/// Creates a clone with the pull request's branch checked out. Returns its path, and a function
/// that runs git in it.
fn clone_on_topic(t: &Tangled) -> (PathBuf, impl Fn(&[&str]) -> Run) {
    let git = move |args: &[&str]| t.scratch.run(forge_testkit::git_program()).args(args);
    git(&["clone", "--quiet", t.repo.path().to_str().unwrap(), "clone"]).ok();
    let clone = t.scratch.path("clone");
    let dir = clone.clone();
    let git = move |args: &[&str]| git(args).dir(&dir);
    let url = "https://tangled.org/alice.test/widget";
    git(&["remote", "set-url", "origin", url]).ok();
    git(&["switch", "--quiet", "-c", "topic", "origin/topic"]).ok();
    (clone, git)
}

/// The command only records an earlier merge, so its user has not agreed to delete a branch.
#[test]
fn recording_an_earlier_merge_keeps_the_clone_branch() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let (clone, git) = clone_on_topic(&t);
    let merge = ["pr", "merge", &uri, "--rebase"];
    let merge = || t.forge_in(clone.clone(), &t.alice, &merge);
    let pds = t.world.pds().host();
    pds.fault(
        Fault::gateway(502)
            .on("com.atproto.repo.applyWrites")
            .always(),
    );
    says(&merge(), 0, "merged on the knot, ");
    pds.clear_faults();
    says(&merge(), 0, "already merged");
    assert_eq!(git(&["branch", "--show-current"]).text(), "topic\n");
}

/// The branch on the knot has an unmerged commit, and the clone's branch may have one as well.
#[test]
fn branch_kept_on_knot_stays_in_clone() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let (clone, git) = clone_on_topic(&t);
    let merge = ["pr", "merge", &uri, "--rebase"];
    t.forge(&t.alice, &merge).ok();
    t.repo
        .git
        .commit("topic", "Later", &[("later.txt", Some("later\n"))]);
    let and_delete = [&merge[..], &["-d"]].concat();
    let again = t.forge_in(clone, &t.alice, &and_delete);
    says(&again, 0, "the branch was not deleted");
    assert_eq!(git(&["branch", "--show-current"]).text(), "topic\n");
}

#[test]
fn default_branch_survives_on_knot_and_clone() {
    let t = Tangled::new();
    t.branch("topic");
    let git = &t.repo.git;
    git.set_branch("release", "main");
    git.commit("main", "Fix", &[("fix.txt", Some("fix\n"))]);
    let into = ["pr", "create", "-R", WIDGET, "-H", "main", "-B", "release"];
    let create = [&into[..], &["-t", "T", "-b", "B"]].concat();
    let uri = t.forge(&t.alice, &create).text();
    let (clone, in_clone) = clone_on_topic(&t);
    in_clone(&["switch", "--quiet", "main"]).ok();
    let merge = ["pr", "merge", uri.trim(), "--rebase", "-d"];
    let merged = t.forge_in(clone, &t.alice, &merge);
    says(&merged, 0, "'main': it is the default branch");
    assert!(git.log("release", "%s").starts_with("Fix\n"));
    assert!(git.oid("main").is_some());
    assert_eq!(in_clone(&["branch", "--show-current"]).text(), "main\n");
}

#[test]
fn deletion_is_pending_until_record_leaves_index() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let comment = ["pr", "comment", &uri, "-b", "Text."];
    let delete = ["pr", "comment", &uri, "--delete-last", "--yes"];
    t.forge(&t.bob, &comment).ok();
    says(
        &t.forge(&t.bob, &delete),
        0,
        " no longer shows the record, after ",
    );
    t.forge(&t.bob, &comment).ok();
    let lag = Duration::from_secs(600);
    moods(
        &t,
        Moods {
            lag,
            ..Moods::default()
        },
    );
    let impatient = [&delete[..], &["--wait", "400ms"]].concat();
    let said = t.forge(&t.bob, &impatient).output().exits(0).stderr_text();
    assert!(
        said.contains("! pending: the record is deleted, and may"),
        "{said}"
    );
    // After a deletion, there is no record for `forge tangled ingestion` to check.
    assert!(!said.contains("forge tangled ingestion"), "{said}");
}

/// The command edits the latest comment even if the index shows only the previous one.
#[test]
fn edit_last_chooses_the_latest_written_comment() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let texts = || {
        let all = t.world.pds().records(&t.bob.did, "sh.tangled.feed.comment");
        let mut texts: Vec<String> = all
            .iter()
            .map(|(.., it)| it["body"]["text"].as_str().unwrap().to_owned())
            .collect();
        texts.sort();
        texts
    };
    let comment = ["pr", "comment", &uri, "-b", "First."];
    says(&t.forge(&t.bob, &comment), 0, "confirmed: ");
    let lag = Duration::from_secs(600);
    moods(
        &t,
        Moods {
            lag,
            ..Moods::default()
        },
    );
    let comment = ["pr", "comment", &uri, "-b", "Second.", "--no-wait"];
    t.forge(&t.bob, &comment).ok();
    let edit = [
        "pr",
        "comment",
        &uri,
        "--edit-last",
        "-b",
        "Third.",
        "--no-wait",
    ];
    t.forge(&t.bob, &edit).ok();
    assert_eq!(texts(), ["First.", "Third."]);
    let delete = ["pr", "comment", &uri, "--delete-last", "--yes", "--no-wait"];
    says(
        &t.forge(&t.bob, &delete),
        0,
        "! pending: the record is deleted; the command did not wait",
    );
    assert_eq!(texts(), ["First."]);
}

#[test]
fn record_unknown_to_old_index_is_pds_only() {
    let t = Tangled::new();
    let uri = t.open("topic");
    t.scratch.write(
        "home/.config/forge/config.toml",
        "[hosts.\"tangled.org\"]\nindex_date = \"2026-06\"\n",
    );
    moods(
        &t,
        Moods {
            statuses: false,
            ..Moods::default()
        },
    );
    let output = t.forge(&t.alice, &["pr", "close", &uri]).output().exits(0);
    insta::assert_snapshot!(said(&t, &output));
    assert_eq!(t.world.pds().records(&t.alice.did, STATUS).len(), 2);
    // `forge` reads states from the PDS if this index lacks them.
    let view = ["pr", "view", &uri, "--json", "state", "-q", ".state"];
    let view = t.forge(&t.bob, &view).output().success();
    assert_eq!(view.stdout_text(), "CLOSED\n");
    let said = view.stderr_text();
    assert!(said.contains("this index does not ingest"), "{said}");
    // An index that ignores a collection never sees deletions in it.
    t.scratch.write(
        "home/.config/forge/config.toml",
        "[hosts.\"tangled.org\"]\nindex_date = \"2026-05\"\n",
    );
    let comment = ["pr", "comment", &uri, "-b", "Text."];
    says(
        &t.forge(&t.bob, &comment),
        0,
        "pds_only: the PDS has the record",
    );
    let delete = ["pr", "comment", &uri, "--delete-last", "--yes"];
    says(
        &t.forge(&t.bob, &delete),
        0,
        "pds_only: the record is deleted",
    );
    let comments = t.world.pds().records(&t.bob.did, "sh.tangled.feed.comment");
    assert!(comments.is_empty(), "{comments:?}");
}

/// Compresses a patch with gzip, as the rounds in a record are.
pub(super) fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::default());
    gz.write_all(bytes).unwrap();
    gz.finish().unwrap()
}

const DIFF: &[u8] =
    b"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n";

/// Edits a faulty record that another program wrote, and returns the transcript. The index drops
/// every version of the record.
fn edited(patch: &[u8], change: impl Fn(&mut serde_json::Value)) -> String {
    let t = Tangled::new();
    let uri = t.foreign(patch, change);
    let edit = ["pr", "edit", &uri, "-t", "Better", "--wait", "3s"];
    let output = t.forge(&t.alice, &edit).output().exits(1);
    let (_, record) = t.world.pds().record(&uri).unwrap();
    assert_eq!(record["title"], "Better", "it is stored");
    assert!(t.world.index().knows(&uri).is_none());
    assert!(output.stderr_text().contains("the index ignores it: "));
    said(&t, &output)
}

#[test]
fn edit_of_pull_with_uncompressed_patch_is_ineffective() {
    insta::assert_snapshot!(edited(DIFF, |_| {}));
}

#[test]
fn edit_of_pull_with_oversized_patch_is_ineffective() {
    let mut large = DIFF.to_vec();
    large.resize((15 << 20) + 1, b'\n');
    insta::assert_snapshot!(edited(&packed(&large), |_| {}));
}

#[test]
fn edit_of_pull_without_target_did_is_ineffective() {
    let said = edited(&packed(DIFF), |record| {
        let did = record["target"]["repo"].clone();
        record["target"]["repoDid"] = did;
        record["target"]["repo"] = json!("at://alice.test/sh.tangled.repo/widget");
    });
    insta::assert_snapshot!(said);
}

#[test]
fn edit_of_pull_with_invalid_time_is_ineffective() {
    let said = edited(&packed(DIFF), |record| {
        record["rounds"][0]["createdAt"] = json!("yesterday");
    });
    insta::assert_snapshot!(said);
}

/// Runs `run`, and calls `then` once `run` has begun to write.
fn while_it_writes(t: &Tangled, run: &Run, then: impl FnOnce() + Send) -> Output {
    let pds = t.world.pds().host();
    let write = "com.atproto.repo.applyWrites";
    pds.fault(Fault::delayed(Duration::from_secs(1)).on(write));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while pds.faults_left() > 0 {
                std::thread::sleep(Duration::from_millis(5));
            }
            then();
        });
        run.output()
    })
}

/// When `forge` checks the position, the index lacks the other pull request. The index then ingests
/// the other pull request before ours.
#[test]
fn pull_on_taken_stack_position_is_ineffective() {
    let t = Tangled::new();
    let lower = t.open("lower");
    t.repo.git.set_branch("upper", "lower");
    t.branch("upper");
    moods(
        &t,
        Moods {
            lag: Duration::from_secs(600),
            ..Moods::default()
        },
    );
    t.foreign(&packed(DIFF), |record| record["dependentOn"] = json!(lower));
    let args = [
        "pr", "create", "-R", WIDGET, "-H", "upper", "-t", "T", "-b", "B",
    ];
    let more = ["--depends-on", &lower, "--wait", "600ms"];
    let run = t.forge(&t.alice, &[&args[..], &more].concat());
    let output = while_it_writes(&t, &run, || moods(&t, Moods::default()));
    insta::assert_snapshot!(said(&t, &output.exits(1)));
}

#[test]
fn status_of_account_without_permission_is_ineffective() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let carol = t.world.pds().account("carol.test", super::world::PASSWORD);
    let refused = t.forge(&carol, &["pr", "close", &uri]).output().exits(1);
    insta::assert_snapshot!("before_it_is_written", said(&t, &refused));
    assert!(t.world.pds().records(&carol.did, STATUS).is_empty());
    // Other programs write such records without checking the permission.
    let (status, _) = t.world.pds().add(
        &carol.did,
        STATUS,
        json!({
            "pull": uri,
            "status": "sh.tangled.repo.pull.status.closed",
            "createdAt": "2026-11-01T00:00:00Z",
        }),
    );
    let check = ["tangled", "ingestion", &status];
    let output = t.forge(&t.bob, &check).output().exits(1);
    let said = said(&t, &output).replace(&carol.did, "[carol]");
    insta::assert_snapshot!("afterwards", said);
}

/// Bob may push when `forge` checks the permission, but no longer when the index ingests the
/// record.
#[test]
fn write_after_lost_permission_is_ineffective() {
    let t = Tangled::new();
    let uri = t.open("topic");
    moods(
        &t,
        Moods {
            drops_unauthorised: true,
            ..Moods::default()
        },
    );
    let close = t.forge(&t.bob, &["pr", "close", &uri, "--wait", "600ms"]);
    let output = while_it_writes(&t, &close, || {
        t.world.knot().remove_collaborator(&t.repo, &t.bob.did);
    });
    insta::assert_snapshot!(said(&t, &output.exits(1)));
    assert_eq!(t.world.pds().records(&t.bob.did, STATUS).len(), 1, "stored");
}

#[test]
fn wait_flags_have_no_effect_on_immediate_forges() {
    let world = crate::world::World::with_pull();
    for flag in [&["--no-wait"][..], &["--wait", "1s"]] {
        let args = [&["pr", "comment", "1", "-b", "Text."][..], flag].concat();
        let output = world.forge(&args).output().success();
        assert_eq!(output.stderr_text(), "");
    }
    let bad = ["pr", "close", "1", "--wait", "soon"];
    says(&world.forge(&bad), 1, "as in 30s");
    let both = ["pr", "close", "1", "--wait", "1s", "--no-wait"];
    says(&world.forge(&both), 1, "cannot be used with");
}

#[test]
fn merge_without_method_names_the_only_method() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let merge = t.forge(&t.bob, &["pr", "merge", &uri]).output().exits(1);
    let said = merge.stderr_text();
    assert!(said.contains("--rebase required when not"), "{said}");
    assert!(said.contains("set merge.method rebase"), "{said}");
    assert!(!said.contains("squash"), "{said}");
}
