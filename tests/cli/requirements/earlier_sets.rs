//! The requirements and corrections of sets 000, 001 and 003. A row without a test has a note on what
//! replaced it. The file also tests requirements that no other file tests.

use forge_core::{
    locator::Hosts,
    mentions::{MentionTarget, mentions},
    model::{
        Check, CheckCounts, CheckRollup, CheckStatus, ChecksReport, ReviewCounts, ReviewDecision,
        ReviewState, ReviewState::*, fold_review,
    },
};
use serde_json::json;

use crate::world::World;

/// Number of the requirement, its text in our own words, and the replacement of all or part of it.
pub type Row = (&'static str, &'static str, Option<&'static str>);

pub const PULL_REQUESTS: &[Row] = &[
    (
        "R-000-1",
        "tools to read, list and change pull requests",
        Some(
            "The names are those of this server: `pr_view`, `pr_list`, and for the changes \
             `pr_edit`, `pr_set_state`, `pr_merge`, each with its own arguments and annotations.",
        ),
    ),
    (
        "R-000-2",
        "a created pull request closes the issues that are named",
        None,
    ),
    (
        "R-000-3",
        "the repository is optional, and one resolver finds it",
        None,
    ),
    ("R-000-4", "the issues that a text closes", None),
    (
        "R-000-5",
        "reviews are counted by the last word of each reviewer",
        None,
    ),
    ("R-000-6", "checks are counted by how they ended", None),
    (
        "R-000-7",
        "helpers are pure and tested without doubles",
        Some("They are functions of `forge-core`; the tests of R-000-4, 5 and 6 call them alone."),
    ),
    ("R-000-8", "a pull request by number", None),
    ("R-000-9", "the fields of a pull request", None),
    (
        "R-000-10",
        "a merge state that is unknown is to be asked for again",
        Some(
            "The description of `pr_view` says so, and `pr_merge` asks again itself (C-000-12). A \
             snapshot holds the descriptions: `tests/mcp/surface`.",
        ),
    ),
    ("R-000-11", "one query for one pull request", None),
    (
        "R-000-12",
        "views are cached for a minute",
        Some(
            "Views are read anew: a cached one would repeat an unknown merge state (C-000-17). The \
             data that `forge mcp` keeps is listed in `docs/reference/mcp.md`, Over HTTP.",
        ),
    ),
    (
        "R-000-13",
        "a pull request that is not there is named",
        None,
    ),
    ("R-000-14", "a list by state, author and base", None),
    (
        "R-000-15",
        "a list is one request a page, newest first",
        None,
    ),
    ("R-000-16", "rows of a list, and how many there are", None),
    (
        "R-000-17",
        "the list points to the view",
        Some("The description of `pr_list` names `pr_view`; `tests/mcp/surface` holds it."),
    ),
    (
        "R-000-18",
        "the merge method: named, configured, or the repository's own",
        None,
    ),
    ("R-000-19", "ready for review, and back to a draft", None),
    (
        "R-000-20",
        "reviewers are requested, and those who could not be are named",
        None,
    ),
    ("R-000-21", "a merge moves the linked issues", None),
    ("R-000-22", "an issue that cannot move fails no merge", None),
    (
        "R-000-23",
        "refusals of the forge pass through",
        Some(
            "A refusal keeps the forge's own sentence, and gets a kind and a recovery: \
             `docs/explanation/architecture.md`, How a failure looks. `tests/cli/faults` holds the texts.",
        ),
    ),
    (
        "R-000-24",
        "a merge moves issues by the internal path",
        Some(
            "There is one engine for every face: `MergeEffects` of `forge-workflow`, which the tests \
             of R-000-21 and R-000-22 drive.",
        ),
    ),
    (
        "R-000-25",
        "caches of node ids",
        Some(
            "A node id comes with the answer that needs it, or with the write, so there is nothing to \
             keep; ids of boards and fields are kept for the process and looked up again when GitHub \
             does not know them.",
        ),
    ),
    (
        "R-000-26",
        "descriptions say how to recover",
        Some(
            "A failure that has a recovery ends in `Recovery:` and the call that does it; \
             `tests/mcp/hints` and `tests/cli/hint_situations` hold them, and `tests/mcp/surface` \
             the descriptions.",
        ),
    ),
    (
        "R-000-27",
        "the command `pr`: its states, and no lock",
        None,
    ),
    ("R-000-28", "what each intent means for `pr`", None),
    (
        "R-000-29",
        "`pr` is known to the server alone",
        Some("`pr` is a command of the one definition, like all others (C-001-21)."),
    ),
    ("R-000-30", "vectors: the issues that a text closes", None),
    ("R-000-31", "vectors: counts of reviews", None),
    ("R-000-32", "vectors: counts of checks", None),
    (
        "R-000-33",
        "what the set leaves out",
        Some(
            "Handoff, lists that are read to their end and searches by author are built by now; \
             webhooks and a move of issues when a pull request is opened are not.",
        ),
    ),
];

pub const WORKFLOW: &[Row] = &[
    (
        "R-001-1",
        "the phase of a group, its members and what blocks it",
        None,
    ),
    ("R-001-2", "the rules of the phases, in their order", None),
    ("R-001-3", "reasons have counts", None),
    (
        "R-001-4",
        "an issue without a state is to be triaged",
        Some("Its state is null instead of `unknown`, which can be the name of a state."),
    ),
    (
        "R-001-5",
        "convergence names each blocker and its distance",
        None,
    ),
    (
        "R-001-6",
        "a target that is no state lists the states",
        None,
    ),
    (
        "R-001-7",
        "children that are behind advance, others say why not",
        None,
    ),
    ("R-001-8", "the order of the states", None),
    (
        "R-001-9",
        "the issue to work on next",
        Some(
            "The result has no `description`: a body is long text of strangers, and `issue_view` reads \
             it.",
        ),
    ),
    (
        "R-001-10",
        "refusals of a pick list what can be picked",
        None,
    ),
    ("R-001-11", "a move tells both states and the intent", None),
    (
        "R-001-12",
        "every command, intent and state against a table",
        None,
    ),
    ("R-001-13", "a command with or without its prefix", None),
    (
        "R-001-14",
        "a refusal is what, why and the exact retry",
        None,
    ),
    ("R-001-15", "ten refusals", None),
    (
        "R-001-16",
        "a test against drift between the server and a JSON file",
        Some(
            "There is one source, the definition (`crates/forge-workflow/presets/`); the graph, the \
             lists in errors and the table of tests come from it.",
        ),
    ),
    (
        "R-001-17",
        "a group that is behind is warned of before it is planned",
        None,
    ),
    (
        "R-001-18",
        "which skill sends which intent",
        Some(
            "Skills are not part of this product; the commands of the definition say which intents \
             they take, and R-001-12 holds the whole table.",
        ),
    ),
    (
        "R-001-19",
        "a hook cannot change the input of a tool",
        Some("Intents are resolved in the engine, behind every face: R-001-11 and R-001-13."),
    ),
    (
        "R-001-20",
        "the server and its callers are published together",
        Some("The binary is the server and the command line at once, so they cannot differ."),
    ),
    ("R-001-21", "one or two requests for a decision", None),
    (
        "R-001-22",
        "a group converges when all of it is ready",
        None,
    ),
    (
        "R-001-23",
        "unit tests of phases, convergence, order and picks",
        Some("They are the tests of R-001-2, R-001-5, R-001-7 and R-001-9."),
    ),
    (
        "R-001-24",
        "older names of the phases",
        Some(
            "Names of phases are data of the definition (`phase`); the presets have one name for each \
             (C-001-3).",
        ),
    ),
];

pub const TANGLED: &[Row] = &[
    (
        "R-003-1",
        "the commands and parameters of `gh pr`, and no others for the same thing",
        Some(
            "The commands are those of every forge. `tests/peers` compares their flags and output \
             with the real gh; what a forge lacks is a capability in \
             `docs/reference/capabilities.md`.",
        ),
    ),
    (
        "R-003-2",
        "a pull request is created as a record, with its labels",
        None,
    ),
    ("R-003-3", "title, text and labels are edited", None),
    (
        "R-003-4",
        "a list by state, label, base and head branch",
        None,
    ),
    (
        "R-003-5",
        "the fields of one pull request, and its patch",
        None,
    ),
    (
        "R-003-6",
        "close, reopen and merge set the state; a draft becomes ready",
        Some(
            "tangled has no drafts: the title can say so with `hosts.<host>.draft_marker` (C-003-10).",
        ),
    ),
    (
        "R-003-7",
        "the fields of the records of 2025",
        Some(
            "These records are read (`crates/forge-tangled/src/pulls/record`); new ones have the \
             form of 2026 (C-003-7).",
        ),
    ),
    (
        "R-003-8",
        "the newest status that counts is the state, and open without one",
        None,
    ),
    (
        "R-003-9",
        "numbers of pull requests, and their page on the web",
        Some(
            "The at-uri names a pull request. A number is read from the web page where that has \
             one, and a URL with a number is accepted (C-003-6).",
        ),
    ),
    (
        "R-003-10",
        "labels by name in any case; an unknown one is refused before a record is written",
        None,
    ),
    (
        "R-003-11",
        "the history of states; resources of the server",
        Some(
            "`pr view --history` and `include=history` have the history. A pull request and its \
             diff are resources by their URL for every forge: `docs/reference/mcp.md`.",
        ),
    ),
    (
        "R-003-12",
        "issues of a pull request, and pull requests of an issue",
        Some(
            "They are sections of the views, `linked_issues` and `closing_pulls`: \
             `tests/cli/tangled/issues::closing_pulls_of_issues_need_no_links`.",
        ),
    ),
    (
        "R-003-13",
        "what the first version leaves out: forks, comments, diffs, checks",
        Some("All of these are built by now; `docs/reference/capabilities.md` has the rest."),
    ),
    (
        "R-003-14",
        "a warning that no index takes the records in",
        Some(
            "Before a write, `forge` says what the index is known not to take in, with what happens \
             and what to do instead, and what is unknown; after it, each write says whether the \
             index shows it, in one of five words: `docs/reference/tangled-ingestion.md`, held by \
             `tests/cli/tangled/limits`, `words` and `matrix`.",
        ),
    ),
    (
        "R-003-15",
        "the names of accounts in the environment, and of repositories",
        None,
    ),
];

/// The corrections of both sets.
pub const CORRECTIONS: &[Row] = &[
    (
        "C-000-1",
        "an intent with a state of its own is not limited to the outputs of a command",
        None,
    ),
    (
        "C-000-2",
        "one parser for closing words: nine words, and neither parts of words nor code",
        None,
    ),
    (
        "C-000-3",
        "a later comment does not withdraw an approval; drafts and own reviews do not count",
        None,
    ),
    (
        "C-000-4",
        "reviews are counted in the order of their times",
        None,
    ),
    (
        "C-000-5",
        "every conclusion of a check has a status, and a repeated run counts once",
        None,
    ),
    (
        "C-000-6",
        "checks that are missing in an answer are reported, and are no success",
        None,
    ),
    (
        "C-000-7",
        "a filter reads pages until the list is full, and the scanned rows are counted",
        None,
    ),
    ("C-000-8", "the state `all` in lists", None),
    (
        "C-000-9",
        "a request for reviews keeps the earlier ones",
        None,
    ),
    (
        "C-000-10",
        "teams are requested too, and a reviewer who is left out has a reason",
        None,
    ),
    (
        "C-000-11",
        "a merge can require passed checks and an approval",
        None,
    ),
    (
        "C-000-12",
        "a merge reads an unknown merge state again, at most three times",
        None,
    ),
    (
        "C-000-13",
        "a merged pull request is a success; a closed one and a draft are refused",
        None,
    ),
    (
        "C-000-14",
        "a merge compares the head commit with the expected one",
        None,
    ),
    (
        "C-000-15",
        "an issue that a merge does not move is reported with the reason",
        None,
    ),
    (
        "C-000-16",
        "a merge moves issues by a table, and only in the default branch",
        None,
    ),
    (
        "C-000-17",
        "an unknown merge state is not cached, and a write invalidates what is",
        None,
    ),
    (
        "C-000-18",
        "without a method, the merge uses the default method of the repository",
        None,
    ),
    (
        "C-001-1",
        "all in review is HUMAN_GATE, before some in review is REVIEW",
        None,
    ),
    ("C-001-2", "an issue in Backlog is to be triaged", None),
    (
        "C-001-3",
        "one list of phases; older names are aliases",
        Some(
            "Names of phases are data of the definition (`phase`), and the presets have one name for \
             each. Older names are no aliases, because no tool takes a phase as an argument. The \
             presets lack `INTEGRATE`: it belongs to a mode that merges without a person, and no such \
             mode exists. A definition can name the phase of *In Review* like that.",
        ),
    ),
    (
        "C-001-4",
        "one list of states, that of the definition",
        None,
    ),
    (
        "C-001-5",
        "members whose work has ended are ignored in the phase",
        None,
    ),
    (
        "C-001-6",
        "an issue is to be split only before work on it begins",
        None,
    ),
    (
        "C-001-7",
        "an issue that needs a person is always listed, and escalates",
        None,
    ),
    ("C-001-8", "an issue without a state is to be triaged", None),
    (
        "C-001-9",
        "Plan in Progress is REVIEW, by a rule that is data",
        None,
    ),
    (
        "C-001-10",
        "a single issue converges only at the target",
        None,
    ),
    (
        "C-001-11",
        "a state past the target counts as reached",
        Some(
            "There is no option `exact`: an issue past the target waits for nobody, so no decision \
             differs with it.",
        ),
    ),
    ("C-001-12", "when to proceed, to wait and to escalate", None),
    (
        "C-001-13",
        "a pick refuses lock states, and skipped issues have reasons",
        None,
    ),
    ("C-001-14", "the order of picks to the last tie", None),
    (
        "C-001-15",
        "advance takes only a target in the order of the states",
        None,
    ),
    (
        "C-001-16",
        "advance leaves issues in a lock where they are, unless asked",
        None,
    ),
    (
        "C-001-17",
        "the engine enforces the convergence gate: off, warn or block",
        None,
    ),
    (
        "C-001-18",
        "global intents are legal from every state that is not an end; strict transitions are off by \
         default",
        None,
    ),
    (
        "C-001-19",
        "a refusal is judged by its parts and not by its words",
        None,
    ),
    (
        "C-001-20",
        "the suggestion for an unknown command exists",
        None,
    ),
    (
        "C-001-21",
        "one definition; everything else is generated from it",
        None,
    ),
    (
        "C-001-22",
        "one query reads a group with states and relations",
        None,
    ),
    ("C-001-23", "a last state closes the issue", None),
    (
        "C-003-1",
        "a state is written as a full token; its last part is read, and unknown tokens decide nothing",
        None,
    ),
    (
        "C-003-2",
        "`pr ready` is one of the operations",
        Some(
            "It is a command like the others, and a capability: tangled has no drafts (C-003-10).",
        ),
    ),
    (
        "C-003-3",
        "the base is the default branch, not `main`",
        None,
    ),
    ("C-003-4", "times are compared as instants", None),
    (
        "C-003-5",
        "statuses of the author, the owner and collaborators count, from wherever they are",
        None,
    ),
    ("C-003-6", "the at-uri names a pull request", None),
    (
        "C-003-7",
        "a round is a packed patch, and a record names the DID of the repository",
        None,
    ),
    (
        "C-003-8",
        "a merge moves the branch before the status",
        None,
    ),
    (
        "C-003-9",
        "a write is compared with the index, and no success is claimed without it",
        Some("As R-003-14."),
    ),
    (
        "C-003-10",
        "a draft, a review and a method that tangled lacks are refused",
        Some("`tests/cli/tangled/opt_in::disabled_feature_is_refused_with_config_key`"),
    ),
    (
        "C-003-11",
        "a filter that the index lacks is applied until the list is full",
        None,
    ),
];

#[test]
fn r_000_3_repository_is_found_without_a_name() {
    let world = World::with_pull();
    let here = world.git.path().to_str().unwrap().to_owned();
    for repo in [None, Some(["-R", here.as_str()])] {
        let mut args = vec!["pr", "view", "1", "--json", "number,title"];
        args.extend(repo.iter().flatten());
        let found = world.forge(&args).output().success().json();
        assert_eq!(found, json!({"number": 1, "title": "Title of feature"}));
    }
}

/// Returns the numbers of this repository's issues that a text closes.
fn closed(text: &str) -> Vec<u64> {
    let found = mentions(text, &Hosts::builtin(), &mut Vec::new());
    let mut numbers = Vec::new();
    for mention in found.into_iter().filter(|m| m.closes) {
        if let MentionTarget::Number(n) = mention.named
            && !numbers.contains(&n)
        {
            numbers.push(n);
        }
    }
    numbers
}

#[test]
fn r_000_4_closing_words_list_each_issue_once_in_order() {
    assert_eq!(closed("fix #2, closed #1, Resolves: #2"), [2, 1]);
    // C-000-2: parts of words and code do not count.
    assert_eq!(closed("encloses #7, prefixes #9, `fixes #8`"), [0; 0]);
}

#[test]
fn r_000_30_closing_words_match_the_test_vectors() {
    for (text, wanted) in [
        ("Closes #10", &[10][..]),
        ("Fixes #10\nCloses #20", &[10, 20]),
        ("Resolves #10 and also Closes #10", &[10]),
        ("CLOSES #5", &[5]),
        ("close #7", &[7]),
        ("", &[]),
        ("No issues linked here", &[]),
    ] {
        assert_eq!(closed(text), wanted, "{text}");
    }
}

#[test]
fn r_000_31_review_counts_match_the_test_vectors() {
    let of = |said: &[(&str, ReviewState)]| {
        let mut latest: Vec<(&str, ReviewState)> = Vec::new();
        for review in said {
            fold_review(&mut latest, *review, |(_, state)| *state, |a, b| a.0 == b.0);
        }
        ReviewCounts::of(latest.into_iter().map(|(_, state)| state))
    };
    assert_eq!(of(&[]), ReviewCounts::default());
    let twice = of(&[("ada", Commented), ("ada", Approved)]);
    assert_eq!((twice.approved, twice.total), (1, 1));
    let three = of(&[("a", Approved), ("b", ChangesRequested), ("c", Commented)]);
    assert_eq!(
        (
            three.approved,
            three.changes_requested,
            three.pending,
            three.total
        ),
        (1, 1, 1, 3)
    );
    assert_eq!(three.decision(), Some(ReviewDecision::ChangesRequested));
    // C-000-3: a later comment does not withdraw an approval.
    let kept = of(&[("ada", Approved), ("ada", Commented)]);
    assert_eq!((kept.approved, kept.pending), (1, 0));
}

#[test]
fn r_000_32_check_counts_match_the_test_vectors() {
    let of = |all: &[CheckStatus]| {
        let named = all.iter().enumerate();
        let checks = named.map(|(n, status)| Check::new(n.to_string(), *status));
        ChecksReport::of(String::new(), checks.collect())
    };
    use CheckStatus::{Failure, Pending, Success};
    assert_eq!(of(&[]).counts, CheckCounts::default());
    for (all, wanted, overall) in [
        (&[Success][..], (1, 0, 0, 1), CheckRollup::Success),
        (&[Failure], (0, 1, 0, 1), CheckRollup::Failure),
        (&[Pending], (0, 0, 1, 1), CheckRollup::Pending),
        (
            &[Success, Failure, Pending],
            (1, 1, 1, 3),
            CheckRollup::Failure,
        ),
    ] {
        let report = of(all);
        let counts = report.counts;
        let found = (counts.success, counts.failure, counts.pending, counts.total);
        assert_eq!((found, report.overall), (wanted, overall), "{all:?}");
    }
}

#[test]
fn r_000_9_view_has_every_required_field() {
    let world = World::with_pull();
    let fields = "number,title,body,url,state,isDraft,author,headRefName,baseRefName,mergeable,\
                  createdAt,updatedAt,mergedAt,closedAt,reviewRequests,closingIssuesReferences";
    let args = ["pr", "view", "1", "--json", fields];
    let found = world.forge(&args).output().success().json();
    assert_eq!(
        (&found["number"], &found["title"], &found["body"]),
        (&json!(1), &json!("Title of feature"), &json!("Text."))
    );
    assert_eq!(
        (&found["state"], &found["isDraft"], &found["mergeable"]),
        (&json!("OPEN"), &json!(false), &json!("MERGEABLE"))
    );
    assert_eq!(
        (&found["headRefName"], &found["baseRefName"]),
        (&json!("feature"), &json!("main"))
    );
    assert_eq!(
        (&found["mergedAt"], &found["closedAt"]),
        (&json!(null), &json!(null))
    );
    assert_eq!(found.as_object().unwrap().len(), 16, "{found}");
}

#[test]
fn r_000_13_error_of_missing_pull_names_the_repository() {
    let world = World::with_pull();
    let out = world.forge(&["pr", "view", "99"]).output().exits(1);
    let said = out.stderr_text();
    let repo = world.git.path().to_str().unwrap().to_owned();
    assert!(said.contains("99") && said.contains(&repo), "{said}");
}
