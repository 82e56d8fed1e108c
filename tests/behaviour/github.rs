//! The test rig of GitHub: the double on loopback.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use forge_core::{
    Capabilities, Client, Forge, ForgeKind, Observer, Op, Policy, Repo, RepoId, RepoPath,
    model::BoardId,
};
use forge_github::{FixedToken, GitHub};
use forge_github_double::{ALL_SCOPES, GitHubDouble, Options, state::Permission};
use forge_http::{Http, HttpSettings, Proxies, RetryPolicy};
use forge_testkit::{
    GitDir,
    behaviour::{Facts, Fixture, Rig},
};

const REPO: &str = "ada/example";
/// Host name that gh reaches over plain HTTP, here through a proxy on loopback.
const HOST: &str = "github.localhost";

/// Starts a separate double for every trial.
pub struct GitHubRig;

#[async_trait]
impl Rig for GitHubRig {
    fn name(&self) -> &str {
        "github"
    }

    fn capabilities(&self) -> &'static Capabilities {
        &forge_github::CAPABILITIES
    }

    /// Returns limits and rules of github.com, from docs.github.com ("Limits for viewing content
    /// and diffs", "Managing disruptive comments", "Searching issues and pull requests").
    fn facts(&self) -> Facts {
        Facts {
            names_conflicts: false,
            context_lines: false,
            names_ends: false,
            diff_lines: 20_000,
            writers_moderate: true,
            checks_qualifiers: false,
            texts_link: true,
            knows_what_is_on_top: false,
            stacks_by_base: true,
            stacks_merge_together: true,
            author_email: "ada@users.noreply.github.com",
        }
    }

    async fn fixture(&self) -> Fixture {
        let double = GitHubDouble::start(Options::default()).unwrap_or_else(|e| panic!("{e}"));
        let double = Arc::new(double);
        let git_dir = seed(&double);
        let git = GitDir::init(&git_dir, &["--bare"]);
        let pushes: Arc<dyn Observer> = Arc::new(Pushes {
            known: Mutex::default(),
            double: Arc::clone(&double),
        });
        let handle = |token: &str| -> Repo {
            let forge: Arc<dyn Forge> = Arc::new(GitHub::new(
                HOST,
                http(&double),
                Arc::new(FixedToken::new(token)),
            ));
            let mut policy = Policy::default();
            policy.observer = Some(Arc::clone(&pushes));
            Client::new(forge, policy).repo(id())
        };
        Fixture {
            author: handle("gho_0canary0ada"),
            reviewer: handle("gho_0canary0grace"),
            git,
            board: Some(BoardId {
                owner: "ada".to_owned(),
                number: 1,
            }),
            facts: self.facts(),
            keep: Box::new(double),
        }
    }
}

/// Adds two accounts, a board and an empty repository to a double. Returns the repository's
/// directory.
fn seed(double: &GitHubDouble) -> PathBuf {
    let mut seed = double.seed();
    seed.named_user("ada", "Ada Lovelace");
    seed.named_user("grace", "Grace Hopper");
    seed.token("gho_0canary0ada", "ada", ALL_SCOPES);
    seed.token("gho_0canary0grace", "grace", ALL_SCOPES);
    seed.empty_repo(REPO);
    seed.collaborator(REPO, "grace", Permission::Write);
    seed.project("ada", "Plan", &["Todo", "Done"]);
    let repo = seed.find_repo(REPO);
    seed.repos
        .get(&repo)
        .map(|repo| repo.git_dir.clone())
        .unwrap_or_else(|| panic!("no {REPO}"))
}

fn id() -> RepoId {
    RepoId {
        kind: ForgeKind::GITHUB,
        host: HOST.to_owned(),
        path: RepoPath::Named {
            owner: "ada".to_owned(),
            name: "example".to_owned(),
        },
    }
}

fn http(double: &GitHubDouble) -> Http {
    let url = double.url();
    let proxies = Proxies::from_env(&|name| (name == "HTTP_PROXY").then(|| url.clone()));
    Http::new(HttpSettings {
        proxies: proxies.unwrap_or_else(|e| panic!("{e}")),
        retry: RetryPolicy::without_pauses(),
        ..HttpSettings::default()
    })
    .unwrap_or_else(|e| panic!("{e}"))
}

/// Tells the double about a trial's new commits before every call, as a push would.
struct Pushes {
    known: Mutex<BTreeMap<String, String>>,
    double: Arc<GitHubDouble>,
}

impl Observer for Pushes {
    fn started(&self, _op: Op, _target: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seed = self.double.seed();
        seed.pushed(REPO, &known, "ada");
        *known = seed.tips(REPO);
    }

    fn finished(&self, _op: Op, _target: &str, _took: Duration, _error: Option<&'static str>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known = self.double.seed().tips(REPO);
    }

    fn rate_limited(&self, _host: &str, _wait: Duration) {}
}
