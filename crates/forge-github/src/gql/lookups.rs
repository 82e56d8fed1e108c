//! Resolves the names of labels, people, teams, milestones and boards to ids. The lookups are part
//! of another query, so they need no request of their own.

use std::{collections::BTreeMap, fmt::Write};

use forge_core::{
    Action, Error, Hint, Op, Param, Result,
    model::{BoardId, Reviewer},
    suggest,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{GqlDocument, types};
use crate::error::GqlError;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lookups {
    labels: Vec<String>,
    users: Vec<(String, &'static str)>,
    teams: Vec<String>,
    milestone: Option<String>,
    issue_types: bool,
    projects: Vec<String>,
    boards: bool,
    viewer: bool,
    copilot: bool,
    branches: Vec<(&'static str, String)>,
    fork: Option<(String, String, String)>,
    files: Option<(Option<String>, Vec<String>)>,
    below: Option<u64>,
    issues: Vec<(String, String, u64)>,
    numbered: Vec<BoardId>,
}

/// The hundred most recently updated open boards of a repository, organization or person.
const BOARDS: &str = "projectsV2(first: 100, query: \"is:open\", orderBy: { field: UPDATED_AT, \
                      direction: DESC }) { ...Boards }";
/// The alias of the branch that file edits are based on.
const ONTO: &str = "onto";
/// The alias and variable of the pull request that a new one builds on.
const BELOW: &str = "below";
/// The prefix of issue aliases.
const TARGET: &str = "target";
/// The prefixes of board aliases. A board is looked up under both, because its owner may be a user
/// or an organization.
const BOARD_OF_USER: &str = "boardOfUser";
const BOARD_OF_ORGANIZATION: &str = "boardOfOrg";
/// The alias of the repository that contains the head branch.
pub(crate) const FORK: &str = "fork";
/// The name that users give for their own login, as in gh.
const ME: &str = "@me";
/// The name that users give for Copilot, as in gh.
const COPILOT: &str = "@copilot";
/// The login of the bot that reviews as Copilot.
pub(crate) const COPILOT_REVIEWER: &str = "copilot-pull-request-reviewer";
/// The login of the bot that is assigned as Copilot.
pub(crate) const COPILOT_AGENT: &str = "copilot-swe-agent";

pub(crate) fn is_copilot(login: &str) -> bool {
    login.eq_ignore_ascii_case(COPILOT)
}

/// Returns the login of the bot, if `reviewer` is a bot or `@copilot`.
pub(crate) fn bot(reviewer: &Reviewer) -> Option<&str> {
    match reviewer {
        Reviewer::User { login, .. } if is_copilot(login) => Some(COPILOT_REVIEWER),
        Reviewer::Bot { login } => Some(login),
        _ => None,
    }
}

impl Lookups {
    pub fn labels<'a>(&mut self, names: impl IntoIterator<Item = &'a String>) {
        for name in names {
            if !self.labels.iter().any(|l| l.eq_ignore_ascii_case(name)) {
                self.labels.push(name.clone());
            }
        }
    }

    /// Looks up assignees by login, including `@me`.
    pub fn assignees<'a>(&mut self, logins: impl IntoIterator<Item = &'a String>) {
        for login in logins {
            self.user(login, "assignees");
        }
    }

    pub fn reviewers<'a>(&mut self, reviewers: impl IntoIterator<Item = &'a Reviewer>) {
        // Reviews are requested from bots by login, so bots need no id.
        for reviewer in reviewers.into_iter().filter(|r| bot(r).is_none()) {
            match reviewer {
                Reviewer::User { login, .. } | Reviewer::Bot { login } => {
                    self.user(login, "reviewers")
                }
                Reviewer::Team { slug, .. } if !self.teams.contains(slug) => {
                    self.teams.push(slug.clone())
                }
                Reviewer::Team { .. } => {}
            }
        }
    }

    pub fn milestone(&mut self, title: &str) {
        self.milestone = Some(title.to_owned());
    }

    /// Looks up the issue types; [`Self::issue_type_id`] reads the result.
    pub fn issue_types(&mut self) {
        self.issue_types = true;
    }

    /// Looks up boards by title.
    pub fn projects(&mut self, titles: &[String]) {
        self.boards |= !titles.is_empty();
        self.projects.extend_from_slice(titles);
    }

    /// Looks up boards that may already contain the pull request or issue. [`Self::resolve`] does
    /// not fail if such a board is missing.
    pub fn known_projects(&mut self, titles: &[String]) {
        self.boards |= !titles.is_empty();
    }

    /// Adds the lookup of the boards that contain the pull request.
    pub fn add_pull_to(&self, document: &mut GqlDocument) {
        let boards = if self.boards {
            "projectItems(first: 100) { nodes { ...ProjectItemNode } }"
        } else {
            ""
        };
        document.fragment("PullLookups", "PullRequest", boards);
    }

    /// Looks up a branch of the repository; [`branch_exists`] reads the result.
    pub fn branch(&mut self, alias: &'static str, branch: &str) {
        self.branches.push((alias, branch.to_owned()));
    }

    /// Looks up a branch of the fork that contains the head. The fork may have another name than
    /// `name`. GitHub then finds no fork.
    pub fn fork(&mut self, owner: &str, name: &str, branch: &str) {
        self.fork = Some((owner.to_owned(), name.to_owned(), branch.to_owned()));
    }

    /// Looks up the files at `paths` in a branch, or in the default branch if none is given.
    /// [`branch_files`] reads the result.
    pub fn files(&mut self, branch: Option<&str>, paths: Vec<&str>) {
        let paths = paths.into_iter().map(str::to_owned).collect();
        self.files = Some((branch.map(str::to_owned), paths));
    }

    /// Looks up the pull request that a new one builds on; [`below`] reads the result.
    pub fn below(&mut self, number: u64) {
        self.below = Some(number);
    }

    /// Looks up an issue of any repository; [`Self::issue_of`] reads the result.
    pub fn issue(&mut self, owner: &str, name: &str, number: u64) {
        let issue = (owner.to_owned(), name.to_owned(), number);
        if !self.issues.contains(&issue) {
            self.issues.push(issue);
        }
    }

    /// Looks up a board by number, with its fields; [`Self::board_of`] reads the result.
    pub fn board(&mut self, board: &BoardId) {
        if !self.numbered.contains(board) {
            self.numbered.push(board.clone());
        }
    }

    /// Returns whether there is nothing to look up.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether an error only reports that a looked-up name is missing. [`Self::resolve`]
    /// returns a more detailed error for the same name.
    pub fn expects(&self, error: &GqlError) -> bool {
        let root = error.root();
        let ours = root == FORK
            || root.starts_with("user")
            || root.starts_with("team")
            || root.starts_with(TARGET)
            || root.starts_with(BOARD_OF_USER)
            || root.starts_with(BOARD_OF_ORGANIZATION)
            || error.names().contains(&ONTO)
            || error.names().contains(&BELOW);
        ours && error.kind.as_deref() == Some("NOT_FOUND")
    }

    fn user(&mut self, login: &str, field: &'static str) {
        if is_copilot(login) {
            self.copilot = true;
            return;
        }
        let login = login
            .strip_prefix('@')
            .filter(|_| login != ME)
            .unwrap_or(login);
        if login == ME {
            self.viewer = true;
        } else if !self
            .users
            .iter()
            .any(|(l, _)| l.eq_ignore_ascii_case(login))
        {
            self.users.push((login.to_owned(), field));
        }
    }

    /// Adds the lookups and their variables to a document. The document must spread the fragments
    /// `Lookups` and `RepositoryLookups`.
    pub fn add_to(&self, document: &mut GqlDocument, variables: &mut Map<String, Value>) {
        let (mut query, mut repo) = (String::new(), String::new());
        if let Some(number) = self.below {
            repo.push_str(
                " below: pullRequest(number: $below) { state headRefName isCrossRepository }",
            );
            document.variable(BELOW, "Int!");
            variables.insert(BELOW.to_owned(), json!(number));
        }
        let mut bind = |document: &mut GqlDocument, name: String, value: &str| {
            document.variable(&name, "String!");
            variables.insert(name, json!(value));
        };
        for (i, name) in self.labels.iter().enumerate() {
            let _ = write!(repo, " label{i}: label(name: $label{i}) {{ id name }}");
            let _ = write!(
                repo,
                " likeLabel{i}: labels(first: 100, query: $likeLabel{i}) {{ nodes {{ id name }} }}"
            );
            bind(document, format!("label{i}"), name);
            bind(document, format!("likeLabel{i}"), beginning(name));
        }
        if !self.labels.is_empty() {
            repo.push_str(" labels(first: 100, orderBy: { field: NAME, direction: ASC }) { nodes { id name } }");
        }
        for (i, (login, _)) in self.users.iter().enumerate() {
            let _ = write!(query, " user{i}: user(login: $user{i}) {{ id login }}");
            let _ = write!(
                repo,
                " likeUser{i}: assignableUsers(first: 100, query: $likeUser{i}) {{ nodes {{ login }} }}"
            );
            bind(document, format!("user{i}"), login);
            bind(document, format!("likeUser{i}"), beginning(login));
        }
        if !self.users.is_empty() {
            repo.push_str(" assignableUsers(first: 100) { nodes { login } }");
        }
        for (i, slug) in self.teams.iter().enumerate() {
            let (org, team) = slug.split_once('/').unwrap_or(("", slug));
            let _ = write!(
                query,
                " team{i}: organization(login: $org{i}) {{ team(slug: $team{i}) {{ id }} teams(first: 50) {{ nodes {{ slug }} }} like: teams(first: 50, query: $likeTeam{i}) {{ nodes {{ slug }} }} }}"
            );
            bind(document, format!("likeTeam{i}"), beginning(team));
            bind(document, format!("org{i}"), org);
            bind(document, format!("team{i}"), team);
        }
        for (i, (owner, name, _)) in self.issues.iter().enumerate() {
            let _ = write!(
                query,
                " target{i}: repository(owner: $targetOwner{i}, name: $targetName{i}) {{ issue(number: $target{i}) {{ ...IssueLink }} }}"
            );
            bind(document, format!("targetOwner{i}"), owner);
            bind(document, format!("targetName{i}"), name);
        }
        query.push_str(&self.board_roots());
        if self.viewer {
            query.push_str(" me: viewer { id login }");
        }
        if self.copilot {
            repo.push_str(
                " suggestedActors(capabilities: [CAN_BE_ASSIGNED], first: 100) { \
                 nodes { login ... on Bot { id } } }",
            );
        }
        for (alias, branch) in &self.branches {
            let _ = write!(repo, " {alias}: ref(qualifiedName: ${alias}) {{ id name }}");
            bind(
                document,
                (*alias).to_owned(),
                &format!("refs/heads/{branch}"),
            );
        }
        if let Some((branch, paths)) = &self.files {
            let source = match branch {
                Some(branch) => {
                    bind(document, ONTO.to_owned(), &format!("refs/heads/{branch}"));
                    "ref(qualifiedName: $onto)"
                }
                None => "defaultBranchRef",
            };
            let _ = write!(repo, " {ONTO}: {source} {{ target {{ oid ... on Commit {{");
            for (i, path) in paths.iter().enumerate() {
                let _ = write!(repo, " file{i}: file(path: $file{i}) {{ mode oid }}");
                bind(document, format!("file{i}"), path);
            }
            repo.push_str(" } } }");
        }
        if let Some((owner, name, branch)) = &self.fork {
            query.push_str(
                " fork: repository(owner: $forkOwner, name: $forkName) { id ref(qualifiedName: $forkRef) { id } }",
            );
            bind(document, "forkOwner".into(), owner);
            bind(document, "forkName".into(), name);
            bind(document, "forkRef".into(), &format!("refs/heads/{branch}"));
        }
        if let Some(title) = &self.milestone {
            repo.push_str(
                " milestones(first: 100, states: [OPEN]) { nodes { id title } } \
                 likeMilestone: milestones(first: 100, states: [OPEN], query: $milestone) { \
                 nodes { id title } }",
            );
            bind(document, "milestone".to_owned(), title);
        }
        if self.issue_types {
            repo.push_str(" issueTypes(first: 100) { nodes { id name } }");
        }
        if self.boards {
            let _ = write!(
                repo,
                " {BOARDS} owner {{ ... on ProjectV2Owner {{ {BOARDS} }} }}"
            );
            let _ = write!(query, " boards: viewer {{ {BOARDS} }}");
        }
        for (i, (_, _, number)) in self.issues.iter().enumerate() {
            document.variable(&format!("target{i}"), "Int!");
            variables.insert(format!("target{i}"), json!(number));
        }
        self.declare_boards(document);
        self.bind_boards(variables);
        document.fragment("Lookups", "Query", query.trim_start());
        document.fragment("RepositoryLookups", "Repository", repo.trim_start());
    }

    fn board_roots(&self) -> String {
        let mut roots = String::new();
        for i in 0..self.numbered.len() {
            for (alias, of) in [
                (BOARD_OF_USER, "user"),
                (BOARD_OF_ORGANIZATION, "organization"),
            ] {
                let _ = write!(
                    roots,
                    " {alias}{i}: {of}(login: $boardOwner{i}) {{ projectV2(number: $board{i}) {{ ...BoardFields }} }}"
                );
            }
        }
        roots
    }

    fn declare_boards(&self, document: &mut GqlDocument) {
        for i in 0..self.numbered.len() {
            document.variable(&format!("boardOwner{i}"), "String!");
            document.variable(&format!("board{i}"), "Int!");
        }
    }

    /// Adds only the board lookups to a document. The document does not need the fragments of
    /// [`Self::add_to`]. [`Self::bind_boards`] adds the variables.
    pub fn select_boards(&self, document: &mut GqlDocument) {
        if !self.numbered.is_empty() {
            document.root(self.board_roots().trim_start());
            self.declare_boards(document);
        }
    }

    /// Sets the variables of the boards.
    pub fn bind_boards(&self, variables: &mut Map<String, Value>) {
        for (i, board) in self.numbered.iter().enumerate() {
            variables.insert(format!("boardOwner{i}"), json!(board.owner));
            variables.insert(format!("board{i}"), json!(board.number));
        }
    }

    /// Returns whether an error concerns a looked-up board. The owner is looked up both as a user
    /// and as an organization, so one of these lookups always fails.
    pub fn is_about_board(error: &GqlError) -> bool {
        let root = error.root();
        root.starts_with(BOARD_OF_USER) || root.starts_with(BOARD_OF_ORGANIZATION)
    }

    /// Returns the id of a looked-up label; `repo` is the repository's part of the answer.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` if the label does not exist. The error suggests similar names.
    pub fn label_id(&self, name: &str, repo: &Map<String, Value>) -> Result<String> {
        let same = |l: &&String| l.eq_ignore_ascii_case(name);
        let i = self.labels.iter().position(|l| same(&l));
        let i = i.map_or_else(String::new, |i| i.to_string());
        let all: Vec<types::Label> = collect_matches(repo, "labels", &format!("likeLabel{i}"));
        let exact: Option<types::Label> = part(repo, &format!("label{i}"));
        let hit = exact.map(|l| l.id).or_else(|| {
            all.iter()
                .find(|l| l.name.to_lowercase() == name.to_lowercase())
                .map(|l| l.id.clone())
        });
        let names = all.iter().map(|l| l.name.as_str());
        hit.ok_or_else(|| unknown("labels", "label", name, names))
    }

    /// Returns the id of an issue type; `repo` is the repository's part of the answer.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` if the type does not exist. The error suggests similar names.
    pub fn issue_type_id(&self, name: &str, repo: &Map<String, Value>) -> Result<String> {
        let all: Vec<types::IssueType> = nodes(repo, "issueTypes");
        let same = |found: &&types::IssueType| found.name.to_lowercase() == name.to_lowercase();
        let id = all.iter().find(same).map(|found| found.id.clone());
        let names = all.iter().map(|found| found.name.as_str());
        id.ok_or_else(|| unknown("issue_type", "issue type", name, names))
    }

    /// Returns the id of a looked-up account.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` if the account does not exist. The error suggests similar names.
    pub fn user_id(
        &self,
        login: &str,
        query: &Map<String, Value>,
        repo: &Map<String, Value>,
    ) -> Result<String> {
        if is_copilot(login) {
            let actors: Vec<types::Login> = nodes(repo, "suggestedActors");
            let agent = actors
                .into_iter()
                .find(|a| a.login == COPILOT_AGENT && !a.id.is_empty());
            return agent.map(|a| a.id).ok_or_else(|| {
                Error::invalid(
                    "assignees",
                    "Copilot cannot be assigned in this repository; nothing was changed",
                )
                .with_hint(
                    "enable the Copilot coding agent for the repository and the account first",
                )
            });
        }
        let me: Option<types::Id> = part(query, "me").filter(|_| login == ME);
        if let Some(me) = me {
            return Ok(me.id);
        }
        let login = login.strip_prefix('@').unwrap_or(login);
        let same = |l: &str| l.eq_ignore_ascii_case(login);
        let i = self.users.iter().position(|(l, _)| same(l));
        let field = i.and_then(|i| self.users.get(i)).map(|(_, field)| *field);
        let i = i.map_or_else(String::new, |i| i.to_string());
        let people: Vec<types::Login> =
            collect_matches(repo, "assignableUsers", &format!("likeUser{i}"));
        let hit: Option<types::Id> = part(query, &format!("user{i}"));
        let names = people.iter().map(|p| p.login.as_str());
        let field = field.unwrap_or("assignees");
        Ok(hit
            .ok_or_else(|| unknown(field, "account", login, names))?
            .id)
    }

    /// Returns the id of a looked-up board by title, as [`ResolvedIds::board`] does.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` if no board has that title. The error suggests similar titles.
    pub fn board_id(
        &self,
        title: &str,
        query: &Map<String, Value>,
        repo: &Map<String, Value>,
    ) -> Result<String> {
        let found = ResolvedIds {
            boards: boards_of(query, repo),
            ..ResolvedIds::default()
        };
        found.board(title).map(str::to_owned)
    }

    /// Returns whether boards are looked up by title.
    pub fn reads_boards(&self) -> bool {
        self.boards
    }

    /// Returns a looked-up issue, if it exists.
    pub fn issue_of(
        &self,
        owner: &str,
        name: &str,
        number: u64,
        query: &Map<String, Value>,
    ) -> Option<types::Issue> {
        let same = |it: &(String, String, u64)| it.0 == owner && it.1 == name && it.2 == number;
        let i = self.issues.iter().position(same)?;
        let issue = query.get(&format!("target{i}"))?.get("issue")?;
        Option::<types::Issue>::deserialize(issue).ok().flatten()
    }

    /// Returns a looked-up board, if it exists.
    pub fn board_of(&self, board: &BoardId, query: &Map<String, Value>) -> Option<types::Board> {
        let i = self.numbered.iter().position(|b| b == board)?;
        [BOARD_OF_USER, BOARD_OF_ORGANIZATION]
            .iter()
            .find_map(|alias| {
                let owner = query.get(&format!("{alias}{i}"))?;
                let board = owner.get("projectV2")?;
                Option::<types::Board>::deserialize(board).ok().flatten()
            })
    }

    /// Reads the ids from the answer. `query` is the whole answer, and `repo` is its part about the
    /// repository.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` at the first name that does not exist. The error suggests similar
    /// names.
    pub fn resolve(
        &self,
        query: &Map<String, Value>,
        repo: &Map<String, Value>,
    ) -> Result<ResolvedIds> {
        let mut found = ResolvedIds::default();
        for name in &self.labels {
            let id = self.label_id(name, repo)?;
            found.labels.insert(name.to_lowercase(), id);
        }
        for (login, _) in &self.users {
            let id = self.user_id(login, query, repo)?;
            found.users.insert(login.to_lowercase(), id);
        }
        if self.viewer {
            let me: Option<types::Id> = part(query, "me");
            if let Some(me) = me {
                found.users.insert(ME.to_owned(), me.id);
            }
        }
        if self.copilot {
            let agent = self.user_id(COPILOT, query, repo)?;
            found.users.insert(COPILOT.to_owned(), agent);
        }
        for (i, slug) in self.teams.iter().enumerate() {
            let org: Option<Org> = part(query, &format!("team{i}"));
            let (id, teams) = org.map_or((None, vec![]), |o| {
                let like = o.like.into_vec();
                let teams = like.into_iter().chain(o.teams.into_vec());
                (o.team.map(|t| t.id), teams.collect())
            });
            let owner = slug.split_once('/').map_or("", |(org, _)| org);
            let names: Vec<String> = teams
                .iter()
                .map(|t| format!("{owner}/{}", t.slug))
                .collect();
            let names = names.iter().map(String::as_str);
            let id = id.ok_or_else(|| unknown("reviewers", "team", slug, names))?;
            found.teams.insert(slug.to_lowercase(), id);
        }
        if let Some(title) = &self.milestone {
            found.milestone = Some(milestone_id(title, repo)?);
        }
        if self.boards {
            found.boards = boards_of(query, repo);
        }
        for title in &self.projects {
            found.board(title)?;
        }
        Ok(found)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct BranchFile {
    pub mode: u32,
    /// The id of the blob.
    pub oid: String,
}

/// Reads the result of [`Lookups::files`]: the branch's tip, and its files in the order of the
/// paths. `None` if the branch does not exist.
pub(crate) fn branch_files(repo: &Map<String, Value>) -> Option<(String, Vec<Option<BranchFile>>)> {
    let target = repo.get(ONTO)?.get("target")?;
    let tip = target.get("oid")?.as_str()?.to_owned();
    let files = (0..).map_while(|i| target.get(format!("file{i}")));
    let entries = files.map(|file| Option::<BranchFile>::deserialize(file).ok().flatten());
    Some((tip, entries.collect()))
}

/// Reads the result of [`Lookups::below`]; `None` if the pull request does not exist.
pub(crate) fn below(repo: &Map<String, Value>) -> Option<types::Pull> {
    part(repo, BELOW)
}

pub(crate) fn branch_exists(repo: &Map<String, Value>, alias: &str) -> bool {
    repo.get(alias).is_some_and(|r| !r.is_null())
}

/// Returns whether the fork's branch exists; `None` if no fork has the looked-up name.
pub(crate) fn fork_branch_exists(query: &Map<String, Value>) -> Option<bool> {
    let fork = query.get(FORK).filter(|f| !f.is_null())?;
    Some(fork.get("ref").is_some_and(|r| !r.is_null()))
}

/// Returns the id of the fork, if a fork has the name that was looked up.
pub(crate) fn fork_id(query: &Map<String, Value>) -> Option<&str> {
    query.get(FORK)?.get("id")?.as_str()
}

/// Resolved ids, by name in lower case.
#[derive(Debug, Default)]
pub(crate) struct ResolvedIds {
    pub labels: BTreeMap<String, String>,
    pub users: BTreeMap<String, String>,
    pub teams: BTreeMap<String, String>,
    pub milestone: Option<String>,
    /// Boards of the repository, its owner and the viewer, in this order.
    pub boards: Vec<types::Project>,
}

impl ResolvedIds {
    /// Returns the id of the first board with that title.
    ///
    /// # Errors
    ///
    /// Fails with `invalid_input` if no board has that title. The error suggests similar titles.
    pub fn board(&self, title: &str) -> Result<&str> {
        let same = |b: &&types::Project| b.title.to_lowercase() == title.to_lowercase();
        match self.boards.iter().find(same) {
            Some(board) => Ok(&board.id),
            None => {
                let titles = self.boards.iter().map(|b| b.title.as_str());
                Err(unknown("projects", "open project", title, titles))
            }
        }
    }

    pub fn label_ids<'a>(&self, names: impl IntoIterator<Item = &'a String>) -> Vec<&str> {
        names
            .into_iter()
            .filter_map(|n| self.labels.get(&n.to_lowercase()))
            .map(String::as_str)
            .collect()
    }

    pub fn user_id(&self, login: &str) -> Option<&str> {
        let bare = if login == ME || is_copilot(login) {
            login
        } else {
            login.strip_prefix('@').unwrap_or(login)
        };
        self.users.get(&bare.to_lowercase()).map(String::as_str)
    }

    pub fn user_ids<'a>(&self, logins: impl IntoIterator<Item = &'a String>) -> Vec<&str> {
        logins.into_iter().filter_map(|l| self.user_id(l)).collect()
    }

    /// Returns the ids of the people and of the teams among `reviewers`.
    pub fn reviewer_ids(&self, reviewers: &[Reviewer]) -> (Vec<&str>, Vec<&str>) {
        let (mut users, mut teams) = (vec![], vec![]);
        for reviewer in reviewers.iter().filter(|r| bot(r).is_none()) {
            match reviewer {
                Reviewer::User { login, .. } | Reviewer::Bot { login } => {
                    users.extend(self.user_id(login))
                }
                Reviewer::Team { slug, .. } => {
                    teams.extend(self.teams.get(&slug.to_lowercase()).map(String::as_str));
                }
            }
        }
        (users, teams)
    }
}

#[derive(Debug, Default, Deserialize)]
struct Slug {
    slug: String,
}

#[derive(Debug, Deserialize)]
struct Org {
    team: Option<types::Id>,
    #[serde(default)]
    teams: types::Nodes<Slug>,
    #[serde(default)]
    like: types::Nodes<Slug>,
}

#[derive(Debug, Default, Deserialize)]
struct Boards {
    #[serde(default, rename = "projectsV2")]
    projects_v2: types::Nodes<types::Project>,
}

/// Returns the boards of the repository, its owner and the viewer, in this order.
fn boards_of(query: &Map<String, Value>, repo: &Map<String, Value>) -> Vec<types::Project> {
    let own: Boards = Boards::deserialize(Value::Object(repo.clone())).unwrap_or_default();
    let of_owner: Option<Boards> = part(repo, "owner");
    let of_viewer: Option<Boards> = part(query, "boards");
    [Some(own), of_owner, of_viewer]
        .into_iter()
        .flatten()
        .flat_map(|b| b.projects_v2.into_vec())
        .collect()
}

/// Returns the id of the open milestone with that title.
///
/// # Errors
///
/// Fails with `invalid_input` if no milestone has that title. The error lists existing titles.
pub(crate) fn milestone_id(title: &str, repo: &Map<String, Value>) -> Result<String> {
    let all: Vec<MilestoneNode> = collect_matches(repo, "milestones", "likeMilestone");
    let hit = all
        .iter()
        .find(|m| m.title.to_lowercase() == title.to_lowercase());
    let names = all.iter().map(|m| m.title.as_str());
    let id = hit.map(|m| m.id.clone());
    id.ok_or_else(|| unknown("milestone", "open milestone", title, names))
}

#[derive(Debug, Deserialize)]
struct MilestoneNode {
    id: String,
    title: String,
}

fn part<T: for<'de> Deserialize<'de>>(map: &Map<String, Value>, key: &str) -> Option<T> {
    Option::<T>::deserialize(map.get(key)?).ok().flatten()
}

fn nodes<T: for<'de> Deserialize<'de>>(map: &Map<String, Value>, key: &str) -> Vec<T> {
    part::<types::Nodes<T>>(map, key)
        .unwrap_or_default()
        .into_vec()
}

/// Returns GitHub's matches for one name, followed by the first page of the unfiltered list.
fn collect_matches<T: for<'de> Deserialize<'de>>(
    map: &Map<String, Value>,
    all: &str,
    like: &str,
) -> Vec<T> {
    let mut found = nodes(map, like);
    found.extend(nodes(map, all));
    found
}

/// Returns the first letters of a name, as the search text for similar names. Typos are rare in the
/// first letters, and GitHub matches substrings.
fn beginning(name: &str) -> &str {
    name.char_indices()
        .nth(3)
        .and_then(|(at, _)| name.get(..at))
        .unwrap_or(name)
}

/// Returns the error for an unknown name. The hint suggests one of `names`, the existing names that
/// GitHub returned.
fn unknown<'a>(
    field: &'static str,
    what: &str,
    name: &str,
    names: impl Iterator<Item = &'a str>,
) -> Error {
    let mut seen = std::collections::HashSet::new();
    let names: Vec<&str> = names.filter(|name| seen.insert(*name)).collect();
    let hint = if names.is_empty() {
        format!("no {what} was found here: correct the name, or leave it out")
    } else {
        suggest::did_you_mean(name, names.iter().copied())
            .unwrap_or_else(|| suggest::hint(name, names.iter().copied(), &format!("{what}s here")))
    };
    let params: &[Param] = match field {
        "labels" => &[Param::AddLabel, Param::RemoveLabel],
        "assignees" => &[Param::AddAssignee],
        "reviewers" => &[Param::AddReviewer],
        "milestone" => &[Param::Milestone],
        "projects" => &[Param::AddProject],
        _ => &[],
    };
    let mut hint = Hint::from(hint).with_any_action(suggest::corrected(params, name, names));
    if field == "labels" && hint.action().is_none() {
        hint = Hint::from(format!("{hint}; or create the label"))
            .with_action(Action::op(Op::LabelDefine).with(Param::Label, name));
    }
    Error::invalid(
        field,
        format!("there is no {what} '{name}'; nothing was changed"),
    )
    .with_hint(hint)
}
