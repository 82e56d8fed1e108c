//! Situations in which a command or a tool fails with a hint. The tests follow the hint and check
//! its effect.

use std::panic::{AssertUnwindSafe, catch_unwind};

use forge_github_double::{PullSeed, state::Protection};
use forge_tangled_world::Fault;
use forge_testkit::Run;

use super::tangled_world::{PULL, Tangled, WIDGET};
use crate::{
    hub::{Hub, REPO},
    world::World,
};

/// A repository, and a person who works in the repository.
pub trait Stage {
    /// Name of the repository in commands and tool calls. `None` if the person works inside the
    /// repository.
    const REPO: Option<&'static str>;
    fn build() -> Self;
    /// Runs `forge` as the person of the stage.
    fn run(&self) -> Run;
}

impl Stage for World {
    const REPO: Option<&'static str> = None;
    fn build() -> Self {
        Self::new()
    }
    fn run(&self) -> Run {
        self.grace(&[])
    }
}

impl Stage for Hub {
    const REPO: Option<&'static str> = Some(REPO);
    fn build() -> Self {
        Self::new()
    }
    fn run(&self) -> Run {
        self.forge(&[])
    }
}

impl Stage for Tangled {
    const REPO: Option<&'static str> = Some(WIDGET);
    fn build() -> Self {
        Self::new()
    }
    fn run(&self) -> Run {
        self.forge(&self.alice, &[])
    }
}

/// Effect that following the hint must have.
pub enum Effect {
    /// The result contains this text.
    Says(&'static str),
    /// The pull request with this number has a field with this name, and the field contains this
    /// text.
    Shows(&'static str, &'static str, &'static str),
    /// The command prints the text.
    Prints(&'static str, &'static str),
}

use Effect::{Prints, Says, Shows};

/// A failure with a hint. In the texts, `{}` is replaced by the result of `enter`.
pub struct Situation<S> {
    pub name: &'static str,
    pub enter: fn(&S) -> String,
    /// The failing command without `forge`; empty if no command can fail in this way.
    pub command: &'static str,
    /// The failing tool and its arguments; empty if no tool can fail in this way.
    pub call: (&'static str, &'static str),
    /// Pairs of a name and its value. A name is a placeholder of the hint's command (`BRANCH`), `+`
    /// for text to append to the command, or an argument of the tool (`head`).
    pub choices: &'static [(&'static str, &'static str)],
    pub effect: Effect,
}

impl<S: Stage> Situation<S> {
    /// Returns the value that the situation chooses for a placeholder or an argument.
    pub fn choice(&self, name: &str) -> Option<&'static str> {
        let found = self.choices.iter().find(|(of, _)| *of == name);
        found.map(|(_, value)| *value)
    }

    pub fn check(&self, stage: &S, entered: &str, said: &str) {
        let printed = |command: &str| shell(stage, &line::<S>(command, entered)).text();
        let (said, part) = match &self.effect {
            Says(part) => (said.to_owned(), part),
            Shows(pull, field, part) => (printed(&format!("pr view {pull} --json {field}")), part),
            Prints(command, part) => (printed(command), part),
        };
        let part = part.replace("{}", entered);
        assert!(said.contains(&part), "{part:?} is not in:\n{said}");
    }
}

/// Returns a command as a user types it, with the stage's repository.
pub fn line<S: Stage>(command: &str, entered: &str) -> String {
    let line = format!("forge {}", command.replace("{}", entered));
    match S::REPO {
        Some(repo) if !line.contains(" -R ") && !line.contains(" config ") => {
            format!("{line} -R {repo}")
        }
        _ => line,
    }
}

/// Returns a shell that runs a line with `forge`, as if a user had pasted the line.
pub fn shell<S: Stage>(stage: &S, line: &str) -> Run {
    let forge = forge_testkit::forge_binary();
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", forge.parent().unwrap().display());
    let run = stage.run().program("sh").args(["-c", line]);
    run.env("PATH", path)
}

/// Runs each situation on a new stage. Fails with the names of the situations whose hint has no
/// effect.
pub fn play<S: Stage>(situations: Vec<Situation<S>>, face: fn(&Situation<S>, &S)) {
    let fails = |situation: &Situation<S>| {
        eprintln!("situation {}", situation.name);
        let (command, (tool, _)) = (situation.command, situation.call);
        assert!(
            !command.is_empty() || !tool.is_empty(),
            "no face gets there"
        );
        let stage = S::build();
        catch_unwind(AssertUnwindSafe(|| face(situation, &stage))).is_err()
    };
    let failed: Vec<_> = situations.iter().filter(|s| fails(s)).collect();
    let failed: Vec<_> = failed.iter().map(|s| s.name).collect();
    assert!(failed.is_empty(), "hints that do not work: {failed:?}");
}

fn situation<S>(
    name: &'static str,
    enter: fn(&S) -> String,
    command: &'static str,
    call: (&'static str, &'static str),
    choices: &'static [(&'static str, &'static str)],
    effect: Effect,
) -> Situation<S> {
    Situation {
        name,
        enter,
        command,
        call,
        choices,
        effect,
    }
}

/// Value of `Situation::call` for a failure that no tool can have.
const NO_CALL: (&str, &str) = ("", "");

fn opened(world: &World) -> String {
    world.open("feature");
    String::new()
}

/// Creates pull request 2 on top of pull request 1.
fn stacked(world: &World) -> String {
    let tip = world.feature("feature");
    let create = ["pr", "create", "-t", "T", "-b", "B", "-H"];
    world.forge(&create).arg("feature").ok();
    world.git.set_branch("upper", &tip);
    world.feature("upper");
    let upper = world.forge(&create).args(["upper", "--depends-on", "1"]);
    upper.ok();
    String::new()
}

fn changed(world: &World, args: &[&str]) -> String {
    opened(world);
    world.forge(args).ok();
    String::new()
}

/// Returns situations in a plain repository. Ada has opened the pull requests, and Grace works.
pub fn in_a_repository() -> Vec<Situation<World>> {
    vec![
        situation(
            "mistyped_head",
            |w| {
                let file = [("feature.txt", Some("one\n"))];
                w.git.commit("feature", "Add", &file)
            },
            "pr create --head featur --title T --body B",
            ("pr_create", r#"{"head":"featur","title":"T","body":"B"}"#),
            &[],
            Shows("1", "headRefName", "feature"),
        ),
        situation(
            "mistyped_label_of_two",
            |w| changed(w, &["pr", "ready", "1"]),
            "pr edit 1 --add-label question,bgu",
            ("pr_edit", r#"{"number":1,"add_labels":["question","bgu"]}"#),
            &[],
            Prints("pr view 1 --json labels -q .labels[].name", "bug\nquestion"),
        ),
        situation(
            "merge_of_draft",
            |w| changed(w, &["pr", "ready", "1", "--undo"]),
            "pr merge 1 --squash",
            ("pr_merge", r#"{"number":1}"#),
            &[],
            Shows("1", "isDraft", "false"),
        ),
        situation(
            "merge_of_closed",
            |w| changed(w, &["pr", "close", "1"]),
            "pr merge 1 --squash",
            ("pr_merge", r#"{"number":1}"#),
            &[],
            Shows("1", "state", "OPEN"),
        ),
        situation(
            "merge_on_top_of_open",
            stacked,
            "pr merge 2 --rebase",
            ("pr_merge", r#"{"number":2}"#),
            &[],
            Shows("1", "state", "MERGED"),
        ),
        situation(
            "merge_of_nothing",
            |w| {
                opened(w);
                w.git.set_branch("main", "feature");
                w.git.commit("main", "More", &[("more.txt", Some("x\n"))]);
                String::new()
            },
            "pr merge 1 --merge",
            ("pr_merge", r#"{"number":1}"#),
            &[],
            Shows("1", "state", "CLOSED"),
        ),
        situation(
            "merge_of_symbolic_base",
            |w| {
                let args = ["symbolic-ref", "refs/heads/alias", "refs/heads/main"];
                w.git.run(args).ok();
                w.feature("feature");
                let args = ["pr", "create", "-H", "feature", "-B", "alias", "-t", "T"];
                w.forge(&args).args(["-b", "B"]).ok();
                String::new()
            },
            "pr merge 1 --squash",
            ("pr_merge", r#"{"number":1}"#),
            &[("BRANCH", "main"), ("base", "main")],
            Shows("1", "baseRefName", "main"),
        ),
        situation(
            "merge_over_untracked_file",
            |w| {
                opened(w);
                w.switch("main");
                w.scratch.write("repo/feature.txt", "mine\n");
                String::new()
            },
            "pr merge 1 --squash",
            NO_CALL,
            &[],
            Shows("1", "state", "MERGED"),
        ),
        situation(
            "merge_automatically",
            opened,
            "pr merge 1 --squash --auto",
            ("pr_merge", r#"{"number":1,"auto":true}"#),
            &[],
            Shows("1", "state", "MERGED"),
        ),
        situation(
            "merge_as_admin",
            opened,
            "pr merge 1 --squash --admin",
            NO_CALL,
            &[],
            Shows("1", "state", "MERGED"),
        ),
        situation(
            "view_of_unknown_number",
            opened,
            "pr view 99",
            ("pr_view", r#"{"number":99}"#),
            &[],
            Says("Title of feature"),
        ),
        situation(
            "view_of_unknown_branch",
            opened,
            "pr view nowhere",
            ("pr_view", r#"{"number":"nowhere"}"#),
            &[],
            Says("Title of feature"),
        ),
        situation(
            "resolve_of_unknown_thread",
            |w| {
                let line = "feature.txt:1=What?";
                changed(w, &["pr", "review", "1", "-c", "-b", "x", "--line", line])
            },
            "pr thread resolve 1 nope",
            ("pr_thread_resolve", r#"{"number":1,"thread":"nope"}"#),
            &[],
            Says("What?"),
        ),
        situation(
            "reply_to_unknown_thread",
            |w| {
                let line = "feature.txt:1=What?";
                changed(w, &["pr", "review", "1", "-c", "-b", "x", "--line", line])
            },
            "pr thread reply 1 nope --body x",
            NO_CALL,
            &[],
            Says("What?"),
        ),
        situation(
            "reply_to_unknown_comment",
            |w| changed(w, &["pr", "comment", "1", "-b", "Known."]),
            "",
            ("pr_comment", r#"{"number":1,"body":"x","reply_to":"nope"}"#),
            &[],
            Says("Known."),
        ),
        situation(
            "edit_of_missing_comment",
            |w| changed(w, &["pr", "comment", "1", "-b", "Known."]),
            "pr comment 1 --edit-last --body x",
            NO_CALL,
            &[],
            Says("Known."),
        ),
        situation(
            "head_is_base",
            |w| {
                w.git.set_branch("old", "main");
                w.git.commit("main", "More", &[("more.txt", Some("x\n"))]);
                String::new()
            },
            "pr create --head main --title T --body B --base main",
            ("pr_create", r#"{"head":"main","base":"main","title":"T"}"#),
            &[("BRANCH", "old"), ("base", "old")],
            Shows("1", "baseRefName", "old"),
        ),
        situation(
            "head_without_common_history",
            |w| {
                let tree = w.git.oid("main^{tree}").unwrap();
                let root = w.git.run(["commit-tree", &tree, "-m", "Root"]).text();
                w.git.set_branch("island", root.trim());
                w.git.set_branch("work", root.trim());
                w.git.commit("work", "Work", &[("work.txt", Some("x\n"))]);
                String::new()
            },
            "pr create --head work --title T --body B",
            ("pr_create", r#"{"head":"work","title":"T"}"#),
            &[("BRANCH", "island"), ("base", "island")],
            Shows("1", "baseRefName", "island"),
        ),
        situation(
            "head_that_is_open",
            opened,
            "pr create --head feature --title T --body B",
            ("pr_create", r#"{"head":"feature","title":"T"}"#),
            &[],
            Says("Title of feature"),
        ),
        situation(
            "head_of_another_repository",
            |w| w.feature("feature"),
            "pr create --head grace:feature --title T --body B",
            ("pr_create", r#"{"head":"grace:feature","title":"T"}"#),
            &[("BRANCH", "feature"), ("head", "feature")],
            Shows("1", "headRefName", "feature"),
        ),
        situation(
            "another_base_on_top",
            |w| {
                opened(w);
                w.git.set_branch("upper", "feature");
                w.feature("upper")
            },
            "pr create --head upper --title T --body B --depends-on 1 --base main",
            (
                "pr_create",
                r#"{"head":"upper","title":"T","depends_on":"1","base":"main"}"#,
            ),
            &[],
            Shows("2", "baseRefName", "feature"),
        ),
        situation(
            "request_without_text",
            opened,
            "",
            ("pr_review", r#"{"number":1,"verdict":"request_changes"}"#),
            &[("body", "No.")],
            Shows("1", "reviewDecision", "CHANGES_REQUESTED"),
        ),
        situation(
            "review_without_text",
            opened,
            "",
            ("pr_review", r#"{"number":1,"verdict":"comment"}"#),
            &[("body", "Seen.")],
            Shows("1", "reviews", "Seen."),
        ),
        situation(
            "approval_of_own",
            |w| {
                w.feature("own");
                let args = ["pr", "create", "-H", "own", "-t", "T", "-b", "B"];
                w.grace(&args).ok();
                String::new()
            },
            "pr review 1 --approve --body Fine.",
            (
                "pr_review",
                r#"{"number":1,"verdict":"approve","body":"Fine."}"#,
            ),
            &[],
            Shows("1", "reviews", "COMMENTED"),
        ),
        situation(
            "reopening_of_merged",
            |w| {
                changed(w, &["pr", "merge", "1", "--merge"]);
                w.feature("next")
            },
            "pr reopen 1",
            ("pr_set_state", r#"{"number":1,"state":"open"}"#),
            &[
                ("+", "--head next --title Next --body B"),
                ("head", "next"),
                ("title", "Next"),
            ],
            Shows("2", "title", "Next"),
        ),
        situation(
            "checks",
            opened,
            "pr checks 1",
            ("pr_checks", r#"{"number":1}"#),
            &[("TEXT", "Green."), ("body", "Green.")],
            Shows("1", "reviews", "Green."),
        ),
        situation(
            "list_of_app",
            opened,
            "pr list --app robot",
            NO_CALL,
            &[("LOGIN", "ada")],
            Says("Title of feature"),
        ),
        situation(
            "stale_cursor",
            |w| {
                opened(w);
                w.open("other");
                String::new()
            },
            "",
            ("pr_list", r#"{"limit":1,"cursor":"nope"}"#),
            &[],
            Says("Title of other"),
        ),
        situation(
            "diff_of_unknown_path",
            opened,
            "",
            ("pr_diff", r#"{"number":1,"paths":["nope"]}"#),
            &[],
            Says("feature.txt"),
        ),
        situation(
            "merge_with_conflicts",
            |w| {
                w.git.set_branch("feature", "main");
                for branch in ["feature", "main"] {
                    let text = Some(branch);
                    w.git.commit(branch, "Change", &[("README.md", text)]);
                }
                let args = ["pr", "create", "-H", "feature", "-t", "T", "-b", "B"];
                w.forge(&args).ok();
                String::new()
            },
            "",
            ("pr_merge", r#"{"number":1}"#),
            &[],
            Says("README.md"),
        ),
        situation(
            "merge_of_unexpected_head",
            |w| {
                opened(w);
                w.git.oid("feature").unwrap()
            },
            "",
            (
                "pr_merge",
                r#"{"number":1,"expected_head":"0123456789012345678901234567890123456789"}"#,
            ),
            &[],
            Says("{}"),
        ),
        situation(
            "close_with_branch_of_another",
            |w| {
                opened(w);
                let args = ["pr", "create", "-H", "feature", "-B", "old", "-t", "T"];
                w.git.set_branch("old", "main");
                w.forge(&args).args(["-b", "B"]).ok();
                String::new()
            },
            "pr close 1 --delete-branch",
            (
                "pr_set_state",
                r#"{"number":1,"state":"closed","delete_branch":true}"#,
            ),
            &[],
            Shows("2", "state", "CLOSED"),
        ),
        situation(
            "close_with_base_of_another",
            |w| {
                stacked(w);
                String::new()
            },
            "pr close 1 --delete-branch",
            (
                "pr_set_state",
                r#"{"number":1,"state":"closed","delete_branch":true}"#,
            ),
            &[],
            Shows("2", "baseRefName", "main"),
        ),
        situation(
            "label_twice",
            |_| String::new(),
            "label create bug --color ff0000",
            NO_CALL,
            &[],
            Prints("label list --json color", "ff0000"),
        ),
        situation(
            "view_of_unknown_issue",
            |w| {
                let args = ["issue", "create", "-t", "Broken", "-b", "B"];
                w.forge(&args).ok();
                String::new()
            },
            "issue view 99",
            NO_CALL,
            &[],
            Says("Broken"),
        ),
    ]
}

/// Opens Grace's pull request 1.
fn seeded(hub: &Hub, seed: &PullSeed<'_>) -> String {
    let seed = PullSeed {
        author: "grace",
        title: "Work",
        head: "work",
        ..seed.clone()
    };
    hub.double.seed().open_pull(REPO, &seed);
    // The first read makes GitHub compute mergeability.
    let look = ["pr", "view", "1", "--json", "mergeable", "-R", REPO];
    hub.forge(&look).ok();
    String::new()
}

fn work(hub: &Hub) -> String {
    seeded(hub, &PullSeed::default())
}

fn worked(hub: &Hub, args: &[&str]) -> String {
    work(hub);
    hub.forge(args).args(["-R", REPO]).ok();
    String::new()
}

fn protected(hub: &Hub, rules: Protection) {
    hub.double.seed().protect(REPO, "main", rules);
}

/// Returns situations on the GitHub double. Grace has opened a pull request, and Ada works.
pub fn on_github() -> Vec<Situation<Hub>> {
    vec![
        situation(
            "merge_of_draft",
            |h| {
                let draft = true;
                seeded(
                    h,
                    &PullSeed {
                        draft,
                        ..PullSeed::default()
                    },
                )
            },
            "pr merge 1 --squash",
            ("pr_merge", r#"{"number":1}"#),
            &[],
            Shows("1", "isDraft", "false"),
        ),
        situation(
            "merge_of_closed",
            |h| worked(h, &["pr", "close", "1"]),
            "pr merge 1 --squash",
            ("pr_merge", r#"{"number":1}"#),
            &[],
            Shows("1", "state", "OPEN"),
        ),
        situation(
            "merge_of_outdated_head",
            |h| {
                let strict = true;
                let checks = ["build".to_owned()].into();
                protected(
                    h,
                    Protection {
                        strict,
                        checks,
                        ..Protection::default()
                    },
                );
                work(h);
                let mut seed = h.double.seed();
                seed.check(REPO, 1, "CI", "build", "SUCCESS");
                seed.commit(REPO, "main", &[("more.txt", Some("x\n"))], "More");
                String::new()
            },
            "pr merge 1 --squash",
            ("pr_merge", r#"{"number":1}"#),
            &[],
            Shows("1", "commits", "Merge"),
        ),
        situation(
            "merge_without_approval",
            |h| {
                let approvals = 1;
                protected(
                    h,
                    Protection {
                        approvals,
                        ..Protection::default()
                    },
                );
                work(h);
                h.double.seed().check(REPO, 1, "CI", "build", "SUCCESS");
                String::new()
            },
            "pr merge 1 --squash",
            ("pr_merge", r#"{"number":1}"#),
            &[],
            Says("build"),
        ),
        situation(
            "merge_by_refused_method",
            |h| {
                h.double
                    .seed()
                    .configure(REPO, |repo| repo.allow_merge = false);
                work(h)
            },
            "pr merge 1 --merge",
            ("pr_merge", r#"{"number":1,"method":"merge"}"#),
            &[],
            Shows("1", "state", "MERGED"),
        ),
        situation(
            "merge_of_unexpected_head",
            |h| {
                work(h);
                h.double.seed().pull_of(REPO, 1).head_oid.clone()
            },
            "",
            (
                "pr_merge",
                r#"{"number":1,"expected_head":"0123456789012345678901234567890123456789"}"#,
            ),
            &[],
            Says("{}"),
        ),
        situation(
            "merge_requiring_checks",
            |h| {
                work(h);
                h.double.seed().check(REPO, 1, "CI", "build", "FAILURE");
                String::new()
            },
            "",
            ("pr_merge", r#"{"number":1,"require_checks":true}"#),
            &[],
            Says("build"),
        ),
        situation(
            "merge_requiring_approval",
            |h| worked(h, &["pr", "review", "1", "--comment", "--body", "Seen."]),
            "",
            ("pr_merge", r#"{"number":1,"require_approval":true}"#),
            &[],
            Says("Seen."),
        ),
        situation(
            "comment_on_unknown_number",
            work,
            "pr comment 99 --body x",
            ("pr_comment", r#"{"number":99,"body":"x"}"#),
            &[],
            Says("Work"),
        ),
        situation(
            "resolve_of_unknown_thread",
            |h| {
                let line = "work.txt:1=What?";
                worked(h, &["pr", "review", "1", "-c", "-b", "x", "--line", line])
            },
            "pr thread resolve 1 PRRT_nope",
            ("pr_thread_resolve", r#"{"number":1,"thread":"PRRT_nope"}"#),
            &[],
            Says("What?"),
        ),
        situation(
            "reply_to_unknown_comment",
            |h| worked(h, &["pr", "comment", "1", "-b", "Known."]),
            "",
            (
                "pr_comment",
                r#"{"number":1,"body":"x","reply_to":"IC_nope"}"#,
            ),
            &[],
            Says("Known."),
        ),
        situation(
            "comment_on_unknown_path",
            work,
            "pr review 1 --comment --body x --line nope.txt:1=What?",
            (
                "pr_review",
                r#"{"number":1,"verdict":"comment","comments":[{"path":"nope.txt","line":1,"body":"x"}]}"#,
            ),
            &[],
            Says("work.txt"),
        ),
        situation(
            "edit_to_unknown_base",
            |h| {
                h.double
                    .seed()
                    .commit(REPO, "stable", &[("s", Some("x\n"))], "S");
                work(h)
            },
            "pr edit 1 --base nowhere",
            ("pr_edit", r#"{"number":1,"base":"nowhere"}"#),
            &[("BRANCH", "stable"), ("base", "stable")],
            Shows("1", "baseRefName", "stable"),
        ),
        situation(
            "edit_to_own_head",
            |h| {
                h.double
                    .seed()
                    .commit(REPO, "stable", &[("s", Some("x\n"))], "S");
                work(h)
            },
            "pr edit 1 --base work",
            ("pr_edit", r#"{"number":1,"base":"work"}"#),
            &[("BRANCH", "stable"), ("base", "stable")],
            Shows("1", "baseRefName", "stable"),
        ),
        situation(
            "unknown_base",
            |_| String::new(),
            "pr create --head feature --title T --body B --base mian",
            (
                "pr_create",
                r#"{"head":"feature","title":"T","base":"mian"}"#,
            ),
            &[],
            Shows("1", "baseRefName", "main"),
        ),
        situation(
            "head_is_base",
            |_| String::new(),
            "pr create --head main --title T --body B --base main",
            ("pr_create", r#"{"head":"main","title":"T","base":"main"}"#),
            &[("BRANCH", "feature"), ("head", "feature")],
            Shows("1", "headRefName", "feature"),
        ),
        situation(
            "head_that_is_open",
            work,
            "pr create --head work --title T --body B",
            ("pr_create", r#"{"head":"work","title":"T"}"#),
            &[("+", "--title New"), ("title", "New")],
            Shows("1", "title", "New"),
        ),
        situation(
            "another_base_on_top",
            work,
            "pr create --head feature --title T --body B --depends-on 1 --base main",
            (
                "pr_create",
                r#"{"head":"feature","title":"T","depends_on":"1","base":"main"}"#,
            ),
            &[],
            Shows("2", "baseRefName", "work"),
        ),
        situation(
            "on_top_of_closed",
            |h| worked(h, &["pr", "close", "1"]),
            "pr create --head feature --title T --body B --depends-on 1",
            (
                "pr_create",
                r#"{"head":"feature","title":"T","depends_on":"1"}"#,
            ),
            &[],
            Shows("2", "baseRefName", "main"),
        ),
        situation(
            "second_on_top",
            |h| {
                h.double
                    .seed()
                    .commit(REPO, "more", &[("m", Some("x\n"))], "M");
                let create = ["pr", "create", "-H", "feature", "-t", "T", "-b", "B"];
                worked(h, &[&create[..], &["--depends-on", "1"]].concat())
            },
            "pr create --head more --title T --body B --depends-on 1",
            (
                "pr_create",
                r#"{"head":"more","title":"T","depends_on":"1"}"#,
            ),
            &[],
            Shows("3", "baseRefName", "feature"),
        ),
        situation(
            "patch",
            |h| {
                let diff = "--- a/README.md\n+++ b/README.md\n";
                let path = h.scratch.write("a.patch", diff);
                path.display().to_string()
            },
            "pr create --title T --body B --patch {}",
            ("pr_create", r#"{"title":"T","patch":"diff"}"#),
            &[("BRANCH", "feature"), ("head", "feature")],
            Shows("1", "headRefName", "feature"),
        ),
        situation(
            "half_done_creation",
            |h| {
                let fault = forge_github_double::Fault::new(forge_github_double::Action::Reset)
                    .on_mutations();
                h.double.fault(fault.skip(1));
                String::new()
            },
            "pr create --head feature --title T --body B --label bug",
            (
                "pr_create",
                r#"{"head":"feature","title":"T","labels":["bug"]}"#,
            ),
            &[],
            Shows("1", "labels", "bug"),
        ),
        situation(
            "approval_of_own",
            |h| {
                let own = ["pr", "create", "-H", "feature", "-t", "T", "-b", "B"];
                h.forge(&own).args(["-R", REPO]).ok();
                String::new()
            },
            "pr review 1 --approve --body Fine.",
            (
                "pr_review",
                r#"{"number":1,"verdict":"approve","body":"Fine."}"#,
            ),
            &[],
            Shows("1", "reviews", "COMMENTED"),
        ),
        situation(
            "request_without_text",
            work,
            "",
            ("pr_review", r#"{"number":1,"verdict":"request_changes"}"#),
            &[("body", "No.")],
            Shows("1", "reviews", "CHANGES_REQUESTED"),
        ),
        situation(
            "reopening_of_merged",
            |h| worked(h, &["pr", "merge", "1", "--merge"]),
            "pr reopen 1",
            ("pr_set_state", r#"{"number":1,"state":"open"}"#),
            &[
                ("+", "--head feature --title Next --body B"),
                ("head", "feature"),
                ("title", "Next"),
            ],
            Shows("2", "title", "Next"),
        ),
        situation(
            "label_twice",
            |_| String::new(),
            "label create bug --color ff0000",
            NO_CALL,
            &[],
            Prints("label list --json color", "ff0000"),
        ),
        situation(
            "unknown_label",
            |_| String::new(),
            "label delete nope --yes",
            NO_CALL,
            &[],
            Says("bug"),
        ),
        situation(
            "view_of_unknown_issue",
            |h| {
                h.double.seed().open_issue(REPO, "grace", "Broken", "B");
                String::new()
            },
            "issue view 99",
            NO_CALL,
            &[],
            Says("Broken"),
        ),
    ]
}

fn topic(t: &Tangled) -> String {
    t.open("topic")
}

/// Returns situations on tangled. Alice has opened a pull request.
pub fn on_tangled() -> Vec<Situation<Tangled>> {
    vec![
        situation(
            "approval",
            topic,
            "pr review {} --approve --body Fine.",
            (
                "pr_review",
                r#"{"number":"{}","verdict":"approve","body":"Fine."}"#,
            ),
            &[],
            Shows("{}", "comments", "Fine."),
        ),
        situation(
            "merge_commit",
            topic,
            "pr merge {} --merge",
            ("pr_merge", r#"{"number":"{}","method":"merge"}"#),
            &[],
            Shows("{}", "state", "MERGED"),
        ),
        situation(
            "squash",
            |t| {
                let uri = topic(t);
                t.repo.git.commit("topic", "More", &[("more", Some("x\n"))]);
                uri
            },
            "pr merge {} --squash",
            ("pr_merge", r#"{"number":"{}","method":"squash"}"#),
            &[],
            Shows("{}", "files", "more"),
        ),
        situation(
            "update_of_branch",
            |t| {
                let uri = topic(t);
                t.repo.git.commit("topic", "More", &[("more", Some("x\n"))]);
                uri
            },
            "pr update-branch {}",
            ("pr_update_branch", r#"{"number":"{}"}"#),
            &[],
            Shows("{}", "files", "more"),
        ),
        situation(
            "merge_automatically",
            topic,
            "pr merge {} --rebase --auto",
            (
                "pr_merge",
                r#"{"number":"{}","method":"rebase","auto":true}"#,
            ),
            &[],
            Shows("{}", "state", "MERGED"),
        ),
        situation(
            "merge_as_admin",
            topic,
            "pr merge {} --rebase --admin",
            NO_CALL,
            &[],
            Shows("{}", "state", "MERGED"),
        ),
        situation(
            "merge_without_record",
            |t| {
                let fault = Fault::error(400, "InvalidRequest", "no");
                let uri = topic(t);
                let pds = t.world.pds().host();
                pds.fault(fault.on("com.atproto.repo.applyWrites"));
                uri
            },
            "pr merge {} --rebase",
            ("pr_merge", r#"{"number":"{}"}"#),
            &[],
            Shows("{}", "state", "MERGED"),
        ),
        situation(
            "merge_of_closed",
            |t| {
                let uri = topic(t);
                t.forge(&t.alice, &["pr", "close", &uri]).ok();
                uri
            },
            "pr merge {} --rebase",
            ("pr_merge", r#"{"number":"{}"}"#),
            &[],
            Shows("{}", "state", "OPEN"),
        ),
        situation(
            "merge_of_draft",
            |t| {
                t.scratch.write(
                    "home/.config/forge/config.toml",
                    "[hosts.\"tangled.org\"]\ndraft_marker = \"[draft]\"\n",
                );
                t.create("topic", &["--draft"]).ok();
                t.world.pds().records(&t.alice.did, PULL).remove(0).0
            },
            "pr merge {} --rebase",
            ("pr_merge", r#"{"number":"{}"}"#),
            &[],
            Shows("{}", "isDraft", "false"),
        ),
        situation(
            "merge_on_top_of_open",
            |t| {
                let lower = t.open("lower");
                t.repo.git.set_branch("upper", "lower");
                let upper = t.create("upper", &["--depends-on", &lower]);
                upper.text().trim().to_owned()
            },
            "pr merge {} --rebase",
            ("pr_merge", r#"{"number":"{}"}"#),
            &[],
            // The lower pull request is merged, so the upper one can be merged.
            Shows("{}", "mergeStateStatus", "CLEAN"),
        ),
        situation(
            "view_of_unknown_record",
            |t| {
                let uri = topic(t);
                let (front, _) = uri.rsplit_once('/').unwrap();
                format!("{front}/3aaaaaaaaaaaa")
            },
            "pr view {}",
            ("pr_view", r#"{"number":"{}"}"#),
            &[],
            Says("topic"),
        ),
        situation(
            "edit_of_base",
            |t| {
                let uri = topic(t);
                t.repo.git.set_branch("stable", "main");
                t.branch("next");
                uri
            },
            "pr edit {} --base stable",
            ("pr_edit", r#"{"number":"{}","base":"stable"}"#),
            &[
                ("BRANCH", "stable"),
                ("+", "--head next --title Next --body B"),
                ("base", "stable"),
                ("head", "next"),
                ("title", "Next"),
            ],
            Prints("pr list --base stable", "Next"),
        ),
        situation(
            "unknown_round",
            topic,
            "pr diff {} --round 7",
            NO_CALL,
            &[("NUMBER", "0")],
            Says("topic.txt"),
        ),
        situation(
            "draft",
            |t| {
                t.branch("topic");
                String::new()
            },
            "pr create --head topic --title T --body B --draft",
            ("pr_create", r#"{"head":"topic","title":"T","draft":true}"#),
            &[("VALUE", "[draft]")],
            Prints("config get hosts.tangled.org.draft_marker", "[draft]"),
        ),
        situation(
            "reply_to_unknown_comment",
            |t| {
                let uri = topic(t);
                t.forge(&t.alice, &["pr", "comment", &uri, "-b", "Known."])
                    .ok();
                uri
            },
            "",
            (
                "pr_comment",
                r#"{"number":"{}","body":"x","reply_to":"{}"}"#,
            ),
            &[],
            Says("Known."),
        ),
        situation(
            "head_is_base",
            |t| {
                t.branch("topic");
                String::new()
            },
            "pr create --head main --title T --body B --base main",
            ("pr_create", r#"{"head":"main","title":"T","base":"main"}"#),
            &[("BRANCH", "topic"), ("head", "topic")],
            Prints("pr list --head topic", "topic"),
        ),
        situation(
            "head_that_is_open",
            |t| {
                let uri = topic(t);
                t.repo.git.commit("topic", "More", &[("more", Some("x\n"))]);
                uri
            },
            "pr create --head topic --title T --body B",
            ("pr_create", r#"{"head":"topic","title":"T"}"#),
            &[],
            Shows("{}", "files", "more"),
        ),
        situation(
            "search_for_reviews",
            topic,
            "pr list --search review:approved",
            ("pr_list", r#"{"search":"review:approved"}"#),
            &[("QUERY", "is:open"), ("search", "is:open")],
            Says("topic"),
        ),
        situation(
            "close_by_stranger",
            |t| {
                let other = t.world.repository(&t.bob, "other");
                other.git.commit("topic", "Add", &[("a", Some("1\n"))]);
                let args = ["pr", "create", "-H", "topic", "-t", "T", "-b", "B"];
                let create = t
                    .forge(&t.bob, &args)
                    .args(["-R", "tangled:bob.test/other"]);
                create.text().trim().to_owned()
            },
            "pr close {} -R tangled:bob.test/other",
            (
                "pr_set_state",
                r#"{"repo":"tangled:bob.test/other","number":"{}","state":"closed"}"#,
            ),
            &[("TEXT", "Please."), ("body", "Please.")],
            Prints(
                "pr view {} -R tangled:bob.test/other --json comments",
                "Please.",
            ),
        ),
        situation(
            "comment_on_line",
            topic,
            "pr review {} --comment --body x --line topic.txt:1=What?",
            (
                "pr_review",
                r#"{"number":"{}","verdict":"comment","comments":[{"path":"topic.txt","line":1,"body":"x"}]}"#,
            ),
            &[("TEXT", "What?"), ("body", "What?")],
            Shows("{}", "comments", "What?"),
        ),
        situation(
            "list_of_app",
            topic,
            "pr list --app robot",
            NO_CALL,
            &[("LOGIN", "alice.test")],
            Says("topic"),
        ),
        situation(
            "label_twice",
            |t| {
                let args = ["label", "create", "bug", "-R", WIDGET];
                t.forge(&t.alice, &args).ok();
                String::new()
            },
            "label create bug --color ff0000",
            NO_CALL,
            &[],
            Prints("label list --json color", "ff0000"),
        ),
        situation(
            "unknown_issue",
            |t| {
                let args = ["issue", "create", "-t", "Broken", "-b", "B", "-R", WIDGET];
                t.forge(&t.alice, &args).ok();
                t.alice.did.clone()
            },
            "issue view at://{}/sh.tangled.repo.issue/3aaaaaaaaaaaa",
            NO_CALL,
            &[],
            Says("Broken"),
        ),
        situation(
            "merge_of_unexpected_head",
            topic,
            "",
            (
                "pr_merge",
                r#"{"number":"{}","expected_head":"0123456789012345678901234567890123456789"}"#,
            ),
            &[],
            Says("topic"),
        ),
    ]
}
