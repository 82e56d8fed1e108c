//! The library: open any forge by URI, configuration and accounts.
