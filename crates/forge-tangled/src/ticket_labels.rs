//! Labels of Tangled 1.0, which are stored in the tickets: the records of pull requests and issues.
//!
//! The fields of a label definition have not been seen. Labels are therefore read from the tickets
//! that have them, and are written in the same form. Only a label without a value has been seen, so
//! the field of a value is a guess.

use std::collections::{BTreeMap, BTreeSet};

use forge_core::{
    Action, Error, ErrorKind, Hint, Op, Page, PageReq, Result, Warning, model::Label,
    text::one_line,
};
use serde_json::{Map, Value};

use crate::{
    Dialects, Tangled,
    labels::GREY,
    page,
    records::{self, Listing, Record},
    repository::TangledRepository,
    tickets,
};

/// Identity of a label on a ticket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Carried {
    key: String,
    value: Option<String>,
}

impl Carried {
    /// Parses a label; `None` if it has no key.
    fn parse(token: &Value, names: &Dialects) -> Option<Self> {
        let key = token.get(&*names.fields.label_key)?.as_str()?;
        let value = match token.get(&*names.fields.label_value) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => Some(other.to_string()),
        };
        Some(Self {
            key: key.to_owned(),
            value,
        })
    }

    /// Returns `name`, or `name:value` if there is a value. Labels of the protocol of 2026 are
    /// shown in the same form.
    fn name(&self) -> String {
        self.with_value(self.key.rsplit('/').next().unwrap_or_default())
    }

    fn with_value(&self, name: &str) -> String {
        match &self.value {
            Some(value) => format!("{name}:{value}"),
            None => name.to_owned(),
        }
    }

    /// Returns true if the user's text names the label, by name or by key.
    fn is_meant(&self, typed: &str) -> bool {
        self.name().eq_ignore_ascii_case(typed) || self.with_value(&self.key) == typed
    }

    fn label(&self) -> Label {
        let mut label = Label::new(self.name(), GREY);
        label.id.clone_from(&self.key);
        label
    }
}

/// A label that tickets have.
struct Seen {
    which: Carried,
    /// Number of tickets with the label.
    tickets: usize,
    /// JSON of the label on one of the tickets, with only the fields that identify the label.
    token: Value,
}

/// Converts a label of a ticket to a [`Label`]; `None` if it has no key.
pub(crate) fn label(token: &Value, names: &Dialects) -> Option<Label> {
    Some(Carried::parse(token, names)?.label())
}

/// Replaces the labels of a ticket. A label that the ticket already has keeps its JSON. Without
/// labels, the list is removed.
pub(crate) fn set_labels(map: &mut Map<String, Value>, labels: Vec<Value>, names: &Dialects) {
    let old = carried(map, names);
    let labels = labels.into_iter().map(|label| {
        let which = Carried::parse(&label, names);
        let there = old.iter().find(|it| Carried::parse(it, names) == which);
        there.cloned().unwrap_or(label)
    });
    replace_labels(map, labels.collect(), names);
}

/// Refuses to change labels that are not a list, because a change would overwrite them.
pub(crate) fn check_list(ticket: &Record, names: &Dialects) -> Result<()> {
    match ticket.value.get(&*names.fields.labels) {
        None | Some(Value::Null | Value::Array(_)) => Ok(()),
        Some(_) => Err(Error::new(
            ErrorKind::Protocol,
            format!(
                "the labels of {} are not a list, and were left unchanged",
                ticket.uri
            ),
        )
        .with_hint("correct the list with the program that wrote it")),
    }
}

/// Adds the labels `add`, and removes labels by the names `remove`. All other labels stay
/// unchanged.
pub(crate) fn relabel(
    map: &mut Map<String, Value>,
    add: &[Value],
    remove: &[String],
    names: &Dialects,
) {
    if add.is_empty() && remove.is_empty() {
        return;
    }
    let mut labels = carried(map, names);
    labels.retain(|token| {
        let which = Carried::parse(token, names);
        which.is_none_or(|which| !remove.iter().any(|typed| which.is_meant(typed)))
    });
    for token in add {
        let which = Carried::parse(token, names);
        if !labels.iter().any(|it| Carried::parse(it, names) == which) {
            labels.push(token.clone());
        }
    }
    replace_labels(map, labels, names);
}

fn carried(map: &Map<String, Value>, names: &Dialects) -> Vec<Value> {
    let labels = map.get(&*names.fields.labels).and_then(Value::as_array);
    labels.cloned().unwrap_or_default()
}

fn replace_labels(map: &mut Map<String, Value>, labels: Vec<Value>, names: &Dialects) {
    let field = &*names.fields.labels;
    match labels.is_empty() {
        true => drop(map.remove(field)),
        false => drop(map.insert(field.to_owned(), Value::Array(labels))),
    }
}

/// Returns a label with only the fields that identify it, because its other fields are about
/// another ticket. Adds a missing type to a label without a value, because the type of such a label
/// has been seen.
fn spelled(token: &Value, which: &Carried, names: &Dialects) -> Value {
    let fields = &names.fields;
    let parts = ["$type", &*fields.label_key, &*fields.label_value];
    let mut map = Map::new();
    for part in parts {
        if let Some(value) = token.get(part) {
            map.insert(part.to_owned(), value.clone());
        }
    }
    if which.value.is_none() && !map.contains_key("$type") {
        let kind = names.org.ticket_label.to_string();
        map.insert("$type".to_owned(), Value::String(kind));
    }
    Value::Object(map)
}

/// Returns the labels of the tickets, the most frequent first.
fn seen(tickets: &[Record], names: &Dialects) -> Vec<Seen> {
    let mut all: BTreeMap<Carried, Seen> = BTreeMap::new();
    for ticket in tickets {
        let Some(map) = ticket.value.as_object() else {
            continue;
        };
        let mut counted = BTreeSet::new();
        for token in carried(map, names) {
            let Some(which) = Carried::parse(&token, names) else {
                continue;
            };
            let seen = all.entry(which.clone()).or_insert_with(|| Seen {
                token: spelled(&token, &which, names),
                which: which.clone(),
                tickets: 0,
            });
            if seen.token.get("$type").is_none() {
                seen.token = spelled(&token, &which, names);
            }
            if counted.insert(which) {
                seen.tickets += 1;
            }
        }
    }
    let mut all: Vec<Seen> = all.into_values().collect();
    // Labels with equal counts stay in the order of their keys.
    all.sort_by_key(|seen| std::cmp::Reverse(seen.tickets));
    all
}

/// Finds labels by name, and returns the JSON that they have on other tickets.
fn find_used_labels(tickets: &[Record], wanted: &[String], names: &Dialects) -> Result<Vec<Value>> {
    let known = seen(tickets, names);
    let one = |typed: &String| {
        let found = known.iter().find(|seen| seen.which.is_meant(typed));
        found.map(|seen| seen.token.clone()).ok_or_else(|| {
            Error::invalid(
                "labels",
                format!("no ticket here has the label '{}'", one_line(typed)),
            )
            .with_hint(
                Hint::new(
                    "use a label that the list of labels shows, or add this label on the web once: \
                     on Tangled 1.0 only labels in use can be added",
                )
                .with_action(Action::op(Op::LabelList)),
            )
        })
    };
    wanted.iter().map(one).collect()
}

impl Tangled {
    /// Reads all tickets of a repository: issues and pull requests.
    async fn labelled_tickets(&self, repository: &TangledRepository) -> Result<Listing> {
        let (knot, did) = self.account(repository).await?;
        let names = &self.settings.dialects;
        let (pulls, issues) = (&names.org.pull, &names.org.issue);
        let mut all = records::all(&knot, did, pulls, tickets::MAX_TICKET_RECORDS).await?;
        if issues != pulls {
            let more = records::all(&knot, did, issues, tickets::MAX_TICKET_RECORDS).await?;
            all.records.extend(more.records);
            all.warnings.extend(more.warnings);
        }
        Ok(all)
    }

    /// Finds labels by name, and returns the JSON that they have on other tickets of this
    /// repository.
    pub(crate) async fn labels_in_use(
        &self,
        repository: &TangledRepository,
        wanted: &[String],
    ) -> Result<Vec<Value>> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let tickets = self.labelled_tickets(repository).await?;
        find_used_labels(&tickets.records, wanted, &self.settings.dialects)
    }

    /// Returns a page of the labels that the tickets of a repository have, by name.
    pub(crate) async fn labels_of_tickets(
        &self,
        repository: &TangledRepository,
        req: &PageReq,
    ) -> Result<Page<Label>> {
        let tickets = self.labelled_tickets(repository).await?;
        let seen = seen(&tickets.records, &self.settings.dialects);
        let mut labels: Vec<Label> = seen
            .iter()
            .map(|seen| {
                let mut label = seen.which.label();
                label.description = Some(match seen.tickets {
                    1 => "seen on 1 ticket".to_owned(),
                    count => format!("seen on {count} tickets"),
                });
                label
            })
            .collect();
        labels.sort_by_key(|label| label.name.to_lowercase());
        let mut page = page::of("tangled-labels", &repository.record.uri, labels, req)?;
        if req.cursor.is_none() {
            page.warnings.push(Warning::new(
                "it is unknown how Tangled 1.0 defines labels: these are the labels on the \
                 tickets of this repository",
            ));
            page.warnings.extend(tickets.warnings);
            page.warnings.extend(repository.doubt());
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ticket(labels: Value) -> Record {
        Record {
            uri: "at://did:plc:repo/org.tangled.track.ticket/t".into(),
            cid: None,
            value: json!({ "tangledLabels": labels }),
        }
    }

    #[test]
    fn labels_are_collected_from_tickets_as_written() {
        let names = Dialects::default();
        let high = json!({"$type": "a.b.c#valued", "key": "priority", "value": "high"});
        let mut noted = high.clone();
        noted["addedBy"] = json!("did:plc:a");
        let tickets = [
            ticket(json!([{"key": "at://did:plc:l/x.y.z/bug"}, 7, {"key": 1}])),
            ticket(json!([{"key": "priority", "value": "high"}, {"key": "points", "value": 3}])),
            ticket(json!([noted, noted])),
            ticket(json!("none")),
        ];
        let seen = seen(&tickets, &names);
        let told: Vec<_> = seen.iter().map(|s| (s.which.name(), s.tickets)).collect();
        let wanted = [("priority:high", 2), ("bug", 1), ("points:3", 1)];
        assert_eq!(told, wanted.map(|(name, count)| (name.to_owned(), count)));

        let typed = ["Priority:high", "BUG", "points:3"].map(str::to_owned);
        let tokens = find_used_labels(&tickets, &typed, &names).unwrap();
        let bug = json!({"$type": names.org.ticket_label, "key": "at://did:plc:l/x.y.z/bug"});
        let points = json!({"key": "points", "value": 3});
        assert_eq!(tokens, [high, bug, points]);
        for none in ["priority", "priority:low", "3"] {
            let e = find_used_labels(&tickets, &[none.to_owned()], &names).unwrap_err();
            assert!(e.message().contains(none), "{e:?}");
        }
    }

    #[test]
    fn malformed_label_list_is_not_overwritten() {
        let names = Dialects::default();
        for fine in [Value::Null, json!([])] {
            check_list(&ticket(fine), &names).unwrap();
        }
        let e = check_list(&ticket(json!({"bug": 1})), &names).unwrap_err();
        assert!(e.message().contains("left unchanged"), "{e:?}");
    }

    #[test]
    fn label_change_keeps_other_labels_and_unknown_fields() {
        let names = Dialects::default();
        let token = |key: &str| json!({ "key": key });
        let high = json!({"key": "priority", "value": "high", "more": {"deep": [1]}});
        let low = json!({"key": "priority", "value": "low"});
        let mut value = ticket(json!([token("bug"), high, "odd"])).value;
        let map = value.as_object_mut().unwrap();
        let again = json!({"key": "priority", "value": "high"});
        let bug = ["BUG".to_owned()];
        relabel(map, &[again.clone(), low.clone()], &bug, &names);
        assert_eq!(map["tangledLabels"], json!([high, "odd", low]));
        relabel(map, &[], &["priority:low".to_owned()], &names);
        assert_eq!(map["tangledLabels"], json!([high, "odd"]));
        set_labels(map, vec![token("docs"), again], &names);
        assert_eq!(map["tangledLabels"], json!([token("docs"), high]));
        set_labels(map, Vec::new(), &names);
        assert!(map.is_empty());
    }
}
