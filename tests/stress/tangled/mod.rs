//! Tangled: the real program, killed at each of its requests, and many of it at once; and two
//! thousand random writes whose claims are held against the truth.

mod crowd;
mod hall;
mod kill;
mod workflow;
mod writes;
