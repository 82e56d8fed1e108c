//! Doubles of GitHub and JIRA, each of which may lie.

use forge_github_double::{
    ALL_SCOPES, GitHubDouble, Options, PullSeed, Recorded,
    state::{Permission, PullState, ReviewState},
};
use forge_jira_double::{JIRA_EMAIL, JIRA_TOKEN, JiraDouble, JiraEdition, TicketSeed};
use forge_testkit::{CANARY, Random, Run};
use serde_json::{Map, Value};

use super::{
    client::Claim,
    ground::Ground,
    lies::Stock,
    lines::{Line, Subjects},
    tap::{Listener, Role, Tap},
};
use crate::plant::Variant;

const REPO: &str = "octo/tools";
const PULLS: u64 = 4;

pub struct HubStage {
    pub ground: Ground,
    pub tap: Tap,
    double: GitHubDouble,
    _jira: JiraDouble,
    github: Listener,
    _thief: Listener,
    _jira_liar: Listener,
    token: String,
}

impl HubStage {
    pub fn new(random: &mut Random) -> Self {
        let variant = *random.pick(&Variant::ALL);
        let ground = Ground::new(variant, "http://github.localhost/octo/tools.git");
        let tap = Tap::default();
        let double = GitHubDouble::start(Options::default()).unwrap();
        let token = format!("gho_{CANARY}{CANARY}{CANARY}");
        let (heads, issues) = fill(&double, &token);
        let jira = JiraDouble::start(JiraEdition::Cloud);
        jira.ticket(TicketSeed {
            key: "OPS-7",
            comments: (0..7).map(|n| format!("Comment {n}")).collect(),
            ..TicketSeed::default()
        });
        let [github, thief, jira_liar] =
            [Role::GitHub, Role::Thief, Role::Jira].map(|role| Listener::start(&tap, role));
        let address = |url: String| url.trim_start_matches("http://").parse().unwrap();
        tap.set_back(Role::GitHub, address(double.url()));
        tap.set_back(Role::Jira, address(jira.url()));
        tap.add_secret("the token for GitHub", &token, &[Role::GitHub]);
        tap.add_secret("the token for JIRA", JIRA_TOKEN, &[Role::Jira]);
        let mut others = heads;
        others.extend(["grace", "mallory", "octo/other", "main", "feature"].map(str::to_owned));
        others.extend(issues.iter().map(|n| format!("#{n}")));
        tap.set_stock(Stock {
            thief: format!("http://localhost:{}", thief.port()),
            thief_authority: format!("localhost:{}", thief.port()),
            others,
            program: ground.program(),
            blobs: vec![b"diff --git a/evil b/evil\n".to_vec()],
        });
        let config = format!(
            "[jira]\nbase_url = \"{}\"\nemail = \"{JIRA_EMAIL}\"\n[workflow]\nstore = \"labels\"\n",
            jira_liar.url()
        );
        ground
            .scratch
            .write("home/.config/forge/config.toml", config);
        Self {
            ground,
            tap,
            double,
            _jira: jira,
            github,
            _thief: thief,
            _jira_liar: jira_liar,
            token,
        }
    }

    pub fn forge(&self) -> Run {
        let proxy = self.github.url();
        [
            ("GH_HOST", "github.localhost".to_owned()),
            ("GH_TOKEN", self.token.clone()),
            ("HTTP_PROXY", proxy.clone()),
            ("http_proxy", proxy),
            ("NO_PROXY", String::new()),
            ("JIRA_TOKEN", JIRA_TOKEN.to_owned()),
        ]
        .into_iter()
        .fold(self.ground.forge(), |run, (key, value)| run.env(key, value))
    }

    pub fn subjects(&self) -> Subjects {
        let numbers =
            |from: u64, to: u64| -> Vec<String> { (from..=to).map(|n| n.to_string()).collect() };
        Subjects {
            repo: REPO.to_owned(),
            pulls: numbers(1, PULLS),
            issues: numbers(PULLS + 1, PULLS + 2),
            branches: numbers(1, 8)
                .into_iter()
                .map(|n: String| format!("fresh-{n}"))
                .collect(),
        }
    }

    pub fn liars() -> &'static [Role] {
        &[
            Role::GitHub,
            Role::GitHub,
            Role::GitHub,
            Role::GitHub,
            Role::Jira,
        ]
    }

    /// Returns the head commit of a merged pull request, or `None` if it is not merged.
    pub fn merged_head(&self, number: &str) -> Option<String> {
        let seed = self.double.seed();
        let pull = seed.pull_of(REPO, number.parse().ok()?);
        (pull.state == PullState::Merged).then(|| pull.head_oid.clone())
    }

    pub fn begin(&self) {
        self.double.reset_record();
    }

    /// Fails if a tool call sent a merge of a head that no question named.
    pub fn check_call(&self, claim: &Claim) -> Result<(), String> {
        let requests = self.double.requests();
        self.double.reset_record();
        let is_merge = |it: &&Recorded| it.fields.iter().any(|f| f == "mergePullRequest");
        for variables in requests.iter().filter(is_merge).map(|it| &it.variables) {
            let variables = variables.as_deref().unwrap_or_default();
            let variables: Value = serde_json::from_str(variables).unwrap_or_default();
            let mut inputs = variables.as_object().into_iter().flat_map(Map::values);
            let head = inputs.find_map(|it| it["expectedHeadOid"].as_str());
            let head = head.unwrap_or_default();
            // A question quotes a head of another form, and GitHub has no such commit.
            if head.len() == 40 && !claim.heads.iter().any(|it| it == head) {
                return Err(format!("a merge of {head}, which no question names"));
            }
        }
        Ok(())
    }

    /// Compares what the command did with what it printed.
    pub fn check(&self, line: &Line, succeeded: bool, said: &str) -> Result<(), String> {
        let requests = self.double.requests();
        for merge in requests
            .iter()
            .filter(|it| it.mutation && it.fields.iter().any(|f| f == "mergePullRequest"))
        {
            let variables = merge.variables.clone().unwrap_or_default();
            if !variables.contains("expectedHeadOid") {
                return Err(format!(
                    "a merge without the commit that it is of: {variables}"
                ));
            }
        }
        if !line.writes {
            let written = requests
                .iter()
                .find(|it| it.mutation || it.method == "PUT" || it.method == "DELETE");
            return match written {
                Some(it) => Err(format!("a command that reads has written: {it:?}")),
                None => Ok(()),
            };
        }
        // A lying response may have made `forge` report that nothing was left to do.
        let states_so = ["already", "nothing", "Nothing", "no ", "not "]
            .iter()
            .any(|it| said.contains(it));
        let wrote = requests.iter().any(|it| {
            it.executed && (it.mutation || !matches!(it.method.as_str(), "GET" | "HEAD"))
        });
        if succeeded && !wrote && !states_so {
            return Err("it says that it wrote, and nothing was sent".to_owned());
        }
        Ok(())
    }
}

/// Creates pull requests 1 to 4 and two issues. Returns the head commits and the issue numbers.
fn fill(double: &GitHubDouble, token: &str) -> (Vec<String>, Vec<u64>) {
    let mut seed = double.seed();
    seed.org("octo", &[("ada", Permission::Admin)]);
    seed.token(token, "ada", ALL_SCOPES);
    seed.repo_with_readme(REPO);
    seed.repo_with_readme("octo/other");
    seed.open_issue("octo/other", "grace", "Elsewhere", "Text.");
    seed.collaborator(REPO, "grace", Permission::Write);
    seed.label(REPO, "bug");
    seed.milestone(REPO, "v1.0");
    seed.project("octo", "Roadmap", &["Todo"]);
    let mut heads = Vec::new();
    for n in 1..=PULLS {
        let head = format!("work-{n}");
        let number = seed.open_pull(
            REPO,
            &PullSeed {
                author: if n == 2 { "ada" } else { "grace" },
                title: "Some work",
                body: "See OPS-7. Fixes #5 and octo/other#1.\n\n```rust\nlet a = 1;\n```\n",
                head: &head,
                labels: &["bug"],
                ..PullSeed::default()
            },
        );
        heads.push(seed.pull_of(REPO, number).head_oid.clone());
    }
    let run = seed.check(REPO, 1, "CI", "build", "FAILURE");
    seed.log(run, "error[E0308]: mismatched types\n");
    seed.check(REPO, 1, "CI", "lint", "SUCCESS");
    seed.status(REPO, 1, "ci/other", "SUCCESS");
    seed.check(REPO, 2, "CI", "build", "SUCCESS");
    for number in [1, 2] {
        seed.comment(REPO, number, "grace", "A comment.");
        seed.review(REPO, number, "grace", ReviewState::Approved, "Good.");
        seed.thread(REPO, number, "grace", &format!("work-{number}.txt"));
    }
    let issues: Vec<u64> = (0..2)
        .map(|n| seed.open_issue(REPO, "grace", &format!("Issue {n}"), "Text."))
        .collect();
    seed.comment(REPO, issues[0], "ada", "On an issue.");
    for n in 1..=8 {
        let (branch, file) = (format!("fresh-{n}"), format!("fresh-{n}.txt"));
        seed.commit(REPO, &branch, &[(&file, Some("x\n"))], "Fresh");
    }
    (heads, issues)
}
