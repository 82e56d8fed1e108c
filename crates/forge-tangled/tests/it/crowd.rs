//! Concurrent edits of one record from several processes.

use forge_core::{
    PrId, PullRequests,
    model::{CreatePull, EditPull, Resubmit},
};
use serde_json::Value;

use crate::stage::Stage;

/// Number of concurrent edits.
const MANY: usize = 30;

/// Edits a pull request from concurrent processes: half change the title, half the description.
async fn edit_at_once(stage: &Stage, pr: &PrId) {
    let dir = tempfile::tempdir().unwrap();
    let settings = forge_tangled::TangledSettings {
        sessions: Some(dir.path().to_owned()),
        wait: std::time::Duration::ZERO,
        ..stage.settings()
    };
    let forges: Vec<_> = (0..MANY)
        .map(|_| stage.tangled_with(settings.clone(), Some(&stage.alice)))
        .collect();
    let edits = forges.iter().enumerate().map(|(n, forge)| {
        let text = format!("edit {n}");
        async move {
            let mut edit = EditPull::default();
            if n % 2 == 0 {
                edit.title = Some(text);
            } else {
                edit.description = Some(text);
            }
            forge.edit(pr, &edit).await
        }
    });
    for done in futures::future::join_all(edits).await {
        assert!(!done.unwrap().unchanged);
    }
}

/// Checks that each edit made a version that differs from the previous version only in its text.
fn each_is_kept(versions: &[(String, Value)], text: impl Fn(&Value) -> Option<&str>) {
    let mut texts: Vec<String> = Vec::new();
    for pair in versions.windows(2) {
        let (before, after) = (&pair[0].1, &pair[1].1);
        let changed: Vec<_> = ["title", "body"]
            .into_iter()
            .filter(|name| before.get(name) != after.get(name))
            .collect();
        assert_eq!(changed.len(), 1, "{before:#}\n{after:#}");
        texts.push(text(&after[changed[0]]).unwrap().to_owned());
        let rest = |value: &Value| {
            let mut value = value.clone();
            value[changed[0]] = Value::Null;
            value
        };
        assert_eq!(rest(before), rest(after));
    }
    texts.sort();
    let mut edits: Vec<_> = (0..MANY).map(|n| format!("edit {n}")).collect();
    edits.sort();
    assert_eq!(texts, edits, "every edit is in the history once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_edits_at_once_are_all_kept() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    edit_at_once(&stage, &made.id).await;
    let versions = stage.world.pds().versions(&made.node_id);
    each_is_kept(&versions, Value::as_str);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_concurrent_ticket_edits_are_kept() {
    let stage = Stage::new();
    let repo = stage.world.repository_1_0(&stage.alice, "new");
    repo.git.commit("topic", "Add a", &[("a", Some("1\n"))]);
    let id = stage.id_of(&repo);
    let forge = stage.tangled(&stage.alice);
    let made = forge.create(&id, &CreatePull::new("topic", "One")).await;
    let made = made.unwrap().value;
    edit_at_once(&stage, &made.id).await;
    // The accounts of knots are in the same network double.
    let versions = stage.world.pds().versions(&made.node_id);
    each_is_kept(&versions, |value| value["text"].as_str());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_rounds_are_kept_or_refused_as_stale() {
    let stage = Stage::new();
    let made = stage.open(&stage.handle(&stage.alice), "topic").await;
    let settings = forge_tangled::TangledSettings {
        wait: std::time::Duration::ZERO,
        ..stage.settings()
    };
    let patch = |n: usize| {
        format!(
            "diff --git a/f{n} b/f{n}\nnew file mode 100644\n--- /dev/null\n+++ b/f{n}\n@@ -0,0 +1 @@\n+x\n"
        )
    };
    let forges: Vec<_> = (0..6)
        .map(|_| stage.tangled_with(settings.clone(), Some(&stage.alice)))
        .collect();
    let rounds = forges.iter().enumerate().map(|(n, forge)| {
        let id = made.id.clone();
        async move {
            let mut req = Resubmit::default();
            req.patch = Some(patch(n).into());
            forge.resubmit(&id, &req).await
        }
    });
    let all = futures::future::join_all(rounds).await;
    let written = all.iter().filter(|done| done.is_ok()).count();
    for refused in all.iter().filter_map(|done| done.as_ref().err()) {
        assert_eq!(refused.code(), "conflict", "{refused:?}");
    }
    assert!(written >= 1);
    let (_, record) = stage.world.pds().record(&made.node_id).unwrap();
    assert_eq!(record["rounds"].as_array().map(Vec::len), Some(1 + written));
}
