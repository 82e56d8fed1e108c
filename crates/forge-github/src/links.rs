//! Lists the links of a pull request or an issue. One request reads its texts and links. Another
//! request looks up the issue and pull request numbers in the texts.
//!
//! GitHub stores closing references and incoming mentions (`CrossReferencedEvent`). The API has no
//! outgoing mentions, so texts such as the description and the comments are parsed for numbers.

use std::fmt::Write;

use forge_core::{
    Error, PrKey, RepoId, Result, Warning,
    locator::Hosts,
    mentions::mentions_within_limit,
    model::{Link, LinkState, Links, Subject, SubjectKind},
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    GitHub,
    api::TokenChoice,
    error,
    gql::{
        GqlDocument,
        types::{LinkEnd, LinkSubject, Nodes, PullCommit},
    },
    issues, map,
    paged::MAX_PAGE_SIZE,
    pr_variables, repo_variables,
};

/// Maximum number of mentioned issues and pull requests that are looked up.
const MAX_NUMBERS: usize = 50;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LinksData {
    #[serde(default)]
    default_branch_ref: Option<DefaultBranchRef>,
    subject: Option<LinkSubject>,
}

#[derive(Deserialize)]
struct DefaultBranchRef {
    name: String,
}

#[derive(Deserialize)]
struct RepositoryLinksOf<T> {
    repository: Option<T>,
}

impl GitHub {
    /// See [`forge_core::Issues::links`].
    pub(crate) async fn links_of(&self, subject: &Subject) -> Result<Links> {
        let (document, variables) = match subject {
            Subject::Pull(id) => (GqlDocument::query("PullLinks"), pr_variables(id)?),
            Subject::Issue(id) => (GqlDocument::query("IssueLinks"), issues::variables(id)?),
        };
        let mut size = MAX_PAGE_SIZE;
        let mut answer = self
            .api
            .query_in_pages::<RepositoryLinksOf<LinksData>>(
                TokenChoice::Account,
                &document.text(),
                &variables.into(),
                &mut size,
            )
            .await?;
        let found = answer.data.take().and_then(|d| d.repository);
        let Some((found, default)) = found.and_then(|f| Some((f.subject?, f.default_branch_ref)))
        else {
            return Err(match answer.errors.is_empty() {
                true => missing_subject_error(subject),
                false => self.api.first_error(&answer),
            });
        };
        let mut links = Links::default();
        links.warnings = self
            .api
            .warnings(&answer, |_| ("a part of the links".to_owned(), None));
        let repo = subject.repo();
        let default = default.map(|branch| branch.name);
        if found.state == "OPEN" {
            let heads = found.base_ref.map(|base| base.associated_pull_requests);
            let heads = heads.unwrap_or_default();
            let (default, base) = (default.as_deref(), &found.base_ref_name);
            let below = map::find_lower_pulls(&self.info.host, repo, default, base, heads);
            links.depends_on = below.into_iter().map(|end| self.link(end)).collect();
        }
        let warnings = &mut links.warnings;
        let comments = take_newest(found.comments, "comments", warnings);
        let reviews = take_newest(found.reviews, "reviews", warnings);
        let mut texts = vec![found.title, found.body];
        texts.extend(comments.into_iter().map(|c| c.body));
        for review in reviews {
            texts.push(review.body);
            let comments = take_newest(review.comments, "comments of a review", warnings);
            texts.extend(comments.into_iter().map(|c| c.body));
        }
        for PullCommit { commit } in take_newest(found.commits, "commits", warnings) {
            texts.extend([commit.message_headline, commit.message_body]);
        }
        let ends = |ends: Nodes<LinkEnd>, what: &str, warnings: &mut Vec<Warning>| -> Vec<Link> {
            let ends = cut(ends, what, warnings);
            ends.into_iter().map(|end| self.link(end)).collect()
        };
        links.closes = ends(found.closes, "issues that it closes", warnings);
        links.closed_by = ends(found.closed_by, "closing pull requests", warnings);
        // A pull request that was closed without a merge closes no issue.
        links
            .closed_by
            .retain(|link| link.state != Some(LinkState::Closed));
        let events = cut(found.timeline_items, "mentions", warnings);
        links.mentioned_by = events
            .into_iter()
            .filter_map(|event| event.source)
            .map(|end| self.link(end))
            .collect();
        self.named_in(repo, &texts, &mut links).await?;
        Ok(links.settled(subject))
    }

    /// Adds links to the issues and pull requests that the texts mention. Looks up all numbers of
    /// `repo` in one request.
    async fn named_in(&self, repo: &RepoId, texts: &[String], links: &mut Links) -> Result<()> {
        let hosts = Hosts::builtin().with_default_host(&self.info.host);
        let (mut numbers, mut others) = (Vec::new(), Vec::new());
        let read = |text: &String| mentions_within_limit(text, &hosts, &mut links.warnings);
        for mention in texts.iter().flat_map(read) {
            match mention.named.number_in(repo) {
                // It does not matter whether a URL has `/issues/` or `/pull/`, because GitHub
                // serves issues and pull requests under both.
                Some((_, number)) => {
                    // GraphQL's `Int` has 31 bits for a positive number.
                    if i32::try_from(number).is_ok() && !numbers.contains(&number) {
                        numbers.push(number);
                    }
                }
                None => others.push(mention.named.link(repo)),
            }
        }
        if numbers.len() > MAX_NUMBERS {
            links.warnings.push(Warning::new(format!(
                "{} numbers are mentioned; the first {MAX_NUMBERS} were looked up",
                numbers.len()
            )));
            numbers.truncate(MAX_NUMBERS);
        }
        if !numbers.is_empty() {
            links.mentions = self.numbered(repo, &numbers, &mut links.warnings).await?;
        }
        links.mentions.append(&mut others);
        Ok(())
    }

    async fn numbered(
        &self,
        repo: &RepoId,
        numbers: &[u64],
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<Link>> {
        let mut document = GqlDocument::query("LinksNamed");
        document.fragment("NamedNumbers", "Repository", &selection(numbers));
        let mut answer = self
            .api
            .query::<RepositoryLinksOf<Map<String, Value>>>(
                &document.text(),
                &repo_variables(repo)?.into(),
            )
            .await?;
        // A text may mention a number that does not exist, so NOT_FOUND is no failure.
        answer
            .errors
            .retain(|e| e.kind.as_deref() != Some("NOT_FOUND"));
        let mut found = match answer.data.take().and_then(|d| d.repository) {
            Some(found) => found,
            None if answer.errors.is_empty() => Map::new(),
            None => return Err(self.api.first_error(&answer)),
        };
        let unread = self
            .api
            .warnings(&answer, |_| ("the mentioned numbers".to_owned(), None));
        warnings.extend(unread);
        let named = numbers.iter().filter_map(|n| found.remove(&alias(*n)));
        let ends = named.filter_map(|end| serde_json::from_value::<Option<LinkEnd>>(end).ok()?);
        Ok(ends.map(|end| self.link(end)).collect())
    }

    fn link(&self, end: LinkEnd) -> Link {
        let kind = match end.kind.as_str() {
            "PullRequest" => SubjectKind::PullRequest,
            _ => SubjectKind::Issue,
        };
        let state = match end.state.as_str() {
            "" => end.pull_state.as_str(),
            state => state,
        };
        let repo = map::repo_id(&self.info.host, &end.repository);
        let mut link = Link::bare(Some(kind), Some(repo), PrKey::Number(end.number));
        link.state = match state {
            "OPEN" => Some(LinkState::Open),
            "CLOSED" => Some(LinkState::Closed),
            "MERGED" => Some(LinkState::Merged),
            _ => None,
        };
        link.title = Some(end.title);
        link
    }
}

/// Returns the GraphQL selection that looks up numbers in a repository.
pub(crate) fn selection(numbers: &[u64]) -> String {
    let mut selection = String::new();
    for number in numbers {
        let _ = write!(
            selection,
            " {}: issueOrPullRequest(number: {number}) {{ __typename ...IssueLink ...PullLink }}",
            alias(*number)
        );
    }
    selection
}

fn alias(number: u64) -> String {
    format!("n{number}")
}

/// Returns the nodes of the newest page. Adds a warning if there are older nodes.
fn take_newest<T>(nodes: Nodes<T>, what: &str, warnings: &mut Vec<Warning>) -> Vec<T> {
    let total = nodes.total_count.unwrap_or_default();
    let read = nodes.nodes.as_ref().map_or(0, Vec::len);
    if total > read as u64 {
        warnings.push(Warning::new(format!(
            "the newest {read} of {total} {what} were searched for links"
        )));
    }
    nodes.into_vec()
}

/// Returns the nodes of the first page. Adds a warning if there are more pages.
fn cut<T>(nodes: Nodes<T>, what: &str, warnings: &mut Vec<Warning>) -> Vec<T> {
    let more = nodes.next().is_some();
    let nodes = nodes.into_vec();
    if more {
        warnings.push(Warning::new(format!(
            "only the first {} {what} were read",
            nodes.len()
        )));
    }
    nodes
}

fn missing_subject_error(subject: &Subject) -> Error {
    match subject {
        Subject::Pull(id) => error::missing(id),
        Subject::Issue(id) => issues::missing(id),
    }
}
