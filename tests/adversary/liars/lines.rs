//! Generates random command lines and tool calls.

use forge_testkit::Random;
use serde_json::{Value, json};

/// The objects that exist, for commands to name.
#[derive(Clone, Debug)]
pub struct Subjects {
    /// The repository's name, as `-R` takes it.
    pub repo: String,
    /// Pull requests, as numbers or URIs.
    pub pulls: Vec<String>,
    pub issues: Vec<String>,
    /// Branches that have no pull request.
    pub branches: Vec<String>,
}

/// Commands that only read. `P` is replaced by a pull request, `I` by an issue, and `F` by field
/// names.
const READS: &[&str] = &[
    "pr list",
    "pr list --state all --limit 50",
    "pr list --json number,title,author,headRefName,labels,statusCheckRollup,reviews,mergeable,files",
    "pr list --search work",
    "pr status",
    "pr view P",
    "pr view P",
    "pr view P --comments",
    "pr view P --history",
    "pr view P --json number,title,body,commits,files,reviews,comments,labels,mergeStateStatus,headRefOid,closingIssuesReferences",
    "pr diff P",
    "pr diff P --name-only",
    "pr diff P --patch",
    "pr checks P",
    "pr thread list P",
    "pr context P",
    "pr context P --include comments,reviews,ci,ci_logs,linked_issues,related_prs,diff,files,history",
    "pr context P --json summary,linkedIssues,partial,errors,relatedPrs",
    "pr context P --html -",
    "issue list",
    "issue list --json number,title,labels,assignees,state",
    "issue view I",
    "issue view I --comments",
    "issue history I",
    "label list",
    "capabilities",
    "auth status",
    "doctor --live",
    "workflow show",
    "workflow group I",
    "workflow position I",
    "workflow convergence I",
    "workflow pick -c research",
    "workflow reconcile P --dry-run",
];

const WRITES: &[&str] = &[
    "pr create -H B -t T -b Text.",
    "pr create -H B -t T -b Text. --label bug --closes 1",
    "pr edit P -t Other",
    "pr edit P -b Other --add-label bug",
    "pr comment P -b Text.",
    "pr comment P -b Text.",
    "pr review P -a",
    "pr review P -c -b Text.",
    "pr review P -r -b Text.",
    "pr close P",
    "pr close P -c Why.",
    "pr reopen P",
    "pr ready P",
    "pr ready P --undo",
    "pr update-branch P",
    "pr resubmit P",
    "pr merge P --merge",
    "pr merge P --squash -d",
    "pr merge P --rebase",
    "pr merge P --squash --admin",
    "pr merge P --squash --auto",
    "pr merge P",
    "issue create -t Another -b Text.",
    "issue create -t Another -b Text. -l bug",
    "issue edit I -t Other",
    "issue edit I --add-label bug",
    "issue comment I -b Text.",
    "issue close I",
    "issue reopen I",
    "issue delete I --yes",
    "label create other",
    "label delete other --yes",
    "workflow claim I -c research",
    "workflow pick -c research --claim",
    "workflow set-state I Backlog -c triage --force --reason test",
    "workflow reconcile P",
];

/// Sections of `pr_view`.
pub const SECTIONS: [&str; 7] = [
    "checks", "threads", "comments", "reviews", "files", "commits", "history",
];

/// A random command line of `forge`.
#[derive(Clone, Debug)]
pub struct Line {
    pub args: Vec<String>,
    pub writes: bool,
    /// The pull request or issue that the command line names.
    pub subject: String,
}

impl Line {
    /// Returns the command line with the same effect as a tool call.
    pub fn of_call(name: &str, arguments: &Value, writes: bool) -> Self {
        let command = name.replace("set_state", "close");
        let number = &arguments["number"];
        Self {
            args: command.split('_').map(str::to_owned).collect(),
            writes,
            subject: number
                .as_str()
                .map_or_else(|| number.to_string(), str::to_owned),
        }
    }

    pub fn is(&self, group: &str, command: &str) -> bool {
        self.args[0] == group && self.args.get(1).is_some_and(|it| it == command)
    }
}

impl Subjects {
    pub fn line(&self, random: &mut Random) -> Line {
        let writes = random.below(5) < 2;
        let text = *random.pick(if writes { WRITES } else { READS });
        self.fill(random, text, writes)
    }

    pub fn fill(&self, random: &mut Random, text: &str, writes: bool) -> Line {
        let mut subject = String::new();
        let pull = random.pick(&self.pulls).clone();
        let issue = random.pick(&self.issues).clone();
        let branch = random.pick(&self.branches).clone();
        let mut args: Vec<String> = Vec::new();
        for word in text.split(' ') {
            args.push(match word {
                "P" => {
                    subject.clone_from(&pull);
                    pull.clone()
                }
                "I" => {
                    subject.clone_from(&issue);
                    issue.clone()
                }
                "B" => branch.clone(),
                word => word.to_owned(),
            });
        }
        let alone = ["auth", "config"].contains(&args[0].as_str());
        if !alone {
            args.extend(["-R".to_owned(), self.repo.clone()]);
        }
        let has_wait = writes && args[0] != "label" && !args.iter().any(|it| it == "reconcile");
        if has_wait && random.below(4) == 0 {
            args.push("--no-wait".to_owned());
        }
        Line {
            args,
            writes,
            subject,
        }
    }

    /// Returns a random tool call: the tool and its arguments.
    pub fn call(&self, random: &mut Random) -> (&'static str, Value) {
        let number = |text: &str| {
            text.parse::<u64>()
                .map_or_else(|_| json!(text), |n| json!(n))
        };
        let (pull, issue): (&String, &String) =
            (random.pick(&self.pulls), random.pick(&self.issues));
        let (pull, issue) = (number(pull), number(issue));
        let (name, mut args) = match random.below(16) {
            0 => ("pr_list", json!({ "state": "all", "format": "detailed" })),
            1 => ("pr_view", json!({ "number": pull })),
            2 | 3 => (
                "pr_view",
                json!({ "number": pull, "include": SECTIONS, "format": "detailed" }),
            ),
            4 => ("pr_diff", json!({ "number": pull })),
            5 => ("pr_checks", json!({ "number": pull, "logs": true })),
            6 | 7 => ("pr_context", json!({ "number": pull })),
            8 => ("forge_status", json!({})),
            9 => ("pr_comment", json!({ "number": pull, "body": "Text." })),
            10 => (
                "pr_review",
                json!({ "number": pull, "verdict": "comment", "body": "Text." }),
            ),
            11 => ("pr_edit", json!({ "number": pull, "title": "Other" })),
            // A merge commit names the head that it merged.
            12 if self.repo.starts_with('/') => {
                ("pr_merge", json!({ "number": pull, "method": "merge" }))
            }
            12 => ("pr_merge", json!({ "number": pull })),
            13 => ("pr_set_state", json!({ "number": pull, "state": "closed" })),
            14 => ("issue_view", json!({ "number": issue })),
            _ => ("issue_list", json!({})),
        };
        if name != "forge_status" {
            args["repo"] = json!(self.repo);
        }
        (name, args)
    }
}
