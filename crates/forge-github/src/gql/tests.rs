//! Checks that every document this crate sends is valid against the public schema and uses no
//! deprecated field.

use std::{path::Path, sync::LazyLock};

use apollo_compiler::{ExecutableDocument, Schema, executable, validation::Valid};
use forge_core::{
    ForgeKind, RepoId, RepoPath,
    model::{BoardId, EditIssue, IssueFields, IssueId, PrFields, Reviewer},
};
use proptest::prelude::*;
use serde_json::Map;

use super::{
    GqlDocument,
    document::{FRAGMENTS, QUERIES},
    field_paths,
    fields::{self, BaseFields, Required, Section},
    lookups::Lookups,
    mutation::{self, Batch},
    selections::{self, Branches},
};
use crate::{
    issues::{self, IndexedEdit, IssueEvents, edit_document},
    links,
    pulls::{across, view::comments_document},
};

static SCHEMA: LazyLock<Valid<Schema>> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/github.graphql");
    let text = std::fs::read_to_string(&path).unwrap();
    Schema::parse_and_validate(text, path).unwrap()
});

/// Panics with the reason if a document is invalid or uses a deprecated field.
fn check(text: &str) {
    let document = match ExecutableDocument::parse_and_validate(&SCHEMA, text, "document") {
        Ok(document) => document,
        Err(e) => panic!("{text}\n{}", e.errors),
    };
    let sets = document
        .operations
        .iter()
        .map(|o| &o.selection_set)
        .chain(document.fragments.values().map(|f| &f.selection_set));
    for set in sets {
        deprecated(set);
    }
}

fn deprecated(set: &executable::SelectionSet) {
    for selection in &set.selections {
        match selection {
            executable::Selection::Field(field) => {
                let marked = field.definition.directives.get("deprecated");
                assert!(marked.is_none(), "{}.{} is deprecated", set.ty, field.name);
                deprecated(&field.selection_set);
            }
            executable::Selection::InlineFragment(inline) => deprecated(&inline.selection_set),
            executable::Selection::FragmentSpread(_) => {}
        }
    }
}

fn sections(name: &'static str, selection: &str) -> String {
    let mut document = GqlDocument::query(name);
    document.fragment("PullSections", "PullRequest", selection);
    document.text()
}

#[test]
fn every_document_file_is_in_the_document_table() {
    for (dir, table) in [("queries", QUERIES), ("fragments", FRAGMENTS)] {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src/gql")
            .join(dir);
        let mut files: Vec<String> = std::fs::read_dir(dir)
            .unwrap()
            .map(|f| {
                f.unwrap()
                    .path()
                    .file_stem()
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        files.sort();
        let names: Vec<&str> = table.iter().map(|(n, _)| *n).collect();
        assert_eq!(names, files);
        for (name, text) in table {
            assert!(
                text.contains(&format!(" {name}")),
                "{name} is named otherwise in its file"
            );
        }
    }
}

/// The generated fragments, and their types.
const GENERATED: [(&str, &str); 8] = [
    ("PullSections", "PullRequest"),
    ("PullLookups", "PullRequest"),
    ("IssueSections", "Issue"),
    ("NewerEvents", "IssueTimelineItems"),
    ("Contents", "Repository"),
    ("RepositoryLookups", "Repository"),
    ("NamedNumbers", "Repository"),
    ("Lookups", "Query"),
];

#[test]
fn queries_with_empty_fragments_are_valid() {
    for &(name, text) in QUERIES {
        let mut document = GqlDocument::query(name);
        for (fragment, on) in GENERATED {
            if text.contains(&format!("...{fragment}")) {
                document.fragment(fragment, on, "");
            }
        }
        check(&document.text());
    }
}

#[test]
fn section_combinations_are_valid() {
    let plain: Vec<PrFields> = fields::PLAIN.iter().map(|(field, _)| *field).collect();
    for field in &plain {
        check(&sections(
            "PullView",
            &fields::selection(BaseFields::Row, *field, Required::Number),
        ));
    }
    let plain = plain.into_iter().fold(PrFields::NONE, |sum, f| sum | f);
    let all = [plain]
        .into_iter()
        .chain(Section::ALL.iter().filter_map(|s| s.field()));
    let all: Vec<PrFields> = all.collect();
    for mask in 0..1_u32 << all.len() {
        let fields = all
            .iter()
            .enumerate()
            .filter(|(i, _)| mask & (1 << i) != 0)
            .fold(PrFields::NONE, |sum, (_, f)| sum | *f);
        // Every combination is checked in the document `PullView`. The other documents are checked
        // only with each single section and with all sections.
        let special = mask.count_ones() <= 1 || mask.count_ones() as usize == all.len();
        check(&sections(
            "PullView",
            &fields::selection(BaseFields::Core, fields, Required::Number),
        ));
        if special {
            for base in [BaseFields::Core, BaseFields::Row] {
                for name in ["PullList", "PullSearch", "PullStatus"] {
                    check(&sections(
                        name,
                        &fields::selection(base, fields, Required::No),
                    ));
                }
            }
        }
    }
}

#[test]
fn excluded_review_comments_are_not_selected() {
    let fields = PrFields::REVIEWS | PrFields::NEWEST | PrFields::NO_REVIEW_COMMENTS;
    let selection = fields::selection(BaseFields::Core, fields, Required::Number);
    let text = sections("PullView", &selection);
    check(&text);
    assert!(!text.contains("ReviewWithComments"), "{text}");
}

#[test]
fn excluded_fields_are_not_selected() {
    for mask in 0..1_u32 << fields::USUAL.len() {
        let left_out = fields::USUAL
            .iter()
            .enumerate()
            .filter(|(i, _)| mask & (1 << i) != 0);
        let (mut fields, mut parts) = (PrFields::NONE, Vec::new());
        for (_, (without, part)) in left_out {
            fields |= *without;
            parts.push(*part);
        }
        let selection = fields::selection(BaseFields::Core, fields, Required::No);
        let text = sections("PullList", &selection);
        check(&text);
        for part in parts.iter().filter(|part| part.starts_with("...")) {
            assert!(!text.contains(part), "{part} in {text}");
        }
    }
}

#[test]
fn further_pages_of_sections_are_valid() {
    let all = Section::ALL.len();
    // An invalid combination contains an invalid pair, so pairs are enough.
    let special = |mask: &u32| mask.count_ones() <= 2 || mask.count_ones() as usize == all;
    for mask in (1..1_u32 << all).filter(special) {
        let mut document = GqlDocument::query("PullMore");
        let mut parts = Vec::new();
        for (i, section) in Section::ALL
            .iter()
            .enumerate()
            .filter(|(i, _)| mask & (1 << i) != 0)
        {
            document.variable(&format!("after{i}"), "String");
            parts.push((*section, format!("after{i}")));
        }
        document.fragment("PullSections", "PullRequest", &fields::continuation(&parts));
        check(&document.text());
    }
    for n in [1, 2, 10] {
        check(&comments_document((0..n).map(|_| ("id", Some("cursor".to_owned())))).0);
    }
}

#[test]
fn operation_selections_are_valid() {
    for selection in selections::ALL {
        check(&sections("PullView", selection));
    }
    for branches in [Branches::None, Branches::Head, Branches::Both] {
        for comments in [false, true] {
            check(&sections(
                "PullView",
                &selections::select_before_change(branches, comments),
            ));
        }
    }
    for selection in selections::PAGES {
        let mut document = GqlDocument::query("PullView");
        document.variable("first", "Int!");
        document.variable("after", "String");
        document.fragment("PullSections", "PullRequest", selection);
        check(&document.text());
    }
}

#[test]
fn issue_selections_are_valid() {
    let document = |selection: &str, pages: bool| {
        let mut document = GqlDocument::query("IssueView");
        if pages {
            document.variable("after", "String");
        }
        document.fragment("IssueSections", "Issue", selection);
        document.text()
    };
    for selection in [
        "...IssueNode",
        "id number newestComment: comments(last: 1) { nodes { id } }",
        issues::NEWEST,
        issues::RECENT,
    ] {
        check(&document(selection, false));
    }
    check(&issues::history_document(IssueEvents::All));
    check(&document(issues::COMMENTS, true));
    check(&document(issues::NEWEST_COMMENTS, false));
    for fields in issue_fields() {
        let one = issues::selection(&fields, issues::COMMENTS);
        check(&document(&one, fields.comments));
        for name in ["IssueList", "IssueSearch"] {
            let mut list = GqlDocument::query(name);
            let row = issues::selection(&fields, issues::FIRST_COMMENTS);
            list.fragment("IssueSections", "Issue", &row);
            check(&list.text());
            with_board(&mut list);
            check(&list.text());
        }
    }
}

/// Returns all combinations of sections.
fn issue_fields() -> impl Iterator<Item = IssueFields> {
    (0..64).map(|mask| {
        let mut fields = IssueFields::NONE;
        fields.comments = mask & 1 != 0;
        fields.relations = mask & 2 != 0;
        fields.board = (mask & 4 != 0).then(board);
        fields.details = mask & 8 != 0;
        fields.projects = mask & 16 != 0;
        fields.closing_pulls = mask & 32 != 0;
        fields
    })
}

fn with_board(document: &mut GqlDocument) {
    let mut lookups = Lookups::default();
    lookups.board(&board());
    lookups.select_boards(document);
}

fn board() -> BoardId {
    BoardId {
        owner: "octo".to_owned(),
        number: 5,
    }
}

#[test]
fn related_issue_documents_are_valid() {
    for fields in issue_fields() {
        for count in [1, 2, issues::MAX_ISSUES_PER_QUERY] {
            let mut document = issues::related_document(count, &fields);
            check(&document.text());
            with_board(&mut document);
            check(&document.text());
        }
    }
}

#[test]
fn issue_edit_documents_are_valid() {
    let repo = RepoId {
        kind: ForgeKind::GITHUB,
        host: "github.com".to_owned(),
        path: RepoPath::Named {
            owner: "octo".to_owned(),
            name: "tools".to_owned(),
        },
    };
    let id = IssueId::number(repo, 7);
    for mask in 0..8 {
        let wanted = |bit: u32| mask & (1 << bit) != 0;
        let mut edit = EditIssue::default();
        edit.parent = wanted(0).then_some(None);
        edit.board = wanted(1).then(board);
        edit.comment = wanted(2).then(|| "Text.".to_owned());
        edit.issue_type = wanted(0).then_some(None);
        edit.projects
            .add
            .extend(wanted(1).then(|| "Roadmap".to_owned()));
        let mut lookups = Lookups::default();
        if mask > 3 {
            lookups.labels(&["bug".to_owned()]);
            lookups.assignees(&["@me".to_owned(), "ada".to_owned(), "@copilot".to_owned()]);
            lookups.issue("octo", "tools", 7);
            lookups.issue_types();
            lookups.projects(&["Roadmap".to_owned()]);
            lookups.board(&board());
        }
        for count in [1, 3] {
            let edits: Vec<IndexedEdit<'_>> = (0..count)
                .map(|at| IndexedEdit {
                    at,
                    id: &id,
                    edit: &edit,
                })
                .collect();
            check(&edit_document("github.com", &edits, &lookups).0.text());
        }
    }
}

#[test]
fn selection_of_mentioned_numbers_is_valid() {
    for numbers in [&[7][..], &[1, 2, 3]] {
        let mut document = GqlDocument::query("LinksNamed");
        document.fragment("NamedNumbers", "Repository", &links::selection(numbers));
        check(&document.text());
    }
}

#[test]
fn contents_document_is_valid() {
    for blobs in [0, 1, 40] {
        check(&crate::pulls::contents::document(blobs));
    }
}

#[test]
fn field_paths_exist_in_schema() {
    let paths = field_paths();
    for (on, path) in &paths {
        let mut of = on.clone();
        for name in path {
            let field = SCHEMA.type_field(&of, name);
            let field = field.unwrap_or_else(|e| panic!("{on}.{path:?}: {of}.{name}: {e:?}"));
            of = field.ty.inner_named_type().to_string();
        }
    }
    let has = |on: &str, path: &[&str]| {
        paths.contains(&(
            on.to_owned(),
            path.iter().map(|n| (*n).to_owned()).collect(),
        ))
    };
    assert!(has(
        "PullRequest",
        &["baseRef", "branchProtectionRule", "lockBranch"]
    ));
    assert!(has("PullRequest", &["state"]) && !has("PullRequest", &["pullState"]));
    assert!(has("Query", &["repository", "pullRequests", "nodes"]));
    assert!(has("Mutation", &["mergePullRequest", "pullRequest"]));
    assert!(has("Team", &["combinedSlug"]));
}

#[test]
fn mutations_are_valid() {
    for m in mutation::ALL {
        check(&Batch::of("m", *m, serde_json::json!({})).document());
    }
}

#[test]
fn search_across_repositories_and_owners_is_valid() {
    for fields in [PrFields::ROW, PrFields::CHECKS, PrFields::NONE] {
        let sections = fields::selection(BaseFields::Row, fields, Required::No);
        let named = [("r0", true), ("r1", true), ("o0", false)];
        check(&across::document(&sections, ["q0", "q1"].into_iter(), named.into_iter()).text());
        check(&across::document(&sections, ["q1"].into_iter(), std::iter::empty()).text());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn batch_documents_are_valid(picks in proptest::collection::vec(0..mutation::ALL.len(), 1..8)) {
        let mut batch = Batch::default();
        for (i, pick) in picks.iter().enumerate() {
            batch.push(&format!("m{i}"), mutation::ALL[*pick], serde_json::json!({}));
        }
        check(&batch.document());
    }

    #[test]
    fn lookup_documents_are_valid(
        labels in proptest::collection::vec("[a-z ]{1,8}", 0..4),
        people in proptest::collection::vec("@me|@copilot|[a-z]{1,8}", 0..4),
        teams in proptest::collection::vec("[a-z]{1,4}/[a-z]{1,4}", 0..3),
        milestone in proptest::option::of("[a-z]{1,4}"),
        boards in proptest::collection::vec("[a-z]{1,4}", 0..3),
        branch in any::<bool>(),
        fork in any::<bool>(),
    ) {
        let mut lookups = Lookups::default();
        lookups.labels(&labels);
        lookups.assignees(&people);
        let teams: Vec<Reviewer> = teams.iter().map(|t| Reviewer::parse(t)).collect();
        lookups.reviewers(&teams);
        if let Some(title) = &milestone {
            lookups.milestone(title);
        }
        lookups.projects(&boards);
        if branch {
            lookups.branch("baseRef", "main");
            lookups.branch("headRef", "feature");
            lookups.files(fork.then_some("main"), vec!["a", "b/c"]);
            lookups.below(5);
        }
        if fork {
            lookups.fork("o", "r", "b");
        }
        for name in ["CreatePrepare", "EditPrepare", "IssuePrepare", "PushPrepare"] {
            let mut document = GqlDocument::query(name);
            let mut variables = Map::new();
            lookups.add_to(&mut document, &mut variables);
            if name == "EditPrepare" {
                lookups.add_pull_to(&mut document);
            }
            check(&document.text());
        }
    }
}
