//! Classifies files by path. The class orders the files of a packed diff, and shows what a change
//! is about.

use serde::Serialize;

/// Purpose of a changed file; the variants are in reading order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FileClass {
    /// Source code, and every file that matches no rule.
    Code,
    /// Tests and their data.
    Test,
    /// Documentation.
    Docs,
    /// Configuration of continuous integration.
    Ci,
    /// Files that a program generates.
    Generated,
    /// Versions that a package manager has resolved.
    Lock,
    /// Copies of third-party code.
    Vendored,
}

impl FileClass {
    /// Returns the stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Test => "test",
            Self::Docs => "docs",
            Self::Ci => "ci",
            Self::Generated => "generated",
            Self::Lock => "lock",
            Self::Vendored => "vendored",
        }
    }

    /// Returns true for files that a program wrote, or that were copied from elsewhere. Nobody
    /// reviews the lines of these files.
    #[must_use]
    pub const fn is_derived(self) -> bool {
        matches!(self, Self::Generated | Self::Lock | Self::Vendored)
    }

    /// Returns the class of a path, by the first matching rule of [`PATH_RULES`].
    #[must_use]
    pub fn of(path: &str) -> Self {
        let path = path.to_lowercase();
        let rule = PATH_RULES.iter().find(|rule| rule.part.fits(&path));
        rule.map_or(Self::Code, |rule| rule.class)
    }
}

/// A rule of [`PATH_RULES`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PathRule {
    /// The class of the files that match.
    pub class: FileClass,
    /// The part of the path that is compared.
    pub part: PathPart,
}

/// A part of a path in lower case, because paths are compared regardless of case.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PathPart {
    /// The name of a directory above the file.
    Directory(&'static str),
    /// The beginning of the whole path.
    Start(&'static str),
    /// The whole file name.
    Name(&'static str),
    /// The beginning of the file name.
    NameStart(&'static str),
    /// The end of the file name.
    NameEnd(&'static str),
    /// The end of the file name without its last extension.
    StemEnd(&'static str),
}

impl PathPart {
    fn fits(self, path: &str) -> bool {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        match self {
            Self::Directory(dir) => above.split('/').any(|part| part == dir),
            Self::Start(start) => path.starts_with(start),
            Self::Name(whole) => name == whole,
            Self::NameStart(start) => name.starts_with(start),
            Self::NameEnd(end) => name.ends_with(end),
            Self::StemEnd(end) => name
                .rsplit_once('.')
                .is_some_and(|(stem, _)| stem.ends_with(end)),
        }
    }

    /// Returns the pattern for people, such as `**/tests/**`.
    #[must_use]
    pub fn pattern(self) -> String {
        match self {
            Self::Directory(dir) => format!("**/{dir}/**"),
            Self::Start(start) if start.ends_with('/') => format!("/{start}**"),
            Self::Start(start) => format!("/{start}*"),
            Self::Name(name) => name.to_owned(),
            Self::NameStart(start) => format!("{start}*"),
            Self::NameEnd(end) => format!("*{end}"),
            Self::StemEnd(end) => format!("*{end}.*"),
        }
    }
}

const fn rule(class: FileClass, part: PathPart) -> PathRule {
    PathRule { class, part }
}

use FileClass::{Ci, Docs, Generated, Lock, Test, Vendored};
use PathPart::{Directory, Name, NameEnd, NameStart, Start, StemEnd};

/// The rules; the first match decides.
pub const PATH_RULES: &[PathRule] = &[
    rule(Vendored, Directory("vendor")),
    rule(Vendored, Directory("node_modules")),
    rule(Vendored, Directory("third_party")),
    rule(Vendored, Directory("pods")),
    rule(Lock, Name("cargo.lock")),
    rule(Lock, Name("package-lock.json")),
    rule(Lock, Name("npm-shrinkwrap.json")),
    rule(Lock, Name("yarn.lock")),
    rule(Lock, Name("pnpm-lock.yaml")),
    rule(Lock, Name("bun.lock")),
    rule(Lock, Name("bun.lockb")),
    rule(Lock, Name("deno.lock")),
    rule(Lock, Name("go.sum")),
    rule(Lock, Name("go.work.sum")),
    rule(Lock, Name("poetry.lock")),
    rule(Lock, Name("uv.lock")),
    rule(Lock, Name("pdm.lock")),
    rule(Lock, Name("pipfile.lock")),
    rule(Lock, Name("composer.lock")),
    rule(Lock, Name("gemfile.lock")),
    rule(Lock, Name("podfile.lock")),
    rule(Lock, Name("pubspec.lock")),
    rule(Lock, Name("mix.lock")),
    rule(Lock, Name("flake.lock")),
    rule(Lock, Name("gradle.lockfile")),
    rule(Lock, Name("packages.lock.json")),
    rule(Generated, NameEnd(".min.js")),
    rule(Generated, NameEnd(".min.css")),
    rule(Generated, NameEnd(".js.map")),
    rule(Generated, NameEnd(".css.map")),
    rule(Generated, NameEnd(".pb.go")),
    rule(Generated, NameEnd("_pb2.py")),
    rule(Generated, NameEnd("_pb2_grpc.py")),
    rule(Generated, NameEnd(".g.dart")),
    rule(Generated, NameEnd(".snap")),
    rule(Generated, StemEnd(".generated")),
    rule(Generated, StemEnd("_generated")),
    rule(Generated, Directory("__generated__")),
    rule(Generated, Directory("__snapshots__")),
    rule(Ci, Start(".github/workflows/")),
    rule(Ci, Start(".github/actions/")),
    rule(Ci, Start(".tangled/workflows/")),
    rule(Ci, Start(".circleci/")),
    rule(Ci, Start(".buildkite/")),
    rule(Ci, Start(".gitlab-ci")),
    rule(Ci, Start(".woodpecker")),
    rule(Test, Directory("test")),
    rule(Test, Directory("tests")),
    rule(Test, Directory("__tests__")),
    rule(Test, Directory("spec")),
    rule(Test, Directory("specs")),
    rule(Test, Directory("e2e")),
    rule(Test, Directory("testdata")),
    rule(Test, Directory("fixtures")),
    rule(Test, Name("conftest.py")),
    rule(Test, Name("tests.rs")),
    rule(Test, NameStart("test_")),
    rule(Test, StemEnd("_test")),
    rule(Test, StemEnd("_tests")),
    rule(Test, StemEnd("_spec")),
    rule(Test, StemEnd(".test")),
    rule(Test, StemEnd(".spec")),
    rule(Docs, Directory("docs")),
    rule(Docs, Directory("doc")),
    rule(Docs, NameEnd(".md")),
    rule(Docs, NameEnd(".mdx")),
    rule(Docs, NameEnd(".rst")),
    rule(Docs, NameEnd(".adoc")),
    rule(Docs, NameStart("readme")),
    rule(Docs, NameStart("changelog")),
    rule(Docs, NameStart("license")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_class_follows_the_first_matching_rule() {
        for (path, class) in [
            ("src/lib.rs", FileClass::Code),
            ("Cargo.toml", FileClass::Code),
            ("src/lock.rs", FileClass::Code),
            ("src/latest.rs", FileClass::Code),
            ("src/contest.py", FileClass::Code),
            ("vendored.rs", FileClass::Code),
            ("tests/it/a.rs", Test),
            ("src/a_test.go", Test),
            ("web/a.spec.ts", Test),
            ("pkg/test_a.py", Test),
            ("docs/guide.html", Docs),
            ("README", Docs),
            ("src/NOTES.md", Docs),
            (".github/workflows/ci.yml", Ci),
            ("x/.github/workflows/ci.yml", FileClass::Code),
            ("web/Cargo.lock", Lock),
            ("vendor/a/tests/x.go", Vendored),
            ("api/x.pb.go", Generated),
            ("tests/snapshots/a.snap", Generated),
        ] {
            assert_eq!(FileClass::of(path), class, "{path}");
        }
    }

    #[test]
    fn path_rules_are_in_lower_case() {
        for rule in PATH_RULES {
            let pattern = rule.part.pattern();
            assert_eq!(pattern, pattern.to_lowercase());
        }
    }
}
