//! Lists the branches of a repository with git.
//!
//! git is used because the method of a knot (git server) for the branches of a Tangled 1.0
//! repository is not known. Knots do serve repositories over git's smart HTTP.

use std::{collections::BTreeMap, net::IpAddr, path::PathBuf, time::Duration};

use forge_core::{
    Error, ErrorKind, Noun, Result, call::Charged, is_full_oid, model, text::one_line,
};
use forge_git::{Git, command_line};
use tokio::time::timeout;
use url::Url;

use crate::{Tangled, blocking, knot::KnotBranch, repository::TangledRepository};

/// Timeout for listing the branches of a knot.
const LIST_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum number of bytes that are read of git's list of branches.
pub(crate) const MAX_PRINTED: usize = 8 * 1024 * 1024;

/// Maximum number of branches. No repository has as many.
const MAX_BRANCHES: usize = 50_000;

/// A file in place of a home directory, so that libcurl finds no `.netrc`.
const NO_HOME: &str = "/dev/null";
/// A git directory that no account of the machine can create. This matters because git obeys the
/// configuration of an explicit `GIT_DIR`, whoever owns it.
const NO_GIT_DIR: &str = "/dev/null/none";

/// The branches of a repository, and the name of the default branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refs {
    default: Option<String>,
    branches: BTreeMap<String, String>,
}

impl Refs {
    /// Parses the output of git; `None` stands for an output of more than [`MAX_PRINTED`].
    fn read(printed: Option<Vec<u8>>) -> Result<Self, String> {
        let Some(printed) = printed else {
            return Err(format!("they take more than {} MiB", MAX_PRINTED >> 20));
        };
        let refs = Self::parse(&String::from_utf8_lossy(&printed));
        match refs.branches.len() {
            0..=MAX_BRANCHES => Ok(refs),
            _ => Err(format!("there are more than {MAX_BRANCHES}")),
        }
    }

    /// Parses the output of `git ls-remote --symref`.
    fn parse(printed: &str) -> Self {
        let mut refs = Self::default();
        for line in printed.lines() {
            let Some((value, name)) = line.split_once('\t') else {
                continue;
            };
            if let Some(branch) = value.strip_prefix("ref: refs/heads/") {
                if name == "HEAD" {
                    refs.default = Some(branch.to_owned());
                }
            } else if let Some(branch) = name.strip_prefix("refs/heads/")
                && is_full_oid(value)
            {
                refs.branches.insert(branch.to_owned(), value.to_owned());
            }
        }
        refs
    }

    /// Returns the branch `name`.
    pub fn branch(&self, name: &str) -> Option<KnotBranch> {
        self.branches.get(name).map(|hash| KnotBranch {
            name: name.to_owned(),
            hash: hash.clone(),
            message: None,
            when: None,
        })
    }

    /// Returns the default branch; `None` if it has no commit.
    pub fn default_branch(&self) -> Option<KnotBranch> {
        self.branch(self.default.as_deref()?)
    }

    /// Returns all branches, by name.
    pub fn all(self) -> Vec<model::Branch> {
        let branches = self.branches.into_iter();
        branches
            .map(|(name, oid)| model::Branch::new(name, oid))
            .collect()
    }
}

impl Tangled {
    /// Lists the branches of a repository with git from its knot. Sends no credentials, because
    /// every repository is public.
    pub(crate) async fn remote_refs(&self, repository: &TangledRepository) -> Result<Refs> {
        // Called because it refuses addresses that must not be contacted.
        self.knot(repository).await?;
        let url = format!("{}/{}", repository.knot(), repository.knot_name());
        let at = url.clone();
        let git = blocking::run(move || Ok(anonymous_git(&at))).await?;
        let addresses = self.identities.addresses(repository.knot()).await?;
        let args = ls_remote(&url, addresses.as_deref());
        let unread = |why: &str| {
            let message = format!("the branches of {} could not be read: {why}", repository.id);
            Error::new(ErrorKind::Network, message).with_hint(format!(
                "check whether `{}` works",
                command_line(["git", "ls-remote", &url])
            ))
        };
        let args = args.iter().map(String::as_str).collect();
        let said = match timeout(LIST_TIMEOUT, git.run_within(args, MAX_PRINTED)).await {
            Ok(Ok(printed)) => {
                let printed = printed.map(Charged::keep);
                return Refs::read(printed).map_err(|why| unread(&why));
            }
            Ok(Err(said)) if matches!(said.kind(), ErrorKind::Git { .. }) => said,
            Ok(Err(not_run)) => return Err(not_run),
            Err(_) => {
                let seconds = LIST_TIMEOUT.as_secs();
                return Err(unread(&format!("no answer in {seconds} seconds")));
            }
        };
        // git distinguishes a 404 from other failures only by its message.
        let missing = format!("'{url}/' not found");
        if said.message().contains(&missing) {
            let host = one_line(repository.knot().host()).into_owned();
            let message = format!("the knot {host} serves no repository {}", repository.id);
            return Err(Error::not_found(Noun::Repo, message).with_source(said));
        }
        Err(unread(said.message()).with_source(said))
    }
}

/// Returns git's arguments for the branches at `url`. git connects only to `addresses`; `None` if
/// every address is allowed, or if a proxy makes the connection.
fn ls_remote(url: &str, addresses: Option<&[IpAddr]>) -> Vec<String> {
    let pinned = addresses.and_then(|found| pinned_host(url, found));
    let pinned = pinned.map(|host| format!("http.{url}.curloptResolve={host}"));
    let settings = [
        // git applies the longest matching `insteadOf`, so no setting of the user changes the URL
        // to another protocol.
        format!("url.{url}.insteadOf={url}"),
        format!("http.{url}.extraHeader="),
        "credential.helper=".to_owned(),
        // A redirect to another path is refused, because it leads to another repository.
        "http.followRedirects=false".to_owned(),
    ];
    let settings = pinned.into_iter().chain(settings);
    let mut args: Vec<String> = settings.flat_map(|it| ["-c".to_owned(), it]).collect();
    args.extend(["ls-remote", "--symref", url, "HEAD", "refs/heads/*"].map(str::to_owned));
    args
}

/// Returns the host of `url` with its checked addresses, in libcurl's form. With it, git does not
/// resolve the name again.
fn pinned_host(url: &str, addresses: &[IpAddr]) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let addresses: Vec<String> = addresses
        .iter()
        .map(|address| match address {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        })
        .collect();
    let (host, port) = (url.host_str()?, url.port_or_known_default()?);
    Some(format!("{host}:{port}:{}", addresses.join(",")))
}

/// Returns a git command for one URL, without a repository, credentials or prompts.
fn anonymous_git(url: &str) -> Git {
    let scheme = url.split(':').next().unwrap_or_default().to_owned();
    let git = Git::at(std::env::temp_dir()).with_env("HOME", NO_HOME);
    let git = match global_settings() {
        Some(file) => git.with_env("GIT_CONFIG_GLOBAL", file),
        None => git,
    };
    git.with_env("GIT_DIR", NO_GIT_DIR)
        .with_env("GIT_ALLOW_PROTOCOL", scheme)
        .with_env("GIT_TERMINAL_PROMPT", "0")
        // Set and empty, so that git runs no program that asks for a password.
        .with_env("GIT_ASKPASS", "")
}

/// Returns the path of the user's global git configuration, which git cannot find without HOME.
/// `None` if `GIT_CONFIG_GLOBAL` is set, or if there is no such file.
fn global_settings() -> Option<PathBuf> {
    if std::env::var_os("GIT_CONFIG_GLOBAL").is_some() {
        return None;
    }
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    let home = PathBuf::from(home?);
    let xdg = std::env::var_os("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty());
    let xdg = xdg.map_or_else(|| home.join(".config"), PathBuf::from);
    let files = [home.join(".gitconfig"), xdg.join("git/config")];
    files.into_iter().find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use std::{
        ffi::OsStr,
        net::{Ipv4Addr, TcpListener},
        path::Path,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use super::*;

    #[test]
    fn anonymous_git_has_no_home_directory() {
        let command = anonymous_git("https://knot.example/did:plc:a").command(["ls-remote"]);
        let mut variables = command.as_std().get_envs();
        let none = Some(OsStr::new(NO_HOME));
        assert!(variables.any(|(key, value)| key == "HOME" && value == none));
    }

    #[test]
    fn git_directory_of_anonymous_git_cannot_be_planted() {
        let command = anonymous_git("https://knot.example/did:plc:a").command(["ls-remote"]);
        let mut variables = command.as_std().get_envs();
        let (_, dir) = variables.find(|(key, _)| *key == "GIT_DIR").unwrap();
        let parent = Path::new(dir.unwrap()).parent().unwrap();
        assert!(parent.exists() && !parent.is_dir(), "{parent:?}");
    }

    #[test]
    fn git_connects_to_the_checked_addresses() {
        let found = ["8.8.8.8", "2606:4700::1111"].map(|ip| ip.parse().unwrap());
        for (url, pinned) in [
            ("https://knot.example/did:plc:a", "knot.example:443"),
            ("https://knot.example:8443/x", "knot.example:8443"),
        ] {
            let expected = format!("{pinned}:8.8.8.8,[2606:4700::1111]");
            assert_eq!(pinned_host(url, &found), Some(expected));
        }
    }

    /// The name resolves only to the pinned address, and the port does not speak TLS.
    #[tokio::test]
    async fn git_of_pinned_host_connects_to_pinned_address() {
        let here = Ipv4Addr::LOCALHOST;
        let listener = TcpListener::bind((here, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let connected = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connected);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                count.fetch_add(1, Ordering::SeqCst);
                drop(stream);
            }
        });
        let url = format!("https://knot.example:{port}/did:plc:a");
        let args = ls_remote(&url, Some(&[IpAddr::V4(here)]));
        let args = args.iter().map(String::as_str).collect();
        let git = anonymous_git(&url)
            .with_env("NO_PROXY", "knot.example")
            .with_env("no_proxy", "knot.example");
        assert!(git.run_within(args, MAX_PRINTED).await.is_err());
        assert!(connected.load(Ordering::SeqCst) > 0);
    }

    #[test]
    fn branch_list_over_limit_is_refused() {
        let oid = "a".repeat(40);
        let lines = |count: usize| -> String {
            let names = (0..count).map(|n| format!("{oid}\trefs/heads/{n}\n"));
            names.collect()
        };
        let read = |printed: Option<String>| Refs::read(printed.map(String::into_bytes));
        assert_eq!(read(Some(lines(3))).unwrap().branches.len(), 3);
        let many = read(Some(lines(MAX_BRANCHES + 1))).unwrap_err();
        assert_eq!(many, "there are more than 50000");
        let long = read(None).unwrap_err();
        assert_eq!(long, "they take more than 8 MiB");
    }

    #[test]
    fn branches_and_default_branch_are_parsed() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let printed = format!(
            "ref: refs/heads/main\tHEAD\n{a}\tHEAD\n{a}\trefs/heads/main\n{b}\trefs/heads/f/x\n\
             {b}\trefs/odd/refs/heads/main\nnone\trefs/heads/junk\n\n"
        );
        let refs = Refs::parse(&printed);
        assert_eq!(refs.default_branch().unwrap().hash, a);
        assert_eq!(refs.branch("f/x").unwrap().hash, b);
        assert_eq!(refs.branch("junk"), None);
        let names: Vec<_> = refs.all().into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["f/x", "main"]);
        assert_eq!(Refs::parse("").default_branch(), None);
    }
}
