//! Everything needed to understand or judge a pull request, in one call.
//!
//! The parts are pure functions of what a forge has answered: the same answer gives the same bundle.

mod class;
mod gather;
mod linked;
mod pack;
mod readiness;
mod related;
mod risk;
#[cfg(test)]
mod sample;
mod section;
mod summary;

pub use class::*;
pub use gather::*;
pub use linked::*;
pub use pack::*;
pub use readiness::*;
pub use related::*;
pub use risk::*;
pub use section::*;
pub use summary::*;
