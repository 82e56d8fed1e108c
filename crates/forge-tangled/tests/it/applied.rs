//! Rounds are applied to the objects of a clone, and compared with what they show.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use forge_core::{
    PrId, PrKey, PullRequests, Trust,
    model::{DiffReq, LocalClone, MergeReq, PrFields, PrState, Rounds},
};
use forge_tangled_world::Fault;
use forge_testkit::{GitDir, Identity};
use serde_json::json;
use tempfile::TempDir;

use crate::stage::Stage;

const PULL: &str = "sh.tangled.repo.pull";
const MERGE: &str = "sh.tangled.repo.merge";
const AT: &str = "2026-11-01T00:00:00Z";

/// A file with two equal functions.
const CODE: &str = "fn one() {\n    a\n    b\n    c\n    d\n    e\n    f\n}\nfn two() {\n    a\n    b\n    c\n    d\n    e\n    f\n}\n";

/// A stage with files on `main`, and a clone that knows them.
struct Ground {
    stage: Stage,
    clone: TempDir,
}

impl Ground {
    fn new() -> Self {
        let stage = Stage::new();
        let old_logo = [&[0, 1, 2][..], &[7; 300]].concat();
        let files: [(&str, Option<&[u8]>); 4] = [
            ("code", Some(CODE.as_bytes())),
            ("logo", Some(&old_logo)),
            ("secret", Some(b"\0secret\n")),
            ("windows", Some(b"one\r\ntwo\r\n")),
        ];
        let git = &stage.repo.git;
        git.commit_bytes("main", &Identity::ADA, "Files", &files);
        let clone = tempfile::tempdir().unwrap();
        let path = stage.repo.path().to_string_lossy().into_owned();
        let ours = GitDir::init(clone.path(), &[]);
        ours.run(["remote", "add", "knot", &path]).ok();
        let ground = Self { stage, clone };
        ground.fetch();
        ground
    }

    fn fetch(&self) {
        let ours = GitDir::at(self.clone.path());
        ours.run(["fetch", "--quiet", "knot"]).ok();
    }

    fn clone(&self) -> Option<LocalClone> {
        Some(LocalClone::new(self.clone.path(), "knot", Trust::Guarded))
    }

    /// Returns the mails of a branch, as git prints them with these options.
    fn mails(&self, branch: &str, options: &[&str]) -> String {
        let range = format!("main..{branch}");
        let mut args = vec!["format-patch", "--stdout"];
        args.extend(options);
        args.push(&range);
        self.stage.repo.git.run(args).text()
    }

    /// Commits the second function with another line, and returns the mail.
    fn second_changed(&self) -> String {
        let (first, second) = CODE.split_at(CODE.find("fn two").unwrap());
        let code = format!("{first}{}", second.replace("    c\n", "    C\n"));
        let git = &self.stage.repo.git;
        git.commit("topic", "Change code", &[("code", Some(&code))]);
        self.mails("topic", &[])
    }

    /// Writes a pull request with these rounds, as another program would.
    fn open(&self, rounds: &[&str]) -> PrId {
        let (pds, did) = (self.stage.world.pds(), &self.stage.alice.did);
        let rounds: Vec<_> = rounds
            .iter()
            .map(|patch| {
                let mut gz = GzEncoder::new(Vec::new(), Compression::default());
                gz.write_all(patch.as_bytes()).unwrap();
                let blob = pds.blob(did, "application/gzip", &gz.finish().unwrap());
                json!({ "createdAt": AT, "patchBlob": blob })
            })
            .collect();
        let record = json!({
            "$type": PULL,
            "title": "Change",
            "target": { "repo": self.stage.repo.did, "branch": "main" },
            "rounds": rounds,
            "createdAt": AT,
        });
        PrId {
            repo: self.stage.id(),
            key: PrKey::Record(pds.add(did, PULL, record).0),
        }
    }

    fn merging(&self) -> MergeReq {
        let mut req = MergeReq::default();
        req.clone = self.clone();
        req
    }

    /// Returns the warnings of the diff with and without the clone.
    async fn warnings(&self, pr: &PrId) -> [Vec<String>; 2] {
        let forge = self.stage.tangled(&self.stage.bob);
        let mut found = [Vec::new(), Vec::new()];
        for (warnings, clone) in found.iter_mut().zip([self.clone(), None]) {
            let mut req = DiffReq::default();
            req.clone = clone;
            let diff = forge.diff(pr, &req).await.unwrap();
            warnings.extend(diff.warnings.into_iter().map(|it| it.message));
        }
        found
    }
}

/// Each of these patches has the form that git prints.
#[tokio::test]
async fn round_that_git_reads_otherwise_is_not_merged() {
    let ground = Ground::new();
    let git = &ground.stage.repo.git;
    let mail = ground.second_changed();
    let place = mail
        .lines()
        .find(|line| line.starts_with("@@ -9,7 +9,7 @@"));
    let place = place.unwrap().to_owned();
    let code = git.oid("main:code").unwrap();
    let secret = git.oid("main:secret").unwrap();
    let ids = |mail: &str| {
        let line = mail.lines().find(|line| line.starts_with("index "));
        line.unwrap().to_owned()
    };
    let hunk = &mail[mail.find("--- a/code").unwrap()..mail.find("-- \n").unwrap()];

    git.commit_bytes(
        "binary",
        &Identity::ADA,
        "Change logo",
        &[("logo", Some(&[&[0, 1, 2][..], &[8; 300]].concat()))],
    );
    let logo = ground.mails("binary", &["--full-index"]);
    let new_logo = git.oid("binary:logo").unwrap();
    let mut failures = Vec::new();
    for (what, patch, why) in [
        (
            "another place",
            mail.replace(&place, "@@ -2,7 +2,7 @@"),
            "at another place",
        ),
        (
            "a place some lines off",
            mail.replace(&place, "@@ -8,7 +8,7 @@"),
            "at another place",
        ),
        (
            "another new place",
            mail.replace(&place, "@@ -9,7 +10,7 @@"),
            "at another place",
        ),
        (
            "a heading of its own",
            mail.replace(&place, "@@ -9,7 +9,7 @@ fn tests_only() {"),
            "at another place",
        ),
        (
            "another result",
            mail.replace(
                &ids(&mail),
                &format!("index {}..{} 100644", &code[..7], &secret[..7]),
            ),
            "`index` line",
        ),
        (
            "another mode",
            mail.replace(" 100644\n--- ", " 100755\n--- "),
            "has the mode",
        ),
        (
            "another old mode",
            mail.replace(
                &ids(&mail),
                &format!(
                    "old mode 100755\nnew mode 100644\n{}",
                    ids(&mail).replace(" 100644", "")
                ),
            ),
            "mode",
        ),
        (
            "a mail that git skips",
            mail.replace("From: Ada Lovelace", "From: Mail System Internal Data"),
            "commits",
        ),
        (
            "content of an object that the clone has",
            mail.replace(&ids(&mail), &format!("index {code}..{secret} 100644"))
                .replace(hunk, "Binary files a/code and b/code differ\n"),
            "an object that the clone has",
        ),
        (
            "a binary patch with the id of an object that the clone has",
            logo.replace(&new_logo, &secret),
            "other binary content",
        ),
    ] {
        assert!(patch != mail && patch != logo, "{what}");
        let pr = ground.open(&[&patch]);
        let [found, without] = ground.warnings(&pr).await;
        let unseen = "forge does not merge this round";
        // The form alone shows some of these.
        let is_form = without.iter().any(|it| it.contains(unseen));
        let told = |it: &String| it.contains(unseen) && (is_form || it.contains(why));
        if !found.iter().any(told) {
            failures.push(format!("{what}: {found:?}"));
        }
        let forge = ground.stage.tangled(&ground.stage.bob);
        match forge.merge(&pr, &ground.merging()).await {
            Err(e) if e.code() == "precondition_failed" => {}
            other => failures.push(format!("{what}: {other:?}")),
        }
    }
    assert_eq!(failures, Vec::<String>::new());
    assert_eq!(ground.stage.world.knot().host().count_of(MERGE), 0);
}

/// Honest rounds of many kinds, also onto a base that has moved since.
#[tokio::test]
async fn honest_round_merges_with_clone_of_base() {
    let ground = Ground::new();
    let git = &ground.stage.repo.git;
    let base = git.oid("main").unwrap();
    let longer = |text: &str| format!("{text}    g\n");
    let stream = |branch: &str, changes: &str| {
        let who = "Ada Lovelace <ada@example.com> 1767225700 +0000";
        let text = format!(
            "commit refs/heads/{branch}\nauthor {who}\ncommitter {who}\ndata 7\nChange\n\n\
             from {base}\n{changes}\n"
        );
        git.import(text.into_bytes());
    };
    ground.second_changed();
    git.commit("twice", "One", &[("new", Some("1\n2\n"))]);
    git.commit("twice", "Two", &[("new", Some("1\n3\n"))]);
    stream("renamed", "R code src/code");
    stream("swapped", "R code x\nR secret code\nR x secret");
    stream(
        "mode",
        &format!("M 100755 {} code", git.oid("main:code").unwrap()),
    );
    stream("link", "D code\nM 120000 inline code\ndata 4\nlogo");
    stream("gone", "D logo\nD secret\nM 100644 inline empty\ndata 0\n");
    stream("module", &format!("M 160000 {base} sub"));
    git.commit("copied", "Copy", &[("copy", Some(&longer(CODE)))]);
    let binary: [(&str, Option<&[u8]>); 2] = [
        ("logo", Some(&[&[0, 1, 2][..], &[8; 300], &[9; 5]].concat())),
        ("picture", Some(b"\0\x01\xff")),
    ];
    git.commit_bytes("binary", &Identity::ADA, "Pictures", &binary);
    git.commit("returns", "Add it", &[("dos", Some("a\r\nb\r\n"))]);
    let copies = ["-C", "--find-copies-harder"];
    let mut failures = Vec::new();
    for (branch, options) in [
        ("topic", &[][..]),
        ("twice", &[]),
        ("renamed", &["-M"]),
        ("renamed", &["--no-renames"]),
        ("swapped", &["-M", "-B"]),
        ("mode", &[]),
        ("link", &[]),
        ("gone", &[]),
        ("module", &[]),
        ("copied", &copies),
        ("copied", &["-U1"]),
        ("binary", &["--binary"]),
        ("returns", &[]),
    ] {
        git.set_branch("main", &base);
        let patch = ground.mails(branch, options);
        let pr = ground.open(&[&patch]);
        let [found, without] = ground.warnings(&pr).await;
        if found != without {
            failures.push(format!("{branch} {options:?}: {found:?}\n{patch}"));
        }
        let forge = ground.stage.tangled(&ground.stage.bob);
        let merged = forge.merge(&pr, &ground.merging()).await;
        match merged {
            Ok(merged) if merged.value.pull_request.state == PrState::Merged => {}
            other => failures.push(format!("{branch} {options:?}: {other:?}\n{patch}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    git.set_branch("main", &base);
    let patch = ground.mails("topic", &[]);
    let moved = format!(
        "// A line above.\n{}",
        CODE.replacen("    c\n", "    X\n", 1)
    );
    git.commit("main", "Meanwhile", &[("code", Some(&moved))]);
    ground.fetch();
    let pr = ground.open(&[&patch]);
    let [found, without] = ground.warnings(&pr).await;
    assert_eq!(found, without);
    let forge = ground.stage.tangled(&ground.stage.bob);
    forge.merge(&pr, &ground.merging()).await.unwrap();
    assert!(git.show("main", "code").contains("    C\n"));
}

/// `git apply --check` of a knot takes a series as one patch; `git am` takes it mail by mail.
#[tokio::test]
async fn round_that_does_not_apply_is_refused_before_the_merge() {
    let ground = Ground::new();
    let mail = ground.second_changed();
    let git = &ground.stage.repo.git;
    let pr = ground.open(&[&mail]);
    git.commit("main", "Other", &[("code", Some("other\n"))]);
    ground.fetch();
    let clean = json!({ "is_conflicted": false }).to_string();
    let knot = ground.stage.world.knot().host();
    let json = [("content-type", "application/json")];
    knot.fault(Fault::answer(200, &json, clean).on("sh.tangled.repo.mergeCheck"));
    let forge = ground.stage.tangled(&ground.stage.bob);
    let e = forge.merge(&pr, &ground.merging()).await.unwrap_err();
    assert!(e.message().contains("although the knot says"), "{e:?}");
    assert!(e.message().contains("does not apply to 'main'"), "{e:?}");
    assert_eq!(knot.count_of(MERGE), 0);
}

/// The knot commits the same lines at another place.
#[tokio::test]
async fn merge_of_equal_lines_at_another_place_is_not_recorded() {
    let ground = Ground::new();
    let mail = ground.second_changed();
    let git = &ground.stage.repo.git;
    let pr = ground.open(&[&mail]);
    let before = git.oid("main").unwrap();
    let elsewhere = CODE.replacen("    c\n", "    C\n", 1);
    let date = git.log("topic", "%ad").lines().next().unwrap().to_owned();
    git.set_branch("other", &before);
    git.commit("other", "Change code", &[("code", Some(&elsewhere))]);
    let tree = git.oid("other^{tree}").unwrap();
    let made = git
        .run(["commit-tree", &tree, "-p", &before, "-m", "Change code"])
        .env("GIT_AUTHOR_DATE", &date)
        .text();
    git.set_branch("main", made.trim());
    let json_type = [("content-type", "application/json")];
    let stale = json!({ "name": "main", "hash": before, "message": "Files" }).to_string();
    let knot = ground.stage.world.knot().host();
    knot.fault(Fault::answer(200, &json_type, stale).on("sh.tangled.repo.branch"));
    let clean = json!({ "is_conflicted": false }).to_string();
    knot.fault(Fault::answer(200, &json_type, clean).on("sh.tangled.repo.mergeCheck"));
    knot.fault(Fault::answer(200, &json_type, "null").on(MERGE));
    let forge = ground.stage.tangled(&ground.stage.bob);
    let e = forge.merge(&pr, &ground.merging()).await.unwrap_err();
    assert!(e.message().contains("does not hold the change"), "{e:?}");
    let statuses = ground.stage.world.pds();
    let statuses = statuses.records(&ground.stage.bob.did, "sh.tangled.repo.pull.status");
    assert!(statuses.is_empty());
}

/// The clone is somebody else's work: nothing that it names runs, and nothing in it changes.
#[tokio::test]
async fn trial_runs_no_program_of_the_clone() {
    let ground = Ground::new();
    let mail = ground.second_changed();
    let pr = ground.open(&[&mail]);
    let ours = GitDir::at(ground.clone.path());
    let log = ground.clone.path().join("ran");
    let program = format!("echo ran >> '{}'; cat", log.display());
    for key in [
        "core.fsmonitor",
        "filter.own.clean",
        "filter.own.smudge",
        "core.alternateRefsCommand",
    ] {
        ours.run(["config", key, &program]).ok();
    }
    std::fs::write(
        ground.clone.path().join(".git/info/attributes"),
        "* filter=own\n",
    )
    .unwrap();
    for hook in [
        "applypatch-msg",
        "pre-applypatch",
        "post-index-change",
        "reference-transaction",
    ] {
        let path = ground.clone.path().join(".git/hooks").join(hook);
        std::fs::write(&path, format!("#!/bin/sh\n{program}\n")).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
    }
    let list = || {
        let files = ours.run(["status", "--porcelain"]).text();
        (
            ours.refs(),
            files,
            std::fs::read_dir(ours.path().join(".git/objects"))
                .unwrap()
                .count(),
        )
    };
    std::fs::remove_file(&log).unwrap_or_default();
    let before = list();
    std::fs::remove_file(&log).unwrap_or_default();
    let [found, without] = ground.warnings(&pr).await;
    assert_eq!(found, without);
    assert!(!log.exists(), "{}", std::fs::read_to_string(&log).unwrap());
    assert_eq!(list(), before);
}

#[tokio::test]
async fn difference_between_rounds_is_a_difference_of_results() {
    let ground = Ground::new();
    let mail = ground.second_changed();
    let heading = mail.lines().find(|line| line.starts_with("@@ ")).unwrap();
    let ids = mail
        .lines()
        .find(|line| line.starts_with("index "))
        .unwrap();
    let (kept, other) = (
        ids.replace("100644", "100755"),
        format!("{}1{}", &ids[..8], &ids[9..]),
    );
    for (what, newer, shown, commits, author) in [
        ("a mode", mail.replace(ids, &kept), true, 1, false),
        ("an id", mail.replace(ids, &other), true, 1, false),
        (
            "a position",
            mail.replace(heading, "@@ -8,7 +8,7 @@"),
            true,
            1,
            false,
        ),
        (
            "a heading",
            mail.replace(heading, "@@ -9,7 +9,7 @@ fn three() {"),
            true,
            1,
            false,
        ),
        (
            "an author",
            mail.replace("From: Ada Lovelace", "From: Eve"),
            false,
            1,
            true,
        ),
        ("an address", mail.replace("<ada@", "<eve@"), false, 1, true),
        (
            "the commit",
            mail.replace("[PATCH]", "[PATCH v2]"),
            false,
            0,
            false,
        ),
    ] {
        assert_ne!(mail, newer, "{what}");
        let pr = ground.open(&[&mail, &newer]);
        let forge = ground.stage.tangled(&ground.stage.bob);
        let mut req = DiffReq::default();
        req.rounds = Some(Rounds::new(None, Some(0)));
        let diff = forge.diff(&pr, &req).await.unwrap();
        let since = diff.since.clone().unwrap();
        assert_eq!(since.commits.len(), commits, "{what}: {since:?}");
        let told = |it: &forge_core::Warning| it.message.contains("another author: 'Change code'");
        assert_eq!(
            diff.warnings.iter().any(told),
            author,
            "{what}: {:?}",
            diff.warnings
        );
        let body: Vec<Vec<u8>> = futures::TryStreamExt::try_collect(diff.body).await.unwrap();
        assert_eq!(!body.concat().is_empty(), shown, "{what}");
    }
}

#[tokio::test]
async fn rounds_and_versions_that_disagree_are_not_merged() {
    let ground = Ground::new();
    let mail = ground.second_changed();
    let head = mail[5..45].to_owned();
    let (pds, git) = (ground.stage.world.pds(), &ground.stage.repo.git);
    let base = git.oid("main").unwrap();
    let version = |head: &str| json!({ "base": base, "head": head, "createdAt": AT });
    let pr = ground.open(&[&mail]);
    let uri = pr.key.to_string();
    let (_, record) = pds.record(&uri).unwrap();
    let mut other_blob = record["rounds"][0].clone();
    other_blob["patchBlob"] = pds.blob(&ground.stage.alice.did, "application/gzip", b"other");
    // Some lists contradict each other only in the patch, which a view of no part does not read.
    for (what, versions, why, is_shown) in [
        (
            "another commit",
            json!([version(&base)]),
            "the newest version at",
            false,
        ),
        (
            "one more",
            json!([version(&base), version(&head)]),
            "1 rounds and 2 versions",
            true,
        ),
        (
            "another patch",
            json!([other_blob]),
            "are different patches",
            true,
        ),
        (
            "no commit",
            json!([{ "createdAt": AT }]),
            "names no last commit",
            false,
        ),
        (
            "a number",
            json!([version(&head), { "head": 7 }]),
            "1 rounds and 2 versions",
            true,
        ),
    ] {
        let mut record = record.clone();
        record["versions"] = versions;
        let rkey = uri.rsplit('/').next().unwrap();
        pds.put(&ground.stage.alice.did, PULL, rkey, record);
        let forge = ground.stage.tangled(&ground.stage.bob);
        let view = forge.view(&pr, PrFields::NONE).await.unwrap();
        let mut warnings = view.warnings.iter().map(|it| it.message.as_str());
        let warns = warnings.any(|text| text.contains("disagree") && text.contains(why));
        assert_eq!(warns, is_shown, "{what}: {:?}", view.warnings);
        let e = forge.merge(&pr, &MergeReq::default()).await.unwrap_err();
        assert_eq!(e.code(), "precondition_failed", "{what}: {e:?}");
        assert!(
            e.message().contains("its rounds and its versions disagree"),
            "{what}: {e:?}"
        );
        assert!(e.message().contains(why), "{what}: {e:?}");
        assert_eq!(ground.stage.world.knot().host().count_of(MERGE), 0);
    }
}
