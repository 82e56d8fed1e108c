//! The lexicons of the records that we read and write, and a checker of records against them.
