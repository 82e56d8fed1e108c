//! Compares the verdict of `pr context` with the result of a merge. The double enforces the rules
//! of a base branch as GitHub documents them.
//!
//! If a requirement of GitHub is unmet, GitHub refuses the merge. A requirement that only `forge`
//! checks does not prevent a merge.

use forge_github_double::{
    ALL_SCOPES, PullSeed, Seed,
    state::{Bypass, Enforcement, Permission, Protection, ReviewState, Rule, Ruleset},
};
use forge_testkit::Identity;
use serde_json::{Value, json};

use crate::hub::{Hub, REPO};

/// Result of a merge.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ends {
    Merged,
    /// The merge queue has the pull request.
    Queued,
    /// The forge refuses every merge, even with `--admin`, for which `forge` makes no check of its
    /// own.
    Refused,
    /// `forge` refuses before it sends the merge, because the pull request is a draft or closed.
    RefusedHere,
    /// `forge` refuses until the viewer asks to bypass the rules.
    Bypassed,
    /// Nothing changes, because the pull request is already merged.
    AlreadyMerged,
    /// Nothing changes, because the pull request is already in the merge queue.
    AlreadyQueued,
}
use Ends::{AlreadyMerged, AlreadyQueued, Bypassed, Merged, Queued, Refused, RefusedHere};

/// A situation of Grace's pull request, which Ada has approved and whose check `build` has passed.
struct Situation {
    name: &'static str,
    /// Changes the repository before Grace opens the pull request.
    before: fn(&mut Seed<'_>),
    arrange: fn(&mut Seed<'_>),
    viewer: &'static str,
    merge: &'static [&'static str],
    number: u64,
    /// Entries of the form `rule status source` that the verdict must list.
    listed: &'static [&'static str],
    ends: Ends,
}

const fn situation(
    name: &'static str,
    arrange: fn(&mut Seed<'_>),
    listed: &'static [&'static str],
    ends: Ends,
) -> Situation {
    Situation {
        name,
        before: |_| {},
        arrange,
        viewer: "linus",
        merge: &["--squash"],
        number: 1,
        listed,
        ends,
    }
}

impl Situation {
    const fn opened_onto(self, before: fn(&mut Seed<'_>)) -> Self {
        Self { before, ..self }
    }

    const fn seen_by(self, viewer: &'static str) -> Self {
        Self { viewer, ..self }
    }

    const fn merged_by(self, merge: &'static [&'static str]) -> Self {
        Self { merge, ..self }
    }

    const fn of_number(self, number: u64) -> Self {
        Self { number, ..self }
    }

    fn check(&self) {
        let hub = Hub::new();
        {
            let mut seed = hub.double.seed();
            seed.lag = 0;
            seed.collaborator(REPO, "linus", Permission::Write);
            for login in ["linus", "eve"] {
                seed.token(&token(login), login, ALL_SCOPES);
            }
            (self.before)(&mut seed);
        }
        hub.open_work();
        {
            let mut seed = hub.double.seed();
            seed.review(REPO, 1, "ada", ReviewState::Approved, "Good.");
            seed.check(REPO, 1, "CI", "build", "SUCCESS");
            (self.arrange)(&mut seed);
        }
        let number = self.number.to_string();
        let context = ["pr", "context", &number, "-R", REPO, "--json", "verdict"];
        let found = hub.run_as(self.viewer, &context).output().success().json();
        self.check_verdict(&found["verdict"]);
        self.check_merge(&hub, &number);
    }

    fn check_verdict(&self, verdict: &Value) {
        let name = self.name;
        let all: Vec<(&str, &str, &str)> = verdict["requirements"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| {
                let of = |key: &str| r[key].as_str().unwrap();
                (of("rule"), of("status"), of("source"))
            })
            .collect();
        for wanted in self.listed {
            let words: Vec<&str> = wanted.split(' ').collect();
            let wanted = (words[0], words[1], words[2]);
            assert!(
                all.contains(&wanted),
                "{name}: {wanted:?} is not in {all:#?}"
            );
        }
        let any = |status: &str| all.iter().any(|r| r.1 == status && r.2 != "own");
        let may_merge = matches!(self.ends, Merged | Queued);
        if any("unmet") {
            assert!(!may_merge, "{name} merges in spite of {all:#?}");
        } else if !any("unknown") {
            assert!(may_merge, "{name} is refused in spite of {all:#?}");
        }
        let ready = &verdict["readyToMerge"];
        assert!(may_merge || *ready != true, "{name} is said to be ready");
    }

    fn check_merge(&self, hub: &Hub, number: &str) {
        let name = self.name;
        let plain = [&["pr", "merge", number, "-R", REPO], self.merge].concat();
        let admin = [&plain[..], &["--admin"]].concat();
        let run = |args: &[&str]| hub.run_as(self.viewer, args).output();
        let is_merged = || hub.double.seed().pull_of(REPO, self.number).merge.is_some();
        match self.ends {
            Merged | Queued | AlreadyMerged | AlreadyQueued => {
                let out = run(&plain);
                assert_eq!(out.code, Some(0), "{name}: {out:?}");
                let is_queued = matches!(self.ends, Queued | AlreadyQueued);
                assert_eq!(is_merged(), !is_queued, "{name}");
                let queued = hub.double.seed().queue.len();
                assert_eq!(queued, usize::from(is_queued), "{name}");
            }
            Refused | RefusedHere => {
                hub.double.reset_record();
                let out = run(&admin);
                assert_eq!(out.code, Some(1), "{name}: {out:?}");
                let mutations = hub.double.counts().mutations;
                let asked = usize::from(self.ends == Refused);
                assert_eq!(mutations, asked, "{name}: {out:?}");
                assert_eq!(run(&plain).code, Some(1), "{name}");
                assert!(!is_merged(), "{name}");
            }
            Bypassed => {
                assert_eq!(run(&plain).code, Some(1), "{name}");
                assert!(!is_merged(), "{name}");
                let out = run(&admin);
                assert_eq!(out.code, Some(0), "{name}: {out:?}");
                assert!(is_merged(), "{name}");
            }
        }
    }
}

impl Hub {
    /// Returns `forge` with an account's token.
    fn run_as(&self, login: &str, args: &[&str]) -> forge_testkit::Run {
        let token = match login {
            "ada" => crate::hub::TOKEN.to_owned(),
            _ => token(login),
        };
        let run = self.scratch.forge(&self.scratch.path(""), &Identity::ADA);
        let env = self.double.env(&token).into_iter();
        env.fold(run, |run, (key, value)| run.env(key, value))
            .args(args)
    }
}

fn token(login: &str) -> String {
    format!("gho_canary0canary0canary0canary0{login}")
}

/// Adds a ruleset to the repository for its default branch.
fn rules(seed: &mut Seed<'_>, rules: Value) {
    seed.ruleset(REPO, ruleset(rules));
}

fn ruleset(rules: Value) -> Ruleset {
    let rules = rules.as_array().unwrap().iter().map(|rule| Rule {
        kind: rule["type"].as_str().unwrap().to_owned(),
        parameters: rule["parameters"].clone(),
    });
    Ruleset {
        name: "main rules".to_owned(),
        include: vec!["~DEFAULT_BRANCH".to_owned()],
        rules: rules.collect(),
        ..Ruleset::default()
    }
}

/// Returns a rule of type `pull_request`. GitHub always returns all its parameters, so this one has
/// all of them.
fn reviewed(parameters: Value) -> Value {
    let mut all = json!({
        "required_approving_review_count": 0,
        "require_code_owner_review": false,
        "dismiss_stale_reviews_on_push": false,
        "require_last_push_approval": false,
        "required_review_thread_resolution": false,
        "allowed_merge_methods": ["merge", "squash", "rebase"],
    });
    for (key, value) in parameters.as_object().unwrap() {
        all[key] = value.clone();
    }
    json!([{ "type": "pull_request", "parameters": all }])
}

fn approvals(count: u32) -> Value {
    reviewed(json!({ "required_approving_review_count": count }))
}

fn checked(checks: Value, strict: bool) -> Value {
    let parameters = json!({
        "required_status_checks": checks,
        "strict_required_status_checks_policy": strict,
    });
    json!([{ "type": "required_status_checks", "parameters": parameters }])
}

fn rule_without_parameters(kind: &str) -> Value {
    json!([{ "type": kind }])
}

fn protect(seed: &mut Seed<'_>, change: fn(&mut Protection)) {
    let mut wanted = Protection::default();
    change(&mut wanted);
    seed.protect(REPO, "main", wanted);
}

fn set_code_owners(seed: &mut Seed<'_>, text: &str) {
    let files = [(".github/CODEOWNERS", Some(text))];
    seed.commit(REPO, "main", &files, "Name owners");
}

fn require_code_owners(seed: &mut Seed<'_>) {
    rules(seed, reviewed(json!({ "require_code_owner_review": true })));
}

fn pushed(seed: &mut Seed<'_>, login: &str) {
    seed.commit(REPO, "work", &[("more.txt", Some("x\n"))], "More");
    seed.check(REPO, 1, "CI", "build", "SUCCESS");
    let pusher = seed.find_account(login);
    let id = seed.find_pull(REPO, 1);
    seed.pulls.get_mut(&id).unwrap().pusher = pusher;
}

fn base_moved(seed: &mut Seed<'_>) {
    seed.commit(REPO, "main", &[("new.txt", Some("x\n"))], "New");
}

fn requests_changes(seed: &mut Seed<'_>, login: &str) {
    seed.review(REPO, 1, login, ReviewState::ChangesRequested, "No.");
}

fn resolve(seed: &mut Seed<'_>, thread: u64) {
    let ada = seed.find_account("ada");
    seed.threads.get_mut(&thread).unwrap().resolved_by = Some(ada);
}

const REVIEWS: &[Situation] = &[
    situation(
        "no rules",
        |_| {},
        &["not_blocked met forge", "push_allowed met forge"],
        Merged,
    ),
    situation(
        "one approval wanted",
        |s| rules(s, approvals(1)),
        &["approved met ruleset"],
        Merged,
    ),
    situation(
        "two approvals wanted",
        |s| rules(s, approvals(2)),
        &["approved unmet ruleset"],
        Refused,
    ),
    situation(
        "a pull request alone wanted",
        |s| rules(s, approvals(0)),
        &["method_allowed met ruleset"],
        Merged,
    ),
    situation(
        "two approvals wanted by the protection",
        |s| protect(s, |p| p.approvals = 2),
        &["approved unmet branch_protection"],
        Refused,
    ),
    situation(
        "changes requested where an approval is wanted",
        |s| {
            rules(s, approvals(1));
            requests_changes(s, "linus");
        },
        &["no_changes_requested unmet ruleset"],
        Refused,
    ),
    situation(
        "changes requested without a rule",
        |s| requests_changes(s, "linus"),
        &["no_changes_requested unmet own"],
        Merged,
    ),
    situation(
        "approved by somebody who cannot write alone",
        |s| {
            rules(s, approvals(2));
            s.review(REPO, 1, "eve", ReviewState::Approved, "Good.");
        },
        &["approved unmet ruleset"],
        Refused,
    ),
    situation(
        "approval taken back by a push",
        |s| {
            let wanted = json!({
                "required_approving_review_count": 1,
                "dismiss_stale_reviews_on_push": true,
            });
            rules(s, reviewed(wanted));
            pushed(s, "grace");
        },
        &["approved unmet ruleset"],
        Refused,
    ),
    situation(
        "approval before a push, which takes none back",
        |s| {
            rules(s, approvals(1));
            pushed(s, "grace");
        },
        &["approved met ruleset"],
        Merged,
    ),
    situation(
        "last push not approved",
        |s| {
            rules(s, reviewed(json!({ "require_last_push_approval": true })));
            pushed(s, "grace");
        },
        &["last_push_approved unmet ruleset"],
        Refused,
    ),
    situation(
        "last push approved by who pushed it alone",
        |s| {
            rules(s, reviewed(json!({ "require_last_push_approval": true })));
            pushed(s, "ada");
            s.review(REPO, 1, "ada", ReviewState::Approved, "Good.");
        },
        &["last_push_approved unknown ruleset"],
        Refused,
    ),
    situation(
        "last push approved by another",
        |s| {
            rules(s, reviewed(json!({ "require_last_push_approval": true })));
            pushed(s, "grace");
            s.review(REPO, 1, "ada", ReviewState::Approved, "Good.");
        },
        &["last_push_approved met ruleset"],
        Merged,
    ),
    situation(
        "open thread where resolution is wanted",
        |s| {
            rules(
                s,
                reviewed(json!({ "required_review_thread_resolution": true })),
            );
            s.thread(REPO, 1, "linus", "work.txt");
        },
        &["threads_resolved unmet ruleset"],
        Refused,
    ),
    situation(
        "open thread where the protection wants resolution",
        |s| {
            protect(s, |p| p.conversations = true);
            s.thread(REPO, 1, "linus", "work.txt");
        },
        &["threads_resolved unmet branch_protection"],
        Refused,
    ),
    situation(
        "resolved thread where resolution is wanted",
        |s| {
            rules(
                s,
                reviewed(json!({ "required_review_thread_resolution": true })),
            );
            let thread = s.thread(REPO, 1, "linus", "work.txt");
            resolve(s, thread);
        },
        &["threads_resolved met ruleset"],
        Merged,
    ),
    situation(
        "open thread without a rule",
        |s| {
            s.thread(REPO, 1, "linus", "work.txt");
        },
        &["threads_resolved unmet own"],
        Merged,
    ),
];

const OWNERS: &[Situation] = &[
    situation(
        "owner has approved",
        require_code_owners,
        &["code_owners_approved met code_owners"],
        Merged,
    )
    .opened_onto(|s| set_code_owners(s, "* @ada\n")),
    situation(
        "owner has not approved",
        require_code_owners,
        &["code_owners_approved unmet code_owners"],
        Refused,
    )
    .opened_onto(|s| set_code_owners(s, "*.txt @linus\n")),
    situation(
        "one owner of two has approved",
        require_code_owners,
        &["code_owners_approved met code_owners"],
        Merged,
    )
    .opened_onto(|s| set_code_owners(s, "* @linus @ada\n")),
    situation(
        "last line names no owner",
        require_code_owners,
        &["code_owners_approved met code_owners"],
        Merged,
    )
    .opened_onto(|s| set_code_owners(s, "* @linus\n/work.txt\n")),
    situation(
        "owner who cannot write owns nothing",
        require_code_owners,
        &["code_owners_approved met code_owners"],
        Merged,
    )
    .opened_onto(|s| set_code_owners(s, "* @eve\n")),
    situation(
        "team has not approved",
        require_code_owners,
        &["code_owners_approved unmet code_owners"],
        Refused,
    )
    .opened_onto(of_team),
    situation(
        "member of the team has approved",
        |s| {
            require_code_owners(s);
            s.review(REPO, 1, "linus", ReviewState::Approved, "Good.");
        },
        &["code_owners_approved met code_owners"],
        Merged,
    )
    .opened_onto(of_team),
    situation(
        "owner wanted by the protection",
        |s| protect(s, |p| (p.approvals, p.code_owners) = (1, true)),
        &[
            "code_owners_approved unmet code_owners",
            "approved met branch_protection",
        ],
        Refused,
    )
    .opened_onto(|s| {
        let files = [("docs/CODEOWNERS", Some("* @linus\n"))];
        s.commit(REPO, "main", &files, "Name owners");
    }),
    situation("owner not wanted by a rule", |_| {}, &[], Merged)
        .opened_onto(|s| set_code_owners(s, "* @linus\n")),
    situation(
        "owner named after it was opened is not asked",
        |s| {
            set_code_owners(s, "* @linus\n");
            require_code_owners(s);
        },
        &[
            "code_owners_approved unknown code_owners",
            "not_blocked unknown forge",
        ],
        Refused,
    ),
];

fn of_team(seed: &mut Seed<'_>) {
    seed.team("octo", "owners", &["linus"]);
    set_code_owners(seed, "* @octo/owners\n");
}

const CHECKS: &[Situation] = &[
    situation(
        "required check passed",
        |s| rules(s, checked(json!([{ "context": "build" }]), false)),
        &["checks_reported met own", "checks_passed met own"],
        Merged,
    ),
    situation(
        "required check never reported",
        |s| rules(s, checked(json!([{ "context": "deploy" }]), false)),
        &["checks_reported unmet ruleset"],
        Refused,
    ),
    situation(
        "check that the protection wants never reported",
        |s| protect(s, |p| p.checks = ["deploy".to_owned()].into()),
        &["checks_reported unmet branch_protection"],
        Refused,
    ),
    situation(
        "required check runs",
        |s| {
            rules(s, checked(json!([{ "context": "lint" }]), false));
            s.check(REPO, 1, "CI", "lint", "IN_PROGRESS");
        },
        &["checks_finished unmet ruleset"],
        Refused,
    ),
    situation(
        "required check failed",
        |s| {
            rules(s, checked(json!([{ "context": "lint" }]), false));
            s.check(REPO, 1, "CI", "lint", "FAILURE");
        },
        &["checks_passed unmet ruleset"],
        Refused,
    ),
    situation(
        "required status failed",
        |s| {
            rules(s, checked(json!([{ "context": "ci/lint" }]), false));
            s.status(REPO, 1, "ci/lint", "ERROR");
        },
        &["checks_passed unmet ruleset"],
        Refused,
    ),
    situation(
        "required check skipped",
        |s| {
            rules(s, checked(json!([{ "context": "lint" }]), false));
            s.check(REPO, 1, "CI", "lint", "SKIPPED");
        },
        &["checks_passed met own"],
        Merged,
    ),
    situation(
        "required check of the right app",
        |s| {
            let wanted = json!([{ "context": "build", "integration_id": 15_368 }]);
            rules(s, checked(wanted, false));
        },
        &["checks_reported met own"],
        Merged,
    ),
    situation(
        "required check of another app",
        |s| {
            let wanted = json!([{ "context": "lint", "integration_id": 15_368 }]);
            rules(s, checked(wanted, false));
            s.check_of(REPO, 1, ("other-ci", None), "lint", "SUCCESS");
        },
        &["checks_reported unmet ruleset"],
        Refused,
    ),
    situation(
        "required check of the right app, and a failed one of another",
        |s| {
            let wanted = json!([{ "context": "build", "integration_id": 15_368 }]);
            rules(s, checked(wanted, false));
            s.check_of(REPO, 1, ("other-ci", None), "build", "FAILURE");
        },
        &["checks_passed unmet own"],
        Merged,
    ),
    situation(
        "required check reported twice, once failed",
        |s| {
            rules(s, checked(json!([{ "context": "lint" }]), false));
            s.check(REPO, 1, "push", "lint", "SUCCESS");
            s.check(REPO, 1, "pull_request", "lint", "FAILURE");
        },
        &["checks_passed unmet ruleset"],
        Refused,
    ),
    situation(
        "check and status of the same required name, the status pending",
        |s| {
            rules(s, checked(json!([{ "context": "build" }]), false));
            s.status(REPO, 1, "build", "PENDING");
        },
        &["checks_finished unmet ruleset"],
        Refused,
    ),
    situation(
        "failed check that nothing requires",
        |s| {
            rules(s, checked(json!([{ "context": "build" }]), false));
            s.check(REPO, 1, "CI", "lint", "FAILURE");
        },
        &["checks_passed unmet own"],
        Merged,
    ),
    situation(
        "behind where the newest base is wanted",
        |s| {
            rules(s, checked(json!([{ "context": "build" }]), true));
            base_moved(s);
        },
        &["up_to_date unmet ruleset"],
        Refused,
    ),
    situation(
        "up to date where the newest base is wanted",
        |s| rules(s, checked(json!([{ "context": "build" }]), true)),
        &["up_to_date met ruleset"],
        Merged,
    ),
    situation(
        "behind where that is allowed",
        |s| {
            rules(s, checked(json!([{ "context": "build" }]), false));
            base_moved(s);
        },
        &["up_to_date met forge"],
        Merged,
    ),
];

/// Situations in which a ruleset does or does not apply to the base branch.
const REACH: &[Situation] = &[
    situation(
        "ruleset that only evaluates",
        |s| {
            let mut it = ruleset(approvals(5));
            it.enforcement = Enforcement::Evaluate;
            s.ruleset(REPO, it);
        },
        &["not_blocked met forge"],
        Merged,
    ),
    situation(
        "disabled ruleset",
        |s| {
            let mut it = ruleset(approvals(5));
            it.enforcement = Enforcement::Disabled;
            s.ruleset(REPO, it);
        },
        &["not_blocked met forge"],
        Merged,
    ),
    situation(
        "excluded branch",
        |s| {
            let mut it = ruleset(approvals(5));
            it.include = vec!["~ALL".to_owned()];
            it.exclude = vec!["refs/heads/ma*".to_owned()];
            s.ruleset(REPO, it);
        },
        &["not_blocked met forge"],
        Merged,
    ),
    situation(
        "ruleset of other branches",
        |s| {
            let mut it = ruleset(approvals(5));
            it.include = vec!["refs/heads/release/**/*".to_owned()];
            s.ruleset(REPO, it);
        },
        &["not_blocked met forge"],
        Merged,
    ),
    situation(
        "ruleset of all branches",
        |s| {
            let mut it = ruleset(approvals(5));
            it.include = vec!["refs/heads/**/*".to_owned()];
            s.ruleset(REPO, it);
        },
        &["approved unmet ruleset"],
        Refused,
    ),
    situation(
        "ruleset of the organization",
        |s| {
            let mut it = ruleset(checked(json!([{ "context": "audit" }]), false));
            it.of_org = true;
            s.ruleset(REPO, it);
        },
        &["checks_reported unmet ruleset"],
        Refused,
    ),
    situation(
        "several sources at once",
        |s| {
            protect(s, |p| (p.approvals, p.conversations) = (1, true));
            rules(s, approvals(2));
            let mut it = ruleset(checked(json!([{ "context": "audit" }]), false));
            it.of_org = true;
            s.ruleset(REPO, it);
            s.thread(REPO, 1, "linus", "work.txt");
        },
        &[
            "approved unmet ruleset",
            "threads_resolved unmet branch_protection",
            "checks_reported unmet ruleset",
        ],
        Refused,
    ),
    situation(
        "one source of several is not met",
        |s| {
            protect(s, |p| p.approvals = 1);
            rules(s, checked(json!([{ "context": "build" }]), false));
            rules(s, approvals(2));
        },
        &["approved unmet ruleset"],
        Refused,
    ),
    situation(
        "rules that no merge breaks",
        |s| {
            let all = ["deletion", "non_fast_forward", "creation"];
            rules(s, all.map(|kind| json!({ "type": kind })).as_slice().into());
        },
        &["not_blocked met forge"],
        Merged,
    ),
];

const HISTORY: &[Situation] = &[
    situation(
        "linear history, squashed",
        |s| rules(s, rule_without_parameters("required_linear_history")),
        &["method_allowed met ruleset"],
        Merged,
    ),
    situation(
        "linear history, and merge commits alone allowed",
        |s| {
            rules(s, rule_without_parameters("required_linear_history"));
            s.configure(REPO, |repo| {
                (repo.allow_squash, repo.allow_rebase) = (false, false)
            });
        },
        &["method_allowed unmet ruleset"],
        Refused,
    )
    .merged_by(&["--merge"]),
    situation(
        "methods that the repository has not",
        |s| {
            rules(s, reviewed(json!({ "allowed_merge_methods": ["rebase"] })));
            s.configure(REPO, |repo| repo.allow_rebase = false);
        },
        &["method_allowed unmet ruleset"],
        Refused,
    ),
    situation(
        "method that is allowed",
        |s| rules(s, reviewed(json!({ "allowed_merge_methods": ["squash"] }))),
        &["method_allowed met ruleset"],
        Merged,
    ),
    situation(
        "unsigned commits",
        |s| rules(s, rule_without_parameters("required_signatures")),
        &["commits_signed unknown ruleset"],
        Refused,
    ),
    situation(
        "signed commits",
        |s| {
            rules(s, rule_without_parameters("required_signatures"));
            s.sign(REPO, 1);
        },
        &["commits_signed met ruleset"],
        Merged,
    ),
    situation(
        "deployment missing",
        |s| {
            let parameters = json!({ "required_deployment_environments": ["staging"] });
            rules(
                s,
                json!([{ "type": "required_deployments", "parameters": parameters }]),
            );
        },
        &["deployed unknown ruleset"],
        Refused,
    ),
    situation(
        "deployed",
        |s| {
            let parameters = json!({ "required_deployment_environments": ["staging"] });
            rules(
                s,
                json!([{ "type": "required_deployments", "parameters": parameters }]),
            );
            s.deploy(REPO, 1, "staging");
        },
        &["deployed met ruleset"],
        Merged,
    ),
    situation(
        "commit message that a rule refuses",
        |s| {
            let parameters = json!({ "operator": "starts_with", "pattern": "JIRA-" });
            rules(
                s,
                json!([{ "type": "commit_message_pattern", "parameters": parameters }]),
            );
        },
        &["other_rules unknown ruleset"],
        Refused,
    ),
    situation(
        "commit message that a rule accepts",
        |s| {
            let parameters = json!({ "operator": "starts_with", "pattern": "Add" });
            rules(
                s,
                json!([{ "type": "commit_message_pattern", "parameters": parameters }]),
            );
        },
        &["other_rules met ruleset"],
        Merged,
    ),
];

const PEOPLE: &[Situation] = &[
    situation(
        "viewer who cannot write",
        |_| {},
        &["push_allowed unmet forge"],
        Refused,
    )
    .seen_by("eve"),
    situation(
        "locked branch, seen by an administrator whom that binds",
        |s| protect(s, |p| (p.locked, p.enforce_admins) = (true, true)),
        &["branch_unlocked unmet branch_protection"],
        Refused,
    )
    .seen_by("ada"),
    situation(
        "locked branch",
        |s| protect(s, |p| p.locked = true),
        &[
            "push_allowed unknown branch_protection",
            "not_blocked unknown forge",
        ],
        Refused,
    ),
    situation(
        "updates restricted",
        |s| rules(s, rule_without_parameters("update")),
        &["branch_unlocked unmet ruleset"],
        Refused,
    ),
    situation(
        "pushes restricted to others",
        |s| protect(s, |p| p.pushers = Some([0].into())),
        &["push_allowed unknown branch_protection"],
        Refused,
    ),
    situation(
        "pushes restricted to the viewer",
        |s| {
            let linus = s.find_account("linus");
            let pushers = Some([linus].into());
            let wanted = Protection {
                pushers,
                ..Protection::default()
            };
            s.protect(REPO, "main", wanted);
        },
        &["push_allowed met forge"],
        Merged,
    ),
    situation(
        "administrator past the protection",
        |s| protect(s, |p| p.approvals = 2),
        &["approved unmet branch_protection"],
        Bypassed,
    )
    .seen_by("ada"),
    situation(
        "administrator whom the protection binds",
        |s| protect(s, |p| (p.approvals, p.enforce_admins) = (2, true)),
        &["approved unmet branch_protection"],
        Refused,
    )
    .seen_by("ada"),
    situation(
        "administrator who may not bypass the ruleset",
        |s| rules(s, approvals(2)),
        &["approved unmet ruleset"],
        Refused,
    )
    .seen_by("ada"),
    situation(
        "viewer who may bypass the ruleset",
        |s| {
            let mut it = ruleset(approvals(2));
            it.bypass = vec![Bypass::User(s.find_account("linus"))];
            s.ruleset(REPO, it);
        },
        &["approved unmet ruleset"],
        Bypassed,
    ),
    situation(
        "administrators may bypass the ruleset",
        |s| {
            let mut it = ruleset(approvals(2));
            it.bypass = vec![Bypass::Role(Permission::Admin)];
            s.ruleset(REPO, it);
        },
        &["approved unmet ruleset"],
        Bypassed,
    )
    .seen_by("ada"),
    situation(
        "viewer who may bypass one ruleset of two",
        |s| {
            let mut it = ruleset(approvals(2));
            it.bypass = vec![Bypass::User(s.find_account("linus"))];
            s.ruleset(REPO, it);
            rules(s, checked(json!([{ "context": "audit" }]), false));
        },
        &["approved unmet ruleset", "checks_reported unmet ruleset"],
        Refused,
    ),
];

const STATES: &[Situation] = &[
    situation(
        "queue that takes it",
        |s| rules(s, rule_without_parameters("merge_queue")),
        &["out_of_queue met merge_queue"],
        Queued,
    ),
    situation(
        "queue of the protection",
        |s| protect(s, |p| p.merge_queue = true),
        &["out_of_queue met merge_queue"],
        Queued,
    ),
    situation(
        "queue, and a required check that never reported",
        |s| {
            rules(s, rule_without_parameters("merge_queue"));
            rules(s, checked(json!([{ "context": "audit" }]), false));
        },
        &["checks_reported unmet ruleset"],
        Refused,
    ),
    situation(
        "in the queue already",
        |s| {
            rules(s, rule_without_parameters("merge_queue"));
            let id = s.find_pull(REPO, 1);
            s.queue.push(id);
        },
        &["out_of_queue unmet merge_queue"],
        AlreadyQueued,
    ),
    situation("fork", from_fork, &["not_blocked met forge"], Merged).of_number(2),
    situation(
        "fork, and an approval wanted",
        |s| {
            from_fork(s);
            rules(s, approvals(2));
        },
        &["approved unmet ruleset"],
        Refused,
    )
    .of_number(2),
    situation(
        "draft",
        |s| {
            let id = s.find_pull(REPO, 1);
            s.pulls.get_mut(&id).unwrap().draft = true;
        },
        &["not_draft unmet forge"],
        RefusedHere,
    ),
    situation(
        "conflicts",
        |s| {
            s.commit(REPO, "main", &[("work.txt", Some("other\n"))], "Other");
        },
        &["no_conflicts unmet forge"],
        RefusedHere,
    ),
    situation(
        "closed",
        |s| ended(s, forge_github_double::state::PullState::Closed),
        &["open unmet forge"],
        RefusedHere,
    ),
    situation(
        "merged",
        |s| {
            let id = s.find_pull(REPO, 1);
            let pull = s.pulls.get_mut(&id).unwrap();
            pull.merge = Some(forge_github_double::state::MergeInfo {
                commit: pull.head_oid.clone(),
                by: pull.author,
                at: pull.updated_at.clone(),
            });
            ended(s, forge_github_double::state::PullState::Merged);
        },
        &["open unmet forge"],
        AlreadyMerged,
    ),
    situation(
        "builds on another",
        |s| {
            s.open_pull(
                REPO,
                &PullSeed {
                    author: "grace",
                    title: "More work",
                    head: "more",
                    base: "work",
                    ..PullSeed::default()
                },
            );
            s.review(REPO, 2, "ada", ReviewState::Approved, "Good.");
            s.check(REPO, 2, "CI", "build", "SUCCESS");
        },
        &["dependency_merged unmet own"],
        Merged,
    )
    .of_number(2),
];

fn from_fork(seed: &mut Seed<'_>) {
    seed.fork(REPO, "eve");
    seed.open_pull(
        REPO,
        &PullSeed {
            author: "eve",
            title: "From outside",
            head: "eve:outside",
            ..PullSeed::default()
        },
    );
    seed.review(REPO, 2, "ada", ReviewState::Approved, "Good.");
    seed.check(REPO, 2, "CI", "build", "SUCCESS");
}

fn ended(seed: &mut Seed<'_>, state: forge_github_double::state::PullState) {
    let id = seed.find_pull(REPO, 1);
    seed.pulls.get_mut(&id).unwrap().state = state;
}

fn check_all(situations: &[Situation]) {
    for situation in situations {
        situation.check();
    }
}

#[test]
fn verdict_on_reviews_agrees_with_merge() {
    check_all(REVIEWS);
}

#[test]
fn verdict_on_code_owners_agrees_with_merge() {
    check_all(OWNERS);
}

#[test]
fn verdict_on_checks_agrees_with_merge() {
    check_all(CHECKS);
}

#[test]
fn verdict_on_ruleset_targets_agrees_with_merge() {
    check_all(REACH);
}

#[test]
fn verdict_on_history_agrees_with_merge() {
    check_all(HISTORY);
}

#[test]
fn verdict_on_permission_agrees_with_merge() {
    check_all(PEOPLE);
}

#[test]
fn verdict_on_states_agrees_with_merge() {
    check_all(STATES);
}
