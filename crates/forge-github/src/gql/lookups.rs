//! Names to ids: labels, people, teams and a milestone, looked up inside another query.

use std::{collections::BTreeMap, fmt::Write};

use forge_core::{Error, Result, model::Reviewer, near::did_you_mean};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Document, types};
use crate::error::GqlError;

/// What is to be looked up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lookups {
    labels: Vec<String>,
    users: Vec<(String, &'static str)>,
    teams: Vec<String>,
    milestone: Option<String>,
    viewer: bool,
    branches: Vec<(&'static str, String)>,
    fork: Option<(String, String, String)>,
}

/// The alias of the head's repository.
pub(crate) const FORK: &str = "fork";
/// `@me`.
const ME: &str = "@me";

impl Lookups {
    pub fn labels<'a>(&mut self, names: impl IntoIterator<Item = &'a String>) {
        for name in names {
            if !self.labels.iter().any(|l| l.eq_ignore_ascii_case(name)) {
                self.labels.push(name.clone());
            }
        }
    }

    /// Assignees by login, `@me` among them.
    pub fn assignees<'a>(&mut self, logins: impl IntoIterator<Item = &'a String>) {
        for login in logins {
            self.user(login, "assignees");
        }
    }

    pub fn reviewers<'a>(&mut self, reviewers: impl IntoIterator<Item = &'a Reviewer>) {
        for reviewer in reviewers {
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

    /// A branch of the repository; whether it is there is asked of [`branch_exists`].
    pub fn branch(&mut self, alias: &'static str, branch: &str) {
        self.branches.push((alias, branch.to_owned()));
    }

    /// A branch of another repository, which may be named otherwise.
    pub fn fork(&mut self, owner: &str, name: &str, branch: &str) {
        self.fork = Some((owner.to_owned(), name.to_owned(), branch.to_owned()));
    }

    /// Whether an error tells of nothing but a name that [`Self::resolve`] reports better.
    pub fn expects(&self, error: &GqlError) -> bool {
        let root = error.root();
        let ours = root == FORK || root.starts_with("user") || root.starts_with("team");
        ours && error.kind.as_deref() == Some("NOT_FOUND")
    }

    fn user(&mut self, login: &str, field: &'static str) {
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

    /// Adds the lookups to a document that spreads `Lookups` and `RepositoryLookups`, and their
    /// variables.
    pub fn add_to(&self, document: &mut Document, variables: &mut Map<String, Value>) {
        let (mut query, mut repo) = (String::new(), String::new());
        let mut bind = |document: &mut Document, name: String, value: &str| {
            document.variable(&name, "String!");
            variables.insert(name, json!(value));
        };
        for (i, name) in self.labels.iter().enumerate() {
            let _ = write!(repo, " label{i}: label(name: $label{i}) {{ id name }}");
            bind(document, format!("label{i}"), name);
        }
        if !self.labels.is_empty() {
            repo.push_str(" labels(first: 100, orderBy: { field: NAME, direction: ASC }) { nodes { id name } }");
        }
        for (i, (login, _)) in self.users.iter().enumerate() {
            let _ = write!(query, " user{i}: user(login: $user{i}) {{ id login }}");
            bind(document, format!("user{i}"), login);
        }
        if !self.users.is_empty() {
            repo.push_str(" assignableUsers(first: 100) { nodes { login } }");
        }
        for (i, slug) in self.teams.iter().enumerate() {
            let (org, team) = slug.split_once('/').unwrap_or(("", slug));
            let _ = write!(
                query,
                " team{i}: organization(login: $org{i}) {{ team(slug: $team{i}) {{ id }} teams(first: 50) {{ nodes {{ slug }} }} }}"
            );
            bind(document, format!("org{i}"), org);
            bind(document, format!("team{i}"), team);
        }
        if self.viewer {
            query.push_str(" me: viewer { id login }");
        }
        for (alias, branch) in &self.branches {
            let _ = write!(repo, " {alias}: ref(qualifiedName: ${alias}) {{ id name }}");
            bind(
                document,
                (*alias).to_owned(),
                &format!("refs/heads/{branch}"),
            );
        }
        if let Some((owner, name, branch)) = &self.fork {
            query.push_str(
                " fork: repository(owner: $forkOwner, name: $forkName) { ref(qualifiedName: $forkRef) { id } }",
            );
            bind(document, "forkOwner".into(), owner);
            bind(document, "forkName".into(), name);
            bind(document, "forkRef".into(), &format!("refs/heads/{branch}"));
        }
        if self.milestone.is_some() {
            repo.push_str(" milestones(first: 100, states: [OPEN]) { nodes { id title } }");
        }
        document.fragment("Lookups", "Query", query.trim_start());
        document.fragment("RepositoryLookups", "Repository", repo.trim_start());
    }

    /// Reads the answer; `repo` is the repository's part of it, `query` that of the query.
    ///
    /// # Errors
    /// `invalid_input` with near names for the first name that does not exist.
    pub fn resolve(&self, query: &Map<String, Value>, repo: &Map<String, Value>) -> Result<Found> {
        let mut found = Found::default();
        for (i, name) in self.labels.iter().enumerate() {
            let all: Vec<types::Label> = nodes(repo, "labels");
            let exact: Option<types::Label> = part(repo, &format!("label{i}"));
            let hit = exact.map(|l| l.id).or_else(|| {
                all.iter()
                    .find(|l| l.name.to_lowercase() == name.to_lowercase())
                    .map(|l| l.id.clone())
            });
            let names = all.iter().map(|l| l.name.as_str());
            let id =
                hit.ok_or_else(|| unknown("labels", "label", name, names, "forge label list"))?;
            found.labels.insert(name.to_lowercase(), id);
        }
        let people: Vec<types::Login> = nodes(repo, "assignableUsers");
        for (i, (login, field)) in self.users.iter().enumerate() {
            let hit: Option<types::Id> = part(query, &format!("user{i}"));
            let names = people.iter().map(|p| p.login.as_str());
            let id = hit
                .ok_or_else(|| unknown(field, "account", login, names, ""))?
                .id;
            found.users.insert(login.to_lowercase(), id);
        }
        if self.viewer {
            let me: Option<types::Id> = part(query, "me");
            if let Some(me) = me {
                found.users.insert(ME.to_owned(), me.id);
            }
        }
        for (i, slug) in self.teams.iter().enumerate() {
            let org: Option<Org> = part(query, &format!("team{i}"));
            let (id, teams) = org.map_or((None, vec![]), |o| {
                (o.team.map(|t| t.id), o.teams.into_vec())
            });
            let owner = slug.split_once('/').map_or("", |(org, _)| org);
            let names: Vec<String> = teams
                .iter()
                .map(|t| format!("{owner}/{}", t.slug))
                .collect();
            let names = names.iter().map(String::as_str);
            let id = id.ok_or_else(|| unknown("reviewers", "team", slug, names, ""))?;
            found.teams.insert(slug.to_lowercase(), id);
        }
        if let Some(title) = &self.milestone {
            let all: Vec<Milestone> = nodes(repo, "milestones");
            let hit = all
                .iter()
                .find(|m| m.title.to_lowercase() == title.to_lowercase());
            let names = all.iter().map(|m| m.title.as_str());
            let id = hit.map(|m| m.id.clone());
            found.milestone =
                Some(id.ok_or_else(|| unknown("milestone", "open milestone", title, names, ""))?);
        }
        Ok(found)
    }
}

/// Whether the branch behind an alias is there.
pub(crate) fn branch_exists(repo: &Map<String, Value>, alias: &str) -> bool {
    repo.get(alias).is_some_and(|r| !r.is_null())
}

/// Whether the branch of the fork is there; `None` when the fork was not found by its name.
pub(crate) fn fork_branch_exists(query: &Map<String, Value>) -> Option<bool> {
    let fork = query.get(FORK).filter(|f| !f.is_null())?;
    Some(fork.get("ref").is_some_and(|r| !r.is_null()))
}

/// The ids, by name in lower case.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub labels: BTreeMap<String, String>,
    pub users: BTreeMap<String, String>,
    pub teams: BTreeMap<String, String>,
    pub milestone: Option<String>,
}

impl Found {
    pub fn label_ids<'a>(&self, names: impl IntoIterator<Item = &'a String>) -> Vec<&str> {
        names
            .into_iter()
            .filter_map(|n| self.labels.get(&n.to_lowercase()))
            .map(String::as_str)
            .collect()
    }

    pub fn user_id(&self, login: &str) -> Option<&str> {
        let bare = if login == ME {
            login
        } else {
            login.strip_prefix('@').unwrap_or(login)
        };
        self.users.get(&bare.to_lowercase()).map(String::as_str)
    }

    pub fn user_ids<'a>(&self, logins: impl IntoIterator<Item = &'a String>) -> Vec<&str> {
        logins.into_iter().filter_map(|l| self.user_id(l)).collect()
    }

    /// The ids of the people and of the teams among `reviewers`.
    pub fn reviewer_ids(&self, reviewers: &[Reviewer]) -> (Vec<&str>, Vec<&str>) {
        let (mut users, mut teams) = (vec![], vec![]);
        for reviewer in reviewers {
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
}

#[derive(Debug, Deserialize)]
struct Milestone {
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

fn unknown<'a>(
    field: &'static str,
    what: &str,
    name: &str,
    names: impl Iterator<Item = &'a str>,
    list: &str,
) -> Error {
    let names: Vec<&str> = names.collect();
    let hint = did_you_mean(name, names.iter().copied()).or_else(|| {
        match (names.is_empty(), list.is_empty()) {
            (true, _) => None,
            (false, true) => Some(format!(
                "known: {}",
                names
                    .iter()
                    .take(10)
                    .copied()
                    .collect::<Vec<_>>()
                    .join(", ")
            )),
            (false, false) => Some(format!("see them all with '{list}'")),
        }
    });
    let error = Error::invalid(
        field,
        format!("there is no {what} '{name}'; nothing was changed"),
    );
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}
