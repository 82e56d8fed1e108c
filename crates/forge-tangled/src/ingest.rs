//! Who can see a record that was written: the promise of this backend.

use std::time::{Duration, Instant};

use forge_core::{AtUri, ErrorKind, Ingestion};
use serde_json::Value;

use crate::{Tangled, records::Record, sources::Kind};

/// The longest pause between two looks.
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// What the index is asked for.
#[derive(Clone, Debug)]
pub(crate) enum Seen<'a> {
    /// The pull request itself, in this version.
    Pull,
    /// A record about a pull request.
    About(Kind, &'a str),
}

impl Tangled {
    /// Looks at the index until it shows the record in this version, or the wait is over.
    pub(crate) async fn ingestion(
        &self,
        seen: Seen<'_>,
        collection: &str,
        uri: &str,
        cid: &str,
    ) -> Ingestion {
        let wait = self.settings.wait;
        self.ingestion_within(wait, seen, collection, uri, cid)
            .await
    }

    /// As [`Self::ingestion`] for a pull request, of which an index that lost it hears once more:
    /// tangled's own drops what it fails to take in, and does not come back to it before the record
    /// changes (tangled.org core issue 533). Putting the same bytes again tells nobody, so an empty
    /// list of mentions is added, which means the same as none. Gives the CID of then.
    pub(crate) async fn ingestion_of_pull(&self, uri: &AtUri, cid: &str) -> (Ingestion, String) {
        let names = &self.settings.dialects.sh;
        let text = uri.to_string();
        let half = self.settings.wait / 2;
        let first = self
            .ingestion_within(half, Seen::Pull, &names.pull, &text, cid)
            .await;
        if !matches!(first, Ingestion::Pending { .. }) || half.is_zero() || !self.lost(&text).await
        {
            let rest = self.settings.wait.saturating_sub(half);
            let second = match first {
                Ingestion::Pending { .. } if !rest.is_zero() => {
                    self.ingestion_within(rest, Seen::Pull, &names.pull, &text, cid)
                        .await
                }
                first => first,
            };
            return (second, cid.to_owned());
        }
        let put = self
            .edit_record(uri, Some(cid), |value| {
                value
                    .entry("mentions")
                    .or_insert_with(|| Value::Array(Vec::new()));
                Ok(())
            })
            .await;
        let cid = match put {
            Ok(record) => record.cid().to_owned(),
            Err(_) => cid.to_owned(),
        };
        let rest = self.settings.wait.saturating_sub(half);
        let second = match self
            .ingestion_within(rest, Seen::Pull, &names.pull, &text, &cid)
            .await
        {
            Ingestion::Pending { uri, waited } => Ingestion::Pending {
                uri,
                waited: waited + half,
            },
            second => second,
        };
        (second, cid)
    }

    /// The index answers, and says that it has no such pull request.
    async fn lost(&self, uri: &str) -> bool {
        let index = self.index();
        let found = index
            .query::<Record>("sh.tangled.repo.getPull", &[("pull", uri)])
            .await;
        found.is_err_and(|e| e.is_not_found() || matches!(e.kind(), ErrorKind::InvalidInput { .. }))
    }

    async fn ingestion_within(
        &self,
        wait: Duration,
        seen: Seen<'_>,
        collection: &str,
        uri: &str,
        cid: &str,
    ) -> Ingestion {
        if let Some(why) = self.settings.not_ingested(collection) {
            return Ingestion::PdsOnly {
                instead: why.to_owned(),
            };
        }
        let begun = Instant::now();
        let mut pause = self.settings.poll;
        loop {
            let left = wait.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Ingestion::Pending {
                    uri: uri.to_owned(),
                    waited: begun.elapsed(),
                };
            }
            // A look that hangs must not outlast the wait.
            let look = tokio::time::timeout(left, self.is_indexed(&seen, uri, cid)).await;
            if let Ok(true) = look {
                return Ingestion::Confirmed {
                    by: self.settings.index.host().to_owned(),
                    after: begun.elapsed(),
                };
            }
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    async fn is_indexed(&self, seen: &Seen<'_>, uri: &str, cid: &str) -> bool {
        let index = self.index();
        match seen {
            Seen::Pull => {
                let found = index
                    .query::<Record>("sh.tangled.repo.getPull", &[("pull", uri)])
                    .await;
                found.is_ok_and(|r| r.uri == uri && r.cid() == cid)
            }
            Seen::About(kind, subject) => {
                let params = [("subject", *subject), ("limit", "1000"), ("order", "desc")];
                let page = index
                    .query::<crate::sources::Items>(kind.query, &params)
                    .await;
                page.is_ok_and(|page| {
                    page.items.iter().any(|item| {
                        let text = |name: &str| item.get(name).and_then(|v| v.as_str());
                        text("uri") == Some(uri) && text("cid").is_none_or(|c| c == cid)
                    })
                })
            }
        }
    }
}
