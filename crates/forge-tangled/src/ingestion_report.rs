//! Reports whether an account and tangled's index have a record, and why the index lacks it.

use std::time::{Duration, Instant};

use forge_core::{
    Action, AtUri, Call, Error, ErrorKind, ForgeKind, Hint, Ingestion, Noun, Op, Param,
    Precondition, RepoId, RepoPath, Result, Timestamp, model::RecordIngestion, text::one_line,
};
use serde::Serialize;

use crate::{
    Era, Tangled,
    declaration::Undeclared,
    ingest::{IndexProbe, Seen},
    ingested_collections::{RecordWrite, instead_of},
    pulls::record::TangledPull,
    records::{self, Record},
    related_records,
    sources::TargetField,
};

/// Age above which a slow index no longer explains a missing record.
const SLOW: Duration = Duration::from_secs(60);
/// Why records of Tangled 1.0 need no ingestion.
const READ_WHERE_STORED: &str = "records of Tangled 1.0 are read from the account that stores \
                                 them, so no index has to ingest them";

/// Report on a record and on the services that show the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IngestionReport {
    /// At-uri of the record.
    pub uri: String,
    /// Collection of the record.
    pub collection: String,
    /// CID of the record's version in its account.
    pub cid: String,
    /// The PDS (account server) of the record's account.
    pub server: String,
    /// Which version of the record the index shows.
    pub index: IndexShows,
    /// Whether the index has ingested the record.
    pub ingestion: Ingestion,
    /// Reason for the value of `ingestion`.
    pub because: String,
    /// Recovery for a record that the index lacks, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<Hint>,
}

/// Which version of a record an index shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "shows", rename_all = "snake_case")]
#[non_exhaustive]
pub enum IndexShows {
    /// The current version of the record.
    This {
        /// Host of the index.
        host: String,
    },
    /// Another version of the record.
    Another {
        /// Host of the index.
        host: String,
        /// The CID of that version.
        cid: String,
    },
    /// No version of the record.
    Nothing {
        /// Host of the index.
        host: String,
    },
    /// The index does not answer.
    NoAnswer {
        /// Host of the index.
        host: String,
        /// Message of the failed request.
        why: String,
    },
    /// The index was not queried, because its answer would not change the ingestion state.
    NotAsked,
}

/// What the report says about a record and the index.
struct IndexVerdict {
    index: IndexShows,
    ingestion: Ingestion,
    because: String,
    instead: Option<Hint>,
}

impl Tangled {
    /// Reports whether the account and the index have a record. The record is a pull request, an
    /// issue, a status of a pull request or issue, a comment, a label operation, a label definition
    /// or a repository (whose record lists its labels).
    ///
    /// # Errors
    /// `not_found` for a record that is not in its account; `invalid_input` for a record of another
    /// kind.
    pub async fn check_ingestion(&self, uri: &AtUri) -> Result<IngestionReport> {
        let uri = self.with_did(uri.clone()).await?;
        if self.settings.dialects.is_org(&uri.collection) {
            return self.check_ticket(&uri).await;
        }
        let known = self.is_known(&uri)?;
        let pds = self.identities.pds(&uri.authority).await?;
        let server = pds.origin().host().to_owned();
        let record = records::get_uri(&pds, &uri)
            .await
            .map_err(|e| gone(&uri, &server, e))?;
        let IndexVerdict {
            index,
            ingestion,
            because,
            instead,
        } = self.index_verdict(&record, &uri, known).await;
        Ok(IngestionReport {
            uri: uri.to_string(),
            collection: uri.collection.clone(),
            cid: record.cid().to_owned(),
            server,
            index,
            ingestion,
            because,
            instead,
        })
    }

    /// Determines the ingestion state of a pull request whose record was just read from its
    /// account. Queries the index once. If the index does not show the record, searches for a proof
    /// that the index drops it.
    pub(crate) async fn ingestion_of_pull(&self, pull: &TangledPull) -> RecordIngestion {
        let found = self
            .index_verdict(&pull.record, &pull.uri, Known::Yes)
            .await;
        let record = &pull.record;
        let mut ingestion =
            RecordIngestion::new(&record.uri, record.cid(), found.ingestion, found.because);
        ingestion.answered = !matches!(found.index, IndexShows::NoAnswer { .. });
        ingestion.recovery = found.instead;
        ingestion
    }

    async fn index_verdict(&self, record: &Record, uri: &AtUri, known: Known) -> IndexVerdict {
        let report = |index, ingestion, because: String, instead: Option<Hint>| IndexVerdict {
            index,
            ingestion,
            because,
            instead,
        };
        let subject = self.subject(record);
        let not_ingested = match known {
            Known::No(instead) => Some((uri.collection.clone(), instead)),
            Known::Yes => self.not_taken_in(subject.as_ref(), uri).map(|collection| {
                let names = &self.settings.dialects;
                let instead = instead_of(&uri.collection, RecordWrite::New, names);
                (collection, instead)
            }),
        };
        // An index that stopped to ingest a collection may list an older record of it.
        let may_list = not_ingested.as_ref().is_some_and(|(collection, _)| {
            let is_known = matches!(known, Known::Yes);
            is_known && !self.settings.ingested.lacks(collection)
        });
        let pds_only = |index, (collection, instead): (String, &str), any_more: &str| {
            let ingestion = Ingestion::PdsOnly {
                instead: instead.to_owned(),
            };
            let mut because = format!("this index does not ingest {collection}{any_more}");
            if collection != uri.collection {
                because.push_str(", and the record is about such a record");
            }
            let instead = Some(Hint::from(instead));
            report(index, ingestion, because, instead)
        };
        if let Some(row) = not_ingested.clone().filter(|_| !may_list) {
            return pds_only(IndexShows::NotAsked, row, "");
        }
        let begun = Instant::now();
        let look = match &subject {
            Some(seen) => self.probe(seen, &record.uri, record.cid()).await,
            None => IndexProbe::Absent,
        };
        let took = begun.elapsed();
        let host = self.settings.index.host().to_owned();
        if let Some(row) = not_ingested.filter(|_| matches!(look, IndexProbe::Absent)) {
            return pds_only(IndexShows::Nothing { host }, row, " any more");
        }
        let names = &self.settings.dialects.sh;
        let right = [&names.status, &names.issue_state, &names.label_op]
            .iter()
            .any(|name| **name == uri.collection);
        // An index may show a state or a label operation that it ignores, so a reason is searched
        // for even then. All other records count if the index shows them.
        let dropped = match &look {
            IndexProbe::Shown if right => self.find_subject_fault(record).await,
            IndexProbe::Shown => None,
            _ => self.find_drop_reason(record).await,
        };
        let is_drop = matches!(look, IndexProbe::Shown) || self.is_drop_shown(&look);
        let (index, because, instead) = explained(look, &host, self.age(record, uri), uri);
        match dropped {
            Some(reason) if is_drop => {
                let because = match &index {
                    IndexShows::This { host } => {
                        format!("{host} lists the record, but the record does not count: {reason}")
                    }
                    _ => format!("the index ignores it: {reason}"),
                };
                let ingestion = Ingestion::Ineffective {
                    uri: uri.to_string(),
                    reason,
                };
                let instead = self.remedy(record, uri).await;
                report(index, ingestion, because, Some(instead))
            }
            None if matches!(index, IndexShows::This { .. }) => {
                let ingestion = Ingestion::Confirmed {
                    by: host,
                    after: took,
                };
                report(index, ingestion, because, instead)
            }
            reason => {
                let age = self.age(record, uri).unwrap_or_default();
                let doubt = self.doubt_of(&uri.collection, reason);
                let because = match (&doubt, &index) {
                    (Some(doubt), IndexShows::Nothing { host }) => {
                        format!("{host} does not list the record; {doubt}")
                    }
                    (Some(doubt), _) => format!("{because}; {doubt}"),
                    (None, _) => because,
                };
                let ingestion = Ingestion::Pending {
                    uri: Some(uri.to_string()),
                    waited: age,
                    doubt,
                };
                report(index, ingestion, because, instead)
            }
        }
    }

    /// Rewrites one of the viewer's records with a meaningless change, so that the index reads it
    /// again. Then waits until the index shows the record. If the ingestion is not `pending`, the
    /// record is left as it is, and the report says so.
    ///
    /// # Errors
    ///
    /// As [`Self::check_ingestion`]; `permission_denied` for another account's record;
    /// `precondition_failed` for a record about a repository that uses Tangled 1.0 by now.
    pub async fn put_again(&self, uri: &AtUri) -> Result<IngestionReport> {
        let before = self.check_ingestion(uri).await?;
        // A confirmed record needs no rewrite. In the remaining ingestion states, a rewrite does
        // not help.
        if !matches!(before.ingestion, Ingestion::Pending { .. }) {
            let because = format!("{}; the record was left as it is", before.because);
            return Ok(IngestionReport { because, ..before });
        }
        let uri = AtUri::parse(&before.uri)?;
        let undeclared = self.not_declared(&uri).await?;
        self.put_changed(undeclared, &uri, &before.cid).await?;
        let begun = Instant::now();
        let mut pause = self.settings.poll;
        loop {
            let now = self.check_ingestion(&uri).await?;
            let left = self.settings.wait.saturating_sub(begun.elapsed());
            if matches!(now.ingestion, Ingestion::Confirmed { .. }) || left.is_zero() {
                return Ok(now);
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }

    /// Refuses a record about a repository that uses Tangled 1.0 by now. For such a repository,
    /// forge neither writes nor repeats a record of the older protocol. A label definition passes,
    /// because it belongs to no repository.
    async fn not_declared(&self, uri: &AtUri) -> Result<Undeclared> {
        let pds = self.identities.pds(&uri.authority).await?;
        let record = records::get_uri(&pds, uri).await?;
        let about = match self.subject(&record) {
            Some(Seen::Pull(_) | Seen::Issue(_) | Seen::Repository) => uri.clone(),
            Some(Seen::About(_, subject)) => AtUri::parse(subject)?,
            _ => return Ok(Undeclared::of_no_repository()),
        };
        let names = &self.settings.dialects.sh;
        let id = if about.collection == names.repo {
            RepoId {
                kind: ForgeKind::TANGLED,
                host: self.settings.host.clone(),
                path: RepoPath::Record(about),
            }
        } else if about.collection == names.issue {
            self.issue_of_record(&about).await?.repo
        } else {
            self.pull_of_record(&about).await?.repo
        };
        let repository = self.repository(&id).await?;
        if repository.era != Era::Org10 {
            return self.undeclared(&repository).await;
        }
        Err(Error::precondition(
            Precondition::Rule,
            format!(
                "the record was left as it is: {uri} is about {id}, which uses Tangled 1.0 by now, \
                 and forge writes no records of the older protocol to it"
            ),
        )
        .with_hint(
            Hint::new("list the pull requests and the issues that the repository has now")
                .with_action(Action::op(Op::PrList)),
        ))
    }

    /// Reports on a record of Tangled 1.0. No index is asked, because every reader reads such a
    /// record from the knot that stores it.
    async fn check_ticket(&self, uri: &AtUri) -> Result<IngestionReport> {
        let account = self.identities.of_did(&uri.authority).await?;
        let origin = match account.document.knot(self.settings.reach) {
            Ok(knot) => knot,
            Err(_) => account.document.pds(self.settings.reach)?,
        };
        let server = origin.host().to_owned();
        let xrpc = self.identities.service(origin).await?;
        let record = records::get_uri(&xrpc, uri)
            .await
            .map_err(|e| gone(uri, &server, e))?;
        Ok(IngestionReport {
            uri: uri.to_string(),
            collection: uri.collection.clone(),
            cid: record.cid().to_owned(),
            server,
            index: IndexShows::NotAsked,
            ingestion: Ingestion::Immediate,
            because: READ_WHERE_STORED.to_owned(),
            instead: None,
        })
    }

    /// As [`Self::ingestion_of_pull`], for a pull request of Tangled 1.0.
    pub(crate) fn ingestion_of_ticket(pull: &TangledPull) -> RecordIngestion {
        let (record, immediate) = (&pull.record, Ingestion::Immediate);
        RecordIngestion::new(&record.uri, record.cid(), immediate, READ_WHERE_STORED)
    }

    fn is_known(&self, uri: &AtUri) -> Result<Known> {
        let names = &self.settings.dialects.sh;
        let collection = uri.collection.as_str();
        if collection == names.old_comment || collection == names.old_issue_comment {
            return Ok(Known::No(
                "comment again: forge writes the newer type of comment record",
            ));
        }
        let all = [
            &names.pull,
            &names.status,
            &names.issue,
            &names.issue_state,
            &names.comment,
            &names.label_op,
            &names.label,
            &names.repo,
        ];
        if all.iter().any(|name| **name == collection) {
            return Ok(Known::Yes);
        }
        let all: Vec<&str> = all.iter().map(|name| name.as_ref()).collect();
        Err(Error::invalid(
            "uri",
            format!(
                "a record of {} is not part of a pull request, an issue or a repository",
                one_line(collection)
            ),
        )
        .with_hint(format!("name a record of {}", all.join(", "))))
    }

    /// Returns the index query that finds the record.
    pub(crate) fn subject<'a>(&self, record: &'a Record) -> Option<Seen<'a>> {
        let dialects = &self.settings.dialects;
        let collection = record.uri.split('/').nth(3)?;
        if collection == dialects.sh.pull {
            let targets = related_records::targets_of_pulls(dialects);
            return TargetField::find(&targets, record).map(Seen::Pull);
        }
        if collection == dialects.sh.issue {
            let targets = related_records::targets_of_issues(dialects);
            return TargetField::find(&targets, record).map(Seen::Issue);
        }
        if collection == dialects.sh.label {
            return Some(Seen::Definition(record.author()));
        }
        if collection == dialects.sh.repo {
            return Some(Seen::Repository);
        }
        let kinds = [
            related_records::statuses(dialects),
            related_records::issue_states(dialects),
            related_records::comments(dialects),
            related_records::label_ops(dialects),
        ];
        let kind = kinds.into_iter().find(|k| k.collection == collection)?;
        let subject = kind.subject(record)?;
        Some(Seen::About(kind, subject))
    }

    /// Returns the time since a record was written.
    fn age(&self, record: &Record, uri: &AtUri) -> Option<Duration> {
        let written = record
            .created_at(&self.fields().created_at)
            .or_else(|| crate::tid::time(&uri.rkey))?;
        let seconds = Timestamp::now().unix().checked_sub(written.unix())?;
        u64::try_from(seconds).ok().map(Duration::from_secs)
    }

    async fn remedy(&self, record: &Record, uri: &AtUri) -> Hint {
        let names = &self.settings.dialects.sh;
        let anew = Hint::new("open a new one with the same content, and close this one");
        if uri.collection == names.pull {
            anew.with_action(Action::op(Op::PrCreate))
        } else if uri.collection == names.issue {
            anew.with_action(Action::op(Op::IssueCreate))
        } else if self.missing_subject(record).await.is_some() {
            Hint::new("write about an existing pull request or issue, which the lists show")
                .with_action(Action::op(Op::PrList))
        } else {
            Hint::new("ask the owner of the repository to make the change, or leave a comment")
        }
    }
}

enum Known {
    Yes,
    /// A collection that no current index ingests, with the recovery.
    No(&'static str),
}

/// Converts the answer of an index to its part of the report, an explanation, and a hint.
fn explained(
    look: IndexProbe,
    host: &str,
    age: Option<Duration>,
    uri: &AtUri,
) -> (IndexShows, String, Option<Hint>) {
    let host_name = host.to_owned();
    let ask = || Action::new(Call::Ingestion).on(uri);
    let again = Hint::new("write the record again, so that the index reads it")
        .with_action(ask().with(Param::PutAgain, "true"));
    let later = Hint::new("check again in a while; nothing is lost").with_action(ask());
    match look {
        IndexProbe::Shown => (
            IndexShows::This { host: host_name },
            format!("{host} shows this version"),
            None,
        ),
        IndexProbe::Other(cid) => (
            IndexShows::Another {
                host: host_name,
                cid,
            },
            format!(
                "{host} shows another version of the record: the index lags, or failed to ingest \
                 the last change"
            ),
            Some(again),
        ),
        IndexProbe::Absent if age.is_some_and(|age| age < SLOW) => (
            IndexShows::Nothing { host: host_name },
            format!(
                "{host} does not show the record, which is less than a minute old: the index lags"
            ),
            Some(later),
        ),
        IndexProbe::Absent => (
            IndexShows::Nothing { host: host_name },
            format!(
                "{host} does not list the record, although it is valid: the index has lost the \
                 record, which it reads again only after a change, or could not read it from its \
                 server just now"
            ),
            Some(again),
        ),
        IndexProbe::Silent(e) => (
            IndexShows::NoAnswer {
                host: host_name,
                why: one_line(e.message()).into_owned(),
            },
            format!("{host} does not answer, so the state of the record there is unknown"),
            Some(later),
        ),
    }
}

fn gone(uri: &AtUri, server: &str, error: Error) -> Error {
    if !error.is_not_found() {
        return error;
    }
    Error::new(
        ErrorKind::NotFound { what: Noun::Other },
        format!("there is no record {uri} on {server}"),
    )
    .with_hint("look at the at-uri; the record was deleted, or never written")
    .with_source(error)
}
