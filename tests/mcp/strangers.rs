//! Tests at-uris, which name an account. If the server has a list, a caller must not be able to
//! choose any account.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};

use crate::{
    tangled_world::{PULL, Tangled, WIDGET},
    world::{MODERN, Wire},
};

/// Starts a host of the attacker's. Returns its port, and the first line of every request.
fn attacker_host() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&lines);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream);
            let mut line = String::new();
            let _ = reader.read_line(&mut line);
            seen.lock().unwrap().push(line);
            let _ = reader.get_mut().write_all(
                b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            );
        }
    });
    (port, lines)
}

fn server(t: &Tangled, more: &[&str]) -> Wire {
    let args = [&["mcp", "--write"], more].concat();
    Wire::start(&t.forge(&t.alice, &args), MODERN)
}

/// Returns a call of every tool that takes a number, which can be an at-uri.
fn every_tool() -> Vec<(&'static str, Value)> {
    vec![
        ("pr_view", json!({})),
        ("pr_context", json!({})),
        ("pr_diff", json!({})),
        ("pr_checks", json!({})),
        ("pr_edit", json!({"title": "t"})),
        ("pr_comment", json!({"body": "b"})),
        ("pr_review", json!({"verdict": "comment", "body": "b"})),
        ("pr_thread_resolve", json!({"thread": "t"})),
        ("pr_review_dismiss", json!({"review": "r", "body": "b"})),
        ("pr_checks_rerun", json!({})),
        ("pr_set_state", json!({"state": "closed"})),
        ("pr_merge", json!({})),
        ("pr_resubmit", json!({})),
        ("pr_update_branch", json!({})),
    ]
}

/// Returns how many requests the world's own hosts received for a name that the attacker chose.
fn asked_for(t: &Tangled, name: &str) -> usize {
    let hosts = [
        t.world.index().host(),
        t.world.directory().host(),
        t.world.pds().host(),
        t.world.knot().host(),
    ];
    let all = hosts.into_iter().flat_map(|h| h.requests());
    all.filter(|r| format!("{r:?}").contains(name)).count()
}

#[test]
fn record_of_stranger_is_not_requested() {
    let t = Tangled::new();
    let own = t.open("topic");
    let (port, lines) = attacker_host();
    let web = format!("did:web:localhost%3A{port}");
    let lists = [
        vec!["--allow-repo", WIDGET],
        vec!["--allow-repo", "tangled:alice.test/*"],
        vec!["--allow-repo", t.repo.did.as_str()],
    ];
    for who in [
        web.as_str(),
        "secrets-in-a-name.evil.example",
        "did:plc:evilevilevilevilevilevil",
    ] {
        let uri = format!("at://{who}/{PULL}/3kabcdefgh222");
        for list in &lists {
            let mut wire = server(&t, list);
            let repo = list[1].replace("alice.test/*", "alice.test/widget");
            for (tool, more) in every_tool() {
                let mut args = more;
                args["repo"] = json!(repo);
                args["number"] = json!(uri);
                wire.call(tool, args)
                    .fails("permission_denied")
                    .says("that the list of this repository has")
                    .says("Next: pr_list {");
            }
            let reply = json!({"repo": repo, "number": own, "body": "b", "reply_to": uri});
            wire.call("pr_comment", reply).fails("permission_denied");
            let below = json!({"repo": repo, "title": "t", "head": "topic", "depends_on": uri});
            wire.call("pr_create", below).fails("permission_denied");
        }
        // A list for writes restricts only changes, so reading is still permitted.
        let mut wire = server(&t, &["--allow-write", WIDGET]);
        let args = json!({"repo": WIDGET, "number": uri, "body": "b"});
        wire.call("pr_comment", args).fails("permission_denied");
    }
    assert!(lines.lock().unwrap().is_empty(), "{lines:?}");
    assert_eq!(asked_for(&t, "evil"), 0);
    // Without a list, a caller may name any account.
    let uri = format!("at://{web}/{PULL}/3kabcdefgh222");
    let mut open = server(&t, &[]);
    open.call("pr_view", json!({"repo": WIDGET, "number": uri}));
    assert!(!lines.lock().unwrap().is_empty());
    let uri = format!("at://secrets-in-a-name.evil.example/{PULL}/3kabcdefgh222");
    open.call("pr_view", json!({"repo": WIDGET, "number": uri}));
    assert!(asked_for(&t, "evil") > 0);
}

/// Returns a call for each argument that can name an account.
fn calls_naming(who: &str, own: &str) -> Vec<(&'static str, Value)> {
    let label = format!("assignee:{who}");
    vec![
        ("pr_list", json!({"author": who})),
        ("pr_list", json!({"assignee": who})),
        ("pr_list", json!({"search": format!("author:{who}")})),
        ("issue_list", json!({"author": who})),
        ("issue_list", json!({"assignee": who})),
        ("pr_edit", json!({"number": own, "add_assignees": [who]})),
        ("pr_edit", json!({"number": own, "remove_assignees": [who]})),
        ("pr_edit", json!({"number": own, "add_labels": [label]})),
        (
            "issue_create",
            json!({"title": "t", "body": "b", "assignees": [who]}),
        ),
        (
            "pr_create",
            json!({"title": "t", "head": "topic", "assignees": [who]}),
        ),
        ("pr_view", json!({"number": format!("{who}:topic")})),
    ]
}

#[test]
fn account_in_an_argument_is_not_looked_up() {
    let t = Tangled::new();
    let own = t.open("topic");
    let who = "secrets-in-a-name.evil.example";
    let mut wire = server(&t, &["--toolsets", "issues", "--allow-repo", WIDGET]);
    for (tool, mut args) in calls_naming(who, &own) {
        args["repo"] = json!(WIDGET);
        // A repository without the label `assignee` refuses assignees before the account counts.
        let answer = wire.call(tool, args.clone());
        assert_eq!(answer.0["isError"], true, "{tool} {args}");
    }
    let (port, lines) = attacker_host();
    let web = format!("did:web:localhost%3A{port}");
    for key in ["author", "assignee"] {
        let mut args = json!({"repo": WIDGET});
        args[key] = json!(web);
        wire.call("pr_list", args).fails("permission_denied");
    }
    assert_eq!(asked_for(&t, "evil"), 0);
    assert!(lines.lock().unwrap().is_empty(), "{lines:?}");
    for who in ["alice.test", "Bob.test", "@me"] {
        let args = json!({"repo": WIDGET, "author": who});
        wire.call("pr_list", args).ok();
    }
    // Without a list, a caller may name any account.
    let mut open = server(&t, &[]);
    let args = json!({"repo": WIDGET, "author": web});
    open.call("pr_list", args);
    assert!(!lines.lock().unwrap().is_empty());
}

#[test]
fn record_of_pull_request_author_is_readable() {
    let t = Tangled::new();
    t.open("topic");
    t.branch("bobs");
    let create = [
        "pr", "create", "-R", WIDGET, "-H", "bobs", "-t", "Of Bob", "-b", "",
    ];
    t.forge(&t.bob, &create).ok();
    let (uri, _, _) = t.world.pds().records(&t.bob.did, PULL).remove(0);
    let by_handle = uri.replace(&t.bob.did, "Bob.test");
    for uri in [&uri, &by_handle] {
        let mut wire = server(&t, &["--allow-repo", WIDGET]);
        wire.call("pr_view", json!({"repo": WIDGET, "number": uri}))
            .ok()
            .says("\"Of Bob\"");
    }
    // Carol is not a collaborator, but a call may reply to her comment.
    let carol = t
        .world
        .pds()
        .account("carol.test", crate::tangled_world::PASSWORD);
    let comment = ["pr", "comment", &uri, "-R", WIDGET, "-b", "Why?"];
    t.forge(&carol, &comment).ok();
    let (comment, _, _) = t
        .world
        .pds()
        .records(&carol.did, "sh.tangled.feed.comment")
        .remove(0);
    let mut wire = server(&t, &["--allow-repo", WIDGET]);
    let args = json!({"repo": WIDGET, "number": uri, "body": "So.", "reply_to": comment});
    wire.call("pr_comment", args).ok().says("answered");
    // The server may use records that it has just written, before any index has them.
    t.branch("mine");
    let args = json!({"repo": WIDGET, "title": "Mine", "head": "mine"});
    let made = wire.call("pr_create", args).ok();
    let args = json!({"repo": WIDGET, "number": made.data()["number"]});
    wire.call("pr_view", args).ok().says("\"Mine\"");
}
