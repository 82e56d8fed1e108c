//! What a store needs of a repository: fields, options, labels.

use forge_core::Result;
use serde::Serialize;

use super::Workflow;
use crate::store::{Setup, define, missing};

/// What was made, or would be.
#[derive(Clone, Debug, Default, Serialize)]
pub struct InitReport {
    /// What was made; with a dry run what would be.
    pub made: Vec<Setup>,
    /// What could not be made, and why.
    pub failed: Vec<(Setup, String)>,
    /// Whether nothing was written.
    pub dry_run: bool,
}

impl Workflow {
    /// Makes the fields, options and labels that the repository lacks. A second call makes nothing.
    ///
    /// # Errors
    /// When what is there cannot be read, or nothing could be made.
    pub async fn init(&self, dry_run: bool) -> Result<InitReport> {
        let missing = missing(self.store.as_ref(), &self.repo, &self.definition).await?;
        let mut report = InitReport {
            dry_run,
            ..InitReport::default()
        };
        if dry_run {
            report.made = missing;
            return Ok(report);
        }
        for setup in missing {
            match define(self.store.as_ref(), &self.repo, &setup).await {
                Ok(()) => report.made.push(setup),
                Err(e) if report.made.is_empty() && report.failed.is_empty() => return Err(e),
                Err(e) => report.failed.push((setup, e.message().to_owned())),
            }
        }
        Ok(report)
    }
}
