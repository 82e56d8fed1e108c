//! Finds the accounts that a caller names, by handle or DID.
//!
//! A handle and a `did:web` are looked up at the host in the name. A caller that is restricted to
//! some repositories ([`NamedAccounts::OfRepository`]) must not choose such a host. For such a
//! caller the name is compared with the accounts that the repository itself names.

use std::collections::BTreeSet;

use forge_core::{Action, Error, ErrorKind, Hint, NamedAccounts, Op, Result, call, text::one_line};

use crate::{
    Era, Tangled,
    index_pager::{IndexPager, Item},
    records::author_of,
    repository::TangledRepository,
};

/// Number of rows in one request for the authors of a list.
const PAGE: usize = 1_000;

impl Tangled {
    /// Returns the DID of an account that a user named; `@me` is the viewer.
    ///
    /// # Errors
    /// `permission_denied` if the caller may name the accounts of `repository` alone, and the
    /// repository does not name this one.
    pub(crate) async fn did_of(
        &self,
        repository: &TangledRepository,
        name: &str,
    ) -> Result<String> {
        if name == "@me" {
            return Ok(self.session.viewer().await?.identity.did.clone());
        }
        match call::named_accounts() {
            NamedAccounts::Any => Ok(self.identities.account(name).await?.did),
            NamedAccounts::OfRepository => self.did_in_repository(repository, name).await,
        }
    }

    /// Refuses the name of an account for a caller that may name the accounts of a repository alone.
    ///
    /// # Errors
    /// `permission_denied`.
    pub(crate) fn check_any_account(name: &str) -> Result<()> {
        match call::named_accounts() {
            NamedAccounts::Any => Ok(()),
            NamedAccounts::OfRepository => Err(refused(name, "this call has no repository")),
        }
    }

    /// Returns the DID of an account that the repository names: of its owner, a collaborator, the
    /// viewer, or the author of a pull request or an issue in its lists.
    async fn did_in_repository(
        &self,
        repository: &TangledRepository,
        name: &str,
    ) -> Result<String> {
        let wanted = name.strip_prefix('@').unwrap_or(name);
        let known = self.known_accounts(repository, None).await;
        if let Some(did) = self.find_account(known, wanted).await {
            return Ok(did);
        }
        let authors = match repository.era {
            Era::Org10 => {
                let (pulls, ..) = self.tickets(repository).await?;
                pulls.iter().map(|pull| pull.author().to_owned()).collect()
            }
            Era::Sh2025 | Era::Sh2026 => self.listed_authors(repository).await?,
        };
        let found = self.find_account(authors, wanted).await;
        found.ok_or_else(|| {
            let why = format!("{} does not name that account", repository.id);
            refused(wanted, &why)
        })
    }

    /// Returns the account of `accounts` that has this name. Only the names of `accounts` are looked
    /// up.
    async fn find_account(&self, accounts: BTreeSet<String>, wanted: &str) -> Option<String> {
        if wanted.starts_with("did:") {
            return accounts.contains(wanted).then(|| wanted.to_owned());
        }
        self.learn_names(accounts.clone()).await;
        for did in accounts {
            if self
                .identities
                .name_of(&did)
                .await
                .eq_ignore_ascii_case(wanted)
            {
                return Some(did);
            }
        }
        None
    }

    /// Returns the authors of the pull requests and issues that the index lists.
    async fn listed_authors(&self, repository: &TangledRepository) -> Result<BTreeSet<String>> {
        let names = &self.settings.dialects;
        let fields = &names.inputs.index;
        let mut authors = BTreeSet::new();
        for method in [
            &names.methods.index.list_pulls,
            &names.methods.index.list_issues,
        ] {
            let params = vec![(&*fields.subject, repository.target())];
            let index = self.index_or_others();
            let mut walk = IndexPager::new(index, (method, fields), params, None, PAGE);
            while let Some(row) = walk.next().await? {
                if let Ok(item) = Item::parse(row, "record", fields) {
                    authors.insert(author_of(&item.record.uri).to_owned());
                }
            }
        }
        Ok(authors)
    }
}

fn refused(name: &str, why: &str) -> Error {
    let kind = ErrorKind::PermissionDenied {
        missing: vec!["--allow-repo".to_owned()],
        sso_url: None,
    };
    let message = format!(
        "{} is not looked up, because this server is limited to certain repositories, and {why}",
        one_line(name)
    );
    Error::new(kind, message).with_hint(Hint::fixed(
        "name the owner, a collaborator, or an author in the lists of this repository",
        Action::op(Op::PrList),
    ))
}
