//! The situations in which `forge` meets a stranger's repository. `forge` opened the pull requests
//! before the canaries were planted.

use std::{
    fs,
    path::{Path, PathBuf},
};

use forge_testkit::{CANARY, GitDir, Identity, Run, Scratch, git_program};

use crate::{
    canaries::Canaries,
    local_world::{DATE, World},
    plant::{ATTRIBUTES, MODULES, Variant, plant},
};

/// Number of pull requests in each repository.
const PULLS: u64 = 9;

/// Environment variables with tokens, which `forge` must not pass on to its children.
const TOKENS: [&str; 8] = [
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GH_PROJECT_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "FORGE_MCP_TOKEN",
    "JIRA_TOKEN",
    "TANGLED_PASSWORD",
];

/// Programs that git looks up in the user's `PATH`.
const IN_PATH: &[&str] = &[
    "ssh",
    "gpg",
    "gpgsm",
    "ssh-keygen",
    "git-remote-canary",
    "git-remote-canary-vcs",
];

/// How `forge` meets the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Repository,
    LinkedWorkTree,
    Submodule,
    /// A bare repository among the files of a clone, in the clone's directory `docs`.
    EmbeddedBare,
    /// A clone of a repository that has all canaries.
    Clone,
}

/// A repository with canaries, and the directory from which the user runs `forge`.
pub struct Place {
    scratch: Scratch,
    /// The repository that has the canaries.
    pub planted: PathBuf,
    /// The directory in which the user runs `forge`.
    pub cwd: PathBuf,
    /// Values of `-R` and `repo` that name the repository with the canaries. `None` means the
    /// repository of `cwd`.
    pub named: Vec<Option<String>>,
    pub canaries: Canaries,
}

impl Place {
    /// Creates a place from the repository that [`pulls`] returns.
    pub fn new(origin: &World, kind: Kind, variant: Variant) -> Self {
        let scratch = Scratch::new();
        let mut canaries = Canaries::new(&scratch);
        let outside = scratch.path("outside");
        fs::create_dir_all(&outside).unwrap();
        // The user's own configuration names this program, not the repository's.
        let home = scratch.path("home/.gitconfig");
        let helper = canaries.program("users-credential.helper");
        let own = fs::read_to_string(&home).unwrap();
        let own = format!("{own}[credential]\n\thelper = {helper}\n");
        fs::write(&home, own).unwrap();
        canaries.directory("bin", IN_PATH);
        let repo = scratch.path("repo");
        copy(origin.git.path(), &repo);
        let path = |path: &Path| Some(path.to_str().unwrap().to_owned());
        let (cwd, named, planted) = match kind {
            Kind::Repository => (repo.clone(), vec![None, path(&repo)], repo.join(".git")),
            Kind::LinkedWorkTree => {
                let linked = scratch.path("linked");
                let args = ["worktree", "add", "-q", "-b", "linked"];
                git(&repo, &[&args[..], &[linked.to_str().unwrap()]].concat());
                (linked.clone(), vec![None, path(&linked)], repo.join(".git"))
            }
            Kind::Submodule => {
                let outer = submodule(&scratch, &repo);
                plant(Variant::Included, &outer.join(".git"), &outside, &canaries);
                let sub = outer.join("sub");
                let common = outer.join(".git/modules/sub");
                (sub.clone(), vec![None, path(&sub)], common)
            }
            Kind::EmbeddedBare => {
                let outer = scratch.path("outer");
                let _ = GitDir::init(&outer, &[]);
                let docs = outer.join("docs");
                copy(&repo.join(".git"), &docs);
                let config = fs::read_to_string(docs.join("config")).unwrap();
                let config = config.replace("bare = false", "bare = false\n\tworktree = .");
                fs::write(docs.join("config"), config).unwrap();
                (outer, vec![path(&docs), Some("./docs".to_owned())], docs)
            }
            Kind::Clone => {
                let clone = scratch.path("clone");
                let [from, to] = [&repo, &clone].map(|dir| dir.to_str().unwrap());
                git(&scratch.path(""), &["clone", "-q", from, to]);
                (clone, vec![None, path(&repo)], repo.join(".git"))
            }
        };
        plant(variant, &planted, &outside, &canaries);
        if kind == Kind::EmbeddedBare {
            git(&cwd, &["add", "-A"]);
            git(&cwd, &["commit", "-q", "-m", "Documentation"]);
        }
        canaries.sightings();
        Self {
            scratch,
            planted,
            cwd,
            named,
            canaries,
        }
    }

    /// Returns `forge` with Grace's settings in `cwd`, with every token in its environment.
    pub fn forge(&self, args: &[&str]) -> Run {
        self.with_tokens(self.scratch.forge(&self.cwd, &Identity::GRACE))
            .args(args)
    }

    /// Returns git with Grace's settings in `cwd`.
    pub fn git(&self, args: &[&str]) -> Run {
        let run = self.scratch.run(git_program()).dir(&self.cwd);
        let who = Identity::GRACE.variables();
        let run = who
            .into_iter()
            .fold(run, |run, (key, value)| run.env(key, value));
        self.with_tokens(run).args(args)
    }

    fn with_tokens(&self, run: Run) -> Run {
        let bin = self.scratch.path("canaries/bin");
        let path = std::env::var("PATH").unwrap_or_default();
        let run = run
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("GIT_AUTHOR_DATE", DATE)
            .env("GIT_COMMITTER_DATE", DATE);
        TOKENS.iter().fold(run, |run, name| {
            run.env(name, format!("gho_{CANARY}{}", name.to_ascii_lowercase()))
        })
    }
}

/// Creates a repository with nine pull requests. Each pull request changes another line of a file
/// that the base changes as well. The first pull request ends with a signed commit.
pub fn pulls() -> World {
    let world = World::new();
    let git = &world.git;
    let lib = |changed: u64| {
        (1..=20).fold(String::new(), |text, n| match n == changed {
            true => format!("{text}changed {n}\n"),
            false => format!("{text}line {n}\n"),
        })
    };
    let tree = [
        (".gitattributes", Some(ATTRIBUTES)),
        (".gitmodules", Some(MODULES)),
    ];
    git.commit("main", "Attributes", &tree);
    for n in 1..=PULLS {
        let (branch, file) = (format!("feature-{n}"), format!("feature-{n}.txt"));
        let (own, lib) = (format!("one\ntwo\nthree of {n}\n"), lib(2 * n));
        let files = [(&*file, Some(&*own)), ("src/lib.rs", Some(&*lib))];
        git.commit(&branch, &format!("Add {file}"), &files);
        if n == 1 {
            sign(git, &branch);
        }
        let title = format!("Title {n}");
        let create = ["pr", "create", "-H", &branch, "-t", &title, "-b", "Text."];
        world.forge(&create).ok();
    }
    git.commit("fresh", "Fresh", &[("fresh.txt", Some("fresh\n"))]);
    git.commit("main", "Meanwhile", &[("src/lib.rs", Some(&lib(20)))]);
    git.run(["reset", "--quiet", "--hard"]).ok();
    world
        .forge(&["issue", "create", "-t", "Issue", "-b", "Text."])
        .ok();
    world
        .grace(&["pr", "review", "1", "-c", "-b", "Text."])
        .ok();
    world
}

/// Signs the newest commit of a branch.
fn sign(git: &GitDir, branch: &str) {
    let commit = git.run(["cat-file", "commit", branch]).text();
    let (head, message) = commit.split_once("\n\n").unwrap();
    let signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----";
    let signed = format!("{head}\n{signature}\n\n{message}");
    let hash = git.run(["hash-object", "-t", "commit", "-w", "--stdin"]);
    git.set_branch(branch, hash.stdin(signed).text().trim());
}

/// Creates a repository with a submodule `sub` that has the pull requests. Returns the path of the
/// outer repository.
fn submodule(scratch: &Scratch, repo: &Path) -> PathBuf {
    let outer = scratch.path("outer");
    let _ = GitDir::init(&outer, &[]);
    let repo = repo.to_str().unwrap();
    let file = ["-c", "protocol.file.allow=always"];
    git(
        &outer,
        &[&file[..], &["submodule", "add", "-q", repo, "sub"]].concat(),
    );
    git(&outer, &["commit", "-q", "-m", "A submodule"]);
    let sub = outer.join("sub");
    git(&sub, &["fetch", "-q", "-u", "origin", "refs/*:refs/*"]);
    git(&sub, &["remote", "remove", "origin"]);
    outer
}

/// Runs git as the attacker.
fn git(dir: &Path, args: &[&str]) {
    GitDir::at(dir).run(args.iter().copied()).ok();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => {
                fs::copy(entry.path(), to).unwrap();
            }
        }
    }
}
