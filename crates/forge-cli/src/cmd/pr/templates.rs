//! Templates for descriptions, from the work tree.

use std::{
    fs,
    path::{Path, PathBuf},
};

use forge_core::{Error, Result};

/// Where GitHub looks for them.
const PLACES: [&str; 3] = [".github", "", "docs"];
const NAME: &str = "pull_request_template";
/// No template is longer, in bytes.
const MAX: u64 = 1024 * 1024;

/// The template that a description begins with, if the work tree has one.
pub(super) fn default(root: &Path) -> Option<String> {
    PLACES.iter().find_map(|place| {
        let mut files: Vec<PathBuf> = fs::read_dir(root.join(place))
            .ok()?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| is_template(path))
            .collect();
        files.sort();
        files.iter().find_map(|path| read(path).ok())
    })
}

/// `PULL_REQUEST_TEMPLATE.md`, in any case, also without `.md` or with `.txt`.
fn is_template(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|n| n.to_str()) else {
        return false;
    };
    let name = name.to_ascii_lowercase();
    let extension = name.strip_prefix(NAME);
    extension.is_some_and(|e| matches!(e, "" | ".md" | ".txt")) && path.is_file()
}

/// The template that `-T` names: a path, or a file of one of the template directories.
///
/// # Errors
/// `invalid_input` when there is none, or it is not a text.
pub(super) fn named(root: Option<&Path>, cwd: &Path, name: &str) -> Result<String> {
    let mut places = vec![cwd.join(name)];
    if let Some(root) = root {
        places.push(root.join(name));
        for place in PLACES {
            let base = root.join(place);
            places.push(base.join(name));
            places.push(base.join("PULL_REQUEST_TEMPLATE").join(name));
        }
    }
    let Some(found) = places.iter().find(|p| p.is_file()) else {
        return Err(
            Error::invalid("template", format!("there is no template '{name}'"))
                .with_hint("name a file, or one of .github/PULL_REQUEST_TEMPLATE/"),
        );
    };
    read(found).map_err(|e| Error::invalid("template", format!("template '{name}': {e}")))
}

fn read(path: &Path) -> std::io::Result<String> {
    if fs::metadata(path)?.len() > MAX {
        return Err(std::io::Error::other("it is longer than 1 MiB"));
    }
    fs::read_to_string(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_github_finds() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        assert_eq!(default(root), None);
        fs::create_dir_all(root.join(".github/PULL_REQUEST_TEMPLATE")).unwrap();
        fs::create_dir(root.join("docs")).unwrap();
        fs::write(root.join("docs/pull_request_template.md"), "docs").unwrap();
        assert_eq!(default(root).as_deref(), Some("docs"));
        fs::write(root.join(".github/Pull_Request_Template.md"), "hub").unwrap();
        assert_eq!(default(root).as_deref(), Some("hub"));
        fs::write(root.join(".github/PULL_REQUEST_TEMPLATE/fix.md"), "fix").unwrap();
        assert_eq!(
            named(Some(root), Path::new("/nowhere"), "fix.md").unwrap(),
            "fix"
        );
        assert!(named(Some(root), root, "none.md").is_err());
    }
}
