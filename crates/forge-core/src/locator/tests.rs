//! Test vectors for every row of the grammar, and property tests.

use std::path::PathBuf;

use proptest::prelude::*;

use super::{error::sanitize_input, *};
use crate::{Action, Call, Param, model::IssueId};

/// Returns the built-in hosts, and further hosts of each kind.
fn hosts() -> Hosts {
    Hosts::builtin()
        .with("git.corp.example", ForgeKind::GITHUB)
        .with("ghe.example:8443", ForgeKind::GITHUB)
        .with("localhost:3000", ForgeKind::GITHUB)
        .with("127.0.0.1:3000", ForgeKind::GITHUB)
        .with("[::1]:3000", ForgeKind::GITHUB)
        .with("tngl.example", ForgeKind::TANGLED)
        .with("knot.example:5555", ForgeKind::TANGLED)
        .with("code.example", ForgeKind::new("my-forge").unwrap())
}

/// Returns kind and canonical text of a locator, on one line.
fn describe(locator: &Locator) -> String {
    match locator {
        Locator::Repo(repo) => format!("repo {repo}"),
        Locator::Pull { id, round: None } => format!("pull {id}"),
        Locator::Pull {
            id,
            round: Some(round),
        } => format!("pull {id} round {round}"),
        Locator::Issue { repo, key } => format!("issue {repo} {key}"),
        Locator::Record(uri) => format!("record {uri}"),
    }
}

fn parsed(text: &str) -> String {
    match parse(text, &hosts()) {
        Ok(parsed) => describe(&parsed.locator),
        Err(error) => format!("error {error}"),
    }
}

fn check(vectors: &[(&str, &str)]) {
    for (text, expected) in vectors {
        assert_eq!(parsed(text), *expected, "{text:?}");
        // Printed locators parse back to the same value.
        let locator = parse(text, &hosts()).unwrap().locator;
        if let Some(repo) = locator.repo() {
            let again = parse(&repo.to_string(), &hosts()).unwrap().locator;
            assert_eq!(again, Locator::Repo(repo.clone()), "{text:?}");
        }
    }
}

#[test]
fn at_uris_are_parsed() {
    check(&[
        (
            "at://did:plc:abc234/sh.tangled.repo/3lk",
            "repo at://did:plc:abc234/sh.tangled.repo/3lk",
        ),
        (
            "at://Alice.Example/sh.tangled.repo/core",
            "repo at://alice.example/sh.tangled.repo/core",
        ),
        (
            "at://did:plc:abc/sh.tangled.repo/core#7",
            "pull at://did:plc:abc/sh.tangled.repo/core#7",
        ),
        (
            "at://did:web:localhost%3A8080/org.tangled.repo.declaration/core",
            "repo at://did:web:localhost%3A8080/org.tangled.repo.declaration/core",
        ),
        (
            "at://did:plc:abc/org.tangled.repo.manifest/self",
            "repo did:plc:abc",
        ),
        (
            "at://did:plc:abc/sh.tangled.repo.pull/3lk",
            "record at://did:plc:abc/sh.tangled.repo.pull/3lk",
        ),
        (
            "at://did:plc:abc/sh.tangled.repo.issue/3lk",
            "record at://did:plc:abc/sh.tangled.repo.issue/3lk",
        ),
        (
            "at://did:plc:abc/org.tangled.track.ticket/3lk",
            "record at://did:plc:abc/org.tangled.track.ticket/3lk",
        ),
    ]);
}

#[test]
fn dids_are_parsed() {
    check(&[
        ("did:plc:abc234", "repo did:plc:abc234"),
        ("did:web:knot.example", "repo did:web:knot.example"),
        ("did:web:localhost%3A8080", "repo did:web:localhost%3A8080"),
        ("did:plc:abc234#7", "pull did:plc:abc234#7"),
        (
            "did:plc:abc234/core",
            "repo tangled.org/did:plc:abc234/core",
        ),
        (
            "did:plc:abc234/core.git",
            "repo tangled.org/did:plc:abc234/core",
        ),
        (
            "did:plc:abc234/core!12",
            "pull tangled.org/did:plc:abc234/core#12",
        ),
    ]);
}

#[test]
fn github_urls_are_parsed() {
    check(&[
        ("https://github.com/cli/cli", "repo github.com/cli/cli"),
        ("https://github.com/cli/cli/", "repo github.com/cli/cli"),
        ("https://github.com/cli/cli.git", "repo github.com/cli/cli"),
        ("https://github.com/cli/cli.git/", "repo github.com/cli/cli"),
        ("HTTPS://GitHub.com/Cli/CLI", "repo github.com/Cli/CLI"),
        ("http://github.com/cli/cli", "repo github.com/cli/cli"),
        ("http://github.com:80/cli/cli", "repo github.com/cli/cli"),
        ("https://github.com:443/cli/cli", "repo github.com/cli/cli"),
        ("https://www.github.com/cli/cli", "repo github.com/cli/cli"),
        (
            "https://github.com/cli/cli?tab=readme",
            "repo github.com/cli/cli",
        ),
        (
            "https://github.com/cli/cli#readme",
            "repo github.com/cli/cli",
        ),
        ("https://github.com/cli/cli#7", "pull github.com/cli/cli#7"),
        ("https://github.com/cli/cli!7", "pull github.com/cli/cli#7"),
        (
            "https://github.com/cli/cli/pull/7",
            "pull github.com/cli/cli#7",
        ),
        (
            "https://github.com/cli/cli/pull/7/",
            "pull github.com/cli/cli#7",
        ),
        (
            "https://github.com/cli/cli/pull/7/files",
            "pull github.com/cli/cli#7",
        ),
        (
            "https://github.com/cli/cli/pull/7/commits/abc123",
            "pull github.com/cli/cli#7",
        ),
        (
            "https://github.com/cli/cli/pull/7/checks?check_run_id=1",
            "pull github.com/cli/cli#7",
        ),
        (
            "https://github.com/cli/cli/pull/7#issuecomment-99",
            "pull github.com/cli/cli#7",
        ),
        (
            "https://github.com/cli/cli/pull/7/files#diff-0a1b",
            "pull github.com/cli/cli#7",
        ),
        (
            "https://github.com/cli/cli/pull/7#discussion_r456",
            "pull github.com/cli/cli#7",
        ),
        (
            "https://github.com/cli/cli/pull/7#:~:text=see%20#8",
            "pull github.com/cli/cli#7",
        ),
        (
            "https://github.com/cli/cli/pull/7.diff",
            "pull github.com/cli/cli#7",
        ),
        (
            "https://github.com/cli/cli/pull/7.patch",
            "pull github.com/cli/cli#7",
        ),
        (
            "https://github.com/cli/cli/pulls",
            "repo github.com/cli/cli",
        ),
        (
            "https://github.com/cli/cli/pull/new/feature",
            "repo github.com/cli/cli",
        ),
        (
            "https://github.com/cli/cli/issues/8",
            "issue github.com/cli/cli 8",
        ),
        (
            "https://github.com/cli/cli/issues",
            "repo github.com/cli/cli",
        ),
        (
            "https://github.com/cli/cli/tree/trunk/docs",
            "repo github.com/cli/cli",
        ),
        (
            "https://octocorp.ghe.com/o/r/pull/3",
            "pull octocorp.ghe.com/o/r#3",
        ),
        (
            "https://git.corp.example/o/r/pull/3",
            "pull github:git.corp.example/o/r#3",
        ),
        (
            "https://ghe.example:8443/o/r",
            "repo github:ghe.example:8443/o/r",
        ),
        (
            "http://localhost:3000/o/r",
            "repo github:localhost:3000/o/r",
        ),
        (
            "http://127.0.0.1:3000/o/r",
            "repo github:127.0.0.1:3000/o/r",
        ),
        (
            "http://[::1]:3000/o/r/pull/2",
            "pull github:[::1]:3000/o/r#2",
        ),
        (
            "https://code.example/o.o/r/pulls/4",
            "pull my-forge:code.example/o.o/r#4",
        ),
        ("  https://github.com/cli/cli\n", "repo github.com/cli/cli"),
        ("github.com/cli/cli/pull/7", "pull github.com/cli/cli#7"),
        (
            "github.com/cli/cli/pull/7/files?w=1",
            "pull github.com/cli/cli#7",
        ),
        (
            "localhost:3000/o/r/pull/7",
            "pull github:localhost:3000/o/r#7",
        ),
    ]);
}

#[test]
fn tangled_urls_are_parsed() {
    check(&[
        (
            "https://tangled.org/alice.example/core",
            "repo tangled.org/alice.example/core",
        ),
        (
            "https://tangled.org/@Alice.Example/Core",
            "repo tangled.org/alice.example/Core",
        ),
        (
            "https://tangled.org/%40alice.example/core",
            "repo tangled.org/alice.example/core",
        ),
        (
            "https://tangled.sh/alice.example/core",
            "repo tangled.org/alice.example/core",
        ),
        (
            "https://tangled.org/tangled.org/core/pulls/4754",
            "pull tangled.org/tangled.org/core#4754",
        ),
        (
            "https://tangled.org/alice.example/core/pulls",
            "repo tangled.org/alice.example/core",
        ),
        (
            "https://tangled.org/alice.example/core/pulls/new?source=branch",
            "repo tangled.org/alice.example/core",
        ),
        (
            "https://tangled.org/alice.example/core/pulls/7/round/0",
            "pull tangled.org/alice.example/core#7 round 0",
        ),
        (
            "https://tangled.org/a.example/core/pulls/7/round/2.patch",
            "pull tangled.org/a.example/core#7 round 2",
        ),
        (
            "https://tangled.org/a.example/core/pulls/7/round/2/interdiff",
            "pull tangled.org/a.example/core#7 round 2",
        ),
        (
            "https://tangled.org/alice.example/core/pulls/7#comment-3lw",
            "pull tangled.org/alice.example/core#7",
        ),
        (
            "https://tangled.org/alice.example/core/pulls/7#round-#0",
            "pull tangled.org/alice.example/core#7",
        ),
        (
            "https://tangled.org/alice.example/core/issues/3",
            "issue tangled.org/alice.example/core 3",
        ),
        ("https://tangled.org/did:plc:abc", "repo did:plc:abc"),
        ("https://tangled.org/did%3Aplc%3Aabc", "repo did:plc:abc"),
        (
            "https://tangled.org/did:plc:abc/pulls/7",
            "pull did:plc:abc#7",
        ),
        (
            "https://tangled.org/did:plc:abc/tree/main",
            "repo did:plc:abc",
        ),
        (
            "https://tangled.org/did:plc:abc/core/pulls/7",
            "pull tangled.org/did:plc:abc/core#7",
        ),
        (
            "https://tngl.example/did:plc:abc",
            "repo tangled:tngl.example/did:plc:abc",
        ),
        (
            "https://knot.example:5555/did:plc:abc/core",
            "repo tangled:knot.example:5555/did:plc:abc/core",
        ),
    ]);
}

#[test]
fn git_transports_are_parsed() {
    check(&[
        ("git@github.com:cli/cli.git", "repo github.com/cli/cli"),
        ("git@github.com:cli/cli", "repo github.com/cli/cli"),
        ("git@github.com:/cli/cli.git", "repo github.com/cli/cli"),
        ("github.com:cli/cli.git", "repo github.com/cli/cli"),
        ("org-123@github.com:cli/cli", "repo github.com/cli/cli"),
        ("git@github.com:cli/cli.git#7", "pull github.com/cli/cli#7"),
        ("git@ssh.github.com:cli/cli", "repo github.com/cli/cli"),
        (
            "ssh://git@github.com/cli/cli.git",
            "repo github.com/cli/cli",
        ),
        (
            "ssh://git@github.com:22/cli/cli.git",
            "repo github.com/cli/cli",
        ),
        (
            "ssh://git@ssh.github.com:443/cli/cli.git",
            "repo github.com/cli/cli",
        ),
        (
            "ssh://git@git.corp.example:2222/o/r",
            "repo github:git.corp.example/o/r",
        ),
        (
            "ssh://git@ghe.example:8443/o/r",
            "repo github:ghe.example:8443/o/r",
        ),
        (
            "git+ssh://git@github.com/cli/cli",
            "repo github.com/cli/cli",
        ),
        (
            "git+https://github.com/cli/cli.git",
            "repo github.com/cli/cli",
        ),
        ("git://github.com/cli/cli.git", "repo github.com/cli/cli"),
        (
            "git://github.com:9418/cli/cli.git",
            "repo github.com/cli/cli",
        ),
        (
            "git@tangled.org:alice.example/core",
            "repo tangled.org/alice.example/core",
        ),
        (
            "git@tangled.sh:@alice.example/core",
            "repo tangled.org/alice.example/core",
        ),
        (
            "tangled.org:@alice.example/core",
            "repo tangled.org/alice.example/core",
        ),
        (
            "git@tangled.org:did:plc:abc/core",
            "repo tangled.org/did:plc:abc/core",
        ),
        ("git@tangled.org:did:plc:abc", "repo did:plc:abc"),
        (
            "ssh://git@tangled.org/did:plc:abc/core",
            "repo tangled.org/did:plc:abc/core",
        ),
    ]);
}

#[test]
fn prefixes_and_short_forms_are_parsed() {
    check(&[
        ("gh:cli/cli", "repo github.com/cli/cli"),
        ("GitHub:cli/cli#7", "pull github.com/cli/cli#7"),
        ("github:cli/cli.git", "repo github.com/cli/cli"),
        ("gh:other.example/o/r", "repo github:other.example/o/r"),
        (
            "gh:other.example:8443/o/r#1",
            "pull github:other.example:8443/o/r#1",
        ),
        ("gh:www.github.com/o/r", "repo github.com/o/r"),
        (
            "my-forge:code.example/o/r",
            "repo my-forge:code.example/o/r",
        ),
        (
            "tangled:alice.example/core",
            "repo tangled.org/alice.example/core",
        ),
        (
            "tangled:@alice.example/core",
            "repo tangled.org/alice.example/core",
        ),
        ("tangled:did:plc:abc", "repo did:plc:abc"),
        (
            "tangled:did:plc:abc/core",
            "repo tangled.org/did:plc:abc/core",
        ),
        (
            "tangled:other.example/alice.example/core",
            "repo tangled:other.example/alice.example/core",
        ),
        (
            "tangled:other.example/did:plc:abc",
            "repo tangled:other.example/did:plc:abc",
        ),
        (
            "tangled:other.example:99/did:plc:abc/core",
            "repo tangled:other.example:99/did:plc:abc/core",
        ),
        ("github.com/cli/cli", "repo github.com/cli/cli"),
        (
            "git.corp.example/o/r!3",
            "pull github:git.corp.example/o/r#3",
        ),
        ("ghe.example:8443/o/r", "repo github:ghe.example:8443/o/r"),
        ("[::1]:3000/o/r", "repo github:[::1]:3000/o/r"),
        (
            "tangled.org/alice.example/core",
            "repo tangled.org/alice.example/core",
        ),
        (
            "tangled.org/did:plc:abc/pulls",
            "repo tangled.org/did:plc:abc/pulls",
        ),
        ("tangled.org/did:plc:abc", "repo did:plc:abc"),
        ("@alice.example/core", "repo tangled.org/alice.example/core"),
        ("alice.example/core", "repo tangled.org/alice.example/core"),
        ("tangled.org/core", "repo tangled.org/tangled.org/core"),
        (
            "alice.example/core#7",
            "pull tangled.org/alice.example/core#7",
        ),
        ("cli/cli", "repo github.com/cli/cli"),
        ("cli/cli/", "repo github.com/cli/cli"),
        ("cli/cli.git", "repo github.com/cli/cli"),
        ("o/r#7", "pull github.com/o/r#7"),
        ("o/r!7", "pull github.com/o/r#7"),
        ("o/r#007", "pull github.com/o/r#7"),
        ("o/.github", "repo github.com/o/.github"),
        ("o_corp/r.js-2_x", "repo github.com/o_corp/r.js-2_x"),
        (
            "o/r#18446744073709551615",
            "pull github.com/o/r#18446744073709551615",
        ),
    ]);
}

#[test]
fn paths_are_parsed() {
    check(&[
        (".", "repo local:."),
        ("..", "repo local:.."),
        ("./x", "repo local:./x"),
        ("../x y", "repo local:../x%20y"),
        ("~/x", "repo local:~/x"),
        ("/srv/git/a.git", "repo file:///srv/git/a.git"),
        ("/", "repo file:///"),
        (".#7", "pull local:.#7"),
        ("./x#7", "pull local:./x#7"),
        ("./x!7", "pull local:./x#7"),
        ("./x#y", "repo local:./x%23y"),
        ("./50%41", "repo local:./50%2541"),
        ("./a\nb ", "repo local:./a%0Ab%20"),
        ("local:.", "repo local:."),
        ("local:.#7", "pull local:.#7"),
        ("local:x", "repo local:x"),
        ("local:a%23b", "repo local:a%23b"),
        ("local:~/x", "repo local:~/x"),
        ("local:/abs", "repo file:///abs"),
        ("local:./a%2537", "repo local:./a%2537"),
        ("file:///srv/x", "repo file:///srv/x"),
        ("FILE://LocalHost/srv/x", "repo file:///srv/x"),
        ("file:///srv/x#7", "pull file:///srv/x#7"),
        ("file:///srv/x!7", "pull file:///srv/x#7"),
        ("file:///srv/x#issue-7", "issue file:///srv/x 7"),
        ("local:x#issue-7", "issue local:x 7"),
        ("./x#issue-007", "issue local:./x 7"),
        (".#issue-7", "issue local:. 7"),
        ("./x#issue-", "repo local:./x%23issue-"),
        ("./x!issue-7", "repo local:./x%21issue-7"),
        ("file:///srv/x%23issue-7", "repo file:///srv/x%23issue-7"),
        ("file:///srv/x%237", "repo file:///srv/x%237"),
        ("file:///srv/my%20repo", "repo file:///srv/my%20repo"),
        ("file:///srv/d%C3%BCr", "repo file:///srv/d%C3%BCr"),
        ("/srv/dür", "repo file:///srv/d%C3%BCr"),
    ]);
    let Locator::Repo(repo) = parse("local:a%23b", &hosts()).unwrap().locator else {
        panic!()
    };
    assert_eq!(repo, RepoId::local("a#b"));
}

#[cfg(unix)]
#[test]
fn non_unicode_paths_are_parsed() {
    use std::os::unix::ffi::OsStringExt as _;
    let path = PathBuf::from(std::ffi::OsString::from_vec(b"/srv/\xff\xfe#1".to_vec()));
    let repo = RepoId::local(path);
    assert_eq!(repo.to_string(), "file:///srv/%FF%FE%231");
    assert_eq!(
        parse(&repo.to_string(), &hosts()).unwrap().locator,
        Locator::Repo(repo)
    );
}

/// Inputs that are refused, each with a part of its error message.
const REFUSED: &[(&str, &str)] = &[
    ("", "empty"),
    ("   ", "empty"),
    ("x", "invalid repo format: 'x'. expected 'owner/repo'"),
    ("owner", "invalid repo format: 'owner'"),
    ("owner/", "invalid repo format"),
    ("owner//repo", "invalid repo format"),
    ("owner/re po", "invalid repo format: 'owner/re po'"),
    ("owner/..", "invalid repo format"),
    ("owner/.", "invalid repo format"),
    ("owner/.git", "invalid repo format"),
    ("owner/r.git.git", "does not end with '.git'"),
    ("own er/repo", "invalid repo format"),
    ("öwner/repo", "invalid repo format"),
    ("owner/rep\u{43e}", "invalid repo format"),
    ("owner/re\u{202e}po", r"\u{202e}"),
    ("owner/re\x1bpo", r"\u{1b}"),
    ("owner/re\0po", "control characters"),
    ("a/b/c", "invalid repo format: 'a/b/c'"),
    ("a/b/c/d", "invalid repo format"),
    ("foo:bar", "invalid repo format: 'foo:bar'"),
    ("o/r#0", "'0' is not a valid number"),
    ("o/r#18446744073709551616", "not a valid number"),
    ("o/r#", "invalid repo format"),
    ("o/r#x", "invalid repo format"),
    ("#7", "names no repository"),
    ("7", "invalid repo format: '7'"),
    ("github.com/cli", "after a host, it needs owner and name"),
    ("github.com", "invalid repo format"),
    // Hosts.
    (
        "https://gitlab.example/o/r",
        "no forge is known at the host 'gitlab.example'",
    ),
    (
        "gitlab.example/o/r",
        "no forge is known at the host 'gitlab.example'",
    ),
    (
        "gitlab.example/o/r/pull/7",
        "no forge is known at the host 'gitlab.example'",
    ),
    (
        "git@gitlab.example:o/r",
        "no forge is known at the host 'gitlab.example'",
    ),
    ("work:o/r", "no forge is known at the host 'work'"),
    (
        "https://github.com:8443/o/r",
        "no forge is known at the host 'github.com:8443'",
    ),
    (
        "http://github.com:443/o/r",
        "no forge is known at the host 'github.com:443'",
    ),
    (
        "https://github.com.evil.example/o/r",
        "'github.com.evil.example'",
    ),
    ("https://evilgithub.com/o/r", "no forge is known"),
    ("https://ghe.com/o/r", "no forge is known"),
    ("https://a.b.ghe.com/o/r", "no forge is known"),
    ("https://xn--gthub-cta.com/o/r", "no forge is known"),
    ("https://g\u{456}thub.com/o/r", "outside ASCII"),
    ("https://github\u{3002}com/o/r", "outside ASCII"),
    ("https://ｇithub.com/o/r", "outside ASCII"),
    ("https://github%2ecom/o/r", "only letters"),
    (
        "https://github.com%2f@evil.example/o/r",
        "no forge is known at the host 'evil.example'",
    ),
    ("https://github.com\\@evil.example/o/r", "backslashes"),
    ("https://github.com\\o\\r", "backslashes"),
    ("https://github.com\t/o/r", "control characters"),
    ("https:// github.com/o/r", "spaces"),
    ("https://github.com./o/r", "an empty label"),
    ("https://.github.com/o/r", "an empty label"),
    ("https:///o/r", "it is empty"),
    ("https://-oProxyCommand=x/o/r", "only letters"),
    ("ssh://-x.example/o/r", "'-'"),
    ("https://github.com:x/o/r", "the port is not a number"),
    ("https://github.com:70000/o/r", "the port is too large"),
    ("https://127.1/o/r", "not an IPv4 address"),
    ("https://0x7f.0.0.1/o/r", "not an IPv4 address"),
    ("https://0x7f000001/o/r", "not an IPv4 address"),
    ("https://2130706433/o/r", "not an IPv4 address"),
    ("https://[::ffff:127.0.0.1]/o/r", "embedded IPv4"),
    ("https://[::1/o/r", "']' is missing"),
    ("https://[zz]/o/r", "not an IPv6 address"),
    ("https://[::1]x/o/r", "text after"),
    ("ftp://github.com/o/r", "the scheme 'ftp'"),
    ("javascript://github.com/o/r", "the scheme 'javascript'"),
    ("https:/github.com/o/r", "invalid repo format"),
    (
        "gh:tangled.org/alice.example/core",
        "is a tangled host, not github",
    ),
    (
        "tangled:github.com/alice.example/core",
        "is a github host, not tangled",
    ),
    (
        "other-forge:code.example/o/r",
        "no forge is known at the host 'other-forge'",
    ),
    // Paths of URLs.
    ("https://github.com/", "names no repository"),
    ("https://github.com/cli", "names an owner"),
    (
        "https://github.com/orgs/cli/repositories",
        "belongs to no repository",
    ),
    ("https://github.com//cli/cli", "an empty part"),
    ("https://github.com/cli//cli", "an empty part"),
    ("https://github.com/cli/../cli", "'.' or '..'"),
    ("https://github.com/cli/%2e%2e", "the name is missing"),
    ("https://github.com/cli/a%2fb", "a name is"),
    ("https://github.com/cli/a%00b", "a name is"),
    ("https://github.com/cli/%ff", "not UTF-8"),
    ("https://github.com/a.b/c", "an owner has"),
    (
        "https://github.com/cli/cli/pull/x",
        "'x' is not a valid number",
    ),
    (
        "https://github.com/cli/cli/pull/0",
        "'0' is not a valid number",
    ),
    ("https://github.com/cli/cli/pull/+7", "not a valid number"),
    ("https://github.com/cli/cli/pull/7#8", "names two things"),
    ("https://github.com/cli/cli/issues/7#8", "names two things"),
    ("https://tangled.org/alice/core", "a handle with a dot"),
    ("https://tangled.org/core", "names an owner"),
    (
        "https://tangled.org/a.example/core/pulls/7/round/x",
        "'x' is not a valid number",
    ),
    (
        "https://tangled.org/a.example/core/pulls/7/round/4294967296",
        "not a valid number",
    ),
    ("git@github.com:", "nothing follows"),
    ("git@github.com:cli", "not owner/name"),
    ("git@github.com:22/cli/cli", "invalid repo format"),
    (
        "git@github.com/cli/cli",
        "invalid repo format: 'git@github.com/cli/cli'",
    ),
    ("gh:cli", "invalid repo format"),
    ("gh:a/b/c/d", "invalid repo format"),
    ("tangled:alice/core", "a handle with a dot"),
    ("tangled:core", "not owner/name"),
    ("@alice/core", "a handle with a dot"),
    ("@alice.example", "invalid repo format"),
    (
        "alice.example/a/b",
        "no forge is known at the host 'alice.example'",
    ),
    // atproto.
    ("did:plc", "not a valid DID"),
    ("did:plc:", "not a valid DID"),
    ("did:PLC:abc", "not a valid DID"),
    ("did:plc:a b", "not a valid DID"),
    ("did:plc:abc:", "not a valid DID"),
    ("did:plc:abc/a/b", "not owner/name"),
    ("at://did:plc:abc", "not a valid at-uri"),
    ("at://did:plc:abc/sh.tangled.repo", "not a valid at-uri"),
    (
        "at://did:plc:abc/sh.tangled.repo/",
        "the record key is invalid",
    ),
    (
        "at://did:plc:abc/sh.tangled.repo/..",
        "the record key is invalid",
    ),
    ("at://did:plc:abc/sh.tangled.repo/a/b", "not a valid at-uri"),
    ("at://did:plc:abc/repo/x", "not an NSID"),
    (
        "at://did:plc:abc/sh.tangled.repo/x#y",
        "the record key is invalid",
    ),
    ("at://nodots/sh.tangled.repo/x", "not a valid handle"),
    ("at://1.2.3.4/sh.tangled.repo/x", "not a valid handle"),
    (
        "at://did:plc:abc/app.bsky.feed.post/3lk",
        "'app.bsky.feed.post' is not a repository",
    ),
    (
        "at://did:plc:abc/sh.tangled.repo.pull/3lk#7",
        "names two things",
    ),
    // Paths.
    ("file://server/srv/x", "it names another host"),
    ("file://x", "no absolute path"),
    ("file:/srv/x", "no '//'"),
    ("file:///srv/x?y", "a query"),
    ("file:///srv/x#y", "a fragment"),
    ("file:///srv/x#issue-y", "a fragment"),
    ("file:///srv/x#issue-0", "'0' is not a valid number"),
    ("file:///srv/x#7#issue-7", "a fragment"),
    ("o/r#issue-7", "invalid repo format"),
    ("file:///srv/%zz", "hexadecimal"),
    ("file:///srv/%4", "hexadecimal"),
    ("file:///srv/%00", "NUL"),
    ("/srv/\0", "NUL"),
    ("local:", "it is empty"),
    ("local:50%", "hexadecimal"),
    ("./x#0", "not a valid number"),
];

#[test]
fn malformed_locators_are_refused() {
    let mut wrong = Vec::new();
    for (text, part) in REFUSED {
        let error = parse(text, &hosts()).expect_err(text);
        let message = error.to_string();
        if !message.contains(part) {
            wrong.push(format!("{text:?}: {message}"));
        }
        assert!(!message.contains(char::is_control), "{message:?}");
        let hint = error.hint();
        assert!(!hint.text().is_empty() && !hint.text().contains("Recovery:"));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn locator_above_length_limit_is_refused() {
    let long = format!("./{}", "x".repeat(MAX_LENGTH - 2));
    assert!(parse(&long, &hosts()).is_ok());
    let longer = format!("{long}x");
    for error in [
        parse(&longer, &hosts()).unwrap_err(),
        parse_remote(&longer, &hosts()).unwrap_err(),
        parse_selector(&longer, &hosts()).unwrap_err(),
    ] {
        assert_eq!(
            error,
            ParseLocatorError::TooLong {
                length: MAX_LENGTH + 1,
                max: MAX_LENGTH
            }
        );
    }
    let message = parse(&"y".repeat(4000), &hosts()).unwrap_err().to_string();
    assert!(message.len() < 500, "{message}");
}

#[test]
fn unknown_host_error_explains_configuration() {
    let error = parse("https://git.new.example:8443/o/r", &hosts()).unwrap_err();
    assert_eq!(
        error,
        ParseLocatorError::UnknownHost {
            host: "git.new.example:8443".to_owned()
        }
    );
    let hint = error.hint();
    let login = Action::new(Call::Login)
        .with(Param::Host, "git.new.example:8443")
        .with(Param::Kind, "github");
    assert_eq!(hint.action(), Some(&login));
    assert!(hint.text().contains("'local:.'"), "{hint}");
}

#[test]
fn credentials_are_dropped_and_flagged() {
    for (text, flagged) in [
        ("https://github.com/o/r", false),
        ("https://git@github.com/o/r", false),
        ("https://git:@github.com/o/r", false),
        ("https://SECRET@github.com/o/r", true),
        ("https://user:SECRET@github.com/o/r#7", true),
        ("https://git:SECRET@github.com/o/r", true),
        ("https://x@y:SECRET@github.com/o/r", true),
        ("ssh://git:SECRET@github.com/o/r", true),
        ("ssh://me@github.com/o/r", false),
        ("me@github.com:o/r", false),
        ("git+https://SECRET@github.com/o/r", true),
    ] {
        let parsed = parse(text, &hosts()).unwrap();
        assert_eq!(parsed.had_credentials, flagged, "{text}");
        assert!(
            describe(&parsed.locator).contains("github.com/o/r"),
            "{text}"
        );
        assert!(!format!("{parsed:?}").contains("SECRET"), "{text}");
    }
}

#[test]
fn locator_errors_never_contain_credentials() {
    for text in [
        "https://user:SECRET@github.com/o",
        "https://SECRET@github.com/o/../r",
        "https://user:SECRET/SECRET@github.com/o/r",
        "https://user:SECRET@unknown.example/o/r",
        "ftp://user:SECRET@github.com/o/r",
        "https://SECRET@github.com:x/o/r",
        "SECRET@github.com/o/r",
        "user:SECRET@github.com/o/r",
        "user:SECRET@github.com:o/r",
        "https://github.com/o?access_token=SECRET",
        "https://github.com/o?a=1&token=SECRET#x",
        "ghp_SECRET",
        "github_pat_SECRET:x-oauth-basic@github.com/o/r",
        "file://user:SECRET@server/x",
    ] {
        for error in [
            parse(text, &hosts()).err(),
            parse_remote(text, &hosts()).err(),
            parse_selector(text, &hosts()).err(),
        ]
        .into_iter()
        .flatten()
        {
            let message = format!("{error} {} {error:?}", error.hint());
            assert!(!message.contains("SECRET"), "{text}: {message}");
        }
        assert!(parse(text, &hosts()).is_err(), "{text}");
    }
    assert_eq!(
        sanitize_input("https://u:p@h.example/x"),
        "https://***@h.example/x"
    );
}

#[test]
fn remotes_are_parsed() {
    for (text, expected) in [
        ("https://github.com/o/r.git", "github.com/o/r"),
        ("https://TOKEN@github.com/o/r.git", "github.com/o/r"),
        ("git@github.com:o/r.git", "github.com/o/r"),
        ("ssh://git@ssh.github.com:443/o/r.git", "github.com/o/r"),
        (
            "git@tangled.org:alice.example/core",
            "tangled.org/alice.example/core",
        ),
        (
            "git@tngl.example:did:plc:abc",
            "tangled:tngl.example/did:plc:abc",
        ),
        ("/srv/git/x.git", "file:///srv/git/x.git"),
        ("/srv/x#7", "file:///srv/x%237"),
        ("../x", "local:../x"),
        ("~/x", "local:./~/x"),
        ("owner/repo", "local:owner/repo"),
        ("dir with:colon/../x y", "error"),
        ("./dir:x", "local:./dir%3Ax"),
        ("file:///srv/x%20y", "file:///srv/x%20y"),
        ("file:///srv/x?y#7", "file:///srv/x%3Fy%237"),
        ("work:o/r", "error no forge is known at the host 'work'"),
        (
            "git@unknown.example:o/r",
            "error no forge is known at the host 'unknown.example'",
        ),
        (
            "https://unknown.example/o/r",
            "error no forge is known at the host 'unknown.example'",
        ),
        ("ext::sh -c x", "error the scheme 'ext'"),
        ("https://github.com/o/r/pull/7", "error"),
        ("gh:o/r", "error no forge is known at the host 'gh'"),
        ("", "error the locator is empty"),
    ] {
        let found = match parse_remote(text, &hosts()) {
            Ok(repo) => repo.to_string(),
            Err(error) => format!("error {error}"),
        };
        assert!(
            found == expected || (expected.starts_with("error") && found.starts_with(expected)),
            "{text}: {found}"
        );
    }
}

#[test]
fn selectors_are_parsed() {
    let locator = |text: &str| PrSelector::Locator(parse(text, &hosts()).unwrap().locator);
    let branch = |owner: Option<&str>, branch: &str| PrSelector::Branch {
        owner: owner.map(str::to_owned),
        branch: branch.to_owned(),
    };
    for (text, expected) in [
        ("7", PrSelector::Number(7)),
        ("#7", PrSelector::Number(7)),
        ("!7", PrSelector::Number(7)),
        (" 7 ", PrSelector::Number(7)),
        ("refs/heads/feature/x", branch(None, "feature/x")),
        ("branch:refs/heads/x", branch(None, "refs/heads/x")),
        (".", PrSelector::Current),
        ("current", branch(None, "current")),
        ("refs/heads/current", branch(None, "current")),
        ("CURRENT", branch(None, "CURRENT")),
        ("latest", branch(None, "latest")),
        ("o/r#7", locator("o/r#7")),
        ("gh:o/r!7", locator("o/r#7")),
        ("alice.example/core#7", locator("alice.example/core#7")),
        ("did:plc:abc#7", locator("did:plc:abc#7")),
        ("github.com/o/r#7", locator("o/r#7")),
        ("git@github.com:o/r#7", locator("o/r#7")),
        ("https://github.com/o/r/pull/7/files", locator("o/r#7")),
        (
            "at://did:plc:abc/sh.tangled.repo.pull/3lk",
            locator("at://did:plc:abc/sh.tangled.repo.pull/3lk"),
        ),
        ("./x#7", locator("./x#7")),
        ("local:.#7", locator("local:.#7")),
        ("file:///x#7", locator("file:///x#7")),
        ("feature", branch(None, "feature")),
        ("feature/x-1", branch(None, "feature/x-1")),
        ("fix#12", branch(None, "fix#12")),
        ("feature/größe", branch(None, "feature/größe")),
        ("alice:feature", branch(Some("alice"), "feature")),
        ("alice:fix/a#b", branch(Some("alice"), "fix/a#b")),
        (
            "alice.example:feature",
            branch(Some("alice.example"), "feature"),
        ),
        (
            "did:plc:abc:feature",
            branch(Some("did:plc:abc"), "feature"),
        ),
        ("branch:7", branch(None, "7")),
        ("branch:o/r#7", branch(None, "o/r#7")),
        ("branch:current", branch(None, "current")),
    ] {
        assert_eq!(parse_selector(text, &hosts()).unwrap(), expected, "{text}");
    }
    for (text, part) in [
        ("", "empty"),
        ("0", "not a valid number"),
        ("#0", "not a valid number"),
        ("#", "not a valid number"),
        ("99999999999999999999", "not a valid number"),
        ("https://github.com/o/r", "names a repository"),
        ("https://github.com/o/r/issues/7", "names an issue"),
        ("./x", "names a repository"),
        ("https://unknown.example/o/r/pull/7", "no forge is known"),
        ("a b", "not a valid branch"),
        ("a..b", "not a valid branch"),
        ("-x", "not a valid branch"),
        ("branch:--upload-pack=x", "not a valid branch"),
        ("x.lock", "not a valid branch"),
        ("x/.y", "not a valid branch"),
        ("x//y", "not a valid branch"),
        ("x/", "not a valid branch"),
        ("x.", "not a valid branch"),
        ("HEAD", "not a valid branch"),
        ("@", "not a valid branch"),
        ("x@{1}", "not a valid branch"),
        ("x\x1b", "not a valid branch"),
        ("a b:x", "not an owner"),
        ("alice:", "not a valid branch"),
        (":x", "not an owner"),
    ] {
        let message = parse_selector(text, &hosts()).expect_err(text).to_string();
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn default_host_completes_short_forms() {
    let repo = |text: &str, hosts: &Hosts| match parse(text, hosts) {
        Ok(parsed) => parsed.locator.repo().unwrap().to_string(),
        Err(error) => format!("error {error}"),
    };
    let ghes = Hosts::builtin().with_default_host("GHE.example");
    assert_eq!(repo("o/r", &ghes), "github:ghe.example/o/r");
    assert_eq!(repo("gh:o/r", &ghes), "github.com/o/r");
    assert_eq!(repo("a.example/r", &ghes), "tangled.org/a.example/r");
    let tangled = hosts().with_default_host("tngl.example");
    assert_eq!(
        repo("a.example/r", &tangled),
        "tangled:tngl.example/a.example/r"
    );
    assert_eq!(
        repo("did:plc:abc/r", &tangled),
        "tangled:tngl.example/did:plc:abc/r"
    );
    assert_eq!(repo("did:plc:abc", &tangled), "did:plc:abc");
    assert!(repo("o/r", &tangled).starts_with("error invalid repo format: 'o/r'"));
    assert_eq!(
        Hosts::builtin()
            .with_default_host("tangled.sh")
            .default_host(),
        "tangled.org"
    );
}

#[test]
fn renamed_and_default_collections_are_accepted() {
    let renamed = Hosts::builtin()
        .with_collection("org.example.pull", RecordKind::Ticket)
        .with_collection("org.example.repo", RecordKind::Repo)
        .with_collection("org.example.manifest", RecordKind::Manifest)
        .with_collection("sh.tangled.repo.pull", RecordKind::Repo);
    let named = |text: &str| parse(text, &renamed).unwrap().locator;
    for uri in [
        "at://did:plc:abc/org.example.pull/3lk",
        "at://did:plc:abc/sh.tangled.repo.pull/3lk",
    ] {
        assert_eq!(named(uri), Locator::Record(AtUri::parse(uri).unwrap()));
    }
    let uri = "at://did:plc:abc/org.example.repo/core";
    let record = RepoPath::Record(AtUri::parse(uri).unwrap());
    assert_eq!(named(uri), Locator::Repo(atproto::repo(record)));
    let did = RepoPath::Did("did:plc:abc".to_owned());
    assert_eq!(
        named("at://did:plc:abc/org.example.manifest/self"),
        Locator::Repo(atproto::repo(did))
    );
    let refused = parse("at://did:plc:abc/org.example.pull/3lk", &hosts()).unwrap_err();
    let unsupported = matches!(refused, ParseLocatorError::UnsupportedRecord { .. });
    assert!(unsupported, "{refused}");
}

#[test]
fn host_table_knows_built_in_and_configured_hosts() {
    let hosts = hosts();
    assert_eq!(hosts.kind_of("GitHub.com"), Some(ForgeKind::GITHUB));
    assert_eq!(hosts.kind_of("ssh.github.com"), Some(ForgeKind::GITHUB));
    assert_eq!(hosts.kind_of("octocorp.ghe.com"), Some(ForgeKind::GITHUB));
    assert_eq!(hosts.kind_of("tangled.sh"), Some(ForgeKind::TANGLED));
    assert_eq!(hosts.kind_of("ghe.example"), None);
    // No configuration can change the kind of a built-in host.
    let bent = Hosts::builtin()
        .with("github.com", ForgeKind::TANGLED)
        .with("x.example", ForgeKind::LOCAL);
    assert_eq!(bent, Hosts::default());
    assert_eq!(
        bent.iter().map(|(h, _)| h).collect::<Vec<_>>(),
        ["github.com", "tangled.org"]
    );
    assert_eq!(
        Hosts::normalise("Git.Example:8443").unwrap(),
        "git.example:8443"
    );
    assert!(Hosts::normalise("https://git.example").is_err());
}

#[test]
fn comparison_key_folds_case_only_on_caseless_forges() {
    let key = |text: &str| {
        parse(text, &hosts())
            .unwrap()
            .locator
            .repo()
            .unwrap()
            .comparison_key()
    };
    assert_eq!(
        key("Owner/Repo"),
        key("https://www.github.com/owner/REPO.git")
    );
    assert_eq!(
        key("@Alice.example/Core"),
        key("https://tangled.sh/alice.example/core")
    );
    assert_eq!(key("did:plc:abc/Core"), key("tangled:did:plc:abc/core"));
    assert_ne!(key("did:plc:aBc"), key("did:plc:abc"));
    assert_ne!(key("./X"), key("./x"));
    assert_ne!(key("code.example/o/R"), key("code.example/o/r"));
    assert_ne!(key("o/r"), key("git.corp.example/o/r"));
}

#[test]
fn record_key_of_pull_is_parsed_as_locator() {
    let uri = AtUri::parse("at://did:plc:abc/sh.tangled.repo.pull/3lk").unwrap();
    let id = PrId {
        repo: RepoId::local("."),
        key: uri.clone().into(),
    };
    assert_eq!(
        parse(&id.to_string(), &hosts()).unwrap().locator,
        Locator::Record(uri)
    );
}

// Property tests.

fn name() -> impl Strategy<Value = String> {
    "[A-Za-z0-9._-]{1,20}".prop_filter("a name", |n| n != "." && n != ".." && !n.ends_with(".git"))
}

fn handle() -> impl Strategy<Value = String> {
    "[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?\\.[a-z][a-z0-9]{0,6}"
}

fn did() -> impl Strategy<Value = String> {
    prop_oneof![
        "did:plc:[a-z2-7]{24}",
        "did:web:[a-z]{1,8}\\.example",
        "did:web:localhost%3A[0-9]{4}"
    ]
}

fn host(hosts: &'static [&'static str]) -> impl Strategy<Value = String> {
    let others = "[a-z0-9_]{1,8}(\\.[a-z][a-z0-9]{0,5}){1,2}(:[1-9][0-9]{1,3})?";
    prop_oneof![
        proptest::sample::select(hosts).prop_map(str::to_owned),
        others,
    ]
    .prop_map(|h| Hosts::normalise(&h).unwrap_or_else(|_| "other.example".to_owned()))
}

#[cfg(unix)]
fn path() -> impl Strategy<Value = PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    let bytes = prop_oneof![
        proptest::collection::vec(1u8..=255, 1..24),
        "(/|\\./|\\.\\./|~/|)[a-z#!%?: /.0-9]{1,12}".prop_map(String::into_bytes),
    ];
    bytes.prop_map(|b| PathBuf::from(std::ffi::OsString::from_vec(b)))
}

#[cfg(not(unix))]
fn path() -> impl Strategy<Value = PathBuf> {
    "[a-z#!%?. 0-9]{1,12}".prop_map(PathBuf::from)
}

fn repo() -> impl Strategy<Value = RepoId> {
    let named = |kind: ForgeKind| {
        move |(host, owner, name): (String, String, String)| RepoId {
            kind: kind.clone(),
            host,
            path: RepoPath::Named { owner, name },
        }
    };
    let github = host(&[
        "github.com",
        "tenant.ghe.com",
        "git.corp.example",
        "[::1]:3000",
    ]);
    let tangled = || host(&["tangled.org", "tngl.example", "knot.example:5555"]);
    let record = (prop_oneof![did(), handle()], "[A-Za-z0-9._:~-]{1,12}")
        .prop_filter("a record key", |(_, rkey)| rkey != "." && rkey != "..")
        .prop_map(|(authority, rkey)| {
            atproto::repo(RepoPath::Record(AtUri {
                authority,
                collection: "sh.tangled.repo".to_owned(),
                rkey,
            }))
        });
    prop_oneof![
        (github, "[A-Za-z0-9_-]{1,20}", name()).prop_map(named(ForgeKind::GITHUB)),
        (tangled(), prop_oneof![handle(), did()], name()).prop_map(named(ForgeKind::TANGLED)),
        (
            Just("code.example".to_owned()),
            "[A-Za-z0-9_-]{1,20}",
            name()
        )
            .prop_map(named(ForgeKind::new("my-forge").unwrap())),
        (tangled(), did()).prop_map(|(host, did)| super::named::did_repo(host, did)),
        record,
        path().prop_map(RepoId::local),
    ]
}

/// Generates valid locators with a few characters changed.
fn mutated() -> impl Strategy<Value = String> {
    let letters = proptest::sample::select(vec![
        "/", ":", "@", "#", "!", "%", ".", "..", "[", "]", "\\", "?", "é", "\u{202e}", "\0", " ",
        "7", "git", "did:", "://", "gh:",
    ]);
    let seeds: Vec<String> = [
        "https://user:pw@github.com:443/o/r/pull/7#x",
        "git@github.com:o/r.git",
        "gh:host.example/o/r#7",
        "tangled:did:plc:abc/core",
        "at://did:plc:abc/sh.tangled.repo/x",
        "file:///a%20b#7",
        "file:///a%20b#issue-7",
        "./x!7",
        "[::1]:3000/o/r",
        "https://tangled.org/a.example/r/pulls/7/round/1.patch",
        "local:x",
    ]
    .map(str::to_owned)
    .to_vec();
    let edits =
        proptest::collection::vec((any::<prop::sample::Index>(), letters, any::<bool>()), 0..5);
    (proptest::sample::select(seeds), edits).prop_map(|(seed, edits)| {
        let mut chars: Vec<String> = seed.chars().map(String::from).collect();
        for (at, letter, replace) in edits {
            let at = at.index(chars.len());
            if replace {
                chars[at] = letter.to_owned();
            } else {
                chars.insert(at, letter.to_owned());
            }
        }
        chars.concat()
    })
}

fn never_panics(text: &str) {
    let hosts = hosts();
    if let Ok(parsed) = parse(text, &hosts)
        && let Some(repo) = parsed.locator.repo()
    {
        // The canonical form of every accepted locator parses back to the same repository.
        let again = parse(&repo.to_string(), &hosts).map(|p| p.locator);
        assert_eq!(again, Ok(Locator::Repo(repo.clone())), "{text:?}");
    }
    for error in [
        parse(text, &hosts).err(),
        parse_remote(text, &hosts).err(),
        parse_selector(text, &hosts).err(),
    ]
    .into_iter()
    .flatten()
    {
        assert!(!error.to_string().contains(char::is_control), "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn locator_display_round_trips(repo in repo(), number in 1u64..) {
        let text = repo.to_string();
        let parsed = parse(&text, &hosts()).map(|p| p.locator);
        prop_assert_eq!(parsed, Ok(Locator::Repo(repo.clone())), "{}", text);

        let id = PrId::number(repo, number);
        let text = id.to_string();
        let parsed = parse(&text, &hosts()).map(|p| p.locator);
        prop_assert_eq!(parsed, Ok(Locator::Pull { id, round: None }), "{}", text);
    }

    #[test]
    fn local_issue_round_trips(dir in path(), number in 1u64..) {
        let id = IssueId::number(RepoId::local(dir), number);
        let text = id.to_string();
        let parsed = parse(&text, &hosts()).map(|p| p.locator);
        let issue = Locator::Issue { repo: id.repo, key: id.key };
        prop_assert_eq!(parsed, Ok(issue), "{}", text);
    }

    #[test]
    fn canonical_text_needs_no_configuration(repo in repo()) {
        // `Hosts::builtin()` does not know this kind, so its locators need a configuration.
        if repo.kind.as_str() == "my-forge" {
            return Ok(());
        }
        let parsed = parse(&repo.to_string(), &Hosts::builtin()).map(|p| p.locator);
        prop_assert_eq!(parsed, Ok(Locator::Repo(repo)));
    }

    #[test]
    fn arbitrary_text_is_parsed_without_panic(text in any::<String>()) {
        never_panics(&text);
    }

    #[test]
    fn mutated_locator_is_parsed_without_panic(text in mutated()) {
        never_panics(&text);
    }

    /// Checks that the `url` crate finds the same host in each URL that this parser accepts.
    #[test]
    fn hosts_agree_with_the_url_crate(
        scheme in "https?",
        userinfo in "([a-z0-9%.:-]{0,6}@){0,2}",
        host in prop_oneof![
            "[A-Za-z0-9.-]{1,12}", "[a-z0-9%\\[\\]:.]{1,12}", "[0-9]{1,3}(\\.[0-9a-fx]{1,3}){0,3}",
            "\\[[0-9a-f:]{2,12}\\]", "[a-z]{1,5}\\.example", any::<String>(),
        ],
        port in "(:[0-9]{0,5})?",
        path in "[/?#][a-z@:/\\\\]{0,6}",
    ) {
        let text = format!("{scheme}://{userinfo}{host}{port}{path}");
        let Some(ours) = super::url::authority_of(&text) else { return Ok(()) };
        // Only the `url` crate checks Punycode, so such hosts are skipped. No known host has a
        // Punycode name.
        prop_assume!(!ours.name.contains("xn--"));
        let theirs = ::url::Url::parse(&text);
        prop_assert!(theirs.is_ok(), "{} {:?}", text, theirs);
        let theirs = theirs.unwrap();
        prop_assert_eq!(Some(ours.name.as_str()), theirs.host_str(), "{}", text);
        let default = if scheme == "http" { 80 } else { 443 };
        prop_assert_eq!(ours.port.unwrap_or(default), theirs.port_or_known_default().unwrap(), "{}", text);
    }
}

#[test]
fn forge_address_names_repo_pull_or_issue() {
    check(&[
        ("forge://github.com/o/r", "repo github.com/o/r"),
        ("forge://github.com/o/r/pulls/open", "repo github.com/o/r"),
        ("forge://github.com/o/r/pull/7", "pull github.com/o/r#7"),
        (
            "forge://github.com/o/r/pull/7/files/src/a.rs",
            "pull github.com/o/r#7",
        ),
        ("forge://github.com/o/r/issue/7", "issue github.com/o/r 7"),
        (
            "forge://local/srv/my%20repo/pull/1",
            "pull file:///srv/my%20repo#1",
        ),
    ]);
    for nested in [
        "forge://",
        "forge://forge://github.com/o/r/pull/7",
        "forge://a",
    ] {
        assert!(parse(nested, &hosts()).is_err(), "{nested}");
    }
    let selector = parse_selector("forge://github.com/o/r/pull/7", &hosts()).unwrap();
    assert!(matches!(
        selector,
        PrSelector::Locator(Locator::Pull { .. })
    ));
}

#[test]
fn selector_of_local_issue_suggests_view() {
    let text = "file:///srv/x#issue-7";
    let error = parse_selector(text, &hosts()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "'file:///srv/x#issue-7' names an issue, not a pull request"
    );
    let view = Action::op(crate::Op::IssueView).on(text);
    assert_eq!(error.hint().action(), Some(&view));
    let long = format!("file:///{}#issue-7", "x".repeat(200));
    let error = parse_selector(&long, &hosts()).unwrap_err();
    assert_eq!(error.hint().action(), None);
    let branch = parse_selector("fix#issue-7", &hosts()).unwrap();
    assert!(matches!(branch, PrSelector::Branch { .. }), "{branch:?}");
}
