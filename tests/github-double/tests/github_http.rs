//! Tests the double over plain HTTP: error formats, lazy merge state, limits, faults, git.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use forge_github_double::{
    ALL_SCOPES, Action, Counts, Fault, GitHubDouble, Options, PullSeed,
    state::{Enforcement, Permission, Protection, ReviewState, Rule, Ruleset},
};
use serde_json::{Value, json};

const REPO: &str = "octocat/hello";
const OCTO: &str = "gho_0canary0octo";
const REV: &str = "gho_0canary0rev";

fn double() -> GitHubDouble {
    let double = GitHubDouble::start(Options::default()).unwrap();
    let mut seed = double.seed();
    seed.token(OCTO, "octocat", ALL_SCOPES);
    seed.token(REV, "reviewer", ALL_SCOPES);
    seed.repo_with_readme(REPO);
    seed.collaborator(REPO, "reviewer", Permission::Write);
    seed.label(REPO, "bug");
    let add = PullSeed {
        title: "Add",
        head: "add",
        labels: &["bug"],
        ..PullSeed::default()
    };
    assert_eq!(seed.open_pull(REPO, &add), 1);
    drop(seed);
    double
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (it, value) = line.split_once(": ")?;
            it.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// Sends one request. An error means that the connection broke.
fn send(
    double: &GitHubDouble,
    method: &str,
    path: &str,
    headers: &str,
    body: &[u8],
) -> std::io::Result<Answer> {
    let address = double.url().replace("http://", "");
    let mut stream = TcpStream::connect(&address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    )?;
    stream.write_all(body)?;
    let mut raw = Vec::new();
    stream.read_to_end(&mut raw)?;
    let end = raw.windows(4).position(|it| it == b"\r\n\r\n");
    let end = end.ok_or(std::io::ErrorKind::UnexpectedEof)?;
    let head = String::from_utf8_lossy(&raw[..end]).into_owned();
    let body = raw[end + 4..].to_vec();
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
    Ok(Answer {
        status: status.ok_or(std::io::ErrorKind::InvalidData)?,
        head,
        body,
    })
}

fn ask(double: &GitHubDouble, token: &str, query: &str, variables: Value) -> Answer {
    let body = json!({ "query": query, "variables": variables }).to_string();
    let headers = format!("Authorization: token {token}\r\n");
    send(double, "POST", "/graphql", &headers, body.as_bytes()).unwrap()
}

fn get(double: &GitHubDouble, path: &str, accept: &str) -> Answer {
    let headers = format!("Authorization: Bearer gho_0canary0octo\r\nAccept: {accept}\r\n");
    send(double, "GET", path, &headers, b"").unwrap()
}

const IN_PULL: &str = "query($fields: Int = 1) { repository(owner: \"octocat\", name: \"hello\") { pullRequest(number: $fields) { id number mergeable } } }";

fn pull_id(double: &GitHubDouble) -> String {
    let answer = ask(double, OCTO, IN_PULL, json!({})).json();
    answer["data"]["repository"]["pullRequest"]["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn missing_object_is_null_with_typed_error() {
    let double = double();
    let answer = ask(&double, OCTO, IN_PULL, json!({ "fields": 99 }));
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.json(),
        json!({
            "data": { "repository": { "pullRequest": null } },
            "errors": [{
                "type": "NOT_FOUND",
                "path": ["repository", "pullRequest"],
                "locations": [{ "line": 1, "column": 73 }],
                "message": "Could not resolve to a PullRequest with the number of 99."
            }]
        })
    );
}

#[test]
fn invalid_document_gets_no_data() {
    let double = double();
    let answer = ask(&double, OCTO, "{ viewer { login nope } }", json!({})).json();
    assert_eq!(answer.get("data"), None);
    assert_eq!(
        answer["errors"][0]["message"],
        "Field 'nope' doesn't exist on type 'User'"
    );
    assert_eq!(answer["errors"][0]["extensions"]["code"], "undefinedField");
    let answer = ask(&double, OCTO, "{ viewer {", json!({})).json();
    assert_eq!(answer.get("data"), None);
    let answer = ask(&double, OCTO, IN_PULL, json!({ "fields": "one" })).json();
    assert_eq!(answer.get("data"), None);
    let garbage = send(
        &double,
        "POST",
        "/graphql",
        "Authorization: token gho_0canary0octo\r\n",
        b"{",
    )
    .unwrap();
    assert_eq!(garbage.status, 400);
}

#[test]
fn tokens_are_checked() {
    let double = double();
    assert_eq!(ask(&double, "wrong", IN_PULL, json!({})).status, 401);
    let none = send(&double, "POST", "/graphql", "", b"{}").unwrap();
    assert_eq!(none.status, 401);
    assert!(none.text().contains("requires you to be authenticated"));
    let answer = ask(
        &double,
        OCTO,
        "{ viewer { login } rateLimit { cost remaining } }",
        json!({}),
    );
    assert_eq!(
        answer.header("x-oauth-scopes"),
        Some("repo, read:org, project, workflow, delete_repo")
    );
    assert_eq!(answer.header("x-ratelimit-remaining"), Some("4999"));
    assert_eq!(
        answer.json()["data"]["rateLimit"],
        json!({ "cost": 1, "remaining": 4999 })
    );
}

#[test]
fn exhausted_budget_is_a_rate_limit() {
    let double = double();
    double.seed().tokens.get_mut(OCTO).unwrap().remaining = 0;
    let answer = ask(&double, OCTO, IN_PULL, json!({}));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("x-ratelimit-remaining"), Some("0"));
    assert_eq!(answer.json()["errors"][0]["type"], "RATE_LIMITED");
}

#[test]
fn cursor_of_a_page_leads_to_the_next() {
    let double = double();
    double.seed().many_pulls(REPO, 130);
    let query = "query($after: String) { repository(owner: \"octocat\", name: \"hello\") { pullRequests(first: 100, after: $after, orderBy: {field: CREATED_AT, direction: DESC}) { totalCount nodes { number } pageInfo { hasNextPage hasPreviousPage endCursor } } } }";
    let first = ask(&double, OCTO, query, json!({})).json();
    let page = &first["data"]["repository"]["pullRequests"];
    assert_eq!(page["totalCount"], 131);
    assert_eq!(page["nodes"].as_array().unwrap().len(), 100);
    assert_eq!(page["nodes"][0]["number"], 131);
    assert_eq!(page["pageInfo"]["hasNextPage"], true);
    let after = page["pageInfo"]["endCursor"].clone();
    let second = ask(&double, OCTO, query, json!({ "after": after })).json();
    let page = &second["data"]["repository"]["pullRequests"];
    assert_eq!(page["nodes"].as_array().unwrap().len(), 31);
    assert_eq!(page["nodes"][0]["number"], 31);
    assert_eq!(page["pageInfo"]["hasNextPage"], false);
    assert_eq!(page["pageInfo"]["hasPreviousPage"], true);
}

#[test]
fn pagination_arguments_are_mandatory_and_limited() {
    let double = double();
    let with = |argument: &str, inner: &str| {
        let query = format!(
            "{{ repository(owner: \"octocat\", name: \"hello\") {{ labels{argument} {{ {inner} }} }} }}"
        );
        ask(&double, OCTO, &query, json!({})).json()
    };
    let kind = |answer: &Value| answer["errors"][0]["type"].clone();
    assert_eq!(
        kind(&with("", "nodes { name }")),
        "MISSING_PAGINATION_BOUNDARIES"
    );
    assert_eq!(
        kind(&with("(first: 101)", "nodes { name }")),
        "EXCESSIVE_PAGINATION"
    );
    assert_eq!(
        with("", "totalCount")["data"]["repository"]["labels"]["totalCount"],
        1
    );
    let deep = "{ repository(owner: \"octocat\", name: \"hello\") { pullRequests(first: 100) { nodes { reviewThreads(first: 100) { nodes { comments(first: 100) { nodes { body } } } } } } } }";
    assert_eq!(
        kind(&ask(&double, OCTO, deep, json!({})).json()),
        "MAX_NODE_LIMIT_EXCEEDED"
    );
}

#[test]
fn merge_state_is_unknown_right_after_a_change() {
    let double = double();
    let mergeable = || {
        ask(&double, OCTO, IN_PULL, json!({})).json()["data"]["repository"]["pullRequest"]
            ["mergeable"]
            .clone()
    };
    assert_eq!(mergeable(), "UNKNOWN");
    assert_eq!(mergeable(), "MERGEABLE");
    double
        .seed()
        .commit(REPO, "main", &[("add.txt", Some("other\n"))], "Conflict");
    assert_eq!(mergeable(), "UNKNOWN");
    assert_eq!(mergeable(), "CONFLICTING");
    double.seed().lag = 3;
    double
        .seed()
        .commit(REPO, "main", &[("x", Some("x\n"))], "More");
    for _ in 0..3 {
        assert_eq!(mergeable(), "UNKNOWN");
    }
    assert_eq!(mergeable(), "CONFLICTING");
}

#[test]
fn review_with_threads_is_one_mutation() {
    let double = double();
    double.seed().commit(
        REPO,
        "add",
        &[("add.txt", Some("one\ntwo\nthree\n"))],
        "More",
    );
    let id = pull_id(&double);
    let mutation = "mutation($in: AddPullRequestReviewInput!) { addPullRequestReview(input: $in) { pullRequestReview { state comments(first: 5) { nodes { body path line diffHunk } } } } }";
    let input = |line: u32| {
        json!({ "in": {
            "pullRequestId": id, "event": "REQUEST_CHANGES", "body": "Please",
            "threads": [{ "path": "add.txt", "line": line, "body": "Why?" }]
        }})
    };
    let refused = ask(&double, REV, mutation, input(9)).json();
    assert_eq!(
        refused["errors"][0]["message"],
        "Line could not be resolved"
    );
    assert!(double.seed().reviews_of(REPO, 1).is_empty());
    let made = ask(&double, REV, mutation, input(2)).json();
    let review = &made["data"]["addPullRequestReview"]["pullRequestReview"];
    assert_eq!(review["state"], "CHANGES_REQUESTED");
    assert_eq!(
        review["comments"]["nodes"][0],
        json!({ "body": "Why?", "path": "add.txt", "line": 2, "diffHunk": "@@ -0,0 +1,3 @@\n+one\n+two" })
    );
    let threads = "{ repository(owner: \"octocat\", name: \"hello\") { pullRequest(number: 1) { reviewDecision reviewThreads(first: 9) { nodes { id isResolved isOutdated line comments(first: 9) { nodes { body author { login } replyTo { body } } } } } } } }";
    let read = || {
        ask(&double, OCTO, threads, json!({})).json()["data"]["repository"]["pullRequest"].clone()
    };
    let thread = read()["reviewThreads"]["nodes"][0]["id"].clone();
    let both = "mutation($t: ID!) { reply: addPullRequestReviewThreadReply(input: {pullRequestReviewThreadId: $t, body: \"Because\"}) { comment { body } } done: resolveReviewThread(input: {threadId: $t}) { thread { isResolved resolvedBy { login } } } }";
    let done = ask(&double, OCTO, both, json!({ "t": thread })).json();
    assert_eq!(
        done["data"]["done"]["thread"],
        json!({ "isResolved": true, "resolvedBy": { "login": "octocat" } })
    );
    double.seed().commit(
        REPO,
        "add",
        &[("add.txt", Some("zero\none\ntwo\nthree\n"))],
        "Shift",
    );
    let pull = read();
    let moved = &pull["reviewThreads"]["nodes"][0];
    assert_eq!(
        (&moved["line"], &moved["isOutdated"]),
        (&json!(3), &json!(false))
    );
    assert_eq!(moved["comments"]["nodes"][1]["replyTo"]["body"], "Why?");
    double.seed().commit(
        REPO,
        "add",
        &[("add.txt", Some("zero\none\n2\nthree\n"))],
        "Change",
    );
    let pull = read();
    let outdated = &pull["reviewThreads"]["nodes"][0];
    assert_eq!(
        (&outdated["line"], &outdated["isOutdated"]),
        (&Value::Null, &json!(true))
    );
}

#[test]
fn pending_review_is_visible_to_author_only() {
    let double = double();
    let id = pull_id(&double);
    let begin = "mutation($id: ID!) { addPullRequestReviewThread(input: {pullRequestId: $id, path: \"add.txt\", line: 1, body: \"Hm\"}) { thread { path } } }";
    let begun = ask(&double, REV, begin, json!({ "id": id })).json();
    assert_eq!(
        begun["data"]["addPullRequestReviewThread"]["thread"]["path"],
        "add.txt"
    );
    let count = "{ repository(owner: \"octocat\", name: \"hello\") { pullRequest(number: 1) { reviews { totalCount } reviewThreads { totalCount } } } }";
    let seen = |token: &str| {
        let pull =
            &ask(&double, token, count, json!({})).json()["data"]["repository"]["pullRequest"];
        (
            pull["reviews"]["totalCount"].clone(),
            pull["reviewThreads"]["totalCount"].clone(),
        )
    };
    assert_eq!(seen(REV), (json!(1), json!(1)));
    assert_eq!(seen(OCTO), (json!(0), json!(0)));
    let submit = "mutation($id: ID!) { submitPullRequestReview(input: {pullRequestId: $id, event: COMMENT}) { pullRequestReview { state } } }";
    ask(&double, REV, submit, json!({ "id": id }));
    assert_eq!(seen(OCTO), (json!(1), json!(1)));
    assert_eq!(
        double.seed().reviews_of(REPO, 1)[0].state,
        ReviewState::Commented
    );
}

const COMMENT: &str = "mutation Say($id: ID!) { addComment(input: {subjectId: $id, body: \"Hi\"}) { clientMutationId } }";

#[test]
fn fault_can_hide_the_response_of_a_write() {
    let double = double();
    let id = pull_id(&double);
    let comments = || double.seed().comments_of(REPO, 1).len();
    double.fault(Fault::status(502).on_operation("Say"));
    assert_eq!(ask(&double, OCTO, COMMENT, json!({ "id": id })).status, 502);
    assert_eq!(comments(), 0);
    double.fault(Fault::status(502).on_operation("addComment").committed());
    assert_eq!(ask(&double, OCTO, COMMENT, json!({ "id": id })).status, 502);
    assert_eq!(comments(), 1);
    assert_eq!(double.faults_left(), 0);
    assert_eq!(ask(&double, OCTO, COMMENT, json!({ "id": id })).status, 200);
    assert_eq!(comments(), 2);
}

#[test]
fn fault_breaks_connection_as_configured() {
    let double = double();
    let id = pull_id(&double);
    let body = json!({ "query": COMMENT, "variables": { "id": id } }).to_string();
    let say = || {
        send(
            &double,
            "POST",
            "/graphql",
            "Authorization: token gho_0canary0octo\r\n",
            body.as_bytes(),
        )
    };
    double.fault(Fault::new(Action::Reset).committed());
    assert!(say().is_err());
    assert_eq!(double.seed().comments_of(REPO, 1).len(), 1);
    double.fault(Fault::new(Action::Reset));
    assert!(say().is_err());
    assert_eq!(double.seed().comments_of(REPO, 1).len(), 1);
    double.fault(Fault::new(Action::Truncate(10)));
    // Depending on timing, the client receives either fewer bytes than announced or an error.
    if let Ok(answer) = say() {
        let announced: usize = answer.header("content-length").unwrap().parse().unwrap();
        assert!(answer.body.len() < announced);
    }
    double.fault(Fault::new(Action::Malformed));
    assert!(serde_json::from_slice::<Value>(&say().unwrap().body).is_err());
    double.fault(Fault::new(Action::Headers(vec![(
        "x-github-sso".into(),
        "partial-results".into(),
    )])));
    assert_eq!(
        say().unwrap().header("x-github-sso"),
        Some("partial-results")
    );
    double.fault(Fault::secondary(429, Some(7)));
    let limited = say().unwrap();
    assert_eq!(
        (limited.status, limited.header("retry-after")),
        (429, Some("7"))
    );
    double.fault(Fault::rate_limited("RATE_LIMIT"));
    let limited = say().unwrap();
    assert_eq!(
        (limited.status, limited.json()["errors"][0]["type"].clone()),
        (200, json!("RATE_LIMIT"))
    );
    double.fault(Fault::sso("https://github.com/orgs/acme/sso"));
    assert_eq!(
        say().unwrap().header("x-github-sso"),
        Some("required; url=https://github.com/orgs/acme/sso")
    );
    assert_eq!(double.faults_left(), 0);
    let last = double.requests().pop().unwrap();
    assert!(last.faulted && !last.executed);
}

#[test]
fn rest_serves_diffs_patches_and_files() {
    let double = double();
    {
        let mut seed = double.seed();
        let content = "a\nb\nc\nd\ne\n".repeat(4);
        seed.commit(REPO, "main", &[("old name.txt", Some(&content))], "Base");
        let files = [
            ("old name.txt", None),
            ("new näme.txt", Some(content.as_str())),
            ("bin", Some("\0\u{1}")),
            ("README.md", None),
        ];
        seed.commit(REPO, "mixed", &files, "Mix");
        let mixed = PullSeed {
            title: "Mixed",
            head: "mixed",
            ..PullSeed::default()
        };
        assert_eq!(seed.open_pull(REPO, &mixed), 2);
    }
    let path = "/api/v3/repos/octocat/hello/pulls/2";
    let diff = get(&double, path, "application/vnd.github.v3.diff");
    assert_eq!(diff.status, 200);
    assert!(
        diff.text().contains("rename from old name.txt"),
        "{}",
        diff.text()
    );
    let patch = get(&double, path, "application/vnd.github.v3.patch");
    assert!(patch.text().starts_with("From "));
    let files = get(
        &double,
        &format!("{path}/files?per_page=2"),
        "application/json",
    );
    assert!(
        files
            .header("link")
            .unwrap()
            .contains("page=2>; rel=\"next\"")
    );
    let rows = get(
        &double,
        &format!("{path}/files?per_page=100"),
        "application/json",
    )
    .json();
    let row = |name: &str| {
        rows.as_array()
            .unwrap()
            .iter()
            .find(|row| row["filename"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(row("README.md")["status"], "removed");
    assert_eq!(row("bin").get("patch"), None);
    assert_eq!(row("new näme.txt")["previous_filename"], "old name.txt");
    assert_eq!(get(&double, "/repos/octocat/none/pulls/1", "").status, 404);
    assert_eq!(
        get(&double, "/rate_limit", "").json()["resources"]["core"]["limit"],
        5000
    );
}

#[test]
fn requests_are_counted_by_kind() {
    let double = double();
    let id = pull_id(&double);
    ask(&double, OCTO, COMMENT, json!({ "id": id }));
    get(&double, "/user", "");
    let refs = send(
        &double,
        "GET",
        "/octocat/hello.git/info/refs?service=git-upload-pack",
        "",
        b"",
    )
    .unwrap();
    assert_eq!(refs.status, 200);
    let push = send(
        &double,
        "GET",
        "/octocat/hello.git/info/refs?service=git-receive-pack",
        "",
        b"",
    )
    .unwrap();
    assert_eq!(push.status, 401);
    assert_eq!(
        double.counts(),
        Counts {
            api: 3,
            queries: 1,
            mutations: 1,
            rest: 1,
            git: 2
        }
    );
    let recorded = double.requests();
    assert_eq!(recorded[1].operation.as_deref(), Some("Say"));
    assert_eq!(recorded[1].fields, ["addComment"]);
    assert!(
        !format!("{recorded:?}").contains(OCTO),
        "a token was recorded"
    );
    double.reset_record();
    assert_eq!(double.counts(), Counts::default());
}

#[test]
fn every_field_of_covered_objects_can_be_queried() {
    let double = double();
    {
        let mut seed = double.seed();
        seed.review(REPO, 1, "reviewer", ReviewState::Approved, "Yes");
        seed.check(REPO, 1, "CI", "build", "SUCCESS");
        seed.status(REPO, 1, "ci", "SUCCESS");
        seed.comment(REPO, 1, "reviewer", "Hello");
    }
    let mut problems = Vec::new();
    let introspection = "query($name: String!) { __type(name: $name) { fields(includeDeprecated: true) { name args { name type { kind } defaultValue } type { kind ofType { kind ofType { kind ofType { kind } } } } } } }";
    for (name, path) in [
        ("PullRequest", "pullRequest(number: 1) { FIELD }"),
        ("Repository", "FIELD"),
        (
            "User",
            "pullRequest(number: 1) { reviews(first: 1) { nodes { author { ... on User { FIELD } } } } }",
        ),
        (
            "PullRequestReview",
            "pullRequest(number: 1) { reviews(first: 1) { nodes { FIELD } } }",
        ),
        (
            "IssueComment",
            "pullRequest(number: 1) { comments(first: 1) { nodes { FIELD } } }",
        ),
        (
            "Commit",
            "pullRequest(number: 1) { commits(first: 1) { nodes { commit { FIELD } } } }",
        ),
        ("Label", "labels(first: 1) { nodes { FIELD } }"),
        ("Ref", "defaultBranchRef { FIELD }"),
        (
            "StatusCheckRollup",
            "pullRequest(number: 1) { statusCheckRollup { FIELD } }",
        ),
        (
            "CheckRun",
            "pullRequest(number: 1) { statusCheckRollup { contexts(first: 9) { nodes { ... on CheckRun { FIELD } } } } }",
        ),
        (
            "CheckSuite",
            "pullRequest(number: 1) { statusCheckRollup { contexts(first: 9) { nodes { ... on CheckRun { checkSuite { FIELD } } } } } }",
        ),
        (
            "StatusContext",
            "pullRequest(number: 1) { statusCheckRollup { contexts(first: 9) { nodes { ... on StatusContext { FIELD } } } } }",
        ),
    ] {
        let fields = ask(&double, OCTO, introspection, json!({ "name": name })).json();
        let fields = fields["data"]["__type"]["fields"]
            .as_array()
            .unwrap()
            .clone();
        assert!(!fields.is_empty(), "{name}");
        for field in fields {
            let required = field["args"]
                .as_array()
                .unwrap()
                .iter()
                .any(|it| it["type"]["kind"] == "NON_NULL" && it["defaultValue"].is_null());
            if required {
                continue;
            }
            let mut inner = &field["type"];
            while !inner["ofType"].is_null() {
                inner = &inner["ofType"];
            }
            let inner = match inner["kind"].as_str().unwrap() {
                "OBJECT" | "INTERFACE" | "UNION" => " { __typename }",
                _ => "",
            };
            let one = format!("{}{inner}", field["name"].as_str().unwrap());
            let query = format!(
                "{{ repository(owner: \"octocat\", name: \"hello\") {{ {} }} }}",
                path.replace("FIELD", &one)
            );
            let answer = ask(&double, OCTO, &query, json!({})).json();
            // A comment on a pull request has no issue, although the field is not nullable.
            let issue = name == "IssueComment" && field["name"] == "issue";
            if answer.get("errors").is_some() && !issue {
                problems.push(format!("{name}.{one}: {answer}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Calls a REST route with a token.
fn rest(double: &GitHubDouble, token: &str, method: &str, path: &str, body: &Value) -> Answer {
    let headers = format!("Authorization: Bearer {token}\r\n");
    let path = format!("/repos/{REPO}/{path}");
    send(double, method, &path, &headers, body.to_string().as_bytes()).unwrap()
}

fn reviewed(count: u32) -> Ruleset {
    Ruleset {
        name: "main rules".to_owned(),
        include: vec!["~DEFAULT_BRANCH".to_owned()],
        rules: vec![
            Rule {
                kind: "pull_request".to_owned(),
                parameters: json!({ "required_approving_review_count": count }),
            },
            Rule {
                kind: "required_linear_history".to_owned(),
                parameters: Value::Null,
            },
        ],
        ..Ruleset::default()
    }
}

#[test]
fn branch_rules_list_active_rulesets_in_pages() {
    let double = double();
    let id = {
        let mut seed = double.seed();
        let mut evaluated = reviewed(9);
        evaluated.enforcement = Enforcement::Evaluate;
        seed.ruleset(REPO, evaluated);
        seed.ruleset(REPO, reviewed(2))
    };
    let of = |path: &str| rest(&double, REV, "GET", path, &Value::Null);
    let first = of("rules/branches/main?per_page=1");
    let wanted = json!([{
        "type": "pull_request",
        "parameters": { "required_approving_review_count": 2 },
        "ruleset_source_type": "Repository",
        "ruleset_source": REPO,
        "ruleset_id": id,
    }]);
    assert_eq!(first.json(), wanted);
    assert!(
        first
            .header("link")
            .unwrap()
            .contains("&page=2>; rel=\"next\"")
    );
    let second = of("rules/branches/main?per_page=1&page=2");
    assert_eq!(second.json()[0]["type"], "required_linear_history");
    assert_eq!(second.header("link"), None);
    assert_eq!(of("rules/branches/topic%2Fone").json(), json!([]));
    let shown = of(&format!("rulesets/{id}")).json();
    assert_eq!(shown["name"], "main rules");
    assert_eq!(shown["current_user_can_bypass"], "never");
    assert_eq!(shown["bypass_actors"], Value::Null);
}

#[test]
fn protection_is_shown_only_to_administrators() {
    let double = double();
    let of = |token: &str| {
        rest(
            &double,
            token,
            "GET",
            "branches/main/protection",
            &Value::Null,
        )
    };
    let message = |answer: &Answer| (answer.status, answer.json()["message"].clone());
    assert_eq!(message(&of(OCTO)), (404, json!("Branch not protected")));
    assert_eq!(message(&of(REV)), (404, json!("Not Found")));
    let rules = Protection {
        approvals: 1,
        code_owners: true,
        ..Protection::default()
    };
    double.seed().protect(REPO, "main", rules);
    let shown = of(OCTO).json();
    let reviews = &shown["required_pull_request_reviews"];
    assert_eq!(reviews["required_approving_review_count"], 1);
    assert_eq!(reviews["require_code_owner_reviews"], true);
    assert_eq!(message(&of(REV)), (404, json!("Not Found")));
    let query = "{ repository(owner: \"octocat\", name: \"hello\") { ref(qualifiedName: \"main\") { refUpdateRule { requiresCodeOwnerReviews viewerCanPush } branchProtectionRule { pattern } } } }";
    let seen = ask(&double, REV, query, json!({})).json();
    let seen = &seen["data"]["repository"]["ref"];
    let update = json!({ "requiresCodeOwnerReviews": true, "viewerCanPush": true });
    assert_eq!(seen["refUpdateRule"], update);
    assert_eq!(seen["branchProtectionRule"], Value::Null);
}

#[test]
fn rest_merge_names_every_broken_rule() {
    let double = double();
    let merge = |method: &str| {
        let body = json!({ "merge_method": method });
        rest(&double, REV, "PUT", "pulls/1/merge", &body)
    };
    double.seed().ruleset(REPO, reviewed(1));
    let refused = merge("merge");
    assert_eq!(refused.status, 405);
    let wanted = "Repository rule violations found\n\nAt least 1 approving review is required by \
                  reviewers with write access.\n\nThis branch must not contain merge commits.\n\n";
    assert_eq!(refused.json()["message"], wanted);
    let mut seed = double.seed();
    seed.review(REPO, 1, "reviewer", ReviewState::Approved, "Good.");
    drop(seed);
    let merged = merge("squash");
    assert_eq!(
        (merged.status, &merged.json()["merged"]),
        (200, &json!(true))
    );
    let seed = double.seed();
    let merge = seed.pull_of(REPO, 1).merge.clone().unwrap();
    assert_eq!(merged.json()["sha"], merge.commit);
}

#[test]
fn refused_seed_step_names_the_reason() {
    let double = double();
    let refusal = |step: Value| double.seed_json(&json!([step]).to_string()).unwrap_err();
    let unknown = refusal(json!({"do": "dance"}));
    assert!(unknown.contains("`do` is one of: user, bot, "), "{unknown}");
    let lacking = refusal(json!({"do": "label", "repo": REPO}));
    assert!(lacking.contains("`name` is missing"), "{lacking}");
    let odd = refusal(json!({"do": "label", "repo": REPO, "name": "bug", "colour": "red"}));
    assert!(odd.contains("`colour` is no field"), "{odd}");
    let gone = refusal(json!({"do": "label", "repo": "no/where", "name": "bug"}));
    assert!(gone.contains("does not exist"), "{gone}");
    let review = refusal(json!({"do": "review", "repo": REPO, "verdict": "APPROVED"}));
    assert!(review.contains("is one of: approve, comment"), "{review}");
}

#[test]
fn code_owner_review_request_ends_with_review() {
    let double = double();
    let steps = json!([
        {"do": "commit", "repo": REPO, "branch": "main", "files": {"CODEOWNERS": "* @reviewer\n"}},
        {"do": "pull", "repo": REPO, "title": "Owned", "head": "owned"},
        {"do": "ruleset", "repo": REPO, "include": ["~ALL"],
         "rules": [{"type": "pull_request", "parameters": {"require_code_owner_review": true}}]},
    ]);
    double.seed_json(&steps.to_string()).unwrap();
    let query = "{ repository(owner: \"octocat\", name: \"hello\") { pullRequest(number: 2) { reviewDecision reviewRequests(first: 5) { nodes { asCodeOwner requestedReviewer { ... on User { login } } } } } } }";
    let seen = || ask(&double, OCTO, query, json!({})).json()["data"]["repository"].clone();
    let asked = json!([{ "asCodeOwner": true, "requestedReviewer": { "login": "reviewer" } }]);
    assert_eq!(seen()["pullRequest"]["reviewRequests"]["nodes"], asked);
    assert_eq!(seen()["pullRequest"]["reviewDecision"], "REVIEW_REQUIRED");
    let mut seed = double.seed();
    seed.review(REPO, 2, "reviewer", ReviewState::Approved, "Good.");
    drop(seed);
    assert_eq!(seen()["pullRequest"]["reviewRequests"]["nodes"], json!([]));
    assert_eq!(seen()["pullRequest"]["reviewDecision"], "APPROVED");
}
