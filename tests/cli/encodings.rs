//! Tests commits in other encodings than UTF-8, and configurations that make git print another one.

use crate::world::World;

/// Encodings, subjects in these encodings, and the subjects in UTF-8.
const SUBJECTS: [(&str, &[u8], &str); 4] = [
    ("ISO-8859-1", b"Gr\xfcn", "Grün"),
    ("ISO-8859-15", b"5 \xa4", "5 €"),
    ("KOI8-R", b"\xd4\xc5\xd3\xd4", "тест"),
    ("Shift_JIS", b"\x83e\x83X\x83g", "テスト"),
];

/// Creates the branch `feature` with a commit for each of [`SUBJECTS`], and one in UTF-8.
fn with_commits() -> World {
    let world = World::new();
    world.feature("feature");
    world
        .git
        .commit("feature", "Blau für alle", &[("blue", Some("x\n"))]);
    world.switch("feature");
    for (encoding, subject, _) in SUBJECTS {
        let setting = format!("i18n.commitEncoding={encoding}");
        let commit = [
            "-c",
            &setting,
            "commit",
            "--quiet",
            "--allow-empty",
            "-F",
            "-",
        ];
        world.git.run(commit).stdin(subject).ok();
    }
    let config = ["config", "i18n.logOutputEncoding", "ISO-8859-1"];
    world.git.run(config).ok();
    world
}

#[track_caller]
fn assert_decoded(text: &str) {
    assert!(!text.contains('\u{fffd}'), "{text}");
    for (encoding, _, subject) in SUBJECTS {
        assert!(text.contains(subject), "{encoding}: {text}");
    }
    assert!(text.contains("Blau für alle"), "{text}");
}

#[test]
fn commits_in_other_encodings_are_decoded() {
    let world = with_commits();
    for flag in ["--fill", "--fill-verbose"] {
        let plan = world.forge(&["pr", "create", flag, "--dry-run"]).text();
        assert_decoded(&plan);
    }
    world.forge(&["pr", "create", "--fill"]).ok();
    assert_decoded(&world.json("1", "body")["body"].to_string());
    assert_decoded(&world.json("1", "commits")["commits"].to_string());
    let patch = world.forge(&["pr", "diff", "1", "--patch"]).text();
    for subject in ["Blau=20f=C3=BCr=20alle", "Gr=C3=BCn", "5=20=E2=82=AC"] {
        let line = format!("] =?UTF-8?q?{subject}?=\n");
        assert!(patch.contains(&line), "{patch}");
    }
    world.forge(&["pr", "merge", "1", "--squash"]).ok();
    assert_decoded(&world.git.run(["cat-file", "commit", "main"]).text());
}
