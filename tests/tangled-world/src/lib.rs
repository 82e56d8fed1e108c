//! Doubles of tangled's services on loopback: a directory of DIDs, PDSes with accounts, knots with
//! real git repositories, and an index that ingests the records written to them.
//!
//! ```no_run
//! use forge_tangled_world::{Fault, Moods, World};
//!
//! let world = World::start()?;
//! let alice = world.pds().account("alice.test", "secret");
//! let repo = world.repository(&alice, "widget");
//! repo.git.commit("topic", "Add a thing", &[("thing.txt", Some("a thing\n"))]);
//!
//! // The addresses that a client needs. The PDS resolves handles.
//! let directory = world.directory().host().url();
//! let (pds, index) = (world.pds().host().url(), world.index().host().url());
//! let (backlinks, web) = (world.index().backlinks().url(), world.index().web().url());
//!
//! // An answer that is lost after the commit, and an index that ingests no states.
//! world.pds().host().fault(Fault::reset().on("com.atproto.repo.applyWrites").committed());
//! world.index().set_moods(Moods { statuses: false, ..Moods::default() });
//!
//! // … run the client …
//!
//! assert_eq!(world.pds().host().count_of("com.atproto.repo.applyWrites"), 1);
//! let pulls = world.pds().records(&alice.did, "sh.tangled.repo.pull");
//! assert_eq!(world.index().knows(&pulls[0].0), Some(pulls[0].1.clone()));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Each service is a [`Host`]. A host counts requests, injects [`Fault`]s, can delay its answers,
//! and can be down. Tests read the actual state without requests: records with
//! [`PdsDouble::records`], refs with [`Repository::git`], and indexed records with
//! [`IndexDouble::knows`].
//!
//! A [`DnsDouble`] and [`HandleHosts`] resolve handles for a client that does not resolve them
//! through the PDS.
//!
//! The PDS answers as the reference implementation does. A test makes the same calls to both. The
//! repositories on the PDS are simplified: their commits have no proofs, and there is no firehose.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cloned_ref_to_slice_refs,
    reason = "a double of a test fails by panicking"
)]

mod atproto;
mod directory;
mod handles;
mod host;
mod identities;
mod index;
mod knot;
mod network;
mod pds;
mod real;
mod spindle;
mod worker;
mod world;
mod xrpc;

pub use directory::{DirectoryDouble, DocumentForm};
pub use handles::{DnsDouble, DnsMood, HandleHosts, Page};
pub use host::{Action, Caller, Fault, Front, Host, Names, Place, Recorded, Trap, XrpcAnswer};
pub use index::{IndexDouble, Moods};
pub use knot::{Audience, KnotDouble, KnotOptions, Repository};
pub use pds::{Account, PdsDouble, PdsOptions, session_token};
pub use real::RealWorld;
pub use spindle::SpindleDouble;
pub use world::World;
