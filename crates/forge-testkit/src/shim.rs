use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use crate::{Scratch, git_program};

/// Action of a [`GitShim`] in addition to recording calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShimPlan {
    /// Only records calls.
    #[default]
    Count,
    /// Kills the caller instead of running git for call `at`.
    KillBefore {
        /// Number of the call, from 1.
        at: u64,
    },
    /// Kills the caller after git has ended in call `at`.
    KillAfter {
        /// Number of the call, from 1.
        at: u64,
    },
    /// Kills the caller while git runs in call `at`; git itself continues.
    KillDuring {
        /// Number of the call, from 1.
        at: u64,
        /// Delay until the kill, in milliseconds.
        delay: u64,
    },
    /// Kills only git in the middle of call `at`; the caller sees git fail.
    KillGit {
        /// Number of the call, from 1.
        at: u64,
        /// Delay until the kill, in milliseconds.
        delay: u64,
    },
    /// Kills git and the caller in the middle of call `at`.
    KillBoth {
        /// Number of the call, from 1.
        at: u64,
        /// Delay until the kill, in milliseconds.
        delay: u64,
    },
    /// Withholds the last block of a diff until [`GitShim::let_go`].
    Withhold,
}

impl ShimPlan {
    /// Returns the script's mode, the number of the call, and the delay in seconds.
    fn parts(self) -> (&'static str, u64, String) {
        let seconds = |ms: u64| format!("{}.{:03}", ms / 1000, ms % 1000);
        match self {
            Self::Count => ("count", 0, seconds(0)),
            Self::KillBefore { at } => ("before", at, seconds(0)),
            Self::KillAfter { at } => ("after", at, seconds(0)),
            Self::KillDuring { at, delay } => ("during", at, seconds(delay)),
            Self::KillGit { at, delay } => ("git", at, seconds(delay)),
            Self::KillBoth { at, delay } => ("both", at, seconds(delay)),
            Self::Withhold => ("withhold", 0, seconds(0)),
        }
    }
}

/// A program that runs in place of git (`FORGE_GIT`). It records every call, and kills processes or
/// withholds output according to the plan.
#[derive(Debug)]
pub struct GitShim {
    program: PathBuf,
    state: PathBuf,
    plan: ShimPlan,
}

/// The program, a shell script.
///
/// Each call creates the first numbered directory that does not exist, and takes its number, so
/// that concurrent calls get different numbers. `trap` keeps the shell alive: it prints "Killed"
/// after its caller has gone, which raises SIGPIPE. The input is saved in descriptor 3, because a
/// background job would read /dev/null.
///
/// The last block of a diff is sent after a minute at the latest, because a caller may write
/// nothing before it has this block. The file `late` records this timeout.
const SCRIPT: &str = r#"#!/bin/sh
n=1
while ! mkdir "$STATE/$n" 2>/dev/null; do n=$((n + 1)); done
printf '%s\n' "$*" >"$STATE/$n/args"
if [ "$MODE" = withhold ]; then
    case " $* " in
    *" diff-tree "* | *" format-patch "*) ;;
    *) exec "$GIT" "$@" ;;
    esac
    out="$STATE/$n/out"
    "$GIT" "$@" >"$out"
    code=$?
    first=$(($(wc -c <"$out") - LAST))
    if [ "$first" -le 0 ]; then
        cat "$out"
        exit "$code"
    fi
    head -c "$first" "$out"
    : >"$STATE/held"
    tries=0
    while [ ! -e "$STATE/seen" ]; do
        tries=$((tries + 1))
        if [ "$tries" -gt 3000 ]; then
            : >"$STATE/late"
            break
        fi
        sleep 0.02
    done
    tail -c "$LAST" "$out"
    rm "$out"
    exit "$code"
fi
[ "$n" = "$AT" ] || exec "$GIT" "$@"
trap : PIPE
case "$MODE" in
before) kill -9 "$PPID"; : >"$STATE/ended"; exit 137 ;;
after) "$GIT" "$@"; code=$?; kill -9 "$PPID"; : >"$STATE/ended"; exit "$code" ;;
esac
exec 3<&0
"$GIT" "$@" <&3 3<&- &
pid=$!
exec 3<&-
[ "$DELAY" = 0.000 ] || sleep "$DELAY"
case "$MODE" in
during) kill -9 "$PPID" ;;
git) kill -9 "$pid" 2>/dev/null ;;
both) kill -9 "$PPID" "$pid" 2>/dev/null ;;
esac
wait "$pid"
code=$?
: >"$STATE/ended"
exit "$code"
"#;

/// Number of bytes that [`ShimPlan::Withhold`] withholds: the capacity of a pipe.
const LAST: u64 = 64 * 1024;

impl GitShim {
    /// Creates a shim below `name` in `scratch`.
    ///
    /// # Panics
    ///
    /// Panics if the shim cannot be written.
    #[must_use]
    pub fn new(scratch: &Scratch, name: &str, plan: ShimPlan) -> Self {
        let state = scratch.path(format!("{name}-calls"));
        fs::create_dir_all(&state).expect("a directory for the calls");
        let (mode, at, delay) = plan.parts();
        let head = format!(
            "#!/bin/sh\nSTATE='{}'\nGIT='{}'\nMODE={mode}\nAT={at}\nDELAY={delay}\nLAST={LAST}\n",
            state.display(),
            git_program().display()
        );
        let script = SCRIPT.replacen("#!/bin/sh\n", &head, 1);
        let program = scratch.write(name, script);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
        }
        Self {
            program,
            state,
            plan,
        }
    }

    /// Returns the value for `FORGE_GIT`.
    #[must_use]
    pub fn program(&self) -> &PathBuf {
        &self.program
    }

    /// Returns true if the planned kill has hit a caller that ended with `code`. Waits for the end
    /// of git, because git outlives a killed caller.
    ///
    /// # Panics
    ///
    /// Panics if git does not end within a minute.
    #[must_use]
    pub fn struck(&self, code: Option<i32>) -> bool {
        let (_, at, _) = self.plan.parts();
        if at == 0 || !self.state.join(at.to_string()).exists() {
            return false;
        }
        // A caller with an exit code has waited for its git, so a short wait suffices.
        let patience = Duration::from_secs(if code.is_some() { 1 } else { 60 });
        let begun = Instant::now();
        while !self.state.join("ended").exists() {
            if begun.elapsed() > patience {
                assert!(code.is_some(), "git does not end: {self:?}");
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }

    /// Releases the last block of a diff.
    ///
    /// # Panics
    ///
    /// Panics if the release cannot be recorded.
    pub fn let_go(&self) {
        fs::write(self.state.join("seen"), "").expect("a note for the shim");
    }

    /// Returns true if the last block of a diff was withheld until [`Self::let_go`], and was not
    /// released by the shim's timeout.
    #[must_use]
    pub fn withheld(&self) -> bool {
        self.state.join("held").exists() && !self.state.join("late").exists()
    }

    /// Returns the arguments of every call so far, in order.
    ///
    /// # Panics
    ///
    /// Panics if the records cannot be read.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        (1..)
            .map(|n| self.state.join(n.to_string()))
            .take_while(|dir| dir.exists())
            .map(|dir| {
                fs::read_to_string(dir.join("args"))
                    .unwrap_or_default()
                    .trim()
                    .to_owned()
            })
            .collect()
    }
}
