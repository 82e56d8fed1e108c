//! The pager.

use std::{
    io::{ErrorKind, Write as _},
    process::{Child, Command, Stdio},
};

use forge::config::{Env, Var};
use forge_core::{Error, ErrorKind as Kind, Result};
use forge_git::without_secrets;

use super::{io_error, words};

/// A running pager.
#[derive(Debug)]
pub struct Pager {
    child: Child,
    closed: bool,
}

impl Pager {
    /// Starts `command`; `None` for an empty command or `cat`, which mean no pager.
    ///
    /// # Errors
    ///
    /// `config` if the command cannot be started.
    pub fn start(command: &str) -> Result<Option<Self>> {
        let words = words::split(command).unwrap_or_default();
        let Some((program, args)) = words.split_first().filter(|(p, _)| *p != "cat") else {
            return Ok(None);
        };
        let mut process = Command::new(program);
        process.args(args).stdin(Stdio::piped());
        without_secrets(&mut process);
        // The defaults of git and gh. For `less`: quit if the text fits, pass colours, keep the
        // text on the screen.
        let env = Env::process();
        for (var, value) in [(Var::Less, "FRX"), (Var::Lv, "-c")] {
            if env.raw(var).is_none() {
                process.env(var.name(), value);
            }
        }
        match process.spawn() {
            Ok(child) => Ok(Some(Self {
                child,
                closed: false,
            })),
            Err(e) => Err(Error::new(
                Kind::Config,
                format!("the pager '{program}' could not be started: {e}"),
            )
            .with_hint("set FORGE_PAGER to a program that exists, or to 'cat' for none")
            .with_source(e)),
        }
    }

    /// Writes to the pager. Returns `false` once the user has closed the pager, which is not a
    /// failure.
    ///
    /// # Errors
    ///
    /// Fails if the pipe fails although the user has not closed the pager.
    pub fn write(&mut self, bytes: &[u8]) -> Result<bool> {
        if self.closed {
            return Ok(false);
        }
        let Some(pipe) = self.child.stdin.as_mut() else {
            return Ok(false);
        };
        match pipe.write_all(bytes) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(false)
            }
            Err(e) => Err(io_error(e)),
        }
    }

    /// Waits until the user closes the pager.
    ///
    /// # Errors
    ///
    /// Fails if waiting fails.
    pub fn finish(mut self) -> Result<()> {
        drop(self.child.stdin.take());
        self.child.wait().map_err(io_error)?;
        Ok(())
    }
}
