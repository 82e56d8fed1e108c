//! Pull requests from forks: finds the fork, and the commits that the target repository lacks.

use std::sync::Arc;

use forge_core::{
    AtUri, Error, ErrorKind, ForgeKind, Hint, RepoId, RepoPath, Result, model::HeadRef,
    text::one_line,
};

use super::create::series;
use crate::{
    Era, ShFields, Tangled,
    hints::{AS_PATCH, OTHER_HEAD},
    knot::no_branch,
    patch::Patch,
    records::{self, Record},
    repository::{MAX_REPOS, TangledRepository},
};

impl Tangled {
    /// Returns the repository of a head branch, or `None` if that is `upstream` itself.
    pub(crate) async fn fork_of_head(
        &self,
        upstream: &TangledRepository,
        head: &HeadRef,
    ) -> Result<Option<Arc<TangledRepository>>> {
        let Some(owner) = &head.owner else {
            return Ok(None);
        };
        let did = self.did_of(upstream, owner).await?;
        let same = |name: &String| name.eq_ignore_ascii_case(&upstream.name);
        if did == upstream.owner.did && head.repo.as_ref().is_none_or(same) {
            return Ok(None);
        }
        let path = match &head.repo {
            // It is unknown how a Tangled 1.0 record names the source of a fork. So the fork is
            // expected to have the same name as its upstream repository.
            None if upstream.era == Era::Org10 => RepoPath::Named {
                owner: did,
                name: upstream.name.clone(),
            },
            Some(name) => RepoPath::Named {
                owner: did,
                name: name.clone(),
            },
            None => RepoPath::Record(self.find_only_fork(upstream, owner, &did).await?),
        };
        let fork = self.repository(&self.at(path)).await?;
        if upstream.era == Era::Org10 {
            check_comparable(&fork, upstream.era)?;
            return Ok(Some(fork));
        }
        if !is_fork_of(&fork.record, upstream, self.fields()) {
            return Err(Error::invalid(
                "head",
                format!(
                    "{} is no fork of {}: its record does not say so",
                    fork.id, upstream.id
                ),
            )
            .with_hint(
                Hint::new("name a fork, or submit the changes as a patch").with_action(OTHER_HEAD),
            ));
        }
        check_comparable(&fork, Era::Sh2026)?;
        Ok(Some(fork))
    }

    /// Returns the repository that a pull request's record names as its source.
    ///
    /// `era` is the protocol version of the target repository. It decides whether the source can be
    /// compared.
    pub(crate) async fn fork_of_source(
        &self,
        source: &str,
        era: Era,
    ) -> Result<Arc<TangledRepository>> {
        let path = match AtUri::parse(source) {
            Ok(uri) => RepoPath::Record(uri),
            Err(_) => RepoPath::Did(source.to_owned()),
        };
        let fork = self.repository(&self.at(path)).await?;
        check_comparable(&fork, era)?;
        Ok(fork)
    }

    fn at(&self, path: RepoPath) -> RepoId {
        RepoId {
            kind: ForgeKind::TANGLED,
            host: self.settings.host.clone(),
            path,
        }
    }

    /// Finds the repository of an account whose record names `upstream` as its source. Fails if the
    /// account has several such repositories.
    async fn find_only_fork(
        &self,
        upstream: &TangledRepository,
        owner: &str,
        did: &str,
    ) -> Result<AtUri> {
        let pds = self.identities.pds(did).await?;
        let collection = &self.settings.dialects.sh.repo;
        let all = records::all(&pds, did, collection, MAX_REPOS).await?;
        let forks: Vec<&Record> = all
            .records
            .iter()
            .filter(|r| is_fork_of(r, upstream, self.fields()))
            .collect();
        let owner = one_line(owner);
        match forks.as_slice() {
            [fork] => Ok(AtUri::parse(&fork.uri)?),
            [] => Err(
                Error::invalid("head", format!("{owner} has no fork of {}", upstream.id))
                    .with_hint(
                        Hint::new(
                            "fork it on its web page and push there, or submit the changes as a \
                             patch",
                        )
                        .with_action(AS_PATCH),
                    ),
            ),
            many => {
                let name = |r: &&Record| {
                    let name = one_line(self.named(r)).into_owned();
                    format!("{owner}/{name}")
                };
                let names: Vec<String> = many.iter().map(name).collect();
                Err(Error::invalid(
                    "head",
                    format!(
                        "{owner} has {} forks of {}: {}",
                        names.len(),
                        upstream.id,
                        names.join(", ")
                    ),
                )
                .with_hint(
                    Hint::from(format!("name one of them, as {owner}/NAME:BRANCH"))
                        .with_action(OTHER_HEAD),
                ))
            }
        }
    }

    /// Makes a patch from a branch of a fork, as [`Self::patch_from_knot`] does. The fork's knot
    /// fetches the base branch of `upstream` as a hidden ref, and compares the fork's branch with
    /// it.
    pub(crate) async fn patch_from_fork(
        &self,
        upstream: &TangledRepository,
        fork: &TangledRepository,
        (base, from): (&str, Option<&str>),
        head: &str,
    ) -> Result<(Patch, String)> {
        let (base_tip, head_tip) =
            futures::try_join!(self.branch(upstream, base), self.branch(fork, head))?;
        let base_tip = base_tip.ok_or_else(|| no_branch("base", upstream, base))?;
        head_tip.ok_or_else(|| no_branch("head", fork, head))?;
        let hidden = self.hidden_ref(fork, base, head).await.map_err(|e| {
            let denied = matches!(e.kind(), ErrorKind::PermissionDenied { .. });
            match denied {
                true => {
                    let text = format!(
                        "ask an account that may push to {} to open the pull request, or submit \
                         the changes as a patch",
                        fork.id
                    );
                    e.with_hint(Hint::from(text).with_action(AS_PATCH))
                }
                false => e,
            }
        })?;
        let compared = self.compare(fork, from.unwrap_or(&hidden), head).await?;
        let patch = series(compared, from.unwrap_or(base), head)?;
        Ok((patch, base_tip.hash))
    }
}

/// Checks that `fork` can be compared with a target repository of the protocol version `era`.
///
/// Two cases are known:
/// - 2026: the fork's knot fetches the target's branch as a hidden ref.
/// - Tangled 1.0: the two commits of a round can be in two repositories of 1.0.
fn check_comparable(fork: &TangledRepository, era: Era) -> Result<()> {
    if fork.era == era && era != Era::Sh2025 {
        return Ok(());
    }
    let spoken = fork.era.name();
    let (why, hint) = match era {
        Era::Org10 => (
            "and a Tangled 1.0 repository is not known to accept changes from such a fork",
            Hint::new("push the branch to the repository itself, or to a fork on Tangled 1.0"),
        ),
        Era::Sh2025 | Era::Sh2026 => (
            "and forks cannot be compared in that protocol",
            Hint::new("submit the changes as a patch").with_action(AS_PATCH),
        ),
    };
    Err(Error::invalid(
        "head",
        format!("{} uses tangled's protocol of {spoken}, {why}", fork.id),
    )
    .with_hint(hint))
}

/// Returns true if a repository's record names `upstream` as its source.
///
/// The source is a DID, an at-uri, or an address that ends with owner and name.
fn is_fork_of(record: &Record, upstream: &TangledRepository, fields: &ShFields) -> bool {
    let Some(source) = record.text(&fields.repo_source) else {
        return false;
    };
    let source = source.trim_end_matches('/');
    if upstream.is_target(source) {
        return true;
    }
    let mut parts = source.rsplit('/');
    let (name, owner) = (parts.next(), parts.next());
    let by_owner = owner.is_some_and(|owner| {
        let owner = owner.trim_start_matches('@');
        owner == upstream.owner.did || owner == upstream.owner.name()
    });
    let named = name.is_some_and(|name| name.eq_ignore_ascii_case(&upstream.name));
    source.starts_with("https://") && by_owner && named
}
