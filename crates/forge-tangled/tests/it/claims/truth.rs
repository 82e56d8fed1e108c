//! Reads the actual state from the records of PDS and knot, the index, and git.

use std::collections::{BTreeMap, BTreeSet};

use forge_core::{
    Action, Error, Ingestion,
    model::{IssueState, PrState},
};
use serde_json::{Value, json};

use super::{Writes, issues, pulls};

pub(super) const PULL: &str = "sh.tangled.repo.pull";
pub(super) const STATUS: &str = "sh.tangled.repo.pull.status";
pub(super) const ISSUE: &str = "sh.tangled.repo.issue";
pub(super) const ISSUE_STATE: &str = "sh.tangled.repo.issue.state";
pub(super) const COMMENT: &str = "sh.tangled.feed.comment";
pub(super) const LABEL_OP: &str = "sh.tangled.label.op";
pub(super) const TICKET: &str = "org.tangled.track.ticket";
pub(super) const PATCH: &str = "org.tangled.review.patch";
pub(super) const ORG_COMMENT: &str = "org.tangled.feed.comment";

const OF_ACCOUNTS: [&str; 6] = [PULL, STATUS, ISSUE, ISSUE_STATE, COMMENT, LABEL_OP];
const OF_REPOSITORY: [&str; 3] = [TICKET, PATCH, ORG_COMMENT];
/// Collections with the records that an ambiguous failure must name.
const NAMED: [&str; 5] = [PULL, ISSUE, COMMENT, TICKET, ORG_COMMENT];

/// Records of other accounts from which a result may be computed. All records of the viewer's own
/// account count. After a write, no collection of another account is read.
#[derive(Clone, Copy)]
enum View {
    /// All records.
    All,
    /// Records that the index has now.
    Now,
    /// Records that the index had before the command.
    Before,
}

const VIEWS: [View; 3] = [View::All, View::Now, View::Before];

/// A record: at-uri, CID and value.
pub(super) type Stored = (String, String, Value);

fn collection(uri: &str) -> &str {
    uri.split('/').nth(3).unwrap_or_default()
}

impl Writes {
    /// Returns all records and the tips of all branches.
    pub(super) fn everything(&self) -> BTreeMap<String, String> {
        let world = &self.stage.world;
        let mut all = BTreeMap::new();
        for account in &self.people {
            for collection in OF_ACCOUNTS {
                let records = world.pds().records(&account.did, collection);
                all.extend(records.into_iter().map(|(uri, cid, _)| (uri, cid)));
            }
        }
        for collection in OF_REPOSITORY {
            let records = world.knot().records(&self.org.did, collection);
            all.extend(records.into_iter().map(|(uri, cid, _)| (uri, cid)));
        }
        for repo in [&self.stage.repo, &self.org] {
            let tip = repo.git.oid("main").unwrap();
            all.insert(format!("main of {}", repo.did), tip);
        }
        all
    }

    /// Returns every account's records in `collection` whose value at the JSON pointer `key` is
    /// `uri`.
    pub(super) fn records(&self, collection: &str, uri: &str, key: &str) -> Vec<Stored> {
        let pds = self.stage.world.pds();
        let all = self
            .people
            .iter()
            .flat_map(|account| pds.records(&account.did, collection));
        all.filter(|(_, _, value)| value.pointer(key).and_then(Value::as_str) == Some(uri))
            .collect()
    }

    /// Returns the records that the index has.
    pub(super) fn indexed(&self) -> BTreeSet<String> {
        let index = self.stage.world.index();
        let mut all: BTreeSet<String> = self.everything().into_keys().collect();
        all.retain(|uri| index.knows(uri).is_some());
        all
    }

    fn is_in(&self, view: View, uri: &str) -> bool {
        is_of(uri, &self.people[self.viewer].did)
            || match view {
                View::All => true,
                View::Now => self.stage.world.index().knows(uri).is_some(),
                View::Before => self.indexed_before.contains(uri),
            }
    }

    /// Returns the last part of the newest state that a permitted account set.
    fn word(
        &self,
        (collection, key): (&str, &str),
        uri: &str,
        author: usize,
        view: View,
    ) -> Option<String> {
        let [alice, bob, _] = &self.people;
        let may = [&alice.did, &bob.did, &self.people[author].did];
        let newest = self
            .records(collection, uri, key)
            .into_iter()
            .filter(|(uri, _, _)| may.iter().any(|did| is_of(uri, did)))
            .filter(|(uri, _, _)| self.is_in(view, uri))
            .max_by_key(|(uri, _, value)| {
                let at = value["createdAt"].as_str().unwrap();
                let at = at.parse::<chrono::DateTime<chrono::Utc>>();
                (at.unwrap(), uri.clone())
            });
        let (_, _, value) = newest?;
        let word = value["status"].as_str().or(value["state"].as_str());
        word?.rsplit('.').next().map(str::to_owned)
    }

    pub(super) fn state(&self, made: &pulls::Made) -> PrState {
        self.state_in(View::All, made)
    }

    pub(super) fn states(&self, made: &pulls::Made) -> [PrState; 3] {
        VIEWS.map(|view| self.state_in(view, made))
    }

    fn state_in(&self, view: View, made: &pulls::Made) -> PrState {
        match self
            .word((STATUS, "/pull"), &made.uri, made.author, view)
            .as_deref()
        {
            Some("closed") => PrState::Closed,
            Some("merged") => PrState::Merged,
            _ => PrState::Open,
        }
    }

    pub(super) fn issue_state(&self, made: &issues::Made) -> IssueState {
        self.issue_state_in(View::All, made)
    }

    pub(super) fn issue_states(&self, made: &issues::Made) -> [IssueState; 3] {
        VIEWS.map(|view| self.issue_state_in(view, made))
    }

    fn issue_state_in(&self, view: View, made: &issues::Made) -> IssueState {
        let word = self.word((ISSUE_STATE, "/issue"), &made.uri, made.author, view);
        match word.as_deref() {
            Some("closed") => IssueState::Closed,
            _ => IssueState::Open,
        }
    }

    pub(super) fn is_labelled(&self, uri: &str) -> bool {
        self.carries(uri, &self.bug_label(), View::All)
    }

    pub(super) fn is_labelled_in_views(&self, uri: &str) -> [bool; 3] {
        VIEWS.map(|view| self.carries(uri, &self.bug_label(), view))
    }

    /// Returns true if Bob is assigned.
    pub(super) fn is_assigned(&self, uri: &str) -> bool {
        self.carries(uri, &self.assigned_label(), View::All)
    }

    pub(super) fn is_assigned_in_views(&self, uri: &str) -> [bool; 3] {
        VIEWS.map(|view| self.carries(uri, &self.assigned_label(), view))
    }

    fn bug_label(&self) -> Value {
        json!({"key": self.bug, "value": "null"})
    }

    fn assigned_label(&self) -> Value {
        let [alice, bob, _] = &self.people;
        let key = format!("at://{}/sh.tangled.label.definition/assignee", alice.did);
        json!({"key": key, "value": bob.did})
    }

    /// Returns true if the label is set after the operations of accounts that may label.
    fn carries(&self, uri: &str, operand: &Value, view: View) -> bool {
        let [alice, bob, _] = &self.people;
        let mut all = self.records(LABEL_OP, uri, "/subject");
        all.retain(|(uri, _, _)| is_of(uri, &alice.did) || is_of(uri, &bob.did));
        all.retain(|(uri, _, _)| self.is_in(view, uri));
        all.sort_by_key(|(uri, _, value)| {
            let key = uri.rsplit('/').next().unwrap().to_owned();
            (value["performedAt"].as_str().unwrap().to_owned(), key)
        });
        let has = |list: &Value| {
            let list = list.as_array().unwrap();
            list.iter()
                .any(|it| (&it["key"], &it["value"]) == (&operand["key"], &operand["value"]))
        };
        all.iter().fold(false, |is, (_, _, value)| {
            has(&value["add"]) || is && !has(&value["delete"])
        })
    }

    pub(super) fn times_on_main(&self, branch: &str) -> usize {
        let log = self.stage.repo.git.log("main", "%s");
        let title = pulls::title(branch);
        log.lines().filter(|line| *line == title).count()
    }

    /// Returns the number of comments of 2026 with this text.
    pub(super) fn said(&self, text: &str) -> usize {
        self.records(COMMENT, text, "/body/text").len()
    }

    pub(super) fn newest(&self, collection: &str, uri: &str, key: &str, actor: usize) -> String {
        let did = &self.people[actor].did;
        let mut own: Vec<_> = self
            .records(collection, uri, key)
            .into_iter()
            .map(|(uri, _, _)| uri)
            .filter(|uri| is_of(uri, did))
            .collect();
        own.sort();
        own.pop()
            .unwrap_or_else(|| panic!("nothing of {did} in {collection}"))
    }

    /// Returns true if an account currently has push access to the repository of 2026.
    pub(super) fn may_push(&self, actor: usize) -> bool {
        actor == 0 || actor == 1 && !self.is_lost
    }

    /// Checks the ingestion state of written records: at-uris, and the CID if the answer has it.
    pub(super) fn seen(&self, at: &str, said: &Ingestion, written: &[(&str, Option<&str>)]) {
        let (pds, index) = (self.stage.world.pds(), self.stage.world.index());
        for (uri, cid) in written {
            let stored = pds.record(uri);
            let (stored, _) = stored.unwrap_or_else(|| panic!("{at}: no {uri}: {said:?}"));
            assert_eq!(cid.unwrap_or(&stored), stored, "{at}: {said:?}");
            if matches!(said, Ingestion::Confirmed { .. }) {
                assert_eq!(index.knows(uri), Some(stored), "{at}: {said:?}");
            }
        }
        let is_one = |named: &str| written.iter().any(|(uri, _)| *uri == named);
        match said {
            Ingestion::Confirmed { .. } => {}
            Ingestion::Pending { uri, .. } => {
                assert!(uri.as_deref().is_some_and(is_one), "{at}: {said:?}");
            }
            Ingestion::PdsOnly { .. } => {
                assert!(self.is_known_old, "{at}: {said:?}");
                let [(uri, _)] = written else {
                    panic!("{at}: {said:?} of {written:?}");
                };
                assert!([STATUS, ISSUE_STATE].contains(&collection(uri)), "{at}");
                assert_eq!(index.knows(uri), None, "{at}: {said:?}");
            }
            Ingestion::Ineffective { uri, reason } => {
                assert!(is_one(uri), "{at}: {said:?}");
                assert_eq!(index.knows(uri), None, "{at}: {said:?}");
                assert!(self.is_dropped(uri, reason), "{at}: {said:?}");
            }
            Ingestion::Immediate => panic!("{at}: nothing shows it at once: {written:?}"),
        }
    }

    pub(super) fn is_gone(&self, uri: &str) -> bool {
        self.stage.world.pds().record(uri).is_none()
    }

    /// Checks the ingestion state of a deleted record.
    pub(super) fn unseen(&self, at: &str, said: &Ingestion, deleted: &str) {
        assert!(self.is_gone(deleted), "{at}: {said:?}");
        match said {
            Ingestion::Confirmed { .. } => {
                let index = self.stage.world.index();
                assert_eq!(index.knows(deleted), None, "{at}: {said:?}");
            }
            Ingestion::Pending { uri, .. } => {
                assert_eq!(uri.as_deref(), Some(deleted), "{at}");
            }
            _ => panic!("{at}: {said:?} of a deletion"),
        }
    }

    /// Returns true if the index drops the record for this reason.
    fn is_dropped(&self, uri: &str, reason: &str) -> bool {
        let index = self.stage.world.index();
        let known = index
            .dropped()
            .into_iter()
            .any(|(dropped, _)| dropped == uri);
        let (_, record) = self.stage.world.pds().record(uri).unwrap();
        let why = match collection(uri) {
            PULL => {
                let below = record["dependentOn"].as_str().unwrap();
                let others = self.records(PULL, below, "/dependentOn");
                let other = others
                    .iter()
                    .find(|(other, _, _)| other != uri && index.knows(other).is_some());
                let other = other.map(|(other, _, _)| other.as_str());
                other.is_some_and(|other| reason.contains(other) && reason.contains(below))
            }
            STATUS | ISSUE_STATE | LABEL_OP => {
                let is_bob = is_of(uri, &self.people[1].did);
                is_bob && self.is_lost && reason.contains("is not authorised")
            }
            _ => false,
        };
        known && why
    }

    /// Checks that an ambiguous failure names every new record, so that users can find them.
    pub(super) fn new_ones_are_named(
        &self,
        at: &str,
        before: &BTreeMap<String, String>,
        error: &Error,
    ) {
        let now = self.everything();
        let new = now.keys().filter(|uri| !before.contains_key(*uri));
        for uri in new.filter(|uri| NAMED.contains(&collection(uri))) {
            let in_context = error.context().iter().any(|(_, value)| value == uri);
            let in_hint = error.hint().is_some_and(|hint| {
                let target = hint.action().and_then(Action::target);
                hint.text().contains(uri.as_str()) || target == Some(uri)
            });
            assert!(in_context || in_hint, "{at}: {uri} is not named: {error:?}");
        }
    }

    /// Checks that a repeated command has written each record at most once. Label operations are
    /// the exception: each command writes a new operation.
    pub(super) fn is_written_once(&self, at: &str, before: &BTreeMap<String, String>) {
        let now = self.everything();
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for uri in now.keys().filter(|uri| !before.contains_key(*uri)) {
            *counts.entry(collection(uri)).or_default() += 1;
        }
        counts.remove(LABEL_OP);
        for (name, count) in counts {
            assert_eq!(count, 1, "{at}: so many new records of {name}");
        }
    }
}

/// Returns true if the record is in the account.
pub(super) fn is_of(uri: &str, did: &str) -> bool {
    uri.starts_with(&format!("at://{did}/"))
}
