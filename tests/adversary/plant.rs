//! Plants canaries in a repository, in every place from which git takes a program.

use std::{fs, io::Write as _, path::Path};

use forge_testkit::GitDir;

use crate::{
    canaries::Canaries,
    keys::{self, HOOKS},
};

/// Sets of canaries. Several are needed because some canaries hide others: an external diff program
/// hides `textconv`, `core.hooksPath` hides the hooks directory, and a refused merge runs no
/// further program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// All keys are in the configuration itself, hooks in `core.hooksPath`, attributes in the tree.
    Direct,
    /// Most keys are in included files, hooks in their default directory, attributes in
    /// `info/attributes`. Merges have no driver and are not signed.
    Included,
    /// [`Self::Direct`] with a missing object, and remotes that promise the object.
    Promisor,
    /// [`Self::Direct`] with `core.worktree` set to another directory.
    WorkTree,
    /// A merge driver whose name is not UTF-8, and no other canary.
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

    /// The keys that this variant leaves out.
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

/// The attributes that every tree has; they have no effect without drivers.
pub const ATTRIBUTES: &str = "\
* filter=canary diff=canary merge=canary ident
*.rs filter=canary-process diff=canary-textconv eol=lf
*.utf16 working-tree-encoding=UTF-16
";

/// The submodule that every tree has.
pub const MODULES: &str = "\
[submodule \"canary\"]
\tpath = canary
\turl = ext::sh -c exit
\tupdate = checkout
";

/// Plants canaries in the repository with the shared directory `common`; `outside` gets other
/// repositories.
pub fn plant(variant: Variant, common: &Path, outside: &Path, canaries: &Canaries) {
    let mut settings = keys::settings(canaries);
    settings.retain(|(key, _)| !variant.hides().contains(&key.as_str()));
    let mut set = |key: &str, value: &str| settings.push((key.to_owned(), value.to_owned()));
    set("user.signingKey", "canary");
    set("gpg.format", "openpgp");
    match variant {
        Variant::Direct => alternate(common, outside),
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
    // Each work tree reads a configuration file of its own as well.
    for tree in fs::read_dir(common.join("worktrees")).into_iter().flatten() {
        append(&tree.unwrap().path().join("config.worktree"), &config);
        append(
            &common.join("config"),
            b"[extensions]\n\tworktreeConfig = true\n",
        );
    }
}

/// The text of a configuration file.
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

/// Remotes of every kind, each a promisor for missing objects.
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

/// Adds the objects of another repository as an alternate.
fn alternate(common: &Path, outside: &Path) {
    let other = outside.join("alternate.git");
    if !other.exists() {
        let _ = GitDir::init(&other, &["--bare"]);
    }
    let line = format!("{}\n", other.join("objects").display());
    fs::create_dir_all(common.join("objects/info")).unwrap();
    fs::write(common.join("objects/info/alternates"), line).unwrap();
}
