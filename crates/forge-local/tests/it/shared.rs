use std::sync::Arc;

use forge_core::{PageReq, Reviews, Trust};
use forge_local::{Local, StoreCache};

use crate::repo::{Repo, create, pr};

async fn bodies(local: &Local) -> Vec<String> {
    let page = local.comments(&pr(local, 1), PageReq::first(100)).await;
    let items = page.unwrap().items.into_iter();
    items.map(|comment| comment.body).collect()
}

#[tokio::test]
async fn cached_events_include_events_of_other_writers() {
    let repo = Repo::new();
    repo.branch("b", "f", "x\n");
    let other = repo.open().await;
    create(&other, "b").await;
    let shared = Arc::new(StoreCache::default());
    let open = || Local::open_shared(&repo.path, Trust::Person, Arc::clone(&shared));
    assert!(bodies(&open().await.unwrap()).await.is_empty());
    let mut wanted = Vec::new();
    for n in 0..5 {
        let body = format!("comment {n}");
        // Every second comment is written without the cache.
        let local = open().await.unwrap();
        let writer = if n % 2 == 0 { &local } else { &other };
        let made = writer.comment(&pr(writer, 1), &body, None).await;
        assert_eq!(made.unwrap().value.body, body);
        wanted.push(body);
        assert_eq!(bodies(&open().await.unwrap()).await, wanted);
        assert_eq!(bodies(&other).await, wanted);
    }
    // There are more new events than a cached log can load at once.
    for n in 5..75 {
        let body = format!("comment {n}");
        other.comment(&pr(&other, 1), &body, None).await.unwrap();
        wanted.push(body);
    }
    assert_eq!(bodies(&open().await.unwrap()).await, wanted);
    // The ref moves back, as it does after a forced fetch.
    repo.git(&["update-ref", "refs/forge/pulls/1", "refs/forge/pulls/1~70"]);
    wanted.truncate(5);
    assert_eq!(bodies(&open().await.unwrap()).await, wanted);
}
