//! Parts of GitHub's answer that the token may not read: the verdict never gets better.

use std::sync::{Arc, Mutex};

use forge_core::{Client, ForgeKind, Policy, Repo, RepoId, RepoPath};
use forge_github::{Endpoint, FixedToken, GitHub};
use forge_http::{Http, HttpSettings, RetryPolicy};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers::any};

use crate::{ContextSettings, Readiness, RequirementStatus, Rule, VERDICT_FIELDS, readiness};

/// The number of the pull request that the judged one builds on.
const BELOW: u64 = 5;

fn user(login: &str) -> Value {
    json!({ "__typename": "User", "id": format!("U_{login}"), "login": login, "name": "" })
}

fn review(author: &str, state: &str) -> Value {
    json!({
        "id": format!("R_{author}"), "state": state, "body": "", "author": user(author),
        "submittedAt": "2026-01-02T05:00:00Z", "authorAssociation": "MEMBER",
        "commit": { "oid": "a".repeat(40) }, "authorCanPushToRepository": true,
    })
}

fn nodes(list: Value) -> Value {
    json!({ "nodes": list, "pageInfo": { "hasNextPage": false, "endCursor": null } })
}

/// Returns a pull request that is ready to be merged.
fn ready(number: u64) -> Value {
    let check = json!({
        "__typename": "CheckRun", "id": "CR_1", "name": "build", "status": "COMPLETED",
        "conclusion": "SUCCESS", "startedAt": "2026-01-02T06:00:00Z", "isRequired": true,
        "checkSuite": { "workflowRun": { "event": "push", "workflow": { "name": "CI" } },
            "app": { "databaseId": 1 } },
    });
    let rollup = json!({ "state": "SUCCESS", "contexts": nodes(json!([check])) });
    let thread = json!({
        "id": "T_1", "path": "a.rs", "line": 1, "diffSide": "RIGHT", "isResolved": true,
        "isOutdated": false, "resolvedBy": user("ada"), "comments": nodes(json!([])),
    });
    let mut pull = json!({
        "__typename": "PullRequest", "id": format!("PR_{number}"), "number": number,
        "title": "Title", "state": "OPEN", "isDraft": false,
        "url": format!("https://github.com/octo/tools/pull/{number}"),
        "createdAt": "2026-01-02T03:04:05Z", "updatedAt": "2026-01-03T03:04:05Z",
        "baseRefName": "release", "baseRefOid": "b".repeat(40),
        "headRefName": "feature", "headRefOid": "a".repeat(40), "isCrossRepository": false,
        "headRepository": { "id": "R_1", "name": "tools", "owner": { "id": "O_1", "login": "octo" } },
        "author": user("ada"), "body": "Text.",
        "labels": { "nodes": [] }, "assignees": { "nodes": [] }, "comments": { "totalCount": 0 },
        "reviewRequests": { "nodes": [
            { "requestedReviewer": user("grace"), "asCodeOwner": false },
        ] },
        "reviewDecision": null,
        "latestReviews": nodes(json!([review("grace", "APPROVED")])),
        "latestOpinionatedReviews": nodes(json!([review("grace", "APPROVED")])),
        "mergeable": "MERGEABLE", "mergeStateStatus": "CLEAN",
        "reviewThreads": nodes(json!([thread])),
        "head": nodes(json!([{ "commit": { "oid": "a".repeat(40), "statusCheckRollup": rollup } }]))
    });
    let of_base = json!({
        "isMergeQueueEnabled": false, "isInMergeQueue": false, "mergeQueueEntry": null,
        "viewerCanMergeAsAdmin": false,
        "baseRepository": {
            "defaultBranchRef": { "name": "main" }, "viewerPermission": "WRITE",
            "mergeCommitAllowed": true, "squashMergeAllowed": true, "rebaseMergeAllowed": true,
            "rulesets": { "nodes": [] },
        },
        "baseRef": {
            "associatedPullRequests": { "nodes": [] },
            "refUpdateRule": { "requiredStatusCheckContexts": ["build"], "viewerCanPush": true },
            "branchProtectionRule": {
                "requiresStatusChecks": true, "requiredStatusCheckContexts": ["build"],
                "requiredStatusChecks": [{ "context": "build", "app": { "databaseId": 1 } }],
                "requiresLinearHistory": false, "lockBranch": false,
            },
        },
    });
    for (field, value) in of_base.as_object().unwrap() {
        pull[field] = value.clone();
    }
    pull
}

const CHECK: &str = "/head/nodes/0/commit/statusCheckRollup/contexts/nodes/0";

/// Every fact that makes the pull request unready, as values at places of the answer.
fn faults() -> Vec<(&'static str, Vec<(String, Value)>)> {
    let at = |place: &str, value: Value| (place.to_owned(), value);
    let of_check = |field: &str, value: Value| (format!("{CHECK}{field}"), value);
    let opinions = |list: Value| {
        vec![
            at("/latestReviews/nodes", list.clone()),
            at("/latestOpinionatedReviews/nodes", list),
        ]
    };
    let below = json!([{
        "__typename": "PullRequest", "number": BELOW, "title": "Below", "pullState": "OPEN",
        "repository": { "name": "tools", "owner": { "login": "octo" } },
    }]);
    let can_push = "/latestOpinionatedReviews/nodes/0/authorCanPushToRepository";
    let protection = |field: &str| format!("/baseRef/branchProtectionRule/{field}");
    let blocked = || at("/mergeStateStatus", json!("BLOCKED"));
    let two = json!([
        review("grace", "APPROVED"),
        review("linus", "CHANGES_REQUESTED")
    ]);
    vec![
        (
            "a failed check",
            vec![of_check("/conclusion", json!("FAILURE"))],
        ),
        (
            "a cancelled check",
            vec![of_check("/conclusion", json!("CANCELLED"))],
        ),
        (
            "a queued check",
            vec![
                of_check("/status", json!("QUEUED")),
                of_check("/conclusion", Value::Null),
            ],
        ),
        (
            "a check of another app",
            vec![of_check("/checkSuite/app/databaseId", json!(2)), blocked()],
        ),
        ("requested changes", opinions(two)),
        ("no approval", opinions(json!([]))),
        (
            "a required review",
            vec![at("/reviewDecision", json!("REVIEW_REQUIRED"))],
        ),
        (
            "an approval without push access",
            vec![at(can_push, json!(false))],
        ),
        (
            "an open thread",
            vec![at("/reviewThreads/nodes/0/isResolved", json!(false))],
        ),
        ("a draft", vec![at("/isDraft", json!(true))]),
        (
            "a conflict",
            vec![
                at("/mergeable", json!("CONFLICTING")),
                at("/mergeStateStatus", json!("DIRTY")),
            ],
        ),
        (
            "an old head",
            vec![at("/mergeStateStatus", json!("BEHIND"))],
        ),
        (
            "an open pull request below",
            vec![at("/baseRef/associatedPullRequests/nodes", below)],
        ),
        (
            "a place in the queue",
            vec![
                at("/isMergeQueueEnabled", json!(true)),
                at("/isInMergeQueue", json!(true)),
            ],
        ),
        (
            "read access",
            vec![at("/baseRepository/viewerPermission", json!("READ"))],
        ),
        (
            "no allowed method",
            vec![
                (protection("requiresLinearHistory"), json!(true)),
                at("/baseRepository/squashMergeAllowed", json!(false)),
                at("/baseRepository/rebaseMergeAllowed", json!(false)),
                blocked(),
            ],
        ),
        (
            "a locked branch",
            vec![(protection("lockBranch"), json!(true)), blocked()],
        ),
    ]
}

/// Lists the places of `value` below `prefix` that have an object or a list.
fn containers(value: &Value, prefix: &str, found: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(k, v)| (k.clone(), v)).collect(),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .map(|(i, v)| (i.to_string(), v))
            .collect(),
        _ => return,
    };
    if !prefix.is_empty() {
        found.push(prefix.to_owned());
    }
    for (name, value) in inner {
        containers(value, &format!("{prefix}/{name}"), found);
    }
}

/// Returns the answer for `pull`, in which the token may not read `place`.
fn answer(pull: &Value, place: Option<&str>) -> Value {
    let mut pull = pull.clone();
    let mut errors = Vec::new();
    if let Some(place) = place {
        *pull.pointer_mut(place).unwrap() = Value::Null;
        let mut path = vec![json!("repository"), json!("pullRequest")];
        path.extend(
            place
                .split('/')
                .skip(1)
                .map(|step| match step.parse::<u64>() {
                    Ok(index) => json!(index),
                    Err(_) => json!(step),
                }),
        );
        let message = "Resource not accessible by personal access token";
        errors.push(json!({ "type": "FORBIDDEN", "path": path, "message": message }));
    }
    let data = json!({ "repository": { "pullRequest": pull } });
    match errors.is_empty() {
        true => json!({ "data": data }),
        false => json!({ "data": data, "errors": errors }),
    }
}

#[derive(Clone, Default)]
struct Answers(Arc<Mutex<Value>>);

impl Respond for Answers {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        let number = body.pointer("/variables/number").and_then(Value::as_u64);
        let answer = match number {
            // The rules of the branch: it has no ruleset.
            None => json!([]),
            Some(BELOW) => answer(&ready(BELOW), None),
            Some(_) => self.0.lock().unwrap().clone(),
        };
        ResponseTemplate::new(200).set_body_json(answer)
    }
}

struct Server {
    answers: Answers,
    uri: String,
    http: Http,
    _server: MockServer,
}

impl Server {
    async fn start() -> Self {
        let (server, answers) = (MockServer::start().await, Answers::default());
        let responder = answers.clone();
        Mock::given(any())
            .respond_with(responder)
            .mount(&server)
            .await;
        let settings = HttpSettings {
            retry: RetryPolicy::without_pauses(),
            ..HttpSettings::default()
        };
        Self {
            answers,
            uri: server.uri(),
            http: Http::new(settings).unwrap(),
            _server: server,
        }
    }

    fn repo(&self) -> Repo {
        let token = Arc::new(FixedToken::new("0canary0-token"));
        let endpoint = Endpoint::at(&self.uri);
        let forge = GitHub::at("github.com", endpoint, self.http.clone(), token);
        let path = RepoPath::Named {
            owner: "octo".into(),
            name: "tools".into(),
        };
        let id = RepoId {
            kind: ForgeKind::GITHUB,
            host: "github.com".into(),
            path,
        };
        Client::new(Arc::new(forge), Policy::default()).repo(id)
    }

    /// Returns the verdict on the answer; `None` if the pull request cannot be read.
    async fn judge(&self, answer: Value) -> Option<Readiness> {
        *self.answers.0.lock().unwrap() = answer;
        let repo = self.repo();
        let pull = repo.pull(&repo.pull_id(7), VERDICT_FIELDS).await.ok()?;
        Some(readiness(&repo, &pull, &ContextSettings::default()).await)
    }
}

/// Asserts that the verdict on a part of the answer is not better than `whole`.
fn assert_not_better(whole: &Readiness, part: &Readiness, case: &str) {
    assert_ne!(part.ready_to_merge, Some(true), "{case}");
    let is_blocked_unknown = |r: &super::Requirement| {
        r.rule == Rule::NotBlocked && r.status == RequirementStatus::Unknown
    };
    let hides_app = part.requirements.iter().any(is_blocked_unknown);
    for unmet in whole.unmet() {
        // Only administrators see the app of a required check. For others, the forge's BLOCKED
        // remains without a reason.
        if unmet.rule == Rule::ChecksReported && hides_app {
            continue;
        }
        let mut found = part.requirements.iter().filter(|r| r.rule == unmet.rule);
        let is_met = found.any(|r| r.status == RequirementStatus::Met);
        assert!(!is_met, "{case}: {} is met", unmet.rule.name());
    }
}

#[tokio::test]
async fn forbidden_part_never_improves_the_verdict() {
    let server = Server::start().await;
    for (fault, values) in faults() {
        let mut pull = ready(7);
        for (place, value) in &values {
            *pull.pointer_mut(place).unwrap() = value.clone();
        }
        let whole = server.judge(answer(&pull, None)).await.unwrap();
        assert_eq!(whole.ready_to_merge, Some(false), "{fault}");
        let mut places = Vec::new();
        containers(&pull, "", &mut places);
        places.extend(values.into_iter().map(|(place, _)| place));
        for place in places {
            if let Some(part) = server.judge(answer(&pull, Some(&place))).await {
                let case = format!("{fault}, and {place} is forbidden");
                assert_not_better(&whole, &part, &case);
            }
        }
    }
}

#[tokio::test]
async fn forbidden_part_of_ready_pull_is_unknown() {
    let server = Server::start().await;
    let pull = ready(7);
    let whole = server.judge(answer(&pull, None)).await.unwrap();
    assert_eq!(whole.ready_to_merge, Some(true));
    let rollup = "/head/nodes/0/commit/statusCheckRollup";
    for (place, rules) in [
        (rollup, "checks_passed checks_reported checks_finished"),
        ("/head", "checks_passed checks_reported checks_finished"),
        (CHECK, "checks_passed checks_reported checks_finished"),
        ("/reviewThreads", "threads_resolved"),
        ("/latestReviews", "no_changes_requested approved"),
        ("/latestOpinionatedReviews", "no_changes_requested approved"),
        ("/reviewDecision", "approved"),
        ("/mergeable", "no_conflicts"),
        ("/mergeStateStatus", "not_blocked"),
        ("/isDraft", "not_draft"),
        ("/baseRef", "dependency_merged"),
        ("/baseRef/associatedPullRequests", "dependency_merged"),
        ("/baseRepository", "push_allowed"),
        ("/isInMergeQueue", "out_of_queue"),
    ] {
        let part = server.judge(answer(&pull, Some(place))).await.unwrap();
        assert_eq!(part.ready_to_merge, None, "{place}");
        let is_unknown = |r: &&super::Requirement| r.status == RequirementStatus::Unknown;
        let unknown = part.requirements.iter().filter(is_unknown);
        let names: Vec<&str> = unknown.map(|r| r.rule.name()).collect();
        assert_eq!(names.join(" "), rules, "{place}");
    }
}
