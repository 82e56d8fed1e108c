//! Who can see a record that was written: the promise of this backend.

use std::time::{Duration, Instant};

use forge_core::Ingestion;

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
        if let Some(why) = self.settings.not_ingested(collection) {
            return Ingestion::PdsOnly {
                instead: why.to_owned(),
            };
        }
        let begun = Instant::now();
        let mut pause = self.settings.poll;
        loop {
            let left = self.settings.wait.saturating_sub(begun.elapsed());
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
