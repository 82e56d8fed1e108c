//! Builds arguments for git's diff commands. They make the output independent of the user's
//! settings.

/// Fixed values for the settings of git that would change the format of a diff.
const SETTINGS: [&str; 6] = [
    "-c",
    "core.quotePath=true",
    "-c",
    "diff.suppressBlankEmpty=false",
    "-c",
    "diff.renameLimit=1000",
];

/// Options that override the user's settings for a diff.
const PLAIN: [&str; 14] = [
    "-M",
    "--full-index",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-relative",
    "--diff-algorithm=default",
    "--indent-heuristic",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--submodule=short",
    "--ignore-submodules=none",
    "--inter-hunk-context=0",
    "--ws-error-highlight=none",
];

/// Options that override the user's settings for a mail series.
const PLAIN_MAIL: [&str; 24] = [
    // `false` comes first, because `auto` alone would not override the user's `true`.
    "-c",
    "format.numbered=false",
    "-c",
    "format.numbered=auto",
    "-c",
    "format.signOff=false",
    "-c",
    "format.encodeEmailHeaders=true",
    "-c",
    "format.noprefix=false",
    "-c",
    "format.mboxrd=false",
    "format-patch",
    "--stdout",
    "--no-attach",
    "--no-thread",
    "--no-cover-letter",
    "--no-to",
    "--no-cc",
    "--no-add-header",
    "--no-from",
    "--no-base",
    "--no-notes",
    "--subject-prefix=PATCH",
];

/// Returns the arguments of `git diff-tree` from `base` to `head`. `form` has the options for the
/// output format (`-p`, `--raw`, …).
#[must_use]
pub fn diff_args<'a>(form: &[&'a str], base: &'a str, head: &'a str) -> Vec<&'a str> {
    let mut args = SETTINGS.to_vec();
    args.extend(["--literal-pathspecs", "diff-tree", "-r"]);
    args.extend(PLAIN);
    args.extend(form);
    args.extend(["--end-of-options", base, head]);
    args
}

/// Returns the arguments of `git format-patch` for the commits in `head` but not in `base`.
/// `context` is an option such as `-U3`.
#[must_use]
pub fn mail_args(context: &str, base: &str, head: &str) -> Vec<String> {
    let mut args = SETTINGS.to_vec();
    args.extend(PLAIN_MAIL);
    args.extend(PLAIN);
    // `-O` overrides the file order that the user configured.
    args.extend([context, "-O/dev/null", "--no-signature"]);
    args.extend(["--end-of-options", head]);
    let mut args: Vec<String> = args.into_iter().map(str::to_owned).collect();
    args.push(format!("^{base}"));
    args
}

/// Returns the arguments of [`mail_args`] for mails that another program applies. Each mail has a
/// signature: tangled's knots remove the blank lines at its end, and without one of them git skips
/// a binary file and reports success.
#[must_use]
pub fn applied_mail_args(base: &str, head: &str) -> Vec<String> {
    let args = mail_args("-U3", base, head).into_iter();
    args.map(|arg| match arg.as_str() {
        "--no-signature" => "--signature=forge".to_owned(),
        _ => arg,
    })
    .collect()
}
