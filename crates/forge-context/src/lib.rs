//! Gathers in one call everything that is needed to understand or judge a pull request. The result
//! is called a bundle.
//!
//! A bundle has sections (such as the diff and the checks), a summary, and the verdict whether the
//! pull request can be merged. All parts are pure functions of a forge's answers, so equal answers
//! give equal bundles. No language model is used.
//!
//! The crate also provides the watch: it polls a pull request until the pull request changes.

mod class;
mod events;
mod gather;
mod linked;
mod newest;
mod pace;
mod pack;
mod preflight;
mod readiness;
mod related;
mod risk;
#[cfg(test)]
mod sample;
mod section;
mod settings;
mod since;
mod source;
#[cfg(test)]
mod stub;
mod summary;
mod ticket;
mod watch;

pub use class::*;
pub use events::*;
pub use gather::*;
pub use linked::*;
pub use newest::MAX_ENTRIES;
pub use pace::*;
pub use pack::*;
pub use preflight::*;
pub use readiness::*;
pub use related::*;
pub use risk::*;
pub use section::*;
pub use settings::*;
pub use since::*;
pub use source::*;
pub use summary::*;
pub use ticket::*;
pub use watch::*;
