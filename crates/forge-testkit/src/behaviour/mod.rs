//! The behaviour suite: requirements that every backend must meet.
//!
//! A case runs in its own repository, on a rig whose forge has the capabilities that the case
//! needs. The name of the trial is `<rig>::<module>::<case>`. Missing capabilities are tested as
//! well: a trial for each requests the operation, and expects a refusal before anything is written.

use std::{future::Future, pin::Pin, sync::Arc};

use forge_core::{Capabilities, Capability, Error};
use libtest_mimic::Trial;

use crate::{canary, watch_logs};

mod branches;
mod comments;
mod commits;
mod create;
mod diff;
mod edit;
mod edits;
mod errors;
mod files;
mod find;
mod handle;
mod history;
mod issues;
mod labels;
mod links;
mod list;
mod merge;
mod mergeability;
mod revert;
mod reviews;
mod rig;
mod rounds;
mod stacks;
mod state;
mod threads;
mod unsupported;
mod update;
mod view;

pub use rig::{Facts, Fixture, Rig, SharedRig};

type Case = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Returns the trials of `rig`.
#[must_use]
pub fn trials(rig: &SharedRig) -> Vec<Trial> {
    let mut set = Set {
        rig: Arc::clone(rig),
        trials: Vec::new(),
        excepted: Vec::new(),
    };
    let modules = [
        create::cases,
        edits::cases,
        list::cases,
        view::cases,
        find::cases,
        edit::cases,
        state::cases,
        rounds::cases,
        stacks::cases,
        comments::cases,
        reviews::cases,
        threads::cases,
        issues::cases,
        labels::cases,
        links::cases,
        branches::cases,
        diff::cases,
        files::cases,
        commits::cases,
        history::cases,
        mergeability::cases,
        merge::cases,
        update::cases,
        revert::cases,
        handle::cases,
        errors::cases,
        unsupported::cases,
    ];
    for module in modules {
        module(&mut set);
    }
    let unknown: Vec<_> = rig
        .exceptions()
        .iter()
        .filter(|(case, _)| !set.excepted.contains(case))
        .collect();
    assert!(
        unknown.is_empty(),
        "exceptions for cases that would not run: {unknown:?}"
    );
    set.trials
}

/// The trials selected for one rig.
struct Set {
    rig: SharedRig,
    trials: Vec<Trial>,
    /// The rig's exceptions that matched a case.
    excepted: Vec<&'static str>,
}

impl Set {
    fn capabilities(&self) -> &'static Capabilities {
        self.rig.capabilities()
    }

    /// Adds a case if the forge has the capabilities that the case needs.
    fn add(
        &mut self,
        module: &str,
        name: &str,
        needs: &[Capability],
        case: impl FnOnce(Fixture) -> Case + Send + 'static,
    ) {
        if !needs.iter().all(|c| self.capabilities().has(*c)) {
            return;
        }
        let rig = Arc::clone(&self.rig);
        let module = module.rsplit("::").next().unwrap_or(module);
        let case_name = format!("{module}::{name}");
        let exceptions = rig.exceptions();
        if let Some((known, _)) = exceptions.iter().find(|(case, _)| *case == case_name) {
            self.excepted.push(known);
            return;
        }
        let title = format!("{}::{module}::{name}", rig.name());
        self.trials.push(Trial::test(title, move || {
            let _logs = watch_logs();
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async { case(rig.fixture().await).await });
            Ok(())
        }));
    }
}

/// Registers functions `async fn case(fx: Fixture)` of the calling module. Lists for each the
/// capabilities that it needs in addition to `pr.create`, `pr.list` and `pr.view`.
macro_rules! cases {
    ($set:expr; $($name:ident $([$($need:ident),+])?;)+) => {$(
        $set.add(
            module_path!(),
            stringify!($name),
            &[
                forge_core::Capability::PrCreate,
                forge_core::Capability::PrList,
                forge_core::Capability::PrView,
                $($(forge_core::Capability::$need),+)?
            ],
            |fx| Box::pin($name(fx)),
        );
    )+};
}
use cases;

/// Asserts that a call failed with `code`, that its message has one line, and that it contains no
/// token. Returns the error.
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, code: &str) -> Error {
    let error = match result {
        Ok(value) => panic!("the call succeeded, but had to fail with {code}: {value:?}"),
        Err(error) => error,
    };
    canary::refuse(
        "an error",
        "its text",
        format!("{error} {error:?}").as_bytes(),
    );
    assert_eq!(error.code(), code, "{error:?}");
    assert!(
        !error.message().is_empty() && !error.message().contains('\n'),
        "{error:?}"
    );
    error
}

/// Asserts that a call failed with `invalid_input`, like [`refused`], and that the error names
/// `field`.
fn invalid<T: std::fmt::Debug>(result: Result<T, Error>, field: &str) -> Error {
    let error = refused(result, "invalid_input");
    let found = match error.kind() {
        forge_core::ErrorKind::InvalidInput { field } => *field,
        _ => None,
    };
    assert_eq!(found, Some(field), "{error:?}");
    error
}
