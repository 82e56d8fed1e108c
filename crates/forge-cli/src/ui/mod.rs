//! Output and prompts. Commands write through this module, and only it knows whether the output is
//! a terminal or a pipe.
//!
//! Commands do not handle colour, width or a pager: they pass text, and the [`Ui`] adapts it to the
//! stream. The caller must sanitise text of a forge with `forge_core::text` first.

mod action;
pub mod browser;
pub mod color;
pub mod diff;
pub mod editor;
pub mod html;
pub mod jq;
pub mod json;
pub mod markdown;
mod menu;
pub mod pager;
pub mod progress;
pub mod prompt;
pub mod save;
pub mod table;
pub mod template;
mod term;
pub mod time;
pub mod value;
pub mod words;

use std::{
    fmt,
    io::{self, BufWriter, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use forge::Config;
use forge_core::{
    Action, Call, Error, ErrorKind, Hint, IndexLimit, Ingestion, Outcome, Result, Timestamp,
    Warning, text,
};

use self::{color::Palette, pager::Pager, progress::WriteLog, term::TerminalStreams};
use crate::args::{ColorWhen, CommandNames};

/// The output streams, and what each can display. Cheap to clone.
#[derive(Clone)]
pub struct Ui {
    term: TerminalStreams,
    out: Arc<Mutex<BufWriter<io::Stdout>>>,
    writes: WriteLog,
    /// Warnings about the index that were printed.
    index_warnings: Arc<Mutex<Vec<Warning>>>,
    now: Timestamp,
    pager: Option<String>,
    named: Arc<CommandNames>,
}

impl fmt::Debug for Ui {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ui")
            .field("term", &self.term)
            .finish_non_exhaustive()
    }
}

/// Converts an I/O failure. The source keeps the kind of the failure, such as a broken pipe.
#[must_use]
pub fn io_error(e: io::Error) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("reading or writing failed: {e}"),
    )
    .with_source(e)
}

/// The error-context key that marks a failure to print a result.
const UNPRINTED: &str = "unprinted";

/// Marks a failure to print a result, so that the command's error also names the completed writes.
fn unprinted(e: Error) -> Error {
    e.with_context(UNPRINTED, "stdout")
}

fn stdout_error(e: io::Error) -> Error {
    let message = format!("standard output cannot be written: {e}");
    let e = Error::new(ErrorKind::Internal, message).with_source(e);
    unprinted(e.with_hint("redirect the output to a file or pipe that can be written"))
}

/// Neutralises a message, and indents its further lines, because a name in the message can contain
/// a line break and text that looks like a line of `forge`.
fn indented(message: &str) -> String {
    let neutral = text::neutralise(message);
    let mut lines = neutral.lines();
    let mut out = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        out.push_str(if line.starts_with("  ") { "\n" } else { "\n  " });
        out.push_str(line);
    }
    out
}

impl Ui {
    /// Creates the output of the process from its streams, environment and arguments.
    #[must_use]
    pub fn from_env(color: ColorWhen, named: CommandNames) -> Self {
        Self {
            term: TerminalStreams::from_env(color),
            out: Arc::new(Mutex::new(BufWriter::with_capacity(
                64 * 1024,
                io::stdout(),
            ))),
            writes: WriteLog::default(),
            index_warnings: Arc::default(),
            now: time::now(),
            pager: None,
            named: Arc::new(named),
        }
    }

    /// Returns the names on the command line.
    #[must_use]
    pub fn named(&self) -> &CommandNames {
        &self.named
    }

    /// Applies the output settings of the configuration.
    pub fn configure(&mut self, config: &Config) {
        self.term.configure(config);
        self.pager = config.pager();
    }

    /// Starts the pager, if stdout is a terminal and a pager is configured.
    ///
    /// # Errors
    /// The errors of [`Pager::start`].
    pub fn start_pager(&self) -> Result<Option<Pager>> {
        match &self.pager {
            Some(command) if self.term.out_tty => {
                self.flush()?;
                Pager::start(command)
            }
            _ => Ok(None),
        }
    }

    /// Returns true if stdout is a terminal, or must be treated as one (`FORGE_FORCE_TTY`,
    /// `GH_FORCE_TTY`).
    #[must_use]
    pub fn is_tty(&self) -> bool {
        self.term.out_tty
    }

    /// Returns true if stderr is a terminal.
    #[must_use]
    pub fn err_is_tty(&self) -> bool {
        self.term.err_tty
    }

    /// Returns true if a user can answer questions.
    #[must_use]
    pub fn can_prompt(&self) -> bool {
        self.term.can_prompt
    }

    /// Returns the width of the terminal in columns.
    #[must_use]
    pub fn width(&self) -> usize {
        self.term.width
    }

    /// Returns the width limit of a table; outside of a terminal the width is unlimited.
    #[must_use]
    pub fn table_width(&self) -> usize {
        match self.is_tty() {
            true => self.width(),
            false => usize::MAX,
        }
    }

    /// Returns the colours for stdout.
    #[must_use]
    pub fn palette(&self) -> Palette {
        Palette {
            on: self.term.color_out,
        }
    }

    /// Returns the colours for stderr.
    #[must_use]
    pub fn err_palette(&self) -> Palette {
        Palette {
            on: self.term.color_err,
        }
    }

    /// Returns the time that relative times refer to.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns a relative time such as `2 hours ago`.
    #[must_use]
    pub fn ago(&self, at: Timestamp) -> String {
        time::ago(self.now, at)
    }

    /// Writes bytes to stdout unchanged.
    ///
    /// # Errors
    ///
    /// Fails if stdout cannot be written.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        self.out
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .write_all(bytes)
            .map_err(stdout_error)
    }

    /// Writes a line to stdout.
    ///
    /// # Errors
    ///
    /// Fails if stdout cannot be written.
    pub fn line(&self, line: &str) -> Result<()> {
        self.write(line.as_bytes())?;
        self.write(b"\n")
    }

    /// Writes an untrusted URL of the forge to stdout as a line.
    ///
    /// # Errors
    ///
    /// Fails if stdout cannot be written.
    pub fn url(&self, url: &str) -> Result<()> {
        self.line(&text::one_line(url))
    }

    /// Flushes buffered output.
    ///
    /// # Errors
    ///
    /// Fails if stdout cannot be written.
    pub fn flush(&self) -> Result<()> {
        self.out
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .flush()
            .map_err(stdout_error)
    }

    /// Prints a text on stdout, through the pager if the text is longer than the terminal.
    ///
    /// # Errors
    ///
    /// Fails if neither the pager nor stdout accepts the text.
    pub fn page(&self, shown: &str) -> Result<()> {
        let rows = self.term.height.saturating_sub(1);
        if self.term.out_tty && shown.lines().count() > rows && self.page_with_pager(shown)? {
            return Ok(());
        }
        self.write(shown.as_bytes())
    }

    fn page_with_pager(&self, shown: &str) -> Result<bool> {
        let Some(mut pager) = self.start_pager()? else {
            return Ok(false);
        };
        // A closed pager is ignored, because a user may leave it early.
        pager.write(shown.as_bytes())?;
        pager.finish()?;
        Ok(true)
    }

    /// Writes a line to stderr. A failure is ignored, because no other stream could report it.
    pub fn note(&self, line: &str) {
        let _ = self.flush();
        let _ = writeln!(io::stderr().lock(), "{line}");
    }

    /// Prints `✓ …` on stderr.
    pub fn success(&self, line: &str) {
        self.note(&format!(
            "{} {}",
            self.err_palette().green("✓"),
            text::one_line(line)
        ));
    }

    /// Prints `! …` on stderr.
    pub fn caution(&self, line: &str) {
        self.note(&format!(
            "{} {}",
            self.err_palette().yellow("!"),
            text::one_line(line)
        ));
    }

    /// Like [`Self::outcome`], for a write that changed nothing: `line` replaces the first warning.
    /// Prints whether the forge's index shows the record, because the index may lag behind even if
    /// this command changed nothing.
    ///
    /// # Errors
    /// The errors of [`Self::outcome`].
    pub fn report_unchanged<T>(&self, mut outcome: Outcome<T>, line: &str) -> Result<T> {
        self.caution(line);
        outcome.warnings = outcome.warnings.into_iter().skip(1).collect();
        self.outcome(outcome)
    }

    /// Prints a warning with its recovery on stderr.
    pub fn warning(&self, warning: &Warning) {
        let label = self.err_palette().yellow("warning:");
        self.note(&format!("{label} {}", indented(&warning.message)));
        if let Some(hint) = &warning.hint {
            self.recovery(hint);
        }
    }

    fn printed_index_warnings(&self) -> MutexGuard<'_, Vec<Warning>> {
        let warnings = &self.index_warnings;
        warnings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints, before a write, that an index may not show its records. Each collection is named
    /// once.
    pub fn warn_of_index_limit(&self, limit: &IndexLimit) {
        let warning = limit.warning();
        let mut printed = self.printed_index_warnings();
        if !printed.iter().any(|it| it.message == warning.message) {
            self.warning(&warning);
            printed.push(warning);
        }
    }

    /// Prints an error with its recovery on stderr.
    pub fn error(&self, e: &Error) {
        let label = self.err_palette().red("error:");
        self.note(&format!("{label} {}", indented(e.message())));
        if let Some(hint) = e.hint() {
            self.recovery(hint);
        }
        // Only the forge's support can explain these errors, and asks for the id.
        let is_unexplained = e.hint().is_none() || matches!(e.kind(), ErrorKind::Upstream { .. });
        let mut context = e.context().iter();
        if let Some((_, id)) = context.find(|(key, _)| is_unexplained && *key == "request_id") {
            self.note(&format!("Request id: {id}"));
        }
    }

    /// Prints `Recovery: …` on stderr.
    fn recovery(&self, hint: &Hint) {
        self.note(&format!("Recovery: {}", self.advice(hint)));
    }

    /// Returns the hint with its command.
    #[must_use]
    pub fn advice(&self, hint: &Hint) -> String {
        indented(&action::advice(hint, &self.named))
    }

    /// Returns the log of this command's writes, in which [`progress::Progress`] records them.
    #[must_use]
    pub fn writes(&self) -> WriteLog {
        Arc::clone(&self.writes)
    }

    /// If `e` is a failure to print a result, returns a description of the command's writes and of
    /// the part of the result that was not printed.
    #[must_use]
    pub fn unseen_writes(&self, e: &Error) -> Option<String> {
        let writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        let is_unprinted = e.context().iter().any(|(key, _)| *key == UNPRINTED);
        if writes.is_empty() || !is_unprinted {
            return None;
        }
        let out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = String::from_utf8_lossy(out.buffer()).trim().to_owned();
        let result = match rest.is_empty() {
            true => String::new(),
            false => format!(": {rest}"),
        };
        Some(format!("{} is done{result}", writes.join(", ")))
    }

    fn suggest_ingestion_check(&self, uri: &str) {
        let look = Action::new(Call::Ingestion).on(uri);
        self.recovery(&Hint::new("look again").with_action(look));
    }

    /// Like [`Self::outcome`], for a deletion. An index may still show the deleted item for a
    /// while.
    ///
    /// # Errors
    /// The errors of [`Self::outcome`].
    pub fn removed(&self, mut outcome: Outcome<()>) -> Result<()> {
        if let Ingestion::PdsOnly { instead } = &outcome.ingestion {
            let line = "pds_only: the record is deleted, but the index does not ingest this kind \
                        of record";
            let told = Warning::new(line).with_hint(instead);
            outcome.ingestion = Ingestion::Immediate;
            return self.outcome(outcome.with_warning(told));
        }
        let (pending, line) = match &outcome.ingestion {
            Ingestion::Confirmed { by, after } => {
                let by = text::one_line(by);
                let after = after.as_secs_f32();
                let line =
                    format!("confirmed: {by} no longer shows the record, after {after:.1} s");
                (false, line)
            }
            Ingestion::Pending { waited, .. } if waited.is_zero() => {
                let line = "pending: the record is deleted; the command did not wait for the index";
                (true, line.to_owned())
            }
            Ingestion::Pending { waited, .. } => {
                let waited = waited.as_secs_f32();
                let line = format!(
                    "pending: the record is deleted, and may still be shown, after \
                     {waited:.1} s"
                );
                (true, line)
            }
            _ => return self.outcome(outcome),
        };
        outcome.ingestion = Ingestion::Immediate;
        self.outcome(outcome)?;
        match pending {
            true => self.caution(&line),
            false => self.note(&line),
        }
        Ok(())
    }

    /// Returns the value of an outcome. Prints its warnings on stderr, and whether the forge's
    /// index (on tangled: the appview) shows the written record.
    ///
    /// # Errors
    ///
    /// Fails if the record is stored but will have no effect ([`Ingestion::Ineffective`]).
    pub fn outcome<T>(&self, outcome: Outcome<T>) -> Result<T> {
        for warning in &outcome.warnings {
            self.warning(warning);
        }
        // The names of undone steps are printed only if no warning explains them.
        if outcome.warnings.is_empty() {
            for step in outcome.steps.iter().filter(|s| !s.done) {
                self.caution(&format!("not done: {}", step.name));
            }
        }
        if let Some(done) = outcome.extra_steps() {
            self.note(&format!("additionally done: {done}"));
        }
        match &outcome.ingestion {
            Ingestion::Immediate => {}
            Ingestion::Confirmed { by, after } => self.note(&format!(
                "confirmed: {} shows the record, after {:.1} s",
                text::one_line(by),
                after.as_secs_f32()
            )),
            // The warning printed above contains the recovery.
            Ingestion::Pending { uri: None, .. } => self.caution(
                "pending: it is unknown whether a record was written, so no index can be checked",
            ),
            Ingestion::Pending {
                uri: Some(uri),
                waited,
                doubt,
            } => {
                let wait = match waited.is_zero() {
                    true => "the command did not wait for the index".to_owned(),
                    false => {
                        let waited = waited.as_secs_f32();
                        format!("nothing shows it yet, after {waited:.1} s")
                    }
                };
                self.caution(&format!("pending: written as {uri}; {wait}"));
                if let Some(doubt) = doubt {
                    self.caution(&format!("doubt: {doubt}"));
                }
                self.suggest_ingestion_check(uri);
            }
            Ingestion::PdsOnly { instead } => {
                let verdict = Warning::new(
                    "pds_only: the PDS has the record, but the index does not ingest this kind of \
                     record",
                );
                let hint = Some(Hint::from(instead.as_str()));
                let printed = self.printed_index_warnings();
                let is_printed = printed.iter().any(|it| it.hint == hint);
                self.warning(&if is_printed {
                    verdict
                } else {
                    verdict.with_hint(instead)
                });
            }
            Ingestion::Ineffective { uri, reason } => {
                let look = Action::new(Call::Ingestion).on(uri);
                return Err(Error::new(
                    ErrorKind::Protocol,
                    format!("{uri} is stored, but the index ignores it: {reason}"),
                )
                .with_hint(Hint::new("see the details, and how to recover").with_action(look)));
            }
        }
        Ok(outcome.value)
    }
}
