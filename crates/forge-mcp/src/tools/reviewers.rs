//! Reports which reviewers were requested, and which reviewers could not be requested.

use forge_core::{
    Outcome,
    model::{PullRequest, Reviewer},
};
use rmcp::schemars::{self, JsonSchema};
use serde::Serialize;

use super::write_output;
use crate::{
    calls::{CallContext, ToolOutput},
    content::{self, Clean, people},
    output::WriteOut,
};

/// Result of a write that can request reviews.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ReviewersOut {
    #[serde(flatten)]
    written: WriteOut,
    /// Reviewers that were asked
    #[serde(skip_serializing_if = "Vec::is_empty")]
    requested: Vec<Clean>,
    /// Reviewers that were not asked, and why
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<SkippedReviewer>,
}

/// A reviewer who was not asked, and why.
#[derive(Debug, Serialize, JsonSchema)]
struct SkippedReviewer {
    name: Clean,
    reason: Clean,
}

/// Returns the result of a write that requests reviews from `wanted`.
pub(super) fn answer(
    call: &CallContext,
    did: &str,
    wanted: &[Reviewer],
    outcome: &Outcome<PullRequest>,
) -> ToolOutput<ReviewersOut> {
    let (mut requested, mut skipped) = (Vec::new(), Vec::new());
    for reviewer in wanted {
        let name = call.cleaner.line(reviewer.handle());
        if is_asked(reviewer, &outcome.value) {
            requested.push(name);
        } else {
            let reason = call.cleaner.line(&reason(reviewer, outcome));
            skipped.push(SkippedReviewer { name, reason });
        }
    }
    let ToolOutput { mut text, data } = write_output::of_pull(call, did, outcome);
    if !requested.is_empty() {
        text.push_str(&format!("\nasked for a review: {}", people(&requested)));
    }
    for SkippedReviewer { name, reason } in &skipped {
        let who = content::name(name);
        text.push_str(&format!("\nnot asked for a review: @{who}: {reason}"));
    }
    ToolOutput {
        text,
        data: ReviewersOut {
            written: data,
            requested,
            skipped,
        },
    }
}

/// Returns true if the forge lists the reviewer as asked. A bot may also be named by a prefix of
/// its login.
fn is_asked(wanted: &Reviewer, pull: &PullRequest) -> bool {
    let mut asked = pull.pending_reviewers.iter();
    asked.any(|asked| is_same(wanted, asked))
}

fn is_same(wanted: &Reviewer, asked: &Reviewer) -> bool {
    let name = wanted.handle().trim_start_matches('@').to_lowercase();
    let shown = asked.handle().to_lowercase();
    match asked {
        Reviewer::Bot { .. } => shown.starts_with(&name),
        Reviewer::User { .. } | Reviewer::Team { .. } => shown == name,
    }
}

/// Returns why a reviewer was not asked: the forge's warning about the reviewer, or a default text.
fn reason(wanted: &Reviewer, outcome: &Outcome<PullRequest>) -> String {
    let name = wanted.handle().trim_start_matches('@');
    let told = outcome.warnings.iter().map(|w| w.message.as_str());
    let about = told
        .clone()
        .find(|m| m.contains(name))
        .or_else(|| told.clone().find(|m| m.contains("reviewers")));
    about.map_or_else(
        || "the forge does not list this reviewer as requested".to_owned(),
        str::to_owned,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reviewer_names_match_regardless_of_case() {
        let user = Reviewer::user;
        let team = |slug: &str| Reviewer::parse(slug);
        let bot = Reviewer::Bot {
            login: "copilot-pull-request-reviewer".to_owned(),
        };
        let asked = [user("Grace"), team("octo/core"), bot];
        for (wanted, is) in [
            (user("grace"), true),
            (user("@GRACE"), true),
            (user("grac"), false),
            (team("Octo/Core"), true),
            (team("other/core"), false),
            (user("@copilot"), true),
            (user("linus"), false),
        ] {
            let found = asked.iter().any(|a| is_same(&wanted, a));
            assert_eq!(found, is, "{}", wanted.handle());
        }
    }
}
