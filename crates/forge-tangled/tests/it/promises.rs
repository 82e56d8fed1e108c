use crate::claims;

/// The stress lane makes two thousand.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_claim_of_sixty_random_writes_is_false() {
    let tally = claims::hold(60).await;
    println!("{tally:?}");
    assert!(tally.done > 0, "{tally:?}");
}
