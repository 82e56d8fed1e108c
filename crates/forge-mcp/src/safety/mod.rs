//! Permission checks of a server, and the seals of its confirmations.

pub(crate) mod accounts;
pub mod allow;
pub(crate) mod gate;
pub(crate) mod seals;

pub use allow::AllowList;
