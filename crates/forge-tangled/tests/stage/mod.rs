//! A world with a repository of Alice's, which Bob may write to, and what a client needs to know.

use std::{sync::Arc, time::Duration};

use forge_core::{Client, ForgeKind, Policy, Repo, RepoId, RepoPath};
use forge_http::{Http, RetryPolicy, Secret};
use forge_tangled::{FixedLogin, Login, Origin, Reach, Settings, Tangled};
use forge_testkit::tangled::{Account, Repository, World};

/// The password of everybody.
pub const PASSWORD: &str = "correct-horse";

/// World, accounts, repository.
pub struct Stage {
    pub world: World,
    pub alice: Account,
    pub bob: Account,
    pub repo: Repository,
}

impl Stage {
    pub fn new() -> Self {
        let world = World::start().unwrap();
        let alice = world.pds().account("alice.test", PASSWORD);
        let bob = world.pds().account("bob.test", PASSWORD);
        let repo = world.repository(&alice, "widget");
        world.knot().add_collaborator(&repo, &bob.did);
        Self {
            world,
            alice,
            bob,
            repo,
        }
    }

    /// Where a client finds the world.
    pub fn settings(&self) -> Settings {
        let at = |url: String| Origin::configured(&url).unwrap();
        let index = self.world.index();
        Settings {
            web: at(index.web().url()),
            index: at(index.host().url()),
            backlinks: Some(at(index.backlinks().url())),
            plc: at(self.world.directory().host().url()),
            handles: Some(at(self.world.pds().host().url())),
            reach: Reach::Loopback,
            wait: Duration::from_secs(5),
            poll: Duration::from_millis(10),
            ..Settings::usual().unwrap()
        }
    }

    /// A client of an account.
    pub fn tangled(&self, account: &Account) -> Tangled {
        self.tangled_with(self.settings(), Some(account))
    }

    /// A client with other settings, or of nobody.
    pub fn tangled_with(&self, settings: Settings, account: Option<&Account>) -> Tangled {
        let login = account.map(|account| Login {
            account: account.handle.clone(),
            password: Secret::new(PASSWORD),
        });
        let http = Http::new(forge_http::Settings {
            retry: RetryPolicy::without_pauses(),
            in_flight: 8,
            ..forge_http::Settings::default()
        })
        .unwrap();
        Tangled::new(settings, http, Arc::new(FixedLogin(login)))
    }

    /// The repository, for an account.
    pub fn handle(&self, account: &Account) -> Repo {
        let client = Client::new(Arc::new(self.tangled(account)), Policy::default());
        client.repo(self.id())
    }

    /// The repository's id.
    pub fn id(&self) -> RepoId {
        RepoId {
            kind: ForgeKind::TANGLED,
            host: "tangled.org".to_owned(),
            path: RepoPath::Named {
                owner: self.alice.handle.clone(),
                name: self.repo.name.clone(),
            },
        }
    }
}
