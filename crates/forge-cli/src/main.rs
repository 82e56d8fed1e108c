//! The `forge` binary.
fn main() {}
