//! What concerns the viewer: three lists in one request.

use forge_core::{
    PageReq, RepoId, Result,
    model::{HeadRef, PrFields, PrState, PullQuery, PullRequest, PullStatus},
};
use serde::Deserialize;
use serde_json::json;

use super::{find::is_head, list};
use crate::{
    GitHub,
    api::Answer,
    gql::{
        Document, fields,
        types::{self as wire, Nodes},
    },
    owner_and_name, repo_variables,
};

const AUTHOR: &str = "author";
const REVIEWER: &str = "review-requested";
/// A search gives no more.
const MOST: usize = 1000;

#[derive(Deserialize)]
struct StatusOf {
    repository: Option<list::PullsOf>,
    #[serde(default)]
    created: Option<Nodes<wire::Pull>>,
    #[serde(default)]
    requested: Option<Nodes<wire::Pull>>,
}

impl GitHub {
    pub(super) async fn pull_status(
        &self,
        repo: &RepoId,
        head: Option<&HeadRef>,
        fields: PrFields,
    ) -> Result<PullStatus> {
        let (owner, name) = owner_and_name(repo)?;
        let mut document = Document::query("PullStatus");
        document.fragment("PullSections", "PullRequest", &list::row(fields));
        let mut variables = repo_variables(repo)?;
        // GitHub counts what all pages could hold, and refuses a query of half a million nodes.
        let (first, of_branch) = match fields::is_deep(fields) {
            true => (10, 10),
            false => (100, 30),
        };
        variables.insert("first".into(), json!(first));
        variables.insert("firstOfBranch".into(), json!(of_branch));
        let search =
            |of: &str| format!("repo:{owner}/{name} is:pr state:open {of}:@me sort:created-desc");
        variables.insert("head".into(), json!(head.map(|h| &h.branch)));
        variables.insert("branch".into(), json!(head.is_some()));
        variables.insert("created".into(), json!(search(AUTHOR)));
        variables.insert("requested".into(), json!(search(REVIEWER)));
        let answer: Answer<StatusOf> = self.api.query(&document.text(), &variables.into()).await?;
        let found = self.api.whole(answer)?;
        let branch = found.repository.and_then(|r| r.pull_requests);
        let mut current = match head {
            Some(head) => {
                let mut own = self.rows(repo, branch, fields).await?;
                own.retain(|p| is_head(repo, p, head));
                own
            }
            None => vec![],
        };
        current.sort_by_key(|p| p.state != PrState::Open);
        let open = |mut list: Vec<PullRequest>| {
            list.retain(|p| p.state == PrState::Open);
            list
        };
        Ok(PullStatus {
            current_branch: current.into_iter().next(),
            created_by: open(self.all(repo, found.created, AUTHOR, fields).await?),
            needs_review: open(self.all(repo, found.requested, REVIEWER, fields).await?),
        })
    }

    /// The pull requests of a search; it is made again, by page, when there are more.
    async fn all(
        &self,
        repo: &RepoId,
        nodes: Option<Nodes<wire::Pull>>,
        of: &str,
        fields: PrFields,
    ) -> Result<Vec<PullRequest>> {
        if nodes.as_ref().and_then(Nodes::next).is_none() {
            return self.rows(repo, nodes, fields).await;
        }
        let query = PullQuery {
            search: Some(format!("{of}:@me")),
            fields,
            ..PullQuery::default()
        };
        let all = self.list_pulls(repo, &query, PageReq::first(MOST)).await?;
        Ok(all.items)
    }

    async fn rows(
        &self,
        repo: &RepoId,
        nodes: Option<Nodes<wire::Pull>>,
        fields: PrFields,
    ) -> Result<Vec<PullRequest>> {
        let mut rows = Vec::new();
        for mut pull in nodes.unwrap_or_default().into_vec() {
            if pull.number > 0 {
                let warnings = self.complete(&mut pull).await;
                rows.push(self.domain(repo, pull, fields, warnings)?);
            }
        }
        Ok(rows)
    }
}
