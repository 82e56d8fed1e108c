//! Pull requests that concern the viewer.

use forge_core::{
    Result,
    model::{HeadRef, PrFields, PrState, PullStatus, StateFilter},
};

use super::list::ScanStep;
use crate::{
    Local,
    ident::identity,
    store::{Snapshot, same_login},
};

impl Local {
    pub(crate) async fn status_of(
        &self,
        head: Option<&HeadRef>,
        fields: PrFields,
    ) -> Result<PullStatus> {
        let viewer = identity(self.user_git()).await?;
        let mut cat = self.store.cat();
        let (mut mine, mut waiting) = (Vec::new(), Vec::new());
        let asked = |s: &Snapshot| {
            s.pending_reviewers
                .iter()
                .any(|r| same_login(r.handle(), &viewer.actor.login))
        };
        let concerns =
            |s: &Snapshot| s.state == PrState::Open && (viewer.is(&s.author.login) || asked(s));
        self.scan(&mut cat, StateFilter::Open, concerns, |pull| {
            if viewer.is(&pull.snapshot.author.login) {
                mine.push(pull);
            } else {
                waiting.push(pull);
            }
            ScanStep::Continue
        })
        .await?;
        let (mut created_by, mut needs_review) = (Vec::new(), Vec::new());
        for pull in mine {
            created_by.push(self.present(&mut cat, pull, fields).await?);
        }
        for pull in waiting {
            needs_review.push(self.present(&mut cat, pull, fields).await?);
        }
        let current_branch = match head {
            Some(head) => self
                .find_pulls(head, StateFilter::All, fields)
                .await?
                .pulls
                .into_iter()
                .next(),
            None => None,
        };
        let mut status = PullStatus::new(created_by, needs_review);
        status.current_branch = current_branch;
        Ok(status)
    }
}
