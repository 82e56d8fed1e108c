//! Restricts git processes, depending on the trust in the repository and on the purpose of the
//! process.
//!
//! A repository is guarded unless a person at a shell chose it ([`Trust`]), because its
//! configuration may come from a stranger. A guarded process is a process in a guarded repository.
//!
//! `docs/reference/git-processes.md` has the rules as a table. `tests/adversary` tests the table:
//! it plants a program in each place from which git would start a program.

use forge_core::{Error, ErrorKind, Result, SECRET_VARIABLES, Trust, hidden_variables, text};
use tokio::process::Command;

use crate::{Git, Setting, Version, command_line};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Reads objects, refs and settings. Writes only objects and temporary indexes.
    #[default]
    Read,
    /// Moves refs, merges trees for a commit on a branch, or changes a work tree.
    Write,
    Remote {
        /// True if the process inherits the tokens in the environment, so that a credential helper
        /// can use them.
        tokens: bool,
    },
}

/// Settings for every process.
const ALWAYS: [&str; 2] = [
    // Git finds changed files by itself, without a file system monitor.
    "core.fsmonitor=false",
    // The file of a commit-graph repeats the parents of commits, and git does not compare them with
    // the commits. A file with other parents would change merge bases, like a graft.
    "core.commitGraph=false",
];

/// Settings for a process that only reads or is guarded. They keep git from starting programs and
/// from reading unneeded files, and have it print the texts of commits in UTF-8.
const QUIET: [&str; 8] = [
    "i18n.logOutputEncoding=UTF-8",
    "core.hooksPath=/dev/null",
    // With renormalisation, a merge of trees would pass every file through its filter programs.
    "merge.renormalize=false",
    "log.showSignature=false",
    "gc.auto=0",
    "maintenance.auto=false",
    // The repository could name endless files here.
    "diff.orderFile=/dev/null",
    "mailmap.file=/dev/null",
];

/// Setting that keeps git from reading an attributes file that the configuration names. Git holds
/// the whole file in memory, and the repository could name an endless file.
pub(crate) const NO_ATTRIBUTES_FILE: &str = "core.attributesFile=/dev/null";

/// Configuration key of the attributes file, as git prints it.
const ATTRIBUTES_FILE: &str = "core.attributesfile";

/// Setting for a guarded process that contacts a remote. A signed push would start a program.
const REMOTE: [&str; 1] = ["push.gpgSign=false"];

/// Settings for a process that contacts a remote, if the process is guarded or may read tokens.
/// They exclude submodules, because a submodule has remotes and a configuration of its own, which
/// nobody checks.
const NO_SUBMODULES: [&str; 3] = [
    "push.recurseSubmodules=no",
    "fetch.recurseSubmodules=no",
    "submodule.recurse=false",
];

/// Transports that a guarded process may use for a remote. The other transports (`ext` and remote
/// helpers) would start programs.
const TRANSPORTS: &str = "file:git:http:https:ssh";

/// Regular expression for `git config --get-regexp`. Matches keys that can
///
/// - name a program, an attributes file or an endless list of objects,
/// - redirect a transport, or
/// - make a credential helper misread the host of a URL.
const PROGRAM_KEYS: &str = concat!(
    r"^(core\.(worktree|hookspath|sshcommand|gitproxy|askpass|alternaterefscommand|attributesfile)",
    r"|credential\.(.*\.)?(helper|protectprotocol)",
    r"|http\.(.*\.)?(proxy.*|ssl.*|cookiefile|savecookies|extraheader|curloptresolve|followredirects)",
    r"|protocol\.(.*\.)?allow",
    r"|remote\..*\.(uploadpack|receivepack|vcs|proxy|proxyauthmethod|pushurl)",
    r"|url\..*\.(pushinsteadof|insteadof)",
    r"|fetch\.(bundleuri|fsck\.skiplist)",
    r"|merge\..*\.driver",
    r"|filter\..*\.(clean|smudge|process)",
    r"|gpg\.(.*\.)?(program|defaultkeycommand)",
    r"|gc\.recentobjectshook",
    r"|hook\..*\.command)$"
);

/// First version of git that also reads hooks from the configuration (git-hook(1)).
/// `core.hooksPath` has no effect on these hooks.
const CONFIGURED_HOOKS: Version = Version {
    major: 2,
    minor: 54,
};

/// Text that the replacement of a merge driver prints (see `Git::without_drivers`). Callers search
/// git's output for this text. The exit status is not enough, because git before 2.44 reports a
/// status above 128 as a conflict.
const REFUSAL: &str = "forge-refuses-merge-driver";

/// Adds settings and environment for a purpose to `command`, which must not have arguments yet.
pub(crate) fn restrict(command: &mut Command, trust: Trust, purpose: Purpose, opens_bare: bool) {
    let bare = if opens_bare { "all" } else { "explicit" };
    command.args(["-c", &format!("safe.bareRepository={bare}")]);
    let guarded = trust.is_guarded();
    let is_remote = matches!(purpose, Purpose::Remote { .. });
    let mut set = |settings: &[&str]| {
        for setting in settings {
            command.args(["-c", setting]);
        }
    };
    set(&ALWAYS);
    if guarded || purpose == Purpose::Read {
        set(&QUIET);
    }
    if guarded && is_remote {
        set(&REMOTE);
    }
    if (guarded && is_remote) || purpose == (Purpose::Remote { tokens: true }) {
        set(&NO_SUBMODULES);
    }
    // Users confirm exactly the objects that are merged, so replacement refs and grafts are
    // disabled, as the commit-graph is above. The path of the grafts file cannot exist, so git reads
    // no grafts.
    command
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_GRAFT_FILE", "/dev/null/grafts");
    if guarded {
        forbid_fetch(command);
        if is_remote {
            command.env("GIT_ALLOW_PROTOCOL", TRANSPORTS);
        }
        command
            .env("GIT_EDITOR", ":")
            // An empty value keeps git from trying another askpass program.
            .env("GIT_ASKPASS", "")
            .env_remove("SSH_ASKPASS")
            .env_remove("GPG_TTY");
    }
    if purpose != (Purpose::Remote { tokens: true }) {
        without_secrets(command.as_std_mut());
    }
    // No remote needs these variables.
    command.env_remove("FORGE_MCP_TOKEN");
    command.env_remove("JIRA_TOKEN");
    for key in hidden_variables() {
        command.env_remove(key);
    }
}

/// Keeps git from fetching objects that a partial clone lacks.
pub(crate) fn forbid_fetch(command: &mut Command) {
    command
        // All transports are forbidden as well, because git 2.38 ignores `GIT_NO_LAZY_FETCH`.
        .env("GIT_ALLOW_PROTOCOL", "")
        .env("GIT_NO_LAZY_FETCH", "1");
}

/// Removes tokens and passwords from the environment of `command`.
pub fn without_secrets(command: &mut std::process::Command) -> &mut std::process::Command {
    for key in SECRET_VARIABLES {
        command.env_remove(key);
    }
    for key in hidden_variables() {
        command.env_remove(key);
    }
    command
}

impl Git {
    /// Returns the repository's own settings whose keys match [`PROGRAM_KEYS`]. The settings are
    /// read on first use, with one process.
    ///
    /// # Errors
    /// `git` if the configuration cannot be read.
    pub(crate) async fn program_settings(&self) -> Result<&[Setting]> {
        let read = async || {
            let mut settings = self.for_read().settings(PROGRAM_KEYS).await?;
            settings.retain(|setting| setting.of_repository && !names_nothing(setting));
            Ok::<_, Error>(settings)
        };
        Ok(self.programs.get_or_try_init(read).await?)
    }

    /// Refuses `operation` in a guarded repository if the repository names a program for it.
    ///
    /// `needed` selects the keys that matter for the operation. If the configuration of the
    /// repository names a program under one of these keys, the operation is refused. In other
    /// repositories nothing is refused.
    ///
    /// # Errors
    /// `permission_denied` with the keys.
    pub async fn refuse_programs(&self, operation: &str, needed: fn(&str) -> bool) -> Result<()> {
        if !self.trust().is_guarded() {
            return Ok(());
        }
        let settings = self.program_settings().await?;
        let keys = settings
            .iter()
            .map(|s| s.key.as_str())
            .filter(|k| needed(k));
        match keys.collect::<Vec<_>>() {
            keys if keys.is_empty() => Ok(()),
            keys => Err(refused(operation, &keys)),
        }
    }

    /// Returns this git with the attributes file of the user's configuration, which decides how
    /// files merge and how they are written. An attributes file that the repository's configuration
    /// names is read only for a write in a repository that a person chose.
    ///
    /// # Errors
    /// `git` if the configuration cannot be read.
    pub async fn with_attributes_file(&self) -> Result<Self> {
        let mut git = self.clone();
        let any_counts = !self.trust().is_guarded() && self.purpose() == Purpose::Write;
        let is_named = |settings: &[Setting]| settings.iter().any(|s| s.key == ATTRIBUTES_FILE);
        git.attributes_file = Some(any_counts || !is_named(self.program_settings().await?));
        Ok(git)
    }

    /// Returns this git for merging trees. Merge drivers run only for a write in a repository that
    /// a person chose. Otherwise each merge driver of the repository is replaced by a command that
    /// prints a marker and fails. `Git::driver_refusal` recognises the marker in git's output.
    ///
    /// # Errors
    /// The errors of [`Git::program_settings`].
    pub(crate) async fn without_drivers(&self) -> Result<Self> {
        if !self.trust().is_guarded() && self.purpose() == Purpose::Write {
            return Ok(self.clone());
        }
        let mut git = self.with_attributes_file().await?;
        let drivers: Vec<&Setting> = self
            .program_settings()
            .await?
            .iter()
            .filter(|setting| is_merge_driver(&setting.key))
            .collect();
        if let Some(odd) = drivers.iter().find(|setting| is_unsettable(&setting.key)) {
            return Err(refused("a merge", &[&odd.key]));
        }
        for setting in drivers {
            git = git.with_setting(format!("{}=echo {REFUSAL} >&2; exit 129", setting.key));
        }
        Ok(git)
    }

    /// Returns this git without the hooks that the repository's configuration names. For a write in
    /// a repository that a person chose, the hooks stay on.
    ///
    /// This is needed only for processes that move refs or write an index. Git starts no hooks in
    /// the other processes of reads and guarded writes.
    ///
    /// # Errors
    /// `git` if the configuration cannot be read; `permission_denied` if it names a hook that no
    /// option of git can switch off.
    pub async fn without_hooks(&self) -> Result<Self> {
        let any_runs = !self.trust().is_guarded() && self.purpose() == Purpose::Write;
        if any_runs || self.version().await? < CONFIGURED_HOOKS {
            return Ok(self.clone());
        }
        let off = hooks_off(self.program_settings().await?)?;
        Ok(off.into_iter().fold(self.clone(), Self::with_setting))
    }

    /// Returns the error of a merge that needed a replaced merge driver. Returns `None` if `stderr`
    /// lacks the marker of such a driver.
    pub(crate) async fn driver_refusal(&self, stderr: &[u8]) -> Option<Error> {
        if !String::from_utf8_lossy(stderr).contains(REFUSAL) {
            return None;
        }
        let settings = self.program_settings().await.ok()?;
        let keys = settings.iter().map(|s| s.key.as_str());
        let keys: Vec<&str> = keys.filter(|key| is_merge_driver(key)).collect();
        Some(refused("a merge of these files", &keys))
    }

    /// Returns the purpose of a process that contacts a remote.
    ///
    /// - In a guarded repository, the configuration must not name a program, a proxy or a
    ///   certificate for remotes.
    /// - In a repository that a person chose, the configuration may name them, but the process then
    ///   gets no tokens. It also gets none if the configuration names a program that git starts
    ///   only for a signed push or after a fetch.
    ///
    /// # Errors
    /// The errors of [`Git::refuse_programs`].
    pub(crate) async fn remote_purpose(&self) -> Result<Purpose> {
        self.refuse_programs("contacting a remote", is_for_remotes)
            .await?;
        let settings = self.program_settings().await?;
        let is_program = |setting: &Setting| {
            is_program_for_remotes(&setting.key) || is_program_of_person(&setting.key)
        };
        let tokens = !settings.iter().any(is_program);
        Ok(Purpose::Remote { tokens })
    }

    /// Returns true if the repository's configuration names a program, a proxy or a certificate for
    /// connections to remotes.
    ///
    /// # Errors
    /// The errors of [`Git::program_settings`].
    pub(crate) async fn has_programs_for_remotes(&self) -> Result<bool> {
        let settings = self.program_settings().await?;
        Ok(settings.iter().any(|s| is_program_for_remotes(&s.key)))
    }

    /// Returns the error for a read that needs a fetch, if the fetch would start a program that the
    /// repository's configuration names.
    pub(crate) async fn refused_fetch(&self, remote: &str, wanted: &[&str]) -> Error {
        let settings = match self.program_settings().await {
            Ok(settings) => settings,
            Err(e) => return e,
        };
        let keys = settings.iter().map(|setting| setting.key.as_str());
        let keys: Vec<&str> = keys.filter(|key| is_program_for_remotes(key)).collect();
        let keys = names(&keys);
        let fetch = command_line([&["git", "fetch", remote], wanted].concat());
        let message = format!(
            "cannot fetch from {}: the repository's configuration sets programs ({keys}), and \
            forge starts none of them for a read",
            text::one_line(remote)
        );
        denied(message).with_hint(format!(
            "check these settings; if you trust them, run `{fetch}` and try again"
        ))
    }
}

/// Returns true if a setting is empty, and git takes the empty value of its key for "none".
///
/// Under the other keys an empty value has an effect: `http.sslVerify` is false, `url.X.insteadOf`
/// rewrites every URL, `remote.X.uploadpack` makes git run the address of the remote as a program,
/// and `merge.X.driver` resolves each conflict in favour of the current branch.
///
/// Source: git-config(1) for the proxies and lists; `convert.c` for filters.
fn names_nothing(setting: &Setting) -> bool {
    if setting.value.as_deref() != Some("") {
        return false;
    }
    let (section, field) = match (setting.key.split_once('.'), setting.key.rsplit_once('.')) {
        (Some((section, _)), Some((_, field))) => (section, field),
        _ => return false,
    };
    matches!(
        (section, field),
        ("core", "askpass")
            | ("credential", "helper")
            | ("http", "proxy" | "extraheader" | "curloptresolve")
            | ("remote", "proxy")
            | ("filter", _)
    )
}

/// Returns true if a key names a program, a proxy or a certificate for connections to remotes.
fn is_program_for_remotes(key: &str) -> bool {
    is_for_remotes(key) && !selects_other_remote(key)
}

/// Returns true if a key affects connections to remotes.
fn is_for_remotes(key: &str) -> bool {
    let is_for_files = key.starts_with("filter.") || key == "core.worktree";
    !is_merge_driver(key) && !is_for_files && !is_program_of_person(key) && key != ATTRIBUTES_FILE
}

/// Returns true if a key names a program that git starts for a signed push or for the cleanup after
/// a fetch. [`REMOTE`] and [`QUIET`] switch both off in a guarded process.
fn is_program_of_person(key: &str) -> bool {
    key.starts_with("gpg.") || key.starts_with("gc.")
}

/// Returns true if a key redirects git to another remote. That remote gets only the credentials for
/// its host.
fn selects_other_remote(key: &str) -> bool {
    key.ends_with(".pushurl") || key.starts_with("url.") || key == "fetch.bundleuri"
}

/// Returns the settings that switch off each hook in `settings` by its name.
/// `hook.EVENT.enabled=false` would not be enough, because the repository can give a hook the name
/// of an event.
fn hooks_off(settings: &[Setting]) -> Result<Vec<String>> {
    let keys = settings.iter().map(|setting| setting.key.as_str());
    let hooks = keys.filter(|key| key.starts_with("hook."));
    hooks
        .filter_map(|key| Some((key, key.strip_suffix(".command")?)))
        .map(|(key, hook)| match is_unsettable(key) {
            true => Err(refused("a write", &[key])),
            false => Ok(format!("{hook}.enabled=false")),
        })
        .collect()
}

/// Returns true if `git -c` cannot set `key`. A `=` in the key would end the key. A replacement
/// character shows that the key was not UTF-8, so its original bytes are lost.
fn is_unsettable(key: &str) -> bool {
    key.contains(['=', char::REPLACEMENT_CHARACTER])
}

fn is_merge_driver(key: &str) -> bool {
    key.starts_with("merge.")
}

fn refused(operation: &str, keys: &[&str]) -> Error {
    let keys = names(keys);
    denied(format!(
        "{operation} would start programs that the repository's configuration sets ({keys}); forge \
        allows this only in a terminal inside that repository"
    ))
    .with_hint("check these settings; if you trust them, work in a terminal in that repository")
}

fn names(keys: &[&str]) -> String {
    let keys: Vec<String> = keys
        .iter()
        .map(|k| text::one_line(k).into_owned())
        .collect();
    keys.join(", ")
}

fn denied(message: String) -> Error {
    let kind = ErrorKind::PermissionDenied {
        missing: Vec::new(),
        sso_url: None,
    };
    Error::new(kind, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Merged;

    /// Creates a repository whose configuration and hooks write to `log`, with two branches that
    /// change the same file.
    async fn hostile() -> (tempfile::TempDir, std::path::PathBuf, [String; 2]) {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        let log = dir.path().join("log");
        git.run_ok(["init", "-q", "-b", "main"]).await.unwrap();
        let mut tips = Vec::new();
        let blob = git.put("blob", b"a\n").await.unwrap();
        let base = commit(&git, &blob, &[]).await;
        for text in [b"b\n", b"c\n"] {
            let blob = git.put("blob", text).await.unwrap();
            tips.push(commit(&git, &blob, &[&base]).await);
        }
        for (key, name) in [
            ("merge.own.driver", "driver"),
            ("core.fsmonitor", "fsmonitor"),
        ] {
            let program = format!("echo {name}:$GH_TOKEN >> '{}'", log.display());
            git.run_ok(["config", key, &program]).await.unwrap();
        }
        let attributes = dir.path().join(".git/info/attributes");
        std::fs::create_dir_all(attributes.parent().unwrap()).unwrap();
        std::fs::write(attributes, "* merge=own\n").unwrap();
        let tips = tips.try_into().unwrap();
        (dir, log, tips)
    }

    /// The keys of git that [`PROGRAM_KEYS`] matches, with `x` for a name. Each was looked up in
    /// git-config(1).
    const MATCHED: [&str; 46] = [
        "core.alternaterefscommand",
        "core.askpass",
        "core.attributesfile",
        "core.gitproxy",
        "core.hookspath",
        "core.sshcommand",
        "core.worktree",
        "credential.helper",
        "credential.protectprotocol",
        "fetch.bundleuri",
        "fetch.fsck.skiplist",
        "filter.x.clean",
        "filter.x.process",
        "filter.x.smudge",
        "gc.recentobjectshook",
        "gpg.program",
        "gpg.ssh.defaultkeycommand",
        "gpg.x.program",
        "hook.x.command",
        "http.cookiefile",
        "http.curloptresolve",
        "http.extraheader",
        "http.followredirects",
        "http.proxy",
        "http.proxyauthmethod",
        "http.savecookies",
        "http.ssltry",
        "merge.x.driver",
        "protocol.allow",
        "protocol.x.allow",
        "remote.x.proxy",
        "remote.x.proxyauthmethod",
        "remote.x.pushurl",
        "remote.x.receivepack",
        "remote.x.uploadpack",
        "remote.x.vcs",
        "url.x.insteadof",
        "url.x.pushinsteadof",
        "http.sslbackend",
        "http.sslcainfo",
        "http.sslcapath",
        "http.sslcert",
        "http.sslcipherlist",
        "http.sslkey",
        "http.sslverify",
        "http.sslversion",
    ];

    /// Returns the keys of git that [`PROGRAM_KEYS`] matches.
    async fn matched_keys(git: &Git, dir: &std::path::Path) -> Vec<String> {
        let listed = git.run_ok(["help", "--config"]).await.unwrap();
        let listed = String::from_utf8(listed).unwrap();
        let mut file = String::new();
        for key in listed.lines().take_while(|line| !line.is_empty()) {
            // A placeholder such as `<name>`, and an asterisk, stand for any text.
            let mut key = key.replace('*', "x");
            while let (Some(start), Some(end)) = (key.find('<'), key.find('>')) {
                key.replace_range(start..=end, "x");
            }
            let (section, field) = key.rsplit_once('.').unwrap();
            let header = match section.split_once('.') {
                Some((section, name)) => format!("{section} \"{name}\""),
                None => section.to_owned(),
            };
            // git lists `gitweb.remote_heads`, which it could not read.
            if !field.contains('_') {
                file.push_str(&format!("[{header}]\n\t{field} = v\n"));
            }
        }
        let path = dir.join("keys");
        std::fs::write(&path, file).unwrap();
        let path = path.to_str().unwrap();
        let args = ["config", "--file", path, "--name-only", "--get-regexp"];
        let matched = git.run_ok(args.iter().chain(&[PROGRAM_KEYS])).await;
        let matched = String::from_utf8(matched.unwrap()).unwrap();
        matched.lines().map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn program_keys_match_only_known_keys_of_git() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q"]).await.unwrap();
        let matched = matched_keys(&git, dir.path()).await;
        let is_known = |key: &str| {
            MATCHED.contains(&key)
                || key.starts_with("http.proxyssl")
                || key == "http.sslcertpasswordprotected"
        };
        let unknown: Vec<&String> = matched.iter().filter(|key| !is_known(key)).collect();
        assert!(unknown.is_empty(), "can these name a program? {unknown:?}");
        assert!(matched.len() > 30, "{matched:?}");
    }

    #[tokio::test]
    async fn protocol_version_is_no_program() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q"]).await.unwrap();
        for key in [
            "protocol.version",
            "http.version",
            "remote.x.fetch",
            "core.editor",
        ] {
            git.run_ok(["config", key, "2"]).await.unwrap();
        }
        assert!(git.program_settings().await.unwrap().is_empty());
        for key in ["protocol.allow", "protocol.ext.allow"] {
            let git = Git::at(dir.path());
            git.run_ok(["config", key, "always"]).await.unwrap();
            let settings = git.program_settings().await.unwrap();
            assert!(
                settings.iter().any(|setting| setting.key == key),
                "{settings:?}"
            );
        }
    }

    async fn commit(git: &Git, blob: &str, parents: &[&str]) -> String {
        let tree = format!("100644 blob {blob}\tfile\n");
        let tree = git
            .run_ok_with_stdin(["mktree"], tree.as_bytes())
            .await
            .unwrap();
        let commit = crate::RawCommit {
            tree: String::from_utf8_lossy(&tree).trim(),
            parents: parents.to_vec(),
            author: b"A <a@b> 1 +0000",
            committer: b"A <a@b> 1 +0000",
            encoding: None,
            message: b"m\n",
        }
        .encode();
        git.put("commit", &commit).await.unwrap()
    }

    #[tokio::test]
    async fn merge_driver_runs_only_for_deliberate_writes() {
        let (dir, log, [ours, theirs]) = hostile().await;
        let git = Git::at(dir.path());
        let person = git.clone().with_trust(Trust::Person);
        for refusing in [git.clone(), git.for_write(), person.clone()] {
            let refused = refusing
                .merge_trees(&ours, &theirs, false)
                .await
                .unwrap_err();
            assert_eq!(refused.code(), "permission_denied", "{refused}");
            assert!(refused.message().contains("merge.own.driver"), "{refused}");
        }
        assert!(!log.exists());
        let merged = person.for_write().merge_trees(&ours, &theirs, false).await;
        assert!(matches!(merged, Ok(Merged::Clean(_))), "{merged:?}");
        assert!(std::fs::read_to_string(log).unwrap().starts_with("driver:"));
    }

    #[tokio::test]
    async fn endless_file_of_repository_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        let user = format!("[core]\n\tattributesFile = {}\n", path("attributes"));
        std::fs::write(path("user"), user).unwrap();
        std::fs::write(path("attributes"), "* merge=union\n").unwrap();
        let fresh = || Git::at(dir.path()).with_env("GIT_CONFIG_GLOBAL", path("user"));
        let git = fresh();
        git.run_ok(["init", "-q"]).await.unwrap();
        let blob = git.put("blob", b"a\n").await.unwrap();
        let base = commit(&git, &blob, &[]).await;
        let blob = git.put("blob", b"b\n").await.unwrap();
        let ours = commit(&git, &blob, &[&base]).await;
        let blob = git.put("blob", b"c\n").await.unwrap();
        let theirs = commit(&git, &blob, &[&base]).await;
        // The user's own attributes file counts for merges.
        let merged = git.merge_trees(&ours, &theirs, false).await;
        assert!(matches!(merged, Ok(Merged::Clean(_))), "{merged:?}");

        let pipe = path("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        for key in ["core.attributesFile", "diff.orderFile", "mailmap.file"] {
            git.run_ok(["config", key, &pipe]).await.unwrap();
        }
        let (guarded, person) = (fresh(), fresh().with_trust(Trust::Person));
        for git in [&guarded, &person, &guarded.for_write()] {
            let merged = git.merge_trees(&ours, &theirs, false).await;
            assert!(matches!(merged, Ok(Merged::Conflicts(_))), "{merged:?}");
        }
        for git in [&guarded, &person] {
            let diff = ["diff-tree", "-p", &base, &ours];
            let log = ["log", "-p", "--format=%aN", &ours];
            for args in [diff, log] {
                let printed = git.run_ok(args).await.unwrap();
                assert!(String::from_utf8_lossy(&printed).contains("+b"));
            }
        }
    }

    #[tokio::test]
    async fn secrets_reach_only_git_processes_for_a_remote() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q"]).await.unwrap();
        let removed = |git: &Git| -> Vec<String> {
            let command = git.command(["version"]);
            let envs = command.as_std().get_envs();
            envs.filter(|(_, value)| value.is_none())
                .map(|(key, _)| key.to_string_lossy().into_owned())
                .collect()
        };
        for git in [&git, &git.for_write()] {
            let removed = removed(git);
            assert!(
                SECRET_VARIABLES
                    .iter()
                    .all(|s| removed.iter().any(|r| r == s))
            );
        }
        let remote = git.for_remote().await.unwrap();
        // A submodule's configuration could name a program that reads the tokens.
        for key in ["push.recurseSubmodules", "fetch.recurseSubmodules"] {
            git.run_ok(["config", key, "on-demand"]).await.unwrap();
            let value = remote.run_ok(["config", "--get", key]).await.unwrap();
            assert_eq!(value, b"no\n", "{key}");
        }
        let removed = removed(&remote);
        for (name, is_removed) in [
            ("GH_TOKEN", false),
            ("FORGE_MCP_TOKEN", true),
            ("JIRA_TOKEN", true),
        ] {
            assert_eq!(removed.iter().any(|r| r == name), is_removed, "{name}");
        }
    }

    #[tokio::test]
    async fn remote_access_is_refused_for_unsafe_settings() {
        for (key, value) in [
            ("core.sshCommand", "x"),
            ("credential.helper", "!x"),
            ("credential.https://h.example.helper", "!x"),
            ("credential.protectProtocol", "false"),
            ("http.proxy", "http://127.0.0.1:1"),
            ("http.https://h.example/.sslVerify", "false"),
            ("remote.origin.uploadpack", "x"),
            ("protocol.ext.allow", "always"),
            ("fetch.fsck.skipList", "/dev/zero"),
            ("hook.a.command", "x"),
            ("remote.origin.pushurl", "/elsewhere"),
            ("url./elsewhere.insteadOf", "https://h.example/"),
            ("url./elsewhere.pushInsteadOf", "https://h.example/"),
            // Git gives these empty values an effect.
            ("http.sslVerify", ""),
            ("http.https://h.example/.sslVerify", ""),
            ("http.sslCAInfo", ""),
            ("core.sshCommand", ""),
            ("remote.origin.uploadpack", ""),
            ("remote.origin.receivepack", ""),
            ("url.https://h.example/.insteadOf", ""),
            ("remote.origin.pushurl", ""),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let git = Git::at(dir.path());
            git.run_ok(["init", "-q"]).await.unwrap();
            assert!(git.for_remote().await.is_ok());
            let included = dir.path().join("included");
            std::fs::write(&included, "").unwrap();
            let path = included.to_str().unwrap();
            git.run_ok(["config", "-f", path, key, value])
                .await
                .unwrap();
            git.run_ok(["config", "include.path", path]).await.unwrap();
            let fresh = Git::at(dir.path());
            let refused = fresh.for_remote().await.unwrap_err();
            assert_eq!(refused.code(), "permission_denied", "{key}");
            let said = refused.message().to_lowercase();
            assert!(said.contains(&key.to_lowercase()), "{refused}");
            let person = Git::at(dir.path()).with_trust(Trust::Person);
            let person = person.for_remote().await.unwrap();
            let tokens = person.purpose() != Purpose::Remote { tokens: false };
            assert_eq!(tokens, selects_other_remote(&key.to_lowercase()), "{key}");
        }
    }

    #[tokio::test]
    async fn empty_setting_that_names_nothing_is_accepted() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q"]).await.unwrap();
        for key in [
            "credential.helper",
            "credential.https://h.example.helper",
            "core.askPass",
            "http.proxy",
            "http.https://h.example/.extraHeader",
            "remote.origin.proxy",
            "filter.lfs.smudge",
        ] {
            git.run_ok(["config", key, ""]).await.unwrap();
        }
        assert!(Git::at(dir.path()).for_remote().await.is_ok());
        let person = Git::at(dir.path()).with_trust(Trust::Person);
        let person = person.for_remote().await.unwrap();
        assert_eq!(person.purpose(), Purpose::Remote { tokens: true });
    }

    #[tokio::test]
    async fn key_without_value_counts_as_set() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q"]).await.unwrap();
        let path = dir.path().join(".git/config");
        let plain = std::fs::read_to_string(&path).unwrap();
        for section in ["http", "http \"https://h.example/\""] {
            let text = format!("{plain}[{section}]\n\tsslVerify\n");
            std::fs::write(&path, text).unwrap();
            let refused = Git::at(dir.path()).for_remote().await.unwrap_err();
            assert!(refused.message().contains("sslverify"), "{refused}");
        }
    }

    /// With an empty program, git runs the address of the remote.
    #[tokio::test]
    async fn empty_upload_program_runs_no_file_of_repository() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q"]).await.unwrap();
        let log = dir.path().join("log");
        let program = dir.path().join("program");
        let text = format!("#!/bin/sh\necho ran >> '{}'\n", log.display());
        std::fs::write(&program, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).unwrap();
        let url = program.to_str().unwrap();
        for [key, value] in [["remote.o.url", url], ["remote.o.uploadpack", ""]] {
            git.run_ok(["config", key, value]).await.unwrap();
        }
        let wanted = ["refs/heads/main"];
        assert!(git.fetch_objects("o", &wanted).await.is_err());
        let person = Git::at(dir.path()).with_trust(Trust::Person);
        assert!(person.fetch_for_read("o", &wanted).await.is_err());
        assert!(!log.exists());
        // Git itself runs the file, in a fetch that a person asked for.
        assert!(person.fetch_objects("o", &wanted).await.is_err());
        assert!(log.exists());
    }

    #[tokio::test]
    async fn empty_merge_driver_resolves_no_conflict() {
        let (dir, log, [ours, theirs]) = hostile().await;
        let git = Git::at(dir.path());
        git.run_ok(["config", "merge.own.driver", ""])
            .await
            .unwrap();
        let refused = git.merge_trees(&ours, &theirs, false).await.unwrap_err();
        assert!(refused.message().contains("merge.own.driver"), "{refused}");
        assert!(!log.exists());
    }

    #[tokio::test]
    async fn program_for_signed_push_or_cleanup_gets_no_tokens() {
        for key in [
            "gpg.program",
            "gpg.ssh.program",
            "gpg.ssh.defaultKeyCommand",
            "gc.recentObjectsHook",
        ] {
            let dir = tempfile::tempdir().unwrap();
            let git = Git::at(dir.path());
            git.run_ok(["init", "-q"]).await.unwrap();
            git.run_ok(["config", key, "x"]).await.unwrap();
            assert!(git.for_remote().await.is_ok(), "{key}");
            let person = Git::at(dir.path()).with_trust(Trust::Person);
            let person = person.for_remote().await.unwrap();
            assert_eq!(person.purpose(), Purpose::Remote { tokens: false }, "{key}");
        }
    }

    #[tokio::test]
    async fn fetch_for_read_starts_no_repository_program() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path()).with_trust(Trust::Person);
        git.run_ok(["init", "-q"]).await.unwrap();
        let log = dir.path().join("log");
        let program = format!("echo ssh >> '{}'; false", log.display());
        let url = ["remote.origin.url", "ssh://git@h.example/o/r"];
        for [key, value] in [url, ["core.sshCommand", &program]] {
            git.run_ok(["config", key, value]).await.unwrap();
        }
        let wanted = ["refs/pull/7/head"];
        let refused = git.fetch_for_read("origin", &wanted).await.unwrap_err();
        assert_eq!(refused.code(), "permission_denied", "{refused}");
        assert!(refused.message().contains("core.sshcommand"), "{refused}");
        let hint = refused.hint().unwrap().text();
        assert!(hint.contains("git fetch origin refs/pull/7/head"), "{hint}");
        assert!(!log.exists());
        // A fetch that a person asked for starts the same programs as git.
        assert!(git.fetch_objects("origin", &wanted).await.is_err());
        assert!(log.exists());
    }

    #[test]
    fn configured_hooks_are_switched_off_by_name() {
        let setting = |key: &str| Setting {
            key: key.to_owned(),
            value: Some("x".to_owned()),
            of_repository: true,
        };
        let keys = ["hook.a.b c.command", "merge.own.driver", "hook..command"];
        let off = hooks_off(&keys.map(setting)).unwrap();
        assert_eq!(off, ["hook.a.b c.enabled=false", "hook..enabled=false"]);
        for odd in ["hook.a=b.command", "hook.\u{fffd}.command"] {
            let refused = hooks_off(&[setting(odd)]).unwrap_err();
            assert_eq!(refused.code(), "permission_denied", "{refused}");
        }
    }

    /// Git before 2.54 ignores hooks in the configuration.
    #[tokio::test]
    async fn configured_hook_runs_only_for_deliberate_writes() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q"]).await.unwrap();
        let log = dir.path().join("log");
        let program = format!("echo hook >> '{}'", log.display());
        for [key, value] in [
            ["hook.own.command", &program],
            ["hook.own.event", "reference-transaction"],
        ] {
            git.run_ok(["config", key, value]).await.unwrap();
        }
        let blob = git.put("blob", b"a\n").await.unwrap();
        let tip = commit(&git, &blob, &[]).await;
        let update = ["update-ref", "refs/heads/main", &tip];
        let guarded = git.for_write().without_hooks().await.unwrap();
        guarded.run_ok(update).await.unwrap();
        assert!(!log.exists());
        let person = git.with_trust(Trust::Person).for_write();
        let person = person.without_hooks().await.unwrap();
        let delete = ["update-ref", "-d", "refs/heads/main"];
        person.run_ok(delete).await.unwrap();
        let runs = person.version().await.unwrap() >= CONFIGURED_HOOKS;
        assert_eq!(log.exists(), runs);
    }

    #[tokio::test]
    async fn object_is_read_without_replacements_and_grafts() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path()).with_trust(Trust::Person);
        git.run_ok(["init", "-q"]).await.unwrap();
        let blobs = [&b"reviewed\n"[..], b"other\n"];
        let mut commits = Vec::new();
        for text in blobs {
            let blob = git.put("blob", text).await.unwrap();
            let parents: Vec<&str> = commits.iter().map(String::as_str).collect();
            commits.push(commit(&git, &blob, &parents).await);
        }
        git.run_ok(["replace", "-f", &commits[1], &commits[0]])
            .await
            .unwrap();
        let info = dir.path().join(".git/info");
        std::fs::create_dir_all(&info).unwrap();
        std::fs::write(info.join("grafts"), format!("{}\n", commits[1])).unwrap();
        let path = format!("{}:file", commits[1]);
        let text = git.run_ok(["cat-file", "blob", &path]).await.unwrap();
        assert_eq!(text, blobs[1]);
        let log = git.run(["rev-list", "--count", &commits[1]]).await.unwrap();
        assert_eq!(
            (log.stdout.as_slice(), log.stderr.as_slice()),
            (&b"2\n"[..], &b""[..])
        );
    }

    /// Creates a commit-graph that leaves out the second of three commits. Returns the commits.
    async fn plant_commit_graph(dir: &std::path::Path, git: &Git) -> Vec<String> {
        git.run_ok(["init", "-q"]).await.unwrap();
        let mut commits: Vec<String> = Vec::new();
        for text in [&b"1\n"[..], b"2\n", b"3\n"] {
            let blob = git.put("blob", text).await.unwrap();
            let parents: Vec<&str> = commits.last().map(String::as_str).into_iter().collect();
            commits.push(commit(git, &blob, &parents).await);
        }
        let tips = format!("{}\n", commits[2]);
        let write = ["commit-graph", "write", "--stdin-commits"];
        let plain = std::process::Command::new("git")
            .current_dir(dir)
            .args(write)
            .stdin(std::process::Stdio::piped())
            .spawn();
        let mut plain = plain.unwrap();
        std::io::Write::write_all(plain.stdin.as_mut().unwrap(), tips.as_bytes()).unwrap();
        assert!(plain.wait().unwrap().success());
        let file = dir.join(".git/objects/info/commit-graph");
        let mut graph = std::fs::read(&file).unwrap();
        let number = |at: usize| {
            let bytes: [u8; 4] = graph[at..at + 4].try_into().unwrap();
            usize::try_from(u32::from_be_bytes(bytes)).unwrap()
        };
        // The table of chunks has the name and the 8 bytes of the offset of each chunk.
        let chunk = |name: &[u8]| {
            let mut rows = (8..).step_by(12);
            let row = rows.find(|at| &graph[*at..at + 4] == name).unwrap();
            number(row + 8)
        };
        let mut sorted = commits.clone();
        sorted.sort();
        let position = |oid: &String| sorted.iter().position(|other| other == oid).unwrap();
        // A row of commit data has the id of the tree, and then the position of the first parent.
        let parent = chunk(b"CDAT") + position(&commits[2]) * 36 + 20;
        let first = u32::try_from(position(&commits[0])).unwrap();
        graph[parent..parent + 4].copy_from_slice(&first.to_be_bytes());
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, graph).unwrap();
        commits
    }

    #[tokio::test]
    async fn parents_in_commit_graph_do_not_count() {
        for trust in [Trust::Person, Trust::Guarded] {
            let dir = tempfile::tempdir().unwrap();
            let git = Git::at(dir.path()).with_trust(trust);
            let commits = plant_commit_graph(dir.path(), &git).await;
            let plain = std::process::Command::new("git")
                .current_dir(dir.path())
                .args(["rev-list", "--count", &commits[2]])
                .output();
            assert_eq!(
                plain.unwrap().stdout,
                b"2\n",
                "the planted file has no effect"
            );
            let count = git.run_ok(["rev-list", "--count", &commits[2]]).await;
            assert_eq!(count.unwrap(), b"3\n");
            assert!(git.contains(&commits[2], &commits[1]).await.unwrap());
            let bases = git.merge_bases(&commits[2], &commits[1]).await.unwrap();
            assert_eq!(bases, commits[1..2]);
        }
    }

    #[tokio::test]
    async fn guarded_read_contacts_no_remote() {
        let dir = tempfile::tempdir().unwrap();
        let git = Git::at(dir.path());
        git.run_ok(["init", "-q"]).await.unwrap();
        let log = dir.path().join("log");
        let program = dir.path().join("program");
        std::fs::write(&program, format!("echo lazy >> '{}'", log.display())).unwrap();
        let url = format!("ext::sh {}", program.display());
        for (key, value) in [
            ("core.repositoryFormatVersion", "1"),
            ("extensions.partialClone", "origin"),
            ("remote.origin.promisor", "true"),
            ("remote.origin.url", url.as_str()),
            ("protocol.ext.allow", "always"),
        ] {
            git.run_ok(["config", key, value]).await.unwrap();
        }
        let missing = "0123456789012345678901234567890123456789";
        assert!(git.run_ok(["cat-file", "-p", missing]).await.is_err());
        assert!(!log.exists());
        let person = git.with_trust(Trust::Person);
        let elsewhere = person.clone().without_lazy_fetch();
        assert!(elsewhere.run_ok(["cat-file", "-p", missing]).await.is_err());
        assert!(!log.exists());
        // For a person at a shell, git starts the program to fetch this object.
        let asked = person.run(["cat-file", "-p", missing]).await.unwrap();
        assert_ne!(asked.status, 0);
        assert!(log.exists());
    }
}
