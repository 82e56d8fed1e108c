//! Tests which local repositories a server may use.

use std::path::Path;

use forge_testkit::{GitDir, Identity, Run, git_program};
use serde_json::{Value, json};

use crate::{
    lists::every_tool,
    world::{LEGACY, MODERN, Wire, World},
};

/// Opens a pull request of Ada's in a repository outside the world.
fn open_pull(world: &World, dir: &Path, title: &str) {
    let git = GitDir::at(dir);
    git.commit("secret", "Secret", &[("secret.txt", Some("secret\n"))]);
    let create = ["pr", "create", "-H", "secret", "-t", title, "-b", "b"];
    let run = world.scratch.forge(dir, &Identity::ADA).args(create);
    run.ok();
}

fn git(dir: &Path, args: &[&str]) {
    Run::new(git_program(), dir).args(args).ok();
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Starts a server in `dir` as Grace.
fn server(world: &World, dir: &Path, era: &str, args: &[&str]) -> Wire {
    let run = world.scratch.forge(dir, &Identity::GRACE);
    Wire::start(&run.arg("mcp").args(args), era)
}

fn view(wire: &mut Wire, repo: &str) -> Value {
    wire.call("pr_view", json!({"repo": repo, "number": 1})).0
}

#[test]
fn unlisted_local_repositories_are_refused_without_running_git() {
    let world = World::with_feature();
    let own = world.git.path().canonicalize().unwrap();
    let other = world.scratch.repository("other");
    open_pull(&world, other.path(), "Secret title");
    let nested = own.join("vendor/nested");
    git(&own, &["init", "-q", "-b", "main", "vendor/nested"]);
    GitDir::at(&nested).commit("main", "First", &[("a", Some("a"))]);
    open_pull(&world, &nested, "Secret title");
    let docs = own.join("docs");
    git(&own, &["clone", "-q", "--bare", "vendor/nested", "docs"]);
    std::os::unix::fs::symlink(other.path(), own.join("link")).unwrap();
    let above = own.parent().unwrap();
    for (era, dir) in [(MODERN, own.clone()), (LEGACY, own.join("src"))] {
        std::fs::create_dir_all(&dir).unwrap();
        let mut wire = server(&world, &dir, era, &["--write"]);
        for repo in [
            text(other.path()),
            format!("file://{}", other.path().display()),
            format!("local:{}", other.path().display()),
            text(&own.join("../other")),
            text(&own.join("link")),
            text(&nested),
            text(&docs),
            text(above),
            "/nowhere".to_owned(),
            "~".to_owned(),
        ] {
            for (tool, mut args) in every_tool() {
                args["repo"] = json!(repo);
                let refused = wire.call(tool, args).fails("permission_denied");
                let refused = refused.says("--allow-path");
                assert!(!refused.0.to_string().contains("Secret"), "{tool} {repo}");
            }
            let path = repo.trim_start_matches('/');
            for part in [
                "",
                "/branches",
                "/issues",
                "/pulls/open",
                "/pull/1",
                "/pull/1/diff",
            ] {
                let uri = format!("forge://local/{path}{part}");
                let answer = wire.request("resources/read", json!({"uri": uri}));
                assert!(answer["error"].is_object(), "{uri}: {answer}");
                assert!(!answer.to_string().contains("Secret"), "{uri}: {answer}");
            }
            let params = json!({
                "ref": {"type": "ref/resource", "uri": "forge://{+repo}/pull/{number}"},
                "argument": {"name": "number", "value": ""},
                "context": {"arguments": {"repo": repo}}
            });
            let found = wire.request("completion/complete", params);
            assert_eq!(found["result"]["completion"]["values"], json!([]), "{repo}");
        }
        // The server accepts its own repository under three names, in every starting directory.
        for repo in [text(&own), world.name(), text(&dir)] {
            let found = view(&mut wire, &repo);
            let title = &found["structuredContent"]["pull_request"]["title"];
            assert_eq!(title, "Add a feature", "{repo}: {found}");
        }
        wire.call("pr_view", json!({"number": 1})).ok();
    }
}

#[test]
fn allow_path_flag_adds_local_repositories() {
    let world = World::with_feature();
    std::fs::create_dir(world.scratch.path("srv")).unwrap();
    let other = world.scratch.repository("srv/other");
    open_pull(&world, other.path(), "Other title");
    let own = text(world.git.path());
    let [exact, all] = [text(other.path()), text(&world.scratch.path("srv")) + "/*"];
    for allowed in [&exact, &all] {
        let mut wire = world.server(MODERN, &["--write", "--allow-path", allowed]);
        for repo in [&own, &exact] {
            assert_ne!(view(&mut wire, repo)["isError"], true, "{allowed} {repo}");
        }
        let comment = json!({"repo": exact, "number": 1, "body": "Text."});
        wire.call("pr_comment", comment).ok();
        let status = wire.call("forge_status", json!({})).ok();
        assert_eq!(status.data()["allow_path"], **allowed);
    }
    // If the list lacks the server's own directory, the server refuses that directory.
    let lists = ["--allow-repo", "octo/*", "--allow-path", &exact];
    let mut wire = world.server(MODERN, &lists);
    assert_ne!(view(&mut wire, &exact)["isError"], true);
    wire.call("pr_view", json!({"repo": own, "number": 1}))
        .fails("permission_denied");
    // `--allow-path` permits no writes if `--allow-write` lists other repositories.
    let lists = ["--write", "--allow-path", &exact, "--allow-write", "octo/*"];
    let mut wire = world.server(MODERN, &lists);
    let comment = json!({"repo": exact, "number": 1, "body": "Text."});
    wire.call("pr_comment", comment)
        .fails("permission_denied")
        .says("--allow-write");
}

#[test]
fn bare_repository_opens_only_by_exact_path() {
    let world = World::with_feature();
    let bare = world.scratch.path("srv/bare.git");
    let from = text(world.git.path());
    let clone = ["clone", "-q", "--mirror", &from, bare.to_str().unwrap()];
    git(&world.scratch.path(""), &clone);
    let all = text(&world.scratch.path("srv")) + "/*";
    let mut wire = world.server(MODERN, &["--allow-path", &all]);
    let refused = view(&mut wire, &text(&bare)).to_string();
    let why = "opens only if the user named its exact path";
    assert!(refused.contains(why), "{refused}");
    let mut wire = world.server(MODERN, &["--allow-path", &text(&bare)]);
    let found = view(&mut wire, &text(&bare));
    assert_ne!(found["isError"], true, "{found}");
}

#[test]
fn remote_and_linked_work_tree_resolve_to_repository() {
    let world = World::with_feature();
    let own = world.git.path();
    let bare = world.scratch.path("origin.git");
    let clone = world.scratch.path("clone");
    let linked = world.scratch.path("linked");
    let args = ["clone", "-q", "--mirror", ".", bare.to_str().unwrap()];
    git(own, &args);
    git(&bare, &["clone", "-q", ".", clone.to_str().unwrap()]);
    git(own, &["worktree", "add", "-q", linked.to_str().unwrap()]);
    for (dir, names) in [
        (&clone, vec![text(&bare), text(&clone)]),
        (&linked, vec![text(&linked), text(own)]),
    ] {
        let listed = ["--allow-path", bare.to_str().unwrap()];
        let mut wire = server(&world, dir, MODERN, &listed);
        let found = wire.call("pr_list", json!({})).ok();
        assert_eq!(found.data()["pull_requests"][0]["number"], "1");
        for name in names {
            let found = wire.call("pr_list", json!({"repo": name}));
            assert_ne!(found.0["isError"], true, "{name}: {}", found.text());
        }
    }
    // A work tree on the list permits the repository to which it belongs.
    let elsewhere = world.scratch.repository("elsewhere");
    let listed = ["--allow-path", linked.to_str().unwrap()];
    let mut wire = server(&world, elsewhere.path(), MODERN, &listed);
    for name in [text(&linked), text(own)] {
        let found = view(&mut wire, &name);
        assert_ne!(found["isError"], true, "{name}: {found}");
    }
}

/// An archive that a person unpacked brings its own `.git`.
#[test]
fn configuration_of_start_directory_names_no_other_repository() {
    let world = World::with_feature();
    let other = world.scratch.repository("other");
    open_pull(&world, other.path(), "Secret title");
    let other = text(&other.path().canonicalize().unwrap());
    for (n, (key, value)) in [
        ("remote.origin.url", other.clone()),
        ("remote.origin.url", format!("file://{other}")),
        ("remote.origin.url", "../other/.git".to_owned()),
        ("forge.repo", format!("local:{other}")),
    ]
    .into_iter()
    .enumerate()
    {
        let archive = world.scratch.repository(format!("archive{n}"));
        git(archive.path(), &["config", key, &value]);
        let mut wire = server(&world, archive.path(), MODERN, &[]);
        for args in [json!({}), json!({"repo": other})] {
            let refused = wire.call("pr_list", args).fails("permission_denied");
            let refused = refused.says("--allow-path").0.to_string();
            assert!(!refused.contains("Secret"), "{key}: {refused}");
        }
        let listed = ["--allow-path", other.as_str()];
        let mut wire = server(&world, archive.path(), MODERN, &listed);
        wire.call("pr_list", json!({"repo": other})).ok();
    }
}

#[test]
fn git_file_of_unpacked_archive_leads_nowhere() {
    let world = World::with_feature();
    let other = world.scratch.repository("other");
    open_pull(&world, other.path(), "Secret title");
    let other = other.path().canonicalize().unwrap();
    let archive = world.scratch.path("archive");
    std::fs::create_dir(&archive).unwrap();
    let link = format!("gitdir: {}\n", other.join(".git").display());
    std::fs::write(archive.join(".git"), link).unwrap();
    for lists in [&[][..], &["--allow-path", archive.to_str().unwrap()]] {
        let mut wire = server(&world, &archive, MODERN, lists);
        for args in [
            json!({}),
            json!({"repo": text(&archive)}),
            json!({"repo": text(&other)}),
        ] {
            let refused = wire.call("pr_list", args).fails("permission_denied").0;
            assert!(!refused.to_string().contains("Secret"), "{refused}");
        }
    }
}

#[test]
fn guarded_repository_borrows_no_unlisted_objects() {
    let world = World::with_feature();
    let other = world.scratch.repository("other");
    open_pull(&world, other.path(), "Secret title");
    std::fs::create_dir(world.scratch.path("srv")).unwrap();
    let archive = world.scratch.repository("srv/archive");
    let archive = archive.path();
    let objects = other.path().canonicalize().unwrap().join(".git/objects");
    let list = archive.join(".git/objects/info/alternates");
    std::fs::create_dir_all(list.parent().unwrap()).unwrap();
    let all = text(&world.scratch.path("srv")) + "/*";
    let repo = json!({"repo": text(archive)});
    let listed = ["--allow-path", all.as_str()];
    let mut wire = world.server(MODERN, &listed);
    wire.call("pr_list", repo.clone()).ok();
    for lines in [
        format!("{}\n", objects.display()),
        "../../../../other/.git/objects\n".to_owned(),
        format!("# a comment\n{}\n", objects.display()),
        format!("\"{}\"\n", objects.display()),
    ] {
        std::fs::write(&list, lines).unwrap();
        let refused = wire
            .call("pr_list", repo.clone())
            .fails("permission_denied");
        let _ = refused.says("borrows objects");
    }
    std::fs::write(&list, format!("{}\n", objects.display())).unwrap();
    for lists in [
        vec![
            "--allow-path",
            all.as_str(),
            "--allow-path",
            other.path().to_str().unwrap(),
        ],
        vec!["--allow-path", archive.to_str().unwrap()],
    ] {
        let mut wire = world.server(MODERN, &lists);
        wire.call("pr_list", repo.clone()).ok();
    }
    // Objects of the server's own repository may be borrowed.
    let own = world
        .git
        .path()
        .canonicalize()
        .unwrap()
        .join(".git/objects");
    std::fs::write(&list, format!("{}\n", own.display())).unwrap();
    let mut wire = world.server(MODERN, &listed);
    wire.call("pr_list", repo.clone()).ok();
    // A git directory that shares everything with another repository.
    std::fs::remove_file(&list).unwrap();
    let common = other.path().join(".git");
    std::fs::write(archive.join(".git/commondir"), text(&common)).unwrap();
    let refused = wire.call("pr_list", repo).fails("permission_denied");
    assert!(!refused.0.to_string().contains("Secret"));
}
