//! Measures how forge and the real gh read everything about a large pull request.

use std::{path::Path, time::Duration};

use forge_testkit::Run;

use crate::{
    hub::{Hub, Place},
    measure::once,
    page::{Page, mb, ms},
};

/// Rows of the table: a program's name, the program's number, and the commands that together answer
/// the questions.
const PROGRAMS: &[(&str, usize, &[&[&str]])] = &[
    (
        "`forge pr context`",
        0,
        &[&["pr", "context", "{}", "--json"]],
    ),
    (
        "`gh pr view --json`, `gh api` for files, threads and rules",
        1,
        &[
            &["pr", "view", "{}", "--json", GH_FIELDS],
            &[
                "api",
                "--paginate",
                "repos/{owner}/{repo}/pulls/{}/files?per_page=100",
            ],
            &[
                "api",
                "graphql",
                "-F",
                "owner={owner}",
                "-F",
                "name={repo}",
                "-F",
                "number={}",
                "-f",
                THREADS,
            ],
            &["api", "repos/{owner}/{repo}/rules/branches/main"],
        ],
    ),
];

const GH_FIELDS: &str = "number,title,body,author,state,isDraft,baseRefName,headRefName,comments,\
                         reviews,latestReviews,reviewRequests,reviewDecision,statusCheckRollup,\
                         closingIssuesReferences,mergeable,mergeStateStatus,labels,commits,\
                         additions,deletions,changedFiles";

const THREADS: &str = "query=query($owner: String!, $name: String!, $number: Int!) { \
    repository(owner: $owner, name: $name) { pullRequest(number: $number) { \
    reviewThreads(first: 100) { nodes { id isResolved path line comments(first: 100) { nodes { \
    id body author { login } } } } } } } }";

pub fn measure(page: &mut Page, gh: &Path) {
    let hub = Hub::new(Duration::from_millis(100), gh, 0, 0);
    let number = hub.large_pull().to_string();
    page.table(
        "Everything about a large pull request",
        "3,000 files, 2,000 comments, 20 open threads and 400 checks on the GitHub double, at 100 ms \
         per request; one run each. GitHub refuses a diff of that size, so both read the files page \
         by page. gh gives the facts and no verdict, linked texts or budget.",
        &["Program", "Commands", "Requests", "Received", "Printed", "Time", "Memory"],
    );
    for (name, program, commands) in PROGRAMS {
        hub.double.reset_record();
        let (mut time, mut peak, mut printed) = (Duration::ZERO, 0, 0);
        for args in *commands {
            let args = args.iter().map(|arg| arg.replace("{}", &number));
            let run: Run = hub.program(*program, Place::Reading).args(args);
            printed += run.output().success().stdout.len();
        }
        let requests = hub.double.requests();
        let received: usize = requests.iter().map(|r| r.response_bytes).sum();
        for args in *commands {
            let args = args.iter().map(|arg| arg.replace("{}", &number));
            let sample = once(
                &hub.scratch,
                &hub.program(*program, Place::Reading).args(args),
            );
            time += sample.wall;
            peak = peak.max(sample.peak);
        }
        page.row(&[
            (*name).to_owned(),
            commands.len().to_string(),
            requests.len().to_string(),
            mb(received as u64 / 1024),
            mb(printed as u64 / 1024),
            ms(time),
            mb(peak),
        ]);
    }
}
