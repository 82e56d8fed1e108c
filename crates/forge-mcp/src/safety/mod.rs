//! What a server refuses, and whom it asks first.

pub mod allow;
pub(crate) mod confirm;
pub(crate) mod gate;

pub use allow::AllowList;
