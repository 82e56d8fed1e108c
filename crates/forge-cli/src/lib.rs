//! The forge command line.
