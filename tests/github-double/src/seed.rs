//! Fills the double: accounts, repositories with commits, pull requests and their content.

use std::{fmt::Write as _, ops::Deref, ops::DerefMut, sync::MutexGuard};

use forge_testkit::CANARY;

use super::{
    actions,
    git::{self, GitError},
    resolve::mail,
    state::{
        Account, AccountKind, CheckRun, CheckSuite, Comment, CommitStatus, Id, Issue, IssueType,
        Label, Lazy, Milestone, POINTS_AN_HOUR, Permission, Project, ProjectField, ProjectItem,
        Protection, Pull, PullState, Reaction, Repo, Review, ReviewComment, ReviewState, Ruleset,
        State, Team, Thread, Token,
    },
};

/// Scopes with which a token may do everything that the double covers.
pub const ALL_SCOPES: &[&str] = &["repo", "read:org", "project", "workflow", "delete_repo"];

impl State {
    fn add_account(&mut self, login: &str, name: Option<&str>, kind: AccountKind) -> Id {
        let id = self.next_id();
        let created_at = self.tick();
        self.accounts.insert(
            id,
            Account {
                id,
                login: login.to_owned(),
                name: name.map(str::to_owned),
                kind,
                members: std::collections::BTreeMap::new(),
                sso: false,
                has_verified_email: true,
                created_at,
            },
        );
        id
    }

    /// Creates a repository, and its first commit if `init` is true.
    pub(crate) fn add_repo(
        &mut self,
        owner: Id,
        name: &str,
        private: bool,
        init: bool,
    ) -> Result<Id, GitError> {
        let id = self.next_id();
        let git_dir = self.root.join(format!("{id}.git"));
        git::init_bare(&git_dir, "main")?;
        let now = self.tick();
        self.repos.insert(
            id,
            Repo {
                id,
                owner,
                name: name.to_owned(),
                description: None,
                private,
                archived: false,
                default_branch: "main".to_owned(),
                parent: None,
                git_dir,
                collaborators: std::collections::BTreeMap::new(),
                protections: std::collections::BTreeMap::new(),
                rulesets: Vec::new(),
                allow_merge: true,
                allow_squash: true,
                allow_rebase: true,
                allow_auto_merge: false,
                delete_branch_on_merge: false,
                last_number: 0,
                created_at: now.clone(),
                pushed_at: now,
            },
        );
        if init {
            let readme = format!("# {name}\n");
            self.add_commit(
                id,
                "main",
                None,
                &[("README.md", Some(readme.as_str()))],
                "Initial commit",
            )?;
        }
        Ok(id)
    }

    /// Creates a fork of a repository with all its branches.
    pub(crate) fn add_fork(&mut self, parent: Id, owner: Id, name: &str) -> Result<Id, GitError> {
        let id = self.add_repo(owner, name, false, false)?;
        let parent_repo = self.repos.get(&parent).cloned();
        if let (Some(parent), Some(fork)) = (parent_repo, self.repos.get_mut(&id)) {
            fork.parent = Some(parent.id);
            fork.private = parent.private;
            fork.default_branch.clone_from(&parent.default_branch);
            git::fetch(
                &fork.git_dir,
                &parent.git_dir,
                "refs/heads/*",
                "refs/heads/*",
            )?;
            let head = format!("refs/heads/{}", parent.default_branch);
            git::run(&fork.git_dir, &["symbolic-ref", "HEAD", &head])?;
        }
        Ok(id)
    }

    /// Deletes a repository with its pull requests and issues. Pull requests from its branches to
    /// other repositories stay, without a head repository.
    pub(crate) fn delete_repo(&mut self, id: Id) {
        self.pulls.retain(|_, pull| pull.repo != id);
        self.issues.retain(|_, issue| issue.repo != id);
        for pull in self.pulls.values_mut() {
            if pull.head_repo == Some(id) {
                pull.head_repo = None;
            }
        }
        if let Some(repo) = self.repos.remove(&id) {
            // The double's directory is deleted at the end, so files that remain here do no harm.
            let _ = std::fs::remove_dir_all(repo.git_dir);
        }
    }

    /// Commits files on a branch. A new branch starts at `from`.
    fn add_commit(
        &mut self,
        repo: Id,
        branch: &str,
        from: Option<&str>,
        files: &[(&str, Option<&str>)],
        message: &str,
    ) -> Result<String, GitError> {
        let owner = self.repos.get(&repo).map_or(0, |repo| repo.owner);
        let login = self.login(owner).to_owned();
        self.tick();
        let seconds = self.now_seconds();
        let Some(dir) = self.repos.get(&repo).map(|repo| repo.git_dir.clone()) else {
            return Ok(String::new());
        };
        let before = actions::branches(self, repo);
        let parent =
            git::branch(&dir, branch).or_else(|| from.and_then(|from| git::commit_of(&dir, from)));
        let mut stream = format!(
            "commit refs/heads/{branch}\ncommitter {login} <{}> {seconds} +0000\ndata {}\n{message}\n",
            mail(&login),
            message.len()
        )
        .into_bytes();
        if let Some(parent) = parent {
            stream.extend_from_slice(format!("from {parent}\n").as_bytes());
        }
        for (path, content) in files {
            match content {
                Some(content) => {
                    let head = format!("M 100644 inline {path}\ndata {}\n", content.len());
                    stream.extend_from_slice(head.as_bytes());
                    stream.extend_from_slice(content.as_bytes());
                    stream.push(b'\n');
                }
                None => stream.extend_from_slice(format!("D {path}\n").as_bytes()),
            }
        }
        git::run_with_input(&dir, &["fast-import", "--quiet", "--force"], &stream)?;
        actions::refs_moved(self, repo, &before, owner);
        Ok(git::branch(&dir, branch).unwrap_or_default())
    }
}

/// Values for a new pull request.
#[derive(Debug, Clone, Default)]
pub struct PullSeed<'a> {
    /// Login of the author. An empty text means the repository's owner.
    pub author: &'a str,
    /// Title of the pull request.
    pub title: &'a str,
    /// Body of the pull request.
    pub body: &'a str,
    /// Head branch: `branch`, or `owner:branch` for a fork's branch.
    pub head: &'a str,
    /// Base branch. An empty text means the default branch.
    pub base: &'a str,
    /// True if the pull request is not ready for review.
    pub draft: bool,
    /// Names of the pull request's labels.
    pub labels: &'a [&'a str],
    /// Logins of the pull request's assignees.
    pub assignees: &'a [&'a str],
}

/// The locked state of a running double, which a test fills and inspects.
///
/// Requests wait until this value is dropped. Every method panics if an object that its arguments
/// name does not exist, because a double fails by panicking.
pub struct Seed<'a>(pub(super) MutexGuard<'a, State>);

impl Deref for Seed<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

impl DerefMut for Seed<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.0
    }
}

#[allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a double fails by panicking"
)]
impl Seed<'_> {
    /// Returns the user with this login, and creates the user if necessary.
    pub fn user(&mut self, login: &str) -> Id {
        if let Some(account) = self.account(login) {
            return account.id;
        }
        self.0.add_account(login, None, AccountKind::User)
    }

    /// Creates a user who has a display name.
    pub fn named_user(&mut self, login: &str, name: &str) -> Id {
        self.0.add_account(login, Some(name), AccountKind::User)
    }

    /// Takes an account's verified e-mail address away.
    ///
    /// # Panics
    ///
    /// Panics if there is no such account.
    pub fn unverify_email(&mut self, login: &str) {
        let id = self.find_account(login);
        let account = self.0.accounts.get_mut(&id);
        account.expect("an account").has_verified_email = false;
    }

    /// Creates a bot.
    pub fn bot(&mut self, login: &str) -> Id {
        self.0.add_account(login, None, AccountKind::Bot)
    }

    /// Creates an organisation whose members have the given permission in its repositories.
    pub fn org(&mut self, login: &str, members: &[(&str, Permission)]) -> Id {
        let id = self.0.add_account(login, None, AccountKind::Organization);
        for (member, permission) in members {
            let member = self.user(member);
            if let Some(org) = self.0.accounts.get_mut(&id) {
                org.members.insert(member, *permission);
            }
        }
        id
    }

    /// Makes an organisation require single sign-on.
    pub fn require_sso(&mut self, org: &str) {
        let id = self.find_account(org);
        if let Some(org) = self.0.accounts.get_mut(&id) {
            org.sso = true;
        }
    }

    /// Creates a team of an organisation.
    pub fn team(&mut self, org: &str, slug: &str, members: &[&str]) -> Id {
        let org = self.find_account(org);
        let members = members.iter().map(|login| self.user(login)).collect();
        let id = self.0.next_id();
        let created_at = self.0.tick();
        self.0.teams.insert(
            id,
            Team {
                id,
                org,
                name: slug.to_owned(),
                slug: slug.to_owned(),
                members,
                created_at,
            },
        );
        id
    }

    /// Gives a user a classic token with scopes. [`ALL_SCOPES`] permits everything.
    ///
    /// The text must contain [`CANARY`], so that tests detect a program that prints the token.
    pub fn token(&mut self, text: &str, login: &str, scopes: &[&str]) {
        assert!(
            text.contains(CANARY),
            "the token of {login} has not {CANARY} in it"
        );
        let account = self.user(login);
        let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        self.0.tokens.insert(
            text.to_owned(),
            Token {
                account,
                scopes: Some(scopes),
                read_only: false,
                no_teams: false,
                authorised: Vec::new(),
                revoked: false,
                remaining: POINTS_AN_HOUR,
            },
        );
    }

    /// Gives a user a fine-grained token, which has no scopes.
    pub fn fine_grained_token(&mut self, text: &str, login: &str, read_only: bool) {
        self.token(text, login, &[]);
        if let Some(token) = self.0.tokens.get_mut(text) {
            token.scopes = None;
            token.read_only = read_only;
        }
    }

    /// Removes a fine-grained token's permission to read an organisation's teams.
    pub fn hide_teams(&mut self, text: &str) {
        if let Some(token) = self.0.tokens.get_mut(text) {
            token.no_teams = true;
        }
    }

    /// Returns the number of an account.
    pub fn find_account(&self, login: &str) -> Id {
        self.account(login)
            .unwrap_or_else(|| panic!("no account {login}"))
            .id
    }

    /// Returns the number of the repository `owner/name`.
    pub fn find_repo(&self, full_name: &str) -> Id {
        full_name
            .split_once('/')
            .and_then(|(owner, name)| self.repo(owner, name))
            .unwrap_or_else(|| panic!("no repository {full_name}"))
            .id
    }

    /// Renames a repository, or transfers it to another account. The old name then redirects to it.
    pub fn move_repo(&mut self, full_name: &str, owner: &str, name: &str) {
        let id = self.find_repo(full_name);
        let owner = self.find_account(owner);
        self.0.moved.insert(full_name.to_ascii_lowercase(), id);
        if let Some(repo) = self.0.repos.get_mut(&id) {
            repo.owner = owner;
            name.clone_into(&mut repo.name);
        }
    }

    /// Returns the object number of the pull request with this number in a repository.
    pub fn find_pull(&self, full_name: &str, number: u64) -> Id {
        let repo = self.find_repo(full_name);
        self.0
            .pull(repo, number)
            .unwrap_or_else(|| panic!("no pull request {full_name}#{number}"))
            .id
    }

    /// Returns the state of a pull request.
    pub fn pull_of(&self, full_name: &str, number: u64) -> &Pull {
        let id = self.find_pull(full_name, number);
        self.0.pulls.get(&id).expect("found above")
    }

    /// Returns all pull requests of a repository, oldest first.
    pub fn pulls_of(&self, full_name: &str) -> Vec<&Pull> {
        let repo = self.find_repo(full_name);
        self.0.pulls.values().filter(|it| it.repo == repo).collect()
    }

    /// Returns the comments on a pull request or issue, oldest first. Comments in threads are left
    /// out.
    pub fn comments_of(&self, full_name: &str, number: u64) -> Vec<&Comment> {
        let id = self.find_subject(full_name, number);
        self.0
            .comments
            .values()
            .filter(|it| it.subject == id)
            .collect()
    }

    /// Returns the reviews of a pull request, oldest first.
    pub fn reviews_of(&self, full_name: &str, number: u64) -> Vec<&Review> {
        let id = self.find_pull(full_name, number);
        self.0.reviews.values().filter(|it| it.pull == id).collect()
    }

    fn find_subject(&self, full_name: &str, number: u64) -> Id {
        let repo = self.find_repo(full_name);
        let pull = self.0.pull(repo, number).map(|it| it.id);
        pull.or_else(|| self.0.issue(repo, number).map(|it| it.id))
            .unwrap_or_else(|| panic!("no issue or pull request {full_name}#{number}"))
    }

    /// Creates a public repository with a first commit on `main`, and its owner if necessary.
    pub fn repo_with_readme(&mut self, full_name: &str) -> Id {
        let (owner, name) = full_name.split_once('/').expect("owner/name");
        let owner = self.user(owner);
        self.0
            .add_repo(owner, name, false, true)
            .expect("a bare repository")
    }

    /// Creates an empty public repository, and its owner if necessary.
    pub fn empty_repo(&mut self, full_name: &str) -> Id {
        let (owner, name) = full_name.split_once('/').expect("owner/name");
        let owner = self.user(owner);
        self.0
            .add_repo(owner, name, false, false)
            .expect("a bare repository")
    }

    /// Forks a repository to an account.
    pub fn fork(&mut self, full_name: &str, owner: &str) -> Id {
        let parent = self.find_repo(full_name);
        let owner = self.user(owner);
        let name = full_name.split_once('/').map_or("", |(_, name)| name);
        self.0.add_fork(parent, owner, name).expect("a fork")
    }

    /// Deletes a repository. Pull requests from its branches to other repositories stay.
    pub fn delete_repo(&mut self, full_name: &str) {
        let id = self.find_repo(full_name);
        self.0.delete_repo(id);
    }

    /// Changes a repository's settings.
    pub fn configure(&mut self, full_name: &str, change: impl FnOnce(&mut Repo)) {
        let id = self.find_repo(full_name);
        change(self.0.repos.get_mut(&id).expect("found above"));
    }

    /// Gives an account a permission in a repository.
    pub fn collaborator(&mut self, full_name: &str, login: &str, permission: Permission) {
        let id = self.user(login);
        self.configure(full_name, |repo| {
            repo.collaborators.insert(id, permission);
        });
    }

    /// Protects a branch.
    pub fn protect(&mut self, full_name: &str, branch: &str, rules: Protection) {
        self.configure(full_name, |repo| {
            repo.protections.insert(branch.to_owned(), rules);
        });
    }

    /// Adds a ruleset to a repository and returns its number.
    pub fn ruleset(&mut self, full_name: &str, mut ruleset: Ruleset) -> Id {
        ruleset.id = self.0.next_id();
        let id = ruleset.id;
        self.configure(full_name, |repo| repo.rulesets.push(ruleset));
        id
    }

    /// Marks the signature of every commit in a pull request as verified.
    pub fn sign(&mut self, full_name: &str, number: u64) {
        let pull = self.pull_of(full_name, number).clone();
        let dir = self.0.repos.get(&pull.repo).expect("found above");
        let range = format!("{}..{}", pull.base_oid, pull.head_oid);
        let commits = git::commits(&dir.git_dir, &range).expect("the commits");
        self.0.signed.extend(commits.into_iter().map(|it| it.oid));
    }

    /// Records a successful deployment of a pull request's head to an environment.
    pub fn deploy(&mut self, full_name: &str, number: u64, environment: &str) {
        let head = self.pull_of(full_name, number).head_oid.clone();
        self.0.deployed.insert((environment.to_owned(), head));
    }

    /// Commits files on a branch, and returns the commit. The content `None` deletes a file. A new
    /// branch starts at the default branch.
    pub fn commit(
        &mut self,
        full_name: &str,
        branch: &str,
        files: &[(&str, Option<&str>)],
        message: &str,
    ) -> String {
        let id = self.find_repo(full_name);
        let from = self.0.repos.get(&id).map(|it| it.default_branch.clone());
        self.0
            .add_commit(id, branch, from.as_deref(), files, message)
            .expect("a commit")
    }

    /// Creates a label.
    pub fn label(&mut self, full_name: &str, name: &str) -> Id {
        let repo = self.find_repo(full_name);
        let id = self.0.next_id();
        let created_at = self.0.tick();
        self.0.labels.insert(
            id,
            Label {
                id,
                repo,
                name: name.to_owned(),
                color: "d73a4a".to_owned(),
                description: None,
                created_at,
            },
        );
        id
    }

    /// Creates an open milestone.
    pub fn milestone(&mut self, full_name: &str, title: &str) -> Id {
        let repo = self.find_repo(full_name);
        let creator = self.0.repos.get(&repo).map_or(0, |repo| repo.owner);
        let count = self
            .0
            .milestones
            .values()
            .filter(|it| it.repo == repo)
            .count();
        let id = self.0.next_id();
        let created_at = self.0.tick();
        self.0.milestones.insert(
            id,
            Milestone {
                id,
                repo,
                number: u64::try_from(count).unwrap_or(0) + 1,
                title: title.to_owned(),
                description: None,
                due_on: None,
                creator,
                closed: false,
                created_at,
            },
        );
        id
    }

    /// Creates an issue type of an organisation.
    pub fn issue_type(&mut self, owner: &str, name: &str) -> Id {
        let owner = self.find_account(owner);
        let id = self.0.next_id();
        let name = name.to_owned();
        self.0.issue_types.insert(id, IssueType { id, owner, name });
        id
    }

    /// Opens an issue and returns its number.
    pub fn open_issue(&mut self, full_name: &str, author: &str, title: &str, body: &str) -> u64 {
        let repo = self.find_repo(full_name);
        let author = self.user(author);
        let id = self.0.next_id();
        let now = self.0.tick();
        let number = self.0.next_number(repo);
        self.0.issues.insert(
            id,
            Issue {
                id,
                repo,
                number,
                title: title.to_owned(),
                body: body.to_owned(),
                author,
                state: PullState::Open,
                reason: None,
                duplicate_of: None,
                labels: Vec::new(),
                assignees: Vec::new(),
                milestone: None,
                issue_type: None,
                locked: None,
                pinned: false,
                sub_issues: Vec::new(),
                blocked_by: Vec::new(),
                events: Vec::new(),
                created_at: now.clone(),
                updated_at: now,
                closed_at: None,
            },
        );
        number
    }

    /// Returns an issue.
    pub fn issue_of(&self, full_name: &str, number: u64) -> &Issue {
        let repo = self.find_repo(full_name);
        self.0.issue(repo, number).expect("an issue")
    }

    /// Pins an issue to the top of the list.
    pub fn pin_issue(&mut self, full_name: &str, number: u64) {
        let id = self.issue_of(full_name, number).id;
        if let Some(issue) = self.0.issues.get_mut(&id) {
            issue.pinned = true;
        }
    }

    /// Makes `sub` a sub-issue of `parent`; both are `owner/name` and number.
    pub fn sub_issue(&mut self, parent: (&str, u64), sub: (&str, u64)) {
        let sub = self.issue_of(sub.0, sub.1).id;
        let parent = self.issue_of(parent.0, parent.1).id;
        if let Some(issue) = self.0.issues.get_mut(&parent) {
            issue.sub_issues.push(sub);
        }
    }

    /// Makes `blocker` block `issue`. Both are given by `owner/name` and number.
    pub fn blocked_by(&mut self, issue: (&str, u64), blocker: (&str, u64)) {
        let blocker = self.issue_of(blocker.0, blocker.1).id;
        let issue = self.issue_of(issue.0, issue.1).id;
        if let Some(issue) = self.0.issues.get_mut(&issue) {
            issue.blocked_by.push(blocker);
        }
    }

    /// Adds an existing label to an issue.
    pub fn label_issue(&mut self, full_name: &str, number: u64, label: &str) {
        let id = self.issue_of(full_name, number).id;
        let repo = self.find_repo(full_name);
        let mut labels = self.0.labels.values();
        let label = labels.find(|it| it.repo == repo && it.name == label);
        let label = label.expect("a label").id;
        if let Some(issue) = self.0.issues.get_mut(&id) {
            issue.labels.push(label);
        }
    }

    /// Opens a pull request, and returns its number. If the head branch is missing, it is created
    /// with one new file.
    pub fn open_pull(&mut self, full_name: &str, seed: &PullSeed<'_>) -> u64 {
        let repo = self.find_repo(full_name);
        let base_repo = self.0.repos.get(&repo).cloned().expect("found above");
        let (head_full, branch) = match seed.head.split_once(':') {
            Some((owner, branch)) => (format!("{owner}/{}", base_repo.name), branch),
            None => (full_name.to_owned(), seed.head),
        };
        let head_repo = self.find_repo(&head_full);
        let head_dir = self
            .0
            .repos
            .get(&head_repo)
            .expect("found above")
            .git_dir
            .clone();
        if git::branch(&head_dir, branch).is_none() {
            let file = format!("{}.txt", branch.replace('/', "-"));
            self.commit(
                &head_full,
                branch,
                &[(&file, Some("new\n"))],
                &format!("Add {file}"),
            );
        }
        let head_oid = git::branch(&head_dir, branch).expect("made above");
        let base = if seed.base.is_empty() {
            base_repo.default_branch.clone()
        } else {
            seed.base.to_owned()
        };
        let base_oid = git::branch(&base_repo.git_dir, &base)
            .unwrap_or_else(|| panic!("no branch {base} in {full_name}"));
        let author = if seed.author.is_empty() {
            base_repo.owner
        } else {
            self.user(seed.author)
        };
        let labels = seed
            .labels
            .iter()
            .map(|name| self.find_label(repo, name))
            .collect();
        let assignees = seed
            .assignees
            .iter()
            .map(|login| self.user(login))
            .collect();
        let head_owner = self.0.repos.get(&head_repo).expect("found above").owner;
        let id = self.0.next_id();
        let now = self.0.tick();
        let number = self.0.next_number(repo);
        self.0.pulls.insert(
            id,
            Pull {
                id,
                repo,
                number,
                title: seed.title.to_owned(),
                body: seed.body.to_owned(),
                edited: false,
                author,
                state: PullState::Open,
                draft: seed.draft,
                base_branch: base,
                base_oid,
                head_repo: Some(head_repo),
                head_owner,
                head_branch: branch.to_owned(),
                head_oid: String::new(),
                pusher: author,
                maintainer_can_modify: head_repo != repo,
                labels,
                assignees,
                milestone: None,
                requested: Vec::new(),
                locked: None,
                merge: None,
                auto_merge: None,
                lazy: Lazy::Stale {
                    reads: 0,
                    request: 0,
                },
                events: Vec::new(),
                created_at: now.clone(),
                updated_at: now,
                closed_at: None,
            },
        );
        actions::set_head(&mut self.0, id, &head_oid, author).expect("a ref of the pull request");
        actions::request_owners(&mut self.0, id);
        number
    }

    fn find_label(&self, repo: Id, name: &str) -> Id {
        self.0
            .labels
            .values()
            .find(|label| label.repo == repo && label.name == name)
            .unwrap_or_else(|| panic!("no label {name}"))
            .id
    }

    /// Opens many pull requests, each from a branch `bulk-N` with one new file.
    pub fn many_pulls(&mut self, full_name: &str, count: usize) {
        let repo = self.find_repo(full_name);
        let base = self.0.repos.get(&repo).cloned().expect("found above");
        let tip = git::branch(&base.git_dir, &base.default_branch).expect("a first commit");
        let login = self.0.login(base.owner).to_owned();
        let first = base.last_number + 1;
        let mut stream = String::new();
        for number in first..first + u64::try_from(count).unwrap_or(0) {
            // Writing to a string cannot fail.
            let _ = write!(
                stream,
                "commit refs/heads/bulk-{number}\ncommitter {login} <{}> {} +0000\ndata 4\nBulk\nfrom {tip}\nM 100644 inline bulk-{number}.txt\ndata 4\nnew\n\n",
                mail(&login),
                self.0.now_seconds(),
            );
        }
        git::run_with_input(
            &base.git_dir,
            &["fast-import", "--quiet"],
            stream.as_bytes(),
        )
        .expect("branches");
        let refs = git::refs(&base.git_dir, "refs/heads/").expect("the branches");
        let mut updates = String::new();
        for number in first..first + u64::try_from(count).unwrap_or(0) {
            let branch = format!("bulk-{number}");
            let oid = refs
                .get(&format!("refs/heads/{branch}"))
                .expect("made above");
            let id = self.0.next_id();
            let now = self.0.tick();
            let number = self.0.next_number(repo);
            let _ = writeln!(updates, "create refs/pull/{number}/head {oid}");
            let mut pull = Pull {
                title: format!("Change {number}"),
                head_oid: oid.clone(),
                base_oid: tip.clone(),
                id,
                number,
                created_at: now.clone(),
                updated_at: now,
                ..super::mutations::blank_pull(
                    base.owner,
                    repo,
                    &base.default_branch,
                    &base,
                    &branch,
                )
            };
            pull.body = format!("Body of change {number}.");
            self.0.pulls.insert(id, pull);
        }
        git::run_with_input(
            &base.git_dir,
            &["update-ref", "--stdin"],
            updates.as_bytes(),
        )
        .expect("refs of the pull requests");
    }

    /// Adds a comment to an issue or a pull request.
    pub fn comment(&mut self, full_name: &str, number: u64, author: &str, body: &str) -> Id {
        let subject = self.find_subject(full_name, number);
        let author = self.user(author);
        let id = self.0.next_id();
        let now = self.0.tick();
        self.0.comments.insert(
            id,
            Comment {
                id,
                subject,
                author,
                body: body.to_owned(),
                created_at: now.clone(),
                updated_at: now,
                edited: false,
                minimized: None,
            },
        );
        id
    }

    /// Adds a review to a pull request.
    pub fn review(
        &mut self,
        full_name: &str,
        number: u64,
        author: &str,
        verdict: ReviewState,
        body: &str,
    ) -> Id {
        let pull = self.pull_of(full_name, number).clone();
        let author = self.user(author);
        let id = self.0.next_id();
        let now = self.0.tick();
        self.0.reviews.insert(
            id,
            Review {
                id,
                pull: pull.id,
                author,
                state: verdict,
                body: body.to_owned(),
                commit: pull.head_oid,
                created_at: now.clone(),
                submitted_at: (verdict != ReviewState::Pending).then(|| now.clone()),
                updated_at: now,
                edited: false,
                minimized: None,
            },
        );
        if verdict != ReviewState::Pending {
            actions::remove_answered_requests(&mut self.0, pull.id, author);
        }
        id
    }

    /// Opens a thread on a file of a pull request.
    pub fn thread(&mut self, full_name: &str, number: u64, author: &str, path: &str) -> Id {
        let review = self.review(full_name, number, author, ReviewState::Commented, "");
        let pull = self.pull_of(full_name, number).clone();
        let author = self.user(author);
        let (id, comment) = (self.0.next_id(), self.0.next_id());
        let now = self.0.tick();
        self.0.threads.insert(
            id,
            Thread {
                id,
                pull: pull.id,
                path: path.to_owned(),
                line: None,
                start_line: None,
                side: "RIGHT".to_owned(),
                start_side: None,
                commit: pull.head_oid,
                resolved_by: None,
            },
        );
        self.0.review_comments.insert(
            comment,
            ReviewComment {
                id: comment,
                thread: id,
                review,
                reply_to: None,
                author,
                body: "Why?".to_owned(),
                hunk: String::new(),
                created_at: now.clone(),
                updated_at: now,
                edited: false,
                minimized: None,
            },
        );
        id
    }

    /// Adds a reply to a thread.
    pub fn reply(&mut self, thread: Id, author: &str, body: &str) -> Id {
        let author = self.user(author);
        let (id, now) = (self.0.next_id(), self.0.tick());
        let mut comments = self.0.review_comments.values();
        let first = comments.find(|it| it.thread == thread).expect("a thread");
        let reply = ReviewComment {
            id,
            reply_to: Some(first.id),
            author,
            body: body.to_owned(),
            created_at: now.clone(),
            updated_at: now,
            ..first.clone()
        };
        self.0.review_comments.insert(id, reply);
        id
    }

    /// Opens a pull request with 3,000 files, 2,000 comments, 20 threads and 400 checks.
    pub fn large_pull(&mut self, full_name: &str) -> u64 {
        let text = "a line that a file has\n".repeat(8);
        let names: Vec<String> = (0..3000)
            .map(|n| format!("src/part{}/file{n:04}.rs", n % 50))
            .collect();
        let files: Vec<_> = names
            .iter()
            .map(|n| (n.as_str(), Some(text.as_str())))
            .collect();
        self.commit(full_name, "large", &files, "Change everything");
        let number = self.open_pull(
            full_name,
            &PullSeed {
                author: "grace",
                title: "Change everything",
                head: "large",
                ..PullSeed::default()
            },
        );
        for n in 0..2000 {
            let body = format!("Comment {n}: what somebody thinks of it.");
            self.comment(full_name, number, "grace", &body);
        }
        for name in names.iter().take(20) {
            self.thread(full_name, number, "grace", name);
        }
        for n in 0..400 {
            let conclusion = if n % 100 == 7 { "FAILURE" } else { "SUCCESS" };
            self.check(full_name, number, "CI", &format!("job {n:03}"), conclusion);
        }
        number
    }

    /// Creates a check run on the head of a pull request, in a separate workflow run.
    ///
    /// `conclusion` is GitHub's name for the conclusion of a completed run, or for the status of an
    /// unfinished run.
    pub fn check(
        &mut self,
        full_name: &str,
        number: u64,
        workflow: &str,
        name: &str,
        conclusion: &str,
    ) -> Id {
        let workflow = Some(workflow);
        self.check_of(
            full_name,
            number,
            ("github-actions", workflow),
            name,
            conclusion,
        )
    }

    /// Creates a check run as [`Self::check`] does, for the given app. If the app is GitHub
    /// Actions, the run also has a workflow.
    pub fn check_of(
        &mut self,
        full_name: &str,
        number: u64,
        (app, workflow): (&str, Option<&str>),
        name: &str,
        conclusion: &str,
    ) -> Id {
        let pull = self.pull_of(full_name, number).clone();
        let suite = self.0.next_id();
        let started = self.0.tick();
        self.0.suites.insert(
            suite,
            CheckSuite {
                id: suite,
                repo: pull.repo,
                commit: pull.head_oid,
                app: app.to_owned(),
                workflow: workflow.map(str::to_owned),
                event: workflow.map(|_| "pull_request".to_owned()),
                created_at: started.clone(),
            },
        );
        let running = matches!(
            conclusion,
            "QUEUED" | "IN_PROGRESS" | "WAITING" | "REQUESTED" | "PENDING"
        );
        let id = self.0.next_id();
        let completed = self.0.tick();
        self.0.runs.insert(
            id,
            CheckRun {
                id,
                suite,
                name: name.to_owned(),
                status: if running { conclusion } else { "COMPLETED" }.to_owned(),
                conclusion: (!running).then(|| conclusion.to_owned()),
                started_at: Some(started),
                completed_at: (!running).then_some(completed),
                details_url: Some(format!("https://ci.example/{id}")),
                title: None,
                summary: None,
                annotations: Vec::new(),
                steps: Vec::new(),
            },
        );
        self.run_auto_merges();
        id
    }

    /// Gives a check run a title, annotations, and a failed step after a passed one. An annotation
    /// has a level, a path, a line and a message.
    pub fn explain(
        &mut self,
        run: Id,
        (title, step): (&str, &str),
        annotations: &[(&'static str, &str, u64, &str)],
    ) {
        let found = self.0.runs.get_mut(&run).expect("no such check run");
        found.title = Some(title.to_owned());
        found.steps = vec![
            ("Set up job".to_owned(), "SUCCESS"),
            (step.to_owned(), "FAILURE"),
        ];
        let owned = |(level, path, line, message): &(&'static str, &str, u64, &str)| {
            (*level, (*path).to_owned(), *line, (*message).to_owned())
        };
        found.annotations = annotations.iter().map(owned).collect();
    }

    /// Gives a check run a log, and a job page that leads to it.
    pub fn log(&mut self, run: Id, text: &str) {
        let found = self.0.runs.get_mut(&run).expect("no such check run");
        let page = format!("actions/runs/{}/job/{run}", found.suite);
        found.details_url = Some(format!("https://github.localhost/octo/tools/{page}"));
        self.0.logs.insert(run, text.to_owned());
    }

    /// Sets a commit status on the head of a pull request.
    pub fn status(&mut self, full_name: &str, number: u64, context: &str, state: &str) -> Id {
        let pull = self.pull_of(full_name, number).clone();
        let id = self.0.next_id();
        let created_at = self.0.tick();
        self.0.statuses.insert(
            id,
            CommitStatus {
                id,
                repo: pull.repo,
                commit: pull.head_oid,
                context: context.to_owned(),
                state: state.to_owned(),
                description: Some(format!("{context} is {}", state.to_lowercase())),
                target_url: Some(format!("https://ci.example/status/{id}")),
                creator: pull.author,
                created_at,
            },
        );
        self.run_auto_merges();
        id
    }

    /// Creates a project with a title field and a `Status` field with the given options.
    pub fn project(&mut self, owner: &str, title: &str, options: &[&str]) -> Id {
        let owner = self.find_account(owner);
        let count = self
            .0
            .projects
            .values()
            .filter(|it| it.owner == owner)
            .count();
        let id = self.0.next_id();
        let title_field = self.0.next_id();
        let created_at = self.0.tick();
        let title_field = ProjectField {
            id: title_field,
            name: "Title".to_owned(),
            kind: "TITLE".to_owned(),
            options: Vec::new(),
        };
        self.0.projects.insert(
            id,
            Project {
                id,
                owner,
                number: u64::try_from(count).unwrap_or(0) + 1,
                title: title.to_owned(),
                closed: false,
                fields: vec![
                    title_field,
                    ProjectField::single_select(id, "Status", options),
                ],
                created_at,
            },
        );
        id
    }

    /// Adds a single-select field to a project.
    pub fn project_field(&mut self, project: Id, name: &str, options: &[&str]) -> Id {
        let id = self.0.next_id();
        if let Some(project) = self.0.projects.get_mut(&project) {
            let field = ProjectField::single_select(id, name, options);
            project.fields.push(field);
        }
        id
    }

    /// Adds a pull request or an issue to a project, with a status if one is given.
    pub fn project_item(&mut self, project: Id, full_name: &str, number: u64, status: &str) -> Id {
        let content = self.find_subject(full_name, number);
        let id = self.0.next_id();
        let created_at = self.0.tick();
        self.0.items.insert(
            id,
            ProjectItem {
                id,
                project,
                content,
                values: std::collections::BTreeMap::new(),
                archived: false,
                created_at,
            },
        );
        self.project_value(id, "Status", status);
        id
    }

    /// Sets a field of a project item, if the field has the option `value`.
    pub fn project_value(&mut self, item: Id, field: &str, value: &str) {
        let project = self.0.items.get(&item).map_or(0, |it| it.project);
        let field = self.0.projects.get(&project).and_then(|it| it.field(field));
        let option = field.and_then(|field| {
            let option = field.options.iter().find(|it| it.name == value)?;
            Some((field.id, option.id.clone()))
        });
        if let (Some((field, option)), Some(item)) = (option, self.0.items.get_mut(&item)) {
            item.values.insert(field, option);
        }
    }

    /// Archives a project item.
    pub fn archive_item(&mut self, item: Id) {
        if let Some(item) = self.0.items.get_mut(&item) {
            item.archived = true;
        }
    }

    /// Returns a pull request's or an issue's values on a project, by field name.
    pub fn project_values(
        &self,
        project: Id,
        full_name: &str,
        number: u64,
    ) -> Vec<(String, String)> {
        let content = self.find_subject(full_name, number);
        let mut items = self.0.items.values();
        let item = items.find(|it| it.project == project && it.content == content);
        let fields = self.0.projects.get(&project).map(|it| &it.fields);
        let value = |field: &ProjectField| {
            let chosen = item?.values.get(&field.id)?;
            let option = field.options.iter().find(|it| it.id == *chosen)?;
            Some((field.name.clone(), option.name.clone()))
        };
        fields.into_iter().flatten().filter_map(value).collect()
    }

    /// Adds a reaction to a pull request. `content` is GitHub's name for the reaction, such as
    /// `HEART`.
    pub fn react(&mut self, full_name: &str, number: u64, login: &str, content: &str) {
        let repo = self.find_repo(full_name);
        let issue = self.0.issue(repo, number).map(|it| it.id);
        let subject = issue.unwrap_or_else(|| self.find_pull(full_name, number));
        let user = self.user(login);
        let id = self.0.next_id();
        let created_at = self.0.tick();
        let reaction = Reaction {
            id,
            user,
            content: content.to_owned(),
            created_at,
        };
        self.0.reactions.entry(subject).or_default().push(reaction);
    }

    /// Creates a stack of pull requests, given from bottom to top.
    pub fn stack(&mut self, full_name: &str, numbers: &[u64]) {
        let repo = self.find_repo(full_name);
        let ids = numbers.iter().map(|n| self.find_pull(full_name, *n));
        let ids = ids.collect();
        self.0.add_stack(repo, ids);
    }

    /// Merges all pull requests that are in merge queues.
    pub fn run_queue(&mut self) {
        if let Err(fail) = actions::run_queue(&mut self.0) {
            panic!("the merge queue failed: {}", fail.message);
        }
    }

    /// Runs the auto-merges whose requirements are now met.
    fn run_auto_merges(&mut self) {
        if let Err(fail) = actions::auto_merges(&mut self.0, "") {
            panic!("auto-merge failed: {}", fail.message);
        }
    }
}
