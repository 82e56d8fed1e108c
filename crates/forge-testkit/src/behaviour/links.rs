//! Behaviour of links between pull requests and issues.

use forge_core::{
    Capability, PrKey, Warning,
    model::{
        CreatePull, EditIssue, Issue, Link, LinkState, Links, NewIssue, PullRequest, Subject,
        SubjectKind,
    },
};

use super::{Fixture, Set, cases, refused};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        plain_texts_are_not_links [IssueCreate, Links];
        links_of_missing_subject_are_not_found [IssueView, Links];
        description_links_to_an_issue [IssueCreate, Links];
        issue_links_to_a_pull_request [IssueCreate, Links];
        comment_links_to_an_issue [IssueCreate, Comments, Links];
        issue_comment_links_to_another_issue [IssueCreate, IssueComment, Links];
        closing_words_link_pull_and_issue [IssueCreate, Links];
        references_in_code_are_not_links [IssueCreate, Links];
        unknown_numbers_are_not_links [Links];
        references_to_other_repositories_are_not_looked_up [Links];
        more_than_500_references_are_cut [IssueCreate, Links];
        mutual_references_link_both_ways [IssueCreate, IssueEdit, Links];
        stacked_pulls_are_linked [Links];
    ];
}

async fn issue(fx: &Fixture, title: &str, body: &str) -> Issue {
    let new = NewIssue::new(title, body);
    fx.author.create_issue(&new).await.unwrap().value
}

async fn pull(fx: &Fixture, branch: &str, description: &str) -> PullRequest {
    fx.feature(branch);
    let mut req = CreatePull::new(branch, format!("Title of {branch}"));
    req.description = description.to_owned();
    fx.author.create_pull(&req).await.unwrap().value
}

async fn links(fx: &Fixture, subject: &Subject) -> Links {
    fx.reviewer.links(subject).await.unwrap()
}

async fn of_pull(fx: &Fixture, pull: &PullRequest) -> Links {
    links(fx, &Subject::Pull(pull.id.clone())).await
}

async fn of_issue(fx: &Fixture, issue: &Issue) -> Links {
    links(fx, &Subject::Issue(issue.id.clone())).await
}

/// Formats a key as a reference from a text in the same repository.
fn name(key: &PrKey) -> String {
    match key {
        PrKey::Number(n) => format!("#{n}"),
        PrKey::Record(uri) => uri.clone(),
    }
}

/// Returns the linked subjects with their titles.
fn ends(links: &[Link]) -> Vec<(SubjectKind, &PrKey, &str)> {
    let end = |link: &'_ Link| link.kind.expect("a kind");
    let title = |link: &'_ Link| link.title.is_some();
    assert!(links.iter().all(title), "{links:?}");
    links
        .iter()
        .map(|link| (end(link), &link.key, link.title.as_deref().unwrap_or("")))
        .collect()
}

fn is(pull: &PullRequest) -> (SubjectKind, &PrKey, &str) {
    (SubjectKind::PullRequest, &pull.id.key, &pull.title)
}

fn is_issue(issue: &Issue) -> (SubjectKind, &PrKey, &str) {
    (SubjectKind::Issue, &issue.id.key, &issue.title)
}

/// Returns true if all lists are empty.
fn nothing(links: &Links) -> bool {
    links.lists().iter().all(|(_, list)| list.is_empty())
}

async fn plain_texts_are_not_links(fx: Fixture) {
    let (issue, pull) = (
        issue(&fx, "It breaks", "Sometimes.").await,
        pull(&fx, "fix", "Sometimes.").await,
    );
    for links in [of_issue(&fx, &issue).await, of_pull(&fx, &pull).await] {
        assert!(nothing(&links), "{links:?}");
    }
}

async fn links_of_missing_subject_are_not_found(fx: Fixture) {
    let pull = Subject::Pull(fx.author.pull_id(77));
    let issue = Subject::Issue(fx.author.issue_id(77));
    for subject in [pull, issue] {
        refused(fx.author.links(&subject).await, "not_found");
    }
}

async fn description_links_to_an_issue(fx: Fixture) {
    let issue = issue(&fx, "It breaks", "").await;
    let pull = pull(&fx, "fix", &format!("See {}.", name(&issue.id.key))).await;
    let found = of_pull(&fx, &pull).await;
    assert_eq!(ends(&found.mentions), [is_issue(&issue)]);
    assert_eq!(found.mentions[0].state, Some(LinkState::Open));
    assert!(found.closes.is_empty(), "{found:?}");
    let found = of_issue(&fx, &issue).await;
    assert_eq!(ends(&found.mentioned_by), [is(&pull)]);
    assert!(found.closed_by.is_empty() && found.mentions.is_empty());
}

async fn issue_links_to_a_pull_request(fx: Fixture) {
    let pull = pull(&fx, "fix", "").await;
    let text = format!("Since ({}), I think.", name(&pull.id.key));
    let issue = issue(&fx, "It breaks", &text).await;
    let found = of_issue(&fx, &issue).await;
    assert_eq!(ends(&found.mentions), [is(&pull)]);
    let found = of_pull(&fx, &pull).await;
    assert_eq!(ends(&found.mentioned_by), [is_issue(&issue)]);
}

async fn comment_links_to_an_issue(fx: Fixture) {
    let issue = issue(&fx, "It breaks", "").await;
    let pull = pull(&fx, "fix", "").await;
    let text = format!("Is this {}?", name(&issue.id.key));
    fx.reviewer.comment(&pull.id, &text, None).await.unwrap();
    assert_eq!(
        ends(&of_pull(&fx, &pull).await.mentions),
        [is_issue(&issue)]
    );
    let found = of_issue(&fx, &issue).await;
    if fx.facts.texts_link {
        assert_eq!(ends(&found.mentioned_by), [is(&pull)]);
    } else {
        // A warning says that the links are unknown.
        assert!(nothing(&found) && !found.warnings.is_empty(), "{found:?}");
    }
}

async fn issue_comment_links_to_another_issue(fx: Fixture) {
    let first = issue(&fx, "First", "").await;
    let second = issue(&fx, "Second", "").await;
    let text = format!("As in {}", name(&first.id.key));
    fx.reviewer
        .create_issue_comment(&second.id, &text)
        .await
        .unwrap();
    let found = of_issue(&fx, &second).await;
    assert_eq!(ends(&found.mentions), [is_issue(&first)]);
    if fx.facts.texts_link {
        let found = of_issue(&fx, &first).await;
        assert_eq!(ends(&found.mentioned_by), [is_issue(&second)]);
    }
}

async fn closing_words_link_pull_and_issue(fx: Fixture) {
    let issue = issue(&fx, "It breaks", "").await;
    let pull = pull(&fx, "fix", &format!("Fixes {}\n", name(&issue.id.key))).await;
    let (of_pull, of_issue) = (of_pull(&fx, &pull).await, of_issue(&fx, &issue).await);
    let (outward, inward) = match fx.facts.texts_link {
        true => (&of_pull.closes, &of_issue.closed_by),
        false => (&of_pull.mentions, &of_issue.mentioned_by),
    };
    assert_eq!(ends(outward), [is_issue(&issue)]);
    assert_eq!(ends(inward), [is(&pull)]);
    // The pull request and the issue each have the link in only one list.
    for links in [&of_pull, &of_issue] {
        let all: usize = links.lists().iter().map(|(_, list)| list.len()).sum();
        assert_eq!(all, 1, "{links:?}");
    }
}

async fn references_in_code_are_not_links(fx: Fixture) {
    let issue = issue(&fx, "It breaks", "").await;
    let name = name(&issue.id.key);
    let text = format!("`{name}`\n\n```\nfixes {name}\n```\n\nAnd `fixes {name}`.\n");
    let pull = pull(&fx, "fix", &text).await;
    for links in [of_pull(&fx, &pull).await, of_issue(&fx, &issue).await] {
        assert!(nothing(&links), "{links:?}");
    }
}

async fn unknown_numbers_are_not_links(fx: Fixture) {
    let pull = pull(&fx, "fix", "See #77, fixes #78, #99999999999 and #0.").await;
    let found = of_pull(&fx, &pull).await;
    assert!(nothing(&found), "{found:?}");
}

async fn references_to_other_repositories_are_not_looked_up(fx: Fixture) {
    let text = "See https://github.com/octo/elsewhere/issues/5, and \
                [that](https://tangled.org/alice.example/core/pulls/7).";
    let pull = pull(&fx, "fix", text).await;
    let found = of_pull(&fx, &pull).await.mentions;
    let named: Vec<_> = found.iter().map(|l| (l.kind, l.to_string())).collect();
    let wanted = [
        (SubjectKind::Issue, "github.com/octo/elsewhere#5"),
        (SubjectKind::PullRequest, "tangled.org/alice.example/core#7"),
    ];
    assert_eq!(named, wanted.map(|(kind, at)| (Some(kind), at.to_owned())));
    for link in found {
        assert_eq!((link.title, link.state), (None, None));
    }
}

async fn more_than_500_references_are_cut(fx: Fixture) {
    let address = |n| format!("https://github.com/octo/elsewhere/issues/{n}");
    let many: Vec<String> = (1..=501).map(address).collect();
    let many = issue(&fx, "Many", &many.join(" ")).await;
    let found = of_issue(&fx, &many).await;
    assert_eq!(found.mentions.len(), 500);
    let said = |w: &&Warning| w.message.contains("more than 500");
    assert_eq!(found.warnings.iter().filter(said).count(), 1, "{found:?}");
}

async fn mutual_references_link_both_ways(fx: Fixture) {
    let first = issue(&fx, "First", "").await;
    let second = issue(&fx, "Second", &format!("See {}", name(&first.id.key))).await;
    let both = format!("{} {}", name(&first.id.key), name(&second.id.key));
    let mut edit = EditIssue::default();
    edit.body = Some(both);
    fx.author.edit_issue(&first.id, &edit).await.unwrap();
    for (one, other) in [(&first, &second), (&second, &first)] {
        let found = of_issue(&fx, one).await;
        assert_eq!(ends(&found.mentions), [is_issue(other)]);
        assert_eq!(ends(&found.mentioned_by), [is_issue(other)]);
    }
}

async fn stacked_pulls_are_linked(fx: Fixture) {
    let lower = fx.open("lower").await;
    fx.git.set_branch("upper", "lower");
    fx.git
        .commit("upper", "Add upper", &[("upper.txt", Some("upper\n"))]);
    let client = fx.author.client().forge().capabilities();
    let own = client.has(Capability::PrCreateDependent);
    let mut req = CreatePull::new("upper", "Upper");
    match own {
        true => req.depends_on = Some(lower.id.clone()),
        false => req.base = Some("lower".to_owned()),
    }
    let upper = fx.author.create_pull(&req).await.unwrap().value;
    let found = of_pull(&fx, &upper).await;
    assert_eq!(ends(&found.depends_on), [is(&lower)]);
    let found = of_pull(&fx, &lower).await;
    assert!(found.depends_on.is_empty(), "{found:?}");
    if fx.facts.knows_what_is_on_top {
        assert_eq!(ends(&found.needed_by), [is(&upper)]);
    }
}
