//! Files of a branch, exactly as the repository stores them.

use forge_core::{Repos, limits::MAX_REPO_FILE, model::PathContent};
use forge_local::Local;

use crate::repo::Repo;

async fn read(local: &Local, path: &str, at: Option<&str>) -> Option<Vec<u8>> {
    match local.repo_file(local.id(), path, at).await.unwrap()? {
        PathContent::File(bytes) => Some(bytes),
        PathContent::Directory(_) => panic!("{path} is a directory"),
    }
}

#[tokio::test]
async fn repo_file_is_read_at_each_revision() {
    let repo = Repo::new();
    repo.branch("topic/x", "dir/new.txt", "new\r\n");
    repo.git(&["tag", "-a", "v1", "-m", "v1", "topic/x"]);
    let oid = repo.oid("topic/x");
    let local = repo.open().await;
    let base = read(&local, "base.txt", None).await.unwrap();
    assert_eq!(base, b"one\ntwo\nthree\n");
    for at in ["topic/x", "v1", &oid, &oid[..10]] {
        let new = read(&local, "dir/new.txt", Some(at)).await.unwrap();
        assert_eq!(new, b"new\r\n", "{at}");
    }
    for path in ["dir/new.txt", "none", "base.txt/x", "*.txt", ":(glob)*"] {
        assert_eq!(read(&local, path, None).await, None, "{path}");
    }
    for at in [
        "none",
        "",
        "main:base.txt",
        "main~0",
        "@{0}",
        "-x",
        "HEAD^{tree}",
        "a\nb",
    ] {
        let e = local.repo_file(local.id(), "base.txt", Some(at)).await;
        assert_eq!(e.unwrap_err().code(), "not_found", "{at}");
    }
}

#[tokio::test]
async fn repo_file_commit_id_precedes_branch_name() {
    let repo = Repo::new();
    repo.branch("topic", "new.txt", "new\n");
    let oid = repo.oid("topic");
    for kind in ["heads", "tags"] {
        repo.git(&["update-ref", &format!("refs/{kind}/{oid}"), "main"]);
    }
    let local = repo.open().await;
    let new = read(&local, "new.txt", Some(&oid)).await;
    assert_eq!(new.as_deref(), Some(b"new\n".as_slice()));
}

#[tokio::test]
async fn repo_file_full_ref_precedes_tag_of_same_name() {
    let repo = Repo::new();
    repo.branch("topic", "new.txt", "new\n");
    repo.git(&["update-ref", "refs/tags/refs/heads/topic", "main"]);
    let local = repo.open().await;
    let new = read(&local, "new.txt", Some("refs/heads/topic")).await;
    assert_eq!(new.as_deref(), Some(b"new\n".as_slice()));
}

#[tokio::test]
async fn repo_file_path_out_of_tree_is_refused() {
    let repo = Repo::new();
    repo.write("dir/a", "a");
    repo.write("big", &"x".repeat(MAX_REPO_FILE + 1));
    repo.write("full", &"x".repeat(MAX_REPO_FILE));
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/passwd", repo.path.join("link")).unwrap();
    repo.commit("more");
    let local = repo.open().await;
    let mut refused = vec![
        "/",
        "/etc/passwd",
        "..",
        "../x",
        "dir/../base.txt",
        "./base.txt",
        "dir//a",
        "dir/",
        "a\0b",
        "big",
    ];
    refused.extend(cfg!(unix).then_some("link"));
    for path in refused {
        let e = local.repo_file(local.id(), path, None).await.unwrap_err();
        assert_eq!(e.code(), "invalid_input", "{path:?}: {e}");
    }
    assert_eq!(read(&local, "link/x", None).await, None);
    let full = read(&local, "full", None).await.unwrap();
    assert_eq!(full.len(), MAX_REPO_FILE);
}

#[tokio::test]
async fn repo_directory_is_listed() {
    let repo = Repo::new();
    repo.write("dir/a", "a");
    repo.write("dir/deep/ü \"b\"", "b");
    repo.commit("more");
    let local = repo.open().await;
    let list = async |path: &str| match local.repo_file(local.id(), path, None).await.unwrap() {
        Some(PathContent::Directory(entries)) => entries
            .into_iter()
            .map(|entry| (entry.name, entry.is_directory))
            .collect::<Vec<_>>(),
        other => panic!("{path}: {other:?}"),
    };
    let named = |name: &str, is_directory| (name.to_owned(), is_directory);
    assert_eq!(list("dir").await, [named("a", false), named("deep", true)]);
    assert_eq!(list("dir/deep").await, [named("ü \"b\"", false)]);
    assert!(list("").await.contains(&named("dir", true)));
}

#[tokio::test]
async fn repo_file_is_not_converted() {
    let repo = Repo::new();
    repo.write(".gitattributes", "*.txt diff=shout filter=shout eol=crlf\n");
    for key in ["diff.shout.textconv", "filter.shout.smudge"] {
        repo.git(&["config", key, "tr a-z A-Z <"]);
    }
    repo.write("a \"ü\"\n.txt", "plain\n");
    repo.commit("attributes");
    let local = repo.open().await;
    let plain = read(&local, "a \"ü\"\n.txt", None).await.unwrap();
    assert_eq!(plain, b"plain\n");
}

#[tokio::test]
async fn repo_file_works_in_bare_and_empty_repositories() {
    let bare = Repo::empty(&["--bare"]);
    let local = bare.open().await;
    assert_eq!(read(&local, "base.txt", None).await, None);
    let source = Repo::new();
    source.git(&["push", "--quiet", bare.path.to_str().unwrap(), "main"]);
    assert_eq!(
        read(&local, "base.txt", None).await.unwrap(),
        b"one\ntwo\nthree\n"
    );
}
