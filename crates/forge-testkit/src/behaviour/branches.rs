//! Behaviour of branch lists.

use forge_core::{PageReq, model::Branch};

use super::{Fixture, Set, cases};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        branches_are_listed_with_their_tips;
        pages_cover_every_branch_once;
        repeated_fork_is_not_made_again [RepoFork];
    ];
}

async fn branches_are_listed_with_their_tips(fx: Fixture) {
    for name in ["zeta", "alpha", "dir/inner"] {
        fx.feature(name);
    }
    let listed = fx.author.branches(PageReq::first(100)).await.unwrap();
    assert!(listed.next.is_none());
    let names: Vec<&str> = listed.items.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["alpha", "dir/inner", "main", "zeta"]);
    for Branch { name, oid, .. } in &listed.items {
        assert_eq!(fx.git.oid(name).as_deref(), Some(oid.as_str()), "{name}");
    }
}

async fn pages_cover_every_branch_once(fx: Fixture) {
    for n in 0..5 {
        fx.feature(&format!("b{n}"));
    }
    let mut names = Vec::new();
    let mut page = PageReq::first(2);
    loop {
        let found = fx.author.branches(page).await.unwrap();
        assert!(found.items.len() <= 2);
        names.extend(found.items.into_iter().map(|b| b.name));
        match found.next {
            Some(next) => page = PageReq::after(next, 2),
            None => break,
        }
    }
    assert_eq!(names, ["b0", "b1", "b2", "b3", "b4", "main"]);
}

async fn repeated_fork_is_not_made_again(fx: Fixture) {
    let login = fx.reviewer.viewer().await.unwrap().login;
    let made = fx.reviewer.fork().await.unwrap().value;
    let owner = made.owner_and_name().map(|(owner, _)| owner.to_owned());
    assert_eq!(owner, Some(login));
    assert_ne!(&made, fx.reviewer.id());
    assert_eq!(fx.reviewer.fork().await.unwrap().value, made);
}
