//! Code that all atproto doubles share: encoding of records, CIDs, keys, tokens and TIDs.

pub(crate) mod cbor;
pub(crate) mod cid;
pub(crate) mod jwt;
pub(crate) mod keys;
pub(crate) mod tid;
