//! Runs one case (a command, a view and a merge, or an MCP server) and checks its result.

use std::{path::PathBuf, time::Duration};

use forge_testkit::{CANARY, Random, Run};
use serde_json::Value;

use super::{
    child::{Ended, Running, check_end, check_screen},
    client::{self, Claim},
    fields::Steer,
    ground::Ground,
    hub::HubStage,
    knots::KnotStage,
    lines::{Line, Subjects},
    repository::RepositoryStage,
    tap::{Plan, Role, Tap, readings},
};
use crate::{
    canaries::Sighting,
    trust::{Purpose, allows},
};

/// Time limit of a command. A single operation has two seconds, and `doctor` has eight operations.
const DEADLINE: Duration = Duration::from_secs(30);
const SERVER_DEADLINE: Duration = Duration::from_secs(60);

/// A world in which some servers lie.
pub enum Stage {
    Hub(Box<HubStage>),
    Knots(Box<KnotStage>),
    Repository(Box<RepositoryStage>),
}

/// Description of a case, for the failure report.
#[derive(Default)]
pub struct Told {
    pub ends: Vec<Summary>,
    pub lies: Vec<String>,
}

pub struct Summary {
    pub line: String,
    pub code: i64,
    pub took: Duration,
    pub peak: u64,
}

impl Stage {
    pub fn new(random: &mut Random) -> Self {
        match random.below(8) {
            0 | 1 => Self::Repository(Box::new(RepositoryStage::new(random))),
            2..=4 => Self::Hub(Box::new(HubStage::new(random))),
            _ => Self::Knots(Box::new(KnotStage::new(random))),
        }
    }

    pub fn tap(&self) -> &Tap {
        match self {
            Self::Hub(hub) => &hub.tap,
            Self::Knots(knots) => &knots.tap,
            Self::Repository(it) => &it.tap,
        }
    }

    fn ground(&mut self) -> &mut Ground {
        match self {
            Self::Hub(hub) => &mut hub.ground,
            Self::Knots(knots) => &mut knots.ground,
            Self::Repository(it) => &mut it.ground,
        }
    }

    pub fn forge(&self) -> Run {
        match self {
            Self::Hub(hub) => hub.forge(),
            Self::Knots(knots) => knots.forge(),
            Self::Repository(it) => it.forge(),
        }
    }

    pub fn subjects(&self) -> Subjects {
        match self {
            Self::Hub(hub) => hub.subjects(),
            Self::Knots(knots) => knots.subjects(),
            Self::Repository(it) => it.subjects(),
        }
    }

    fn begin(&mut self, random: &mut Random) -> Vec<Role> {
        self.tap().wait_until_idle();
        let all = match self {
            Self::Hub(_) => HubStage::liars(),
            Self::Knots(_) => KnotStage::liars(),
            Self::Repository(_) => RepositoryStage::liars(),
        };
        let mut liars = vec![*random.pick(all)];
        if random.below(2) == 0 {
            liars.push(*random.pick(all));
        }
        if random.below(3) == 0 {
            liars.push(Role::Thief);
        }
        match self {
            Self::Hub(hub) => hub.begin(),
            Self::Knots(knots) => knots.begin(random, &liars),
            Self::Repository(_) => {}
        }
        let rate = *random.pick(&[1, 1, 2, 2, 3, 5]);
        self.tap().begin(Plan {
            seed: random.bits(),
            liars: liars.clone(),
            roles: all,
            rate,
            steer: match random.below(8) {
                0 | 1 => Some(Steer::Addresses),
                2 => Some(Steer::Names),
                3 => Some(Steer::Texts),
                _ => None,
            },
        });
        if let Self::Repository(it) = self {
            it.begin(random);
        }
        liars
    }

    /// Runs one case.
    ///
    /// # Errors
    ///
    /// Fails with a description of the check that failed.
    pub fn case(&mut self, seed: u64, told: &mut Told) -> Result<(), String> {
        let mut random = Random::new(seed);
        let liars = self.begin(&mut random);
        let kind = random.below(10);
        let result = match kind {
            0 | 1 => self.agent(&mut random, &liars, told),
            2 | 3 => self.merge(&mut random, &liars, told),
            _ => self.command(&mut random, &liars, told),
        };
        told.lies = self.tap().told();
        result.and_then(|()| self.check_secrets(&[]))?;
        self.check_programs(match kind {
            0 | 1 => Purpose::Guarded,
            _ => Purpose::PersonWrites,
        })
    }

    fn command(
        &mut self,
        random: &mut Random,
        liars: &[Role],
        told: &mut Told,
    ) -> Result<(), String> {
        let line = self.subjects().line(random);
        let ended = match random.below(3) {
            0 => self.show(&line, told)?,
            _ => self.run(&line, told)?,
        };
        let said = ended.stderr_text() + &ended.stdout_text();
        self.check_claims(&line, liars, ended.code == 0, &said)
    }

    fn check_claims(
        &self,
        line: &Line,
        liars: &[Role],
        succeeded: bool,
        said: &str,
    ) -> Result<(), String> {
        let checked = match self {
            Self::Hub(hub) => hub.check(line, succeeded, said),
            Self::Knots(knots) => knots.check(line, liars, succeeded, said),
            Self::Repository(it) => it.check(line, succeeded, said),
        };
        checked.map_err(|why| format!("{why}\n{said}"))
    }

    /// Views a pull request, and merges the head that the view showed.
    fn merge(
        &mut self,
        random: &mut Random,
        liars: &[Role],
        told: &mut Told,
    ) -> Result<(), String> {
        let subjects = self.subjects();
        let view = subjects.fill(random, "pr view P --json headRefOid,title,files", false);
        let again = Subjects {
            pulls: vec![view.subject.clone()],
            ..subjects
        };
        let viewed = self.run(&view, told)?;
        let shown: Value = serde_json::from_slice(&viewed.stdout).unwrap_or_default();
        let diff = *random.pick(&["pr diff P --patch", "pr diff P"]);
        let diff = again.fill(random, diff, false);
        let diff = self.run(&diff, told)?;
        let method = match self {
            Self::Hub(_) => "--squash",
            Self::Knots(_) => "--rebase",
            Self::Repository(_) => "--merge",
        };
        let merge = format!("pr merge P {method}");
        let mut merge = again.fill(random, &merge, true);
        // A program argument cannot contain a NUL.
        let head = shown["headRefOid"]
            .as_str()
            .filter(|head| viewed.code == 0 && !head.contains('\0'));
        if let Some(head) = head {
            merge
                .args
                .extend(["--match-head-commit".to_owned(), head.to_owned()]);
        }
        let merged_before = match self {
            Self::Hub(hub) => hub.merged_head(&view.subject),
            Self::Knots(_) | Self::Repository(_) => None,
        };
        self.run(&merge, told)?;
        let Some(head) = head else { return Ok(()) };
        match self {
            Self::Hub(hub) => match hub.merged_head(&view.subject) {
                Some(merged) if merged != head && merged_before.is_none() => {
                    Err(format!("{head} was shown, and {merged} is merged"))
                }
                _ => Ok(()),
            },
            Self::Repository(it) => it.check_merge(head),
            Self::Knots(knots) => {
                let shown = match knots.diff_of(head, liars) {
                    Some(shown) => shown,
                    None if diff.code == 0 => diff.stdout_text(),
                    None => return Ok(()),
                };
                let (files, lines) = (knots.merged_files(), knots.merged_lines());
                let mut merged = files.iter().chain(&lines);
                match merged.find(|text| !shown.contains(text.as_str())) {
                    Some(text) => Err(format!("{text} is merged, and was not shown in {shown}")),
                    None => Ok(()),
                }
            }
        }
    }

    /// Runs an MCP server with an honest or a lying client.
    fn agent(
        &mut self,
        random: &mut Random,
        liars: &[Role],
        told: &mut Told,
    ) -> Result<(), String> {
        let writes = random.below(2) == 0;
        let mut args = vec!["mcp", "--toolsets", "issues", "--toolsets", "workflow"];
        if writes {
            args.push("--write");
        }
        let run = self.forge().args(&args);
        let result = self.ground().scratch.path("probe.result");
        let running = Running::start(&run, result, SERVER_DEADLINE);
        let subjects = self.subjects();
        let check = &mut |claim: &Claim| self.check_call(liars, claim);
        let (ended, calls) = client::talk(running, random, &subjects, check)?;
        let line = Line {
            args: vec!["mcp".to_owned()],
            writes,
            subject: String::new(),
        };
        self.note(&format!("{} # {calls}", args.join(" ")), &ended, told);
        self.judge(&ended)?;
        self.check_claims(&line, &[], false, "")
    }

    /// Compares the effect of a tool call with its result and with the questions to the user.
    fn check_call(&mut self, liars: &[Role], claim: &Claim) -> Result<(), String> {
        self.check_claims(&claim.line, liars, claim.succeeded, &claim.text)?;
        match self {
            Self::Hub(hub) => hub.check_call(claim),
            Self::Knots(knots) => knots.check_call(claim),
            Self::Repository(it) => it.check_call(claim),
        }
    }

    fn run(&mut self, line: &Line, told: &mut Told) -> Result<Ended, String> {
        let (run, result) = self.command_line(line);
        self.end(line, Running::start(&run, result, DEADLINE), told)
    }

    /// Runs a command on a terminal.
    fn show(&mut self, line: &Line, told: &mut Told) -> Result<Ended, String> {
        let (run, result) = self.command_line(line);
        let run = run.env("FORGE_PAGER", "cat");
        let ended = self.end(line, Running::on_terminal(&run, result, DEADLINE), told)?;
        check_screen(&ended.stdout)?;
        Ok(ended)
    }

    /// Returns a command, and the file to which the probe writes its measurements.
    fn command_line(&mut self, line: &Line) -> (Run, PathBuf) {
        let run = self.forge().args(&line.args);
        (run, self.ground().scratch.path("probe.result"))
    }

    fn end(&self, line: &Line, running: Running, told: &mut Told) -> Result<Ended, String> {
        let text = line.args.join(" ");
        let ended = running.end();
        let ended = ended.map_err(|why| format!("forge {text}: {why}"))?;
        self.note(&text, &ended, told);
        self.judge(&ended)?;
        Ok(ended)
    }

    fn note(&self, line: &str, ended: &Ended, told: &mut Told) {
        told.ends.push(Summary {
            line: line.to_owned(),
            code: ended.code,
            took: ended.took,
            peak: ended.peak,
        });
        told.lies = self.tap().told();
    }

    /// Runs the checks that apply to every process.
    fn judge(&self, ended: &Ended) -> Result<(), String> {
        check_end(ended)?;
        check_screen(&ended.stderr)?;
        self.check_secrets(&[("stdout", &ended.stdout), ("stderr", &ended.stderr)])
    }

    /// Checks that each secret reached only its holders, and that no output contains a secret.
    fn check_secrets(&self, printed: &[(&str, &[u8])]) -> Result<(), String> {
        let secrets = self.tap().secrets();
        for (stream, bytes) in printed {
            let text = String::from_utf8_lossy(bytes);
            let found = secrets.iter().find(|it| text.contains(&it.text));
            if let Some(found) = found {
                return Err(format!("{} is printed to {stream}", found.name));
            }
            if text.contains(CANARY) {
                return Err(format!("a part of a token is printed to {stream}"));
            }
        }
        let mut all = self.tap().seen();
        if let Self::Knots(knots) = self {
            all.extend(knots.seen_by_domain());
        }
        for seen in all {
            let readings = readings(&seen);
            let first = seen.head.lines().next().unwrap_or_default();
            if readings
                .iter()
                .any(|text| text.contains("adversary=cookie"))
            {
                return Err(format!("a cookie was sent: {first}"));
            }
            for secret in &secrets {
                let holds = readings.iter().any(|text| text.contains(&secret.text));
                let audience = secret.audience.as_deref().is_some_and(|did| {
                    match did.strip_prefix("did:web:") {
                        Some(host) => host.replace("%3A", ":") == seen.origin,
                        // The audience is a repository of Tangled 1.0, whose knot the directory
                        // names.
                        None => seen.role == Role::Knot || self.tap().lies(Role::Directory),
                    }
                });
                if holds && !secret.holders.contains(&seen.role) && !audience {
                    return Err(format!(
                        "{} reached {:?} at {}: {first}",
                        secret.name, seen.role, seen.origin
                    ));
                }
            }
        }
        Ok(())
    }

    /// Checks that only two kinds of programs ran: the user's own, and those that a repository may
    /// choose for `purpose`.
    fn check_programs(&mut self, purpose: Purpose) -> Result<(), String> {
        let ran = self.ground().ran();
        let is_local = matches!(self, Self::Repository(_));
        let is_allowed = |it: &&Sighting| match is_local {
            true => allows(purpose, it),
            false => it.tokens.is_empty() && is_of_user(&it.canary),
        };
        match ran.iter().find(|it| !is_allowed(it)) {
            Some(sighting) => Err(format!("a program ran: {sighting:?}")),
            None => Ok(()),
        }
    }
}

/// Returns true if the canary is one of the user's programs, which no response or repository can
/// choose.
fn is_of_user(canary: &str) -> bool {
    ["ssh", "gpg", "ssh-keygen"].contains(&canary)
}
