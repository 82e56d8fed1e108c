use std::{fmt::Write as _, path::PathBuf, time::Duration};

use forge_core::Timestamp;
use forge_testkit::Run;

/// The text of `docs/reference/benchmarks.md` that is written so far.
pub struct Page {
    text: String,
    broken: Vec<String>,
}

impl Page {
    pub fn new(gits: &[PathBuf], gh: &str) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let gits: Vec<_> = gits.iter().map(version).collect();
        let mut text =
            String::from("# Benchmarks\n\nWritten by `cargo xtask bench`; do not edit.\n\n");
        let _ = writeln!(
            text,
            "Measured on {}: {} on {}, {cores} cores, release build, git {}, gh {gh}. Times are medians and \
             depend on the machine; the ratios and the limits are what counts. Memory is the peak \
             of resident memory.",
            Timestamp::now().date(),
            std::env::consts::ARCH,
            std::env::consts::OS,
            gits.join(" and ")
        );
        Self {
            text,
            broken: Vec::new(),
        }
    }

    /// Starts a table: writes a heading, a paragraph, and the table's header.
    pub fn table(&mut self, heading: &str, about: &str, columns: &[&str]) {
        let _ = write!(
            self.text,
            "\n## {heading}\n\n{about}\n\n| {} |\n",
            columns.join(" | ")
        );
        let _ = writeln!(self.text, "|{}", "---|".repeat(columns.len()));
    }

    /// Adds a row to the last table.
    pub fn row(&mut self, cells: &[String]) {
        let _ = writeln!(self.text, "| {} |", cells.join(" | "));
    }

    /// Returns a table cell with a measured value and its limit. If the limit does not hold, the
    /// page fails.
    pub fn limit(&mut self, what: &str, measured: &str, limit: &str, holds: bool) -> String {
        if !holds {
            self.broken
                .push(format!("{what}: {measured}, and {limit} is the limit"));
        }
        format!(
            "{measured} ({}: {limit})",
            if holds { "holds" } else { "**broken**" }
        )
    }

    /// Returns the page's text, and true if all limits hold.
    pub fn finish(mut self) -> (String, bool) {
        if !self.broken.is_empty() {
            self.text.push_str("\n## Limits that are broken\n\n");
            for line in &self.broken {
                let _ = writeln!(self.text, "- {line}");
            }
        }
        (self.text, self.broken.is_empty())
    }
}

/// Returns git's version, such as `2.39.5`.
pub fn version(git: &PathBuf) -> String {
    let said = Run::new(git, std::env::temp_dir()).arg("version").text();
    said.split_whitespace().nth(2).unwrap_or("?").to_owned()
}

pub fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

pub fn mb(kib: u64) -> String {
    #[allow(clippy::cast_precision_loss, reason = "for people")]
    let mb = kib as f64 / 1024.0;
    format!("{mb:.1} MB")
}

/// Returns `a` divided by `b`.
#[allow(clippy::cast_precision_loss, reason = "for people")]
pub fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b.max(1) as f64
}

pub fn time_ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64().max(f64::MIN_POSITIVE)
}
