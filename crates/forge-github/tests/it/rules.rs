//! Rules of the base branch: the view has the protection, and REST has the rulesets.

use forge_core::model::{BaseRuleKind, BaseRules, PrFields, PullRequest, RuleSource, UnreadRules};
use insta::assert_json_snapshot;
use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::{
    script::{Script, Step, body, data, error, rest},
    wire::{changed, one, user},
};

const FIRST: &str = "GET /repos/octo/tools/rules/branches/main?per_page=100&page=1";
const SECOND: &str = "GET /repos/octo/tools/rules/branches/main?per_page=100&page=2";

/// Returns the answer to a view with rules; `base` is the base branch.
fn ruled(base: Value) -> Value {
    let request = |who: Value, owner| json!({ "requestedReviewer": who, "asCodeOwner": owner });
    changed(
        7,
        json!({
            "isMergeQueueEnabled": true,
            "isInMergeQueue": true,
            "mergeQueueEntry": { "position": 2, "state": "QUEUED" },
            "viewerCanMergeAsAdmin": false,
            "reviewRequests": { "nodes": [
                request(user("ada"), false),
                request(user("grace"), true),
                request(json!({ "__typename": "Team", "combinedSlug": "octo/owners" }), true),
            ] },
            "baseRepository": {
                "viewerPermission": "WRITE",
                "mergeCommitAllowed": true, "squashMergeAllowed": true, "rebaseMergeAllowed": false,
                "rulesets": { "nodes": [{ "databaseId": 11, "name": "main" }] },
            },
            "baseRef": base,
        }),
    )
}

fn update_rule() -> Value {
    json!({
        "requiredApprovingReviewCount": 1, "requiredStatusCheckContexts": ["build"],
        "requiresCodeOwnerReviews": true, "requiresConversationResolution": true,
        "requiresLinearHistory": true, "requiresSignatures": true, "viewerCanPush": true,
    })
}

fn rule(kind: &str, parameters: Value) -> Value {
    json!({
        "type": kind, "ruleset_source_type": "Repository", "ruleset_source": "octo/tools",
        "ruleset_id": 11, "parameters": parameters,
    })
}

fn rules(list: &[Value]) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(list)
}

/// Reads a view with rules, and the rulesets.
async fn read(steps: Vec<Step>) -> (Script, PullRequest, BaseRules) {
    let script = Script::play(steps).await;
    let pull = script.repo.pull(&script.pr(), PrFields::RULES).await;
    let pull = pull.unwrap();
    let found = script.repo.base_rules(&pull).await.unwrap().unwrap();
    (script, pull, found)
}

#[tokio::test]
async fn base_rules_of_every_source_are_typed() {
    let protection = json!({
        "requiresApprovingReviews": true, "requiredApprovingReviewCount": 2,
        "requiresCodeOwnerReviews": true, "requireLastPushApproval": true,
        "dismissesStaleReviews": true, "requiresConversationResolution": true,
        "requiresStatusChecks": true, "requiredStatusCheckContexts": ["build", "lint"],
        "requiredStatusChecks": [
            { "context": "lint", "app": { "databaseId": 15_368 } },
            { "context": "build", "app": null },
        ],
        "requiresStrictStatusChecks": true, "requiresLinearHistory": true,
        "requiresCommitSignatures": true, "requiresDeployments": true,
        "requiredDeploymentEnvironments": ["staging"], "lockBranch": true, "restrictsPushes": true,
    });
    let base = json!({ "refUpdateRule": update_rule(), "branchProtectionRule": protection });
    let reviews = json!({
        "required_approving_review_count": 1, "require_code_owner_review": true,
        "require_last_push_approval": true, "dismiss_stale_reviews_on_push": true,
        "required_review_thread_resolution": true, "allowed_merge_methods": ["squash", "other"],
    });
    let checks = json!({
        "strict_required_status_checks_policy": true,
        "required_status_checks": [
            { "context": "build", "integration_id": 15_368 },
            { "context": "lint", "integration_id": -1 },
            { "context": "docs" },
        ],
    });
    let mut of_org = rule("required_linear_history", Value::Null);
    of_org["ruleset_source"] = json!("octo");
    of_org["ruleset_id"] = json!(12);
    let environments = json!({ "required_deployment_environments": ["staging"] });
    let first = [
        rule("pull_request", reviews),
        rule("required_status_checks", checks),
        rule("merge_queue", json!({ "merge_method": "SQUASH" })),
        of_org,
    ];
    let second = [
        rule("required_signatures", Value::Null),
        rule("required_deployments", environments),
        rule("update", Value::Null),
        rule("deletion", Value::Null),
        rule("code_scanning", json!({ "code_scanning_tools": [] })),
    ];
    let next = "<https://api.github.com/x?page=2>; rel=\"next\"";
    let script = Script::play(vec![
        data("PullView", one(ruled(base))),
        rest(FIRST, rules(&first).insert_header("link", next)),
        rest(SECOND, rules(&second)),
    ])
    .await;
    let pull = script.repo.pull(&script.pr(), PrFields::RULES).await;
    let found = script.repo.base_rules(&pull.unwrap()).await.unwrap();
    assert_json_snapshot!("base_rules", (script.names(), found));
}

#[tokio::test]
async fn base_rules_without_protection_access_are_partial() {
    let base = json!({ "refUpdateRule": update_rule(), "branchProtectionRule": null });
    let (.., shown) = read(vec![
        data("PullView", one(ruled(base))),
        rest(FIRST, rules(&[])),
    ])
    .await;
    assert_eq!(shown.unread, [UnreadRules::ProtectionDetails]);
    let kinds = |kind: BaseRuleKind| shown.rules.iter().any(|rule| rule.wants == kind);
    assert!(kinds(BaseRuleKind::Approvals { count: 1 }) && kinds(BaseRuleKind::LinearHistory));
    // A branch without rules has no unread rules.
    let none = json!({ "refUpdateRule": null, "branchProtectionRule": null });
    let (.., none) = read(vec![
        data("PullView", one(ruled(none))),
        rest(FIRST, rules(&[])),
    ])
    .await;
    assert!(none.unread.is_empty());
    let queue = RuleSource::MergeQueue;
    assert!(none.rules.iter().all(|rule| rule.source == queue));
}

#[tokio::test]
async fn forbidden_protection_is_not_a_failure() {
    let field = [
        "repository",
        "pullRequest",
        "baseRef",
        "branchProtectionRule",
    ];
    let denied = "Resource not accessible by integration";
    for (update, unread) in [
        (Value::Null, UnreadRules::Protection),
        (update_rule(), UnreadRules::ProtectionDetails),
    ] {
        let base = json!({ "refUpdateRule": update, "branchProtectionRule": null });
        let mut answer = json!({ "data": one(ruled(base)) });
        answer["errors"] = json!([error(&field, "FORBIDDEN", denied)]);
        let (_, pull, found) = read(vec![body("PullView", answer), rest(FIRST, rules(&[]))]).await;
        assert!(pull.warnings.is_empty(), "{:?}", pull.warnings);
        assert_eq!(found.unread, [unread]);
    }
}

#[tokio::test]
async fn refused_rulesets_count_as_unread() {
    let base = || json!({ "refUpdateRule": null, "branchProtectionRule": null });
    for status in [404, 403, 451] {
        let answer = json!({ "message": "Not Found" });
        let (_, _, found) = read(vec![
            data("PullView", one(ruled(base()))),
            rest(FIRST, ResponseTemplate::new(status).set_body_json(answer)),
        ])
        .await;
        assert_eq!(found.unread, [UnreadRules::Rulesets], "{status}");
    }
    // A private repository of a free plan has no rulesets.
    let paid = "Upgrade to GitHub Pro or make this repository public to enable this feature.";
    let (_, _, found) = read(vec![
        data("PullView", one(ruled(base()))),
        rest(
            FIRST,
            ResponseTemplate::new(403).set_body_json(json!({ "message": paid })),
        ),
    ])
    .await;
    assert_eq!(found.unread, []);
    // The rules of the first page still apply if the second page fails.
    let next = "<https://api.github.com/x?page=2>; rel=\"next\"";
    let first = [rule("required_signatures", Value::Null)];
    let (_, _, found) = read(vec![
        data("PullView", one(ruled(base()))),
        rest(FIRST, rules(&first).insert_header("link", next)),
        rest(SECOND, ResponseTemplate::new(404)),
    ])
    .await;
    assert_eq!(found.unread, [UnreadRules::Rulesets]);
    let signed = |rule: &forge_core::model::BaseRule| rule.wants == BaseRuleKind::Signatures;
    assert!(found.rules.iter().any(signed));
}

#[tokio::test]
async fn server_without_fields_gets_reduced_query() {
    let unknown = json!({ "errors": [{
        "message": "Field 'isMergeQueueEnabled' doesn't exist on type 'PullRequest'",
        "path": ["fragment PullRules", "isMergeQueueEnabled"],
        "extensions": { "code": "undefinedField", "typeName": "PullRequest", "fieldName": "isMergeQueueEnabled" },
    }] });
    let (script, pull, found) = read(vec![
        body("PullView", unknown),
        data("PullView", one(changed(7, json!({})))),
        rest(FIRST, ResponseTemplate::new(404)),
    ])
    .await;
    assert!(pull.warnings.is_empty());
    assert_eq!(
        found.unread,
        [UnreadRules::Rulesets, UnreadRules::Protection]
    );
    let documents = script.documents();
    assert!(documents[0].contains("branchProtectionRule"));
    assert!(!documents[1].contains("PullRules"));
}

#[tokio::test]
async fn slashes_in_base_branch_are_escaped() {
    let mut pull = ruled(json!(null));
    pull["baseRefName"] = json!("release/1 0#");
    let path = FIRST.replace("branches/main", "branches/release%2F1%200%23");
    read(vec![data("PullView", one(pull)), rest(&path, rules(&[]))]).await;
}
