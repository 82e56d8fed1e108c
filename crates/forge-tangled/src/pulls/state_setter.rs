//! States that Tangled's own account has set.
//!
//! The appview of tangled.org counts the state records of this account for every repository, as the
//! rule of its ingester says, and has written such records for pull requests of 2025. The account
//! has no other right. Its list of records is too long to be read whole, so each record is read by
//! its key, from the account's own server. Only the keys come from the index.

use std::collections::BTreeSet;

use forge_core::{Result, Warning};
use futures::future;

use super::status::Writers;
use crate::{
    Tangled,
    part_window::PartWindow,
    records::{self, Record},
    sources::{Kind, Sourced, is_down},
};

/// Maximum number of states of the account that are read about one subject, the newest first.
const MAX_STATES: usize = 10;

impl Tangled {
    /// Confirms the states of Tangled's account among the records of an index, and lets them count
    /// in `writers`. A state that its own server does not have as the index shows it does not
    /// count, and gives a warning.
    pub(crate) async fn confirm_states(
        &self,
        found: &mut Result<Sourced<Vec<Record>>>,
        writers: &mut Writers,
    ) {
        let (Some(account), Ok(found)) = (self.settings.state_setter(), found) else {
            return;
        };
        if writers.may_write(account) {
            return;
        }
        let states = found.value.iter().filter(|r| r.author() == account);
        let mut states: Vec<&Record> = states.collect();
        states.sort_by(|a, b| b.rkey().cmp(a.rkey()));
        let reads = states.into_iter().take(MAX_STATES).map(|shown| async move {
            let window = PartWindow::at_most(self.settings.account_wait);
            let read = self.read_state(account, shown.collection(), shown.rkey());
            let server = || "the server of Tangled's account".to_owned();
            (shown, window.read(server, read).await)
        });
        for (shown, read) in future::join_all(reads).await {
            let why = match read {
                Ok(Some(own)) if own.value == shown.value => {
                    writers.confirmed_states.insert(shown.uri.clone());
                    continue;
                }
                Ok(Some(_)) => "its server has another version of it".to_owned(),
                Ok(None) => "its server does not have it".to_owned(),
                Err(e) => e.message().to_owned(),
            };
            let message = format!(
                "the state {} of Tangled's account does not count: {why}",
                shown.uri
            );
            found.warnings.push(Warning::new(message));
        }
    }

    /// Reads the states that Tangled's account has set for `subject`, from the account's own
    /// server.
    ///
    /// # Errors
    /// Those of the index and of the backlinks if neither names the account's records, and those of
    /// the account's server. The state of the subject is then unknown.
    pub(super) async fn states_of_setter(
        &self,
        account: &str,
        kind: &Kind,
        subject: &str,
    ) -> Result<Vec<Record>> {
        let keys = self.keys_of_states(account, kind, subject).await?;
        let newest = keys.iter().rev().take(MAX_STATES);
        let reads = newest.map(|key| self.read_state(account, &kind.collection, key));
        let read = future::try_join_all(reads).await?;
        let about = |record: &Record| kind.subject(record) == Some(subject);
        Ok(read.into_iter().flatten().filter(about).collect())
    }

    /// Returns the keys of the account's records about `subject`. A flood of other accounts can cut
    /// the index's list. The backlinks are then asked for the records of this account alone.
    async fn keys_of_states(
        &self,
        account: &str,
        kind: &Kind,
        subject: &str,
    ) -> Result<BTreeSet<String>> {
        match self.ask_index(&kind.query, subject).await {
            Ok(listing) if !listing.is_cut => {
                let of_account = listing.records.iter().filter(|r| r.author() == account);
                return Ok(of_account.map(|r| r.rkey().to_owned()).collect());
            }
            Err(e) if !is_down(&e) => return Err(e),
            Ok(_) | Err(_) => {}
        }
        self.linked_keys(kind, subject, account).await
    }

    async fn read_state(
        &self,
        account: &str,
        collection: &str,
        key: &str,
    ) -> Result<Option<Record>> {
        let pds = self.identities.pds(account).await?;
        records::find(&pds, account, collection, key).await
    }
}
