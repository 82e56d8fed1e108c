//! Checks: unsupported, because a plain git repository has no checks.

use async_trait::async_trait;
use forge_core::{
    Capability, Checks, Outcome, PrId, Result,
    model::{Check, CheckLog, ChecksReport},
};

use crate::Local;

#[async_trait]
impl Checks for Local {
    async fn checks(&self, pr: &PrId) -> Result<ChecksReport> {
        let number = self.number(pr)?;
        self.store.read(&mut self.store.cat(), number).await?;
        Err(Self::unsupported(Capability::Checks))
    }

    async fn check_reasons(&self, _: &PrId, _: &[&Check]) -> Result<Vec<Option<String>>> {
        Err(Self::unsupported(Capability::Checks))
    }

    async fn check_log(&self, _: &PrId, _: &Check, _: usize) -> Result<Option<CheckLog>> {
        Err(Self::unsupported(Capability::CheckLogs))
    }

    async fn rerun_failed_checks(&self, _: &PrId) -> Result<Outcome<Vec<Check>>> {
        Err(Self::unsupported(Capability::ChecksRerun))
    }
}
