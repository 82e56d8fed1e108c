//! Links between pull requests and issues. The links are not stored: they are found in the texts,
//! such as `fixes #7` in a description.

use forge_core::{
    PrKey, Result, Warning,
    call::{Charge, Charged, charge},
    locator::Hosts,
    mentions::{Mention, closing, mentions_within_limit},
    model::{IssueId, Link, LinkState, Links, PrState, StateFilter, Subject, SubjectKind},
    text,
};
use forge_git::CatFile;

use crate::{
    Local,
    caps::LIMITS,
    pulls::{ScanStep, is_named_issue, warning_of},
    reviews::{CommentMapper, fold_issue_comments},
    store::{MAX_IN_MEMORY, PullRead, Snapshot, StoredIssue, StoredPull},
};

/// Maximum number of mentioned numbers that are looked up for one pull request or issue.
const MAX_NUMBERS: usize = 50;
/// Maximum number of pull requests and issues to search for mentions of one pull request or issue.
const MAX_MENTIONING: usize = 100;

/// A pull request or an issue, with all its texts.
struct LinkSource {
    link: Link,
    description: String,
    remarks: Vec<String>,
    /// The pull request; `None` if the source is an issue.
    pull: Option<StoredPull>,
    /// The commit of the first event, if the source is an issue.
    first_event: Option<String>,
    /// The memory of the texts.
    _charge: Charge,
}

impl LinkSource {
    fn texts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.description.as_str()).chain(self.remarks.iter().map(String::as_str))
    }
}

/// Returns the title of a linked pull request or issue. A stored title can have megabytes, so a
/// title that is longer than a forge accepts is cut.
pub(crate) fn short_title(title: &str) -> String {
    text::truncate_chars(title, LIMITS.title_max).0.into_owned()
}

fn with_title(title: &str, text: &str) -> String {
    format!("{title}\n\n{text}")
}

impl Local {
    /// Implements [`forge_core::Issues::links`].
    pub(crate) async fn links_of(&self, subject: &Subject) -> Result<Links> {
        let number = match subject {
            Subject::Pull(id) => self.number(id)?,
            Subject::Issue(id) => self.issue_number(id)?,
        };
        let kind = subject.kind();
        let mut cat = self.store.cat();
        let mut links = Links::default();
        let mut own = self
            .read_link_source(&mut cat, kind, number, &mut links.warnings)
            .await?;
        if let Some(pull) = &own.pull {
            // Missing commits are not reported here, because the view of the pull request reports
            // them.
            let commits = self.all_commits(&mut cat, pull).await.unwrap_or_default();
            let messages = commits.into_iter();
            own.remarks
                .extend(messages.map(|c| with_title(&c.message_headline, &c.message_body)));
        }
        links.mentions = self.named_in(&mut cat, &own, &mut links.warnings).await?;
        if let Some(pull) = &own.pull {
            let (closes, warnings) = self.linked_issues(&mut cat, pull).await?;
            links.closes = closes
                .into_iter()
                .map(|issue| {
                    let mut link = self.bare_link(SubjectKind::Issue, issue.number);
                    link.title = Some(issue.title);
                    link.state = Some(match issue.open {
                        true => LinkState::Open,
                        false => LinkState::Closed,
                    });
                    link
                })
                .collect();
            links.warnings.extend(warnings);
            self.stacked(&mut cat, pull, &mut links).await?;
        }
        if self.store.is_shallow() {
            let message = "this clone is shallow: older texts that mention it are not listed";
            let hint = "run `git fetch --unshallow --no-prune` and try again";
            links.warnings.push(Warning::new(message).with_hint(hint));
        }
        if let Err(e) = self
            .add_mentioning(
                &mut cat,
                (kind, number),
                own.first_event.as_deref(),
                &mut links,
            )
            .await
        {
            let what = format!("the texts that may mention #{number} could not be read");
            links
                .warnings
                .push(Warning::new(format!("{what}: {}", e.message())));
        }
        Ok(links.settled(&self.subject(kind, number)))
    }

    fn subject(&self, kind: SubjectKind, number: u64) -> Subject {
        match kind {
            SubjectKind::PullRequest => Subject::Pull(self.pr(number)),
            SubjectKind::Issue => Subject::Issue(IssueId::number(self.id().clone(), number)),
        }
    }

    /// Reads a pull request or an issue with its texts. If its comments cannot be read, adds a
    /// warning.
    async fn read_link_source(
        &self,
        cat: &mut CatFile,
        kind: SubjectKind,
        number: u64,
        warnings: &mut Vec<Warning>,
    ) -> Result<LinkSource> {
        let mut first_event = None;
        let (link, description, remarks, pull) = match kind {
            SubjectKind::PullRequest => {
                let pull = self.store.read(cat, number).await?;
                let remarks = self.remark_texts(cat, &pull).await;
                let text = with_title(&pull.snapshot.title, &pull.snapshot.description);
                (self.pull_link(&pull), text, remarks, Some(pull))
            }
            SubjectKind::Issue => {
                let issue = self.store.read_issue(cat, number).await?;
                let log = self.store.issue_log(cat, &issue).await;
                let unseen = CommentMapper {
                    url: "",
                    viewer: None,
                };
                let remarks = log.and_then(|log| {
                    let memory = charge("the texts of the issue", log.weight())?;
                    let comments = fold_issue_comments(&log, &unseen);
                    let texts = comments.into_iter().map(|c| c.body).collect();
                    Ok(Charged::new(texts, memory))
                });
                let text = with_title(&issue.snapshot.title, &issue.snapshot.body);
                let first_events = self.store.first_events(cat, &[&issue]).await?;
                first_event = first_events.into_iter().next().flatten();
                (self.issue_link(&issue), text, remarks, None)
            }
        };
        let remarks = remarks.unwrap_or_else(|e| {
            warnings.push(warning_of(&e));
            Charged::new(Vec::new(), Charge::new())
        });
        let (remarks, memory) = remarks.into_parts();
        Ok(LinkSource {
            link,
            description,
            remarks,
            pull,
            first_event,
            _charge: memory,
        })
    }

    fn pull_link(&self, pull: &StoredPull) -> Link {
        let mut link = self.bare_link(SubjectKind::PullRequest, pull.number);
        link.title = Some(short_title(&pull.snapshot.title));
        link.state = Some(pull.snapshot.state.into());
        link
    }

    fn issue_link(&self, issue: &StoredIssue) -> Link {
        let mut link = self.bare_link(SubjectKind::Issue, issue.number());
        link.title = Some(short_title(&issue.snapshot.title));
        link.state = Some(issue.snapshot.state.into());
        link
    }

    fn bare_link(&self, kind: SubjectKind, number: u64) -> Link {
        Link::bare(Some(kind), Some(self.id().clone()), PrKey::Number(number))
    }

    /// Returns the kind and number of a mention that refers to this repository. After a closing
    /// keyword such as `fixes`, a number means an issue.
    fn number_of(&self, mention: &Mention) -> Option<(Option<SubjectKind>, u64)> {
        let (kind, number) = mention.named.number_in(self.id())?;
        let closed = mention.closes.then_some(SubjectKind::Issue);
        Some((kind.or(closed), number))
    }

    /// Adds the pull requests and issues that the texts of `own` mention. A number may mean a pull
    /// request, an issue, or both.
    async fn named_in(
        &self,
        cat: &mut CatFile,
        own: &LinkSource,
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<Link>> {
        let hosts = Hosts::builtin();
        let (mut ours, mut others) = (Vec::new(), Vec::new());
        let read = |text| mentions_within_limit(text, &hosts, warnings);
        for mention in own.texts().flat_map(read) {
            match self.number_of(&mention) {
                Some(named) if ours.contains(&named) => {}
                Some(named) => ours.push(named),
                None => others.push(mention.named.link(self.id())),
            }
        }
        if ours.len() > MAX_NUMBERS {
            warnings.push(Warning::new(format!(
                "{} numbers are mentioned; the first {MAX_NUMBERS} were looked up",
                ours.len()
            )));
            ours.truncate(MAX_NUMBERS);
        }
        let numbers = |not: SubjectKind| -> Vec<u64> {
            let named = ours.iter().filter(|(kind, _)| *kind != Some(not));
            named.map(|(_, n)| *n).collect()
        };
        let pulls = numbers(SubjectKind::Issue);
        let issues = numbers(SubjectKind::PullRequest);
        let mut found = Vec::new();
        for part in pulls.chunks(MAX_IN_MEMORY) {
            for (number, read) in part.iter().zip(self.store.read_many(cat, part).await?) {
                match read {
                    PullRead::Pull(pull) => found.push(self.pull_link(&pull)),
                    PullRead::Broken(_) => {
                        found.push(self.bare_link(SubjectKind::PullRequest, *number));
                    }
                    PullRead::Missing => {}
                }
            }
        }
        for part in issues.chunks(MAX_IN_MEMORY) {
            for (number, read) in part.iter().zip(self.store.read_issues(cat, part).await?) {
                match read {
                    Some(Ok(issue)) => found.push(self.issue_link(&issue)),
                    Some(Err(_)) => found.push(self.bare_link(SubjectKind::Issue, *number)),
                    None => {}
                }
            }
        }
        found.append(&mut others);
        Ok(found)
    }

    /// Adds the open pull requests above and below `pull` in a stack. In a stack, the base branch
    /// of the upper pull request is the head branch of the lower one.
    async fn stacked(&self, cat: &mut CatFile, pull: &StoredPull, links: &mut Links) -> Result<()> {
        if !pull.is_open() {
            return Ok(());
        }
        let (head, base) = (&pull.snapshot.head_branch, &pull.snapshot.base_branch);
        let near = |s: &Snapshot| {
            s.state == PrState::Open && (s.head_branch == *base || s.base_branch == *head)
        };
        let mut found = Vec::new();
        self.scan(cat, StateFilter::Open, near, |other| {
            found.push(other);
            ScanStep::Continue
        })
        .await?;
        for other in found {
            let link = self.pull_link(&other);
            if other.snapshot.head_branch == *base {
                links.depends_on.push(link.clone());
            }
            if other.snapshot.base_branch == *head {
                links.needed_by.push(link);
            }
        }
        Ok(())
    }

    /// Adds the pull requests and issues that close or mention `number`. Git searches all stored
    /// events (descriptions, comments, reviews) for the number. A match in a text that was edited
    /// or deleted later does not count. `first_event` identifies an issue.
    async fn add_mentioning(
        &self,
        cat: &mut CatFile,
        (kind, number): (SubjectKind, u64),
        first_event: Option<&str>,
        links: &mut Links,
    ) -> Result<()> {
        let hosts = Hosts::builtin();
        let mut candidates = self.store.events_mentioning(number).await?;
        candidates.retain(|candidate| *candidate != (kind, number));
        if candidates.len() > MAX_MENTIONING {
            links.warnings.push(Warning::new(format!(
                "{} pull requests and issues may mention #{number}; {MAX_MENTIONING} of them were \
                 read",
                candidates.len()
            )));
            candidates.truncate(MAX_MENTIONING);
        }
        let is_named = |text: &str, warnings: &mut Vec<Warning>| {
            mentions_within_limit(text, &hosts, warnings)
                .iter()
                .any(|mention| {
                    let named = self.number_of(mention);
                    named.is_some_and(|(k, n)| n == number && k.is_none_or(|k| k == kind))
                })
        };
        for (of, n) in candidates {
            let other = match self.read_link_source(cat, of, n, &mut links.warnings).await {
                Ok(other) => other,
                Err(e) => {
                    links.warnings.push(warning_of(&e));
                    continue;
                }
            };
            let means = |pull: &StoredPull| {
                is_named_issue(&pull.snapshot.closes, number, first_event)
                    && closing(&other.description, self.id(), &hosts).contains(&number)
            };
            let closes = kind == SubjectKind::Issue && other.pull.as_ref().is_some_and(means);
            if closes {
                links.closed_by.push(other.link);
            } else if other.texts().any(|t| is_named(t, &mut links.warnings)) {
                links.mentioned_by.push(other.link);
            }
        }
        Ok(())
    }
}
