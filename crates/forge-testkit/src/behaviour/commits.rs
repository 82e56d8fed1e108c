//! Behaviour of commit lists.

use forge_core::PageReq;

use super::{Fixture, Set, cases, refused};
use crate::Identity;

pub(super) fn cases(set: &mut Set) {
    cases![set;
        commits_are_oldest_first_with_all_fields [PrCommits];
        commits_of_the_base_are_left_out [PrCommits];
        co_authors_are_listed_as_authors [PrCommits];
        commits_are_paged [PrCommits];
        commits_stay_after_the_merge [PrCommits, MergeCommit];
        commits_of_missing_pull_are_not_found [PrCommits];
    ];
}

async fn commits_are_oldest_first_with_all_fields(fx: Fixture) {
    let message = "First: é\n\nA body\nof two lines.";
    let file: [(&str, Option<&[u8]>); 1] = [("a", Some(b"1\n"))];
    let one = fx
        .git
        .commit_bytes("feature", &Identity::GRACE, message, &file);
    let two = fx.git.commit("feature", "Second", &[("b", Some("2\n"))]);
    let pr = fx.open_from("feature").await.id;
    let commits = fx
        .author
        .commits(&pr, PageReq::first(10))
        .await
        .unwrap()
        .items;
    let oids: Vec<_> = commits.iter().map(|c| c.oid.as_str()).collect();
    assert_eq!(oids, [one, two]);
    let first = &commits[0];
    assert_eq!(first.message_headline, "First: é");
    assert_eq!(first.message_body.trim_end(), "A body\nof two lines.");
    assert_eq!(first.authors[0].name, Identity::GRACE.name);
    assert_eq!(first.authors[0].email, Identity::GRACE.email);
    assert_eq!(first.committer.email, Identity::GRACE.email);
    assert!(commits[0].committer.at < commits[1].committer.at);
}

async fn commits_of_the_base_are_left_out(fx: Fixture) {
    fx.feature("feature");
    fx.git
        .commit("main", "Elsewhere", &[("elsewhere", Some("x\n"))]);
    let pr = fx.open_from("feature").await.id;
    let commits = fx
        .author
        .commits(&pr, PageReq::first(10))
        .await
        .unwrap()
        .items;
    assert_eq!(commits.len(), 1);
}

async fn co_authors_are_listed_as_authors(fx: Fixture) {
    let message = "Together\n\nCo-authored-by: Grace Hopper <grace@example.com>";
    fx.git.commit("feature", message, &[("a", Some("1\n"))]);
    let pr = fx.open_from("feature").await.id;
    let commits = fx
        .author
        .commits(&pr, PageReq::first(10))
        .await
        .unwrap()
        .items;
    let emails: Vec<_> = commits[0]
        .authors
        .iter()
        .map(|a| a.email.as_str())
        .collect();
    assert_eq!(emails, ["ada@example.com", "grace@example.com"]);
}

async fn commits_are_paged(fx: Fixture) {
    let mut made = Vec::new();
    for n in 0..5 {
        made.push(fx.git.commit(
            "feature",
            &format!("{n}"),
            &[("n", Some(&format!("{n}\n")))],
        ));
    }
    let pr = fx.open_from("feature").await.id;
    let mut got = Vec::new();
    let mut page = PageReq::first(2);
    loop {
        let one = fx.author.commits(&pr, page).await.unwrap();
        got.extend(one.items.into_iter().map(|c| c.oid));
        let Some(next) = one.next else { break };
        page = PageReq::after(next, 2);
    }
    assert_eq!(got, made);
}

async fn commits_stay_after_the_merge(fx: Fixture) {
    let oid = fx.feature("feature");
    let pr = fx.open_from("feature").await.id;
    fx.author.merge(&pr, &Default::default()).await.unwrap();
    let commits = fx
        .author
        .commits(&pr, PageReq::first(10))
        .await
        .unwrap()
        .items;
    let oids: Vec<_> = commits.into_iter().map(|c| c.oid).collect();
    assert_eq!(oids, [oid]);
}

async fn commits_of_missing_pull_are_not_found(fx: Fixture) {
    fx.open("feature").await;
    refused(
        fx.author
            .commits(&fx.author.pull_id(31), PageReq::first(1))
            .await,
        "not_found",
    );
}
