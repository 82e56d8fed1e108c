//! Behaviour of pull requests made from whole-file edits.

use forge_core::{
    PageReq,
    model::{
        CreatePull, FileEdit, FileStatus, HeadRef, MergeReq, PrState, PullQuery, PushEdits,
        StateFilter,
    },
};

use super::{Fixture, Set, cases, invalid};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        whole_files_become_a_pull_request [PrCreateEdits, PrFiles];
        edits_are_one_commit_named_by_title [PrCreateEdits, PrCommits];
        edits_start_from_the_named_base [PrCreateEdits, PrFiles];
        the_new_branch_has_the_given_name [PrCreateEdits];
        existing_branch_is_left_unchanged [PrCreateEdits];
        equal_titles_make_two_branches [PrCreateEdits];
        merged_edits_keep_every_byte [PrCreateEdits];
        edited_executable_file_keeps_its_mode [PrCreateEdits];
        bad_paths_are_refused [PrCreateEdits];
        unchanged_edits_alone_are_refused [PrCreateEdits];
        unchanged_edits_are_left_out_with_a_warning [PrCreateEdits, PrFiles];
        deletion_of_missing_file_is_refused [PrCreateEdits];
        file_and_directory_conflicts_are_refused [PrCreateEdits];
        edits_with_another_source_are_refused [PrCreateEdits];
        edits_on_missing_base_are_refused [PrCreateEdits];
        edits_are_committed_on_a_branch [BranchPush];
        push_leaves_out_unchanged_edits [BranchPush];
        push_to_a_moved_branch_is_refused [BranchPush];
        push_of_invalid_edits_is_refused [BranchPush];
    ];
}

/// Returns a request for a pull request that consists of these edits.
fn of(edits: Vec<FileEdit>) -> CreatePull {
    let mut req = CreatePull::new("", "Edit some files");
    req.edits = edits;
    req
}

fn some() -> CreatePull {
    of(vec![FileEdit::write("new.txt", "new\n")])
}

/// Returns a request for edits on a branch whose head is `head`.
fn push(branch: &str, head: &str, edits: Vec<FileEdit>) -> PushEdits {
    PushEdits::new(branch, head, "Edit some files", edits)
}

async fn edits_are_committed_on_a_branch(fx: Fixture) {
    let head = fx.feature("feature");
    let edits = vec![
        FileEdit::write("new.txt", "new\n"),
        FileEdit::write("README.md", "# Other\n"),
        FileEdit::delete("src/lib.rs"),
    ];
    let req = push("feature", &head, edits);
    let made = fx.author.push_edits(&req).await.unwrap().value;
    assert_eq!(made.branch, "feature");
    assert_eq!(fx.git.oid("refs/heads/feature"), Some(made.oid));
    assert_eq!(fx.git.log("feature^!", "%P"), head);
    assert_eq!(fx.git.log("feature^!", "%s"), "Edit some files");
    assert_eq!(fx.git.show("feature", "new.txt"), "new\n");
    assert_eq!(fx.git.show("feature", "README.md"), "# Other\n");
    let gone = fx.git.run(["ls-tree", "feature", "src/lib.rs"]).text();
    assert_eq!(gone, "");
}

async fn push_leaves_out_unchanged_edits(fx: Fixture) {
    let head = fx.feature("feature");
    let same = fx.git.show("feature", "README.md");
    let edits = vec![
        FileEdit::write("new.txt", "new\n"),
        FileEdit::write("README.md", same),
    ];
    let req = push("feature", &head, edits);
    let made = fx.author.push_edits(&req).await.unwrap();
    let mut warnings = made.warnings.iter();
    assert!(
        warnings.any(|w| w.message.contains("'README.md'")),
        "{made:?}"
    );
    assert_eq!(fx.git.show("feature", "new.txt"), "new\n");
}

async fn push_to_a_moved_branch_is_refused(fx: Fixture) {
    let head = fx.feature("feature");
    fx.git
        .commit("feature", "More", &[("more.txt", Some("1\n"))]);
    let before = fx.git.refs();
    let edits = || vec![FileEdit::write("new.txt", "new\n")];
    let req = push("feature", &head, edits());
    let e = fx.author.push_edits(&req).await.unwrap_err();
    assert_eq!(e.code(), "conflict", "{e}");
    let short = push("feature", &head[..12], edits());
    invalid(fx.author.push_edits(&short).await, "expected_head");
    let nowhere = push("nowhere", &head, edits());
    invalid(fx.author.push_edits(&nowhere).await, "branch");
    assert_eq!(fx.git.refs(), before);
}

async fn push_of_invalid_edits_is_refused(fx: Fixture) {
    let head = fx.feature("feature");
    let before = fx.git.refs();
    let same = fx.git.show("feature", "README.md");
    for edits in [
        vec![],
        vec![FileEdit::write("../x", "x")],
        vec![FileEdit::write("README.md", same)],
        vec![FileEdit::delete("nothing.txt")],
        vec![FileEdit::write("src", "x")],
    ] {
        invalid(
            fx.author.push_edits(&push("feature", &head, edits)).await,
            "edits",
        );
    }
    let mut silent = push("feature", &head, vec![FileEdit::write("new.txt", "x")]);
    silent.message = " ".to_owned();
    invalid(fx.author.push_edits(&silent).await, "message");
    assert_eq!(fx.git.refs(), before);
}

/// Checks that the request is refused and changes nothing. Returns the message.
async fn refused_without_changes(fx: &Fixture, req: &CreatePull, field: &str) -> String {
    let before = fx.git.refs();
    let e = invalid(fx.author.create_pull(req).await, field);
    assert!(e.hint().is_some_and(|h| !h.text().is_empty()), "{e:?}");
    assert_eq!(fx.git.refs(), before);
    let mut query = PullQuery::default();
    query.state = StateFilter::All;
    let page = fx.author.pulls(&query, PageReq::first(5)).await.unwrap();
    assert!(page.items.is_empty(), "{:?}", page.items);
    e.message().to_owned()
}

async fn changed(fx: &Fixture, req: &CreatePull) -> Vec<(String, FileStatus)> {
    let pr = fx.author.create_pull(req).await.unwrap().value;
    let files = fx.author.files(&pr.id, PageReq::first(30)).await.unwrap();
    let mut files: Vec<_> = files
        .items
        .into_iter()
        .map(|f| (f.path, f.status))
        .collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    files
}

async fn whole_files_become_a_pull_request(fx: Fixture) {
    let main = fx.git.oid("main");
    let req = of(vec![
        FileEdit::write("docs/guide/new.md", "# New\n"),
        FileEdit::write("README.md", "# Other\n"),
        FileEdit::delete("src/lib.rs"),
    ]);
    let files = changed(&fx, &req).await;
    let wanted = [
        ("README.md", FileStatus::Modified),
        ("docs/guide/new.md", FileStatus::Added),
        ("src/lib.rs", FileStatus::Deleted),
    ];
    assert_eq!(
        files,
        wanted.map(|(path, status)| (path.to_owned(), status))
    );
    assert_eq!(fx.git.oid("main"), main);
    let query = PullQuery::default();
    let page = fx.author.pulls(&query, PageReq::first(5)).await.unwrap();
    let pr = fx.view(&page.items[0].id).await;
    assert_eq!(
        (pr.title.as_str(), pr.state),
        ("Edit some files", PrState::Open)
    );
    assert_eq!(pr.base_branch, "main");
    assert_eq!(pr.author.login, fx.author_login().await);
}

async fn edits_are_one_commit_named_by_title(fx: Fixture) {
    let pr = fx.author.create_pull(&some()).await.unwrap().value;
    let commits = fx.author.commits(&pr.id, PageReq::first(5)).await.unwrap();
    assert_eq!(commits.items.len(), 1);
    assert_eq!(commits.items[0].message_headline, "Edit some files");
    assert_eq!(commits.items[0].message_body.trim(), "");
    assert_eq!(Some(&commits.items[0].oid), pr.head_oid.as_ref());
}

async fn edits_start_from_the_named_base(fx: Fixture) {
    fx.git.commit("release", "R", &[("only-here", Some("1\n"))]);
    let mut req = of(vec![FileEdit::write("only-here", "2\n")]);
    req.base = Some("release".into());
    let files = changed(&fx, &req).await;
    assert_eq!(files, [("only-here".to_owned(), FileStatus::Modified)]);
}

async fn the_new_branch_has_the_given_name(fx: Fixture) {
    let before = fx.git.refs();
    let mut req = some();
    req.head = HeadRef::branch("edit/one");
    let pr = fx.author.create_pull(&req).await.unwrap().value;
    if pr.head_branch.is_empty() {
        // Forges whose rounds are patches create no branch.
        assert_eq!(fx.git.refs(), before);
    } else {
        assert_eq!(pr.head_branch, "edit/one");
        assert_eq!(fx.git.oid("refs/heads/edit/one"), pr.head_oid);
        assert_eq!(fx.git.show("edit/one", "new.txt"), "new\n");
        assert_eq!(fx.git.log("edit/one^!", "%P"), fx.git.oid("main").unwrap());
    }
}

async fn existing_branch_is_left_unchanged(fx: Fixture) {
    let feature = fx.feature("feature");
    let mut req = some();
    req.head = HeadRef::branch("feature");
    match fx.author.create_pull(&req).await {
        Ok(made) => assert_eq!(made.value.head_branch, ""),
        Err(e) => {
            assert_eq!(e.code(), "invalid_input");
            assert!(e.message().contains("feature"), "{e}");
        }
    }
    assert_eq!(fx.git.oid("refs/heads/feature"), Some(feature));
}

async fn equal_titles_make_two_branches(fx: Fixture) {
    let first = fx.author.create_pull(&some()).await.unwrap().value;
    let other = of(vec![FileEdit::write("other.txt", "other\n")]);
    let second = fx.author.create_pull(&other).await.unwrap().value;
    assert_ne!(first.id, second.id);
    assert!(first.head_branch.is_empty() || first.head_branch != second.head_branch);
}

async fn merged_edits_keep_every_byte(fx: Fixture) {
    let bytes: Vec<u8> = (0..=255).collect();
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("all bytes.bin", bytes),
        ("no/newline \"at\" [the] end*", b"one\ntwo".to_vec()),
        ("windows.txt", b"one\r\ntwo\r\n".to_vec()),
        ("latin1.txt", b"caf\xe9\n".to_vec()),
        ("ünïcode/日本.txt", "ß\n".as_bytes().to_vec()),
        ("empty", vec![]),
        ("src/lib.rs", b"line 1\n".to_vec()),
    ];
    let edits = files
        .iter()
        .map(|(path, data)| FileEdit::write(*path, data.clone()));
    let pr = fx
        .author
        .create_pull(&of(edits.collect()))
        .await
        .unwrap()
        .value;
    fx.author.merge(&pr.id, &MergeReq::default()).await.unwrap();
    for (path, data) in &files {
        let stored = fx
            .git
            .run(["cat-file", "blob", &format!("main:{path}")])
            .output();
        assert_eq!(&stored.stdout, data, "{path}");
    }
}

async fn edited_executable_file_keeps_its_mode(fx: Fixture) {
    let main = fx.git.oid("main").unwrap();
    let stream = format!(
        "commit refs/heads/main\ncommitter A <a@example.com> 1767225660 +0000\ndata 1\nP\nfrom {main}\n\
         M 100755 inline run.sh\ndata 5\necho\n\n"
    );
    fx.git.import(stream.into_bytes());
    fx.git.catch_up("main");
    let req = of(vec![FileEdit::write("run.sh", "echo 2\n")]);
    let pr = fx.author.create_pull(&req).await.unwrap().value;
    fx.author.merge(&pr.id, &MergeReq::default()).await.unwrap();
    assert_eq!(fx.git.show("main", "run.sh"), "echo 2\n");
    let listed = fx.git.run(["ls-tree", "main", "run.sh"]).text();
    assert!(listed.starts_with("100755 "), "{listed}");
}

async fn bad_paths_are_refused(fx: Fixture) {
    for path in [
        "",
        "/etc/passwd",
        "../x",
        "a/../../x",
        ".git/config",
        "a\0b",
        "a//b",
    ] {
        let req = of(vec![FileEdit::write(path, "x\n")]);
        refused_without_changes(&fx, &req, "edits").await;
    }
    let twice = of(vec![
        FileEdit::write("a", "1\n"),
        FileEdit::write("b", "1\n"),
        FileEdit::delete("a"),
    ]);
    let said = refused_without_changes(&fx, &twice, "edits").await;
    assert!(said.contains("'a'"), "{said}");
}

async fn unchanged_edits_alone_are_refused(fx: Fixture) {
    let same = fx.git.show("main", "README.md");
    let req = of(vec![FileEdit::write("README.md", same)]);
    let said = refused_without_changes(&fx, &req, "edits").await;
    assert!(
        said.contains("README.md") && said.contains("main"),
        "{said}"
    );
}

async fn unchanged_edits_are_left_out_with_a_warning(fx: Fixture) {
    let same = fx.git.show("main", "README.md");
    let req = of(vec![
        FileEdit::write("README.md", same),
        FileEdit::write("new.txt", "new\n"),
    ]);
    let made = fx.author.create_pull(&req).await.unwrap();
    let mut warnings = made.warnings.iter();
    assert!(
        warnings.any(|w| w.message.contains("'README.md'")),
        "{made:?}"
    );
    let files = fx.author.files(&made.value.id, PageReq::first(9)).await;
    let paths: Vec<_> = files.unwrap().items.into_iter().map(|f| f.path).collect();
    assert_eq!(paths, ["new.txt"]);
}

async fn deletion_of_missing_file_is_refused(fx: Fixture) {
    for path in ["nowhere", "src/nowhere", "no/where", "readme.md"] {
        let req = of(vec![
            FileEdit::write("new.txt", "x"),
            FileEdit::delete(path),
        ]);
        let said = refused_without_changes(&fx, &req, "edits").await;
        assert!(said.contains(path) && said.contains("main"), "{said}");
    }
}

async fn file_and_directory_conflicts_are_refused(fx: Fixture) {
    for edit in [FileEdit::write("src", "x\n"), FileEdit::delete("src")] {
        let said = refused_without_changes(&fx, &of(vec![edit]), "edits").await;
        assert!(said.contains("'src'"), "{said}");
    }
    // A file cannot be below the path of another file, unless that file is deleted.
    let below = FileEdit::write("README.md/more", "x\n");
    let before = fx.git.refs();
    let e = fx
        .author
        .create_pull(&of(vec![below.clone()]))
        .await
        .unwrap_err();
    assert!(
        matches!(e.code(), "invalid_input" | "precondition_failed"),
        "{e:?}"
    );
    assert_eq!(fx.git.refs(), before);
    let instead = of(vec![below, FileEdit::delete("README.md")]);
    let pr = fx.author.create_pull(&instead).await.unwrap().value;
    fx.author.merge(&pr.id, &MergeReq::default()).await.unwrap();
    assert_eq!(fx.git.show("main", "README.md/more"), "x\n");
}

async fn edits_with_another_source_are_refused(fx: Fixture) {
    let mut elsewhere = some();
    elsewhere.head = HeadRef::in_fork("somebody", "x");
    // A forge that does not support forks as heads refuses the fork first.
    let before = fx.git.refs();
    let e = fx.author.create_pull(&elsewhere).await.unwrap_err();
    assert!(matches!(e.code(), "invalid_input" | "unsupported"), "{e:?}");
    let mut patched = some();
    patched.patch = Some(b"diff --git a/x b/x\n".to_vec());
    let e = fx.author.create_pull(&patched).await.unwrap_err();
    assert!(matches!(e.code(), "invalid_input" | "unsupported"), "{e:?}");
    assert_eq!(fx.git.refs(), before);
}

async fn edits_on_missing_base_are_refused(fx: Fixture) {
    let mut req = some();
    req.base = Some("no-such-base".into());
    let said = refused_without_changes(&fx, &req, "base").await;
    assert!(said.contains("no-such-base"), "{said}");
}
