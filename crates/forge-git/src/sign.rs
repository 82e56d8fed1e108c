//! Signs commits that a branch will point to.
//!
//! Commits are signed with `git commit-tree -S`, so that formats, keys and programs are those of
//! git. This command normalises names and dates from the environment, so the result is compared
//! with the requested commit.

use std::{fs, io::Write as _, path::Path};

use forge_core::{Error, ErrorKind, Hint, Precondition, Result, text};

use crate::{
    Git, Output, RawCommit, Setting, remotes::path_of, shell::single_quoted, tree::scratch,
};

/// The settings that decide whether commits are signed, and with which program.
#[derive(Clone, Debug, Default)]
pub struct Signing(Vec<Setting>);

/// Environment that keeps signing programs from asking for a passphrase: no terminal, no window,
/// and an askpass program that fails.
const UNATTENDED: [(&str, &str); 6] = [
    ("GPG_TTY", ""),
    ("DISPLAY", ""),
    ("WAYLAND_DISPLAY", ""),
    ("DBUS_SESSION_BUS_ADDRESS", ""),
    ("SSH_ASKPASS", "false"),
    ("SSH_ASKPASS_REQUIRE", "force"),
];

impl Git {
    /// Writes a commit that a branch will point to, and returns its id, hex. Signs the commit if
    /// the configuration requires it. Without a signature this takes one process, like
    /// [`Git::put`].
    ///
    /// # Errors
    /// `git` with the program and its setting if signing fails; `precondition_failed` if git alters
    /// the commit while signing; `config` if `commit.gpgsign` is not a boolean.
    pub async fn put_landing_commit(
        &self,
        commit: &RawCommit<'_>,
        signing: &Signing,
    ) -> Result<String> {
        let is_guarded = self.trust().is_guarded();
        // The repository of a stranger cannot disable signing that the user has enabled.
        let by_user = || signing.of_user().is_on();
        match signing.is_on()? || (is_guarded && by_user()?) {
            true => self.put_signed(commit, signing, is_guarded).await,
            false => self.put("commit", &commit.encode()).await,
        }
    }

    async fn put_signed(
        &self,
        commit: &RawCommit<'_>,
        signing: &Signing,
        is_guarded: bool,
    ) -> Result<String> {
        let mut git = self.clone();
        // The directory of the wrapper script must exist until git has ended.
        let mut wrapper = None;
        if is_guarded {
            signing.refuse_repository_settings()?;
            for (key, value) in UNATTENDED {
                git = git.with_env(key, value);
            }
            if let Some((key, script)) = signing.wrapper() {
                let dir = scratch()?;
                let path = write_program(dir.path(), &script)?;
                git = git.with_setting(format!("{key}={path}"));
                wrapper = Some(dir);
            }
        }
        for (role, line) in [("AUTHOR", commit.author), ("COMMITTER", commit.committer)] {
            let [name, email, date] = split_ident(line).ok_or_else(|| altered_error(commit))?;
            git = git
                .with_env(format!("GIT_{role}_NAME"), path_of(name))
                .with_env(format!("GIT_{role}_EMAIL"), path_of(email))
                .with_env(format!("GIT_{role}_DATE"), path_of(&[b"@", date].concat()));
        }
        let encoding = commit
            .encoding
            .map_or("UTF-8".into(), String::from_utf8_lossy);
        let encoding = format!("i18n.commitEncoding={encoding}");
        let mut args = vec!["-c", &encoding, "commit-tree", "-S"];
        args.extend(commit.parents.iter().flat_map(|parent| ["-p", parent]));
        args.push(commit.tree);
        let output = git.run_with_stdin(args, commit.message).await?;
        drop(wrapper);
        if output.status != 0 {
            return Err(signing.failed(&output, is_guarded));
        }
        let oid = String::from_utf8_lossy(output.stdout.trim_ascii()).into_owned();
        let data = self.run_ok(["cat-file", "commit", &oid]).await?;
        let wanted = RawCommit {
            // Git writes no encoding header for UTF-8.
            encoding: commit.encoding.filter(|name| !is_utf8(name)),
            ..commit.clone()
        };
        match RawCommit::parse(&data) {
            Some(made) if made == wanted => Ok(oid),
            _ => Err(altered_error(commit)),
        }
    }
}

impl Signing {
    /// Regular expression for the keys of the signing settings, for [`Git::settings`].
    pub const KEYS: &str = r"commit\.gpgsign|user\.signingkey|gpg\.(.*\.)?(format|program)|gpg\.ssh\.defaultkeycommand";

    /// Selects the signing settings from `settings`.
    #[must_use]
    pub fn of(mut settings: Vec<Setting>) -> Self {
        settings.retain(|s| {
            ["commit.gpgsign", "user.signingkey"].contains(&s.key.as_str())
                || s.key.starts_with("gpg.")
        });
        Self(settings)
    }

    /// Reads the settings with one process.
    ///
    /// # Errors
    /// The errors of [`Git::settings`].
    pub async fn read(git: &Git) -> Result<Self> {
        Ok(Self::of(
            git.settings(&format!("^({})$", Self::KEYS)).await?,
        ))
    }

    /// Returns only the settings from the configuration of the user and the system.
    fn of_user(&self) -> Self {
        let of_user = self.0.iter().filter(|s| !s.of_repository);
        Self(of_user.cloned().collect())
    }

    /// Returns a wrapper script that keeps gpg or gpgsm from asking for a passphrase. Also returns
    /// the key of the setting that names the script.
    ///
    /// The gpg agent asks in the session in which it was started, whatever the environment of the
    /// client is. Only an option of gpg prevents that, and git cannot pass options to gpg.
    /// `ssh-keygen` needs no script, because it respects the environment.
    fn wrapper(&self) -> Option<(&'static str, String)> {
        let format = self.last(&["gpg.format"]);
        let key = match format.and_then(|s| s.value.as_deref()) {
            Some("ssh") => return None,
            Some("x509") => "gpg.x509.program",
            _ => "gpg.program",
        };
        let (program, _) = self.program();
        let program = match program.strip_prefix("~/") {
            Some(rest) => format!("\"$HOME\"/{}", single_quoted(rest)),
            None => single_quoted(program),
        };
        let script = format!("#!/bin/sh\nexec {program} --batch --pinentry-mode error \"$@\"\n");
        Some((key, script))
    }

    fn last(&self, keys: &[&str]) -> Option<&Setting> {
        self.0.iter().rfind(|s| keys.contains(&s.key.as_str()))
    }

    fn is_on(&self) -> Result<bool> {
        let Some(setting) = self.last(&["commit.gpgsign"]) else {
            return Ok(false);
        };
        setting.as_bool().ok_or_else(|| {
            let shown = text::one_line(setting.value.as_deref().unwrap_or_default());
            let message = format!("commit.gpgsign is '{shown}', which is neither true nor false");
            Error::new(ErrorKind::Config, message)
                .with_hint("set it with git config commit.gpgsign true, or false")
        })
    }

    /// Returns the name of the signing program, and the setting that defines it.
    fn program(&self) -> (&str, &str) {
        let format = self.last(&["gpg.format"]);
        let (keys, default): (&[_], _) = match format.and_then(|s| s.value.as_deref()) {
            Some("ssh") => (&["gpg.ssh.program"], "ssh-keygen"),
            Some("x509") => (&["gpg.x509.program"], "gpgsm"),
            _ => (&["gpg.program", "gpg.openpgp.program"], "gpg"),
        };
        match self.last(keys) {
            Some(set) => (set.value.as_deref().unwrap_or(default), &set.key),
            None => (default, keys.first().copied().unwrap_or_default()),
        }
    }

    /// Refuses signing settings of the repository itself, because a stranger may have written them.
    fn refuse_repository_settings(&self) -> Result<()> {
        let own = self.0.iter().filter(|s| s.of_repository);
        let own: Vec<_> = own.map(|s| text::one_line(&s.key)).collect();
        if own.is_empty() {
            return Ok(());
        }
        let missing = Vec::new();
        Err(Error::new(
            ErrorKind::PermissionDenied {
                missing,
                sso_url: None,
            },
            format!(
                "cannot sign the commit: the repository's own configuration sets {}, which a \
                 stranger may have written; nothing was changed",
                own.join(", ")
            ),
        )
        .with_hint("set it with git config --global, or work in a terminal in that repository"))
    }

    fn failed(&self, output: &Output, is_guarded: bool) -> Error {
        let (program, key) = self.program();
        let failed = output.error("commit-tree");
        let message = format!(
            "cannot sign the commit, which commit.gpgsign requires, with '{}' ({key}): {}; nothing \
            was changed",
            text::one_line(program),
            failed.message()
        );
        let hint = match is_guarded {
            true => {
                "unlock the key in its agent, then try again: forge does not prompt for a \
                passphrase"
            }
            false => {
                "make `git commit-tree -S -m test HEAD^{tree}` work in the repository, or turn \
                signing off there: git config commit.gpgsign false"
            }
        };
        Error::new(failed.kind().clone(), message).with_hint(failed.hint().map_or(hint, Hint::text))
    }
}

/// Writes an executable script into `dir`, and returns its path. Only the user can access the
/// script.
fn write_program(dir: &Path, script: &str) -> Result<String> {
    let path = dir.join("sign");
    let mut options = fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o700);
    let written = options
        .open(&path)
        .and_then(|mut file| file.write_all(script.as_bytes()));
    written.map_err(|e| {
        let message = format!("cannot set up the signing program: {e}");
        Error::new(ErrorKind::Internal, message)
            .with_hint("make the directory of TMPDIR writable")
            .with_source(e)
    })?;
    Ok(path.to_string_lossy().into_owned())
}

fn altered_error(commit: &RawCommit<'_>) -> Error {
    let subject = commit.message.split(|b| *b == b'\n').next();
    let subject = String::from_utf8_lossy(subject.unwrap_or_default());
    let message = format!(
        "cannot sign the commit '{}': git would alter its author, date or message; nothing was changed",
        text::one_line(&subject)
    );
    Error::precondition(Precondition::Rule, message).with_hint(
        "merge without a rebase, or turn signing off in the repository: git config \
        commit.gpgsign false",
    )
}

/// Splits `Name <email> seconds offset` into name, e-mail address and date.
fn split_ident(line: &[u8]) -> Option<[&[u8]; 3]> {
    let open = line.iter().position(|b| *b == b'<')?;
    let close = line.iter().rposition(|b| *b == b'>')?;
    Some([
        line.get(..open)?.trim_ascii_end(),
        line.get(open + 1..close)?,
        line.get(close + 1..)?.trim_ascii_start(),
    ])
}

fn is_utf8(encoding: &[u8]) -> bool {
    encoding.eq_ignore_ascii_case(b"utf-8") || encoding.eq_ignore_ascii_case(b"utf8")
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::PermissionsExt as _, path::PathBuf};

    use super::*;

    /// A test repository with a tree and a commit, and a program that signs like gpg.
    struct SigningRepo {
        dir: tempfile::TempDir,
        git: Git,
        tree: String,
        parent: String,
    }

    const ME: &[u8] = b"Me <me@example.com> 1700000000 +0100";

    impl SigningRepo {
        async fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let git = Git::at(dir.path())
                .with_env("GIT_CONFIG_GLOBAL", dir.path().join("global"))
                .with_env("GIT_CONFIG_NOSYSTEM", "1")
                .with_env("GPG_TTY", "/dev/tty");
            git.run_ok(["init", "-q"]).await.unwrap();
            let tree = git.run_ok_with_stdin(["mktree"], b"").await.unwrap();
            let tree = String::from_utf8(tree).unwrap().trim().to_owned();
            let mut it = Self {
                dir,
                git,
                tree,
                parent: String::new(),
            };
            let root = it.commit(ME, b"root\n");
            let root = RawCommit {
                parents: vec![],
                ..root
            }
            .encode();
            it.parent = it.git.put("commit", &root).await.unwrap();
            it.set("--global", "commit.gpgsign", "true").await;
            let script = "#!/bin/sh\ncat >/dev/null\nenv >\"$0.env\"\n\
                printf '\\n[GNUPG:] SIG_CREATED \\n' >&2\n\
                printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n";
            let program = it.program("signer", script);
            it.set("--global", "gpg.program", program.to_str().unwrap())
                .await;
            it
        }

        fn program(&self, name: &str, script: &str) -> PathBuf {
            let path = self.dir.path().join(name);
            fs::write(&path, script).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        }

        async fn set(&self, scope: &str, key: &str, value: &str) {
            self.git
                .run_ok(["config", scope, key, value])
                .await
                .unwrap();
        }

        fn commit<'a>(&'a self, author: &'a [u8], message: &'a [u8]) -> RawCommit<'a> {
            RawCommit {
                tree: &self.tree,
                parents: vec![&self.parent],
                author,
                committer: ME,
                encoding: None,
                message,
            }
        }

        async fn put(&self, commit: &RawCommit<'_>, is_guarded: bool) -> Result<String> {
            let signing = Signing::read(&self.git).await?;
            assert!(signing.is_on()?);
            self.git.put_signed(commit, &signing, is_guarded).await
        }
    }

    #[tokio::test]
    async fn signed_commit_differs_only_by_signature() {
        let it = SigningRepo::new().await;
        let plain = it.commit(ME, b"Subject\n\nBody\n  indented \n\n\n");
        let merge = RawCommit {
            parents: vec![&it.parent, &it.parent],
            ..plain.clone()
        };
        let other = it.git.put("commit", &plain.encode()).await.unwrap();
        let merge = RawCommit {
            parents: vec![&it.parent, &other],
            ..merge
        };
        for commit in [
            plain,
            merge,
            it.commit(b"A B <> 5 -0930", b"no newline"),
            it.commit(
                "Ünï <ü@x> 1700000000 +0545".as_bytes(),
                "größer\n".as_bytes(),
            ),
            it.commit(ME, b""),
            RawCommit {
                encoding: Some(b"ISO-8859-1"),
                ..it.commit(b"J\xfcrg <j@x> 1 +0000", b"gr\xfc\xdfe\n")
            },
        ] {
            let oid = it.put(&commit, false).await.unwrap();
            let data = it.git.run_ok(["cat-file", "commit", &oid]).await.unwrap();
            let text = String::from_utf8_lossy(&data).into_owned();
            assert!(
                text.contains("\ngpgsig -----BEGIN PGP SIGNATURE-----\n"),
                "{text}"
            );
            assert_eq!(RawCommit::parse(&data).unwrap().encode(), commit.encode());
        }
    }

    #[tokio::test]
    async fn commit_altered_by_signing_is_refused() {
        let it = SigningRepo::new().await;
        for author in [&b"J, <j@x> 1 +0000"[..], b"J <j@x> 1 -0000", b"nobody"] {
            let e = it
                .put(&it.commit(author, b"Odd\n"), false)
                .await
                .unwrap_err();
            assert_eq!(e.code(), "precondition_failed", "{e:?}");
            assert!(e.message().contains("'Odd'"), "{e:?}");
        }
    }

    #[tokio::test]
    async fn error_names_failing_signing_program_and_setting() {
        let it = SigningRepo::new().await;
        let bad = it.program("bad", "#!/bin/sh\necho no key >&2\nexit 2\n");
        for (program, says) in [(bad.to_str().unwrap(), "no key"), ("/nonexistent/gpg", "")] {
            it.set("--global", "gpg.program", program).await;
            let e = it.put(&it.commit(ME, b"x\n"), false).await.unwrap_err();
            assert_eq!(e.code(), "git");
            for part in [program, "gpg.program", "commit.gpgsign", says] {
                assert!(e.message().contains(part), "{part}: {e:?}");
            }
        }
    }

    #[tokio::test]
    async fn guarded_signing_refuses_settings_of_the_repository() {
        let it = SigningRepo::new().await;
        let commit = it.commit(ME, b"x\n");
        it.put(&commit, true).await.unwrap();
        let canary = it.program("canary", "#!/bin/sh\ntouch \"$0.ran\"\n");
        let canary = canary.to_str().unwrap();
        for (key, value) in [
            ("commit.gpgsign", "true"),
            ("user.signingKey", "evil"),
            ("gpg.program", canary),
            ("gpg.openpgp.program", canary),
            ("gpg.ssh.program", canary),
            ("gpg.ssh.defaultKeyCommand", canary),
        ] {
            it.set("--local", key, value).await;
            let e = it.put(&commit, true).await.unwrap_err();
            assert_eq!(e.code(), "permission_denied", "{e:?}");
            let message = e.message().to_ascii_lowercase();
            assert!(message.contains(&key.to_ascii_lowercase()), "{e:?}");
            it.git.run_ok(["config", "--unset", key]).await.unwrap();
        }
        assert!(!it.dir.path().join("canary.ran").exists());
    }

    #[tokio::test]
    async fn guarded_signing_has_no_terminal_or_askpass() {
        let it = SigningRepo::new().await;
        let commit = it.commit(ME, b"x\n");
        let asks = |line: &&str| {
            let (key, value) = line.split_once('=').unwrap_or_default();
            ["GPG_TTY", "DISPLAY", "WAYLAND_DISPLAY"].contains(&key) && !value.is_empty()
        };
        for is_guarded in [false, true] {
            it.put(&commit, is_guarded).await.unwrap();
            let env = fs::read_to_string(it.dir.path().join("signer.env")).unwrap();
            assert_eq!(env.lines().any(|line| asks(&line)), !is_guarded, "{env}");
            let forced = env.lines().any(|line| line == "SSH_ASKPASS_REQUIRE=force");
            assert_eq!(forced, is_guarded, "{env}");
        }
    }

    #[tokio::test]
    async fn guarded_signing_disables_the_pinentry_prompt() {
        let it = SigningRepo::new().await;
        let commit = it.commit(ME, b"x\n");
        let script = fs::read_to_string(it.dir.path().join("signer")).unwrap();
        let script = script.replace("env >\"$0.env\"", "echo \"$@\" >\"$0.args\"");
        let signer = it.program("it's signer", &script);
        let flags = "--batch --pinentry-mode error --status-fd=2 -bsau";
        for (format, key) in [("openpgp", "gpg.program"), ("x509", "gpg.x509.program")] {
            it.set("--global", "gpg.format", format).await;
            it.set("--global", key, signer.to_str().unwrap()).await;
            for is_guarded in [false, true] {
                it.put(&commit, is_guarded).await.unwrap();
                let args = fs::read_to_string(it.dir.path().join("it's signer.args")).unwrap();
                assert_eq!(args.starts_with(flags), is_guarded, "{format}: {args}");
            }
        }
    }

    #[tokio::test]
    async fn guarded_repository_cannot_switch_signing_off() {
        let it = SigningRepo::new().await;
        it.set("--local", "commit.gpgsign", "false").await;
        let commit = it.commit(ME, b"x\n");
        let signing = Signing::read(&it.git).await.unwrap();
        let e = it
            .git
            .put_landing_commit(&commit, &signing)
            .await
            .unwrap_err();
        assert_eq!(e.code(), "permission_denied", "{e:?}");
        assert!(e.message().contains("commit.gpgsign"), "{e:?}");
        let person = it.git.clone().with_trust(forge_core::Trust::Person);
        person.put_landing_commit(&commit, &signing).await.unwrap();
    }

    #[test]
    fn gpgsign_is_parsed_like_git_boolean() {
        let is_on = |values: &[Option<&str>]| {
            let setting = |value: &Option<&str>| Setting {
                key: "commit.gpgsign".into(),
                value: value.map(str::to_owned),
                of_repository: false,
            };
            Signing(values.iter().map(setting).collect()).is_on()
        };
        for on in [None, Some("true"), Some("YES"), Some("on"), Some("1")] {
            assert!(is_on(&[on]).unwrap(), "{on:?}");
        }
        for off in ["false", "No", "off", "0", ""] {
            assert!(!is_on(&[Some("true"), Some(off)]).unwrap(), "{off:?}");
        }
        assert!(!is_on(&[]).unwrap());
        let e = is_on(&[Some("perhaps")]).unwrap_err();
        assert_eq!(e.code(), "config");
        assert!(e.message().contains("perhaps"), "{e:?}");
    }
}
