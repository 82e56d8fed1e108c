//! A world of tangled's on loopback: a directory of DIDs, PDSes with accounts, knots with real git
//! repositories, and an index that follows what is written.
//!
//! ```no_run
//! use forge_testkit::tangled::{DirectoryDouble, Fault, World};
//!
//! let world = World::start()?;
//! let alice = world.pds().account("alice.test", "secret");
//! world.pds().host().fault(Fault::reset().on("com.atproto.repo.applyWrites").committed());
//! // … run a client with `world.directory().host().url()` for a directory …
//! assert_eq!(world.pds().host().count_of("com.atproto.repo.applyWrites"), 1);
//! # Ok::<(), std::io::Error>(())
//! ```

mod atproto;
mod directory;
mod host;
mod network;
mod pds;
mod world;
mod xrpc;

pub use directory::{DirectoryDouble, DocumentForm};
pub use host::{Action, Fault, Host, Recorded};
pub use pds::{Account, PdsDouble, PdsOptions};
pub use world::World;
