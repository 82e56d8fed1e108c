//! Reads one pull request with its sections. A section is an optional part, such as the reviews.
//! Each section is read in pages of a hundred entries, and one request reads a page of every
//! section.

use forge_core::{
    Action, Error, Hint, Op, Param, PrId, RepoId, Result, Warning,
    model::{PrFields, PullRequest, UnreadRules},
};
use futures::join;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{dependents::DEPENDENTS, gaps::is_reported, rules};
use crate::{
    GitHub,
    api::{GqlAnswer, TokenChoice},
    error::{self, GqlError},
    gql::{
        GqlDocument,
        fields::{self, BaseFields, Required, Section},
        types::{self as wire, Nodes},
    },
    map, number,
    paged::MAX_PAGE_SIZE,
    pr_variables,
};

/// The answer to a query for a pull request in a repository.
#[derive(Debug, Deserialize)]
pub(crate) struct RepositoryOf {
    repository: Option<PullOf>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullOf {
    pull_request: Option<wire::Pull>,
}

impl RepositoryOf {
    pub fn pull(self) -> Option<wire::Pull> {
        self.repository?.pull_request
    }
}

#[derive(Deserialize)]
struct PullNode {
    node: Option<wire::Pull>,
}

/// The maximum count of files in a diff from GitHub (docs.github.com, "Limits on diffs").
const MAX_DIFF_FILES: u64 = 300;
/// How many lists of line comments one request continues.
const MAX_CONCURRENT_LISTS: usize = 10;

impl GitHub {
    /// Reads a pull request with all pages of the sections in `fields`.
    pub(crate) async fn fetch(&self, pr: &PrId, fields: PrFields) -> Result<PullRequest> {
        let base = if fields.contains(PrFields::ROW) {
            BaseFields::Row
        } else {
            BaseFields::Core
        };
        let select = |fields| fields::selection(base, fields, Required::Number);
        let mut read = fields;
        let (pull, mut warnings) = match self.lookup(pr, &select(fields)).await {
            Err(error) if is_without_projects(fields, &error) => {
                let rest = select(fields.without(PrFields::PROJECTS));
                let (pull, mut warnings) = self.lookup(pr, &rest).await?;
                warnings.push(projects_unread(&error));
                (pull, warnings)
            }
            // Older Enterprise Servers lack some fields of the rules, so the query is repeated
            // without rules.
            Err(error) if fields.contains(PrFields::RULES) && error::is_unknown_field(&error) => {
                read = fields.without(PrFields::RULES);
                self.lookup(pr, &select(read)).await?
            }
            found => found?,
        };
        warnings.extend(self.missing_latest_warning(&pull, fields, &warnings));
        let dependents = if fields.contains(PrFields::DEPENDENTS) {
            // The further read has a warning of its own.
            warnings.retain(|w| w.section != Some(DEPENDENTS));
            self.dependents_for_view(pr, &pull, &mut warnings).await
        } else {
            None
        };
        let mut pull = self.domain(&pr.repo, pull, read, warnings)?;
        pull.dependents = dependents;
        if read != fields {
            pull.base_rules = Some(rules::unread());
        }
        Ok(pull)
    }

    /// Reads a pull request with a custom selection, with all pages of each section. Parts that
    /// cannot be read become warnings.
    pub(crate) async fn lookup(
        &self,
        pr: &PrId,
        selection: &str,
    ) -> Result<(wire::Pull, Vec<Warning>)> {
        let mut document = GqlDocument::query("PullView");
        document.fragment("PullSections", "PullRequest", selection);
        let (text, variables) = (document.text(), Value::Object(pr_variables(pr)?));
        let mut size = MAX_PAGE_SIZE;
        let mut answer: GqlAnswer<RepositoryOf> = self
            .api
            .query_in_pages(TokenChoice::Account, &text, &variables, &mut size)
            .await?;
        let (mut pull, mut warnings) = self.pull_of(pr, &mut answer)?;
        warnings.extend(self.complete_beside_diff(pr, &mut pull, size).await);
        Ok((pull, warnings))
    }

    /// Like [`Self::complete`], but may take the files from a diff of the same pull request that is
    /// rebuilt at the same time. The files must match the totals of the pull request.
    async fn complete_beside_diff(
        &self,
        pr: &PrId,
        pull: &mut wire::Pull,
        size: usize,
    ) -> Vec<Warning> {
        let is_refused = pull.changed_files.is_some_and(|n| n > MAX_DIFF_FILES);
        let is_shared = is_refused && self.shared_rows.is_announced(pr);
        let rest = pull.files.as_mut().filter(|_| is_shared);
        let Some(rest) = rest.and_then(|files| files.page_info.take()) else {
            return self.complete_in_pages(pull, size).await;
        };
        let (rows, mut warnings) =
            join!(self.shared_rows.of(pr), self.complete_in_pages(pull, size));
        let rows = rows.filter(|rows| are_all_counted(rows, pull));
        if let (Some(files), Some(rows)) = (&mut pull.files, rows) {
            files.nodes = Some(rows.iter().cloned().map(Some).collect());
        } else if let Some(files) = &mut pull.files {
            files.page_info = Some(rest);
            warnings.extend(self.complete_in_pages(pull, size).await);
        }
        warnings
    }

    /// Extracts the pull request from an answer. Parts that could not be read become warnings.
    pub(crate) fn pull_of(
        &self,
        pr: &PrId,
        answer: &mut GqlAnswer<RepositoryOf>,
    ) -> Result<(wire::Pull, Vec<Warning>)> {
        match answer.data.take().and_then(RepositoryOf::pull) {
            Some(pull) => {
                self.check_number(pr, number(pr)?, pull.number)?;
                let warnings = self
                    .api
                    .warnings(answer, |e| (title(e, 2), model_field(e, 2)));
                Ok((pull, warnings))
            }
            None => Err(self.not_found(pr, answer)),
        }
    }

    pub(crate) fn not_found<T>(&self, pr: &PrId, answer: &GqlAnswer<T>) -> Error {
        if answer.errors.is_empty() {
            return error::missing(pr);
        }
        self.api.first_error(answer)
    }

    /// Maps an answer to the pull request of the model, and warns about sections that the answer
    /// omits.
    pub(crate) fn domain(
        &self,
        repo: &RepoId,
        pull: wire::Pull,
        fields: PrFields,
        mut warnings: Vec<Warning>,
    ) -> Result<PullRequest> {
        warnings.extend(self.shown_missing(&pull, &warnings));
        warnings.extend(self.missing_sections_warning(&pull, fields, &warnings));
        let is_unread = |field| warnings.iter().any(|w| w.section == Some(field));
        let of_rules = rules::SECTIONS.iter();
        let unread = Unread {
            checks: is_unread(Section::Checks.model_field()),
            rules: of_rules
                .filter(|(section, _)| is_unread(section))
                .map(|(_, what)| *what)
                .collect(),
        };
        let lacks_base = pull.base_ref.is_none() && fields.contains(PrFields::DEPENDS_ON);
        let mut pull = map::pull(&self.info.host, repo, pull, fields, &unread)?;
        for warning in &mut warnings {
            // The lower pull request is read through the base branch, too.
            if lacks_base && warning.section == Some(rules::BASE_RULES) {
                warning.section = Some(DEPENDS_ON);
            }
        }
        // Rules that the viewer may not see cause no warning, because the section itself lists them
        // as unread.
        let is_of_rules = |w: &Warning| {
            let names = rules::SECTIONS.iter().map(|(name, _)| *name);
            names.into_iter().any(|name| w.section == Some(name))
        };
        warnings.retain(|w| !is_of_rules(w));
        pull.warnings = warnings;
        Ok(pull)
    }

    /// Warns about data that the answer shows to be missing: names of teams, and entries of lists.
    ///
    /// `said` are the warnings so far. If one of them is about the latest reviews, these get no
    /// second warning.
    fn shown_missing(&self, pull: &wire::Pull, said: &[Warning]) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let asked = pull.review_requests.nodes.iter().flatten().flatten();
        let mut asked = asked.filter_map(|r| r.requested_reviewer.as_ref());
        if asked.any(map::is_unnamed_team) {
            let error = error::no_teams(self.api.error_context(false));
            let message = format!(
                "the teams whose review is requested could not be read: {}",
                error.message()
            );
            warnings.push(error::warning(message, &error).of_section(REVIEWERS));
        }
        let lists = [
            (Section::Comments, pull.all_comments.as_ref().map(counts)),
            (Section::Reviews, pull.reviews.as_ref().map(counts)),
            (Section::Commits, pull.commits.as_ref().map(counts)),
        ];
        for (section, found) in lists {
            let Some((all, here)) = found.filter(|(all, here)| all > here) else {
                continue;
            };
            let what = section.title();
            let every = Action::op(Op::PrView)
                .on(pull.number)
                .with(Param::Include, section.model_field());
            let left = all - here;
            let message = format!("{here} of {all} {what} were read, {left} were left out");
            let hint = Hint::new("read all of them").with_action(every);
            warnings.push(Warning::new(message).with_hint(hint));
        }
        let latest = Section::LatestReviews.model_field();
        let said = is_reported(Section::LatestReviews, said);
        let more = |reviews: &Nodes<wire::Review>| reviews.next().is_some();
        if !said && (more(&pull.latest_reviews) || more(&pull.latest_opinionated_reviews)) {
            let every = Action::op(Op::PrView)
                .on(pull.number)
                .with(Param::Include, "reviews");
            let warning = Warning::new(
                "more people reviewed the pull request than could be read: the latest reviews and \
                 their counts cover only some of them",
            );
            warnings.push(
                warning
                    .of_section(latest)
                    .with_hint(Hint::new("read every review of it").with_action(every)),
            );
        }
        warnings
    }

    /// Reads the remaining pages of all sections, with one request for each further hundred
    /// entries. A failure becomes a warning of the sections that it concerns.
    pub(crate) async fn complete(&self, pull: &mut wire::Pull) -> Vec<Warning> {
        self.complete_in_pages(pull, MAX_PAGE_SIZE).await
    }

    /// Like [`Self::complete`], but in pages of at most `size` entries.
    async fn complete_in_pages(&self, pull: &mut wire::Pull, mut size: usize) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut open = unfinished(pull);
        while !open.is_empty() {
            let page = self.read_more(&pull.id, &open, &mut size).await;
            let (further, errors) = match page {
                Ok(GqlAnswer {
                    data:
                        Some(PullNode {
                            node: Some(further),
                        }),
                    errors,
                    ..
                }) => (further, errors),
                Ok(answer) => {
                    warnings.extend(cut(&open, &self.api.first_error(&answer)));
                    break;
                }
                Err(error) => {
                    warnings.extend(cut(&open, &error));
                    break;
                }
            };
            for e in &errors {
                let about = self.api.error_context(false);
                let (title, message) = (about.sanitize(&title(e, 1)), about.sanitize(&e.message));
                let message = format!("{title} could not be read in full: {message}");
                let mut warning = Warning::new(message);
                warning.section = model_field(e, 1);
                warnings.push(warning);
            }
            extend(pull, further);
            // A host that repeats a cursor would cause an endless loop.
            let next = unfinished(pull);
            open = next
                .into_iter()
                .filter(|section| !open.contains(section))
                .collect();
        }
        // The latest reviews are two lists that fail together with equal warnings, so one of the
        // two is removed.
        warnings.dedup();
        warnings.extend(self.complete_comments(pull, &mut size).await);
        warnings
    }

    async fn read_more(
        &self,
        id: &str,
        open: &[(Section, String)],
        size: &mut usize,
    ) -> Result<GqlAnswer<PullNode>> {
        let mut document = GqlDocument::query("PullMore");
        let mut variables = Map::from_iter([("id".to_owned(), json!(id))]);
        let mut sections = Vec::new();
        for (i, (section, after)) in open.iter().enumerate() {
            let variable = format!("after{i}");
            document.variable(&variable, "String");
            variables.insert(variable.clone(), json!(after));
            sections.push((*section, variable));
        }
        document.fragment(
            "PullSections",
            "PullRequest",
            &fields::continuation(&sections),
        );
        let (text, variables) = (document.text(), Value::Object(variables));
        self.api
            .query_in_pages(TokenChoice::Account, &text, &variables, size)
            .await
    }

    /// Reads the remaining comments of each review or thread that has more than a hundred.
    async fn complete_comments(&self, pull: &mut wire::Pull, size: &mut usize) -> Vec<Warning> {
        let reviews = pull
            .reviews
            .iter_mut()
            .flat_map(|n| n.nodes.iter_mut().flatten().flatten());
        let threads = pull
            .review_threads
            .iter_mut()
            .flat_map(|n| n.nodes.iter_mut().flatten().flatten());
        let lists = reviews
            .map(|r| (r.id.clone(), &mut r.comments))
            .chain(threads.map(|t| (t.id.clone(), &mut t.comments)))
            .collect();
        self.complete_lists(lists, size).await
    }

    /// Reads the remaining pages of lists of line comments. Each list comes with the id of its
    /// review or thread.
    pub(crate) async fn complete_lists(
        &self,
        mut lists: Vec<(String, &mut Nodes<wire::Comment>)>,
        size: &mut usize,
    ) -> Vec<Warning> {
        loop {
            lists.retain(|(_, list)| list.next().is_some());
            let count = MAX_CONCURRENT_LISTS.min(lists.len());
            let Some(part) = lists.get_mut(..count).filter(|p| !p.is_empty()) else {
                return vec![];
            };
            if let Err(error) = self.read_more_comments(part, size).await {
                let message = format!(
                    "comments on lines could not be read in full: {}",
                    error.message()
                );
                return vec![Warning::new(message)];
            }
        }
    }

    async fn read_more_comments(
        &self,
        lists: &mut [(String, &mut Nodes<wire::Comment>)],
        size: &mut usize,
    ) -> Result<()> {
        let (text, variables) =
            comments_document(lists.iter().map(|(id, list)| (id.as_str(), list.next())));
        let variables = Value::Object(variables);
        let answer: GqlAnswer<std::collections::BTreeMap<String, Option<CommentsOf>>> = self
            .api
            .query_in_pages(TokenChoice::Account, &text, &variables, size)
            .await?;
        let mut data = self.api.require_complete(answer)?;
        for (i, (_, list)) in lists.iter_mut().enumerate() {
            let page = data
                .remove(&format!("n{i}"))
                .flatten()
                .unwrap_or_default()
                .comments;
            let stuck = page.next() == list.next();
            list.extend(page);
            if stuck {
                list.page_info = None;
            }
        }
        Ok(())
    }
}

#[derive(Default, Deserialize)]
struct CommentsOf {
    #[serde(default)]
    comments: Nodes<wire::Comment>,
}

/// Returns whether `rows` are all files of `pull` with correct counts. Past some 20,000 lines, REST
/// reports counts of 0 (github.com/orgs/community/discussions/213491).
fn are_all_counted(rows: &[wire::File], pull: &wire::Pull) -> bool {
    let sum = |of: fn(&wire::File) -> u64| Some(rows.iter().map(of).sum::<u64>());
    pull.changed_files == Some(rows.len() as u64)
        && pull.additions == sum(|file| file.additions)
        && pull.deletions == sum(|file| file.deletions)
}

/// Returns the total, if it was requested, and the number of nodes in the answer.
fn counts<T>(list: &Nodes<T>) -> (u64, u64) {
    let here = list.nodes.iter().flatten().count() as u64;
    (list.total_count.unwrap_or(here), here)
}

/// Returns the document that reads the next page of several lists of line comments.
pub(crate) fn comments_document<'a>(
    lists: impl Iterator<Item = (&'a str, Option<String>)>,
) -> (String, Map<String, Value>) {
    let mut selection = Vec::new();
    let mut variables = Map::new();
    for (i, (id, after)) in lists.enumerate() {
        let page = format!(
            "comments(first: 100, after: $a{i}) {{ nodes {{ ...LineComment }} pageInfo {{ ...PageEnd }} }}"
        );
        selection.push(format!(
            "n{i}: node(id: $n{i}) {{ ... on PullRequestReview {{ {page} }} ... on PullRequestReviewThread {{ {page} }} }}"
        ));
        variables.insert(format!("n{i}"), json!(id));
        variables.insert(format!("a{i}"), json!(after));
    }
    let mut document = GqlDocument::generated("query CommentsMore", &selection.join(" "));
    for i in 0..selection.len() {
        document.variable(&format!("n{i}"), "ID!");
        document.variable(&format!("a{i}"), "String");
    }
    (document.text(), variables)
}

/// Returns what messages call the part that an error concerns. `depth` is the index of the section
/// in the error's path.
pub(crate) fn title(error: &GqlError, depth: usize) -> String {
    match (section(error, depth), error.names().get(depth)) {
        (Some(section), _) => section.title().to_owned(),
        (None, Some(key)) => format!("the field {key}"),
        (None, None) => "a part of the pull request".to_owned(),
    }
}

/// Returns the field of the model that an error concerns. `depth` is the index of the section in
/// the error's path.
pub(crate) fn model_field(error: &GqlError, depth: usize) -> Option<&'static str> {
    if let Some(section) = section(error, depth) {
        return Some(section.model_field());
    }
    let names = error.names();
    let inner = names.get(depth + 1).copied();
    match *names.get(depth)? {
        "labels" => Some("labels"),
        "assignees" => Some("assignees"),
        "milestone" => Some("milestone"),
        "isDraft" => Some("draft"),
        "reviewDecision" => Some("review_decision"),
        "mergeable" | "mergeStateStatus" => Some("mergeability"),
        "reviewRequests" => Some(REVIEWERS),
        "baseRef" if inner == Some("associatedPullRequests") => Some(DEPENDS_ON),
        "baseRef" if inner == Some("mergedHeads") => Some(MERGED_BASE),
        // Only its names are read, so the rules are complete without it.
        "baseRepository" if inner == Some("rulesets") => Some(rules::BASE_RULES),
        "baseRepository" if inner == Some("defaultBranchRef") => None,
        "baseRepository" if inner == Some("openPulls") => Some(DEPENDENTS),
        "baseRepository" => Some(rules::REPOSITORY),
        "baseRef" | "viewerCanMergeAsAdmin" => Some(rules::BASE_RULES),
        "isMergeQueueEnabled" | "isInMergeQueue" | "mergeQueueEntry" => Some(rules::MERGE_QUEUE),
        _ => None,
    }
}

/// The parts of a pull request that GitHub's answer reports as unreadable.
#[derive(Debug, Default)]
pub(crate) struct Unread {
    /// The checks, or a part of them.
    pub checks: bool,
    /// The kinds of rules of the base branch.
    pub rules: Vec<UnreadRules>,
}

/// The model's field for the pull request that this one builds on.
const DEPENDS_ON: &str = "depends_on";

/// The model's field for the merged pull request whose head is the base branch.
const MERGED_BASE: &str = "merged_base";

/// The model's field for requested reviewers.
pub(crate) const REVIEWERS: &str = "pending_reviewers";

fn section(error: &GqlError, depth: usize) -> Option<Section> {
    error
        .names()
        .get(depth)
        .and_then(|key| Section::of_key(key))
}

/// Returns whether a query failed because of the boards in `fields`. The caller then repeats the
/// query without boards.
pub(super) fn is_without_projects(fields: PrFields, error: &Error) -> bool {
    fields.contains(PrFields::PROJECTS) && error::is_without_projects(error)
}

pub(crate) fn projects_unread(error: &Error) -> Warning {
    let section = Section::Projects;
    let message = format!("{} could not be read: {}", section.title(), error.message());
    error::warning(message, error).of_section(section.model_field())
}

fn cut(open: &[(Section, String)], error: &Error) -> Vec<Warning> {
    let warn = |(section, _): &(Section, String)| {
        let message = format!(
            "{} could not be read in full: {}",
            section.title(),
            error.message()
        );
        let mut warning = error::warning(message, error).of_section(section.model_field());
        warning.hint.get_or_insert(Hint::new("try again"));
        warning
    };
    open.iter().map(warn).collect()
}

fn contexts(pull: &mut wire::Pull) -> Option<&mut Nodes<wire::Check>> {
    let head = pull.head.as_mut()?.nodes.as_mut()?.last_mut()?.as_mut()?;
    Some(&mut head.commit.status_check_rollup.as_mut()?.contexts)
}

/// Returns the sections with further pages, each with the cursor of its next page.
fn unfinished(pull: &mut wire::Pull) -> Vec<(Section, String)> {
    let checks = contexts(pull).and_then(|n| n.next());
    [
        (
            Section::Comments,
            pull.all_comments.as_ref().and_then(Nodes::next),
        ),
        (
            Section::Reviews,
            pull.reviews.as_ref().and_then(Nodes::next),
        ),
        (
            Section::Threads,
            pull.review_threads.as_ref().and_then(Nodes::next),
        ),
        (
            Section::Commits,
            pull.commits.as_ref().and_then(Nodes::next),
        ),
        (Section::Files, pull.files.as_ref().and_then(Nodes::next)),
        (Section::Checks, checks),
        (
            Section::LinkedIssues,
            pull.closing_issues_references
                .as_ref()
                .and_then(Nodes::next),
        ),
        (
            Section::Projects,
            pull.project_items.as_ref().and_then(Nodes::next),
        ),
        (Section::LatestReviews, pull.latest_reviews.next()),
        (
            Section::LatestOpinions,
            pull.latest_opinionated_reviews.next(),
        ),
    ]
    .into_iter()
    .filter_map(|(section, next)| Some((section, next?)))
    .collect()
}

/// Appends further pages. If the page of a section is missing, the section counts as complete,
/// except the lists that `add` extends.
fn extend(pull: &mut wire::Pull, mut further: wire::Pull) {
    fn put<T>(have: &mut Option<Nodes<T>>, page: Option<Nodes<T>>) {
        if let Some(have) = have.as_mut().filter(|h| h.next().is_some()) {
            have.extend(page.unwrap_or_default());
        }
    }
    // Extends a list from which a sum is computed. If the page is missing, the list stays
    // unfinished, because a sum over an incomplete list would be wrong.
    fn add<T>(have: Option<&mut Nodes<T>>, page: Option<Nodes<T>>) {
        if let (Some(have), Some(page)) = (have.filter(|h| h.next().is_some()), page) {
            have.extend(page);
        }
    }
    let checks = contexts(&mut further).map(std::mem::take);
    put(&mut pull.all_comments, further.all_comments);
    put(&mut pull.reviews, further.reviews);
    put(&mut pull.review_threads, further.review_threads);
    put(&mut pull.commits, further.commits);
    put(&mut pull.files, further.files);
    put(
        &mut pull.closing_issues_references,
        further.closing_issues_references,
    );
    put(&mut pull.project_items, further.project_items);
    add(contexts(pull), checks);
    let came = |page: Nodes<wire::Review>| Some(page).filter(|p| p.nodes.is_some());
    add(Some(&mut pull.latest_reviews), came(further.latest_reviews));
    add(
        Some(&mut pull.latest_opinionated_reviews),
        came(further.latest_opinionated_reviews),
    );
}
