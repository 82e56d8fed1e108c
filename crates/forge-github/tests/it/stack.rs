//! Opens a pull request on top of another one: the checks before, the stack that is created or
//! extended, and the warnings if the pull request was not added to a stack.

use forge_core::{
    Action, Error, ErrorKind, Op, Outcome, Param, PrId, PrKey, RepoPath, Result,
    model::{CreatePull, HeadRef, PrFields, PullRequest},
};
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::{
    create::prepared,
    script::{Script, Step, body, data, error, repo_id, rest},
    wire::{changed, one},
};

const STACKS: &str = "/repos/octo/tools/stacks";

fn on_five() -> CreatePull {
    let mut req = CreatePull::new("feature", "Upper");
    req.depends_on = Some(PrId::number(repo_id(), 5));
    req
}

fn below(other: Value) -> Value {
    let mut below = json!({ "state": "OPEN", "headRefName": "lower", "isCrossRepository": false });
    for (key, value) in other.as_object().unwrap() {
        below[key] = value.clone();
    }
    prepared(json!({ "repository": { "below": below } }))
}

fn looked_up() -> Step {
    data("CreatePrepare", below(json!({})))
}

fn opened() -> Step {
    let pull = changed(7, json!({ "title": "Upper", "baseRefName": "lower" }));
    data(
        "createPullRequest",
        json!({ "create": { "pullRequest": pull } }),
    )
}

fn told(status: u16, body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(body)
}

fn stack(pulls: &[u64]) -> Value {
    let pulls: Vec<Value> = pulls
        .iter()
        .map(|n| json!({ "number": n, "state": "open", "draft": false, "merged_at": null }))
        .collect();
    json!({ "id": 9, "number": 3, "base": { "ref": "main" }, "open": true, "pull_requests": pulls })
}

/// Reads the stacks that contain a pull request.
fn look(number: u64, stacks: &[Value]) -> Step {
    rest(&look_at(number), told(200, &json!(stacks)))
}

fn look_at(number: u64) -> String {
    format!("GET {STACKS}?pull_request={number}")
}

async fn play(steps: Vec<Step>) -> (Script, Result<Outcome<PullRequest>>) {
    let script = Script::play(steps).await;
    let made = script.repo.create_pull(&on_five()).await;
    (script, made)
}

fn depends_on_five(made: &Outcome<PullRequest>) -> bool {
    made.value.depends_on == Some(PrKey::Number(5))
}

fn steps(made: &Outcome<PullRequest>) -> Vec<(&str, bool)> {
    made.steps
        .iter()
        .map(|s| (s.name.as_str(), s.done))
        .collect()
}

#[tokio::test]
async fn two_pull_requests_become_stack() {
    let made = rest(&format!("POST {STACKS}"), told(201, &stack(&[5, 7])));
    let (script, made) = play(vec![looked_up(), look(5, &[]), opened(), made]).await;
    let made = made.unwrap();
    assert!(
        made.warnings.is_empty() && depends_on_five(&made),
        "{made:?}"
    );
    assert_eq!(
        steps(&made),
        [
            ("open the pull request", true),
            ("put it into a stack with github.com/octo/tools#5", true),
        ]
    );
    let sent = script.sent();
    assert_eq!(sent[0].1["below"], 5);
    assert_eq!(sent[2].1["create"]["baseRefName"], "lower");
    assert_eq!(sent[3].1, json!({ "pull_requests": [5, 7] }));
}

#[tokio::test]
async fn stack_grows_at_top() {
    let grown = rest(
        &format!("POST {STACKS}/3/add"),
        told(200, &stack(&[4, 5, 7])),
    );
    let (script, made) = play(vec![
        looked_up(),
        look(5, &[stack(&[4, 5])]),
        opened(),
        grown,
    ])
    .await;
    let made = made.unwrap();
    assert!(
        made.warnings.is_empty() && depends_on_five(&made),
        "{made:?}"
    );
    assert_eq!(script.sent()[3].1, json!({ "pull_requests": [7] }));
}

#[tokio::test]
async fn second_pull_request_on_top_is_refused() {
    let (script, made) = play(vec![looked_up(), look(5, &[stack(&[4, 5, 6])])]).await;
    let e = made.unwrap_err();
    assert!(
        matches!(e.kind(), ErrorKind::AlreadyExists { existing: Some(url) } if url.ends_with("/octo/tools/pull/6")),
        "{e:?}"
    );
    let build_on = Action::again(&[]).with(Param::DependsOn, "6");
    assert_eq!(e.hint().unwrap().action(), Some(&build_on));
    script.sent();
}

#[tokio::test]
async fn closed_pull_request_on_top_is_ignored() {
    let mut below = stack(&[4, 5, 6]);
    below["pull_requests"][2]["state"] = json!("closed");
    let grown = rest(
        &format!("POST {STACKS}/3/add"),
        told(200, &stack(&[4, 5, 7])),
    );
    let (script, made) = play(vec![looked_up(), look(5, &[below]), opened(), grown]).await;
    let made = made.unwrap();
    assert!(
        made.warnings.is_empty() && depends_on_five(&made),
        "{made:?}"
    );
    script.sent();
}

#[tokio::test]
async fn create_without_stack_support_sets_only_base() {
    let hidden = told(404, &json!({ "message": "Not Found", "status": "404" }));
    let (script, made) = play(vec![looked_up(), rest(&look_at(5), hidden), opened()]).await;
    let made = made.unwrap();
    assert!(depends_on_five(&made));
    let [warning] = made.warnings.as_slice() else {
        panic!("{:?}", made.warnings);
    };
    assert!(
        warning
            .message
            .contains("stacks are not enabled in github.com/octo/tools"),
        "{warning:?}"
    );
    let rebase = Action::op(Op::PrEdit).on(7).choose(Param::Base);
    assert_eq!(warning.hint.as_ref().unwrap().action(), Some(&rebase));
    assert!(!steps(&made)[1].1);
    assert_eq!(script.names().len(), 3);
}

#[tokio::test]
async fn unavailable_stacks_set_only_base() {
    for (status, said) in [
        (400, "API version '2026-03-10' is not supported"),
        (403, "Resource not accessible by personal access token"),
    ] {
        let refused = told(status, &json!({ "message": said }));
        let (script, made) = play(vec![looked_up(), rest(&look_at(5), refused), opened()]).await;
        let made = made.unwrap();
        assert!(depends_on_five(&made));
        let told = &made.warnings[0].message;
        assert!(
            told.contains("was not added to a stack on GitHub"),
            "{told}"
        );
        assert!(told.contains(said), "{told}");
        assert!(!steps(&made)[1].1);
        assert_eq!(script.names().len(), 3, "no stack is asked for");
    }
}

#[tokio::test]
async fn rate_limited_stack_read_is_error() {
    let limited = json!({ "message": "You have exceeded a secondary rate limit." });
    let limited = told(403, &limited).insert_header("retry-after", "3600");
    let (script, made) = play(vec![looked_up(), rest(&look_at(5), limited)]).await;
    assert_eq!(made.unwrap_err().code(), "rate_limited");
    assert_eq!(script.names().len(), 2, "nothing was opened");
}

#[tokio::test]
async fn refused_stack_is_warning() {
    let said = json!({ "message": "Validation Failed", "errors": ["Pull requests #5 are already stacked"] });
    let refused = rest(&format!("POST {STACKS}"), told(422, &said));
    let (script, made) = play(vec![looked_up(), look(5, &[]), opened(), refused]).await;
    let made = made.unwrap();
    assert!(
        made.warnings[0].message.contains("#5 are already stacked"),
        "{:?}",
        made.warnings
    );
    assert!(made.warnings[0].hint.is_some());
    assert!(!steps(&made)[1].1);
    script.sent();
}

#[tokio::test]
async fn stack_creation_is_read_back_after_lost_answer() {
    for (after, happened) in [(vec![stack(&[5, 7])], true), (vec![], false)] {
        let lost = rest(&format!("POST {STACKS}"), ResponseTemplate::new(502));
        let steps_of = vec![looked_up(), look(5, &[]), opened(), lost, look(7, &after)];
        let (script, made) = play(steps_of).await;
        let made = made.unwrap();
        let said = match happened {
            true => "the write succeeded, but its answer was lost:",
            false => "was not added to a stack on GitHub",
        };
        assert!(
            made.warnings[0].message.contains(said),
            "{:?}",
            made.warnings
        );
        assert_eq!(made.warnings.len(), 1);
        assert_eq!(steps(&made)[1].1, happened);
        assert_eq!(script.names().len(), 5, "nothing is sent twice");
    }
}

async fn refusal(answer: Value, req: CreatePull) -> Error {
    let script = Script::play(vec![body("CreatePrepare", answer)]).await;
    let e = script.repo.create_pull(&req).await.unwrap_err();
    assert!(e.hint().is_some(), "{e:?}");
    assert_eq!(script.names(), ["CreatePrepare"], "nothing was made");
    e
}

fn field(e: &Error) -> Option<&'static str> {
    match e.kind() {
        ErrorKind::InvalidInput { field } => *field,
        _ => None,
    }
}

#[tokio::test]
async fn invalid_lower_pull_request_is_refused() {
    let with = |other: Value| json!({ "data": below(other) });
    for state in ["CLOSED", "MERGED"] {
        let e = refusal(with(json!({ "state": state })), on_five()).await;
        assert_eq!(e.code(), "precondition_failed");
        assert!(e.message().contains(&state.to_lowercase()), "{e}");
    }
    let e = refusal(with(json!({ "isCrossRepository": true })), on_five()).await;
    assert_eq!(field(&e), Some("depends_on"), "{e:?}");
    assert!(e.message().contains("in a fork"), "{e}");

    let mut gone = json!({ "data": prepared(json!({ "repository": { "below": null } })) });
    gone["errors"] = json!([error(
        &["repository", "below"],
        "NOT_FOUND",
        "Could not resolve to a PullRequest with the number of 5."
    )]);
    let e = refusal(gone, on_five()).await;
    assert_eq!(e.code(), "not_found");
    assert!(e.message().contains("octo/tools#5"), "{e}");

    let mut found = below(json!({}));
    found["repository"]["baseRef"] = json!({ "id": "REF_2" });
    let mut elsewhere = on_five();
    elsewhere.base = Some("main".into());
    let e = refusal(json!({ "data": found }), elsewhere).await;
    assert_eq!(field(&e), Some("base"), "{e:?}");
    assert!(e.message().contains("'lower'"), "{e}");
}

#[tokio::test]
async fn impossible_stack_sends_no_request() {
    let script = Script::play(vec![]).await;
    let mut other = repo_id();
    other.path = RepoPath::Named {
        owner: "octo".into(),
        name: "other".into(),
    };
    let mut there = on_five();
    there.depends_on = Some(PrId::number(other, 5));
    let e = script.repo.create_pull(&there).await.unwrap_err();
    assert_eq!(field(&e), Some("depends_on"), "{e:?}");
    let mut from_fork = on_five();
    from_fork.head = HeadRef::in_fork("grace", "feature");
    let e = script.repo.create_pull(&from_fork).await.unwrap_err();
    assert_eq!(field(&e), Some("head"), "{e:?}");
    script.sent();
}

#[tokio::test]
async fn depends_on_is_open_pull_of_base_branch() {
    let end = |name: &str, number: u64| {
        json!({
            "__typename": "PullRequest", "number": number, "title": "T", "pullState": "OPEN",
            "repository": { "name": name, "owner": { "login": "octo" } },
        })
    };
    let pull = |base: &str, state: &str| {
        one(changed(
            7,
            json!({
                "state": state,
                "baseRefName": base,
                "baseRepository": { "defaultBranchRef": { "name": "main" } },
                "baseRef": { "associatedPullRequests": { "nodes": [end("fork", 4), end("tools", 5)] } },
            }),
        ))
    };
    let script = Script::play(vec![
        data("PullView", pull("lower", "OPEN")),
        data("PullView", pull("main", "OPEN")),
        data("PullView", pull("lower", "CLOSED")),
        data("PullView", pull("lower", "OPEN")),
    ])
    .await;
    for (fields, expected) in [
        (PrFields::DEPENDS_ON, Some(PrKey::Number(5))),
        (PrFields::DEPENDS_ON, None),
        (PrFields::DEPENDS_ON, None),
        (PrFields::NONE, None),
    ] {
        let found = script.repo.pull(&script.pr(), fields).await.unwrap();
        assert_eq!(found.depends_on, expected);
    }
    let documents = script.documents();
    assert!(documents[0].contains("associatedPullRequests"));
    assert!(!documents[3].contains("associatedPullRequests"));
    script.sent();
}
