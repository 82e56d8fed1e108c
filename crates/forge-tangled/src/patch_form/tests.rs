use super::*;
use crate::patch::Patch;

const MAIL: &str = "From 1111111111111111111111111111111111111111 Mon Sep 17 00:00:00 2001\n\
    From: Ada <ada@example.com>\nDate: Fri, 21 Nov 2026 10:00:00 +0100\n\
    Subject: [PATCH] One\n =?UTF-8?q?more?=\nMIME-Version: 1.0\n\
    Content-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\n\
    Why.\n---\n README | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\n\
    diff --git a/README b/README\nindex 1234567..2345678 100644\n--- a/README\n+++ b/README\n\
    @@ -1,2 +1,2 @@\n one\n--- two\n+++ two\n-- \n2.47.3\n\n";

const EVIL: &str = "--- a/build.sh\n+++ b/build.sh\n@@ -1 +1 @@\n-safe\n+evil\n";

const MODE: &str = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n";

const TWO_HUNKS: &str = "diff --git a/x b/x\nindex 1234567..2345678 100644\n--- a/x\n+++ b/x\n\
    @@ -1,2 +1,3 @@\n one\n+more\n two\n@@ -9,2 +10,2 @@ fn main\n-nine\n+NINE\n ten\n";

const ADDED: &str = "diff --git a/x b/x\nnew file mode 100644\nindex 0000000..2345678\n\
    --- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+one\n+two\n";

/// A new file with the bytes `00 01 02`, as git 2.47 prints it.
const BINARY: &str = "diff --git a/p b/p\nnew file mode 100644\n\
    index 0000000000000000000000000000000000000000..8352675d67aed6625ece79af41c27fdb4ee2e867\n\
    GIT binary patch\nliteral 3\nKcmZQzWC8#H2LJ>B\n\nliteral 0\nHcmV?d00001\n\n";

fn check(patch: &str) -> Option<String> {
    fault(patch.as_bytes())
}

/// Puts the file of a diff before the file of [`MAIL`].
fn mail_with(file: &str) -> String {
    MAIL.replace("diff --git a/README", &format!("{file}diff --git a/README"))
}

/// Asserts that each change of `good` makes a patch that git would not print, alone and in a mail.
fn assert_refused(good: &str, changes: &[(&str, &str)]) {
    assert_eq!(check(good), None, "{good}");
    assert_eq!(check(&mail_with(good)), None, "{good}");
    for (from, to) in changes {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good, "{from}");
        assert!(check(&bad).is_some(), "{from:?} -> {to:?}: {bad}");
        assert!(
            check(&mail_with(&bad)).is_some(),
            "{from:?} -> {to:?}: {bad}"
        );
    }
}

#[test]
fn patch_printed_by_git_has_no_fault() {
    assert_eq!(check(MAIL), None);
    assert_eq!(check(&MAIL.repeat(2)), None);
    let (_, diff) = MAIL.split_once("\n\ndiff").unwrap();
    let diff = format!("diff{diff}").replace("-- \n2.47.3\n\n", "");
    assert_eq!(check(&diff), None);
    for file in [
        "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n",
        MODE,
        TWO_HUNKS,
        "diff --git \"a/\\303\\244\" \"b/\\303\\244\"\nnew file mode 100644\nindex 0000..1234\n\
         --- /dev/null\n+++ \"b/\\303\\244\"\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n",
        "diff --git a/a b b/a b\nindex 1234567..2345678 100644\n--- a/a b\t\n+++ b/a b\t\n\
         @@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n",
    ] {
        assert_eq!(check(file), None, "{file}");
        assert_eq!(check(&mail_with(file)), None, "{file}");
    }
}

#[test]
fn text_after_the_last_file_is_not_shown() {
    for tail in [
        "\nbase-commit: 1111111111111111111111111111111111111111\n-- \n2.47.3\n\n",
        "---\nbase-commit: 1\nchange-id: 20261121-x\n\nBest regards,\n-- \nAda <ada@example.com>\n\n",
        "\n---\nbase-commit: 1\n\nBest regards,\n--  \nAda\n",
        "-- \nAda\nof Example\n\nTel. 0\n",
        "",
    ] {
        let mail = MAIL.replace("-- \n2.47.3\n\n", tail);
        assert_eq!(check(&mail), None, "{tail}");
        let diff = Patch::parse(mail.into_bytes()).diff();
        assert!(diff.ends_with(b"\n+++ two\n"), "{tail}");
    }
}

#[test]
fn submodule_with_other_content_is_a_fault() {
    let (one, two) = ("1".repeat(40), "2".repeat(40));
    let moved = format!(
        "diff --git a/m b/m\nindex 1111111..2222222 160000\n--- a/m\n+++ b/m\n@@ -1 +1 @@\n\
         -Subproject commit {one}\n+Subproject commit {two}\n"
    );
    let end = format!("{two}\n");
    assert_refused(
        &moved,
        &[
            ("+1 @@", "+1,2 @@"),
            (&end, &format!("{two}0\n")),
            (&end, &format!("{two} \n")),
            (&end, &format!("{end}\\ No newline at end of file\n")),
            ("+Subproject", "+subproject"),
            ("..2222222", "..3333333"),
        ],
    );
    let added = format!(
        "diff --git a/m b/m\nnew file mode 160000\nindex 0000000..2222222\n--- /dev/null\n\
         +++ b/m\n@@ -0,0 +1 @@\n+Subproject commit {two}\n"
    );
    let more = format!("+1,2 @@\n+Subproject commit {two}\n+evil\n");
    assert_refused(
        &added,
        &[
            (&format!("+1 @@\n+Subproject commit {two}\n"), &more),
            (
                "--- /dev/null\n+++ b/m\n@@ -0,0 +1 @@\n+Subproject commit",
                "GIT binary patch",
            ),
        ],
    );
}

#[test]
fn blank_line_in_file_header_is_a_fault() {
    const HUNK: &str = "--- a/x\n+++ b/x.snap\n@@ -1 +1 @@\n-x\n+y\n";
    for verb in ["copy", "rename"] {
        let moved = format!(
            "diff --git a/x b/x.snap\nsimilarity index 90%\n{verb} from x\n{verb} to x.snap\n\
             index 1234567..2345678 100644\n{HUNK}"
        );
        let to = format!("{verb} to x.snap\n");
        assert_refused(
            &moved,
            &[
                (&to, &format!("{to}\n")),
                (&to, &format!("{to} \n")),
                (&to, &format!("{to}-- \n")),
                (&to, &format!("{to}text\n")),
                ("--- a/x\n", "\n--- a/x\n"),
                ("@@ -1", "\n@@ -1"),
                (&to, &to.replace('\n', "\r\n")),
                (&to, &to.replace(" to ", " new ")),
                ("90%", "101%"),
                ("90%", "090%"),
                ("similarity index 90%\n", ""),
            ],
        );
    }
    assert_refused(
        MODE,
        &[
            ("100755\n", &format!("100755\n\n{HUNK}")),
            ("old mode 100644\n", ""),
            (
                "100644\nnew mode 100755",
                "100755\nnew mode 100644\nnew mode 100755",
            ),
            ("100755", "120000"),
            ("100755", "100777"),
            ("100755", "0100755"),
            ("100755", "100644"),
        ],
    );
}

#[test]
fn name_in_other_spelling_is_a_fault() {
    let quoted = "diff --git \"a/x\\ty\" \"b/x\\ty\"\nindex 1234567..2345678 100644\n\
        --- \"a/x\\ty\"\n+++ \"b/x\\ty\"\n@@ -1 +1 @@\n-x\n+y\n";
    assert_refused(
        quoted,
        &[
            ("+++ \"b/x\\ty\"", "+++ \"b/x\"ty\""),
            ("+++ \"b/x\\ty\"", "+++ \"b/x\\011y\""),
            ("--- \"a/x\\ty\"", "--- a/x\ty"),
        ],
    );
    let all = |to: &str| quoted.replace("x\\ty", to);
    assert_eq!(check(&all("x\\303\\244")), None);
    for name in [
        "x\\000y", "x\\000", "x//y", "../x", "/x", "x/", "x\\y", "\\170", "\\777", "x\\351",
    ] {
        assert!(check(&all(name)).is_some(), "{name}");
    }
    let renamed = "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n";
    assert_refused(
        renamed,
        &[
            ("rename to b", "rename to \"b\""),
            ("rename to b", "rename to b\0.sh"),
            ("rename to b", "rename to b\t.sh"),
            ("rename to b", "rename to b\r"),
            ("rename to b", "rename to c"),
            ("b/b", "b/c"),
            ("a/a", "c/a"),
            ("rename from a\n", "rename from a\nrename from a\n"),
            ("rename to b", "copy to b"),
        ],
    );
    let same = renamed.replace("a/a", "a/b").replace("from a", "from b");
    assert!(check(&same).is_some());
}

#[test]
fn content_that_is_not_in_the_patch_is_a_fault() {
    assert_refused(
        TWO_HUNKS,
        &[
            ("1234567..2345678 100644", "123..2345678 100644"),
            ("1234567..2345678 100644", "1234567..0000000 100644"),
            ("1234567..2345678 100644", "1234567..234567X 100644"),
            ("1234567..2345678 100644", "1234567..2345678"),
            ("1234567..2345678 100644", "1234567..2345678 100666"),
            ("--- a/x", "Binary files a/x and b/x differ\n--- a/x"),
            ("--- a/x", "GIT binary patch\n--- a/x"),
        ],
    );
    let (header, _) = TWO_HUNKS.split_once("--- a").unwrap();
    for end in [
        "",
        "Binary files a/x and b/x differ\n",
        "Files a/x and b/x differ\n",
    ] {
        assert!(check(&format!("{header}{end}")).is_some(), "{end}");
    }
    let empty = "diff --git a/x b/x\nnew file mode 100644\nindex 0000000..e69de29\n";
    assert_refused(
        empty,
        &[
            ("e69de29", "e69de28"),
            ("0000000", "1000000"),
            ("100644", "100664"),
        ],
    );
}

#[test]
fn binary_content_with_another_id_is_a_fault() {
    let good = BINARY;
    assert_refused(
        good,
        &[
            ("literal 3", "literal 4"),
            ("literal 3", "literal 03"),
            ("literal 3", "delta 3"),
            ("literal 0\nHcmV?d00001\n\n", ""),
            ("literal 0\nHcmV?d00001\n\n", "literal 0\nHcmV?d00001\n"),
            (
                "literal 0\nHcmV?d00001\n\n",
                "literal 0\nHcmV?d00001\n\nliteral 0\nHcmV?d00001\n\n",
            ),
            ("HcmV?d00001", "GcmV?d00001"),
            ("HcmV?d00001", "HcmV?d00002"),
            ("index 0", "index 1"),
            ("\nGIT", "\n\nGIT"),
        ],
    );
    let (before, after) = good.split_once("..").unwrap();
    let other = format!("{before}..{}{}", "1".repeat(40), &after[40..]);
    assert!(check(&other).unwrap().contains("its id"), "{other}");
    let short = format!("{before}..{}", &after[33..]);
    assert!(check(&short).is_some(), "{short}");
    let behind = format!("{good}{EVIL}");
    assert!(check(&behind).is_some());
    let bomb = good.replace("literal 3", &format!("literal {}", binary::MAX_CONTENT + 1));
    assert!(check(&bomb).unwrap().contains("128 MiB"));
}

/// A knot removes the blank lines at the end of a mail. git then leaves out the file, and applies
/// the others.
#[test]
fn binary_file_at_end_of_mail_is_a_fault() {
    let signature = "-- \n2.47.3\n\n";
    let ended = MAIL.replace(signature, &format!("{BINARY}{signature}"));
    assert_eq!(check(&ended), None);
    assert_eq!(check(&MAIL.replace(signature, "")), None);
    for tail in ["", "\n", "\n\n \n"] {
        let cut = ended.replace(signature, tail);
        assert!(
            check(&cut).unwrap().contains("without a signature"),
            "{tail:?}"
        );
        assert!(check(&format!("{cut}{MAIL}")).is_some(), "{tail:?}");
    }
}

#[test]
fn newline_mark_between_lines_is_a_fault() {
    const MARK: &str = "\\ No newline at end of file\n";
    let ended = ADDED.to_owned() + MARK;
    assert_refused(
        &ended,
        &[
            ("+one\n", &format!("+one\n{MARK}")),
            (MARK, &MARK.repeat(2)),
            (MARK, "\\ Kein Zeilenumbruch am Dateiende.\n"),
            ("+one\n", &format!("{MARK}+one\n")),
            (MARK, &format!("\n{MARK}")),
        ],
    );
    let changed = "diff --git a/x b/x\nindex 1234567..2345678 100644\n--- a/x\n+++ b/x\n\
        @@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+TWO\n";
    assert_refused(
        changed,
        &[
            (" one\n", &format!(" one\n{MARK}")),
            (MARK, &format!("{MARK}{MARK}")),
            ("+TWO\n", "+TWO\n@@ -9 +9 @@\n-9\n+8\n"),
        ],
    );
}

#[test]
fn hunk_at_contradicting_place_is_a_fault() {
    assert_refused(
        TWO_HUNKS,
        &[
            ("@@ -9,2 +10,2 @@", "@@ -9,2 +9,2 @@"),
            ("@@ -9,2 +10,2 @@", "@@ -2,2 +3,2 @@"),
            ("@@ -9,2 +10,2 @@", "@@ -1,2 +1,2 @@"),
            ("@@ -1,2 +1,3 @@", "@@ -1,2 +2,3 @@"),
            ("@@ -1,2 +1,3 @@", "@@ -0,2 +0,3 @@"),
            ("@@ -1,2 +1,3 @@", "@@ -01,2 +1,3 @@"),
            ("@@ -1,2 +1,3 @@", "@@ -1,2 +1,3 @@ "),
            ("@@ -1,2 +1,3 @@", "@@ -1,2 +1,3 @@x"),
            ("@@ -1,2 +1,3 @@", "@@ -1,3 +1,4 @@"),
            (
                "@@ -1,2 +1,3 @@",
                "@@ -18446744073709551615,2 +18446744073709551615,3 @@",
            ),
            ("-nine\n+NINE\n", " nine\n"),
            (" ten\n", "ten\n"),
            (" ten\n", " ten\n eleven\n"),
            (" ten\n", ""),
            ("@@ fn main\n", "@@ fn main\r\n"),
            (
                "@@ -1,2 +1,3 @@\n one\n+more\n two\n",
                "@@ -1,0 +2 @@\n+more\n",
            ),
        ],
    );
    assert_refused(
        ADDED,
        &[
            ("@@ -0,0 +1,2 @@", "@@ -1,0 +2,2 @@"),
            ("@@ -0,0 +1,2 @@\n", "@@ -1 +1,3 @@\n zero\n"),
            ("+two\n", "+two\n@@ -0,0 +3 @@\n+three\n"),
        ],
    );
}

#[test]
fn file_that_occurs_twice_is_a_fault() {
    let twice = format!("{TWO_HUNKS}{TWO_HUNKS}");
    assert!(check(&twice).is_some());
    assert!(check(&format!("{ADDED}{MODE}")).is_some());
    assert!(check(&format!("{MODE}{ADDED}")).is_some());
    let copy = "diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n";
    assert_eq!(check(&format!("{copy}{TWO_HUNKS}")), None);
    assert_eq!(
        check(&format!("{MAIL}{MAIL}")),
        None,
        "each mail is one commit"
    );
    let link = ADDED.replace("100644", "120000").replace(
        ",2 @@\n+one\n+two\n",
        " @@\n+one\n\\ No newline at end of file\n",
    );
    let gone = "diff --git a/x b/x\ndeleted file mode 100644\nindex 2345678..0000000\n\
        --- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    assert_eq!(check(&format!("{gone}{link}")), None);
}

#[test]
fn mail_that_git_skips_is_a_fault() {
    for author in [
        "Mail System Internal Data <m@example.com>",
        "Mail  System\n Internal Data <m@example.com>",
        "m@example.com (Mail System Internal Data)",
        "=?UTF-8?q?Mail_System_Internal_Data?= <m@example.com>",
        "\"Mail System Internal Data\" <m@example.com>",
        "Mail System <m@example.com> Internal Data",
        "\"Mail System\" Internal Data <m@example.com>",
        "Mail \"System Internal\" Data <m@example.com>",
        "<m@example.com> Mail System Internal Data",
        "Ada <ada@example.com> and others",
        "ada@example.com",
        "=?UTF-7?q?Mail?= <m@example.com>",
        "=?UTF-8?q?Ren=E9?= <m@example.com>",
    ] {
        let mail = MAIL.replace("Ada <ada@example.com>", author);
        assert!(check(&mail).is_some(), "{author}");
        let inner = MAIL.replace("Why.\n", &format!("From: {author}\n\nWhy.\n"));
        assert!(check(&inner).is_some(), "{author}");
    }
    for author in [
        "\"Ada \\\"A.\\\" Lovelace\" <ada@example.com>",
        "=?UTF-8?q?Ren=C3=A9?= <rene@example.com>",
        "<ada@example.com>",
    ] {
        let mail = MAIL.replace("Ada <ada@example.com>", author);
        assert_eq!(check(&mail), None, "{author}");
    }
    let subject = "=?UTF-8?q?What_is_=3D=3Futf-8=3F?=";
    assert_eq!(
        check(&MAIL.replace("One\n =?UTF-8?q?more?=", subject)),
        None
    );
}

#[test]
fn mail_start_in_other_spelling_is_a_fault() {
    for (from, to) in [
        ("00:00:00 2001\n", "00:00:00 2001 \n"),
        ("00:00:00 2001\n", "00:00:00 2001 x:y\n"),
        ("From 1111", "From AAAA"),
        (
            "Why.\n",
            "From 1111111111111111111111111111111111111111 x\n",
        ),
        ("Why.\n", "From x Mon Sep 17 00:00:00 2001\n"),
        ("\n---\n", "\n---  \n"),
        ("\n---\n", "\n---\r\n"),
        ("Why.\n", "W\0y.\n"),
        ("Date:", "From: Bob <b@example.com>\nDate:"),
        ("MIME-Version: 1.0\n", "MIME-Version: 1.0\r\n"),
        ("MIME-Version: 1.0\n", "MIME-Version: 1.0\n\r\n"),
        ("8bit\n\n", "8bit\n"),
        ("From 1111", "\nFrom 1111"),
    ] {
        let mail = MAIL.replacen(from, to, 1);
        assert_ne!(mail, MAIL, "{from}");
        assert!(
            check(&mail).is_some(),
            "{from:?} -> {to:?}: {:?}",
            check(&mail)
        );
    }
}

#[test]
fn patch_change_hidden_from_views_is_found() {
    let before = |place: &str, text: &str| MAIL.replacen(place, &format!("{text}{place}"), 1);
    for (place, patch) in [
        ("behind the signature", format!("{MAIL}{EVIL}")),
        ("in place of the version", MAIL.replace("2.47.3\n", EVIL)),
        ("before the mail", format!("{EVIL}{MAIL}")),
        ("in the message", before("Why.\n", EVIL)),
        ("in the summary", before("diff --git", EVIL)),
        ("behind a hunk", before("-- \n2.47", EVIL)),
        (
            "behind text after a hunk",
            before("-- \n2.47", &format!("\nbase-commit: 1\n{EVIL}")),
        ),
        (
            "in a combined diff",
            before("-- \n2.47", &format!("diff --cc x\n{EVIL}")),
        ),
        (
            "behind a binary patch",
            before(
                "-- \n2.47",
                &format!("diff --git a/x b/x\nGIT binary patch\nliteral 0\nHcmV?d00001\n\n{EVIL}"),
            ),
        ),
        (
            "behind a whole binary patch",
            before("-- \n2.47", &format!("{BINARY}{EVIL}")),
        ),
        (
            "in MIME parts",
            MAIL.replace("text/plain; charset=UTF-8", "multipart/mixed; boundary=x"),
        ),
        (
            "in another character set",
            MAIL.replace("charset=UTF-8", "charset=UTF-7")
                .replace("Why.\n", "+AGQ-iff --git a/x b/x\nnew mode 100755\n"),
        ),
        (
            "in a character set of escapes",
            MAIL.replace("charset=UTF-8", "charset=ISO-2022-JP")
                .replace("Why.\n", "\u{1b}(Bdiff --git a/x b/x\nnew mode 100755\n"),
        ),
        ("in base64", MAIL.replace(": 8bit", ": base64")),
        (
            "in flowed text",
            MAIL.replace("charset=UTF-8", "format=flowed"),
        ),
        (
            "by a folded boundary",
            MAIL.replace("charset=UTF-8", "charset=UTF-8;\n boundary=x"),
        ),
        (
            "behind the end of the header",
            before("Date:", &format!("no header\n{EVIL}")),
        ),
        (
            "under another name",
            MAIL.replace("+++ b/README", "+++ b/build.sh"),
        ),
        (
            "in another mail",
            before("Why.\n", "From x Mon Sep 17 00:00:00 2001\n"),
        ),
    ] {
        assert_ne!(patch, MAIL, "{place}");
        assert!(check(&patch).is_some(), "{place}: {patch}");
    }
}

#[test]
fn fault_names_the_line() {
    let why = check(&MAIL.replace("@@ -1,2 +1,2 @@", "@@ -1,2 +9,2 @@")).unwrap();
    assert_eq!(
        why,
        "has a hunk at a place that contradicts the others (line 15)"
    );
    let why = check(&MAIL.replace("Why.\n", "Why.\n+++ x\n")).unwrap();
    assert_eq!(why, "has a change outside of its files (line 11)");
}
