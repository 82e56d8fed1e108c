//! Tests `forge doctor --live` on tangled's services.

use std::fs;

use forge_core::Timestamp;
use forge_tangled_world::{Fault, Host, Recorded};
use serde_json::{Value, json};

use super::world::{PASSWORD, Tangled, WIDGET};
use crate::world::rows;

impl Tangled {
    /// Runs `doctor --live` as Alice and returns its report. Asserts that the command sent only
    /// reads and printed no credential.
    #[track_caller]
    fn doctor(&self, repo: &str) -> String {
        let world = &self.world;
        let hosts: [&Host; 4] = [
            world.directory().host(),
            world.pds().host(),
            world.knot().host(),
            world.index().host(),
        ];
        hosts.iter().for_each(|host| host.reset_record());
        let run = self.forge(&self.alice, &["doctor", "--live", "-R", repo]);
        let output = run.output();
        let said = format!("{}{}", output.stdout_text(), output.stderr_text());
        for secret in self.secrets() {
            assert!(!said.contains(&secret), "{said}");
        }
        for host in hosts {
            let sent = host.requests();
            // git lists branches with a POST request.
            let reads = |it: &Recorded| it.verb == "GET" || it.path.ends_with("/git-upload-pack");
            assert!(sent.iter().all(reads), "{sent:?}");
        }
        output.stdout_text()
    }

    /// Returns the app password, and the tokens of the stored sessions.
    fn secrets(&self) -> Vec<String> {
        let dir = self.scratch.path("home/.config/forge/sessions");
        let files = fs::read_dir(dir).into_iter().flatten().flatten();
        let texts = files.filter_map(|file| fs::read(file.path()).ok());
        // The lock of a session is an empty file.
        let sessions = texts.filter_map(|text| serde_json::from_slice::<Value>(&text).ok());
        let tokens = sessions.flat_map(|session| {
            ["access", "refresh"].map(|it| session[it].as_str().map(str::to_owned))
        });
        let password = PASSWORD.to_owned();
        tokens.flatten().chain([password]).collect()
    }
}

/// Returns verdict and detail of the entry `name` in the report.
#[track_caller]
fn entry<'a>(report: &'a str, name: &str) -> (&'a str, &'a str) {
    let rows = rows(report);
    let row = rows.iter().find(|row| row.get(1) == Some(&name));
    let row = row.unwrap_or_else(|| panic!("{name}: {report}"));
    (row[0], row[2])
}

#[test]
fn doctor_requests_each_method_of_tangled_2026() {
    let t = Tangled::new();
    let spindle = t.spindle();
    t.open("topic");
    let report = t.doctor(WIDGET);
    for name in [
        "handle",
        "identity document",
        "PDS com.atproto.repo.listRecords",
        "repository",
        "index sh.tangled.repo.listPulls",
        "index sh.tangled.repo.listRepos",
        "index sh.tangled.repo.pull.listStatuses",
        "index sh.tangled.feed.listComments",
        "knot sh.tangled.knot.version",
        "knot sh.tangled.repo.describeRepo",
        "knot sh.tangled.repo.branch",
        "knot sh.tangled.repo.branches",
        "knot sh.tangled.repo.tree",
        "knot sh.tangled.repo.blob",
        "knot sh.tangled.repo.log",
        "knot sh.tangled.repo.compare",
        "spindle sh.tangled.ci.queryPipelines",
    ] {
        assert_eq!(entry(&report, name).0, "ok", "{name}: {report}");
    }
    assert!(
        entry(&report, "repository")
            .1
            .starts_with("protocol of 2026")
    );
    for name in [
        "knot sh.tangled.repo.merge",
        "knot sh.tangled.repo.mergeCheck",
        "knot org.tangled.temp.git.formatPatch",
        "index sh.tangled.repo.issue.listStates",
    ] {
        assert_eq!(entry(&report, name).0, "skipped", "{name}: {report}");
    }
    let sent = spindle.host().requests();
    assert!(sent.iter().all(|it| it.verb == "GET"), "{sent:?}");
}

/// A view warns that a status record alone calls a pull request merged. The services answered as
/// expected all the same.
#[test]
fn doctor_reads_merged_pull_as_expected() {
    let t = Tangled::new();
    let uri = t.open("topic");
    t.forge(&t.alice, &["pr", "merge", &uri, "-R", WIDGET, "--rebase"])
        .ok();
    assert_eq!(entry(&t.doctor(WIDGET), "pr.view"), ("ok", "answered"));
    // The newest pull request is now one that only a record calls merged.
    let claimed = t.open("claimed");
    let status = json!({
        "pull": claimed, "status": "sh.tangled.repo.pull.status.merged",
        "createdAt": Timestamp::now().to_string(),
    });
    let statuses = "sh.tangled.repo.pull.status";
    t.world.pds().add(&t.bob.did, statuses, status);
    assert_eq!(entry(&t.doctor(WIDGET), "pr.view"), ("ok", "answered"));
    // A part of the view that cannot be read is a difference.
    let other = Fault::answer(200, &[("content-type", "application/json")], "[]");
    let other = other.on("sh.tangled.feed.listComments").always();
    t.world.index().host().fault(other);
    assert_eq!(entry(&t.doctor(WIDGET), "pr.view").0, "differs");
}

#[test]
fn doctor_distinguishes_unknown_changed_and_silent_methods() {
    let t = Tangled::new();
    let unknown = Fault::error(501, "MethodNotImplemented", "Method Not Implemented");
    let unknown = unknown.on("sh.tangled.repo.listIssues").always();
    t.world.index().host().fault(unknown);
    let json = [("content-type", "application/json")];
    let other = Fault::answer(200, &json, r#"{"refs": []}"#);
    let other = other.on("sh.tangled.repo.branches").always();
    t.world.knot().host().fault(other);
    let lost = Fault::reset().on("sh.tangled.repo.log").always();
    t.world.knot().host().fault(lost);
    let report = t.doctor(WIDGET);
    let (verdict, detail) = entry(&report, "index sh.tangled.repo.listIssues");
    assert_eq!(verdict, "differs", "{report}");
    assert!(detail.contains("MethodNotImplemented"), "{detail}");
    let lacks = "the answer lacks branches; it has: refs";
    let branches = entry(&report, "knot sh.tangled.repo.branches");
    assert_eq!(branches, ("differs", lacks));
    let log = entry(&report, "knot sh.tangled.repo.log");
    assert_eq!(log.0, "unreachable", "{report}");
}

#[test]
fn doctor_checks_1_0_methods_of_1_0_repositories() {
    let t = Tangled::new();
    let _repo = t.world.repository_1_0(&t.alice, "new");
    let report = t.doctor("tangled:alice.test/new");
    assert!(
        entry(&report, "repository")
            .1
            .starts_with("protocol of 1.0")
    );
    for name in [
        "knot org.tangled.temp.git.getMergeBase",
        "knot org.tangled.temp.git.formatPatch",
    ] {
        assert_eq!(entry(&report, name).0, "ok", "{name}: {report}");
    }
    assert_eq!(entry(&report, "knot sh.tangled.repo.branch").0, "skipped");
}

#[test]
fn doctor_compares_1_0_records_with_their_lexicons() {
    let t = Tangled::new();
    let repo = t.world.repository_1_0(&t.alice, "new");
    let put = |collection: &str, record: Value| {
        let _ = t
            .world
            .knot()
            .put_record(&repo.did, collection, "3lk", record);
    };
    let at = "2026-11-01T00:00:00Z";
    let title = json!({ "$type": "org.tangled.markup.markdown#inline", "text": "canary title" });
    let ticket = json!({ "title": title, "state": "open", "createdAt": at, "x-tngl-new": 1 });
    put("org.tangled.track.ticket", ticket);
    let oid = json!({ "oid": "a".repeat(40) });
    let patch = json!({
        "ticket": 7, "base": oid, "createdAt": at, "say \"ok\"\tok": "canary value",
        "source": { "repo": repo.did, "branch": "topic", "at?x=y": 1 },
    });
    put("org.tangled.review.patch", patch);
    let report = t.doctor("tangled:alice.test/new");
    for (name, expected) in [
        ("repo.declaration", ("ok", "shape as expected")),
        ("repo.manifest", ("ok", "shape as expected")),
        ("track.ticket", ("ok", "shape as expected")),
        ("feed.comment", ("skipped", "none found")),
        ("graph.collaborator", ("skipped", "none found")),
    ] {
        let row = entry(&report, &format!("record org.tangled.{name}"));
        assert_eq!(row, expected, "{name}: {report}");
    }
    let (verdict, detail) = entry(&report, "record org.tangled.review.patch");
    assert_eq!(verdict, "differs", "{report}");
    let lacks = "lacks required fields: \"head\"; fields with unexpected types: \"ticket\"; \
                 unknown fields: ";
    assert!(detail.starts_with(lacks), "{detail}");
    assert!(detail.contains(r#""source.at_x=y""#), "{detail}");
    assert!(detail.contains(r"'ok\'"), "{detail}");
    assert!(!report.contains("canary"), "{report}");
    let sent = t.world.knot().host().requests();
    let lists = |it: &&Recorded| it.path.ends_with("listRecords") && it.query.ends_with("limit=1");
    assert_eq!(sent.iter().filter(lists).count(), 5, "{sent:?}");
    let report = t.doctor(WIDGET);
    let skipped = entry(&report, "record org.tangled.track.ticket");
    assert_eq!(skipped, ("skipped", "is of Tangled 1.0"));
}

#[test]
fn doctor_without_a_repository_checks_the_account() {
    let t = Tangled::new();
    let report = t.doctor("tangled:alice.test/nothing");
    assert_eq!(entry(&report, "handle").0, "ok", "{report}");
    assert_eq!(entry(&report, "repository").0, "differs", "{report}");
    let method = entry(&report, "index sh.tangled.repo.listPulls");
    assert_eq!(method.0, "skipped", "{report}");
}

/// Users show the report to other people, so it must not contain what a lying PDS repeats.
#[test]
fn doctor_masks_credentials_in_answers() {
    let t = Tangled::new();
    // Opens a session, whose tokens the PDS can then repeat as well.
    t.open("topic");
    let secrets = t.secrets();
    let [access, refresh, password] = &secrets[..] else {
        panic!("{} credentials", secrets.len());
    };
    let pds = t.world.pds().host();
    let message = format!("no records for {password}, {access} and {refresh}");
    let as_message = Fault::error(400, "InvalidRequest", &message);
    let keys = json!({ (password): 1, (access): 2, (refresh): 3 });
    let header = [("content-type", "application/json")];
    let as_keys = Fault::answer(200, &header, keys.to_string());
    for (echo, detail) in [
        (as_message, "no records for ***, *** and ***"),
        (as_keys, "the answer lacks records; it has: ***, ***, ***"),
    ] {
        pds.fault(echo.on("com.atproto.repo.listRecords").always());
        // `doctor` also asserts that no credential is printed.
        let report = t.doctor(WIDGET);
        let (verdict, said) = entry(&report, "PDS com.atproto.repo.listRecords");
        assert_eq!(verdict, "differs", "{report}");
        assert!(said.contains(detail), "{report}");
        assert_eq!(entry(&report, "viewer").0, "ok", "{report}");
        pds.clear_faults();
    }
}
