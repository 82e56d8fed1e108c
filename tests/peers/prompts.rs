//! Tests the questions of both programs on a terminal: their order and their effect.

use forge_github_double::Seed;
use forge_testkit::{Terminal, TtyOutput};

use crate::{
    differences::listed,
    twins::Twins,
    world::{MONA, REPO, REVIEWER, Tool, World},
};

/// The key that moves the selection down by one item.
const DOWN: &str = "\u{1b}[B";

/// Questions of gh, up to the point where the text of `forge` differs.
const QUESTIONS: [&str; 9] = [
    "Merging pull request octocat/tools#",
    "What merge method would you like to use?",
    "Delete the branch",
    "What's next?",
    "What kind of review do you want to give?",
    "Review body",
    "Press Enter",
    "What would you like to edit?",
    "Submit?",
];

/// Creates pull requests 1 to 6 from branches `bulk-1` to `bulk-6`.
fn six_pulls() -> Twins {
    Twins::with(|seed: &mut Seed<'_>| {
        seed.many_pulls(REPO, 6);
    })
}

fn answer(
    world: &World,
    tool: Tool,
    token: &str,
    line: &str,
    answers: &[(&str, &str)],
) -> TtyOutput {
    let run = world
        .command_as(tool, token, line)
        .env("GH_EDITOR", world.editor("From the editor."))
        .env("GH_SPINNER_DISABLED", "1");
    Terminal::start(&run, 120, 40).answer(answers)
}

/// Returns the questions in a transcript, in the order in which they first appeared.
fn questions(out: &TtyOutput) -> Vec<&'static str> {
    let text = out.plain();
    let mut asked: Vec<(usize, &str)> = QUESTIONS
        .into_iter()
        .filter_map(|question| Some((text.find(question)?, question)))
        .collect();
    asked.sort();
    asked.into_iter().map(|(_, question)| question).collect()
}

/// Asserts that both programs ask the same questions in the same order, and end with these exit
/// codes.
#[track_caller]
fn same_questions(
    twins: &Twins,
    token: &str,
    line: &str,
    ours: &[(&str, &str)],
    theirs: &[(&str, &str)],
) -> (Option<i32>, Option<i32>) {
    let ours = answer(&twins.forge, Tool::Forge, token, line, ours);
    let theirs = answer(&twins.gh, Tool::Gh, token, line, theirs);
    let (first, second) = (questions(&ours), questions(&theirs));
    assert_eq!(first, second, "{}\n{}", ours.plain(), theirs.plain());
    (ours.code, theirs.code)
}

#[test]
fn merge_asks_for_method_deletion_and_next_step() {
    let twins = six_pulls();
    let merge = |line: &str, method: &str, deletion: &str, next: &str| {
        let answers = [
            ("What merge method", method),
            ("Delete the branch", deletion),
            ("What's next?", next),
        ];
        same_questions(&twins, MONA, line, &answers, &answers)
    };
    let down = |times: usize| DOWN.repeat(times) + "\r";
    assert_eq!(merge("pr merge 1", "\r", "\r", "\r"), (Some(0), Some(0)));
    let squash = merge("pr merge 2", &down(2), "y\r", "\r");
    assert_eq!(squash, (Some(0), Some(0)));
    let rebase = merge("pr merge 3", &down(1), "n\r", "\r");
    assert_eq!(rebase, (Some(0), Some(0)));
    let cancelled = merge("pr merge 4", "\r", "y\r", &down(3));
    assert_eq!(cancelled, (Some(2), Some(2)));
    twins.same_state();
    twins.same_branches();
}

#[test]
fn review_asks_for_verdict_body_and_consent() {
    let twins = six_pulls();
    let kind = "What kind of review";
    let approve = DOWN.to_owned() + "\r";
    let approval = [
        (kind, approve.as_str()),
        ("Review body", "\r"),
        ("Submit?", "\r"),
    ];
    let codes = same_questions(&twins, REVIEWER, "pr review 1", &approval, &approval);
    assert_eq!(codes, (Some(0), Some(0)));
    let comment = |open| [(kind, "\r"), ("Review body", open), ("Submit?", "\r")];
    let line = "pr review 2";
    let codes = same_questions(&twins, REVIEWER, line, &comment("\r"), &comment("e"));
    assert_eq!(codes, (Some(0), Some(0)));
    twins.same_state();
    let declined = [
        (kind, approve.as_str()),
        ("Review body", "\r"),
        ("Submit?", "n\r"),
    ];
    let codes = same_questions(&twins, REVIEWER, "pr review 3", &declined, &declined);
    assert_eq!(codes, (Some(2), Some(0)));
    twins.same_state();
    listed("*No* at \"Submit?\" is exit code 2");
}

#[test]
fn comment_asks_for_text_and_consent() {
    let twins = six_pulls();
    let answers = |submit| [("Press Enter", "\r"), ("Submit?", submit)];
    for (submit, wanted) in [("\r", (Some(0), Some(0))), ("n\r", (Some(2), Some(1)))] {
        let answers = answers(submit);
        let codes = same_questions(&twins, MONA, "pr comment 1", &answers, &answers);
        assert_eq!(codes, wanted, "{submit:?}");
        twins.same_state();
    }
}

#[test]
fn issue_create_and_comment_ask_before_publishing() {
    let twins = Twins::new();
    let create = |body, next| [("Title", "T\r"), ("Body", body), ("What's next?", next)];
    for (next, wanted) in [
        ("\r", (Some(0), Some(0))),
        ("\u{1b}[A\r", (Some(2), Some(2))),
    ] {
        // gh opens its editor on a key press, and `forge` on the first of two answers.
        let (ours, theirs) = (create("\r", next), create("e", next));
        let codes = same_questions(&twins, MONA, "issue create", &ours, &theirs);
        assert_eq!(codes, wanted, "{next:?}");
        twins.same("issue list -s all --json number,title,body");
    }
    for (submit, wanted) in [("\r", (Some(0), Some(0))), ("n\r", (Some(2), Some(1)))] {
        let answers = [("Press Enter", "\r"), ("Submit?", submit)];
        let codes = same_questions(&twins, MONA, "issue comment 1", &answers, &answers);
        assert_eq!(codes, wanted, "{submit:?}");
        twins.same("issue view 1 --json comments --jq '.comments[].body'");
    }
    listed("`issue create` asks for title, body and the next step");
}

#[test]
fn edit_asks_for_fields_values_and_consent() {
    let twins = six_pulls();
    let answers = |submit| {
        [
            ("What would you like to edit?", " \r"),
            ("(Change 1)", "Typed\r"),
            ("Submit?", submit),
        ]
    };
    for (submit, wanted) in [("n\r", (Some(2), Some(1))), ("\r", (Some(0), Some(0)))] {
        let answers = answers(submit);
        let codes = same_questions(&twins, MONA, "pr edit 1", &answers, &answers);
        assert_eq!(codes, wanted, "{submit:?}");
        twins.same_state();
    }
    let title = twins.forge.fields(Tool::Gh, "1", "title");
    assert_eq!(title["title"], "Typed");
}

#[test]
fn merge_known_to_fail_asks_nothing() {
    let draft = |tool: Tool, answers: &[(&str, &str)]| {
        let world = World::new();
        crate::list::seed_four_pulls(&mut world.double.seed());
        answer(&world, tool, MONA, "pr merge 2", answers)
    };
    let ours = draft(Tool::Forge, &[]);
    assert_eq!(ours.code, Some(1), "{}", ours.plain());
    assert!(ours.plain().contains("is a draft"), "{}", ours.plain());
    assert!(!ours.plain().contains("What merge method"));
    let answers = [
        ("What merge method", "\r"),
        ("Delete the branch", "\r"),
        ("What's next?", "\r"),
    ];
    let theirs = draft(Tool::Gh, &answers);
    assert_eq!(theirs.code, Some(1), "{}", theirs.plain());
    listed("refuses before its questions");
}
