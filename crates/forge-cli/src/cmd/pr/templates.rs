//! Templates for descriptions of pull requests and issues, from the work tree.
//!
//! The repository chooses the file, and the text of the file becomes public. Therefore only files
//! within the work tree are read. A symbolic link must lead to a tracked file, because a link to
//! `.env` would publish that file.

use std::{
    fs,
    path::{Path, PathBuf},
};

use forge_core::{Error, Repo, Result, text};
use forge_git::{Git, TreeFile, read_tree_file};

use crate::{ctx::Ctx, ui::prompt};

/// The directories in which GitHub looks for templates.
const PLACES: [&str; 3] = [".github", "", "docs"];
/// Maximum number of templates per directory.
const MAX_CHOICES: usize = 50;
const MAX_TEMPLATE_BYTES: u64 = 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TemplateKind {
    Pull,
    Issue,
}

impl TemplateKind {
    /// Returns the name of the default template in lower case, without its extension.
    fn file_stem(self) -> &'static str {
        match self {
            Self::Pull => "pull_request_template",
            Self::Issue => "issue_template",
        }
    }

    /// Returns the directory of the templates to choose from.
    fn dir(self) -> &'static str {
        match self {
            Self::Pull => "PULL_REQUEST_TEMPLATE",
            Self::Issue => "ISSUE_TEMPLATE",
        }
    }

    /// Returns true for `PULL_REQUEST_TEMPLATE.md` in upper or lower case, also with `.txt` or
    /// without an extension.
    fn is_template(self, path: &Path) -> bool {
        let Some(name) = path.file_name().and_then(|n| n.to_str()) else {
            return false;
        };
        let name = name.to_ascii_lowercase();
        let extension = name.strip_prefix(self.file_stem());
        extension.is_some_and(|e| matches!(e, "" | ".md" | ".txt"))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DescriptionTemplate {
    /// The file name; for an issue the `name` of the front matter, if there is one.
    pub(crate) name: String,
    /// The title that the template of an issue proposes; may be empty.
    pub(crate) title: String,
    /// The text, without front matter.
    pub(crate) body: String,
}

impl DescriptionTemplate {
    /// Reads the front matter of an issue template; a pull request template has none.
    fn new(kind: TemplateKind, file: &Path, text: String) -> Self {
        // Some editors begin a file with a byte order mark.
        let text = match text.strip_prefix('\u{feff}') {
            Some(text) => text.to_owned(),
            None => text,
        };
        let name = file.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let front = match kind {
            TemplateKind::Pull => None,
            TemplateKind::Issue => front_matter(&text),
        };
        let Some((front, body)) = front else {
            return Self {
                name,
                title: String::new(),
                body: text,
            };
        };
        Self {
            name: yaml_value(front, "name").unwrap_or(name),
            title: yaml_value(front, "title").unwrap_or_default(),
            body: body.to_owned(),
        }
    }
}

/// Returns the text of a key at the top level of YAML; `None` if it is missing, empty, or in a form of
/// several lines.
fn yaml_value(yaml: &str, key: &str) -> Option<String> {
    let mut lines = yaml.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(found, _)| *found == key)?;
    let value = value.trim();
    let text = match value.chars().next()? {
        '\'' => unquote_single(value.get(1..)?)?,
        // The double quotes of YAML have the escapes of JSON.
        '"' => {
            let mut values = serde_json::Deserializer::from_str(value).into_iter::<String>();
            values.next()?.ok()?
        }
        '>' | '|' | '#' => return None,
        _ => value.split(" #").next()?.trim_end().to_owned(),
    };
    (!text.is_empty()).then_some(text)
}

/// Returns a text up to its closing single quote. Two quotes within it stand for one.
fn unquote_single(mut rest: &str) -> Option<String> {
    let mut text = String::new();
    loop {
        let (before, after) = rest.split_once('\'')?;
        text.push_str(before);
        let Some(more) = after.strip_prefix('\'') else {
            return Some(text);
        };
        text.push('\'');
        rest = more;
    }
}

/// Returns true for an issue form, which is YAML.
fn is_form(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "yml" || e == "yaml")
}

/// Splits a text that begins with YAML between two lines `---` into the YAML and the rest.
fn front_matter(text: &str) -> Option<(&str, &str)> {
    let is_fence = |line: &str| line.trim_end() == "---";
    let mut lines = text.split_inclusive('\n');
    let start = lines.next().filter(|line| is_fence(line))?.len();
    let mut end = start;
    for line in lines {
        if is_fence(line) {
            let body = text.get(end + line.len()..)?;
            return Some((text.get(start..end)?, body.trim_start_matches(['\r', '\n'])));
        }
        end += line.len();
    }
    None
}

async fn root(ctx: &Ctx) -> Option<PathBuf> {
    let output = ctx
        .git()
        .run_ok(["rev-parse", "--show-toplevel"])
        .await
        .ok()?;
    let text = String::from_utf8(output).ok()?;
    Some(Path::new(text.trim_end_matches('\n')).to_owned())
}

/// Returns true if the current work tree belongs to `repo`. Templates of another repository are not
/// used.
pub(crate) async fn has_work_tree(ctx: &Ctx, repo: &Repo) -> bool {
    ctx.is_here(repo).await || ctx.clone_of(repo).await.is_some()
}

/// Refuses the template `name` if the current work tree does not belong to `repo`.
///
/// # Errors
///
/// `invalid_input` if [`has_work_tree`] is false.
pub(crate) async fn check_work_tree(ctx: &Ctx, repo: &Repo, name: &str) -> Result<()> {
    if has_work_tree(ctx, repo).await {
        return Ok(());
    }
    let message = format!(
        "template '{name}' cannot be used: this directory is not a clone of {}",
        repo.id()
    );
    Err(Error::invalid("template", message)
        .with_hint("run the command in a clone, or pass the text with --body-file"))
}

/// Reads the template of `-T`.
///
/// # Errors
///
/// `invalid_input` if there is no such template, or its file cannot be used.
pub(crate) async fn selected(
    ctx: &Ctx,
    kind: TemplateKind,
    name: &str,
) -> Result<DescriptionTemplate> {
    match root(ctx).await {
        Some(root) => read_named(ctx.git(), kind, &root, &ctx.cwd, name).await,
        None => Err(missing_template_error(kind, name)),
    }
}

/// Returns the text of the default template; empty if there is none.
pub(crate) async fn default_text(ctx: &Ctx, kind: TemplateKind) -> String {
    let found = match root(ctx).await {
        Some(root) => default(ctx.git(), kind, &root).await,
        None => None,
    };
    found.map(|template| template.body).unwrap_or_default()
}

/// Asks for a template, and returns its text. If there are no templates to choose from, returns the
/// text of the default template. `blank` is the menu item for no template.
///
/// # Errors
///
/// `cancelled` if the user cancels.
pub(crate) async fn choose(ctx: &Ctx, kind: TemplateKind, blank: &str) -> Result<String> {
    let mut offered = match root(ctx).await {
        Some(root) => choices(ctx.git(), kind, &root).await,
        None => Vec::new(),
    };
    if offered.is_empty() {
        return Ok(default_text(ctx, kind).await);
    }
    let names: Vec<String> = offered
        .iter()
        .map(|template| text::one_line(&template.name).into_owned())
        .collect();
    let mut items: Vec<&str> = names.iter().map(String::as_str).collect();
    items.push(blank);
    let chosen = prompt::choose("Choose a template", &items)?;
    Ok(match chosen < offered.len() {
        true => offered.swap_remove(chosen).body,
        false => String::new(),
    })
}

/// Returns the default template, if the work tree has one.
async fn default(git: &Git, kind: TemplateKind, root: &Path) -> Option<DescriptionTemplate> {
    for place in PLACES {
        let Ok(entries) = fs::read_dir(root.join(place)) else {
            continue;
        };
        let mut files: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| kind.is_template(path))
            .collect();
        files.sort();
        for file in files {
            if let Ok(Some(text)) = read(git, root, &file).await {
                return Some(DescriptionTemplate::new(kind, &file, text));
            }
        }
    }
    None
}

/// Returns the templates to choose from; empty if there is only the [`default`] one.
async fn choices(git: &Git, kind: TemplateKind, root: &Path) -> Vec<DescriptionTemplate> {
    let mut found: Vec<DescriptionTemplate> = Vec::new();
    for place in PLACES {
        let dirs = fs::read_dir(root.join(place)).into_iter().flatten();
        let dirs = dirs.filter_map(|entry| Some(entry.ok()?.path()));
        for dir in dirs.filter(|dir| dir.is_dir() && kind.is_template(dir)) {
            let files = fs::read_dir(dir).into_iter().flatten();
            let mut files: Vec<PathBuf> = files
                .filter_map(|entry| Some(entry.ok()?.path()))
                .filter(|path| path.extension().is_some_and(|e| e == "md" || e == "txt"))
                .collect();
            files.sort();
            for file in files.into_iter().take(MAX_CHOICES) {
                if let Ok(Some(text)) = read(git, root, &file).await {
                    found.push(DescriptionTemplate::new(kind, &file, text));
                }
            }
        }
    }
    if let (false, Some(mut template)) = (found.is_empty(), default(git, kind, root).await) {
        kind.file_stem().clone_into(&mut template.name);
        found.insert(0, template);
    }
    found
}

/// Resolves `-T`: the name of an issue template, a path, or a file in a template directory.
///
/// # Errors
///
/// `invalid_input` if the file is not in the work tree, or not text.
async fn read_named(
    git: &Git,
    kind: TemplateKind,
    root: &Path,
    cwd: &Path,
    name: &str,
) -> Result<DescriptionTemplate> {
    if kind == TemplateKind::Issue {
        let mut offered = choices(git, kind, root).await.into_iter();
        if let Some(template) = offered.find(|template| template.name.eq_ignore_ascii_case(name)) {
            return Ok(template);
        }
    }
    let mut places = vec![cwd.join(name), root.join(name)];
    for place in PLACES {
        let base = root.join(place);
        places.push(base.join(name));
        places.push(base.join(kind.dir()).join(name));
    }
    for path in places.iter().filter(|path| !path.is_dir()) {
        let found = read(git, root, path).await.map_err(|why| {
            Error::invalid(
                "template",
                format!("template '{name}' cannot be used: {why}"),
            )
            .with_hint("name a file of the work tree, or pass the text with --body-file")
        })?;
        if let Some(text) = found {
            if kind == TemplateKind::Issue && is_form(path) {
                return Err(form_error(name));
            }
            return Ok(DescriptionTemplate::new(kind, path, text));
        }
    }
    if kind == TemplateKind::Issue && has_form(git, root, name).await {
        return Err(form_error(name));
    }
    Err(missing_template_error(kind, name))
}

/// Returns true if an issue form has the name `name`.
async fn has_form(git: &Git, root: &Path, name: &str) -> bool {
    for place in PLACES {
        let dir = root.join(place).join(TemplateKind::Issue.dir());
        let files = fs::read_dir(dir).into_iter().flatten();
        let files = files.filter_map(|entry| Some(entry.ok()?.path()));
        for file in files.filter(|path| is_form(path)).take(MAX_CHOICES) {
            if let Ok(Some(text)) = read(git, root, &file).await
                && yaml_value(&text, "name").is_some_and(|n| n.eq_ignore_ascii_case(name))
            {
                return true;
            }
        }
    }
    false
}

fn form_error(name: &str) -> Error {
    let message = format!("'{name}' is an issue form, which only a browser shows");
    Error::invalid("template", message)
        .with_hint("open it with --web, or pass the text with --title and --body")
}

fn missing_template_error(kind: TemplateKind, name: &str) -> Error {
    let dir = kind.dir();
    Error::invalid("template", format!("there is no template '{name}'")).with_hint(format!(
        "name a file of the work tree, or one of .github/{dir}/"
    ))
}

async fn read(git: &Git, root: &Path, path: &Path) -> Result<Option<String>, String> {
    match read_tree_file(root, path, MAX_TEMPLATE_BYTES) {
        Ok(Some(file)) if file.linked && !is_tracked(git, root, &file).await => {
            Err("it is a link to a file that git does not track".to_owned())
        }
        Ok(found) => Ok(found.map(|file| file.text)),
        Err(e) => Err(e.to_string()),
    }
}

async fn is_tracked(git: &Git, root: &Path, file: &TreeFile) -> bool {
    let path = root.join(&file.path);
    let args = ["--literal-pathspecs", "ls-files", "--error-unmatch", "--"];
    let args = args
        .map(AsRef::as_ref)
        .into_iter()
        .chain([path.as_os_str()]);
    git.run(args).await.is_ok_and(|found| found.status == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PULL: TemplateKind = TemplateKind::Pull;

    /// Returns the text of the default template of pull requests.
    async fn default_of(git: &Git, root: &Path) -> Option<String> {
        let found = default(git, PULL, root).await;
        found.map(|template| template.body)
    }

    #[tokio::test]
    async fn templates_are_found_at_github_paths() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let git = Git::at(root);
        assert_eq!(default_of(&git, root).await, None);
        fs::create_dir_all(root.join(".github/PULL_REQUEST_TEMPLATE")).unwrap();
        fs::create_dir(root.join("docs")).unwrap();
        fs::write(root.join("docs/pull_request_template.md"), "docs").unwrap();
        assert_eq!(default_of(&git, root).await.as_deref(), Some("docs"));
        fs::write(root.join(".github/Pull_Request_Template.md"), "hub").unwrap();
        assert_eq!(default_of(&git, root).await.as_deref(), Some("hub"));
        assert!(choices(&git, PULL, root).await.is_empty());
        fs::write(root.join(".github/PULL_REQUEST_TEMPLATE/fix.md"), "fix").unwrap();
        let offered = choices(&git, PULL, root).await;
        let offered: Vec<_> = offered
            .iter()
            .map(|t| (t.name.as_str(), t.body.as_str()))
            .collect();
        let wanted = [("pull_request_template", "hub"), ("fix.md", "fix")];
        assert_eq!(offered, wanted);
        let fix = read_named(&git, PULL, root, root, "fix.md").await;
        assert_eq!(fix.unwrap().body, "fix");
        assert!(read_named(&git, PULL, root, root, "none.md").await.is_err());
    }

    #[test]
    fn front_matter_names_an_issue_template() {
        let read = |text: &str| {
            let file = Path::new("bug.md");
            let template = DescriptionTemplate::new(TemplateKind::Issue, file, text.to_owned());
            [template.name, template.title, template.body]
        };
        for (text, wanted) in [
            ("Text.\n", ["bug.md", "", "Text.\n"]),
            (
                "---\nname: Bug report\ntitle: \"Bug: \"\nlabels: bug\n---\n\nWhat?\n",
                ["Bug report", "Bug: ", "What?\n"],
            ),
            (
                "---\r\nname: 'Bug'\r\ntitle: ''\r\n---\r\nWhat?",
                ["Bug", "", "What?"],
            ),
            ("---\nname: Bug\n", ["bug.md", "", "---\nname: Bug\n"]),
            (
                "\u{feff}---\nname: 'It''s a bug'\ntitle: 'Don''t: ' # why\n---\nWhat?",
                ["It's a bug", "Don't: ", "What?"],
            ),
            (
                "---\nname: \"A \\\"bug\\\"\" # why\ntitle: \"\"\n---\nWhat?",
                ["A \"bug\"", "", "What?"],
            ),
            (
                "---\nname: Bug #1 # why\ntitle: >-\n  Long\n---\nWhat?",
                ["Bug", "", "What?"],
            ),
            ("---\nname: 'open\n---\nWhat?", ["bug.md", "", "What?"]),
            ("\u{feff}Text.", ["bug.md", "", "Text."]),
        ] {
            assert_eq!(read(text), wanted, "{text}");
        }
    }

    #[tokio::test]
    async fn issue_form_is_refused_by_file_and_name() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let git = Git::at(root);
        let forms = root.join(".github/ISSUE_TEMPLATE");
        fs::create_dir_all(&forms).unwrap();
        fs::write(forms.join("form.yml"), "name: 'A form'\nbody: []\n").unwrap();
        for name in ["form.yml", ".github/ISSUE_TEMPLATE/form.yml", "a form"] {
            let read = read_named(&git, TemplateKind::Issue, root, root, name).await;
            let e = read.unwrap_err();
            assert!(e.message().contains("issue form"), "{name}: {e}");
            assert!(e.hint().unwrap().text().contains("--web"), "{e:?}");
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn symlinked_template_needs_a_tracked_target() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("work");
        fs::create_dir(&root).unwrap();
        let git = Git::at(&root);
        git.run_ok(["init", "-q"]).await.unwrap();
        fs::write(dir.path().join("secret"), "canary").unwrap();
        fs::write(root.join(".env"), "canary").unwrap();
        fs::write(root.join("shared.md"), "shared").unwrap();
        git.run_ok(["add", "shared.md"]).await.unwrap();
        for (target, text) in [
            ("../secret", None),
            ("/etc/passwd", None),
            (".git/config", None),
            (".env", None),
            ("shared.md", Some("shared")),
        ] {
            let link = root.join("pull_request_template.md");
            symlink(target, &link).unwrap();
            assert_eq!(default_of(&git, &root).await.as_deref(), text, "{target}");
            let by_name = read_named(&git, PULL, &root, &root, "pull_request_template.md").await;
            let by_name = by_name.ok().map(|template| template.body);
            assert_eq!(by_name.as_deref(), text, "{target}");
            fs::remove_file(&link).unwrap();
        }
    }
}
