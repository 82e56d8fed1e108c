//! The test rig of pull requests that are stored in a git repository.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use forge_core::{Capabilities, Client, Forge, Observer, Op, Policy, Repo, Trust};
use forge_local::Local;
use forge_testkit::{
    GitDir, Identity, Scratch,
    behaviour::{Facts, Fixture, Rig},
};

/// Creates a repository for every trial.
pub struct LocalRig {
    name: &'static str,
    init: &'static [&'static str],
}

impl LocalRig {
    /// Creates a rig of repositories with a work tree, as users have.
    pub fn ordinary() -> Self {
        Self {
            name: "local",
            init: &[],
        }
    }

    /// Creates a rig of bare repositories with SHA-256, as a server may have.
    pub fn bare_sha256() -> Self {
        Self {
            name: "local-bare-sha256",
            init: &["--bare", "--object-format=sha256"],
        }
    }
}

#[async_trait]
impl Rig for LocalRig {
    fn name(&self) -> &str {
        self.name
    }

    fn capabilities(&self) -> &'static Capabilities {
        &forge_local::CAPABILITIES
    }

    fn facts(&self) -> Facts {
        Facts {
            names_conflicts: true,
            context_lines: true,
            names_ends: true,
            diff_lines: usize::MAX,
            writers_moderate: false,
            checks_qualifiers: true,
            texts_link: true,
            knows_what_is_on_top: true,
            stacks_by_base: true,
            stacks_merge_together: false,
            author_email: Identity::ADA.email,
        }
    }

    fn exceptions(&self) -> &'static [(&'static str, &'static str)] {
        &[(
            "stacks::second_child_is_refused",
            "any number of branches may have grown out of one",
        )]
    }

    async fn fixture(&self) -> Fixture {
        let scratch = Scratch::new();
        let git = GitDir::init(&scratch.path("repo"), self.init);
        let who = scratch.path("who.inc");
        // The backend runs in this process and reads the machine's git configuration, so this code
        // overrides the settings that would change a result.
        for (key, value) in [
            ("include.path", who.to_str().unwrap_or_default()),
            ("commit.gpgSign", "false"),
            ("core.hooksPath", "/dev/null"),
        ] {
            git.run(["config", key, value]).ok();
        }
        fs::write(&who, "").unwrap_or_else(|e| panic!("{}: {e}", who.display()));
        let forge = Local::open(git.path(), Trust::Person)
            .await
            .unwrap_or_else(|e| panic!("{e:?}"));
        let id = forge.id().clone();
        let handle = |identity: Identity| -> Repo {
            let acts: Arc<dyn Observer> = Arc::new(Acts {
                who: who.clone(),
                identity,
            });
            let mut policy = Policy::default();
            policy.observer = Some(acts);
            Client::new(Arc::clone(&forge) as Arc<dyn Forge>, policy).repo(id.clone())
        };
        Fixture {
            author: handle(Identity::ADA),
            reviewer: handle(Identity::GRACE),
            git,
            board: None,
            facts: self.facts(),
            keep: Box::new(scratch),
        }
    }
}

/// Sets `identity` in git's configuration before every call, because a plain repository has no
/// accounts.
struct Acts {
    who: PathBuf,
    identity: Identity,
}

impl Observer for Acts {
    fn started(&self, _op: Op, _target: &str) {
        let Identity { name, email } = self.identity;
        let new = self.who.with_extension(self.identity.login());
        fs::write(
            &new,
            format!("[user]\n\tname = {name}\n\temail = {email}\n"),
        )
        .and_then(|()| fs::rename(&new, &self.who))
        .unwrap_or_else(|e| panic!("{}: {e}", self.who.display()));
    }

    fn finished(&self, _op: Op, _target: &str, _took: Duration, _error: Option<&'static str>) {}

    fn rate_limited(&self, _host: &str, _wait: Duration) {}
}
