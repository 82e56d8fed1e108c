//! Rules of the workspace that no compiler checks: who may depend on whom, under which licences,
//! where forges may be told apart, and that no test is forgotten.

mod dependencies;
mod metadata;
mod sources;
