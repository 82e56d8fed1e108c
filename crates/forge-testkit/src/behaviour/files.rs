//! Behaviour of the list of changed files.

use forge_core::{
    PageReq, PrId,
    model::{FileChange, FileStatus},
};

use super::{Fixture, Set, cases, refused};
use crate::Identity;

pub(super) fn cases(set: &mut Set) {
    cases![set;
        every_kind_of_change_is_listed [PrFiles];
        renamed_file_with_changes_is_one_row [PrFiles];
        a_binary_file_has_no_lines [PrFiles];
        odd_names_are_listed_unquoted [PrFiles];
        pages_cover_every_file_once [PrFiles];
        page_size_does_not_affect_renames [PrFiles];
        files_of_missing_pull_are_not_found [PrFiles];
    ];
}

async fn all(fx: &Fixture, pr: &PrId) -> Vec<FileChange> {
    fx.author
        .files(pr, PageReq::first(100))
        .await
        .unwrap()
        .items
}

async fn every_kind_of_change_is_listed(fx: Fixture) {
    let lib = fx.git.show("main", "src/lib.rs");
    fx.git.commit(
        "main",
        "More",
        &[("moved.txt", Some(&lib.replace("line", "row")))],
    );
    let row = lib.replace("line", "row");
    let files = [
        ("README.md", None),
        ("added.txt", Some("1\n2\n")),
        ("moved.txt", None),
        ("renamed.txt", Some(row.as_str())),
        ("src/lib.rs", Some("line 1\n")),
    ];
    fx.git.commit("feature", "All", &files);
    let pr = fx.open_from("feature").await.id;
    let got: Vec<_> = all(&fx, &pr)
        .await
        .into_iter()
        .map(|f| (f.path, f.status, f.additions, f.deletions))
        .collect();
    let wanted = [
        ("README.md", FileStatus::Deleted, 0, 3),
        ("added.txt", FileStatus::Added, 2, 0),
        ("renamed.txt", FileStatus::Renamed, 0, 0),
        ("src/lib.rs", FileStatus::Modified, 0, 19),
    ]
    .map(|(path, status, plus, minus)| (path.to_owned(), status, Some(plus), Some(minus)));
    assert_eq!(got, wanted);
}

async fn renamed_file_with_changes_is_one_row(fx: Fixture) {
    let lib = fx
        .git
        .show("main", "src/lib.rs")
        .replace("line 20\n", "line twenty\n");
    fx.git.commit(
        "feature",
        "Move",
        &[("src/lib.rs", None), ("src/main.rs", Some(&lib))],
    );
    let pr = fx.open_from("feature").await.id;
    let files = all(&fx, &pr).await;
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(files[0].status, FileStatus::Renamed);
    assert_eq!(files[0].path, "src/main.rs");
    assert_eq!(files[0].previous_path.as_deref(), Some("src/lib.rs"));
    assert_eq!((files[0].additions, files[0].deletions), (Some(1), Some(1)));
}

async fn a_binary_file_has_no_lines(fx: Fixture) {
    let files: [(&str, Option<&[u8]>); 1] = [("binary", Some(&[0, 1, 2, 0]))];
    fx.git
        .commit_bytes("feature", &Identity::ADA, "Bytes", &files);
    let pr = fx.open_from("feature").await.id;
    let files = all(&fx, &pr).await;
    assert_eq!((files[0].additions, files[0].deletions), (None, None));
}

async fn odd_names_are_listed_unquoted(fx: Fixture) {
    let mut names = [
        "with space",
        "tab\there",
        "ünï.txt",
        "quote\"d",
        "-dash",
        "a b/c d",
        "100%",
    ];
    let files: Vec<_> = names.iter().map(|n| (*n, Some("x\n"))).collect();
    fx.git.commit("feature", "Odd", &files);
    let pr = fx.open_from("feature").await.id;
    let got: Vec<_> = all(&fx, &pr).await.into_iter().map(|f| f.path).collect();
    names.sort_unstable();
    assert_eq!(got, names);
}

async fn pages_cover_every_file_once(fx: Fixture) {
    let names: Vec<_> = (10..17).map(|n| format!("f{n}")).collect();
    let files: Vec<_> = names.iter().map(|n| (n.as_str(), Some("x\n"))).collect();
    fx.git.commit("feature", "Seven", &files);
    let pr = fx.open_from("feature").await.id;
    let mut got = Vec::new();
    let mut page = PageReq::first(3);
    loop {
        let one = fx.author.files(&pr, page).await.unwrap();
        got.extend(one.items.into_iter().map(|f| f.path));
        let Some(next) = one.next else { break };
        page = PageReq::after(next, 3);
    }
    assert_eq!(got, names);
}

async fn page_size_does_not_affect_renames(fx: Fixture) {
    let lib = fx.git.show("main", "src/lib.rs");
    let files = [
        ("src/lib.rs", None),
        ("a.rs", Some(lib.as_str())),
        ("b", Some("x\n")),
    ];
    fx.git.commit("feature", "Move", &files);
    let pr = fx.open_from("feature").await.id;
    let first = fx.author.files(&pr, PageReq::first(1)).await.unwrap();
    assert_eq!(first.items[0].status, FileStatus::Renamed);
    let next = PageReq::after(first.next.unwrap(), 5);
    let rest = fx.author.files(&pr, next).await.unwrap().items;
    assert_eq!(rest.len(), 1);
    assert_eq!(rest[0].path, "b");
}

async fn files_of_missing_pull_are_not_found(fx: Fixture) {
    fx.open("feature").await;
    refused(
        fx.author
            .files(&fx.author.pull_id(31), PageReq::first(1))
            .await,
        "not_found",
    );
}
