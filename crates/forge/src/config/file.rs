//! Parses one configuration file. Finds every value and every problem, with positions.

use std::{
    fmt,
    fs::{self, File as OsFile},
    io::{self, Read as _},
    ops::Range,
    path::{Path, PathBuf},
};

use forge_core::{Action, Call, Error, ErrorKind, Hint, Param, Result, locator::Hosts};
use toml_edit::{Document, Item, TableLike, Value};

use super::keys::{self, KEYS, KeyScope, Name, ValueType};

const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Maximum number of problems that are listed for a repository's file. Strangers can write this
/// file, and every command prints the problems, so the list is limited.
const MAX_LISTED_PROBLEMS: usize = 20;

/// Severity of a problem in a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Commands that need the file fail.
    Error,
    /// The line with the problem is ignored.
    Warning,
}

impl Level {
    /// Returns `error` or `warning`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// A problem of a configuration file, or of a variable that overrides it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigProblem {
    /// File, line and column, counted from 1; `None` if a variable has the problem.
    pub at: Option<(PathBuf, usize, usize)>,
    /// How severe the problem is.
    pub level: Level,
    /// What the problem is.
    pub message: String,
    /// How to repair the file or the variable.
    pub hint: Hint,
}

/// Formats the problem: `file:line:column: message`.
impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((path, line, column)) = &self.at {
            write!(f, "{}:{line}:{column}: ", path.display())?;
        }
        f.write_str(&self.message)
    }
}

impl ConfigProblem {
    /// Converts the problem to an error, for a command that needs the file.
    #[must_use]
    pub fn to_error(&self) -> Error {
        Error::new(ErrorKind::Config, self.to_string()).with_hint(&self.hint)
    }
}

/// Owner of a configuration file: the user or the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileOwner {
    User,
    Repo,
}

/// A value in a configuration file, with its line.
#[derive(Clone, Debug)]
pub(super) struct FileSetting {
    pub name: Name,
    pub value: String,
    pub line: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ConfigFile {
    pub path: PathBuf,
    pub settings: Vec<FileSetting>,
}

impl ConfigFile {
    /// Returns the setting of `name`.
    pub fn get(&self, name: &Name) -> Option<&FileSetting> {
        self.settings.iter().find(|s| s.name.path == name.path)
    }
}

/// Reads a file as text; `None` if it does not exist.
///
/// # Errors
/// `config` if the file cannot be read, is not a regular file, is too long or not UTF-8.
pub(crate) fn text_of(path: &Path) -> Result<Option<String>> {
    let fail = |why: String| {
        Error::new(
            ErrorKind::Config,
            format!("cannot read {}: {why}", path.display()),
        )
        .with_hint("correct the file or its permissions, or remove it")
    };
    let unread = |e: io::Error| fail(e.to_string()).with_source(e);
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(e)
            if matches!(
                e.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(e) => return Err(unread(e)),
    };
    if !meta.is_file() {
        return Err(fail("it is not a regular file".to_owned()));
    }
    let file = OsFile::open(path).map_err(unread)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unread)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(fail(format!("it is longer than {MAX_FILE_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| fail("it is not UTF-8".to_owned()))?;
    Ok(Some(text))
}

/// Reads `.forge.toml` at the root of a work tree; `None` if it does not exist.
///
/// # Errors
/// Returns a problem if the file cannot be read as text, or if [`forge_git::read_tree_file`]
/// refuses to read it.
pub(super) fn text_of_repo(path: &Path) -> Result<Option<String>, Box<ConfigProblem>> {
    let root = path.parent().unwrap_or(path);
    match forge_git::read_tree_file(root, path, MAX_FILE_BYTES) {
        Ok(found) => Ok(found.map(|file| file.text)),
        Err(e) => Err(Box::new(ConfigProblem {
            at: Some((path.to_owned(), 1, 1)),
            level: Level::Error,
            message: format!("the file is not read: {e}"),
            hint: Hint::new("correct the file, or remove it from the repository"),
        })),
    }
}

pub(super) fn parse(
    path: &Path,
    text: &str,
    which: FileOwner,
    problems: &mut Vec<ConfigProblem>,
) -> ConfigFile {
    let mut reader = SettingsReader {
        path,
        text,
        which,
        problems,
        settings: Vec::new(),
        trail: Vec::new(),
        listed: 0,
        unlisted: 0,
        worst_unlisted: Level::Warning,
    };
    match Document::parse(text) {
        Ok(doc) => reader.table(doc.as_table()),
        Err(e) => {
            let message = format!("this is not valid TOML: {}", e.message().trim());
            reader.report(
                e.span(),
                Level::Error,
                message,
                "correct the line; texts are in double quotes, and so are hosts with dots: \
                 [hosts.\"git.example.org\"]",
            );
        }
    }
    if reader.unlisted > 0 {
        let problem = ConfigProblem {
            at: Some((path.to_owned(), 1, 1)),
            level: reader.worst_unlisted,
            message: format!("and {} more problems of this file", reader.unlisted),
            hint: Hint::new("correct the listed problems first, or remove the file"),
        };
        reader.problems.push(problem);
    }
    ConfigFile {
        path: path.to_owned(),
        settings: reader.settings,
    }
}

struct SettingsReader<'a> {
    path: &'a Path,
    text: &'a str,
    which: FileOwner,
    problems: &'a mut Vec<ConfigProblem>,
    settings: Vec<FileSetting>,
    trail: Vec<String>,
    /// The number of listed problems.
    listed: usize,
    /// The number of problems beyond [`MAX_LISTED_PROBLEMS`], which are counted but not listed.
    unlisted: usize,
    /// Highest level among the unlisted problems. It is kept, because an unlisted error also stops
    /// commands.
    worst_unlisted: Level,
}

impl SettingsReader<'_> {
    fn table(&mut self, table: &dyn TableLike) {
        for (word, item) in table.iter() {
            let span = table
                .key(word)
                .and_then(toml_edit::Key::span)
                .or_else(|| item.span());
            // The host is normalised, so that two spellings count as the same host.
            let host_position =
                self.trail.len() == 1 && self.trail.first().is_some_and(|w| w == "hosts");
            let word = match Hosts::normalise(word) {
                Ok(host) if host_position => host,
                Err(e) if host_position => {
                    self.report(span, Level::Error, e.to_string(), e.hint());
                    continue;
                }
                _ => word.to_owned(),
            };
            self.trail.push(word);
            self.entry(item, span);
            self.trail.pop();
        }
    }

    fn entry(&mut self, item: &Item, span: Option<Range<usize>>) {
        let path: Vec<&str> = self.trail.iter().map(String::as_str).collect();
        if let Some(name) = Name::find(&path) {
            self.setting(name, item, span);
        } else if let Some(table) = item.as_table_like().filter(|_| is_section(&path)) {
            self.table(table);
        } else {
            self.unknown(span);
        }
    }

    fn setting(&mut self, name: Name, item: &Item, span: Option<Range<usize>>) {
        let text = name.text();
        if let (FileOwner::Repo, KeyScope::User(why)) = (self.which, name.key.scope) {
            return self.report(
                span,
                Level::Warning,
                format!("`{text}` cannot be set by a repository: {why}"),
                Hint::new("the line is ignored: set the key for yourself, or remove the line")
                    .with_action(
                        Action::new(Call::ConfigSet)
                            .with(Param::Key, &text)
                            .choose(Param::Value),
                    ),
            );
        }
        let plain = match item.as_value() {
            Some(Value::String(s)) => Some(s.value().clone()),
            Some(Value::Integer(i)) => Some(i.value().to_string()),
            Some(Value::Boolean(b)) => Some(b.value().to_string()),
            Some(Value::Array(parts)) if name.key.ty.is_list() => {
                let parts: Option<Vec<&str>> = parts.iter().map(Value::as_str).collect();
                parts.map(|parts| parts.join(" "))
            }
            _ => None,
        };
        match plain.as_deref().and_then(|plain| name.key.parse(plain)) {
            Some(value) => {
                if let Some(message) = name.contradiction(&value) {
                    let span = item.span().or(span);
                    self.report(span, Level::Error, message, "remove the line");
                } else if self.settings.iter().any(|s| s.name.path == name.path) {
                    self.report(
                        span,
                        Level::Error,
                        format!("`{text}` is set twice"),
                        "keep one of the two lines",
                    );
                } else {
                    let line = self.find_line_and_column(span.as_ref()).0;
                    self.settings.push(FileSetting { name, value, line });
                }
            }
            None => {
                let problem = bad_value(&text, name.key.ty, plain.as_deref());
                self.report(
                    item.span().or(span),
                    Level::Error,
                    problem,
                    "correct the value, or remove the line",
                );
            }
        }
    }

    fn unknown(&mut self, span: Option<Range<usize>>) {
        let text = self.trail.join(".");
        let last = self
            .trail
            .last()
            .map(|w| w.to_ascii_lowercase())
            .unwrap_or_default();
        if ["token", "password", "secret"]
            .iter()
            .any(|word| last.contains(word))
        {
            let message = format!(
                "`{}` looks like a credential, which must not be in a configuration file",
                sanitize_text(&text)
            );
            let hint = Hint::new(
                "remove the line, and store the credential by logging in; if others could read \
                 this file, create a new credential",
            )
            .with_action(Action::new(Call::Login).with(Param::WithToken, "true"));
            return self.report(span, Level::Error, message, hint);
        }
        // An unknown key is only a warning. An unknown dialect key (a name in tangled's protocol)
        // is an error, because requests would use the default name.
        let level = match self.trail.get(2).is_some_and(|part| part == "dialect") {
            true => Level::Error,
            false => Level::Warning,
        };
        // For a problem beyond the limit no similar key is searched, because the search takes time.
        if self.is_full() {
            return self.skip(level);
        }
        let hint = match keys::near(&text) {
            Some(near) => Hint::from(format!("did you mean `{near}`?")),
            None => Hint::new("list the keys, or see docs/reference/config.md")
                .with_action(Action::new(Call::ConfigGet)),
        };
        let message = format!("unknown key `{}`", sanitize_text(&text));
        self.report(span, level, message, hint);
    }

    /// Returns true if the list of problems is full, so that further problems are only counted.
    fn is_full(&self) -> bool {
        self.which == FileOwner::Repo && self.listed >= MAX_LISTED_PROBLEMS
    }

    /// Counts a problem without listing it.
    fn skip(&mut self, level: Level) {
        self.unlisted += 1;
        if level == Level::Error {
            self.worst_unlisted = level;
        }
    }

    fn report(
        &mut self,
        span: Option<Range<usize>>,
        level: Level,
        message: String,
        hint: impl Into<Hint>,
    ) {
        if self.is_full() {
            return self.skip(level);
        }
        self.listed += 1;
        let (line, column) = self.find_line_and_column(span.as_ref());
        let at = Some((self.path.to_owned(), line, column));
        self.problems.push(ConfigProblem {
            at,
            level,
            message,
            hint: hint.into(),
        });
    }

    /// Returns line and column, counted from 1. Columns are counted in characters.
    fn find_line_and_column(&self, span: Option<&Range<usize>>) -> (usize, usize) {
        let start = span.map_or(0, |s| s.start).min(self.text.len());
        let before = self.text.get(..start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        (line, column)
    }
}

/// Returns true if the path is a table that contains registered keys.
fn is_section(path: &[&str]) -> bool {
    KEYS.iter().any(|key| {
        let mut parts = key.name.split('.');
        path.iter().all(|is| {
            parts
                .next()
                .is_some_and(|part| part == "<host>" || part == *is)
        })
    })
}

/// Returns the message for an invalid value. URLs and commands are not quoted, because they may
/// contain a password.
pub(super) fn bad_value(name: &str, ty: ValueType, value: Option<&str>) -> String {
    let value = match (value, ty) {
        (
            Some(value),
            ValueType::Word(_)
            | ValueType::Bool
            | ValueType::Seconds
            | ValueType::Host
            | ValueType::Address
            | ValueType::Nsid
            | ValueType::Identifier
            | ValueType::Count
            | ValueType::Words(_),
        ) => {
            format!("is '{}'", sanitize_text(value))
        }
        (Some(_), _) => "has an invalid value".to_owned(),
        (None, _) => "is not a plain value".to_owned(),
    };
    format!("`{name}` {value}; it takes {}", ty.accepts())
}

/// Escapes and truncates a name or value of a file for a message.
fn sanitize_text(text: &str) -> String {
    let mut out: String = text.escape_debug().take(60).collect();
    if text.chars().nth(60).is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, which: FileOwner) -> (Vec<(String, String)>, Vec<String>) {
        let mut problems = Vec::new();
        let file = parse(Path::new("f"), text, which, &mut problems);
        let settings = file
            .settings
            .iter()
            .map(|s| (s.name.text(), s.value.clone()))
            .collect();
        let problems = problems
            .iter()
            .map(|p| format!("{} {p}", p.level.word()))
            .collect();
        (settings, problems)
    }

    #[test]
    fn values_of_every_type_are_parsed() {
        let (settings, problems) = read(
            "timeout_s = 30\nprompt = false\nmerge.method = \"squash\"\n\
             [hosts.\"Git.Example.org:8443\"]\nkind = \"github\"\n\
             hosts2 = 1\n[hosts.\"tangled.org\"]\naccount = \"a.example\"\n",
            FileOwner::User,
        );
        assert_eq!(
            settings,
            [
                ("timeout_s", "30"),
                ("prompt", "false"),
                ("merge.method", "squash"),
                ("hosts.git.example.org:8443.kind", "github"),
                ("hosts.tangled.org.account", "a.example"),
            ]
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
        );
        assert_eq!(
            problems,
            ["warning f:6:1: unknown key `hosts.git.example.org:8443.hosts2`"]
        );
    }

    #[test]
    fn problems_have_line_and_column() {
        let (settings, problems) = read(
            "# é\ncolor = \"purple\"\n[merge]\n  methd = \"squash\"\n  method = [1]\n\
             [hosts.\"a b\"]\nkind = \"github\"\n[pr]\ndraft = \"perhaps\"\ntimeout_s = 0",
            FileOwner::User,
        );
        assert!(settings.is_empty());
        assert_eq!(
            problems,
            [
                "error f:2:9: `color` is 'purple'; it takes `auto`, `always`, `never`",
                "warning f:4:3: unknown key `merge.methd`",
                "error f:5:12: `merge.method` is not a plain value; it takes `merge`, `squash`, `rebase`",
                "error f:6:8: 'a b' is not a valid host: only letters, digits, '-', '_' and '.' are allowed",
                "error f:9:9: `pr.draft` is 'perhaps'; it takes `true` or `false`",
                "warning f:10:1: unknown key `pr.timeout_s`",
            ]
        );
    }

    #[test]
    fn repository_cannot_set_user_keys() {
        for (line, name) in [
            ("editor = \"evil\"", "editor"),
            ("pager = \"evil\"", "pager"),
            ("browser = \"evil\"", "browser"),
            ("default_host = \"evil.example\"", "default_host"),
            (
                "hosts.\"evil.example\".kind = \"github\"",
                "hosts.evil.example.kind",
            ),
            (
                "[hosts.\"github.com\"]\napi_url = \"https://evil.example\"",
                "hosts.github.com.api_url",
            ),
            ("merge.delete_branch = true", "merge.delete_branch"),
            ("timeout_s = 1", "timeout_s"),
            ("wait_s = 86400", "wait_s"),
            ("jira.base_url = \"https://evil.example\"", "jira.base_url"),
            ("jira.email = \"evil@evil.example\"", "jira.email"),
            ("jira.auth_token = \"${GH_TOKEN}\"", "jira.auth_token"),
            ("jira.project_keys = [\"EVIL\"]", "jira.project_keys"),
            ("jira.key_patterns = [\"x+\"]", "jira.key_patterns"),
            ("jira.enabled = false", "jira.enabled"),
        ] {
            let (settings, problems) = read(line, FileOwner::Repo);
            assert!(settings.is_empty(), "{line}");
            assert_eq!(problems.len(), 1, "{line}");
            assert!(
                problems[0].starts_with("warning f:")
                    && problems[0].contains(&format!("`{name}` cannot be set by a repository")),
                "{}",
                problems[0]
            );
            assert!(read(line, FileOwner::User).1.is_empty(), "{line}");
        }
    }

    #[test]
    fn credential_in_file_is_refused_without_printing_value() {
        for line in [
            "token = \"gho_canary\"",
            "[hosts.\"github.com\"]\noauth_token = \"gho_canary\"",
        ] {
            for which in [FileOwner::User, FileOwner::Repo] {
                let (_, problems) = read(line, which);
                assert_eq!(problems.len(), 1);
                assert!(problems[0].starts_with("error") && !problems[0].contains("canary"));
            }
        }
    }

    #[test]
    fn malformed_toml_is_reported_by_line_without_content() {
        let (_, problems) = read("color = \"auto\"\npassword = hunter2 x\n", FileOwner::User);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("error f:2:"), "{problems:?}");
        assert!(!problems[0].contains("hunter2"), "{problems:?}");
    }

    #[test]
    fn repository_problems_above_limit_are_only_counted() {
        let unknown: String = (0..5_000).map(|n| format!("key_{n} = 1\n")).collect();
        let (_, problems) = read(&unknown, FileOwner::Repo);
        assert_eq!(problems.len(), 21);
        assert_eq!(problems[19], "warning f:20:1: unknown key `key_19`");
        let more = "f:1:1: and 4980 more problems of this file";
        assert_eq!(problems[20], format!("warning {more}"));
        // An unlisted error also stops commands.
        let error = unknown.replacen("key_4999", "token", 1);
        let (settings, problems) = read(&error, FileOwner::Repo);
        assert!(settings.is_empty());
        assert_eq!(problems[20], format!("error {more}"));
        // Problems of the user's own file are all listed.
        let own: String = (0..30).map(|n| format!("key_{n} = 1\n")).collect();
        assert_eq!(read(&own, FileOwner::User).1.len(), 30);
    }

    #[test]
    fn kind_of_built_in_host_cannot_be_changed() {
        let (_, problems) = read("hosts.\"github.com\".kind = \"tangled\"", FileOwner::User);
        assert_eq!(
            problems,
            ["error f:1:27: `hosts.github.com.kind` cannot be `tangled`: github.com runs github"]
        );
        let (settings, _) = read("hosts.\"github.com\".kind = \"github\"", FileOwner::User);
        assert_eq!(settings.len(), 1);
    }

    #[test]
    fn two_spellings_of_host_are_a_duplicate_key() {
        let (_, problems) = read(
            "[hosts.\"a.example\"]\nkind = \"github\"\n[hosts.\"A.example\"]\nkind = \"tangled\"\n",
            FileOwner::User,
        );
        assert_eq!(
            problems,
            ["error f:4:1: `hosts.a.example.kind` is set twice"]
        );
    }

    #[test]
    fn names_from_file_are_shown_without_control_characters() {
        let (_, problems) = read("\"a\\u001b[31m\" = 1\n", FileOwner::Repo);
        assert_eq!(problems, ["warning f:1:1: unknown key `a\\u{1b}[31m`"]);
    }
}
