//! Behaviour of lists: filters, pages, cursors.

use std::collections::BTreeSet;

use forge_core::{
    Cursor, PageReq, PrId, RepoId, RepoPath,
    model::{CreatePull, EditPull, PullQuery, PullScope, StateFilter},
};
use futures::TryStreamExt;

use super::{Fixture, Set, cases, invalid, refused};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        empty_repository_has_no_pulls;
        open_pulls_are_listed_newest_first;
        list_filters_by_state [PrClose, MergeCommit];
        list_filters_by_author;
        list_filters_by_own_account;
        list_filters_by_assignee [PrAssignees];
        label_filter_needs_every_label [PrLabels, LabelEdit];
        list_filters_by_base;
        list_filters_by_head;
        drafts_are_listed_or_excluded [PrCreateDraft];
        several_filters_are_combined [PrLabels, LabelEdit];
        pages_cover_every_pull_once;
        filtered_page_is_full [PrLabels, LabelEdit];
        page_of_one_row_has_a_next_page;
        new_pull_does_not_shift_the_next_page;
        cursor_of_another_query_is_refused;
        malformed_cursor_is_refused;
        the_stream_reads_every_page;
        search_finds_words [PrListSearch];
        search_qualifiers_select_pulls [PrListSearch];
        unknown_search_qualifier_is_refused [PrListSearch];
        requested_sections_are_filled;
        several_repositories_are_listed_together [PrListSearch];
        touches_filter_matches_path_directory_or_glob;
        page_of_touches_filter_is_full;
        touches_filter_outside_repository_is_refused;
    ];
}

async fn ids(fx: &Fixture, query: &PullQuery) -> Vec<PrId> {
    let page = fx.author.pulls(query, PageReq::first(50)).await.unwrap();
    assert!(page.warnings.is_empty(), "{:?}", page.warnings);
    page.items.into_iter().map(|p| p.id).collect()
}

async fn several_repositories_are_listed_together(fx: Fixture) {
    let a = fx.open("a").await.id;
    let b = fx.open("b").await.id;
    let own = fx.author.id().clone();
    let path = match &own.path {
        RepoPath::Named { owner, .. } => RepoPath::Named {
            owner: owner.clone(),
            name: "gone".into(),
        },
        RepoPath::Dir(dir) => RepoPath::Dir(dir.join("gone")),
        other => panic!("{other:?}"),
    };
    let gone = RepoId {
        path,
        ..own.clone()
    };
    let mut scope = PullScope::default();
    scope.repos = vec![own, gone.clone()];
    let mut mine = PullQuery::default();
    mine.search = Some("author:@me".into());
    let queries = [PullQuery::default(), mine];
    let client = fx.author.client();
    let found = client.list_across(&scope, &queries, 1).await.unwrap();
    assert!(found.is_cut);
    let mut found = client.list_across(&scope, &queries, 30).await.unwrap();
    found.keep_newest(30);
    assert!(!found.is_cut);
    for list in &found.lists {
        let ids: BTreeSet<String> = list.iter().map(|p| p.id.to_string()).collect();
        assert_eq!(ids, BTreeSet::from([a.to_string(), b.to_string()]));
    }
    assert_eq!(found.lists.len(), 2);
    let failed: Vec<_> = found.failed.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(failed, [gone.to_string()]);
}

async fn empty_repository_has_no_pulls(fx: Fixture) {
    let page = fx
        .author
        .pulls(&PullQuery::default(), PageReq::first(30))
        .await
        .unwrap();
    assert!(page.items.is_empty() && page.next.is_none() && page.warnings.is_empty());
}

async fn open_pulls_are_listed_newest_first(fx: Fixture) {
    let a = fx.open("a").await.id;
    let b = fx.open("b").await.id;
    let c = fx.open("c").await.id;
    assert_eq!(ids(&fx, &PullQuery::default()).await, [c, b, a]);
}

async fn list_filters_by_state(fx: Fixture) {
    let merged = fx.open("merged").await.id;
    let closed = fx.open("closed").await.id;
    let open = fx.open("open").await.id;
    fx.author.merge(&merged, &Default::default()).await.unwrap();
    fx.author.close(&closed, &Default::default()).await.unwrap();
    let of = |state| {
        let mut query = PullQuery::default();
        query.state = state;
        query
    };
    assert_eq!(ids(&fx, &of(StateFilter::Open)).await, [open.clone()]);
    assert_eq!(ids(&fx, &of(StateFilter::Merged)).await, [merged.clone()]);
    assert_eq!(
        ids(&fx, &of(StateFilter::Closed)).await,
        [closed.clone(), merged.clone()]
    );
    assert_eq!(
        ids(&fx, &of(StateFilter::All)).await,
        [open, closed, merged]
    );
}

async fn list_filters_by_author(fx: Fixture) {
    let mine = fx.open("mine").await.id;
    fx.feature("theirs");
    let theirs = fx
        .reviewer
        .create_pull(&CreatePull::new("theirs", "T"))
        .await
        .unwrap()
        .value
        .id;
    let of = |login: String| {
        let mut query = PullQuery::default();
        query.author = Some(login);
        query
    };
    assert_eq!(ids(&fx, &of(fx.author_login().await)).await, [mine]);
    assert_eq!(ids(&fx, &of(fx.reviewer_login().await)).await, [theirs]);
    assert!(ids(&fx, &of("nobody-of-that-name".into())).await.is_empty());
}

async fn list_filters_by_own_account(fx: Fixture) {
    let mine = fx.open("mine").await.id;
    fx.feature("theirs");
    fx.reviewer
        .create_pull(&CreatePull::new("theirs", "T"))
        .await
        .unwrap();
    let mut query = PullQuery::default();
    query.author = Some("@me".into());
    assert_eq!(ids(&fx, &query).await, [mine]);
}

async fn list_filters_by_assignee(fx: Fixture) {
    fx.open("a").await;
    let b = fx.open("b").await.id;
    let mut edit = EditPull::default();
    edit.assignees.add = vec![fx.reviewer_login().await];
    fx.author.edit_pull(&b, &edit).await.unwrap();
    let mut query = PullQuery::default();
    query.assignee = Some(fx.reviewer_login().await);
    assert_eq!(ids(&fx, &query).await, [b]);
    let mut mine = PullQuery::default();
    mine.assignee = Some("@me".into());
    assert!(ids(&fx, &mine).await.is_empty());
}

async fn labelled(fx: &Fixture, branch: &str, labels: &[&str]) -> PrId {
    fx.feature(branch);
    let mut req = CreatePull::new(branch, branch);
    req.labels = labels.iter().map(|l| (*l).to_owned()).collect();
    fx.author.create_pull(&req).await.unwrap().value.id
}

async fn label_filter_needs_every_label(fx: Fixture) {
    fx.define(&["bug", "urgent"]).await;
    let both = labelled(&fx, "both", &["bug", "urgent"]).await;
    let one = labelled(&fx, "one", &["bug"]).await;
    labelled(&fx, "none", &[]).await;
    let of = |labels: &[&str]| {
        let mut query = PullQuery::default();
        query.labels = labels.iter().map(|l| (*l).to_owned()).collect();
        query
    };
    assert_eq!(ids(&fx, &of(&["bug"])).await, [one, both.clone()]);
    assert_eq!(ids(&fx, &of(&["Bug", "URGENT"])).await, [both]);
}

async fn list_filters_by_base(fx: Fixture) {
    fx.feature("release");
    fx.open("to-main").await;
    fx.feature("to-release");
    let mut req = CreatePull::new("to-release", "R");
    req.base = Some("release".into());
    let pr = fx.author.create_pull(&req).await.unwrap().value.id;
    let mut query = PullQuery::default();
    query.base = Some("release".into());
    assert_eq!(ids(&fx, &query).await, [pr]);
}

async fn list_filters_by_head(fx: Fixture) {
    let a = fx.open("topic/a").await.id;
    fx.open("topic/ab").await;
    let mut query = PullQuery::default();
    query.head = Some("topic/a".into());
    assert_eq!(ids(&fx, &query).await, [a]);
}

async fn drafts_are_listed_or_excluded(fx: Fixture) {
    let ready = fx.open("ready").await.id;
    fx.feature("draft");
    let mut req = CreatePull::new("draft", "D");
    req.draft = true;
    let draft = fx.author.create_pull(&req).await.unwrap().value.id;
    let of = |draft| {
        let mut query = PullQuery::default();
        query.draft = Some(draft);
        query
    };
    assert_eq!(ids(&fx, &of(true)).await, [draft]);
    assert_eq!(ids(&fx, &of(false)).await, [ready]);
}

async fn several_filters_are_combined(fx: Fixture) {
    fx.define(&["bug"]).await;
    let wanted = labelled(&fx, "wanted", &["bug"]).await;
    labelled(&fx, "unlabelled", &[]).await;
    fx.feature("theirs");
    let mut req = CreatePull::new("theirs", "T");
    req.labels = vec!["bug".into()];
    fx.reviewer.create_pull(&req).await.unwrap();
    let mut query = PullQuery::default();
    query.author = Some("@me".into());
    query.labels = vec!["bug".into()];
    query.base = Some("main".into());
    assert_eq!(ids(&fx, &query).await, [wanted]);
}

async fn walk(fx: &Fixture, query: &PullQuery, limit: usize) -> Vec<PrId> {
    let mut all = Vec::new();
    let mut page = PageReq::first(limit);
    loop {
        let got = fx.author.pulls(query, page).await.unwrap();
        assert!(got.items.len() <= limit);
        assert!(
            got.next.is_none() || got.items.len() == limit,
            "a page in the middle is not full"
        );
        all.extend(got.items.into_iter().map(|p| p.id));
        let Some(next) = got.next else { return all };
        page = PageReq::after(Cursor::from_text(next.as_str()), limit);
    }
}

async fn pages_cover_every_pull_once(fx: Fixture) {
    let mut opened = Vec::new();
    for n in 0..7 {
        opened.push(fx.open(&format!("b{n}")).await.id);
    }
    opened.reverse();
    for limit in [1, 2, 3, 7, 8] {
        assert_eq!(
            walk(&fx, &PullQuery::default(), limit).await,
            opened,
            "limit {limit}"
        );
    }
}

async fn filtered_page_is_full(fx: Fixture) {
    fx.define(&["bug"]).await;
    let mut wanted = Vec::new();
    for n in 0..9 {
        let labels: &[&str] = if n % 3 == 0 { &["bug"] } else { &[] };
        let id = labelled(&fx, &format!("b{n}"), labels).await;
        if n % 3 == 0 {
            wanted.insert(0, id);
        }
    }
    let mut query = PullQuery::default();
    query.labels = vec!["bug".into()];
    let page = fx.author.pulls(&query, PageReq::first(2)).await.unwrap();
    assert_eq!(page.items.len(), 2);
    assert_eq!(walk(&fx, &query, 2).await, wanted);
}

async fn page_of_one_row_has_a_next_page(fx: Fixture) {
    fx.open("a").await;
    let b = fx.open("b").await.id;
    let page = fx
        .author
        .pulls(&PullQuery::default(), PageReq::first(1))
        .await
        .unwrap();
    assert_eq!(page.items.len(), 1);
    assert_eq!(page.items[0].id, b);
    assert!(page.next.is_some());
}

async fn new_pull_does_not_shift_the_next_page(fx: Fixture) {
    for n in 0..4 {
        fx.open(&format!("b{n}")).await;
    }
    let first = fx
        .author
        .pulls(&PullQuery::default(), PageReq::first(2))
        .await
        .unwrap();
    fx.open("late").await;
    let next = PageReq::after(first.next.clone().unwrap(), 10);
    let second = fx.author.pulls(&PullQuery::default(), next).await.unwrap();
    let seen: BTreeSet<_> = first
        .items
        .iter()
        .chain(&second.items)
        .map(|p| p.id.to_string())
        .collect();
    assert_eq!(seen.len(), 4, "{seen:?}");
}

async fn cursor_of_another_query_is_refused(fx: Fixture) {
    for branch in ["a", "b", "c"] {
        fx.open(branch).await;
    }
    let page = fx
        .author
        .pulls(&PullQuery::default(), PageReq::first(1))
        .await
        .unwrap();
    let mut other = PullQuery::default();
    other.base = Some("main".into());
    let stolen = PageReq::after(page.next.unwrap(), 1);
    let e = invalid(fx.author.pulls(&other, stolen).await, "cursor");
    assert!(e.hint().is_some());
}

async fn malformed_cursor_is_refused(fx: Fixture) {
    fx.open("a").await;
    for text in ["", "garbage", "local:zz:1", "::", "\u{0}"] {
        let page = PageReq::after(Cursor::from_text(text), 1);
        invalid(fx.author.pulls(&PullQuery::default(), page).await, "cursor");
    }
}

async fn the_stream_reads_every_page(fx: Fixture) {
    let mut opened = Vec::new();
    for n in 0..5 {
        opened.insert(0, fx.open(&format!("b{n}")).await.id);
    }
    let all: Vec<_> = fx
        .author
        .all_pulls(PullQuery::default())
        .map_ok(|p| p.id)
        .try_collect()
        .await
        .unwrap();
    assert_eq!(all, opened);
}

fn search(text: &str) -> PullQuery {
    let mut query = PullQuery::default();
    query.search = Some(text.into());
    query
}

async fn search_finds_words(fx: Fixture) {
    fx.feature("a");
    fx.feature("b");
    let mut req = CreatePull::new("a", "Polish the brass");
    req.description = "Until it shines.".into();
    let a = fx.author.create_pull(&req).await.unwrap().value.id;
    let b = fx
        .author
        .create_pull(&CreatePull::new("b", "Sharpen"))
        .await
        .unwrap()
        .value
        .id;
    assert_eq!(ids(&fx, &search("BRASS")).await, [a.clone()]);
    assert_eq!(ids(&fx, &search("shines")).await, [a]);
    assert_eq!(ids(&fx, &search("sharpen")).await, [b]);
    assert!(ids(&fx, &search("brass sharpen")).await.is_empty());
}

async fn search_qualifiers_select_pulls(fx: Fixture) {
    let mine = fx.open("mine").await.id;
    fx.feature("theirs");
    let theirs = fx
        .reviewer
        .create_pull(&CreatePull::new("theirs", "T"))
        .await
        .unwrap()
        .value
        .id;
    let login = fx.author_login().await;
    assert_eq!(
        ids(&fx, &search(&format!("author:{login}"))).await,
        [mine.clone()]
    );
    assert_eq!(
        ids(&fx, &search(&format!("-author:{login}"))).await,
        [theirs]
    );
    assert_eq!(ids(&fx, &search("head:mine is:open")).await, [mine]);
}

async fn unknown_search_qualifier_is_refused(fx: Fixture) {
    fx.open("a").await;
    if !fx.facts.checks_qualifiers {
        let found = fx
            .author
            .pulls(&search("colour:blue"), PageReq::first(1))
            .await;
        assert!(found.unwrap().items.is_empty());
        return;
    }
    let e = refused(
        fx.author
            .pulls(&search("colour:blue"), PageReq::first(1))
            .await,
        "invalid_input",
    );
    assert!(e.message().contains("colour"), "{e}");
}

async fn requested_sections_are_filled(fx: Fixture) {
    fx.open("a").await;
    let plain = fx
        .author
        .pulls(&PullQuery::default(), PageReq::first(1))
        .await
        .unwrap();
    assert_eq!(plain.items[0].additions, None);
    let mut query = PullQuery::default();
    query.fields = forge_core::model::PrFields::STATS;
    let full = fx.author.pulls(&query, PageReq::first(1)).await.unwrap();
    assert_eq!(full.items[0].additions, Some(3));
    assert_eq!(full.items[0].changed_files, Some(1));
}

fn touches(paths: &[&str]) -> PullQuery {
    let mut query = PullQuery::default();
    query.touches = paths.iter().map(|path| (*path).to_owned()).collect();
    query
}

async fn touches_filter_matches_path_directory_or_glob(fx: Fixture) {
    let text = fx.git.show("main", "src/lib.rs");
    let changed = text.replace("line 10\n", "another line 10\n");
    fx.git
        .commit("lib", "Change lib", &[("src/lib.rs", Some(&changed))]);
    let lib = fx.open_from("lib").await.id;
    let one = fx.open("one").await.id;
    let two = fx.open("two").await.id;
    for (paths, found) in [
        (&["src/lib.rs"][..], vec![&lib]),
        (&["src"], vec![&lib]),
        (&["./src/"], vec![&lib]),
        (&["*.rs"], vec![&lib]),
        (&["one.txt", "src/*.rs"], vec![&one, &lib]),
        (&["*.txt"], vec![&two, &one]),
        (&["lib.rs"], vec![]),
    ] {
        let found: Vec<PrId> = found.into_iter().cloned().collect();
        assert_eq!(ids(&fx, &touches(paths)).await, found, "{paths:?}");
    }
    let mut of_main = touches(&["src"]);
    of_main.author = Some("@me".into());
    let page = fx.author.pulls(&of_main, PageReq::first(5)).await.unwrap();
    assert_eq!(page.items.len(), 1);
    assert!(page.items[0].files.is_none());
    assert!(page.scanned.is_some_and(|n| n > 1), "{:?}", page.scanned);
}

async fn page_of_touches_filter_is_full(fx: Fixture) {
    let mut wanted = Vec::new();
    for n in 0..9 {
        let branch = match n % 3 {
            0 => format!("wanted-{n}"),
            _ => format!("b{n}"),
        };
        let id = fx.open(&branch).await.id;
        if n % 3 == 0 {
            wanted.insert(0, id);
        }
    }
    let query = touches(&["wanted-*"]);
    let page = fx.author.pulls(&query, PageReq::first(2)).await.unwrap();
    assert_eq!(page.items.len(), 2);
    for limit in [1, 2, 3, 4] {
        assert_eq!(walk(&fx, &query, limit).await, wanted, "limit {limit}");
    }
}

async fn touches_filter_outside_repository_is_refused(fx: Fixture) {
    fx.open("a").await;
    for path in ["", "/etc/passwd", "../x"] {
        let query = touches(&[path]);
        invalid(fx.author.pulls(&query, PageReq::first(1)).await, "touches");
    }
}
