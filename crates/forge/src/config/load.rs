use std::{
    collections::BTreeSet,
    env, fmt,
    path::{Path, PathBuf},
};

use forge_core::{Action, Call, Error, ErrorKind, ForgeKind, Hint, Result, locator::Hosts};

use super::{
    ConfigProblem, Env, Level, Var, dialect,
    edit::FOR_YOURSELF,
    file::{self, ConfigFile, FileOwner, bad_value},
    keys::{self, KEYS, Name, ValueType},
};

/// Name of the user's file in the configuration directory.
const USER_FILE: &str = "config.toml";
/// Name of the file at the root of a repository.
const REPO_FILE: &str = ".forge.toml";

/// Origin of a value. The variants are in order of precedence, highest first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// An environment variable.
    Env(Var),
    /// The repository's file: path and line.
    Repo(PathBuf, usize),
    /// The user's file: path and line.
    User(PathBuf, usize),
    /// The default of the key.
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(var) => f.write_str(var.name()),
            Self::Repo(path, line) | Self::User(path, line) => {
                write!(f, "{}:{line}", path.display())
            }
            Self::Default => f.write_str("default"),
        }
    }
}

/// A key with its value and origin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigEntry {
    /// The dotted name.
    pub name: String,
    /// The value; `None` for an unset key without default.
    pub value: Option<String>,
    /// Where the value comes from.
    pub source: Source,
}

/// The effective configuration. Precedence: environment, `.forge.toml`, `config.toml`, defaults.
///
/// Command line flags take precedence over all of these. The caller applies the flags.
#[derive(Clone, Debug)]
pub struct Config {
    env: Env,
    dir: Option<PathBuf>,
    root: Option<PathBuf>,
    user: ConfigFile,
    repo: ConfigFile,
    problems: Vec<ConfigProblem>,
}

impl Config {
    /// Creates a configuration from defaults and environment, without any file.
    #[must_use]
    pub fn without_files(env: Env) -> Self {
        let mut config = Self {
            dir: None,
            root: None,
            user: ConfigFile::default(),
            repo: ConfigFile::default(),
            problems: Vec::new(),
            env,
        };
        config.check_env();
        config
    }

    /// Returns the configuration for work in `cwd`.
    ///
    /// # Errors
    /// `config` if the user's file cannot be read, and for the first error in the user's file or in
    /// a variable. For an error in `.forge.toml`, only commands that use this file fail. Other
    /// problems are warnings in [`Self::problems`].
    pub fn load(env: Env, cwd: &Path) -> Result<Self> {
        let config = Self::read(env, cwd)?;
        config.check(false)?;
        Ok(config)
    }

    /// Returns true if `.forge.toml` has a value or an error.
    pub(crate) fn has_repo_file(&self) -> bool {
        !self.repo.settings.is_empty() || self.check_repo_file().is_err()
    }

    /// Checks that `.forge.toml` has no errors.
    ///
    /// # Errors
    /// `config` for the first error.
    pub(crate) fn check_repo_file(&self) -> Result<()> {
        self.check(true)
    }

    fn is_of_repo(&self, problem: &ConfigProblem) -> bool {
        let path = problem.at.as_ref().map(|(path, ..)| path);
        path == Some(&self.repo.path)
    }

    /// Fails with the first error in `.forge.toml` if `of_repo` is true. Otherwise fails with the
    /// first error in the user's file or in a variable.
    fn check(&self, of_repo: bool) -> Result<()> {
        let is_error =
            |p: &&ConfigProblem| p.level == Level::Error && self.is_of_repo(p) == of_repo;
        let mut errors = self.problems.iter().filter(is_error);
        let Some(first) = errors.next() else {
            return Ok(());
        };
        let error = first.to_error();
        Err(match errors.count() {
            0 => error,
            more => {
                let noun = if more == 1 { "error" } else { "errors" };
                let hint = format!(
                    "{}; check the configuration to see {more} more {noun}",
                    first.hint
                );
                error.with_hint(Hint::from(hint).with_action(Action::new(Call::ConfigValidate)))
            }
        })
    }

    /// Like [`Self::load`], but does not fail for problems of files or variables. The problems are
    /// listed in [`Self::problems`], and lines with a problem are ignored.
    ///
    /// # Errors
    /// `config` if the user's file cannot be read.
    pub fn read(env: Env, cwd: &Path) -> Result<Self> {
        let mut config = Self::without_files(env);
        config.dir = config_dir(&config.env);
        config.root = repository_root(cwd);
        if let Some(dir) = &config.dir {
            config.user.path = dir.join(USER_FILE);
            if let Some(text) = file::text_of(&config.user.path)? {
                let path = &config.user.path;
                config.user = file::parse(path, &text, FileOwner::User, &mut config.problems);
            }
            config.hide_token_variable();
        }
        if let Some(root) = &config.root {
            config.repo.path = root.join(REPO_FILE);
            match file::text_of_repo(&config.repo.path) {
                Ok(None) => {}
                Ok(Some(text)) => {
                    let path = &config.repo.path;
                    config.repo = file::parse(path, &text, FileOwner::Repo, &mut config.problems);
                }
                Err(problem) => config.problems.push(*problem),
            }
        }
        Ok(config)
    }

    /// Hides the variable that `jira.auth_token` names from child processes, because it contains a
    /// token.
    fn hide_token_variable(&self) {
        let value = self.value("jira.auth_token").unwrap_or_default();
        if let Some(name) = keys::variable_name(&value) {
            forge_core::hide_variable(name);
        }
    }

    /// Returns this configuration without the values of `.forge.toml`, for work on another
    /// repository than the one with this file.
    #[must_use]
    pub fn without_repo_file(&self) -> Self {
        let mut config = self.clone();
        config.problems.retain(|problem| !self.is_of_repo(problem));
        config.root = None;
        config.repo = ConfigFile::default();
        config
    }

    /// Returns the problems of files and variables.
    #[must_use]
    pub fn problems(&self) -> &[ConfigProblem] {
        &self.problems
    }

    /// Returns the environment.
    #[must_use]
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// Returns the configuration directory; `None` without a home directory, or for a configuration
    /// without files.
    #[must_use]
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// Returns the user's file, whether or not it exists.
    ///
    /// # Errors
    /// `config` if there is no home directory.
    pub fn user_file(&self) -> Result<PathBuf> {
        self.dir
            .as_ref()
            .map(|dir| dir.join(USER_FILE))
            .ok_or_else(no_dir)
    }

    /// Returns the repository's file, whether or not it exists.
    ///
    /// # Errors
    /// `config` outside of a repository.
    pub fn repo_file(&self) -> Result<PathBuf> {
        self.root
            .as_ref()
            .map(|root| root.join(REPO_FILE))
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::Config,
                    "there is no work tree of a git repository here, so there is no .forge.toml",
                )
                .with_hint(
                    Hint::new("change to a repository, or set the key in your own configuration")
                        .with_action(FOR_YOURSELF),
                )
            })
    }

    /// Returns the value and the origin of a key by its dotted name.
    ///
    /// # Errors
    /// `invalid_input` for an unknown key. The hint names a similar key.
    pub fn get(&self, name: &str) -> Result<ConfigEntry> {
        Ok(self.entry(&Self::name(name)?))
    }

    /// Returns every key without a placeholder. Also returns keys with a placeholder, such as
    /// `hosts.<host>.kind`, if a file sets them.
    #[must_use]
    pub fn list(&self) -> Vec<ConfigEntry> {
        let named = self.named();
        let plain: Vec<Name> = KEYS
            .iter()
            .filter_map(|key| Name::parse(key.name))
            .collect();
        plain
            .iter()
            .chain(named)
            .map(|name| self.entry(name))
            .collect()
    }

    /// Returns the keys with a placeholder (such as `<host>`) that a file sets, each once. Keys
    /// that differ only in case count as the same key. If the two files spell a key differently,
    /// the spelling of the repository's file is returned. Two spellings in one file are both
    /// returned.
    fn named(&self) -> Vec<&Name> {
        let folded = |name: &Name| name.text().to_lowercase();
        let settings = &self.repo.settings;
        let of_repo: BTreeSet<String> = settings.iter().map(|s| folded(&s.name)).collect();
        let of_user = self.user.settings.iter();
        let of_user = of_user.filter(|s| !of_repo.contains(&folded(&s.name)));
        let mut names: Vec<&Name> = of_user
            .chain(settings)
            .map(|s| &s.name)
            .filter(|name| name.key.name.contains('<'))
            .collect();
        names.sort_by(|a, b| a.path.cmp(&b.path));
        names.dedup_by(|a, b| a.path == b.path);
        names
    }

    /// Returns the built-in hosts, and the hosts whose kind the user's file sets.
    #[must_use]
    pub fn hosts(&self) -> Hosts {
        let hosts = self
            .user
            .settings
            .iter()
            .fold(Hosts::builtin(), |hosts, setting| {
                match (setting.name.path.as_slice(), ForgeKind::new(&setting.value)) {
                    ([_, host, field], Some(kind)) if field == "kind" => hosts.with(host, kind),
                    _ => hosts,
                }
            });
        let settings = self.user.settings.iter();
        let hosts = settings.fold(hosts, |hosts, setting| match setting.name.path.as_slice() {
            [_, knot, field] if field == "knot_of" => hosts.with_alias(knot, &setting.value),
            [_, _, table, key] if table == "dialect" => match dialect::records_of(key) {
                Some(records) => hosts.with_collection(&setting.value, records),
                None => hosts,
            },
            _ => hosts,
        });
        match self.value("default_host") {
            Some(host) => hosts.with_default_host(&host),
            None => hosts,
        }
    }

    /// Returns the value of a registered key.
    pub(crate) fn value(&self, name: &str) -> Option<String> {
        self.entry(&Name::parse(name)?).value
    }

    pub(super) fn name(text: &str) -> Result<Name> {
        Name::parse(text).ok_or_else(|| {
            let e = Error::invalid("key", format!("there is no configuration key '{text}'"));
            let hint = match keys::near(text) {
                Some(near) => Hint::from(format!("did you mean `{near}`? or list the keys")),
                None => Hint::new("list the keys"),
            };
            e.with_hint(hint.with_action(Action::new(Call::ConfigGet)))
        })
    }

    fn entry(&self, name: &Name) -> ConfigEntry {
        let (value, source) = self
            .environment(name, name.key.env)
            .or_else(|| {
                let s = self.repo.get(name)?;
                Some((
                    s.value.clone(),
                    Source::Repo(self.repo.path.clone(), s.line),
                ))
            })
            .or_else(|| {
                let s = self.user.get(name)?;
                Some((
                    self.expanded(name, &s.value)?,
                    Source::User(self.user.path.clone(), s.line),
                ))
            })
            .or_else(|| self.environment(name, name.key.fallback))
            .map_or_else(
                || {
                    (
                        name.key
                            .default
                            .map(str::to_owned)
                            .or_else(|| name.built_in()),
                        Source::Default,
                    )
                },
                |(value, source)| (Some(value), source),
            );
        ConfigEntry {
            name: name.text(),
            value,
            source,
        }
    }

    /// Replaces a value `${NAME}` of the user's file by the value of this variable, or by `None` if
    /// the variable is unset or invalid. Returns any other value unchanged.
    fn expanded(&self, name: &Name, value: &str) -> Option<String> {
        match keys::variable_name(value).filter(|_| name.key.expands) {
            Some(variable) => name.key.ty.parse(&self.env.named(variable)?),
            None => Some(value.to_owned()),
        }
    }

    /// Returns true if the user's file sets the key to `${NAME}` and this variable is unset or
    /// invalid.
    pub(super) fn lacks_variable(&self, name: &str) -> bool {
        let is_lacking = |name: Name| {
            let setting = self.user.get(&name)?;
            Some(self.expanded(&name, &setting.value).is_none())
        };
        Name::parse(name).and_then(is_lacking).unwrap_or_default()
    }

    fn environment(&self, name: &Name, vars: &[Var]) -> Option<(String, Source)> {
        vars.iter().find_map(|var| {
            let value = self.variable(name, *var)?.ok()?;
            Some((value, Source::Env(*var)))
        })
    }

    /// Returns the value that a variable gives to a key. The error is the text of the variable, if
    /// this text is invalid.
    fn variable(&self, name: &Name, var: Var) -> Option<Result<String, String>> {
        // An empty pager variable means no pager. For other keys, an empty variable counts as
        // unset.
        let text = if name.key.name == "pager" {
            self.env.raw(var)?.into_string().ok()?
        } else {
            self.env.get(var)?
        };
        Some(match name.key.env_means {
            Some(means) => Ok(means.to_owned()),
            None => name.key.ty.parse(&text).ok_or(text),
        })
    }

    fn check_env(&mut self) {
        let names = KEYS
            .iter()
            .map(|key| key.name.replace("<host>", "tangled.org"));
        for name in names.filter_map(|name| Name::parse(&name)) {
            for var in name.key.env {
                if let Some(Err(text)) = self.variable(&name, *var) {
                    let shown = (name.key.ty != ValueType::Command).then_some(text.as_str());
                    self.problems.push(ConfigProblem {
                        at: None,
                        level: Level::Error,
                        message: bad_value(var.name(), name.key.ty, shown),
                        hint: Hint::from(format!(
                            "correct the environment variable {}, or unset it",
                            var.name()
                        )),
                    });
                }
            }
        }
    }
}

pub(crate) fn no_dir() -> Error {
    Error::new(
        ErrorKind::Config,
        "there is no home directory, so there is no configuration",
    )
    .with_hint("set HOME or FORGE_CONFIG_DIR")
}

/// Returns the configuration directory. On every system, this is `FORGE_CONFIG_DIR`, else `forge`
/// below `XDG_CONFIG_HOME`, else `forge` below `~/.config`.
///
/// Source: the XDG base directory specification, which treats a relative path as unset.
fn config_dir(env: &Env) -> Option<PathBuf> {
    if let Some(dir) = env.path(Var::ForgeConfigDir) {
        return std::path::absolute(dir).ok();
    }
    let base = match env.path(Var::XdgConfigHome).filter(|p| p.is_absolute()) {
        Some(base) => base,
        None => home_dir(env)?.join(".config"),
    };
    Some(base.join("forge"))
}

/// Returns the home directory from `HOME`. If `HOME` is unset, asks the operating system, unless
/// `env` is a fixed environment.
pub(crate) fn home_dir(env: &Env) -> Option<PathBuf> {
    env.path(Var::Home)
        .or_else(|| env.is_process().then(env::home_dir).flatten())
}

/// Returns the nearest directory at or above `cwd` that contains `.git`. The search runs for every
/// command, so it starts no git process.
fn repository_root(cwd: &Path) -> Option<PathBuf> {
    let cwd = std::path::absolute(cwd).ok()?;
    cwd.ancestors()
        .find(|dir| dir.join(".git").exists())
        .map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use forge_core::locator::{self, Locator};
    use tempfile::TempDir;

    use super::*;

    fn setup(user: &str, repo: &str) -> (TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("work");
        fs::create_dir_all(work.join(".git")).unwrap();
        fs::create_dir_all(work.join("deep/er")).unwrap();
        fs::create_dir_all(dir.path().join("conf")).unwrap();
        fs::write(dir.path().join("conf/config.toml"), user).unwrap();
        fs::write(work.join(".forge.toml"), repo).unwrap();
        let cwd = work.join("deep/er");
        (dir, cwd)
    }

    fn env(dir: &TempDir, more: &[(&str, &str)]) -> Env {
        let conf = dir.path().join("conf");
        Env::fixed(
            [("FORGE_CONFIG_DIR", conf.to_str().unwrap())]
                .into_iter()
                .chain(more.iter().copied()),
        )
    }

    #[test]
    fn config_precedence_is_environment_repository_user_default() {
        let (dir, cwd) = setup(
            "timeout_s = 10\nmerge.method = \"squash\"",
            "merge.method = \"rebase\"",
        );
        let config = Config::load(env(&dir, &[]), &cwd).unwrap();
        let method = config.get("merge.method").unwrap();
        assert_eq!(method.value.as_deref(), Some("rebase"));
        assert!(matches!(&method.source, Source::Repo(path, 1) if path.ends_with(".forge.toml")));
        let timeout = config.get("timeout_s").unwrap();
        assert!(matches!(&timeout.source, Source::User(path, 1) if path.ends_with("config.toml")));
        let draft = config.get("pr.draft").unwrap();
        assert_eq!(
            (draft.value.as_deref(), draft.source),
            (Some("false"), Source::Default)
        );

        let config = Config::load(env(&dir, &[("FORGE_TIMEOUT", "30")]), &cwd).unwrap();
        let timeout = config.get("timeout_s").unwrap();
        assert_eq!(timeout.value.as_deref(), Some("30"));
        assert_eq!(timeout.source.to_string(), "FORGE_TIMEOUT");
    }

    #[test]
    fn config_file_wins_over_editor_variables() {
        let (dir, cwd) = setup("editor = \"ed\"", "");
        let get = |more: &[(&str, &str)]| {
            Config::load(env(&dir, more), &cwd)
                .unwrap()
                .get("editor")
                .unwrap()
                .value
                .unwrap()
        };
        assert_eq!(get(&[("EDITOR", "vi")]), "ed");
        assert_eq!(get(&[("GH_EDITOR", "nano"), ("EDITOR", "vi")]), "nano");
        let (dir, cwd) = setup("", "");
        let config = Config::load(env(&dir, &[("VISUAL", "code"), ("EDITOR", "vi")]), &cwd);
        assert_eq!(
            config.unwrap().get("editor").unwrap().value.as_deref(),
            Some("code")
        );
    }

    #[test]
    fn empty_pager_is_set_and_empty_editor_unset() {
        let (dir, cwd) = setup("pager = \"less\"\neditor = \"ed\"", "");
        let config = Config::load(env(&dir, &[("GH_PAGER", ""), ("GH_EDITOR", "")]), &cwd).unwrap();
        assert_eq!(config.get("pager").unwrap().value.as_deref(), Some(""));
        assert_eq!(config.get("editor").unwrap().value.as_deref(), Some("ed"));
    }

    #[test]
    fn first_config_error_states_number_of_further_problems() {
        let (dir, cwd) = setup("color = 1\nprompt = 2\nunknown = 3", "");
        let e = Config::load(env(&dir, &[]), &cwd).unwrap_err();
        assert_eq!(e.code(), "config");
        assert!(
            e.message().contains("config.toml:1:9: `color` is '1'"),
            "{}",
            e.message()
        );
        let hint = e.hint().unwrap();
        assert!(hint.text().ends_with("to see 1 more error"), "{hint}");
        let validate = Action::new(Call::ConfigValidate);
        assert_eq!(hint.action(), Some(&validate));
        let config = Config::read(env(&dir, &[]), &cwd).unwrap();
        assert_eq!(config.problems().len(), 3);
    }

    #[test]
    fn invalid_variable_is_named_in_error() {
        let (dir, cwd) = setup("", "");
        let e = Config::load(env(&dir, &[("FORGE_TIMEOUT", "soon")]), &cwd).unwrap_err();
        assert_eq!(
            e.message(),
            "`FORGE_TIMEOUT` is 'soon'; it takes a whole number of seconds from 1 to 86400"
        );
    }

    #[test]
    fn configured_collections_are_accepted_in_locators() {
        let (dir, cwd) = setup(
            "[hosts.\"tangled.org\".dialect]\nsh_pull = \"org.example.pull\"\n\
             org_repo = \"org.example.repo\"\nsh_status = \"org.example.status\"",
            "",
        );
        let hosts = Config::load(env(&dir, &[]), &cwd).unwrap().hosts();
        let named = |collection: &str| {
            let uri = format!("at://did:plc:abc/{collection}/3lk");
            locator::parse(&uri, &hosts).map(|parsed| parsed.locator)
        };
        assert!(matches!(named("org.example.pull"), Ok(Locator::Record(_))));
        assert!(matches!(named("org.example.repo"), Ok(Locator::Repo(_))));
        assert!(named("org.example.status").is_err());
    }

    #[test]
    fn hosts_come_from_user_file_and_environment() {
        let (dir, cwd) = setup("[hosts.\"git.example.org\"]\nkind = \"github\"", "");
        let config = Config::load(env(&dir, &[("GH_HOST", "git.example.org")]), &cwd).unwrap();
        let hosts = config.hosts();
        assert_eq!(hosts.kind_of("git.example.org"), Some(ForgeKind::GITHUB));
        assert_eq!(hosts.default_host(), "git.example.org");
        assert_eq!(
            config
                .get("hosts.git.example.org.kind")
                .unwrap()
                .value
                .as_deref(),
            Some("github")
        );
        let built_in = config.get("hosts.tangled.org.kind").unwrap();
        assert_eq!(built_in.value.as_deref(), Some("tangled"));
        assert!(
            config
                .list()
                .iter()
                .any(|e| e.name == "hosts.git.example.org.kind")
        );
    }

    #[test]
    fn config_directory_follows_xdg() {
        let dir = |vars: &[(&str, &str)]| config_dir(&Env::fixed(vars.iter().copied()));
        assert_eq!(dir(&[("HOME", "/h")]), Some("/h/.config/forge".into()));
        assert_eq!(
            dir(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")]),
            Some("/x/forge".into())
        );
        assert_eq!(
            dir(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "rel")]),
            Some("/h/.config/forge".into())
        );
        assert_eq!(
            dir(&[("FORGE_CONFIG_DIR", "/c"), ("HOME", "/h")]),
            Some("/c".into())
        );
        assert_eq!(dir(&[]), None);
    }

    #[test]
    fn config_without_repository_file_ignores_its_errors() {
        let (dir, cwd) = setup("merge.method = \"squash\"", "");
        let file = dir.path().join("work/.forge.toml");
        let huge = "#".repeat(2 << 20);
        let texts: [(&[u8], &str); 4] = [
            (b"pr = [\n", ".forge.toml:1:"),
            (
                b"pr.draft = \"perhaps\"\nmerge.method = \"rebase\"",
                "it takes `true` or `false`",
            ),
            (b"\xff", "it is not UTF-8"),
            (huge.as_bytes(), "it is longer than 1048576 bytes"),
        ];
        let said = |expected: &str| {
            let config = Config::load(env(&dir, &[]), &cwd).unwrap();
            let e = config.check_repo_file().unwrap_err();
            assert!(e.message().contains(expected), "{}", e.message());
            let others = config.without_repo_file();
            assert!(others.problems().is_empty(), "{:?}", others.problems());
            assert_eq!(others.value("merge.method").as_deref(), Some("squash"));
        };
        for (text, expected) in texts {
            fs::write(&file, text).unwrap();
            said(expected);
        }
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        said("it is not a regular file");
    }

    #[cfg(unix)]
    #[test]
    fn symlinked_repository_file_must_be_in_work_tree() {
        use std::os::unix::fs::symlink;
        let (dir, cwd) = setup("", "");
        let file = dir.path().join("work/.forge.toml");
        let value = "merge.method = \"rebase\"";
        for target in ["outside.toml", "work/.git/config", "work/inside.toml"] {
            let target = dir.path().join(target);
            fs::write(&target, value).unwrap();
            fs::remove_file(&file).unwrap();
            symlink(&target, &file).unwrap();
            let config = Config::load(env(&dir, &[]), &cwd).unwrap();
            let inside = target.ends_with("work/inside.toml");
            assert_eq!(config.check_repo_file().is_ok(), inside, "{target:?}");
            assert_eq!(config.merge_method().is_some(), inside, "{target:?}");
            let set = config.set("pr.draft", "true", super::super::Scope::Repo);
            assert_eq!(set.is_ok(), inside, "{target:?}");
            let kept = fs::read_to_string(&target).unwrap() == value;
            assert_eq!(kept, !inside, "{target:?}");
        }
    }
}
