//! The behaviour suite, and what tests need.
