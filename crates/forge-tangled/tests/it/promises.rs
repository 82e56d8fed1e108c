//! Guarantees that hold whenever a client is killed or a server fails. The stress suite kills the
//! program itself.

use crate::{claims, kill};

#[test]
fn sixty_random_writes_report_true_results() {
    // Fails unless each of the five ingestion states occurs.
    let tally = claims::hold(60);
    println!("{tally:?}");
    assert_eq!(tally.words.len(), 5, "{tally:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_create_opens_pull_once() {
    kill::creation().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_create_without_branch_opens_pull_once() {
    kill::creation_without_a_branch().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_resubmit_submits_round_once() {
    kill::round().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_command_comments_once() {
    kill::comments().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_merge_merges_and_records_once() {
    kill::merge().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_ticket_create_opens_ticket_once() {
    kill::ticket_creation().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_ticket_resubmit_submits_round_once() {
    kill::ticket_round().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_ticket_close_comments_once() {
    kill::ticket_comments().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_ticket_merge_pushes_and_records_once() {
    kill::ticket_merge().await;
}
