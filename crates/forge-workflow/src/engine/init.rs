//! Creates the fields, options and labels that a store needs.

use forge_core::Result;
use serde::Serialize;

use super::Workflow;
use crate::store::{SetupItem, define, missing};

/// Result of the setup.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct InitReport {
    /// The created items; in a dry run, the missing items.
    pub made: Vec<SetupItem>,
    /// The items that could not be created, with errors.
    pub failed: Vec<(SetupItem, String)>,
    /// True for a dry run, which writes nothing.
    pub dry_run: bool,
}

impl Workflow {
    /// Creates the missing fields, options and labels. A second call creates nothing.
    ///
    /// # Errors
    ///
    /// Fails if the existing items cannot be read, or if nothing could be created.
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
