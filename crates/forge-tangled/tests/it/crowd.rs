use forge_core::{PullRequests, model::EditPull};
use serde_json::Value;

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_edits_at_once_are_all_kept() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let dir = tempfile::tempdir().unwrap();
    let settings = forge_tangled::Settings {
        sessions: Some(dir.path().to_owned()),
        wait: std::time::Duration::ZERO,
        ..stage.settings()
    };
    let forges: Vec<_> = (0..30)
        .map(|_| stage.tangled_with(settings.clone(), Some(&stage.alice)))
        .collect();
    // Half change the title, half the description: each must survive the others.
    let edits = forges.iter().enumerate().map(|(n, forge)| {
        let (id, text) = (made.id.clone(), format!("edit {n}"));
        async move {
            let mut edit = EditPull::default();
            if n % 2 == 0 {
                edit.title = Some(text);
            } else {
                edit.description = Some(text);
            }
            forge.edit(&id, &edit).await
        }
    });
    for done in futures::future::join_all(edits).await {
        assert!(!done.unwrap().unchanged);
    }
    let (_, record) = stage.world.pds().record(&made.node_id).unwrap();
    let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
    assert!(text("title").starts_with("edit ") && text("body").starts_with("edit "));
    assert_eq!(record["rounds"].as_array().map(Vec::len), Some(1));
    assert!(record.get("target").is_some_and(Value::is_object));
}
