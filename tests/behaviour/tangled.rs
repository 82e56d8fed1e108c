//! The test rigs of tangled: doubles on loopback.

use std::{
    any::Any,
    sync::{Arc, LazyLock},
    time::Duration,
};

use async_trait::async_trait;
use forge_core::{Capabilities, Client, ForgeKind, Policy, Repo, RepoId, RepoPath, Secret};
use forge_http::{Http, RetryPolicy};
use forge_tangled::{DraftMarker, FixedLogin, Origin, PdsLogin, Reach, Tangled, TangledSettings};
use forge_tangled_world::{Account, IndexDouble, Repository, World};
use forge_testkit::{
    GitDir,
    behaviour::{Facts, Fixture, Rig},
};
use serde_json::{Value, json};

/// Password of every account.
pub const PASSWORD: &str = "0canary0-correct-horse";

const ROUNDS: &str = "a pull request holds the rounds that were submitted, not its branch";
const AUTHOR: &str = "only its author can edit a record";
const MARKER: &str = "a draft is a marker in the title, and a closed pull request has a title";

/// Cases that fail on tangled, each with the reason.
pub const EXCEPTIONS: &[(&str, &str)] = &[
    ("create::pull_numbers_ascend", "records have no numbers"),
    ("view::head_follows_the_branch", ROUNDS),
    ("diff::diff_follows_the_branch", ROUNDS),
    ("mergeability::mergeability_names_base_and_head", ROUNDS),
    ("mergeability::solved_conflict_is_mergeable", ROUNDS),
    ("state::reopen_without_head_branch_is_refused", ROUNDS),
    ("edit::stale_version_is_refused", AUTHOR),
    ("edit::an_edit_is_in_the_history", AUTHOR),
    (
        "comments::own_comment_is_edited",
        "a record does not say when it was changed",
    ),
    ("labels::a_label_is_read_back", "labels have no description"),
    (
        "reviews::the_author_can_comment",
        "a review is a comment, and listed as one",
    ),
    (
        "diff::non_utf8_bytes_are_kept",
        "a knot sends patches as JSON, which is UTF-8",
    ),
];

/// The entries of [`EXCEPTIONS`], and the cases that fail if drafts and verdicts are enabled.
static OPT_IN_EXCEPTIONS: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let more = [
        ("reviews::review_of_a_stale_head_is_refused", ROUNDS),
        (
            "reviews::comment_is_not_a_verdict",
            "a review without a verdict is a comment, and listed as one",
        ),
        ("state::draft_of_closed_pull_is_refused", MARKER),
        (
            "reviews::a_request_for_changes_needs_a_body",
            "the first line of the comment is the verdict, so there is a text",
        ),
        (
            "reviews::the_author_cannot_approve",
            "a verdict is a comment, which everybody may write; the author's does not count",
        ),
    ];
    [EXCEPTIONS, &more].concat()
});

/// Returns the facts in which tangled differs from other forges.
pub fn facts() -> Facts {
    Facts {
        names_conflicts: true,
        context_lines: false,
        names_ends: true,
        diff_lines: 20_000,
        writers_moderate: false,
        checks_qualifiers: true,
        texts_link: false,
        knows_what_is_on_top: true,
        stacks_by_base: false,
        stacks_merge_together: false,
        author_email: "alice@example.org",
    }
}

/// Starts a separate world of doubles for every trial.
pub struct TangledRig;

#[async_trait]
impl Rig for TangledRig {
    fn name(&self) -> &str {
        "tangled"
    }

    fn capabilities(&self) -> &'static Capabilities {
        &forge_tangled::CAPABILITIES
    }

    fn facts(&self) -> Facts {
        facts()
    }

    fn exceptions(&self) -> &'static [(&'static str, &'static str)] {
        EXCEPTIONS
    }

    async fn fixture(&self) -> Fixture {
        world(|settings| settings)
    }
}

/// Works as [`TangledRig`] does, but with opt-in features enabled: drafts by a marker, and verdicts
/// in comments.
pub struct OptInRig;

fn opted_in(settings: TangledSettings) -> TangledSettings {
    let marker = DraftMarker::new("[draft]").unwrap_or_else(|e| panic!("{e:?}"));
    TangledSettings {
        draft_marker: Some(marker),
        verdict_comments: true,
        ..settings
    }
}

#[async_trait]
impl Rig for OptInRig {
    fn name(&self) -> &str {
        "tangled_opt_in"
    }

    fn capabilities(&self) -> &'static Capabilities {
        let usual = TangledSettings::usual().unwrap_or_else(|e| panic!("{e:?}"));
        opted_in(usual).capabilities()
    }

    fn facts(&self) -> Facts {
        facts()
    }

    fn exceptions(&self) -> &'static [(&'static str, &'static str)] {
        &OPT_IN_EXCEPTIONS
    }

    async fn fixture(&self) -> Fixture {
        world(opted_in)
    }
}

/// Starts a world of doubles, and returns the fixture of a client.
fn world(with: impl FnOnce(TangledSettings) -> TangledSettings) -> Fixture {
    let world = World::start().unwrap_or_else(|e| panic!("{e}"));
    let pds = world.pds();
    let author = pds.account("alice.test", PASSWORD);
    let reviewer = pds.account("bob.test", PASSWORD);
    let repo = world.repository(&author, "widget");
    world.knot().add_collaborator(&repo, &reviewer.did);
    let (label, _) = pds.put(
        &author.did,
        "sh.tangled.label.definition",
        "assignee",
        assignee(),
    );
    let (_, record) = pds
        .record(&repo.uri)
        .unwrap_or_else(|| panic!("no {}", repo.uri));
    let record = subscribed(record, &label);
    pds.put(&author.did, "sh.tangled.repo", "widget", record);
    let settings = settings(
        &world.directory().host().url(),
        &pds.host().url(),
        world.index(),
    );
    fixture(
        &with(settings),
        [&author, &reviewer],
        &repo,
        Box::new(world),
    )
}

/// Returns the label definition for assignees. tangled subscribes every repository that is made on
/// the web to this label.
pub fn assignee() -> Value {
    json!({
        "$type": "sh.tangled.label.definition",
        "name": "assignee",
        "valueType": { "type": "string", "format": "did" },
        "scope": ["sh.tangled.repo.pull", "sh.tangled.repo.issue"],
        "multiple": true,
        "createdAt": "2026-06-01T00:00:00Z",
    })
}

/// Returns a repository's record that also subscribes to `label`.
pub fn subscribed(mut record: Value, label: &str) -> Value {
    record["labels"] = json!([label]);
    record
}

/// Returns settings with which a client finds the servers of a world.
pub fn settings(directory: &str, pds: &str, index: &IndexDouble) -> TangledSettings {
    let at = |url: &str| Origin::configured(url).unwrap_or_else(|e| panic!("{e:?}"));
    TangledSettings {
        web: at(&index.web().url()),
        index: at(&index.host().url()),
        backlinks: Some(at(&index.backlinks().url())),
        plc: at(directory),
        handles: Some(at(pds)),
        reach: Reach::Loopback,
        wait: Duration::from_secs(20),
        poll: Duration::from_millis(10),
        ..TangledSettings::usual().unwrap_or_else(|e| panic!("{e:?}"))
    }
}

/// Returns the repository as a fixture: a handle for its owner, and one for another account with
/// write access.
pub fn fixture(
    settings: &TangledSettings,
    [author, reviewer]: [&Account; 2],
    repo: &Repository,
    keep: Box<dyn Any + Send + Sync>,
) -> Fixture {
    let id = RepoId {
        kind: ForgeKind::TANGLED,
        host: "tangled.org".to_owned(),
        path: RepoPath::Named {
            owner: author.handle.clone(),
            name: repo.name.clone(),
        },
    };
    let handle = |account: &Account| -> Repo {
        let login = PdsLogin {
            account: account.handle.clone(),
            password: Secret::new(PASSWORD),
            pin: None,
        };
        let login = Arc::new(FixedLogin(Some(login)));
        let tangled = Tangled::new(settings.clone(), http(), login);
        Client::new(Arc::new(tangled), Policy::default()).repo(id.clone())
    };
    Fixture {
        author: handle(author),
        reviewer: handle(reviewer),
        git: GitDir::at(repo.path()),
        board: None,
        facts: facts(),
        keep,
    }
}

fn http() -> Http {
    Http::new(forge_http::HttpSettings {
        retry: RetryPolicy::without_pauses(),
        in_flight: 8,
        ..forge_http::HttpSettings::default()
    })
    .unwrap_or_else(|e| panic!("{e}"))
}
