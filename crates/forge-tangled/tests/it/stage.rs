//! A world with Alice's repository, to which Bob may write, and the client settings for it.

#![allow(dead_code, reason = "each suite uses a part of it")]

use std::{sync::Arc, time::Duration};

use forge_core::{
    Action, Client, Error, ForgeKind, Hint, Op, Param, Policy, Repo, RepoId, RepoPath, Secret,
    model::{CreatePull, PullRequest},
};
use forge_http::{Http, RetryPolicy};
use forge_tangled::{FixedLogin, LoginSource, Origin, PdsLogin, Reach, Tangled, TangledSettings};
use forge_tangled_world::{Account, Repository, World};
use forge_testkit::{LogWatch, watch_logs};
use serde_json::{Value, json};

/// The password of every account.
pub const PASSWORD: &str = "0canary0-correct-horse";

/// Returns the call that an error's hint names.
pub fn action(e: &Error) -> &Action {
    let action = e.hint().and_then(Hint::action);
    action.unwrap_or_else(|| panic!("no call is named: {e:?}"))
}

/// Returns the action to merge a pull request, as hints name it.
pub fn merging(uri: impl ToString) -> Action {
    Action::op(Op::PrMerge)
        .on(uri)
        .with(Param::Method, "rebase")
}

/// A world with accounts and a repository.
pub struct Stage {
    pub world: World,
    pub alice: Account,
    pub bob: Account,
    pub repo: Repository,
    id: RepoId,
    _logs: LogWatch,
}

impl Stage {
    pub fn new() -> Self {
        Self::of(World::start().unwrap())
    }

    /// Creates a stage in a given world.
    pub fn of(world: World) -> Self {
        let alice = world.pds().account("alice.test", PASSWORD);
        let bob = world.pds().account("bob.test", PASSWORD);
        let repo = world.repository(&alice, "widget");
        world.knot().add_collaborator(&repo, &bob.did);
        let id = RepoId {
            kind: ForgeKind::TANGLED,
            host: "tangled.org".to_owned(),
            path: RepoPath::Named {
                owner: alice.handle.clone(),
                name: repo.name.clone(),
            },
        };
        let stage = Self {
            world,
            alice,
            bob,
            repo,
            id,
            _logs: watch_logs(),
        };
        // The label for assignees, which tangled adds to every repository made on the web.
        stage.use_label(&json!({
            "name": "assignee",
            "valueType": { "type": "string", "format": "did" },
            "scope": ["sh.tangled.repo.pull", "sh.tangled.repo.issue"],
            "multiple": true,
            "createdAt": "2026-06-01T00:00:00Z",
        }));
        stage
    }

    /// Defines a label in Alice's account, adds it to the repository, and returns its at-uri.
    pub fn use_label(&self, definition: &Value) -> String {
        let (pds, did) = (self.world.pds(), &self.alice.did);
        let name = definition["name"].as_str().unwrap();
        let collection = "sh.tangled.label.definition";
        let (label, _) = pds.put(did, collection, name, definition.clone());
        let repo = format!("at://{did}/sh.tangled.repo/{}", self.repo.name);
        let (_, mut record) = pds.record(&repo).unwrap();
        let mut used = record["labels"].as_array().cloned().unwrap_or_default();
        used.push(json!(label));
        record["labels"] = Value::Array(used);
        pds.put(did, "sh.tangled.repo", &self.repo.name, record);
        label
    }

    /// Returns settings that lead a client to the world's hosts.
    pub fn settings(&self) -> TangledSettings {
        let at = |url: String| Origin::configured(&url).unwrap();
        let index = self.world.index();
        TangledSettings {
            web: at(index.web().url()),
            index: at(index.host().url()),
            backlinks: Some(at(index.backlinks().url())),
            plc: at(self.world.directory().host().url()),
            handles: Some(at(self.world.pds().host().url())),
            reach: Reach::Loopback,
            wait: Duration::from_secs(5),
            poll: Duration::from_millis(10),
            // A busy machine must not change the names and parts that a test sees.
            name_wait: Duration::from_secs(60),
            account_wait: Duration::from_secs(60),
            ..TangledSettings::usual().unwrap()
        }
    }

    pub fn tangled(&self, account: &Account) -> Tangled {
        self.tangled_with(self.settings(), Some(account))
    }

    /// Returns a client with other settings, or without an account.
    pub fn tangled_with(&self, settings: TangledSettings, account: Option<&Account>) -> Tangled {
        match account {
            Some(account) => self.tangled_as(settings, &account.handle, PASSWORD),
            None => Tangled::new(settings, http(), Arc::new(FixedLogin(None))),
        }
    }

    /// Returns a client with this login.
    pub fn tangled_as(&self, settings: TangledSettings, handle: &str, password: &str) -> Tangled {
        let login = PdsLogin {
            account: handle.to_owned(),
            password: Secret::new(password),
            pin: None,
        };
        self.tangled_by(settings, FixedLogin(Some(login)))
    }

    /// Returns a client that reads its login from `logins`.
    pub fn tangled_by(
        &self,
        settings: TangledSettings,
        logins: impl LoginSource + 'static,
    ) -> Tangled {
        Tangled::new(settings, http(), Arc::new(logins))
    }

    /// Opens a pull request from a new branch with one commit that adds a file.
    pub async fn open(&self, repo: &Repo, branch: &str) -> PullRequest {
        let message = format!("Add {branch}");
        let file = format!("{branch}.txt");
        self.repo
            .git
            .commit(branch, &message, &[(&file, Some("one\n"))]);
        let req = CreatePull::new(branch, format!("Title of {branch}"));
        repo.create_pull(&req).await.unwrap().value
    }

    pub fn handle(&self, account: &Account) -> Repo {
        let client = Client::new(Arc::new(self.tangled(account)), Policy::default());
        client.repo(self.id())
    }

    pub fn id(&self) -> RepoId {
        self.id.clone()
    }

    /// Returns the repository's id as a reference.
    pub fn repo_id(&self) -> &RepoId {
        &self.id
    }

    pub fn id_of(&self, repo: &Repository) -> RepoId {
        RepoId {
            path: RepoPath::Did(repo.did.clone()),
            ..self.id()
        }
    }

    /// Creates a repository of Tangled 1.0 for Alice; returns it with its id.
    pub fn repo_1_0(&self) -> (Repository, RepoId) {
        let repo = self.world.repository_1_0(&self.alice, "new");
        let id = self.id_of(&repo);
        (repo, id)
    }
}

fn http() -> Http {
    Http::new(forge_http::HttpSettings {
        retry: RetryPolicy::without_pauses(),
        in_flight: 8,
        ..forge_http::HttpSettings::default()
    })
    .unwrap()
}
