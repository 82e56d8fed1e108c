//! Every known text of GitHub's refusals, with its source and its result.

use super::*;

/// Where a text comes from.
#[derive(Clone, Copy, Debug)]
enum Evidence {
    /// An answer of github.com that a public project recorded.
    Recorded,
    /// A public issue or a page of GitHub quotes the text.
    Quoted,
    /// Nobody has shown the whole answer.
    Unproved,
}

use Evidence::{Quoted, Recorded, Unproved};

/// Texts of GraphQL errors, with their types.
const GRAPHQL: &[(Evidence, &str, &str)] = &[
    (
        Recorded,
        "NOT_FOUND",
        "Could not resolve to a node with the global id of 'IC_x'.",
    ),
    (
        Recorded,
        "NOT_FOUND",
        "Could not resolve to a node with the global id of 'D_x'",
    ),
    (
        Recorded,
        "NOT_FOUND",
        "Could not resolve to a PullRequest with the number of 9.",
    ),
    (
        Recorded,
        "NOT_FOUND",
        "Could not resolve to a Repository with the name 'o/r'.",
    ),
    (
        Recorded,
        "UNPROCESSABLE",
        "Head sha can't be blank, Base sha can't be blank, No commits between gone and x, Base ref must be a branch",
    ),
    (
        Quoted,
        "UNPROCESSABLE",
        "Head sha can't be blank, Base sha can't be blank, No commits between main and gone, Head ref must be a branch",
    ),
    (
        Unproved,
        "UNPROCESSABLE",
        "Head sha can’t be blank, Base ref must be a branch",
    ),
    (Recorded, "UNPROCESSABLE", "Name has already been taken"),
    (
        Recorded,
        "UNPROCESSABLE",
        "Pull request Auto merge is not allowed for this repository",
    ),
    (
        Recorded,
        "UNPROCESSABLE",
        "ada does not have a verified email, which is required to enable auto-merging.",
    ),
    (
        Quoted,
        "UNPROCESSABLE",
        "Pull request Pull request is in clean status",
    ),
    (Quoted, "UNPROCESSABLE", "Pull Request is not mergeable"),
    (
        Quoted,
        "FORBIDDEN",
        "Resource not accessible by integration",
    ),
    (
        Quoted,
        "FORBIDDEN",
        "Resource not accessible by personal access token",
    ),
    (
        Quoted,
        "UNPROCESSABLE",
        "Repository was archived so is read-only.",
    ),
    (
        Quoted,
        "",
        "You have exceeded a secondary rate limit. Please wait a few minutes.",
    ),
    (Unproved, "UNPROCESSABLE", "The moon is full"),
    (Unproved, "FORBIDDEN", "The moon is full"),
];

/// Bodies of REST answers, with their statuses.
const REST: &[(Evidence, u16, &str)] = &[
    (Recorded, 400, r#"{"message":"Problems parsing JSON"}"#),
    (Recorded, 400, r#"{"error":"Bad Request"}"#),
    (
        Recorded,
        400,
        r#"{"message":"This organization is not part of externally managed enterprise."}"#,
    ),
    (Recorded, 401, r#"{"message":"Bad credentials"}"#),
    (
        Recorded,
        401,
        r#"{"message":"'Expiration time' claim ('exp') must be a numeric value"}"#,
    ),
    (
        Recorded,
        401,
        r#"{"message":"Must specify two-factor authentication OTP code."}"#,
    ),
    (
        Recorded,
        401,
        r#"{"message":"A JSON web token could not be decoded"}"#,
    ),
    (Recorded, 401, "{}"),
    (
        Recorded,
        403,
        r#"{"message":"Max number of login attempt exceeded"}"#,
    ),
    (
        Quoted,
        403,
        r#"{"message":"Maximum number of login attempts exceeded. Please try again later."}"#,
    ),
    (
        Recorded,
        403,
        r#"{"message":"You must be an admin to create an invitation to an organization."}"#,
    ),
    (Recorded, 403, r#"{"message":"You need to be a member"}"#),
    (
        Recorded,
        403,
        r#"{"message":"Must have push access to view collaborator permission."}"#,
    ),
    (
        Recorded,
        403,
        r#"{"message":"Must have push access to repository"}"#,
    ),
    (
        Recorded,
        403,
        r#"{"message":"Must have admin rights to Repository."}"#,
    ),
    (
        Recorded,
        403,
        r#"{"message":"You have triggered an abuse detection mechanism. Please wait a few minutes before you try again."}"#,
    ),
    (
        Recorded,
        403,
        r#"{"message":"Missing or invalid User Agent string."}"#,
    ),
    (
        Recorded,
        403,
        r#"{"message":"API Rate Limit Exceeded for 192.0.2.1"}"#,
    ),
    (
        Recorded,
        403,
        r#"{"message":"Unable to disable a workflow that is not active."}"#,
    ),
    (
        Recorded,
        403,
        r#"{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}"#,
    ),
    (Recorded, 403, ""),
    (
        Quoted,
        403,
        r#"{"message":"Resource not accessible by personal access token"}"#,
    ),
    (
        Quoted,
        403,
        r#"{"message":"The repository exists, but forking is disabled."}"#,
    ),
    (
        Quoted,
        403,
        r#"{"message":"Although you appear to have the correct authorization credentials, the `octo` organization has an IP allow list enabled, and your IP address is not permitted to access this resource."}"#,
    ),
    (
        Quoted,
        403,
        r#"{"message":"Resource protected by organization SAML enforcement. You must grant your OAuth token access to this organization."}"#,
    ),
    (
        Quoted,
        403,
        r#"{"message":"Upgrade to GitHub Pro or make this repository public to enable this feature."}"#,
    ),
    (Unproved, 403, r#"{"message":"The moon is full"}"#),
    (Recorded, 404, r#"{"message":"Not Found"}"#),
    (Recorded, 404, "{}"),
    (Recorded, 404, r#"{"message":"Branch not protected"}"#),
    (Recorded, 404, r#"{"message":"Branch not found"}"#),
    (
        Recorded,
        404,
        r#"{"message":"Required status checks not enabled"}"#,
    ),
    (Recorded, 404, r#"{"message":"Label does not exist"}"#),
    (
        Recorded,
        404,
        r#"{"message":"User does not exist or is not a member of the organization"}"#,
    ),
    (
        Recorded,
        404,
        r#"{"message":"User does not exist or is not a public member of the organization"}"#,
    ),
    (
        Recorded,
        404,
        r#"{"message":"No alert found for alert number 2"}"#,
    ),
    (
        Recorded,
        405,
        r#"{"message":"Method not allowed. To make changes to a key, delete the existing key."}"#,
    ),
    (
        Recorded,
        405,
        r#"{"message":"Pull Request is not mergeable"}"#,
    ),
    (
        Recorded,
        405,
        r#"{"message":"Required status check \"ci\" is expected. At least 1 approving review is required by reviewers with write access."}"#,
    ),
    (
        Recorded,
        405,
        r#"{"message":"This branch must not contain merge commits. // See: https://help.github.com/articles/about-protected-branches"}"#,
    ),
    (Recorded, 409, r#"{"message":"There are merge conflicts"}"#),
    (Recorded, 409, r#"{"message":"Merge conflict"}"#),
    (Recorded, 409, r#"{"message":"Git Repository is empty."}"#),
    (Recorded, 409, r#"{"message":"newfile does not match"}"#),
    (
        Quoted,
        410,
        r#"{"message":"Issues are disabled for this repo"}"#,
    ),
    (
        Quoted,
        410,
        r#"{"message":"Issues has been disabled in this repository."}"#,
    ),
    (Quoted, 410, r#"{"message":"This issue was deleted"}"#),
    (Recorded, 422, r#"{"message":"Validation Failed"}"#),
    (
        Recorded,
        422,
        r#"{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"invalid","field":"base"}]}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"Validation Failed","errors":[{"message":"Proposed base branch 'gone' was not found","resource":"PullRequest","field":"base","code":"invalid"}]}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"Cannot change base branch of closed pull request","errors":[{"resource":"PullRequest","code":"invalid","field":"base"}]}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom","message":"A pull request already exists for octo:work."}]}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom","message":"A pull request already exists for base branch 'develop' and head branch 'work'"}]}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"Validation Failed","errors":[{"resource":"Issue","code":"invalid","field":"milestone","value":7}]}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"Validation Failed","errors":[{"resource":"Label","code":"already_exists","field":"name"}]}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"Validation Failed","errors":[{"resource":"Label","code":"invalid","field":"color"}]}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the octo/tools repository."}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"expected head sha didn’t match current head ref."}"#,
    ),
    (Recorded, 422, r#"{"message":"Reference already exists"}"#),
    (
        Recorded,
        422,
        r#"{"message":"Reference contains bad characters"}"#,
    ),
    (Recorded, 422, r#"{"message":"Reference does not exist"}"#),
    (
        Recorded,
        422,
        r#"{"message":"Cannot force-push to a protected branch"}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"Cannot force-push to this branch"}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"Cannot force-push to this protected branch"}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"You're not authorized to push to this branch. Visit https://help.github.com/articles/about-protected-branches/ for more information."}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"This API returns blobs up to 1 MB in size. The requested blob is too large to fetch via the API"}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"Invalid request.\n\n9 must be less than or equal to 6."}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"Invalid request.\n\n\"body\" wasn't supplied."}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"The permissions requested are not granted to this installation."}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"Dismissal restrictions are supported only for repositories owned by an organization."}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"Invalid event: \"no-event\""}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"Required input 'name' not provided"}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"Workflow does not have 'workflow_dispatch' trigger"}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"Vulnerability alerts must be enabled to configure automated security fixes."}"#,
    ),
    (
        Recorded,
        422,
        r#"{"message":"Unable to parse If-Modified-Since request header."}"#,
    ),
    (
        Recorded,
        429,
        r#"{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again"}"#,
    ),
    (
        Quoted,
        451,
        r#"{"message":"Repository access blocked","block":{"reason":"dmca","html_url":"https://github.com/github/dmca/blob/master/2026/x.md"}}"#,
    ),
    (Unproved, 451, r#"{"message":"Repository access blocked"}"#),
    (Recorded, 500, r#"{"error":"Server Error"}"#),
    (Recorded, 502, r#"{"error":"Server Error"}"#),
    (
        Recorded,
        503,
        "<html><body><h1>503 Service Unavailable</h1></body></html>",
    ),
];

/// Returns the exit code of the command line for an error.
fn exit_code(error: &Error) -> u8 {
    if matches!(error.kind(), ErrorKind::Unauthenticated { .. }) {
        4
    } else {
        1
    }
}

#[test]
fn every_known_text_has_kind_and_advice() {
    let http = http();
    let about = ErrorContext {
        host: "github.com",
        http: &http,
        tokens: &FixedToken::none(),
        write: false,
    };
    let mut out = String::new();
    for (evidence, kind, message) in GRAPHQL {
        let told = GqlError {
            kind: Some((*kind).to_owned()).filter(|kind| !kind.is_empty()),
            message: (*message).to_owned(),
            ..GqlError::default()
        };
        let error = from_graphql(about, &told, &HeaderMap::new());
        let exit = exit_code(&error);
        line(
            &mut out,
            &format!("{evidence:?} {kind} exit {exit}: {message}"),
            &error,
        );
    }
    for (evidence, status, body) in REST {
        let code = StatusCode::from_u16(*status).unwrap();
        let error = from_http(about, code, &HeaderMap::new(), body.as_bytes());
        let exit = exit_code(&error);
        line(
            &mut out,
            &format!("{evidence:?} {status} exit {exit}: {body}"),
            &error,
        );
    }
    insta::assert_snapshot!("known_texts", out);
}

#[test]
fn texts_match_in_every_spelling() {
    for message in [
        "expected head sha didn't match current head ref.",
        "expected head sha didn’t match current head ref.",
        "Expected head sha didnʼt match current head ref.",
        "expected head  sha\ndidn‘t match",
    ] {
        let kind = refusal(message);
        assert!(
            matches!(
                kind.kind(),
                ErrorKind::Conflict {
                    what: Changed::Head,
                    ..
                }
            ),
            "{kind:?}"
        );
    }
}

#[test]
fn last_reason_tells_which_branch_is_missing() {
    let both = "Head sha can't be blank, Base sha can't be blank, No commits between a and b";
    for (last, field) in [("Base", "base"), ("Head", "head")] {
        let error = refusal(&format!("{both}, {last} ref must be a branch"));
        let wanted = ErrorKind::InvalidInput { field: Some(field) };
        assert_eq!(*error.kind(), wanted);
    }
}

#[test]
fn token_for_public_repositories_lacks_repo_only_for_hidden_ones() {
    let http = http();
    let about = ErrorContext {
        host: "github.com",
        http: &http,
        tokens: &FixedToken::none(),
        write: false,
    };
    let sent = headers(&[
        ("x-accepted-oauth-scopes", "repo"),
        ("x-oauth-scopes", "public_repo"),
    ]);
    let hint_of = |kind: &str, message: &str| {
        let told = GqlError {
            kind: Some(kind.to_owned()),
            message: message.to_owned(),
            ..GqlError::default()
        };
        let error = from_graphql(about, &told, &sent);
        error
            .hint()
            .map(|hint| hint.text().to_owned())
            .unwrap_or_default()
    };
    let hidden = hint_of(
        "NOT_FOUND",
        "Could not resolve to a Repository with the name 'o/r'.",
    );
    assert!(hidden.contains("scope repo"), "{hidden}");
    let refused = hint_of("FORBIDDEN", "Must have admin rights to Repository.");
    assert!(!refused.contains("scope"), "{refused}");
}

#[test]
fn missing_permission_of_fine_grained_token_is_named() {
    let http = http();
    let about = ErrorContext {
        host: "github.com",
        http: &http,
        tokens: &FixedToken::none(),
        write: false,
    };
    let sent = headers(&[("x-accepted-github-permissions", "pull_requests=write")]);
    let body = br#"{"message":"Resource not accessible by personal access token"}"#;
    let error = from_http(about, StatusCode::FORBIDDEN, &sent, body);
    assert!(
        error.hint().unwrap().text().contains("pull_requests=write"),
        "{error:?}"
    );
    // Another refusal says nothing about permissions.
    let error = from_http(
        about,
        StatusCode::FORBIDDEN,
        &sent,
        br#"{"message":"The moon is full"}"#,
    );
    assert!(error.hint().is_none(), "{error:?}");
}

#[test]
fn end_of_token_is_reported_a_week_ahead() {
    let now: Timestamp = "2026-12-01T10:00:00Z".parse().unwrap();
    for (value, is_soon) in [
        ("2026-12-03 10:00:00 UTC", true),
        ("2026-12-08 09:59:59 UTC", true),
        ("2026-12-08 10:00:00 UTC", false),
        ("2026-12-08 04:59:59 -0500", true),
        ("2026-12-08 15:00:00 +0500", false),
        ("2026-11-01 10:00:00 UTC", true),
        ("soon", false),
        ("2026-12-03 10:00:00 é", false),
        ("", false),
    ] {
        let name = http::HeaderName::from_static("github-authentication-token-expiration");
        let value_of = http::HeaderValue::from_bytes(value.as_bytes()).unwrap();
        let sent = HeaderMap::from_iter([(name, value_of)]);
        assert_eq!(soon_expired(&sent, &now).is_some(), is_soon, "{value}");
    }
}
