use crate::{
    hub::{Hub, REPO},
    world::World,
};

#[test]
fn comment_prints_a_url() {
    let world = World::with_pull();
    let out = world
        .forge(&["pr", "comment", "1", "-b", "Hello."])
        .output()
        .success();
    assert!(out.stdout_text().starts_with(&world.url(1)), "{out:?}");
    assert_eq!(world.json("1", "comments")["comments"][0]["body"], "Hello.");
}

#[test]
fn last_comment_is_edited_and_deleted() {
    let world = World::with_pull();
    world.forge(&["pr", "comment", "1", "-b", "Mine."]).ok();
    world.grace(&["pr", "comment", "1", "-b", "Hers."]).ok();
    world
        .forge(&["pr", "comment", "1", "--edit-last", "-b", "Mine, better."])
        .ok();
    let bodies = || {
        let pr = world.json("1", "comments");
        let list = pr["comments"].as_array().unwrap().iter();
        list.map(|c| c["body"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(bodies(), ["Mine, better.", "Hers."]);
    let out = world
        .forge(&["pr", "comment", "1", "--delete-last", "--yes"])
        .output()
        .success();
    assert_eq!(out.stdout_text(), "");
    assert!(out.stderr_text().contains("Comment deleted"), "{out:?}");
    assert_eq!(bodies(), ["Hers."]);
}

#[test]
fn comment_chosen_by_id_is_edited_and_deleted() {
    let world = World::with_pull();
    let line = "feature.txt:1=Why one?";
    world.grace(&["pr", "review", "1", "--line", line]).ok();
    let threads = world.forge(&["pr", "thread", "list", "1", "--json", "id,comments"]);
    let threads: serde_json::Value = serde_json::from_str(&threads.text()).unwrap();
    let thread = threads[0]["id"].as_str().unwrap();
    world
        .forge(&["pr", "comment", "1", "--reply-to", thread, "-b", "Because."])
        .ok();
    world.forge(&["pr", "comment", "1", "-b", "One."]).ok();
    world.forge(&["pr", "comment", "1", "-b", "Two."]).ok();
    let comments = || world.json("1", "comments")["comments"].clone();
    let first = comments()[0]["id"].as_str().unwrap().to_owned();
    world
        .forge(&["pr", "comment", "1", "--edit", &first, "-b", "One, better."])
        .ok();
    assert_eq!(comments()[0]["body"], "One, better.");
    let delete = ["pr", "comment", "1", "--delete", &first];
    let out = world.forge(&delete).output().exits(1);
    assert!(out.stderr_text().contains("--yes"), "{out:?}");
    world.forge(&delete).args(["--yes"]).ok();
    assert_eq!(comments().as_array().unwrap().len(), 1);
    assert_eq!(comments()[0]["body"], "Two.");
    let list = world.forge(&["pr", "thread", "list", "1"]).text();
    assert_eq!(list.split('\t').nth(4), Some("2"), "{list}");
    let nothing = ["pr", "comment", "1", "--edit", "c99", "-b", "x"];
    let out = world.forge(&nothing).output().exits(1);
    assert!(out.stderr_text().contains("c99"), "{out:?}");
}

#[test]
fn comment_named_by_its_url_is_found() {
    let hub = Hub::with_pull();
    hub.double.seed().open_issue(REPO, "ada", "Broken", "");
    for (group, number) in [("pr", "1"), ("issue", "2")] {
        let comment = |more: &[&str]| {
            let args = [&[group, "comment", number, "-R", REPO][..], more].concat();
            hub.forge(&args).text()
        };
        let url = comment(&["-b", "One."]);
        let url = url.trim();
        let fragment = url.rsplit_once('#').unwrap().1;
        assert_eq!(comment(&["--edit", url, "-b", "Two."]).trim(), url);
        if group == "pr" {
            comment(&["--reply-to", fragment, "-b", "Three."]);
        }
        let key = fragment.rsplit_once('-').unwrap().1;
        assert_eq!(comment(&["--edit", key, "-b", "Four."]).trim(), url);
        comment(&["--delete", fragment, "--yes"]);
        let gone = [
            group, "comment", number, "-R", REPO, "--edit", url, "-b", "x",
        ];
        let _ = hub.forge(&gone).output().exits(1).says("no comment 'http");
    }
}

#[test]
fn thread_named_by_the_url_of_a_comment_is_found() {
    let hub = Hub::with_pull();
    let pr = |more: &[&str]| hub.forge(&[&["pr"][..], more, &["-R", REPO]].concat());
    pr(&["review", "1", "-c", "--line", "work.txt:1=Why?"]).ok();
    let threads = pr(&["thread", "list", "1", "--json", "comments"])
        .output()
        .json();
    let url = threads[0]["comments"][0]["url"].as_str().unwrap();
    let fragment = url.rsplit_once('#').unwrap().1;
    pr(&["thread", "reply", "1", url, "-b", "Because."]).ok();
    pr(&["thread", "resolve", "1", fragment]).ok();
    pr(&["comment", "1", "--edit", url, "-b", "Why one?"]).ok();
    let list = pr(&["thread", "list", "1"]).text();
    assert!(
        list.contains("\tresolved\t") && list.ends_with("\t2\tWhy one?\n"),
        "{list}"
    );
}

#[test]
fn edit_last_without_comment_is_refused() {
    let world = World::with_pull();
    let out = world
        .forge(&["pr", "comment", "1", "--edit-last", "-b", "X"])
        .output()
        .exits(1);
    assert!(
        out.stderr_text()
            .contains("no comments found for current user"),
        "{out:?}"
    );
    world
        .forge(&[
            "pr",
            "comment",
            "1",
            "--edit-last",
            "--create-if-none",
            "-b",
            "X",
        ])
        .ok();
    assert_eq!(world.json("1", "comments")["comments"][0]["body"], "X");
}

#[test]
fn comment_on_current_branch_reads_body_from_stdin() {
    let world = World::with_pull();
    world.switch("feature");
    world
        .forge(&["pr", "comment", "-F", "-"])
        .stdin("Piped.\n")
        .ok();
    assert_eq!(
        world.json("1", "comments")["comments"][0]["body"],
        "Piped.\n"
    );
}
