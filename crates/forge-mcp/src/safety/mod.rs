//! What a server refuses, and whom it asks first.

pub(crate) mod accounts;
pub mod allow;
pub(crate) mod confirm;
pub(crate) mod gate;

pub use allow::AllowList;
