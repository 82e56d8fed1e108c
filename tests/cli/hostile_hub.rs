//! Fills the GitHub double with the same text in every field that other people can write.

use forge_github_double::{
    PullSeed,
    state::{Permission, ReviewState},
};

use crate::hub::{Hub, REPO};

/// Creates pull request 1 with a failed check, reviews, a thread and comments, and issues 2 to 4.
/// Issue 3 is a sub-issue of issue 2, and issue 4 blocks it. Every text that other people can write
/// is `text`.
pub fn filled(text: &str) -> Hub {
    let hub = Hub::new();
    {
        let one_line = text.replace(['\n', '\r'], " ");
        let mut seed = hub.double.seed();
        seed.named_user("mallory", text);
        seed.collaborator(REPO, "mallory", Permission::Write);
        seed.label(REPO, text);
        seed.milestone(REPO, text);
        let content = format!("one\n{text}\n");
        let file = one_line.replace('/', "-");
        let files = [(file.as_str(), Some(content.as_str()))];
        seed.commit(REPO, "work", &files, text);
        let body = format!("{text}\n\nFixes #2.\n");
        seed.open_pull(
            REPO,
            &PullSeed {
                author: "mallory",
                title: text,
                body: &body,
                head: "work",
                labels: &[text],
                assignees: &["mallory"],
                ..PullSeed::default()
            },
        );
        let run = seed.check(REPO, 1, text, text, "FAILURE");
        seed.explain(run, (text, text), &[("FAILURE", file.as_str(), 1, text)]);
        seed.log(run, &format!("{text}\n{text}\n"));
        seed.status(REPO, 1, &one_line, "FAILURE");
        seed.comment(REPO, 1, "mallory", text);
        seed.review(REPO, 1, "mallory", ReviewState::Commented, text);
        seed.review(REPO, 1, "grace", ReviewState::ChangesRequested, text);
        seed.thread(REPO, 1, "mallory", &file);
        for _ in 2..5 {
            let number = seed.open_issue(REPO, "mallory", text, text);
            seed.label_issue(REPO, number, text);
            seed.comment(REPO, number, "mallory", text);
        }
        seed.sub_issue((REPO, 2), (REPO, 3));
        seed.blocked_by((REPO, 3), (REPO, 4));
    }
    hub
}
