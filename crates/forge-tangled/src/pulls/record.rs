//! A stored pull request, in every form of its record since 2025.

use forge_core::{AtUri, Error, ErrorKind, Result, Timestamp, Warning, is_full_oid};
use serde_json::Value;

use crate::{
    ShFields, cid, json_field::OptionalField, records::Record, related_records::named_repository,
    repository::TangledRepository,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A blob in the account of the pull request's author, by its CID.
    Blob(String),
    /// The patch itself (until the end of 2025), and the CID of its bytes.
    Text { patch: String, cid: String },
    /// Two commits on the knot (versions, and rounds of Tangled 1.0), in hex.
    Commits { base: String, head: String },
    /// The record names no content.
    Missing,
}

/// A version of the changes. Rounds are counted from 0 and never change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    pub created_at: Option<Timestamp>,
    pub content: Content,
}

impl Round {
    /// Returns the last commit, if the record of the round names it.
    pub fn head(&self) -> Option<&str> {
        match &self.content {
            Content::Commits { head, .. } => Some(head),
            Content::Blob(_) | Content::Text { .. } | Content::Missing => None,
        }
    }

    /// Returns the commit on which the changes begin, if the record of the round names it.
    pub fn base(&self) -> Option<&str> {
        match &self.content {
            Content::Commits { base, .. } => Some(base),
            Content::Blob(_) | Content::Text { .. } | Content::Missing => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct TangledPull {
    pub uri: AtUri,
    /// The DID of the author; in 2025 and 2026, the account that has the record.
    pub author: String,
    pub record: Record,
    pub title: String,
    pub body: String,
    pub target: String,
    pub base: String,
    pub head: String,
    /// The repository of the head branch, if the record names it: a DID or an at-uri.
    pub source: Option<String>,
    /// The head commit that the record names, in full hex: that of the newest version, if the
    /// record has versions.
    pub source_sha: Option<String>,
    /// The at-uri of the pull request on which this one builds.
    pub depends_on: Option<String>,
    pub created_at: Timestamp,
    pub rounds: Vec<Round>,
    /// True if the rounds come from `versions`, a field that exists since August 2026.
    pub has_versions: bool,
    /// Warnings about data outside of the record that could not be read.
    pub warnings: Vec<Warning>,
}

impl TangledPull {
    /// Parses a record. Fields of the wrong type count as missing, and only a missing required
    /// field is an error.
    pub fn parse(record: Record, fields: &ShFields) -> Result<Self> {
        let broken = |what: &str| {
            Error::new(
                ErrorKind::Protocol,
                format!("{} is no pull request: {what}", record.uri),
            )
        };
        let uri = AtUri::parse(&record.uri).map_err(|_| broken("its at-uri is invalid"))?;
        let value = &record.value;
        let text = |path: &[&str]| record.text_at(path).map(str::to_owned);
        let of_target = |name: &str| text(&[&fields.target, name]);
        let of_source = |name: &str| text(&[&fields.source, name]);
        let (target_repo, source_repo) = (
            record.text_at(&[&fields.target, &fields.target_repo]),
            record.text_at(&[&fields.source, &fields.source_repo]),
        );
        let target_did = record.text_at(&[&fields.target, &fields.target_did]);
        let source_did = record.text_at(&[&fields.source, &fields.source_did]);
        let title = text(&[&fields.title]).ok_or_else(|| broken("it has no title"))?;
        let target = named_repository(target_repo, target_did)
            .map(str::to_owned)
            .or_else(|| text(&[&fields.flat_repo]))
            .ok_or_else(|| broken("it names no repository"))?;
        // The same at-uri means the same repository, even if only the target has a DID beside it.
        let source = match named_repository(source_repo, source_did) {
            Some(name) if Some(name) == target_repo => Some(target.clone()),
            name => name.map(str::to_owned),
        };
        let base = of_target(&fields.target_branch)
            .or_else(|| text(&[&fields.flat_branch]))
            .ok_or_else(|| broken("it names no target branch"))?;
        let created_at = record
            .created_at(&fields.created_at)
            .ok_or_else(|| broken("it has no time"))?;
        let rounds = rounds(value, fields);
        let head_of_version = rounds.last().and_then(Round::head).map(str::to_owned);
        let recorded_sha = of_source(&fields.source_sha).filter(|sha| is_full_oid(sha));
        Ok(Self {
            author: uri.authority.clone(),
            title,
            body: text(&[&fields.body]).unwrap_or_default(),
            target,
            base,
            head: of_source(&fields.source_branch).unwrap_or_default(),
            source,
            source_sha: head_of_version.or(recorded_sha),
            depends_on: text(&[&fields.depends_on]),
            created_at,
            rounds,
            has_versions: has_versions(value, fields),
            warnings: Vec::new(),
            uri,
            record,
        })
    }

    pub fn author(&self) -> &str {
        &self.author
    }

    /// Returns the newest round and its number.
    pub fn latest(&self) -> Option<(usize, &Round)> {
        self.rounds.iter().enumerate().next_back()
    }

    /// Returns true if the newest round is a version: two commits on the knot.
    pub fn ends_with_version(&self) -> bool {
        self.has_versions
            && self
                .latest()
                .is_some_and(|(_, round)| round.head().is_some())
    }

    /// Returns the id of the changes of a round: the CID of its patch.
    ///
    /// A patch in the record itself gets a CID of its own, because the record's CID cannot be
    /// verified if the record has a fractional number. Two commits give `None`, because they are
    /// identified by the commit ids of the knot.
    pub fn patch_id<'a>(&'a self, round: &'a Round) -> Option<&'a str> {
        match &round.content {
            Content::Blob(cid) | Content::Text { cid, .. } => Some(cid),
            Content::Commits { .. } | Content::Missing => None,
        }
    }

    /// See [`forge_core::model::PullRequest::head_id`]. The commit id in a patch is only a claim of
    /// its author: the patch does not prove which commit it was made from.
    pub fn head_id(&self) -> Option<&str> {
        let patch = self.latest().and_then(|(_, round)| self.patch_id(round));
        patch.or(self.source_sha.as_deref())
    }

    /// Returns the repository of the changes if it is a fork, i.e. not the target.
    ///
    /// Two names can mean one repository: a record of 2025 may name the target by its DID, and the
    /// same repository as the source by its at-uri.
    pub fn fork(&self, target: &TangledRepository) -> Option<&str> {
        let source = self.source.as_deref();
        source.filter(|source| !target.is_target(source))
    }
}

fn rounds(value: &Value, fields: &ShFields) -> Vec<Round> {
    let (list, read): (_, fn(&Value, &ShFields) -> Round) = if has_versions(value, fields) {
        (&fields.versions, version)
    } else {
        (&fields.rounds, round)
    };
    if let Some(rounds) = find_non_empty_list(value, list) {
        return rounds.iter().map(|value| read(value, fields)).collect();
    }
    let content = match (value.field(&fields.patch_blob), value.field(&fields.patch)) {
        (Some(blob), _) => blob_content(blob),
        (None, Some(Value::String(patch))) => Content::Text {
            patch: patch.clone(),
            cid: cid::of_blob(patch.as_bytes()),
        },
        _ => return Vec::new(),
    };
    vec![Round {
        created_at: None,
        content,
    }]
}

pub(super) fn find_non_empty_list<'a>(value: &'a Value, name: &str) -> Option<&'a Vec<Value>> {
    let list = value.get(name).and_then(Value::as_array);
    list.filter(|list| !list.is_empty())
}

/// Returns true for the newer record format with a list of versions.
///
/// Such a record can have a list of rounds as well. An empty list of versions does not count if
/// there are rounds. Returns false if the configuration gives both lists the same field name.
fn has_versions(value: &Value, fields: &ShFields) -> bool {
    let is_there = value.get(&*fields.versions).is_some_and(Value::is_array);
    let says_more = find_non_empty_list(value, &fields.versions).is_some()
        || find_non_empty_list(value, &fields.rounds).is_none();
    is_there && says_more && fields.versions != fields.rounds
}

pub(super) fn round(value: &Value, fields: &ShFields) -> Round {
    let at = value.get(&*fields.created_at).and_then(Value::as_str);
    Round {
        created_at: at.and_then(|t| t.parse().ok()),
        content: value
            .field(&fields.patch_blob)
            .map_or(Content::Missing, blob_content),
    }
}

/// Reads an entry of the list of versions: two commits, or a patch as in a round. If there are both,
/// the commits count, because the web shows the changes between them.
fn version(value: &Value, fields: &ShFields) -> Round {
    let commit = |name: &str| {
        let oid = value.get(name).and_then(Value::as_str);
        oid.filter(|oid| is_full_oid(oid)).map(str::to_owned)
    };
    let mut version = round(value, fields);
    if let (Some(base), Some(head)) = (commit(&fields.version_base), commit(&fields.version_head)) {
        version.content = Content::Commits { base, head };
    }
    version
}

fn blob_content(blob: &Value) -> Content {
    let cid = blob.get("ref").and_then(|r| r.get("$link"));
    match cid
        .and_then(Value::as_str)
        .filter(|cid| cid::is_of_blob(cid))
    {
        Some(cid) => Content::Blob(cid.to_owned()),
        None => Content::Missing,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(value: Value) -> Result<TangledPull> {
        let record = Record {
            uri: "at://did:plc:a/sh.tangled.repo.pull/3mkuuamwfj322".into(),
            cid: Some("bafy".into()),
            value,
        };
        TangledPull::parse(record, &ShFields::default())
    }

    fn blob(text: &str) -> Value {
        let cid = cid::of_blob(text.as_bytes());
        json!({"$type": "blob", "ref": {"$link": cid}, "mimeType": "application/gzip", "size": 3})
    }

    #[test]
    fn pull_record_of_every_form_is_read() {
        let target = json!({"repo": "did:plc:r", "branch": "main"});
        let now = parse(json!({
            "title": "T", "body": "B", "createdAt": "2026-11-01T00:00:00Z", "target": target,
            "source": {"branch": "f", "repo": "did:plc:r"},
            "rounds": [
                {"createdAt": "2026-11-01T00:00:00Z", "patchBlob": blob("b0")},
                {"createdAt": 3, "patchBlob": 7},
                {"patchBlob": {"ref": {"$link": "no CID"}}},
            ],
        }))
        .unwrap();
        assert_eq!(
            (now.target.as_str(), now.base.as_str(), now.head.as_str()),
            ("did:plc:r", "main", "f")
        );
        assert_eq!(now.rounds[0].content, Content::Blob(cid::of_blob(b"b0")));
        assert_eq!(now.rounds[1].content, Content::Missing);
        assert_eq!(now.rounds[2].content, Content::Missing);
        assert_eq!(now.latest().unwrap().0, 2);
        assert!(!now.has_versions);

        let versions = |rounds: Value, versions: Value| {
            let found = parse(json!({
                "title": "T", "createdAt": "2026-09-01T00:00:00Z", "target": target,
                "rounds": rounds, "versions": versions,
            }));
            let found = found.unwrap();
            (found.has_versions, found.rounds)
        };
        let old = json!([{"createdAt": "2026-09-01T00:00:00Z", "patchBlob": blob("b0")}]);
        let new = json!([{"patchBlob": blob("b1")}, {"commit": "c"}]);
        let (is_new, found) = versions(json!([]), new.clone());
        assert!(is_new);
        let found: Vec<Content> = found.into_iter().map(|round| round.content).collect();
        assert_eq!(
            found,
            [Content::Blob(cid::of_blob(b"b1")), Content::Missing]
        );
        assert!(versions(old.clone(), new).0);
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let pair = json!({"base": a, "head": b, "createdAt": "2026-09-30T11:59:19.791Z"});
        let mut with_patch = pair.clone();
        with_patch["patchBlob"] = blob("b1");
        let short = json!({"base": a, "head": "b"});
        let (_, found) = versions(
            json!([]),
            json!([pair, with_patch, short, {"base": null, "head": b}]),
        );
        assert!(found[0].created_at.is_some());
        let found: Vec<Content> = found.into_iter().map(|round| round.content).collect();
        let (base, head) = (a, b);
        let commits = Content::Commits { base, head };
        assert_eq!(
            found,
            [commits.clone(), commits, Content::Missing, Content::Missing]
        );
        assert!(versions(json!([]), json!([])).0);
        let (is_new, found) = versions(old, json!([]));
        assert_eq!((is_new, found.len()), (false, 1));

        let uri = "at://did:plc:o/sh.tangled.repo/x";
        let oldest = parse(
            json!({"title": "T", "patch": "p", "pullId": 3, "targetRepo": uri, "targetBranch": "main"}),
        );
        let oldest = oldest.unwrap();
        let text = Content::Text {
            patch: "p".into(),
            cid: cid::of_blob(b"p"),
        };
        assert_eq!(oldest.rounds[0].content, text);
        assert_eq!(
            (oldest.target.as_str(), oldest.created_at.date().as_str()),
            (uri, "2026-05-02")
        );

        let oid = "a".repeat(40);
        let between = parse(json!({
            "title": "T", "patchBlob": blob("b"), "createdAt": "2026-01-01T00:00:00Z",
            "target": {"repo": uri, "repoDid": "did:plc:r", "branch": "main"},
            "source": {"branch": "f", "sha": oid, "repo": "at://did:plc:b/sh.tangled.repo/y"},
        }))
        .unwrap();
        assert_eq!(between.target, "did:plc:r");
        assert_eq!(between.source_sha.as_deref(), Some(oid.as_str()));
    }

    #[test]
    fn empty_repository_did_counts_as_missing() {
        let uri = "at://did:plc:o/sh.tangled.repo/x";
        for source in [Some(uri), None] {
            let found = parse(json!({
                "title": "T", "createdAt": "2026-05-01T00:00:00Z",
                "target": {"repo": uri, "repoDid": "", "branch": "main"},
                "source": {"branch": "f", "repo": source, "repoDid": ""},
            }));
            let found = found.unwrap();
            assert_eq!((found.target.as_str(), found.head.as_str()), (uri, "f"));
            assert_eq!(found.source.as_deref(), source);
        }
    }

    /// After a repository got another record, the at-uris of older records name nothing.
    #[test]
    fn stale_at_uri_beside_a_did_does_not_matter() {
        let (stale, other) = (
            "at://did:plc:o/sh.tangled.repo/old",
            "at://did:plc:b/sh.tangled.repo/y",
        );
        for (target, source, wanted) in [
            (
                json!({"repo": stale, "repoDid": "did:plc:r"}),
                json!({"repo": stale}),
                "did:plc:r",
            ),
            (
                json!({"repo": stale, "repoDid": "did:plc:r"}),
                json!({"repo": stale, "repoDid": "did:plc:r"}),
                "did:plc:r",
            ),
            (
                json!({"repo": "did:plc:r"}),
                json!({"repo": stale, "repoDid": "did:plc:r"}),
                "did:plc:r",
            ),
            (
                json!({"repo": stale, "repoDid": "did:plc:r"}),
                json!({"repo": other, "repoDid": "did:plc:s"}),
                "did:plc:s",
            ),
            (
                json!({"repo": stale, "repoDid": "did:plc:r"}),
                json!({"repo": other}),
                other,
            ),
            // Text that is no DID counts as missing.
            (
                json!({"repo": "did:plc:r", "repoDid": 7}),
                json!({"repo": other, "repoDid": "x"}),
                other,
            ),
        ] {
            let mut record = json!({
                "title": "T", "createdAt": "2025-12-09T20:45:35Z", "target": target, "source": source,
            });
            record["target"]["branch"] = json!("main");
            record["source"]["branch"] = json!("f");
            let found = parse(record.clone()).unwrap();
            assert_eq!(found.target, "did:plc:r", "{record}");
            assert_eq!(found.source.as_deref(), Some(wanted), "{record}");
        }
    }

    #[test]
    fn source_sha_without_object_id_form_is_ignored() {
        for sha in ["topic~0", "--output=x", "aaaaaaa", ""] {
            let found = parse(json!({
                "title": "T", "createdAt": "2026-01-01T00:00:00Z",
                "target": {"repo": "did:plc:r", "branch": "main"},
                "source": {"branch": "f", "sha": sha},
            }));
            assert_eq!(found.unwrap().source_sha, None, "{sha}");
        }
    }

    #[test]
    fn pull_record_is_read_by_configured_names() {
        let mut names = crate::Dialects::default();
        for (key, name) in [
            ("sh_field_title", "heading"),
            ("sh_field_created_at", "at"),
            ("sh_field_target", "onto"),
            ("sh_field_target_repo", "home"),
            ("sh_field_target_branch", "line"),
            ("sh_field_source", "from"),
            ("sh_field_source_branch", "twig"),
            ("sh_field_depends_on", "after"),
            ("sh_field_rounds", "versions"),
            ("sh_field_patch_blob", "change"),
        ] {
            names.set(key, name).unwrap();
        }
        let record = Record {
            uri: "at://did:plc:a/sh.tangled.repo.pull/3mkuuamwfj322".into(),
            cid: None,
            value: json!({
                "heading": "T", "at": "2026-11-01T00:00:00Z", "after": "at://x",
                "onto": {"home": "did:plc:r", "line": "main"}, "from": {"twig": "f"},
                "versions": [{"at": "2026-11-02T00:00:00Z", "change": blob("b0")}],
                "title": "none", "target": {"repo": "did:plc:other"},
            }),
        };
        let found = TangledPull::parse(record, &names.sh_fields).unwrap();
        assert_eq!(
            (found.title.as_str(), found.target.as_str()),
            ("T", "did:plc:r")
        );
        assert_eq!((found.base.as_str(), found.head.as_str()), ("main", "f"));
        assert_eq!(found.depends_on.as_deref(), Some("at://x"));
        assert_eq!(found.created_at.date(), "2026-11-01");
        assert_eq!(found.rounds[0].content, Content::Blob(cid::of_blob(b"b0")));
        assert!(found.rounds[0].created_at.is_some());
        assert!(!found.has_versions, "rounds are called so");
    }

    #[test]
    fn malformed_pull_record_error_has_reason() {
        for (value, why) in [
            (json!(null), "no title"),
            (json!({"title": 7}), "no title"),
            (json!({"title": "T"}), "no repository"),
            (
                json!({"title": "T", "target": {"repo": "did:plc:r", "branch": []}}),
                "no target branch",
            ),
        ] {
            let e = parse(value).unwrap_err();
            assert_eq!(e.code(), "protocol");
            assert!(e.message().contains(why), "{e}");
        }
    }
}
