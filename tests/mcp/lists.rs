//! Tests the server's two lists of permitted repositories, with every name that a repository has.

use forge_github_double::PullSeed;
use forge_testkit::Identity;
use serde_json::json;

use crate::{
    hub::{Hub, REPO},
    tangled_world::{PULL, Tangled, WIDGET},
    world::{LEGACY, MODERN, Wire, World},
};

/// Two repositories. The server's list permits only the first.
struct Two {
    world: World,
    private: String,
}

impl Two {
    fn new() -> Self {
        let world = World::with_feature();
        let private = world.scratch.repository("private");
        private.commit("secret", "Secret", &[("s", Some("s"))]);
        world
            .scratch
            .forge(private.path(), &Identity::ADA)
            .args([
                "pr",
                "create",
                "-H",
                "secret",
                "-t",
                "Secret title",
                "-b",
                "b",
            ])
            .ok();
        let private = private.path().canonicalize().unwrap().display().to_string();
        Self { world, private }
    }

    fn server(&self, args: &[&str]) -> Wire {
        let open = self.world.git.path().display().to_string();
        self.world.server(
            MODERN,
            &[&["--write", "--allow-repo", &open], args].concat(),
        )
    }
}

#[test]
fn unlisted_repository_cannot_be_reached() {
    let two = Two::new();
    let mut wire = two.server(&[]);
    wire.call("pr_view", json!({"number": 1})).ok();
    let own = two.world.git.path().display().to_string();
    let url = format!("file://{}#1", two.private);
    let relative = format!("{own}/../private");
    let link = two.world.scratch.path("link");
    std::os::unix::fs::symlink(&two.private, &link).unwrap();
    let link = link.display().to_string();
    for repo in [
        two.private.as_str(),
        &relative,
        &link,
        "octo/tools",
        "https://github.com/octo/tools",
    ] {
        for (tool, more) in tools_without_rounds() {
            let mut args = more;
            args["repo"] = json!(repo);
            let refused = wire.call(tool, args).fails("permission_denied");
            assert!(
                !refused.text().contains("Secret title"),
                "{}",
                refused.text()
            );
            // A call that names the repository would be refused again, so the hint has no
            // arguments.
            refused.says("\nNext: forge_status {}");
        }
        let read = wire.request(
            "resources/read",
            json!({"uri": format!("forge://local{repo}/pull/1")}),
        );
        assert!(read.get("error").is_some(), "{read}");
    }
    // The number is a URL, which another person's text could contain.
    wire.call("pr_view", json!({"number": url}))
        .fails("permission_denied");
    wire.call("pr_comment", json!({"number": url, "body": "x"}))
        .fails("permission_denied");
    wire.call("pr_view", json!({"repo": own, "number": url}))
        .fails("invalid_input")
        .says("omit `repo`");
}

/// The tools that only read.
const READING: [&str; 7] = [
    "pr_list",
    "pr_view",
    "pr_context",
    "pr_diff",
    "pr_checks",
    "repo_file",
    "forge_status",
];

pub fn every_tool() -> Vec<(&'static str, serde_json::Value)> {
    vec![
        ("pr_list", json!({})),
        ("pr_view", json!({"number": 1})),
        ("pr_context", json!({"number": 1})),
        ("pr_diff", json!({"number": 1})),
        ("pr_checks", json!({"number": 1})),
        ("repo_file", json!({"path": "README.md"})),
        ("forge_status", json!({})),
        ("pr_create", json!({"title": "t", "head": "h"})),
        ("pr_edit", json!({"number": 1, "title": "t"})),
        ("pr_comment", json!({"number": 1, "body": "b"})),
        ("pr_review", json!({"number": 1, "verdict": "approve"})),
        (
            "pr_review_dismiss",
            json!({"number": 1, "review": "r", "body": "b"}),
        ),
        ("pr_checks_rerun", json!({"number": 1})),
        ("pr_thread_resolve", json!({"number": 1, "thread": "t"})),
        ("pr_set_state", json!({"number": 1, "state": "closed"})),
        ("pr_merge", json!({"number": 1})),
        ("pr_resubmit", json!({"number": 1})),
        ("pr_update_branch", json!({"number": 1})),
        (
            "repo_push",
            json!({"branch": "b", "expected_head": "0".repeat(40), "message": "m",
                   "edits": [{"path": "a", "content": "a"}]}),
        ),
    ]
}

/// Returns the tools of a server with a list that permits no forge with rounds.
fn tools_without_rounds() -> Vec<(&'static str, serde_json::Value)> {
    let mut tools = every_tool();
    tools.retain(|(tool, _)| *tool != "pr_resubmit");
    tools
}

#[test]
fn tool_table_is_complete() {
    let world = World::new();
    let mut names: Vec<String> = world
        .server(MODERN, &["--write"])
        .tools()
        .iter()
        .map(|t| t["name"].as_str().unwrap().to_owned())
        .collect();
    let mut table: Vec<String> = every_tool()
        .into_iter()
        .map(|(name, _)| name.to_owned())
        .collect();
    names.sort();
    table.sort();
    assert_eq!(names, table);
}

/// A client can call a tool even if the server does not list it.
#[test]
fn read_only_server_refuses_write_tools() {
    let world = World::with_feature();
    let before = world.git.refs();
    for era in [LEGACY, MODERN] {
        let mut wire = world.server(era, &[]);
        let mut tools = every_tool();
        tools.retain(|(tool, _)| !READING.contains(tool));
        for (tool, args) in tools {
            let call = json!({"name": tool, "arguments": args});
            let answer = wire.request("tools/call", call);
            let said = format!("{tool} changes something, and this server only reads");
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains(&said), "{era}: {answer}");
        }
    }
    assert_eq!(world.git.refs(), before);
}

#[test]
fn allow_write_can_be_narrower_than_allow_repo() {
    let two = Two::new();
    let all = format!(
        "{}/*",
        two.world.scratch.path("").canonicalize().unwrap().display()
    );
    let own = two.world.git.path().display().to_string();
    let mut wire = two.world.server(
        MODERN,
        &["--write", "--allow-repo", &all, "--allow-write", &own],
    );
    wire.call("pr_view", json!({"repo": two.private, "number": 1}))
        .ok()
        .says("Secret title");
    for (tool, mut args) in tools_without_rounds() {
        if READING.contains(&tool) {
            continue;
        }
        args["repo"] = json!(two.private);
        wire.call(tool, args)
            .fails("permission_denied")
            .says("--allow-write");
    }
    wire.call("pr_comment", json!({"number": 1, "body": "b"}))
        .ok();
}

#[test]
fn transferred_repository_is_no_longer_allowed() {
    let hub = Hub::with_files(1);
    hub.double.seed().user("mallory");
    let lists = ["--write", "--allow-repo", "github.localhost/octo/*"];
    let mut wire = hub.server(&lists);
    let mut writes = hub.server(&["--write", "--allow-write", "github.localhost/octo/*"]);
    hub.double.seed().move_repo(REPO, "mallory", "stolen");
    hub.double.reset_record();
    for (tool, args) in tools_without_rounds() {
        let mut args = args;
        args["repo"] = json!(REPO);
        let refused = wire.call(tool, args.clone()).fails("permission_denied");
        assert!(
            refused.text().contains("mallory/stolen"),
            "{tool}: {}",
            refused.text()
        );
        if !READING.contains(&tool) {
            writes.call(tool, args).fails("permission_denied");
        }
    }
    // The list lacks the new name as well, so `forge` sends no request for it.
    let asked = hub.double.counts().api;
    assert_eq!(asked, 2, "each server asks once what the old name means");
    wire.call("pr_list", json!({"repo": "mallory/stolen"}))
        .fails("permission_denied");
    assert_eq!(hub.double.counts().api, asked);
    // A server that permits only the new name refuses the old one.
    let mut other = hub.server(&["--allow-repo", "github.localhost/mallory/stolen"]);
    other
        .call("pr_list", json!({"repo": "Mallory/Stolen.git"}))
        .ok();
    other
        .call("pr_list", json!({"repo": REPO}))
        .fails("permission_denied");
}

#[test]
fn renamed_repository_still_matches_owner_wildcard() {
    let hub = Hub::with_files(1);
    hub.double.seed().move_repo(REPO, "octo", "instruments");
    let mut wire = hub.server(&["--allow-repo", "github.localhost/octo/*"]);
    wire.call("pr_list", json!({"repo": REPO})).ok();
    let mut exact = hub.server(&["--allow-repo", "github.localhost/octo/tools"]);
    exact
        .call("pr_list", json!({"repo": REPO}))
        .fails("permission_denied")
        .says("octo/instruments");
}

/// A private repository that Ada may read.
const SECRET: &str = "octo/secret";

/// Creates a hub with Grace's pull request 1, and another pull request in the private repository.
fn with_secret() -> Hub {
    let hub = Hub::with_pull();
    {
        let mut seed = hub.double.seed();
        seed.repo_with_readme(SECRET);
        seed.configure(SECRET, |repo| repo.private = true);
        let pull = PullSeed {
            author: "ada",
            title: "Secret title",
            head: "work",
            ..PullSeed::default()
        };
        seed.open_pull(SECRET, &pull);
    }
    hub
}

/// A node id on GitHub does not show to which repository the object belongs.
#[test]
fn node_id_of_unlisted_repository_is_refused() {
    let hub = with_secret();
    hub.double.seed().comment(SECRET, 1, "ada", "Secret words.");
    let mut open = hub.server(&["--write"]);
    let comments = json!([{"path": "work.txt", "line": 1, "body": "Secret line."}]);
    let review = json!({"repo": SECRET, "number": 1, "verdict": "comment", "body": "b", "comments": comments});
    open.call("pr_review", review).ok();
    let all = json!({"repo": SECRET, "number": 1, "include": ["threads", "comments"]});
    let before = open.call("pr_view", all.clone()).ok();
    let (threads, said) = (&before.data()["threads"], &before.data()["comments"]);
    let ids = [
        &threads[0]["id"],
        &threads[0]["comments"][0]["id"],
        &said[0]["id"],
    ];
    assert!(ids.iter().all(|id| id.is_string()), "{ids:?}");
    for flag in ["--allow-repo", "--allow-write"] {
        let mut wire = hub.server(&["--write", flag, "github.localhost/octo/tools"]);
        let resolve = json!({"repo": REPO, "number": 1, "thread": ids[0]});
        wire.call("pr_thread_resolve", resolve).fails("not_found");
        for id in ids {
            let answer = json!({"repo": REPO, "number": 1, "body": "x", "reply_to": id});
            let refused = wire.call("pr_comment", answer).fails("not_found");
            assert!(!refused.0.to_string().contains("Secret"));
        }
    }
    assert!(hub.double.seed().comments_of(REPO, 1).is_empty());
    let after = open.call("pr_view", all).ok();
    assert_eq!(&after.data()["threads"], threads);
    assert_eq!(&after.data()["comments"], said);
}

/// An agent may use one repository. It must not edit its user's comments in another repository by
/// their at-uri.
#[test]
fn comment_of_another_tangled_repository_cannot_be_reached() {
    const COMMENT: &str = "sh.tangled.feed.comment";
    let t = Tangled::new();
    let own = t.open("topic");
    let other = t.world.repository(&t.alice, "other");
    other.git.commit("topic", "Add", &[("a", Some("one\n"))]);
    let there = "tangled:alice.test/other";
    let create = [
        "pr", "create", "-R", there, "-H", "topic", "-t", "T", "-b", "B",
    ];
    t.forge(&t.alice, &create).ok();
    let pds = t.world.pds();
    let pulls = pds.records(&t.alice.did, PULL);
    let elsewhere = pulls.into_iter().find(|(uri, ..)| *uri != own).unwrap().0;
    let say = [
        "pr",
        "comment",
        &elsewhere,
        "-R",
        there,
        "-b",
        "Said there.",
    ];
    t.forge(&t.alice, &say).ok();
    let before = pds.records(&t.alice.did, COMMENT);
    let said = &before[0].0;
    let args = ["mcp", "--write", "--allow-write", WIDGET];
    let mut wire = Wire::start(&t.forge(&t.alice, &args), MODERN);
    for more in [
        json!({"body": "x", "edit": said}),
        json!({"delete": said}),
        json!({"body": "x", "reply_to": said}),
    ] {
        for number in [&own, &elsewhere] {
            let mut args = more.clone();
            args["repo"] = json!(WIDGET);
            args["number"] = json!(number);
            wire.call("pr_comment", args).fails("not_found");
        }
    }
    assert_eq!(pds.records(&t.alice.did, COMMENT), before);
}

/// A search covers only the named repository, even if another one has pull requests with these
/// numbers.
#[test]
fn search_excludes_other_repositories() {
    let hub = with_secret();
    let lists: [&[&str]; 2] = [&[], &["--allow-repo", "github.localhost/octo/tools"]];
    for list in lists {
        let mut wire = hub.server(list);
        for (search, wanted) in [
            ("repo:octo/secret", vec![]),
            ("repo:octo/secret OR is:pr", vec!["Work"]),
        ] {
            let search = json!({"repo": REPO, "search": search});
            let found = wire.call("pr_list", search).ok();
            let rows = found.data()["pull_requests"].as_array().unwrap();
            let titles: Vec<_> = rows.iter().map(|row| &row["title"]).collect();
            assert_eq!(titles, wanted);
            let text = found.0.to_string();
            assert!(
                !text.contains("Secret") && !text.contains("are left out"),
                "{text}"
            );
        }
        let unclosed = json!({"repo": REPO, "search": "is:pr) OR (repo:octo/secret"});
        wire.call("pr_list", unclosed).fails("invalid_input");
    }
}

/// The head of a listed repository's pull request may be in a fork that is not listed, although
/// maintainers may push to it.
#[test]
fn branch_of_fork_belongs_to_another_repository() {
    let hub = Hub::with_pull();
    {
        let mut seed = hub.double.seed();
        seed.fork(REPO, "mallory");
        let pull = PullSeed {
            author: "mallory",
            title: "From a fork",
            head: "mallory:topic",
            ..PullSeed::default()
        };
        seed.open_pull(REPO, &pull);
        seed.commit(REPO, "main", &[("b.txt", Some("two\n"))], "Move on");
    }
    let head = || hub.double.seed().pull_of(REPO, 2).head_oid.clone();
    let before = head();
    let update = |method: &str| json!({"repo": REPO, "number": 2, "method": method});
    for flag in ["--allow-repo", "--allow-write"] {
        let mut wire = hub.server(&["--write", flag, "github.localhost/octo/*"]);
        for method in ["merge", "rebase"] {
            let refused = wire.call("pr_update_branch", update(method));
            refused.fails("permission_denied").says("mallory/tools");
        }
        assert!(wire.asked.is_empty(), "{:?}", wire.asked);
        // Permission for the listed repository includes the branches in it.
        let own = json!({"repo": REPO, "number": 1});
        wire.call("pr_update_branch", own).ok();
    }
    assert_eq!(head(), before);
    let both = ["octo", "mallory"].map(|owner| format!("github.localhost/{owner}/tools"));
    let lists = [
        "--write",
        "--allow-write",
        &both[0],
        "--allow-write",
        &both[1],
    ];
    let mut wire = hub.server(&lists);
    wire.call("pr_update_branch", update("merge")).ok();
    assert_ne!(head(), before);
    // GitHub does not name a deleted fork, so no list permits the change.
    hub.double.seed().delete_repo("mallory/tools");
    wire.call("pr_update_branch", update("merge"))
        .fails("permission_denied")
        .says("was deleted or is not visible");
}

#[test]
fn handle_and_did_are_allowed_separately() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let by_did = format!("{}/widget", t.alice.did);
    let own_did = t.repo.did.clone();
    let server = |allowed: &str| {
        let args = ["mcp", "--write", "--allow-repo", allowed];
        Wire::start(&t.forge(&t.alice, &args), MODERN)
    };
    let sent = || {
        let hosts = [
            t.world.index().host(),
            t.world.directory().host(),
            t.world.pds().host(),
            t.world.knot().host(),
        ];
        hosts.map(|h| h.requests().len()).iter().sum::<usize>()
    };
    let handles = "tangled:alice.test/*";
    for (allowed, in_it, out_of_it) in [
        (handles, vec![WIDGET], vec![&by_did, &own_did]),
        (WIDGET, vec![WIDGET], vec![&by_did, &own_did]),
        (&by_did, vec![by_did.as_str()], vec![&own_did]),
        (&own_did, vec![own_did.as_str()], vec![&by_did]),
    ] {
        let mut wire = server(allowed);
        for repo in in_it {
            let view = wire.call("pr_view", json!({"repo": repo, "number": uri}));
            view.ok().says("\"T\"");
        }
        let before = sent();
        for repo in out_of_it {
            wire.call("pr_view", json!({"repo": repo, "number": uri}))
                .fails("permission_denied")
                .says("pass the repository as the server's list names it");
        }
        wire.call("pr_view", json!({"number": uri}))
            .fails("invalid_input")
            .says("pass repo as well");
        let bob = "tangled:bob.test/widget";
        wire.call("pr_view", json!({"repo": bob, "number": uri}))
            .fails("permission_denied");
        assert_eq!(
            sent(),
            before,
            "nothing was sent for what is not on {allowed}"
        );
    }
    // Permission for a repository does not include the record of another repository.
    let other = t.world.repository(&t.bob, "secret");
    other
        .git
        .commit("topic", "Secret", &[("s.txt", Some("s\n"))]);
    let mut alices = server(handles);
    let made = t.forge(
        &t.bob,
        &[
            "pr",
            "create",
            "-R",
            "tangled:bob.test/secret",
            "-H",
            "topic",
            "-t",
            "Secret title",
            "-b",
            "",
        ],
    );
    made.ok();
    let secret = t
        .world
        .pds()
        .records(&t.bob.did, crate::tangled_world::PULL);
    let (secret, _, _) = secret.first().unwrap();
    let args = json!({"repo": WIDGET, "number": secret});
    let refused = alices
        .call("pr_view", args.clone())
        .fails("permission_denied");
    assert!(!refused.0.to_string().contains("Secret title"));
    // The server refuses even if the record's author has a pull request in the permitted
    // repository.
    t.branch("bobs");
    let create = [
        "pr", "create", "-R", WIDGET, "-H", "bobs", "-t", "Of Bob", "-b", "",
    ];
    t.forge(&t.bob, &create).ok();
    let refused = alices.call("pr_view", args).fails("not_found");
    assert!(!refused.0.to_string().contains("Secret title"));
    // Without a list, the record determines the repository.
    let mut open = Wire::start(&t.forge(&t.alice, &["mcp"]), MODERN);
    open.call("pr_view", json!({"number": uri}))
        .ok()
        .says("\"T\"");
}
