//! Patches that git prints have no fault, whatever its options.

use super::{fault, samples::Samples};

/// Settings of git, and options of `git format-patch`.
const SERIES: &[(&[&str], &[&str])] = &[
    (&[], &[]),
    (&[], &["-C", "--find-copies-harder"]),
    (&[], &["-C10%", "-M10%", "-B10%/10%"]),
    (&[], &["-M100%"]),
    (&[], &["--no-renames"]),
    (&[], &["--binary", "--full-index"]),
    (&[], &["--abbrev=4"]),
    (&[], &["--abbrev=20"]),
    (&[], &["-U1"]),
    (&[], &["-U2"]),
    (&[], &["-U5"]),
    (&[], &["-U10"]),
    (&[], &["-W"]),
    (&[], &["--inter-hunk-context=9"]),
    (&[], &["--patience"]),
    (&[], &["--histogram", "--minimal"]),
    (&[], &["--no-signature"]),
    (&[], &["--signature=Ada\nof Example\n\nTel. 0"]),
    (&[], &["--signoff"]),
    (&[], &["--notes"]),
    (&[], &["--base=main~15"]),
    (&[], &["--base=main~15", "--no-signature"]),
    (&[], &["--cover-letter"]),
    (&[], &["--stat=40,20", "--stat-count=1", "--summary"]),
    (&[], &["-p"]),
    (&[], &["-p", "--numstat", "--shortstat", "--dirstat"]),
    (&[], &["-p", "--raw", "--compact-summary"]),
    (&[], &["--from=Bob <bob@example.com>"]),
    (
        &[],
        &[
            "--to=Bob <bob@example.com>",
            "--cc=c@example.com",
            "--add-header=X-A: b",
        ],
    ),
    (&[], &["--rfc", "-v3", "--subject-prefix=PATCH tool"]),
    (&[], &["-k"]),
    (&[], &["--thread=deep", "--in-reply-to=<1@example.com>"]),
    (&[], &["--zero-commit", "--no-stat"]),
    (&[], &["--no-encode-email-headers"]),
    (&["core.quotePath=false"], &["-C"]),
    (&["diff.suppressBlankEmpty=true"], &[]),
    (&["diff.mnemonicPrefix=true", "format.pretty=email"], &[]),
    (&["i18n.commitEncoding=UTF-8", "core.abbrev=40"], &[]),
    (&["diff.renames=copies", "diff.context=4"], &[]),
    (
        &["format.numbered=true", "format.useAutoBase=whenAble"],
        &[],
    ),
];

/// Asserts that a patch has no fault. A knot cuts a binary file at the end of a mail without a
/// signature.
fn assert_mergeable(patch: &str, options: &[&str]) {
    let why = fault(patch.as_bytes());
    let is_cut = |why: &String| {
        options.contains(&"--no-signature") && why.contains("mail without a signature")
    };
    assert!(
        why.as_ref().is_none_or(is_cut),
        "{why:?} {options:?}:\n{patch}"
    );
}

#[test]
fn series_printed_by_git_have_no_fault() {
    let samples = Samples::new();
    let mut count = 0;
    for (config, options) in SERIES.iter().copied() {
        let mails = samples.mails(config, options);
        let lengths = [1, 2, 3, 4, mails.len()];
        for (start, length) in [0, 3, 5, 9, 0].into_iter().zip(lengths) {
            let series = mails[start..start + length].concat();
            assert_mergeable(&series, options);
            count += 1;
        }
        for mail in &mails {
            assert_mergeable(mail, options);
        }
    }
    assert!(count >= 200, "{count}");
}

#[test]
fn plain_diffs_printed_by_git_have_no_fault() {
    let samples = Samples::new();
    for options in [
        &["--binary"][..],
        &["--binary", "-C", "-M"],
        &["--binary", "-B"],
    ] {
        let diffs = ["log", "-p", "--reverse", "--format=%x01", "main"];
        let args = diffs.into_iter().chain(options.iter().copied());
        let text = samples.git.run(args).output().success().stdout;
        for diff in String::from_utf8(text).unwrap().split("\x01\n\n").skip(1) {
            assert_eq!(fault(diff.as_bytes()), None, "{options:?}:\n{diff}");
        }
    }
}

/// b4 and mail programs write other headers, and text after the last file.
#[test]
fn mails_of_other_writers_have_no_fault() {
    let samples = Samples::new();
    for mail in samples.mails(&[], &["--no-signature"]) {
        let (from_line, rest) = mail.split_once('\n').unwrap();
        let (headers, body) = rest.split_once("\n\n").unwrap();
        let headers: Vec<&str> = headers
            .lines()
            .filter(|line| !line.starts_with("Content-") && !line.starts_with("MIME-"))
            .collect();
        let headers = headers.join("\n");
        let sent = format!(
            "{from_line}\n{headers}\nMIME-Version: 1.0\n\
             Content-Type: text/plain; charset=\"utf-8\"\nContent-Transfer-Encoding: 7bit\n\
             Message-Id: <20261121-x-v1-1-1@example.com>\nX-Mailer: b4 0.14.2\n\
             X-Developer-Signature: v=1; a=openpgp-sha256; l=1;\n h=from:subject;\n bh=x=;\n\n\
             {body}\n---\nbase-commit: {}\nchange-id: 20261121-x-1\n\nBest regards,\n-- \n\
             Ada <ada@example.com>\n\n",
            "1".repeat(40)
        );
        assert_eq!(fault(sent.as_bytes()), None, "{sent}");
    }
}

/// `git am` puts a hunk that only adds lines, without context, at the end of the file.
#[test]
fn addition_without_context_is_a_fault() {
    let samples = Samples::new();
    let mails = samples.mails(&[], &["-U0"]);
    let faults: Vec<String> = mails
        .iter()
        .filter_map(|mail| fault(mail.as_bytes()))
        .collect();
    assert!(
        !faults.is_empty() && faults.len() < mails.len() / 2,
        "{faults:?}"
    );
    assert!(
        faults.iter().all(|why| why.contains("without context")),
        "{faults:?}"
    );
}
