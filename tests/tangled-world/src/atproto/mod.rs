//! Common parts of atproto: records as bytes, their ids, keys, tokens, clocks.

pub(crate) mod cbor;
pub(crate) mod cid;
pub(crate) mod jwt;
pub(crate) mod keys;
pub(crate) mod tid;
