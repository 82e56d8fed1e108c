use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    fmt,
    path::PathBuf,
};

macro_rules! vars {
    ($($variant:ident = $name:literal, $doc:literal;)*) => {
        /// Every environment variable that forge reads. `docs/reference/config.md` is generated
        /// from this list.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Var { $(#[doc = $doc] $variant,)* }

        impl Var {
            /// Every variable, in the order of the docs.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Name of the variable.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Description in one sentence.
            #[must_use]
            pub const fn doc(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }
        }
    };
}

vars! {
    ForgeRepo = "FORGE_REPO", "The repository of commands without `-R`, as any locator.";
    GhRepo = "GH_REPO", "As `FORGE_REPO`, which wins.";
    ForgeHost = "FORGE_HOST", "The host that `owner/repo` means.";
    GhHost = "GH_HOST", "As `FORGE_HOST`, which wins.";
    ForgeConfigDir = "FORGE_CONFIG_DIR", "The directory of `config.toml` and `credentials.toml`.";
    XdgConfigHome = "XDG_CONFIG_HOME", "The parent of gh's `gh/` and, without `FORGE_CONFIG_DIR`, of `forge/`; else `~/.config`.";
    Home = "HOME", "The home directory.";
    ForgeTimeout = "FORGE_TIMEOUT", "How long one operation may take, in seconds.";
    ForgeColor = "FORGE_COLOR", "`auto`, `always` or `never`.";
    NoColor = "NO_COLOR", "Not empty: no colour, unless `--color` or `FORGE_COLOR` says otherwise.";
    Clicolor = "CLICOLOR", "`0`: no colour.";
    ClicolorForce = "CLICOLOR_FORCE", "Not empty and not `0`: colour on a pipe as well.";
    ForgeForceTty = "FORGE_FORCE_TTY", "Not empty: write to a pipe as to a terminal; a number is the width in columns.";
    GhForceTty = "GH_FORCE_TTY", "As `FORGE_FORCE_TTY`, which wins.";
    Columns = "COLUMNS", "The width of the output in columns, if the terminal reports none.";
    Term = "TERM", "`dumb`: no colour and no cursor movement.";
    ForgePromptDisabled = "FORGE_PROMPT_DISABLED", "Not empty: never ask, fail instead.";
    GhPromptDisabled = "GH_PROMPT_DISABLED", "As `FORGE_PROMPT_DISABLED`.";
    ForgeEditor = "FORGE_EDITOR", "The command that edits texts.";
    GhEditor = "GH_EDITOR", "As `FORGE_EDITOR`, which wins.";
    GitEditor = "GIT_EDITOR", "The editor if none is configured.";
    Visual = "VISUAL", "The editor after `GIT_EDITOR`.";
    Editor = "EDITOR", "The editor after `VISUAL`.";
    ForgePager = "FORGE_PAGER", "The command that shows long output; empty or `cat` for none.";
    GhPager = "GH_PAGER", "As `FORGE_PAGER`, which wins.";
    Pager = "PAGER", "The pager if none is configured.";
    Less = "LESS", "The options of `less`; if not set, the pager gets `FRX`.";
    Lv = "LV", "The options of `lv`; if not set, the pager gets `-c`.";
    ForgeBrowser = "FORGE_BROWSER", "The command that opens a URL for `--web`.";
    GhBrowser = "GH_BROWSER", "As `FORGE_BROWSER`, which wins.";
    Browser = "BROWSER", "The browser if none is configured.";
    GhToken = "GH_TOKEN", "Token for github.com and `*.ghe.com`; wins over the stored one.";
    GithubToken = "GITHUB_TOKEN", "As `GH_TOKEN`, which wins.";
    GhProjectToken = "GH_PROJECT_TOKEN", "Token for project boards on github.com and `*.ghe.com`, if `GH_TOKEN` has no access to boards.";
    GhEnterpriseToken = "GH_ENTERPRISE_TOKEN", "Token for the other hosts of kind `github`.";
    GithubEnterpriseToken = "GITHUB_ENTERPRISE_TOKEN", "As `GH_ENTERPRISE_TOKEN`, which wins.";
    ForgeWait = "FORGE_WAIT", "Maximum time, in seconds, that a write waits until an index shows it (tangled).";
    TangledIndexUrl = "TANGLED_INDEX_URL", "The index of the tangled hosts.";
    TangledWebUrl = "TANGLED_WEB_URL", "The web pages of the tangled hosts.";
    TangledBacklinksUrl = "TANGLED_BACKLINKS_URL", "The index of backlinks of the tangled hosts.";
    TangledPlcUrl = "TANGLED_PLC_URL", "The directory of `did:plc` identities of the tangled hosts.";
    TangledResolverUrl = "TANGLED_RESOLVER_URL", "The personal data server that resolves handles for the tangled hosts.";
    TangledDnsServer = "TANGLED_DNS_SERVER", "The name server for looking up handles of the tangled hosts.";
    TangledPdsUrl = "TANGLED_PDS_URL", "The personal data server of the tangled account.";
    TangledPrivateAddresses = "TANGLED_PRIVATE_ADDRESSES", "`true`: allow services of the tangled hosts at private addresses.";
    TangledHandle = "TANGLED_HANDLE", "The handle of the tangled account; only together with `TANGLED_PASSWORD`.";
    TangledPassword = "TANGLED_PASSWORD", "The app password of `TANGLED_HANDLE`.";
    JiraUrl = "JIRA_URL", "The URL of JIRA, if none is configured.";
    JiraToken = "JIRA_TOKEN", "The token for JIRA; wins over the stored one. `jira.auth_token` can name another variable.";
    ForgeMcpToken = "FORGE_MCP_TOKEN", "The bearer token that `forge mcp --http` requires from clients; if not set, a new one is printed.";
    GhConfigDir = "GH_CONFIG_DIR", "The directory of gh's `hosts.yml`, whose tokens are used if no other is set; else `gh/` in `XDG_CONFIG_HOME` or `~/.config`.";
    AppData = "APPDATA", "On Windows, the parent of gh's `GitHub CLI/`, without `GH_CONFIG_DIR` and `XDG_CONFIG_HOME`.";
    GhPath = "GH_PATH", "The gh program that supplies a token missing from `hosts.yml`, if it is not the `gh` of the path.";
    HttpProxy = "HTTP_PROXY", "The proxy for `http://`, also as `http_proxy`; only requests to this machine are clear text.";
    HttpsProxy = "HTTPS_PROXY", "The proxy for `https://`, also as `https_proxy`.";
    AllProxy = "ALL_PROXY", "The proxy if neither of these two is set, also as `all_proxy`.";
    NoProxy = "NO_PROXY", "Hosts, domains, addresses and ranges that are reached without a proxy, or `*`; also as `no_proxy`.";
    SslCertFile = "SSL_CERT_FILE", "A PEM file with the certificate authorities to trust, in place of the built-in list.";
    SslCertDir = "SSL_CERT_DIR", "As `SSL_CERT_FILE`: directories of PEM files.";
    ForgeCaBundle = "FORGE_CA_BUNDLE", "A PEM file with additional certificate authorities to trust, such as a company's own.";
    RequestMethod = "REQUEST_METHOD", "Set for CGI programs: `HTTP_PROXY` may then come from a visitor, and does not count.";
    ForgeGit = "FORGE_GIT", "The git program, if it is not the `git` of the path.";
    ForgeNow = "FORGE_NOW", "The current time for reproducible output, as in `2026-01-31T12:00:00Z`.";
}

/// The environment of the process, or a fixed environment for tests and embedders.
#[derive(Clone, Default)]
pub struct Env(Option<BTreeMap<OsString, OsString>>);

/// Prints only the names of variables, because their values may be tokens.
impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("Env(process)"),
            Some(vars) => f.debug_set().entries(vars.keys()).finish(),
        }
    }
}

impl Env {
    /// Returns the environment of this process, read on each access.
    #[must_use]
    pub const fn process() -> Self {
        Self(None)
    }

    /// Returns true if this is the environment of the process.
    #[must_use]
    pub const fn is_process(&self) -> bool {
        self.0.is_none()
    }

    /// Creates a fixed environment with only these variables.
    #[must_use]
    pub fn fixed<K, V>(vars: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: Into<OsString>,
        V: Into<OsString>,
    {
        Self(Some(
            vars.into_iter()
                .map(|(k, v)| (k.into(), v.into()))
                .collect(),
        ))
    }

    /// Returns the unchanged value of a variable, possibly empty.
    #[must_use]
    pub fn raw(&self, var: Var) -> Option<OsString> {
        match &self.0 {
            None => env::var_os(var.name()),
            Some(vars) => vars.get(OsStr::new(var.name())).cloned(),
        }
    }

    /// Returns the value of a variable whose name comes from another crate or from the
    /// configuration. The value may be empty.
    pub(crate) fn named(&self, name: &str) -> Option<String> {
        match &self.0 {
            None => env::var(name).ok(),
            Some(vars) => vars.get(OsStr::new(name))?.to_str().map(str::to_owned),
        }
    }

    /// Returns the text of a variable. A variable that is empty or not Unicode counts as unset.
    #[must_use]
    pub fn get(&self, var: Var) -> Option<String> {
        self.raw(var)?
            .into_string()
            .ok()
            .filter(|text| !text.is_empty())
    }

    /// Returns a variable as a path. An empty variable counts as unset.
    #[must_use]
    pub fn path(&self, var: Var) -> Option<PathBuf> {
        self.raw(var)
            .filter(|text| !text.is_empty())
            .map(PathBuf::from)
    }

    /// Returns true if a variable is set and not empty.
    #[must_use]
    pub fn is_set(&self, var: Var) -> bool {
        self.raw(var).is_some_and(|text| !text.is_empty())
    }

    /// Returns the first variable of `vars` that is set, with its text.
    #[must_use]
    pub fn first(&self, vars: &[Var]) -> Option<(Var, String)> {
        vars.iter().find_map(|var| Some((*var, self.get(*var)?)))
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    #[test]
    fn secret_variables_are_hidden_from_child_processes() {
        let is_secret = |name: &&str| name.contains("TOKEN") || name.contains("PASSWORD");
        let mut secret: Vec<_> = Var::ALL
            .iter()
            .map(|v| v.name())
            .filter(is_secret)
            .collect();
        let mut kept = forge_core::SECRET_VARIABLES.to_vec();
        secret.sort_unstable();
        kept.sort_unstable();
        assert_eq!(secret, kept);
    }

    #[test]
    fn variable_names_are_unique_and_documented() {
        let mut names: Vec<_> = Var::ALL.iter().map(|v| v.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Var::ALL.len());
        assert!(Var::ALL.iter().all(|v| v.doc().ends_with('.')));
    }

    /// Two groups of variables need not be listed: git documents its own variables, and `PATH` is
    /// only passed on to programs.
    #[test]
    fn every_variable_read_by_code_is_listed() {
        fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    sources(&path, found);
                } else if path.extension().is_some_and(|e| e == "rs") {
                    found.push(path);
                }
            }
        }
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut files = Vec::new();
        let own = [
            "forge-core",
            "forge-git",
            "forge-github",
            "forge-http",
            "forge-local",
            "forge-tangled",
            "forge-mcp",
            "forge",
            "forge-cli",
        ];
        for name in own {
            sources(&crates.join(name).join("src"), &mut files);
        }
        let mut seen = 0;
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let text = text.split("#[cfg(test)]").next().unwrap();
            // Only this file may read a variable with a computed name; other code must use `Env`.
            let may_compute = file.ends_with("config/env.rs");
            for call in ["env::var(", "env::var_os(", "env::vars(", "env::vars_os("] {
                for (at, _) in text.match_indices(call) {
                    let argument = &text[at + call.len()..];
                    let Some(quoted) = argument.strip_prefix('"') else {
                        assert!(may_compute, "{call}… in {}", file.display());
                        continue;
                    };
                    let name = quoted.split('"').next().unwrap();
                    let listed = Var::ALL.iter().any(|var| var.name() == name);
                    // `FORGE_ADVERSARY_CASES` sets the number of cases of a test.
                    let other = name.starts_with("GIT_")
                        || matches!(name, "PATH" | "FORGE_ADVERSARY_CASES");
                    assert!(listed || other, "{name} in {}", file.display());
                    seen += 1;
                }
            }
        }
        assert!(
            seen > 0,
            "the test looks for calls that nobody writes any more"
        );
    }

    #[cfg(feature = "github")]
    #[test]
    fn transport_variables_are_listed() {
        for name in forge_http::ENV {
            assert!(Var::ALL.iter().any(|var| var.name() == *name), "{name}");
        }
    }

    #[test]
    fn empty_variable_counts_as_unset_and_is_skipped() {
        let env = Env::fixed([("GH_REPO", "b/b"), ("FORGE_REPO", "")]);
        assert_eq!(env.get(Var::ForgeRepo), None);
        assert!(!env.is_set(Var::ForgeRepo));
        assert_eq!(
            env.first(&[Var::ForgeRepo, Var::GhRepo]),
            Some((Var::GhRepo, "b/b".to_owned()))
        );
    }
}
