//! Check suites, check runs and commit statuses.

use super::Id;

/// The check runs of one workflow run or of one app, on a commit.
#[derive(Debug, Clone)]
pub struct CheckSuite {
    /// Number of the check suite.
    pub id: Id,
    /// The repository of the commit.
    pub repo: Id,
    /// The commit that the suite checks.
    pub commit: String,
    /// Name of the app that runs the suite.
    pub app: String,
    /// Name of the workflow, for a run of GitHub Actions.
    pub workflow: Option<String>,
    /// Event that started the workflow.
    pub event: Option<String>,
    /// Time at which the suite was created.
    pub created_at: String,
}

/// A run of one check on a commit.
#[derive(Debug, Clone)]
pub struct CheckRun {
    /// Number of the check run.
    pub id: Id,
    /// The suite of the check run.
    pub suite: Id,
    /// Name of the check run.
    pub name: String,
    /// GitHub's name for the status of the run.
    pub status: String,
    /// GitHub's name for the conclusion of the run.
    pub conclusion: Option<String>,
    /// Time at which the run started.
    pub started_at: Option<String>,
    /// Time at which the run was completed.
    pub completed_at: Option<String>,
    /// URL of a page with details of the run.
    pub details_url: Option<String>,
    /// Title of the run's output.
    pub title: Option<String>,
    /// Summary of the run's output.
    pub summary: Option<String>,
    /// Annotations on lines of files, each with a level, a path, a line and a message.
    pub annotations: Vec<(&'static str, String, u64, String)>,
    /// Steps of the run, each with GitHub's name for its conclusion.
    pub steps: Vec<(String, &'static str)>,
}

/// The status that an account has set on a commit.
#[derive(Debug, Clone)]
pub struct CommitStatus {
    /// Number of the commit status.
    pub id: Id,
    /// The repository of the commit.
    pub repo: Id,
    /// The commit that has the status.
    pub commit: String,
    /// Name of the status.
    pub context: String,
    /// GitHub's name for the state.
    pub state: String,
    /// Description of the status.
    pub description: Option<String>,
    /// URL of a page with details of the status.
    pub target_url: Option<String>,
    /// Account that set the status.
    pub creator: Id,
    /// Time at which the status was created.
    pub created_at: String,
}
