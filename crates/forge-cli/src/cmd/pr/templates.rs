//! Description templates from the work tree.
//!
//! The text becomes public and the repository chooses the file, so only files within the work tree
//! are read, and links only to tracked files: a link to `.env` would publish that file.

use std::{
    fs,
    path::{Path, PathBuf},
};

use forge_core::{Error, Result};
use forge_git::{Git, TreeFile, read_tree_file};

/// The directories in which GitHub looks for templates.
const PLACES: [&str; 3] = [".github", "", "docs"];
const NAME: &str = "pull_request_template";
/// Maximum number of templates per directory.
const MAX_CHOICES: usize = 50;
/// Maximum size of a template, in bytes.
const MAX_TEMPLATE_BYTES: u64 = 1024 * 1024;

/// The default template of a description, if the work tree has one.
pub(super) async fn default(git: &Git, root: &Path) -> Option<String> {
    for place in PLACES {
        let Ok(entries) = fs::read_dir(root.join(place)) else {
            continue;
        };
        let mut files: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| is_template(path))
            .collect();
        files.sort();
        for file in files {
            if let Ok(Some(text)) = read(git, root, &file).await {
                return Some(text);
            }
        }
    }
    None
}

/// The templates to choose from, by name, each with its text; empty if there is only [`default`].
pub(super) async fn choices(git: &Git, root: &Path) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for place in PLACES {
        let dirs = fs::read_dir(root.join(place)).into_iter().flatten();
        let dirs = dirs.filter_map(|entry| Some(entry.ok()?.path()));
        for dir in dirs.filter(|dir| dir.is_dir() && is_template(dir)) {
            let files = fs::read_dir(dir).into_iter().flatten();
            let mut files: Vec<PathBuf> = files
                .filter_map(|entry| Some(entry.ok()?.path()))
                .filter(|path| path.extension().is_some_and(|e| e == "md" || e == "txt"))
                .collect();
            files.sort();
            for file in files.into_iter().take(MAX_CHOICES) {
                let name = file.file_name().unwrap_or_default();
                let name = name.to_string_lossy().into_owned();
                if let Ok(Some(text)) = read(git, root, &file).await {
                    found.push((name, text));
                }
            }
        }
    }
    if let (false, Some(text)) = (found.is_empty(), default(git, root).await) {
        found.insert(0, (NAME.to_owned(), text));
    }
    found
}

/// Returns true for `PULL_REQUEST_TEMPLATE.md`, in upper or lower case, and with `.txt` or nothing
/// instead of `.md`.
fn is_template(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|n| n.to_str()) else {
        return false;
    };
    let name = name.to_ascii_lowercase();
    let extension = name.strip_prefix(NAME);
    extension.is_some_and(|e| matches!(e, "" | ".md" | ".txt"))
}

/// Resolves `-T`: a path, or a file in a template directory.
///
/// # Errors
///
/// `invalid_input` if the file is not in the work tree, or not text.
pub(super) async fn named(git: &Git, root: &Path, cwd: &Path, name: &str) -> Result<String> {
    let mut places = vec![cwd.join(name), root.join(name)];
    for place in PLACES {
        let base = root.join(place);
        places.push(base.join(name));
        places.push(base.join("PULL_REQUEST_TEMPLATE").join(name));
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
            return Ok(text);
        }
    }
    Err(missing(name))
}

/// The error for a missing template.
pub(super) fn missing(name: &str) -> Error {
    Error::invalid("template", format!("there is no template '{name}'"))
        .with_hint("name a file of the work tree, or one of .github/PULL_REQUEST_TEMPLATE/")
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

    #[tokio::test]
    async fn templates_are_found_where_github_finds_them() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let git = Git::at(root);
        assert_eq!(default(&git, root).await, None);
        fs::create_dir_all(root.join(".github/PULL_REQUEST_TEMPLATE")).unwrap();
        fs::create_dir(root.join("docs")).unwrap();
        fs::write(root.join("docs/pull_request_template.md"), "docs").unwrap();
        assert_eq!(default(&git, root).await.as_deref(), Some("docs"));
        fs::write(root.join(".github/Pull_Request_Template.md"), "hub").unwrap();
        assert_eq!(default(&git, root).await.as_deref(), Some("hub"));
        assert!(choices(&git, root).await.is_empty());
        fs::write(root.join(".github/PULL_REQUEST_TEMPLATE/fix.md"), "fix").unwrap();
        let offered = choices(&git, root).await;
        let offered: Vec<_> = offered
            .iter()
            .map(|(n, t)| (n.as_str(), t.as_str()))
            .collect();
        assert_eq!(offered, [(NAME, "hub"), ("fix.md", "fix")]);
        let fix = named(&git, root, root, "fix.md").await;
        assert_eq!(fix.unwrap(), "fix");
        assert!(named(&git, root, root, "none.md").await.is_err());
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
            assert_eq!(default(&git, &root).await.as_deref(), text, "{target}");
            let by_name = named(&git, &root, &root, "pull_request_template.md").await;
            assert_eq!(by_name.ok().as_deref(), text, "{target}");
            fs::remove_file(&link).unwrap();
        }
    }
}
