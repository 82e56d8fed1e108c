use serde_json::{Value, json};

use super::world::{Tangled, WIDGET};

#[test]
fn tangled_pull_has_the_same_facts() {
    let t = Tangled::new();
    let uri = t.open("topic");
    let args = ["pr", "context", &uri, "-R", WIDGET, "--json"];
    let found = t.forge(&t.bob, &args).output().success().json();
    assert_eq!(found["pr"]["number"], uri);
    assert_eq!(found["pr"]["title"], "T");
    assert_eq!(found["pr"]["state"], "open");
    assert_eq!(found["diff"]["files"][0]["path"], "topic.txt");
    assert_eq!(found["diff"]["contextLines"], Value::Null);
    assert_eq!(
        found["summary"]["keyChanges"],
        json!(["adds topic.txt (+1)"])
    );
    // Reviews have no verdicts here, and the spindle ran nothing, which is not the same as green.
    assert_eq!(found["summary"]["readyToMerge"], Value::Null, "{found}");
    let first = &found["verdict"]["requirements"][0];
    assert_eq!(first["rule"], "checks_reported");
    assert_eq!(found["summary"]["blockers"], json!([]));
}
