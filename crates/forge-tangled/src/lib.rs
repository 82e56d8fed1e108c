//! Pull requests on tangled: atproto records, and an honest word on who can see them.

pub mod lexicon;
