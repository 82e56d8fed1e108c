//! Reruns failed jobs of GitHub Actions.

use std::collections::BTreeMap;

use forge_core::{
    Action, Error, Hint, Op, Outcome, PrId, Precondition, Result, Warning,
    model::{Check, CheckStatus},
    text::one_line,
};
use http::Method;

use crate::{GitHub, api::JSON, error, pulls::repo_route};

impl GitHub {
    /// Reruns failed jobs and their dependents, with one request for each workflow run
    /// (docs.github.com, REST, "Re-run failed jobs from a workflow run").
    pub(crate) async fn rerun_failed(&self, pr: &PrId) -> Result<Outcome<Vec<Check>>> {
        let mut runs: BTreeMap<u64, Vec<Check>> = BTreeMap::new();
        let mut others = Vec::new();
        let (page, report) = self.page_and_checks(pr).await?;
        for check in report.checks {
            if matches!(check.status, CheckStatus::Failure | CheckStatus::Cancelled) {
                match run_of(&check, &page) {
                    Some(run) => runs.entry(run).or_default().push(check),
                    None => others.push(one_line(&check.name).into_owned()),
                }
            }
        }
        let others = others.join(", ");
        if runs.is_empty() && others.is_empty() {
            let warning = Warning::new(format!("no check of {pr} has failed"));
            return Ok(Outcome::unchanged(Vec::new(), warning));
        }
        if runs.is_empty() {
            return Err(Error::precondition(
                Precondition::Rule,
                format!("the failed checks of {pr} are not run by GitHub Actions: {others}"),
            )
            .with_hint(
                Hint::new("run them again on their own pages")
                    .with_action(Action::op(Op::Checks).on(&pr.key)),
            ));
        }
        let mut outcome = Outcome::immediate(Vec::new());
        let mut failure = None;
        for (run, checks) in runs {
            match self.rerun(pr, run).await {
                Ok(()) => outcome.value.extend(checks),
                Err(e) => {
                    let message = format!("run {run} was not started again: {}", e.message());
                    outcome.warnings.push(Warning::new(message));
                    failure.get_or_insert(e);
                }
            }
        }
        if let Some(e) = failure.filter(|_| outcome.value.is_empty()) {
            return Err(e);
        }
        if !others.is_empty() {
            let message = format!("not run by GitHub Actions, and not run again: {others}");
            outcome.warnings.push(Warning::new(message));
        }
        Ok(outcome)
    }

    async fn rerun(&self, pr: &PrId, run: u64) -> Result<()> {
        let route = repo_route(&pr.repo)?;
        let path = format!("{route}/actions/runs/{run}/rerun-failed-jobs");
        let (status, headers, bytes) = self.api.rest(Method::POST, &path, JSON, None).await?;
        if status.is_success() {
            return Ok(());
        }
        Err(error::from_http(
            self.api.error_context(true),
            status,
            &headers,
            &bytes,
        ))
    }
}

/// Returns the workflow run of a check, if the check links to the repository of `pull_page`.
fn run_of(check: &Check, pull_page: &str) -> Option<u64> {
    let (repo, run) = linked_run(check)?;
    let (_, pull_page) = pull_page.split_once("://")?;
    let (own, _) = pull_page.rsplit_once("/pull/")?;
    repo.eq_ignore_ascii_case(own).then_some(run)
}

/// Returns the repository and number of the workflow run that a GitHub Actions check links to.
///
/// The creator of a check chooses the link, so it may lead to any run. A link is ignored if its run
/// is not the run that GitHub reports for the check.
pub(crate) fn linked_run(check: &Check) -> Option<(&str, u64)> {
    check.workflow.as_ref()?;
    let link = check.url.as_deref()?;
    let named = check.run_url.as_deref().map(run_in);
    let Some(linked) = run_in(link) else {
        // Links of 2020 name only the check, so the run is the one that GitHub reports.
        return named
            .flatten()
            .filter(|(repo, _)| is_check_page(link, repo));
    };
    let is_named = |named: Option<(&str, u64)>| named.is_some_and(|(_, run)| run == linked.1);
    named.is_none_or(is_named).then_some(linked)
}

/// Returns true for the page of a check in `repo`, as GitHub Actions linked it in 2020:
/// `https://<host>/<owner>/<repo>/runs/<check>`.
fn is_check_page(link: &str, repo: &str) -> bool {
    let page = link.split_once("://").map(|(_, page)| page);
    let check = page.and_then(|page| page.strip_prefix(repo)?.strip_prefix("/runs/"));
    let check = check.and_then(|check| check.split(['?', '#']).next());
    check.is_some_and(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns the repository and number of a workflow run, from the URL of the run or of a job:
/// `https://<host>/<owner>/<repo>/actions/runs/<run>/job/<job>`.
fn run_in(link: &str) -> Option<(&str, u64)> {
    let (_, link) = link.split_once("://")?;
    let (repo, rest) = link.split_once("/actions/runs/")?;
    let run = rest.split(['/', '?', '#']).next()?;
    let is_number = run.bytes().all(|b| b.is_ascii_digit());
    let run = run.parse::<u64>().ok().filter(|_| is_number)?;
    Some((repo, run))
}

#[cfg(test)]
mod tests {
    use forge_core::model::CheckStatus;

    use super::*;

    #[test]
    fn check_link_of_2020_leads_to_the_reported_run() {
        let run = "https://github.com/o/r/actions/runs/12";
        let linked = |link: &str, run_url: Option<&str>| {
            let mut check = Check::new("build", CheckStatus::Failure);
            check.workflow = Some("CI".to_owned());
            check.url = Some(link.to_owned());
            check.run_url = run_url.map(str::to_owned);
            linked_run(&check).map(|(repo, run)| (repo.to_owned(), run))
        };
        let found = Some(("github.com/o/r".to_owned(), 12));
        for link in [
            "https://github.com/o/r/runs/345",
            "https://github.com/o/r/runs/345?check_suite_focus=true",
            "https://github.com/o/r/actions/runs/12/job/345",
        ] {
            assert_eq!(linked(link, Some(run)), found, "{link}");
        }
        assert_eq!(linked("https://github.com/o/r/runs/345", None), None);
        for other in [
            "https://github.com/o/other/runs/345",
            "https://ci.example/o/r/runs/345",
            "https://github.com/o/r/runs/",
            "https://github.com/o/r/runs/x",
            "https://github.com/o/r/actions/runs/13/job/345",
        ] {
            assert_eq!(linked(other, Some(run)), None, "{other}");
        }
    }
}
