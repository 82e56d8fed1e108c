//! Changes one key of a configuration file, keeping comments.

use std::path::{Path, PathBuf};

use forge_core::{Action, Arg, Call, Error, ErrorKind, Hint, Param, Result};
use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use super::{
    Config,
    file::{self, bad_value},
    keys::{KeyScope, Name, ValueType},
    load::no_dir,
    write,
};

/// The configuration file to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The user's `config.toml`.
    User,
    /// The repository's `.forge.toml`.
    Repo,
}

impl Config {
    /// Sets a key in a file and returns the file's path. Does not change `self`.
    ///
    /// # Errors
    /// `invalid_input` for an unknown key, an invalid value, and a key that a repository cannot
    /// set; `config` if the file cannot be read or written, or is not TOML.
    pub fn set(&self, name: &str, value: &str, scope: Scope) -> Result<PathBuf> {
        let name = Self::name(name)?;
        check_place(&name, scope)?;
        let canonical = name.key.parse(value).ok_or_else(|| {
            Error::invalid("value", bad_value(&name.text(), name.key.ty, Some(value))).with_hint(
                Hint::new("see the current value, and pass a value of the accepted form")
                    .with_action(Action::new(Call::ConfigGet).with(Param::Key, name.text())),
            )
        })?;
        if let Some(message) = name.contradiction(&canonical) {
            return Err(Error::invalid("value", message)
                .with_hint("the kind of a built-in host cannot be changed"));
        }
        let new = match name.key.ty {
            // `${NAME}`, a reference to a variable, is written as a string, even if the key's value
            // is not a string.
            _ if canonical.starts_with('$') => Value::from(canonical),
            ValueType::Bool => Value::from(canonical == "true"),
            ValueType::Seconds | ValueType::Count => {
                Value::from(canonical.parse::<i64>().unwrap_or(i64::MAX))
            }
            _ => Value::from(canonical),
        };
        let (path, _) = self.change(scope, |doc, path| set_value(doc, &name, new, path))?;
        Ok(path)
    }

    /// Removes a key from a file. Returns the file's path, and true if the key was set.
    ///
    /// # Errors
    /// `invalid_input` for an unknown key; `config` if the file cannot be read or written, or is
    /// not TOML.
    pub fn unset(&self, name: &str, scope: Scope) -> Result<(PathBuf, bool)> {
        let name = Self::name(name)?;
        self.change(scope, |doc, _| {
            Ok(remove_value(doc.as_table_mut(), &name.path))
        })
    }

    /// Reads, changes and replaces a file while holding its lock.
    fn change(
        &self,
        scope: Scope,
        edit: impl FnOnce(&mut DocumentMut, &Path) -> Result<bool>,
    ) -> Result<(PathBuf, bool)> {
        let path = match scope {
            Scope::User => self.user_file()?,
            Scope::Repo => self.repo_file()?,
        };
        let _lock = write::lock(self.dir().ok_or_else(no_dir)?)?;
        let text = match scope {
            Scope::User => file::text_of(&path)?,
            Scope::Repo => file::text_of_repo(&path).map_err(|problem| problem.to_error())?,
        }
        .unwrap_or_default();
        let mut doc: DocumentMut = text.parse().map_err(|_| {
            Error::new(
                ErrorKind::Config,
                format!(
                    "{} is not valid TOML, so nothing was changed",
                    path.display()
                ),
            )
            .with_hint(
                Hint::new("check the configuration, and correct the lines that the check reports")
                    .with_action(Action::new(Call::ConfigValidate)),
            )
        })?;
        let changed = edit(&mut doc, &path)?;
        if changed {
            write::replace(&path, &doc.to_string(), false)?;
        }
        Ok((path, changed))
    }
}

/// Recovery: repeat the failed call for the user's own configuration file.
pub(super) const FOR_YOURSELF: Action = Action::again(&[(Param::Repo, Arg::Omit)]);

fn check_place(name: &Name, scope: Scope) -> Result<()> {
    match (scope, name.key.scope) {
        (Scope::Repo, KeyScope::User(why)) => Err(Error::invalid(
            "key",
            format!("`{}` cannot be set by a repository: {why}", name.text()),
        )
        .with_hint(Hint::new("set the key in your own configuration").with_action(FOR_YOURSELF))),
        _ => Ok(()),
    }
}

/// Sets a value, keeping the comment after the previous value.
fn set_value(doc: &mut DocumentMut, name: &Name, mut new: Value, path: &Path) -> Result<bool> {
    let blocked = |part: &str| {
        Error::new(
            ErrorKind::Config,
            format!(
                "`{part}` in {} is not a table, so `{}` cannot be set",
                path.display(),
                name.text()
            ),
        )
        .with_hint("remove that line first")
    };
    let Some((leaf, sections)) = name.path.split_last() else {
        return Ok(false);
    };
    let mut table: &mut dyn TableLike = doc.as_table_mut();
    for part in sections {
        let key = spelling(table, part);
        let item = table.entry(&key).or_insert_with(|| {
            let mut section = Table::new();
            // A new table needs no `[header]` line as long as it contains only tables.
            section.set_implicit(true);
            Item::Table(section)
        });
        table = item.as_table_like_mut().ok_or_else(|| blocked(part))?;
    }
    if let Some(old) = table.get(leaf).and_then(Item::as_value) {
        *new.decor_mut() = old.decor().clone();
    }
    match table.get_mut(leaf) {
        Some(old) => *old = Item::Value(new),
        None => {
            table.insert(leaf, Item::Value(new));
        }
    }
    Ok(true)
}

/// Removes a value, and tables that become empty.
fn remove_value(table: &mut dyn TableLike, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return false;
    };
    let key = spelling(table, first);
    if rest.is_empty() {
        return table.remove(&key).is_some();
    }
    let Some(inner) = table.get_mut(&key).and_then(Item::as_table_like_mut) else {
        return false;
    };
    let found = remove_value(inner, rest);
    if found && inner.is_empty() {
        table.remove(&key);
    }
    found
}

/// Returns a key as the file writes it. The file may write hosts in upper case.
fn spelling(table: &dyn TableLike, part: &str) -> String {
    let found = table
        .iter()
        .map(|(key, _)| key)
        .find(|key| key.eq_ignore_ascii_case(part));
    found.unwrap_or(part).to_owned()
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use tempfile::TempDir;

    use super::*;
    use crate::config::Env;

    fn setup(user: &str) -> (TempDir, Config) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("work/.git")).unwrap();
        if !user.is_empty() {
            fs::create_dir_all(dir.path().join("conf")).unwrap();
            fs::write(dir.path().join("conf/config.toml"), user).unwrap();
        }
        let config = read(&dir);
        (dir, config)
    }

    fn read(dir: &TempDir) -> Config {
        let env = Env::fixed([("FORGE_CONFIG_DIR", dir.path().join("conf"))]);
        Config::read(env, &dir.path().join("work")).unwrap()
    }

    #[test]
    fn edit_keeps_comments_and_order() {
        let (dir, config) = setup(
            "# mine\ncolor = \"never\" # because\n\n# hosts\n[hosts.\"Git.Example.org\"]\n\
             kind = \"github\" # ours\n",
        );
        config.set("color", "Always", Scope::User).unwrap();
        config
            .set("hosts.git.example.org.account", "me", Scope::User)
            .unwrap();
        config.set("timeout_s", "9", Scope::User).unwrap();
        config.set("prompt", "no", Scope::User).unwrap();
        config
            .set("hosts.other.example:8443.kind", "tangled", Scope::User)
            .unwrap();
        let text = fs::read_to_string(dir.path().join("conf/config.toml")).unwrap();
        assert_eq!(
            text,
            "# mine\ncolor = \"always\" # because\ntimeout_s = 9\nprompt = false\n\n# hosts\n\
             [hosts.\"Git.Example.org\"]\nkind = \"github\" # ours\naccount = \"me\"\n\n\
             [hosts.\"other.example:8443\"]\nkind = \"tangled\"\n"
        );
        assert!(read(&dir).problems().is_empty());
    }

    #[test]
    fn unset_removes_empty_table() {
        let (dir, config) = setup("color = \"never\"\n[merge]\nmethod = \"squash\"\n");
        let (path, there) = config.unset("merge.method", Scope::User).unwrap();
        assert!(there);
        assert_eq!(fs::read_to_string(path).unwrap(), "color = \"never\"\n");
        assert!(!config.unset("merge.method", Scope::User).unwrap().1);
        assert!(!config.unset("merge.method", Scope::Repo).unwrap().1);
        assert!(!dir.path().join("work/.forge.toml").exists());
    }

    #[test]
    fn repository_file_accepts_only_allowed_keys() {
        let (dir, config) = setup("");
        let path = config.set("merge.method", "rebase", Scope::Repo).unwrap();
        assert_eq!(path, dir.path().join("work/.forge.toml"));
        assert_eq!(
            fs::read_to_string(path).unwrap(),
            "[merge]\nmethod = \"rebase\"\n"
        );
        let e = config.set("editor", "vi", Scope::Repo).unwrap_err();
        assert!(
            e.message()
                .contains("`editor` cannot be set by a repository"),
            "{e}"
        );
    }

    #[test]
    fn invalid_input_changes_nothing() {
        let (dir, config) = setup("color = \"never\"\n");
        let e = config.set("colour", "auto", Scope::User).unwrap_err();
        let hint = e.hint().unwrap();
        assert!(hint.text().contains("did you mean `color`?"), "{e:?}");
        let e = config.set("color", "purple", Scope::User).unwrap_err();
        assert_eq!(
            e.message(),
            "`color` is 'purple'; it takes `auto`, `always`, `never`"
        );
        assert!(
            config
                .set("hosts.github.com.kind", "tangled", Scope::User)
                .is_err()
        );
        let path = dir.path().join("conf/config.toml");
        assert_eq!(fs::read_to_string(&path).unwrap(), "color = \"never\"\n");
        fs::write(&path, "color = \n").unwrap();
        let e = config.set("color", "auto", Scope::User).unwrap_err();
        assert!(
            e.message()
                .contains("not valid TOML, so nothing was changed"),
            "{e}"
        );
        fs::write(&path, "merge = 1\n").unwrap();
        let e = config
            .set("merge.method", "squash", Scope::User)
            .unwrap_err();
        assert!(e.message().contains("`merge`"), "{e}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "merge = 1\n");
    }

    #[test]
    fn concurrent_edits_are_all_kept() {
        let (dir, config) = setup("");
        thread::scope(|scope| {
            for n in 0..20 {
                let config = &config;
                scope.spawn(move || {
                    let key = format!("hosts.h{n}.example.kind");
                    config.set(&key, "github", Scope::User).unwrap();
                });
            }
        });
        let hosts = read(&dir).hosts();
        for n in 0..20 {
            assert!(hosts.kind_of(&format!("h{n}.example")).is_some(), "{n}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn new_files_are_private_and_old_keep_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (dir, config) = setup("");
        let path = config.set("color", "auto", Scope::User).unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&dir.path().join("conf")), 0o700);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        config.set("color", "never", Scope::User).unwrap();
        assert_eq!(mode(&path), 0o644);
    }

    #[cfg(unix)]
    #[test]
    fn config_file_symlink_is_kept() {
        let (dir, config) = setup("color = \"auto\"\n");
        let path = dir.path().join("conf/config.toml");
        let real = dir.path().join("dotfiles.toml");
        fs::rename(&path, &real).unwrap();
        std::os::unix::fs::symlink(&real, &path).unwrap();
        config.set("color", "never", Scope::User).unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "color = \"never\"\n");
    }
}
