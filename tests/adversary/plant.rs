//! Plants canaries in a repository, in every place from which git takes a program.

use std::{fs, io::Write as _, path::Path};

use forge_testkit::GitDir;

use crate::{
    canaries::Canaries,
    keys::{self, HOOKS},
};

/// A set of canaries. One set is not enough, because some canaries prevent others from running: an
/// external diff program replaces `textconv`, `core.hooksPath` replaces the hooks directory, and a
/// refused merge runs no further program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Sets all keys in the configuration itself, hooks in `core.hooksPath`, and attributes in the
    /// tree. The merge driver is also in `info/attributes`, because git before 2.41 ignores the tree
    /// in a merge.
    Direct,
    /// Sets most keys in included files, hooks in the default directory, and attributes in
    /// `info/attributes`. Merges have no driver and are not signed.
    Included,
    /// Equals [`Self::Direct`], but an object is missing and promisor remotes offer it.
    Promisor,
    /// Equals [`Self::Direct`], but `core.worktree` names another directory.
    WorkTree,
    /// Sets only a merge driver with a name that is not UTF-8.
    OddName,
}

impl Variant {
    pub const ALL: [Self; 5] = [
        Self::Direct,
        Self::Included,
        Self::Promisor,
        Self::WorkTree,
        Self::OddName,
    ];

    /// Returns the keys that this variant does not set.
    fn hides(self) -> &'static [&'static str] {
        match self {
            Self::Included => &[
                "core.hooksPath",
                "diff.external",
                "commit.gpgSign",
                "merge.verifySignatures",
            ],
            Self::OddName => &[
                "merge.canary.driver",
                "commit.gpgSign",
                "merge.verifySignatures",
            ],
            _ => &[],
        }
    }
}

/// The attributes in every tree. They have no effect unless a driver is configured.
pub const ATTRIBUTES: &str = "\
* filter=canary diff=canary merge=canary ident
*.rs filter=canary-process diff=canary-textconv eol=lf
*.utf16 working-tree-encoding=UTF-16
";

/// The submodule in every tree.
pub const MODULES: &str = "\
[submodule \"canary\"]
\tpath = canary
\turl = ext::sh -c exit
\tupdate = checkout
";

/// Plants canaries in the repository with the shared git directory `common`. Creates the further
/// repositories that the canaries need in `outside`.
pub fn plant(variant: Variant, common: &Path, outside: &Path, canaries: &Canaries) {
    let mut settings = keys::settings(canaries);
    settings.retain(|(key, _)| !variant.hides().contains(&key.as_str()));
    let mut set = |key: &str, value: &str| settings.push((key.to_owned(), value.to_owned()));
    set("user.signingKey", "canary");
    set("gpg.format", "openpgp");
    match variant {
        Variant::Direct => {
            alternate(common, outside);
            attributes(common, b"* merge=canary\n");
        }
        Variant::Included => {
            for hook in HOOKS {
                canaries.link(&common.join("hooks").join(hook));
            }
            attributes(common, format!("{ATTRIBUTES}* !merge\n").as_bytes());
            let (first, second) = settings.split_at(settings.len() / 2);
            fs::write(common.join("included"), text(first)).unwrap();
            fs::write(common.join("included-if"), text(second)).unwrap();
            settings = [
                ("include.path", "included"),
                ("includeIf.gitdir:/.path", "included-if"),
            ]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .to_vec();
        }
        Variant::Promisor => {
            settings.extend(remotes(outside, canaries));
            lose_blob(common);
        }
        Variant::WorkTree => {
            let elsewhere = outside.join("elsewhere");
            fs::create_dir_all(&elsewhere).unwrap();
            fs::write(elsewhere.join(".gitattributes"), ATTRIBUTES).unwrap();
            set("core.worktree", elsewhere.to_str().unwrap());
        }
        Variant::OddName => attributes(common, b"* merge=\xff\n"),
    }
    let mut config = text(&settings).into_bytes();
    if variant == Variant::OddName {
        let driver = format!("{} %O %A %B", canaries.program("merge.odd.driver"));
        config.extend(b"[merge \"\xff\"]\n\tdriver = ");
        config.extend(driver.as_bytes());
        config.push(b'\n');
    }
    let append = |path: &Path, bytes: &[u8]| {
        let mut file = fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .unwrap();
        file.write_all(bytes).unwrap();
    };
    append(&common.join("config"), &config);
    // Each work tree also reads a separate configuration file.
    for tree in fs::read_dir(common.join("worktrees")).into_iter().flatten() {
        append(&tree.unwrap().path().join("config.worktree"), &config);
        append(
            &common.join("config"),
            b"[extensions]\n\tworktreeConfig = true\n",
        );
    }
}

/// Returns the text of a git configuration file.
fn text(settings: &[(String, String)]) -> String {
    let mut text = String::new();
    for (key, value) in settings {
        let (section, rest) = key.split_once('.').unwrap();
        let head = match rest.rsplit_once('.') {
            Some((name, _)) => format!("[{section} \"{name}\"]"),
            None => format!("[{section}]"),
        };
        let field = rest.rsplit('.').next().unwrap();
        text.push_str(&format!("{head}\n\t{field} = \"{value}\"\n"));
    }
    text
}

fn attributes(common: &Path, lines: &[u8]) {
    fs::create_dir_all(common.join("info")).unwrap();
    fs::write(common.join("info/attributes"), lines).unwrap();
}

/// Returns remotes of every kind. Each is a promisor remote for missing objects.
pub fn remotes(outside: &Path, canaries: &Canaries) -> Vec<(String, String)> {
    let upstream = outside.join("upstream.git");
    if !upstream.exists() {
        let _ = GitDir::init(&upstream, &["--bare"]);
    }
    let ext = |name: &str| format!("ext::{} x", canaries.program(name));
    let urls = [
        ("local", upstream.display().to_string()),
        ("ext", ext("remote.ext.url")),
        ("vcs", "canary-vcs::x".to_owned()),
        ("instead", "canary:x".to_owned()),
        ("ssh", "ssh://canary.example/x".to_owned()),
        ("git", "git://canary.example/x".to_owned()),
        ("http", format!("{}/x", canaries.proxy())),
    ];
    let mut settings = vec![
        ("core.repositoryFormatVersion".to_owned(), "1".to_owned()),
        ("extensions.partialClone".to_owned(), "local".to_owned()),
        (
            format!("url.{}.insteadOf", ext("url.ext.insteadOf")),
            "canary:".to_owned(),
        ),
    ];
    for (name, url) in urls {
        let mut set = |field: &str, value: String| {
            settings.push((format!("remote.{name}.{field}"), value));
        };
        let program = |field| canaries.program(&format!("remote.{name}.{field}"));
        set("url", url);
        set("promisor", "true".to_owned());
        set("partialclonefilter", "blob:none".to_owned());
        set("uploadpack", program("uploadpack"));
        set("receivepack", program("receivepack"));
        if name == "vcs" {
            set("vcs", "canary".to_owned());
        }
    }
    settings
}

/// Deletes an object that pull request 1 needs.
fn lose_blob(common: &Path) {
    let oid = GitDir::at(common).oid("feature-1:feature-1.txt").unwrap();
    let (fan, rest) = oid.split_at(2);
    let file = common.join("objects").join(fan).join(rest);
    fs::remove_file(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
}

/// Makes another repository an alternate, from which git reads further objects.
fn alternate(common: &Path, outside: &Path) {
    let other = outside.join("alternate.git");
    if !other.exists() {
        let _ = GitDir::init(&other, &["--bare"]);
    }
    let line = format!("{}\n", other.join("objects").display());
    fs::create_dir_all(common.join("objects/info")).unwrap();
    fs::write(common.join("objects/info/alternates"), line).unwrap();
}
