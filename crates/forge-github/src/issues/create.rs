//! Opening an issue: one query that checks everything, one mutation.

use forge_core::{
    Error, Outcome, PageReq, Precondition, RepoId, Result,
    model::{Issue, IssueFilter, IssueQuery, NewIssue},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    GitHub,
    api::Answer,
    caps::LIMITS,
    error::no_repository,
    gql::{
        Document,
        lookups::{Found, Lookups},
        mutation::CREATE_ISSUE,
        types::{self as wire, Nodes},
    },
    map,
    mutate::or_read_back,
    pulls::same_text,
    repo_variables,
};

/// Among so many of the newest an issue is looked for when the answer was lost.
const RECENT: usize = 20;

#[derive(Deserialize)]
struct Prepared {
    viewer: Option<wire::Login>,
    repository: Option<PreparedRepo>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PreparedRepo {
    id: String,
    #[serde(default)]
    is_archived: bool,
    #[serde(default)]
    has_issues_enabled: Option<bool>,
    #[serde(default)]
    newest: Nodes<wire::Issue>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// The payload of a mutation that makes or changes an issue: it is under one of two names.
#[derive(Deserialize)]
pub(super) struct Payload {
    pub issue: Option<wire::Issue>,
    pub labelable: Option<wire::Issue>,
}

impl GitHub {
    pub(super) async fn open_issue(&self, repo: &RepoId, new: &NewIssue) -> Result<Outcome<Issue>> {
        LIMITS.check_title(&new.title)?;
        LIMITS.check_text("body", &new.body)?;
        LIMITS.check_label_count(new.labels.len())?;
        let mut lookups = Lookups::default();
        lookups.labels(&new.labels);
        lookups.assignees(&new.assignees);
        let (prepared, found) = self.prepare(repo, &lookups).await?;
        let refused = |why: &str| Error::precondition(Precondition::Rule, format!("{repo} {why}"));
        if found.is_archived {
            return Err(refused("is archived").with_hint("ask an admin to unarchive it"));
        }
        if found.has_issues_enabled == Some(false) {
            return Err(refused("has disabled issues")
                .with_hint("ask an admin to enable them in the settings of the repository"));
        }
        let ids = lookups.resolve(&prepared.rest, &found.rest)?;
        let input = json!({
            "repositoryId": found.id,
            "title": new.title.trim(),
            "body": new.body,
            "labelIds": ids.label_ids(&new.labels),
            "assigneeIds": ids.user_ids(&new.assignees),
        });
        let written = self.send_one::<Payload>(CREATE_ISSUE, input).await;
        let written = written.and_then(|p| {
            let issue = p.issue.unwrap_or_default();
            map::issue(&self.info.host, repo, issue)
        });
        let newest = found
            .newest
            .into_vec()
            .pop()
            .map_or(0, |issue| issue.number);
        let viewer = prepared.viewer.map(|v| v.login).unwrap_or_default();
        let (issue, warning) = or_read_back(written, || async {
            let query = IssueQuery {
                state: IssueFilter::All,
                ..IssueQuery::default()
            };
            let page = self
                .list_issues(repo, &query, PageReq::first(RECENT))
                .await?;
            Ok(page.items.into_iter().find(|issue| {
                issue.number.is_some_and(|n| n > newest)
                    && issue.author.login.eq_ignore_ascii_case(&viewer)
                    && issue.title == new.title.trim()
                    && same_text(&issue.body, &new.body)
            }))
        })
        .await?;
        let mut outcome = Outcome::immediate(issue);
        outcome.warnings.extend(warning);
        Ok(outcome)
    }

    /// The node ids of labels of a repository.
    ///
    /// # Errors
    /// `invalid_input` for the first that does not exist.
    pub(super) async fn label_ids(&self, repo: &RepoId, names: &[String]) -> Result<Found> {
        let mut lookups = Lookups::default();
        lookups.labels(names);
        let (prepared, found) = self.prepare(repo, &lookups).await?;
        lookups.resolve(&prepared.rest, &found.rest)
    }

    /// What has to be known of a repository before an issue of it is written.
    async fn prepare(&self, repo: &RepoId, lookups: &Lookups) -> Result<(Prepared, PreparedRepo)> {
        let mut document = Document::query("IssuePrepare");
        let mut variables = repo_variables(repo)?;
        lookups.add_to(&mut document, &mut variables);
        let mut answer: Answer<Prepared> =
            self.api.query(&document.text(), &variables.into()).await?;
        answer.errors.retain(|e| !lookups.expects(e));
        let mut prepared = self.api.whole(answer)?;
        let found = prepared.repository.take();
        let found = found.ok_or_else(|| no_repository(repo))?;
        Ok((prepared, found))
    }
}
