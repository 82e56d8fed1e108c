//! Pull requests kept inside a git repository.
