use std::fmt::Write;

use forge_core::Changed;
use forge_http::{HttpSettings, RetryPolicy};

use super::*;
use crate::FixedToken;

mod known_texts;

fn http() -> Http {
    Http::new(HttpSettings {
        retry: RetryPolicy::without_pauses(),
        ..HttpSettings::default()
    })
    .unwrap()
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(k, v)| (k.parse().unwrap(), v.parse().unwrap()))
        .collect()
}

fn line(out: &mut String, what: &str, error: &Error) {
    let action = error.hint().and_then(Hint::action);
    writeln!(
        out,
        "{what}\n  {} | {} | {:?} | {}{}",
        error.code(),
        error.message(),
        match error.retry() {
            Retry::After(_) => "After".to_owned(),
            other => format!("{other:?}"),
        },
        error
            .hint()
            .map_or("-", |h| h.text().split(" (at ").next().unwrap()),
        action.map_or(String::new(), |a| format!(
            "\n  {}",
            serde_json::to_string(a).unwrap()
        )),
    )
    .unwrap();
}

/// Covers every known message of GitHub's GraphQL API.
#[test]
fn graphql_messages_map_to_errors() {
    let http = http();
    let about = ErrorContext {
        host: "github.com",
        http: &http,
        tokens: &FixedToken::none(),
        write: true,
    };
    let mut out = String::new();
    for (kind, message) in [
        (
            "NOT_FOUND",
            "Could not resolve to a Repository with the name 'o/r'.",
        ),
        (
            "NOT_FOUND",
            "Could not resolve to a PullRequest with the number of 999.",
        ),
        (
            "NOT_FOUND",
            "Could not resolve to a User with the login of 'nobody'.",
        ),
        (
            "NOT_FOUND",
            "Could not resolve to a node with the global id of 'x'.",
        ),
        (
            "FORBIDDEN",
            "Resource not accessible by personal access token",
        ),
        ("FORBIDDEN", "Resource not accessible by integration"),
        (
            "FORBIDDEN",
            "Unable to create comment because issue is locked.",
        ),
        (
            "INSUFFICIENT_SCOPES",
            "Your token has not been granted the required scopes to execute this query. The 'name' field requires one of the following scopes: ['read:org', 'read:discussion'], but your token has only been granted the: ['repo'] scopes.",
        ),
        ("RATE_LIMITED", "API rate limit exceeded for user ID 1."),
        (
            "RATE_LIMIT",
            "API rate limit already exceeded for user ID 1.",
        ),
        ("SERVICE_UNAVAILABLE", "Timeout on validation of query"),
        (
            "MAX_NODE_LIMIT_EXCEEDED",
            "This query requests up to 1,000,000 possible nodes",
        ),
        (
            "RESOURCE_LIMITS_EXCEEDED",
            "Resource limits for this query exceeded.",
        ),
        (
            "",
            "Something went wrong while executing your query. Please include `A1:B2` when reporting this issue.",
        ),
        (
            "UNPROCESSABLE",
            "A pull request already exists for o:feature.",
        ),
        ("UNPROCESSABLE", "No commits between main and feature"),
        (
            "UNPROCESSABLE",
            "Head sha can't be blank, Base sha can't be blank, No commits between main and x, Head ref must be a branch",
        ),
        ("UNPROCESSABLE", "Base ref must be a branch"),
        (
            "UNPROCESSABLE",
            "Draft pull requests are not supported in this repository.",
        ),
        ("UNPROCESSABLE", "Pull Request is not mergeable"),
        ("UNPROCESSABLE", "Pull Request is still a draft"),
        ("UNPROCESSABLE", "Pull Request has merge conflicts"),
        (
            "UNPROCESSABLE",
            "Head branch was modified. Review and try the merge again.",
        ),
        (
            "UNPROCESSABLE",
            "expected head sha didn't match current head ref.",
        ),
        (
            "UNPROCESSABLE",
            "There are no new commits on the base branch.",
        ),
        ("UNPROCESSABLE", "merge conflict between base and head"),
        (
            "STALE_DATA",
            "Expected branch to point to \"aa\" but it did not. Pull and try again.",
        ),
        (
            "UNPROCESSABLE",
            "A ref named \"refs/heads/x\" already exists in the repository.",
        ),
        (
            "UNPROCESSABLE",
            "Base branch was modified. Review and try the merge again.",
        ),
        (
            "UNPROCESSABLE",
            "Merge commits are not allowed on this repository.",
        ),
        (
            "UNPROCESSABLE",
            "Squash merges are not allowed on this repository.",
        ),
        ("UNPROCESSABLE", "Can not approve your own pull request"),
        (
            "UNPROCESSABLE",
            "Can not request changes on your own pull request",
        ),
        (
            "UNPROCESSABLE",
            "state cannot be changed. The pull request has been merged.",
        ),
        (
            "UNPROCESSABLE",
            "Pull request review thread line must be part of the diff",
        ),
        ("UNPROCESSABLE", "Body can't be blank"),
        (
            "UNPROCESSABLE",
            "Body is too long (maximum is 65536 characters)",
        ),
        ("UNPROCESSABLE", "Title can't be blank"),
        (
            "UNPROCESSABLE",
            "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the o/r repository.",
        ),
        ("UNPROCESSABLE", "Name has already been taken"),
        ("UNPROCESSABLE", "was submitted too quickly"),
        (
            "UNPROCESSABLE",
            "Auto merge is not allowed for this repository",
        ),
        (
            "UNPROCESSABLE",
            "This pull request is part of a stack and must be merged using the asynchronous merge REST API",
        ),
        (
            "UNPROCESSABLE",
            "Cannot change the base branch because the pull request is part of a stack.",
        ),
        (
            "UNPROCESSABLE",
            "At least 1 approving review is required by reviewers with write access.",
        ),
        (
            "",
            "o does not have the correct permissions to execute `MergePullRequest`",
        ),
        ("", "Repository was archived so is read-only."),
        ("", "line one\nline two \u{1b}[31m ghp_canarycanarycanary"),
    ] {
        let error = GqlError {
            kind: Some(kind.to_owned()).filter(|k| !k.is_empty()),
            message: message.to_owned(),
            ..GqlError::default()
        };
        line(
            &mut out,
            &format!("{kind} {message:?}"),
            &from_graphql(about, &error, &HeaderMap::new()),
        );
    }
    let undefined = GqlError {
        message: "Field 'x' doesn't exist on type 'PullRequest'".into(),
        extensions: Some(serde_json::json!({"code": "undefinedField"})),
        ..GqlError::default()
    };
    line(
        &mut out,
        "undefinedField",
        &from_graphql(about, &undefined, &HeaderMap::new()),
    );
    insta::assert_snapshot!("messages_of_graphql", out);
}

/// Enterprise Servers refuse documents with such a code for parts of newer versions.
#[test]
fn unknown_parts_of_documents_are_recognised() {
    let http = http();
    let about = ErrorContext {
        host: "github.example",
        http: &http,
        tokens: &FixedToken::none(),
        write: false,
    };
    for code in UNKNOWN_PART_CODES {
        let refused = GqlError {
            message: "No such type BlockedByAddedEvent".into(),
            extensions: Some(serde_json::json!({ "code": code })),
            ..GqlError::default()
        };
        let error = from_graphql(about, &refused, &HeaderMap::new());
        assert!(is_unknown_field(&error), "{code}: {error:?}");
    }
}

/// Covers every kind of refusal by HTTP status.
#[test]
fn rest_answers_map_to_errors() {
    let http = http();
    let mut out = String::new();
    let scopes = [
        ("x-accepted-oauth-scopes", "repo, public_repo"),
        ("x-oauth-scopes", "gist"),
    ];
    let sso = [(
        "x-github-sso",
        "required; url=https://github.com/orgs/o/sso?authorization_request=1",
    )];
    for (status, pairs, body) in [
        (
            401,
            &[][..],
            r#"{"message":"Bad credentials","status":"401"}"#,
        ),
        (
            403,
            &[],
            r#"{"message":"Resource not accessible by personal access token"}"#,
        ),
        (403, &scopes, r#"{"message":"Must have admin rights"}"#),
        (
            403,
            &sso,
            r#"{"message":"Resource protected by organization SAML enforcement."}"#,
        ),
        (
            403,
            &[("retry-after", "30")],
            r#"{"message":"You have exceeded a secondary rate limit"}"#,
        ),
        (
            403,
            &[],
            r#"{"message":"You have exceeded a secondary rate limit"}"#,
        ),
        (429, &[], "{}"),
        (404, &[], r#"{"message":"Not Found"}"#),
        (404, &scopes, r#"{"message":"Not Found"}"#),
        (
            409,
            &[],
            r#"{"message":"Head branch was modified. Review and try the merge again."}"#,
        ),
        (
            422,
            &[],
            r#"{"message":"Validation Failed","errors":[{"message":"A pull request already exists for o:x."}]}"#,
        ),
        (
            422,
            &[],
            r#"{"message":"Validation Failed","errors":[{"resource":"Label","code":"already_exists","field":"name"}]}"#,
        ),
        (422, &[], r#"{"message":"Reference does not exist"}"#),
        (
            406,
            &[],
            r#"{"message":"Sorry, the diff exceeded the maximum number of lines (20000)"}"#,
        ),
        (500, &[], ""),
        (
            502,
            &[("x-github-request-id", "A1:B2")],
            "<html>Unicorn!</html>",
        ),
    ] {
        for write in [false, true] {
            if write && status < 500 {
                continue;
            }
            let about = ErrorContext {
                host: "github.com",
                http: &http,
                tokens: &FixedToken::none(),
                write,
            };
            let error = from_http(
                about,
                StatusCode::from_u16(status).unwrap(),
                &headers(pairs),
                body.as_bytes(),
            );
            line(
                &mut out,
                &format!("{status} {pairs:?} {body} write={write}"),
                &error,
            );
        }
    }
    insta::assert_snapshot!("answers_of_rest", out);
}

#[test]
fn credential_in_headers_is_not_in_errors() {
    const CANARY: &str = "ghp_0123456789abcdefghij";
    let http = http();
    let about = ErrorContext {
        host: "github.example",
        http: &http,
        tokens: &FixedToken::none(),
        write: false,
    };
    let sso = format!("required; url=https://github.example/sso?a={CANARY}");
    let sent = headers(&[
        ("x-github-request-id", CANARY),
        ("x-accepted-oauth-scopes", CANARY),
        ("x-oauth-scopes", "repo"),
        ("x-ratelimit-resource", CANARY),
    ]);
    for status in [401, 403, 404, 422, 429, 500, 502] {
        let status = StatusCode::from_u16(status).unwrap();
        let error = from_http(about, status, &sent, b"{}");
        let shown = format!("{error:?} {error} {:?}", error.hint());
        assert!(!shown.contains(CANARY), "{status}: {shown}");
    }
    let error = from_http(
        about,
        StatusCode::FORBIDDEN,
        &headers(&[("x-github-sso", &sso)]),
        b"{}",
    );
    assert!(!format!("{error:?}").contains(CANARY), "{error:?}");
    let scopes = GqlError {
        kind: Some("INSUFFICIENT_SCOPES".to_owned()),
        message: format!("requires one of the following scopes: ['{CANARY}']"),
        ..GqlError::default()
    };
    let error = from_graphql(about, &scopes, &HeaderMap::new());
    assert!(!format!("{error:?}").contains(CANARY), "{error:?}");
}

#[test]
fn request_id_of_github_is_kept() {
    let http = http();
    let about = ErrorContext {
        host: "github.com",
        http: &http,
        tokens: &FixedToken::none(),
        write: false,
    };
    for (id, kept) in [
        ("A1B2:3C4D:5E6F:7788", true),
        ("two words", false),
        ("a_b", false),
        ("", false),
        ("A".repeat(81).as_str(), false),
    ] {
        let sent = headers(&[("x-github-request-id", id)]);
        assert_eq!(request_id(about, &sent).is_some(), kept, "{id}");
    }
}

#[test]
fn missing_account_error_hints_at_login() {
    for (host, variable) in [
        ("github.com", "GH_TOKEN"),
        ("git.example", "GH_ENTERPRISE_TOKEN"),
    ] {
        let error = no_token(host);
        let hint = error.hint().unwrap();
        assert!(hint.text().contains(variable), "{hint}");
        assert_eq!(hint.action(), Some(&login(host)));
    }
}

fn refusal(message: &str) -> Error {
    let http = http();
    let about = ErrorContext {
        host: "github.com",
        http: &http,
        tokens: &FixedToken::none(),
        write: true,
    };
    let error = GqlError {
        kind: Some("UNPROCESSABLE".into()),
        message: message.to_owned(),
        ..GqlError::default()
    };
    from_graphql(about, &error, &HeaderMap::new())
}

#[test]
fn refused_compare_and_swap_names_change() {
    for (message, wanted) in [
        ("Head branch was modified. Review it.", Changed::Head),
        ("expected head sha didn't match", Changed::Head),
        ("Base branch was modified. Review it.", Changed::Base),
        ("Expected branch to point to \"aa\"", Changed::Ref),
    ] {
        let error = refusal(message);
        assert!(
            matches!(error.kind(), ErrorKind::Conflict { what, .. } if *what == wanted),
            "{error:?}"
        );
    }
}

#[test]
fn refused_stack_part_is_recognized() {
    let stacked = |message: &str| {
        let stacked = ErrorKind::Precondition(Precondition::Stacked);
        *refusal(message).kind() == stacked
    };
    assert!(stacked("This pull request is part of a stack and must be"));
    // A refused change of the base branch has a different recovery, so it is a different error.
    assert!(!stacked(
        "Cannot change the base branch because the pull request is part of a stack."
    ));
}

#[test]
fn error_texts_beyond_the_limit_are_cleared() {
    let mut errors: Vec<GqlError> = (0..200)
        .map(|n| GqlError {
            message: format!("{n} {}", "x".repeat(10_000)),
            path: Some(vec!["repository".into()]),
            ..GqlError::default()
        })
        .collect();
    limit_texts(&mut errors);
    assert!(errors[0].message.starts_with("0 x") && errors[0].root() == "repository");
    let kept = errors.iter().filter(|e| !e.message.is_empty()).count();
    assert_eq!(kept, MAX_ERRORS_SIZE / (8 * 1024 + "repository".len()));
    assert!(errors[199].path.is_none());
}
