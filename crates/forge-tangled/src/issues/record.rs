//! An issue as it is stored: a record in its author's account. In Tangled 1.0, an issue is a
//! ticket: a record in the repository's own account.

use forge_core::{AtUri, Error, ErrorKind, Result, Timestamp};

use crate::{
    Dialects, ShFields,
    records::Record,
    related_records::named_repository,
    tickets::{editor, markdown},
};

#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub uri: AtUri,
    /// The DID of the author. For a ticket of Tangled 1.0, the DID of its last editor, because a
    /// ticket names no author.
    pub author: String,
    pub record: Record,
    pub title: String,
    pub body: String,
    /// The repository: its DID, or its at-uri in records of 2025.
    pub target: String,
    pub created_at: Timestamp,
}

fn broken(record: &Record, what: &str) -> Error {
    Error::new(
        ErrorKind::Protocol,
        format!("{} is no issue: {what}", record.uri),
    )
}

impl Stored {
    /// Parses the record of an issue. A field of the wrong type counts as missing. Only a missing
    /// required field is an error.
    pub fn parse(record: Record, fields: &ShFields) -> Result<Self> {
        let (repo, did) = (
            record.text(&fields.issue_repo),
            record.text(&fields.target_did),
        );
        let target = named_repository(repo, did).map(str::to_owned);
        let target = target.ok_or_else(|| broken(&record, "it names no repository"))?;
        let title = record.text(&fields.title).map(str::to_owned);
        let body = record.text(&fields.body).unwrap_or_default().to_owned();
        let author = record.author().to_owned();
        let created_at = record.created_at(&fields.created_at);
        Self::of(record, title, body, target, author, created_at)
    }

    /// Parses a ticket; `None` if the ticket names a target branch, because it is then a pull
    /// request.
    pub fn of_ticket(ticket: Record, names: &Dialects) -> Result<Option<Self>> {
        let fields = &names.fields;
        if ticket.text(&fields.target_branch).is_some() {
            return Ok(None);
        }
        let title = markdown(&ticket.value, &fields.title, names).map(str::to_owned);
        let body = markdown(&ticket.value, &fields.body, names).unwrap_or_default();
        let body = body.to_owned();
        let target = ticket.author().to_owned();
        let author = editor(&ticket, names).unwrap_or(&target).to_owned();
        let created_at = ticket.created_at(&fields.created_at);
        Self::of(ticket, title, body, target, author, created_at).map(Some)
    }

    fn of(
        record: Record,
        title: Option<String>,
        body: String,
        target: String,
        author: String,
        created_at: Option<Timestamp>,
    ) -> Result<Self> {
        let uri =
            AtUri::parse(&record.uri).map_err(|_| broken(&record, "its at-uri is invalid"))?;
        let title = title.ok_or_else(|| broken(&record, "it has no title"))?;
        let created_at = created_at.ok_or_else(|| broken(&record, "it has no time"))?;
        Ok(Self {
            uri,
            author,
            title,
            body,
            target,
            created_at,
            record,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn record(value: Value) -> Record {
        Record {
            uri: "at://did:plc:a/sh.tangled.repo.issue/3mkuuamwfj322".into(),
            cid: Some("c".into()),
            value,
        }
    }

    #[test]
    fn issue_record_without_repository_or_title_is_refused() {
        let fields = ShFields::default();
        let value = json!({"repo": "did:plc:r", "title": "T", "body": 7});
        let found = Stored::parse(record(value), &fields).unwrap();
        assert_eq!((found.title.as_str(), found.body.as_str()), ("T", ""));
        assert_eq!(found.author, "did:plc:a");
        assert_eq!(found.created_at.date(), "2026-05-02");
        for (value, why) in [
            (json!(null), "no repository"),
            (json!({"repo": []}), "no repository"),
            (json!({"repo": "did:plc:r", "title": {}}), "no title"),
        ] {
            let e = Stored::parse(record(value), &fields).unwrap_err();
            assert_eq!(e.code(), "protocol");
            assert!(e.message().contains(why), "{e}");
        }
    }

    #[test]
    fn issue_with_stale_at_uri_belongs_to_its_did() {
        let stale = "at://did:plc:o/sh.tangled.repo/old";
        for (value, target) in [
            (json!({"repo": stale, "repoDid": "did:plc:r"}), "did:plc:r"),
            (json!({"repoDid": "did:plc:r"}), "did:plc:r"),
            (
                json!({"repo": "did:plc:r", "repoDid": "did:plc:s"}),
                "did:plc:r",
            ),
            (json!({"repo": stale, "repoDid": ""}), stale),
            (json!({"repo": stale, "repoDid": null}), stale),
        ] {
            let mut value = value;
            value["title"] = json!("T");
            let found = Stored::parse(record(value), &ShFields::default()).unwrap();
            assert_eq!(found.target, target);
        }
    }

    #[test]
    fn ticket_with_target_branch_is_not_an_issue() {
        let names = Dialects::default();
        let ticket = json!({
            "title": {"text": "T"}, "body": {"text": "B"}, "state": "open",
            "createdAt": "2026-11-01T00:00:00Z", "x-tngl-editor": "did:plc:who",
        });
        let found = Stored::of_ticket(record(ticket.clone()), &names)
            .unwrap()
            .unwrap();
        assert_eq!((found.title.as_str(), found.body.as_str()), ("T", "B"));
        assert_eq!(found.author, "did:plc:who");
        let mut pull = ticket;
        pull["targetBranch"] = json!("main");
        assert!(Stored::of_ticket(record(pull), &names).unwrap().is_none());
    }
}
