//! Runs the GitHub double by itself, for tests that are no Rust program.
//!
//! `forge-github-double [--port N] [--latency-ms N] [--open-git] [--seed FILE]` prints its address
//! and runs until its standard input ends or it is killed. `--seed` reads the steps of
//! `POST /_double/seed`. `forge-github-double reduce-schema FILE` prints the reduced schema made
//! from GitHub's.

use std::{
    io::{Read, Write},
    process::ExitCode,
    time::Duration,
};

use forge_testkit::github::{GitHubDouble, Options, schema};

const USAGE: &str = "\
forge-github-double [--port N] [--latency-ms N] [--open-git] [--seed FILE]
  prints its address, and runs until its standard input ends
forge-github-double reduce-schema FILE
  prints the reduced schema made from GitHub's";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((first, [path])) if first == "reduce-schema" => reduce(path),
        Some((first, [])) if first == "--help" => {
            println!("{USAGE}");
            Ok(())
        }
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
    // Whoever started it closes its input, or dies, to stop it.
    std::io::stdin()
        .read_to_end(&mut Vec::new())
        .map_err(|error| error.to_string())?;
    Ok(())
}
