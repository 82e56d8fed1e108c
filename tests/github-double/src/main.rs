//! Runs the GitHub double as a program, for tests that are not written in Rust.
//!
//! `--help` explains how to start and reach the double. `_double/seed` of its control interface
//! accepts the same steps as `--seed`.

use std::{
    io::{Read, Write},
    process::ExitCode,
    time::Duration,
};

use forge_github_double::{GitHubDouble, Options, STEPS, schema};

const USAGE: &str = r#"A double of GitHub on loopback, for gh, forge and tests

Usage: forge-github-double [--port N] [--latency-ms N] [--open-git] [--seed FILE]
       forge-github-double reduce-schema FILE

The double prints its address, and runs until its standard input ends.

  --port N         Listen on this port [default: a free port]
  --latency-ms N   Delay each answer by N milliseconds
  --open-git       Accept git requests without a token
  --seed FILE      Run the steps in this JSON list first; a token must contain 0canary0:
                     [{"do": "user", "login": "octocat"},
                      {"do": "token", "token": "gho_0canary0", "login": "octocat"},
                      {"do": "repo", "repo": "octocat/hello"}]
                   "Steps" below lists all steps; POST ADDRESS/_double/seed runs more
  reduce-schema    Print GitHub's schema in FILE, reduced to the covered types

Programs use the double as a proxy:
  HTTP_PROXY=ADDRESS http_proxy=ADDRESS NO_PROXY= no_proxy=
  GH_HOST=github.localhost GH_TOKEN=gho_0canary0
"#;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((first, [])) if first == "--help" => {
            print!("{USAGE}\nSteps and their fields; fields in [] are optional:\n");
            for (name, fields) in STEPS {
                println!("  {name:14} {fields}");
            }
            Ok(())
        }
        Some((first, [path])) if first == "reduce-schema" => reduce(path),
        _ => serve(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("forge-github-double: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn reduce(path: &str) -> Result<(), String> {
    let sdl = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let reduced = schema::reduce(&sdl).map_err(|error| error.to_string())?;
    std::io::stdout()
        .write_all(reduced.as_bytes())
        .map_err(|error| error.to_string())
}

fn serve(arguments: &[String]) -> Result<(), String> {
    let mut options = Options::default();
    let mut seed = None;
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        if name == "--open-git" {
            options.open_git = true;
            continue;
        }
        let value = rest.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || {
            value
                .parse::<u16>()
                .map_err(|error| format!("{name} {value}: {error}"))
        };
        match name.as_str() {
            "--port" => options.port = number()?,
            "--latency-ms" => options.latency = Duration::from_millis(number()?.into()),
            "--seed" => seed = Some(value.clone()),
            _ => return Err(format!("unknown option {name}")),
        }
    }
    let double = GitHubDouble::start(options).map_err(|error| error.to_string())?;
    if let Some(path) = seed {
        let steps = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        double.seed_json(&steps)?;
    }
    println!("{}", double.url());
    // The parent process stops the double when it closes this input or ends.
    std::io::stdin()
        .read_to_end(&mut Vec::new())
        .map_err(|error| error.to_string())?;
    Ok(())
}
