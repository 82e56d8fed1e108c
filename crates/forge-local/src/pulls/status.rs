//! What concerns the viewer.

use forge_core::{
    Result,
    model::{HeadRef, PrFields, PullStatus, StateFilter},
};

use crate::{Local, ident::identity, store::same_login};

impl Local {
    pub(crate) async fn status_of(
        &self,
        head: Option<&HeadRef>,
        fields: PrFields,
    ) -> Result<PullStatus> {
        let viewer = identity(self.git()).await?;
        let mut cat = self.store.cat();
        let (mut mine, mut waiting) = (Vec::new(), Vec::new());
        self.for_each_open(&mut cat, |pull| {
            let s = &pull.snapshot;
            if viewer.is(&s.author.login) {
                mine.push(pull);
            } else if s
                .pending_reviewers
                .iter()
                .any(|r| same_login(r.handle(), &viewer.actor.login))
            {
                waiting.push(pull);
            }
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
                .into_iter()
                .next(),
            None => None,
        };
        Ok(PullStatus {
            current_branch,
            created_by,
            needs_review,
        })
    }
}
