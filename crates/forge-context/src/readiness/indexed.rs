//! Requirement that the appview has indexed the pull request's record.
//!
//! On Tangled, a pull request is a record on its author's server. It is visible to others only once
//! the appview, a separate service, has read (indexed) the record.

use forge_core::{
    Ingestion, Warning,
    model::{PrState, PullRequest, RecordIngestion},
};

use super::{
    ClearedBy, Clearer, Requirement, RequirementSource, RequirementStatus, Rule, cleared,
    requirement,
};

/// Returns the requirement of [`Rule::Indexed`]; `None` for a forge without a separate appview.
pub(super) fn indexed(pull: &PullRequest) -> Option<Requirement> {
    let found = pull.ingestion.as_ref()?;
    let author = || cleared(ClearedBy::Author, vec![pull.author.login.clone()]);
    let time = || cleared(ClearedBy::Time, vec![]);
    let word = found.verdict.word();
    let (rule, source) = (Rule::Indexed, RequirementSource::Forge);
    let of = |status, by: Vec<Clearer>| {
        let evidence = format!("{word}: {} (version {})", found.evidence, found.cid);
        requirement(rule, status, source, &evidence, by)
    };
    let unmet = |by| {
        let text = format!("Not shown by the index ({word})");
        of(RequirementStatus::Unmet, by).blocking(text)
    };
    Some(match &found.verdict {
        Ingestion::Immediate | Ingestion::Confirmed { .. } => of(RequirementStatus::Met, vec![]),
        Ingestion::Pending { .. } if !found.answered => {
            of(RequirementStatus::Unknown, vec![time()])
        }
        Ingestion::Pending { .. } => unmet(vec![time(), author()]),
        Ingestion::PdsOnly { .. } | Ingestion::Ineffective { .. } => unmet(vec![author()]),
    })
}

/// Returns a warning with a recovery if the record of the pull request may not be indexed.
pub(crate) fn not_indexed(pull: &PullRequest) -> Option<Warning> {
    let RecordIngestion {
        verdict,
        evidence,
        recovery,
        ..
    } = pull.ingestion.as_ref()?;
    let recovery = recovery.as_ref().filter(|_| pull.state == PrState::Open)?;
    let warning = Warning::new(format!("{}: {evidence}", verdict.word()));
    Some(warning.with_hint(recovery))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use forge_core::Hint;

    use super::*;
    use crate::sample::pull;

    const RECORD: &str = "at://did:plc:a/sh.tangled.repo.pull/3a";
    fn judged(verdict: Ingestion, answered: bool) -> Requirement {
        let mut pull = pull();
        let mut found = RecordIngestion::new(RECORD, "bafy1", verdict, "why");
        found.answered = answered;
        pull.ingestion = Some(found);
        indexed(&pull).unwrap()
    }

    #[test]
    fn indexed_rule_follows_the_ingestion_state() {
        let pending = || Ingestion::Pending {
            uri: None,
            waited: Duration::ZERO,
            doubt: None,
        };
        let pds_only = Ingestion::PdsOnly {
            instead: "on the web".to_owned(),
        };
        let ineffective = Ingestion::Ineffective {
            uri: String::new(),
            reason: "no".to_owned(),
        };
        let confirmed = Ingestion::Confirmed {
            by: "index".to_owned(),
            after: Duration::ZERO,
        };
        let (unmet, unknown, met) = (
            RequirementStatus::Unmet,
            RequirementStatus::Unknown,
            RequirementStatus::Met,
        );
        let (time, author) = (ClearedBy::Time, ClearedBy::Author);
        for (verdict, answered, status, by) in [
            (Ingestion::Immediate, true, met, &[][..]),
            (confirmed, true, met, &[]),
            (pending(), true, unmet, &[time, author]),
            (pending(), false, unknown, &[time]),
            (pds_only, true, unmet, &[author]),
            (ineffective, true, unmet, &[author]),
        ] {
            let word = verdict.word();
            let of = judged(verdict, answered);
            let who: Vec<ClearedBy> = of.cleared_by.iter().map(|c| c.who).collect();
            assert_eq!((of.status, who.as_slice()), (status, by), "{word}");
            assert_eq!(of.evidence, format!("{word}: why (version bafy1)"));
            let blocker = (status == unmet).then(|| format!("Not shown by the index ({word})"));
            assert_eq!(of.blocker, blocker);
        }
        assert_eq!(indexed(&pull()), None);
    }

    #[test]
    fn unindexed_record_warns_while_the_pull_is_open() {
        let mut pull = pull();
        let verdict = Ingestion::PdsOnly {
            instead: "on the web".to_owned(),
        };
        let evidence = "the index does not have the record";
        let mut found = RecordIngestion::new(RECORD, "bafy1", verdict, evidence);
        found.recovery = Some(Hint::new("open the pull request on the web"));
        pull.ingestion = Some(found);
        let warned = |pull: &PullRequest| not_indexed(pull).map(|warning| warning.message);
        let said = "pds_only: the index does not have the record";
        assert_eq!(warned(&pull).as_deref(), Some(said));
        pull.state = PrState::Closed;
        assert_eq!(warned(&pull), None);
    }
}
