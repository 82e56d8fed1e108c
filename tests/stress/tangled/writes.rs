use crate::claims;

/// Number of random writes; `FORGE_WRITES` sets another number.
const WRITES: u64 = 2_000;

#[test]
fn random_writes_report_true_ingestion_states() {
    let writes = std::env::var("FORGE_WRITES").map_or(WRITES, |n| n.parse().unwrap());
    let tally = claims::hold(writes);
    println!("{tally:?}");
    if std::env::var_os("FORGE_SEED").is_none() {
        let ended = tally.done + tally.refused + tally.ambiguous + tally.killed;
        assert_eq!(ended, writes, "{tally:?}");
        assert!(tally.done > writes / 3, "{tally:?}");
        assert!(tally.killed > 0 && tally.ambiguous > 0, "{tally:?}");
        assert!(tally.again > 0, "{tally:?}");
    }
}
