//! The behaviour suite, and what tests need.

#[cfg(feature = "github")]
pub mod github;
