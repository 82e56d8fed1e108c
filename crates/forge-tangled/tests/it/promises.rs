//! Guarantees that hold whenever a client is killed or a server fails. The stress suite tests more
//! cases.

use crate::{claims, kill};

/// Step between the killed requests.
const STEP: u64 = 3;

#[test]
fn sixty_random_writes_report_true_results() {
    // Fails unless each of the five ingestion states occurs.
    let tally = claims::hold(60);
    println!("{tally:?}");
    assert_eq!(tally.words.len(), 5, "{tally:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_create_opens_pull_once() {
    kill::creation(STEP).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_create_without_branch_opens_pull_once() {
    // Every second request is killed, before and after; the write is among these requests.
    kill::creation_without_a_branch(2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_resubmit_submits_round_once() {
    kill::round(STEP).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_command_comments_once() {
    kill::comments(STEP).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_merge_merges_and_records_once() {
    kill::merge(STEP).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_ticket_create_opens_ticket_once() {
    kill::ticket_creation(STEP).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_ticket_resubmit_submits_round_once() {
    kill::ticket_round(STEP).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_ticket_close_comments_once() {
    kill::ticket_comments(STEP).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_ticket_merge_pushes_and_records_once() {
    kill::ticket_merge(STEP).await;
}
