//! Tests of the backend on doubles of tangled's services, including their faults.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod applied;
mod base_stacks;
mod bounds;
mod branch_names;
mod branches;
mod bytes;
mod checks;
mod claims;
mod crowd;
mod deciding_states;
mod dialects;
mod forks;
mod handles;
mod hostile;
mod identity;
mod ingestion;
mod issues;
mod issues_edits;
mod issues_fields;
mod issues_relations;
mod issues_talk;
mod kept;
mod kill;
mod links;
mod lists_without_end;
mod manifest_probe;
mod merge;
mod moved;
mod null_fields;
mod old_comments;
mod opt_in;
mod pins;
mod private_addresses;
mod promises;
mod requests;
mod resolver;
mod rounds;
mod sessions;
mod shapes;
mod silent_servers;
mod stage;
mod state_setter;
mod ticket_claims;
mod ticket_forks;
mod ticket_ground;
mod ticket_keeps;
mod ticket_merge;
mod ticket_records;
mod tickets;
mod unfinished;
mod versions;
mod weeks;
mod writes;
