//! What a server refuses, and the seals of what it asks first.

pub(crate) mod accounts;
pub mod allow;
pub(crate) mod gate;
pub(crate) mod seals;

pub use allow::AllowList;
