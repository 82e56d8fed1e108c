//! Check suites, check runs and commit statuses.

use super::Id;

/// The check runs of a workflow run, or of an app, on a commit.
#[derive(Debug, Clone)]
pub struct CheckSuite {
    /// Number of the suite.
    pub id: Id,
    /// The repository.
    pub repo: Id,
    /// The commit.
    pub commit: String,
    /// Name of the app.
    pub app: String,
    /// Name of the workflow, for a run of GitHub Actions.
    pub workflow: Option<String>,
    /// The event that started the workflow.
    pub event: Option<String>,
    /// Time of creation.
    pub created_at: String,
}

/// A check run.
#[derive(Debug, Clone)]
pub struct CheckRun {
    /// Number of the run.
    pub id: Id,
    /// The suite.
    pub suite: Id,
    /// Name.
    pub name: String,
    /// GitHub's name of the status.
    pub status: String,
    /// GitHub's name of the conclusion.
    pub conclusion: Option<String>,
    /// Time of the start.
    pub started_at: Option<String>,
    /// Time of completion.
    pub completed_at: Option<String>,
    /// Page with details.
    pub details_url: Option<String>,
    /// Title of the run's output.
    pub title: Option<String>,
    /// Summary of the run's output.
    pub summary: Option<String>,
    /// Annotations at lines of files: the level, the path, the line and the message.
    pub annotations: Vec<(&'static str, String, u64, String)>,
    /// Steps, with GitHub's name of the conclusion.
    pub steps: Vec<(String, &'static str)>,
}

/// A commit status.
#[derive(Debug, Clone)]
pub struct CommitStatus {
    /// Number of the status.
    pub id: Id,
    /// The repository.
    pub repo: Id,
    /// The commit.
    pub commit: String,
    /// Name.
    pub context: String,
    /// GitHub's name of the state.
    pub state: String,
    /// Description.
    pub description: Option<String>,
    /// Page with details.
    pub target_url: Option<String>,
    /// Account that set the status.
    pub creator: Id,
    /// Time of creation.
    pub created_at: String,
}
