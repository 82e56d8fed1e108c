//! Parses gh's file of logins, `hosts.yml`.
//!
//! gh writes the file with yaml.v3, and only as nested mappings of plain texts. Parsing only this
//! form avoids a dependency on a YAML parser. If a file has another form, forge gets the token from
//! the gh program instead.

use std::{fs, io::Read as _, path::PathBuf};

use forge_core::Secret;

use super::parse_secret;
use crate::config::{Env, Var, home_dir};

/// Maximum size of the file. Real files have a few hundred bytes.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// Location of gh's logins.
#[derive(Clone, Debug)]
pub(crate) struct GhHosts {
    path: Option<PathBuf>,
}

impl GhHosts {
    /// Finds the location as gh does. The first of these that is set is used: `GH_CONFIG_DIR`, `gh`
    /// in `XDG_CONFIG_HOME`, `GitHub CLI` in `APPDATA` (only on Windows), `~/.config/gh`.
    pub fn of(env: &Env) -> Self {
        let windows = || cfg!(windows).then(|| env.path(Var::AppData)).flatten();
        let dir = env
            .path(Var::GhConfigDir)
            .or_else(|| env.path(Var::XdgConfigHome).map(|dir| dir.join("gh")))
            .or_else(|| windows().map(|dir| dir.join("GitHub CLI")))
            .or_else(|| home_dir(env).map(|home| home.join(".config/gh")));
        Self {
            path: dir.map(|dir| dir.join("hosts.yml")),
        }
    }

    /// Returns the path of the file, for messages.
    pub fn name(&self) -> String {
        let path = self.path.as_deref();
        path.map_or_else(String::new, |path| path.display().to_string())
    }

    /// Returns the token of the active account at `host`, if the file has the token. If the file
    /// does not have the token, gh may keep it in the system's keyring.
    ///
    /// # Errors
    ///
    /// Returns the reason why the file could not be read or parsed. The reason quotes no content of
    /// the file, because it may contain a token.
    pub fn token(&self, host: &str) -> Result<Option<Secret>, String> {
        let Some(path) = &self.path else {
            return Ok(None);
        };
        let text = match fs::File::open(path) {
            Ok(file) => {
                let mut text = String::new();
                let read = file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text);
                read.map_err(|e| format!("{} cannot be read: {e}", self.name()))?;
                text
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(format!("{} cannot be read: {e}", self.name())),
        };
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(format!("{} is too large for a file of gh", self.name()));
        }
        let entries = parse(&text)
            .map_err(|line| format!("line {line} of {} is not in the format of gh", self.name()))?;
        let Some(token) = active(&entries, host) else {
            return Ok(None);
        };
        parse_secret(token)
            .map(Some)
            .map_err(|_| format!("the token of {host} in {} is malformed", self.name()))
    }
}

/// An entry of the file: its keys from the top level down, and its text. The text of a mapping is
/// empty.
struct YamlEntry<'a> {
    way: Vec<&'a str>,
    text: &'a str,
}

/// Finds the active token: `<host>.oauth_token`, else the token of the user named by `<host>.user`.
fn active<'a>(entries: &[YamlEntry<'a>], host: &str) -> Option<&'a str> {
    let of = |below: &[&str]| {
        let found = entries.iter().find(|entry| {
            entry
                .way
                .split_first()
                .is_some_and(|(first, rest)| first.eq_ignore_ascii_case(host) && rest == below)
        });
        found
            .map(|entry| entry.text)
            .filter(|text| !text.is_empty())
    };
    of(&["oauth_token"]).or_else(|| of(&["users", of(&["user"])?, "oauth_token"]))
}

/// Parses all entries; the error is the number of the first invalid line.
fn parse(text: &str) -> Result<Vec<YamlEntry<'_>>, usize> {
    let mut entries: Vec<YamlEntry<'_>> = Vec::new();
    // The YAML mappings that contain the current line, outermost first. For each: the indentation
    // of its entries, and the key under which its parent contains it.
    let mut open: Vec<(usize, &str)> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_end();
        let content = line.trim_start_matches(' ');
        // After the last logout, gh leaves the empty mapping `{}`.
        if content.is_empty() || content.starts_with('#') || (line == "{}" && entries.is_empty()) {
            continue;
        }
        let (key, text) = entry(content).ok_or(number)?;
        let indent = line.len() - content.len();
        let deeper = open.last().is_none_or(|(last, _)| indent > *last);
        if deeper {
            // The first entry has no indentation. Deeper indentation needs a parent key without
            // text.
            let fits = match entries.last() {
                Some(last) => last.text.is_empty(),
                None => indent == 0,
            };
            if !fits {
                return Err(number);
            }
            open.push((indent, key));
        } else {
            while open.last().is_some_and(|(last, _)| *last > indent) {
                open.pop();
            }
            match open.last_mut() {
                Some((last, name)) if *last == indent => *name = key,
                _ => return Err(number),
            }
        }
        let way: Vec<&str> = open.iter().map(|(_, name)| *name).collect();
        if entries.iter().any(|entry| entry.way == way) {
            return Err(number);
        }
        entries.push(YamlEntry { way, text });
    }
    Ok(entries)
}

/// Parses a line: `key: text`, `key:` or `key: {}`.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = match quoted(line) {
        Some((key, rest)) => (key, rest.strip_prefix(':')?),
        None => {
            // A colon without a space after it is part of the key, as in `host:port`.
            let (key, rest) = match line.split_once(": ") {
                Some(parts) => parts,
                None => (line.strip_suffix(':')?, ""),
            };
            (plain(key)?, rest)
        }
    };
    if key.is_empty() {
        return None;
    }
    let value = rest.trim_start_matches(' ');
    let text = match quoted(value) {
        Some((text, "")) => text,
        Some(_) => return None,
        None if matches!(value, "" | "{}" | "null" | "~") => "",
        None => plain(value)?,
    };
    Some((key, text))
}

/// Splits a quoted text from the rest of the line. Refuses escapes.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (inner, rest) = text.strip_prefix(quote)?.split_once(quote)?;
    let simple = !inner.contains('\\') && !rest.starts_with(quote);
    simple.then_some((inner, rest))
}

/// Returns the text if it has no spaces and no characters that are special in YAML.
fn plain(text: &str) -> Option<&str> {
    let means_itself = text.bytes().all(|b| {
        b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b':' | b'/' | b'+' | b'=')
    });
    let starts = text.bytes().next()?;
    (means_itself && !matches!(starts, b'-' | b':' | b'=') && !text.ends_with(':')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: &str = "github.com:\n    users:\n        monalisa:\n            oauth_token: gho_0canary01\n        hubot:\n            oauth_token: gho_0canary02\n    git_protocol: https\n    oauth_token: gho_0canary01\n    user: monalisa\ngit.example:8443:\n    oauth_token: gho_0canary03\n    user: \"1234\"\n";

    fn token(text: &str, host: &str) -> Result<Option<String>, String> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("hosts.yml"), text).unwrap();
        let hosts = GhHosts::of(&Env::fixed([("GH_CONFIG_DIR", dir.path())]));
        let found = hosts.token(host)?;
        Ok(found.map(|secret| secret.expose().to_owned()))
    }

    #[test]
    fn gh_hosts_file_is_parsed() {
        for (text, host, expected) in [
            (TODAY, "github.com", Some("gho_0canary01")),
            (TODAY, "GitHub.com", Some("gho_0canary01")),
            (TODAY, "git.example:8443", Some("gho_0canary03")),
            (TODAY, "git.example", None),
            (TODAY, "users", None),
            // Files of older versions of gh, or written by hand.
            (
                "github.com:\n    oauth_token: gho_0canary0\n    git_protocol: ssh\n",
                "github.com",
                Some("gho_0canary0"),
            ),
            (
                "# mine\r\n\r\ngithub.com:\r\n  user: 'a'\r\n  oauth_token: \"gho_0canary0\"\r\n",
                "github.com",
                Some("gho_0canary0"),
            ),
            // Files with tokens only below `users`.
            (
                "github.com:\n    users:\n        a:\n            oauth_token: gho_0canary04\n        b:\n            oauth_token: gho_0canary05\n    user: b\n",
                "github.com",
                Some("gho_0canary05"),
            ),
            (
                "github.com:\n    users:\n        \"12\":\n            oauth_token: gho_0canary04\n    user: \"12\"\n",
                "github.com",
                Some("gho_0canary04"),
            ),
            // Files without tokens, because gh keeps the tokens in the keyring.
            (
                "github.com:\n    users:\n        a: {}\n    git_protocol: https\n    user: a\n",
                "github.com",
                None,
            ),
            (
                "github.com:\n    users:\n        a:\n    oauth_token: \"\"\n    user: a\n",
                "github.com",
                None,
            ),
            ("", "github.com", None),
            ("{}\n", "github.com", None),
        ] {
            assert_eq!(
                token(text, host).unwrap().as_deref(),
                expected,
                "{host} in {text}"
            );
        }
    }

    #[test]
    fn unsupported_yaml_is_refused_with_line_number() {
        for (line, text) in [
            (1, "github.com: &anchor\n    oauth_token: gho_0canary0\n"),
            (2, "github.com:\n    oauth_token: |\n        gho_0canary0\n"),
            (2, "github.com:\n    oauth_token: *other\n"),
            (2, "github.com:\n    oauth_token: gho_0canary0 # mine\n"),
            (2, "github.com:\n    oauth_token: two words\n"),
            (2, "github.com:\n    oauth_token: \"gho_\\x63anary\"\n"),
            (2, "github.com:\n    oauth_token: 'gho''canary'\n"),
            (2, "github.com:\n    oauth_token: \"gho_0canary0\" x\n"),
            (2, "github.com:\n    - oauth_token\n"),
            (2, "github.com:\n\toauth_token: gho_0canary0\n"),
            (1, "github.com: {oauth_token: gho_0canary0}\n"),
            (1, "  github.com:\n    oauth_token: gho_0canary0\n"),
            (1, ": gho_0canary0\n"),
            (1, "\"\": gho_0canary0\n"),
            (1, "gho_0canary0\n"),
            (
                3,
                "github.com:\n    user: a\n      oauth_token: gho_0canary0\n",
            ),
            (
                4,
                "github.com:\n    user: a\n    users:\n  oauth_token: gho_0canary0\n",
            ),
            (
                3,
                "github.com:\n    oauth_token: gho_0canary0\n    oauth_token: gho_0canary0\n",
            ),
            (3, "github.com:\n    user: a\ngithub.com:\n    user: b\n"),
        ] {
            let why = token(text, "github.com").unwrap_err();
            assert!(
                why.starts_with(&format!("line {line} of ")),
                "{why}: {text}"
            );
            assert!(!why.contains("canary"), "{why}");
        }
        let long = "#".repeat(300 * 1024);
        assert!(
            token(&long, "github.com")
                .unwrap_err()
                .contains("too large")
        );
        let bad = format!("github.com:\n    oauth_token: \"{}\"\n", "canary canary");
        let why = token(&bad, "github.com").unwrap_err();
        assert!(why.starts_with("the token of github.com in "), "{why}");
        assert!(!why.contains("canary"), "{why}");
    }

    #[test]
    fn gh_hosts_path_follows_gh() {
        let dir = tempfile::tempdir().unwrap();
        let put = |below: &str, token: &str| {
            let at = dir.path().join(below);
            std::fs::create_dir_all(&at).unwrap();
            let text = format!("github.com:\n    oauth_token: {token}\n");
            std::fs::write(at.join("hosts.yml"), text).unwrap();
        };
        put("own", "0canary0_own");
        put("xdg/gh", "0canary0_xdg");
        put("home/.config/gh", "0canary0_home");
        let at = |below: &str| dir.path().join(below);
        let vars = [
            ("GH_CONFIG_DIR", at("own")),
            ("XDG_CONFIG_HOME", at("xdg")),
            ("HOME", at("home")),
        ];
        for (from, expected) in ["0canary0_own", "0canary0_xdg", "0canary0_home"]
            .iter()
            .enumerate()
        {
            let hosts = GhHosts::of(&Env::fixed(vars[from..].iter().cloned()));
            let found = hosts.token("github.com").unwrap().unwrap();
            assert_eq!(found.expose(), *expected);
        }
        let nowhere = GhHosts::of(&Env::fixed([("GH_CONFIG_DIR", at("empty"))]));
        assert_eq!(nowhere.token("github.com").unwrap(), None);
        assert_eq!(
            GhHosts::of(&Env::fixed([("X", "y")]))
                .token("github.com")
                .unwrap(),
            None
        );
    }
}
