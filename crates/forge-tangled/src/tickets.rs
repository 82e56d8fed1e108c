//! Reads pull requests of Tangled 1.0. A ticket is the record of a pull request or an issue; only a
//! pull request has a target branch. A round of a pull request is a patch record. Tickets and patch
//! records are in the repository's own account on its knot (git server). `ticket_writes.rs` has the
//! writes.
//!
//! The form of the records is known from public pages. For a detail that was not seen there, both
//! likely forms are read, and the original text is kept. See `docs/reference/tangled.md`.

use std::{collections::BTreeSet, sync::Arc};

use forge_core::{
    AtUri, Error, ErrorKind, Noun, Result, Warning, is_full_oid,
    model::{Label, PrState},
    text::{one_line, truncate_chars},
};
use serde_json::{Map, Value};

use crate::{
    Dialects, Tangled,
    hints::list_pulls,
    json_field::OptionalField,
    malformed,
    patch::{Patch, has_too_many_parts},
    pulls::record::{Content, Round, TangledPull},
    records::{self, Listing, Record},
    repository::TangledRepository,
    ticket_labels,
    xrpc::Xrpc,
    xrpc_error,
};

/// Maximum length of an unknown word in a warning, in characters.
const WORD_MAX: usize = 60;
/// Maximum number of records that are read of one collection of a repository.
pub(crate) const MAX_TICKET_RECORDS: usize = 20_000;

/// Returns the last editor of a record in a repository's account, from the field that the knot
/// adds.
pub(crate) fn editor<'a>(record: &'a Record, names: &Dialects) -> Option<&'a str> {
    record.text(&names.fields.editor)
}

/// State, labels and assignees from the record of a ticket.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inline {
    /// The state. If its word is unknown, `warnings` says so.
    pub state: Option<PrState>,
    pub labels: Vec<Label>,
    pub assignees: Vec<String>,
    pub warnings: Vec<Warning>,
}

/// Returns the state for a word. Only the word `open` has been seen. An unknown word that contains
/// "merge" therefore means merged, and any other unknown word means closed.
pub(crate) fn state(word: &str, names: &Dialects) -> (PrState, Option<Warning>) {
    let known = [PrState::Open, PrState::Closed, PrState::Merged];
    match known.into_iter().find(|s| names.org.state(*s) == word) {
        Some(state) => (state, None),
        None => {
            let state = if word.contains("merge") {
                PrState::Merged
            } else {
                PrState::Closed
            };
            let (word, _) = truncate_chars(word, WORD_MAX);
            let word = one_line(&word).into_owned();
            (
                state,
                Some(Warning::new(format!(
                    "the state '{word}' is unknown; it is read as {}",
                    if state == PrState::Merged {
                        "merged"
                    } else {
                        "closed"
                    }
                ))),
            )
        }
    }
}

/// Returns the state in the field of a ticket; a ticket without a state is open.
pub(crate) fn state_in(field: Option<&Value>, names: &Dialects) -> (PrState, Option<Warning>) {
    let word = field.and_then(Value::as_str);
    state(word.unwrap_or(names.org.state(PrState::Open)), names)
}

/// Reads the fields of a ticket apart from title, body and branch.
pub(crate) fn inline(record: &Record, names: &Dialects) -> Inline {
    let value = &record.value;
    let fields = &names.fields;
    let mut warnings = Vec::new();
    let mut odd = |what: String| {
        let text = format!("skipped in {}: {what}", record.uri);
        warnings.push(Warning::new(text));
    };
    let state_of = value.field(&fields.state);
    if state_of.is_some_and(|word| !word.is_string()) {
        odd("the state, which is not a text".to_owned());
    }
    let body = value.field(&fields.body);
    if body.is_some() && markdown(value, &fields.body, names).is_none() {
        odd("the description, which has no text".to_owned());
    }
    let mut list = |name: &str| match value.get(name) {
        None | Some(Value::Null) => Default::default(),
        Some(Value::Array(items)) => items.iter(),
        Some(_) => {
            odd(format!("`{name}`, which is not a list"));
            Default::default()
        }
    };
    let (tokens, dids) = (list(&fields.labels), list(&fields.assignees));
    let labels = tokens
        .clone()
        .filter_map(|token| ticket_labels::label(token, names));
    let labels: Vec<Label> = labels.collect();
    let assignees: Vec<String> = dids
        .clone()
        .filter_map(|a| a.as_str().map(str::to_owned))
        .collect();
    for (all, read, what) in [
        (tokens.len(), labels.len(), "labels without a key"),
        (
            dids.len(),
            assignees.len(),
            "assignees that are not accounts",
        ),
    ] {
        if all > read {
            odd(format!("{} {what}", all - read));
        }
    }
    let (state, told) = state_in(state_of, names);
    warnings.extend(told);
    Inline {
        state: Some(state),
        labels,
        assignees,
        warnings,
    }
}

/// Builds a warning for a filter by assignees, if no ticket has the field of assignees. The name of
/// this field is a guess.
pub(crate) fn unassigned<'a>(
    mut tickets: impl Iterator<Item = &'a Record>,
    names: &Dialects,
) -> Option<Warning> {
    let field = &*names.fields.assignees;
    let none = !tickets.any(|ticket| ticket.value.get(field).is_some());
    none.then(|| {
        Warning::new(format!(
            "no assignees are shown, but there may be some: no ticket here has the field \
             '{field}', and its name is a guess"
        ))
        .with_hint(
            "look on the web; if they are in another field, set `dialect.field_assignees` in the \
             configuration of the host",
        )
        .of_section("assignees")
    })
}

/// Returns why a patch record belongs to no pull request.
fn broken_patch(patch: &Record, names: &Dialects) -> Option<&'static str> {
    let ticket = patch.text(&names.fields.ticket);
    ticket.is_none().then_some("it names no ticket")
}

/// Returns why a comment is about no record.
fn broken_comment(comment: &Record, names: &Dialects) -> Option<&'static str> {
    subject(comment, names)
        .is_none()
        .then_some("it names no subject")
}

/// Returns the at-uri of the record that a comment is about.
pub(crate) fn subject<'a>(comment: &'a Record, names: &Dialects) -> Option<&'a str> {
    comment.text_at(&[&*names.fields.subject, "uri"])
}

/// Converts a comment to the field names of the protocol of 2026, which the readers of comments
/// expect.
pub(crate) fn convert_to_2026(mut comment: Record, names: &Dialects) -> Record {
    let (fields, wanted) = (&names.fields, &names.sh_fields);
    let rename = |map: &mut Map<String, Value>, from: &str, to: &str| {
        if from != to
            && let Some(value) = map.remove(from)
        {
            map.insert(to.to_owned(), value);
        }
    };
    if let Some(map) = comment.value.as_object_mut() {
        rename(map, &fields.body, &wanted.body);
        rename(map, &fields.reply_to, &wanted.reply_to);
        rename(map, &fields.created_at, &wanted.created_at);
        let body = map.get_mut(&*wanted.body).and_then(Value::as_object_mut);
        if let Some(body) = body {
            rename(body, &fields.text, &wanted.text);
        }
    }
    comment
}

/// Returns the text of a field that is a markdown object or a plain string.
pub(crate) fn markdown<'a>(value: &'a Value, name: &str, names: &Dialects) -> Option<&'a str> {
    let field = value.get(name)?;
    let text = || field.get(&*names.fields.text)?.as_str();
    field.as_str().or_else(text)
}

/// The author of a ticket, and the patches that the author submitted.
struct SubmittedRounds<'a> {
    author: Option<&'a str>,
    rounds: Vec<&'a Record>,
    /// Warning about patches that are left out, because another account submitted them.
    warning: Option<Warning>,
}

/// Determines the author of a ticket from the editors that the knot stamped.
///
/// A ticket does not name its author, and its last editor can be a maintainer. A patch never
/// changes, so its editor is the account that submitted it. Any account can submit a patch for the
/// ticket of another account, and can date it freely. So the author is known if one account
/// submitted all patches, or if the last editor of the ticket submitted some of them. Otherwise no
/// patch counts.
fn author_of<'a>(
    ticket: &'a Record,
    patches: Vec<&'a Record>,
    names: &Dialects,
) -> SubmittedRounds<'a> {
    let last_editor = editor(ticket, names);
    let submitters: BTreeSet<Option<&str>> = patches.iter().map(|p| editor(p, names)).collect();
    let author = match submitters.first() {
        None => last_editor,
        Some(only) if submitters.len() == 1 => only.or(last_editor),
        Some(_) => last_editor.filter(|editor| submitters.contains(&Some(editor))),
    };
    if submitters.len() <= 1 {
        return SubmittedRounds {
            author,
            rounds: patches,
            warning: None,
        };
    }
    let (rounds, others): (Vec<&Record>, Vec<&Record>) = patches
        .into_iter()
        .partition(|p| author.is_some() && editor(p, names) == author);
    let count = others.len();
    let by = others.first().and_then(|p| editor(p, names));
    let by = one_line(by.unwrap_or("an account that the knot does not name"));
    let why = match author {
        Some(author) => format!("the pull request is of {}", one_line(author)),
        None => "the ticket does not show which account opened it".to_owned(),
    };
    let message = format!("{count} round(s) are left out: one was submitted by {by}, and {why}");
    SubmittedRounds {
        author,
        rounds,
        warning: Some(Warning::new(message)),
    }
}

/// Builds the pull request of a ticket and its patches; `None` for an issue.
fn pull(ticket: Record, patches: &[Record], names: &Dialects) -> Result<Option<TangledPull>> {
    let fields = &names.fields;
    let Some(base) = ticket.text(&fields.target_branch).map(str::to_owned) else {
        return Ok(None);
    };
    let broken = |what: &str| {
        Error::new(
            ErrorKind::Protocol,
            format!("{} is no pull request: {what}", ticket.uri),
        )
    };
    let uri = AtUri::parse(&ticket.uri).map_err(|_| broken("its at-uri is invalid"))?;
    let title =
        markdown(&ticket.value, &fields.title, names).ok_or_else(|| broken("it has no title"))?;
    let created_at = ticket
        .created_at(&fields.created_at)
        .ok_or_else(|| broken("it has no time"))?;
    let of_ticket = patches
        .iter()
        .filter(|p| p.text(&fields.ticket) == Some(ticket.rkey()));
    let submitted = author_of(&ticket, of_ticket.collect(), names);
    let mut own = submitted.rounds;
    own.sort_by(|a, b| {
        let key = |r: &Record| (r.created_at(&fields.created_at), r.uri.clone());
        key(a).cmp(&key(b))
    });
    let oid = |patch: &Record, name: &str| {
        let oid = patch.text_at(&[name, &fields.oid])?;
        is_full_oid(oid).then(|| oid.to_owned())
    };
    let rounds = own
        .iter()
        .map(|patch| Round {
            created_at: patch.created_at(&fields.created_at),
            content: match (oid(patch, &fields.base), oid(patch, &fields.head)) {
                (Some(base), Some(head)) => Content::Commits { base, head },
                _ => Content::Missing,
            },
        })
        .collect();
    let source = |name: &str| {
        let source = own.last()?.value.get(&*fields.source)?;
        Some(source.get(name)?.as_str()?.to_owned())
    };
    Ok(Some(TangledPull {
        author: submitted.author.unwrap_or(&uri.authority).to_owned(),
        title: title.to_owned(),
        body: markdown(&ticket.value, &fields.body, names)
            .unwrap_or_default()
            .to_owned(),
        target: uri.authority.clone(),
        base,
        head: source(&fields.source_branch).unwrap_or_default(),
        source: source(&fields.source_repo),
        source_sha: own.last().and_then(|p| oid(p, &fields.head)),
        depends_on: None,
        created_at,
        rounds,
        has_versions: false,
        warnings: submitted.warning.into_iter().collect(),
        uri,
        record: ticket,
    }))
}

/// All comments of a repository, and the patch records that comments may be on.
pub(crate) struct Talk {
    comments: Listing,
    patches: Listing,
}

impl Talk {
    /// Returns the comments on a ticket or on its patch records, with warnings about records that
    /// could not be read. Both are searched, because it is not known whether a comment names the
    /// ticket or a patch record.
    pub(crate) fn about(&self, ticket: &Record, names: &Dialects) -> (Vec<Record>, Vec<Warning>) {
        let mut subjects = vec![ticket.uri.as_str()];
        let own = |p: &&Record| p.text(&names.fields.ticket) == Some(ticket.rkey());
        let patches = self.patches.records.iter();
        subjects.extend(patches.filter(own).map(|p| p.uri.as_str()));
        let about = |r: &&Record| subject(r, names).is_some_and(|uri| subjects.contains(&uri));
        let records = self.comments.records.iter().filter(about);
        let records = records.map(|comment| convert_to_2026(comment.clone(), names));
        let warnings = [&self.comments.warnings[..], &self.patches.warnings].concat();
        (records.collect(), warnings)
    }
}

impl Tangled {
    pub(crate) async fn account<'a>(
        &self,
        repository: &'a TangledRepository,
    ) -> Result<(Xrpc, &'a str)> {
        let did = repository.did.as_deref().unwrap_or_default();
        Ok((self.knot(repository).await?, did))
    }

    /// Reads the rounds of all pull requests, with warnings about unreadable records.
    pub(crate) async fn ticket_patches(&self, repository: &TangledRepository) -> Result<Listing> {
        let (knot, did) = self.account(repository).await?;
        let names = &self.settings.dialects;
        let mut all = records::all(&knot, did, &names.org.patch, MAX_TICKET_RECORDS).await?;
        let told = malformed::malformed_warnings(&all.records, |patch| broken_patch(patch, names));
        all.warnings.extend(told);
        Ok(all)
    }

    /// Reads a pull request by the key of its ticket.
    pub(crate) async fn ticket(
        &self,
        repository: &TangledRepository,
        uri: &AtUri,
    ) -> Result<TangledPull> {
        let missing = || {
            Error::not_found(Noun::PullRequest, format!("there is no pull request {uri}"))
                .with_hint(list_pulls())
        };
        let (knot, did) = self.account(repository).await?;
        let names = &self.settings.dialects;
        let collection = &names.org.pull;
        if uri.authority != did || uri.collection != *collection {
            return Err(missing());
        }
        let (ticket, patches) = futures::try_join!(
            records::find(&knot, did, collection, &uri.rkey),
            self.ticket_patches(repository),
        )?;
        let found = ticket.map(|t| pull(t, &patches.records, names));
        let found = found.transpose()?;
        let mut found = found.flatten().ok_or_else(missing)?;
        found.warnings.extend(patches.warnings);
        Ok(found)
    }

    /// Reads the pull requests of a repository, newest first, with warnings. The flag is true if
    /// the repository has more of them than are read.
    pub(crate) async fn tickets(
        &self,
        repository: &TangledRepository,
    ) -> Result<(Vec<TangledPull>, Vec<Warning>, bool)> {
        let (knot, did) = self.account(repository).await?;
        let names = &self.settings.dialects;
        let collection = &names.org.pull;
        let (tickets, patches) = futures::try_join!(
            records::all(&knot, did, collection, MAX_TICKET_RECORDS),
            self.ticket_patches(repository),
        )?;
        let mut pulls = Vec::new();
        let mut warnings = tickets.warnings;
        warnings.extend(patches.warnings);
        for ticket in tickets.records {
            match pull(ticket, &patches.records, names) {
                Ok(found) => pulls.extend(found),
                Err(e) => warnings.push(Warning::new(e.message())),
            }
        }
        pulls.sort_by(|a, b| {
            let key = |p: &TangledPull| (p.created_at, p.record.uri.clone());
            key(b).cmp(&key(a))
        });
        Ok((pulls, warnings, tickets.is_cut))
    }

    /// Reads the comments on all tickets, because no request returns the comments of a single
    /// ticket.
    pub(crate) async fn all_ticket_comments(&self, repository: &TangledRepository) -> Result<Talk> {
        let (knot, did) = self.account(repository).await?;
        let names = &self.settings.dialects;
        let (mut comments, patches) = futures::try_join!(
            records::all(&knot, did, &names.org.comment, MAX_TICKET_RECORDS),
            self.ticket_patches(repository),
        )?;
        let broken = |comment: &Record| broken_comment(comment, names);
        let told = malformed::malformed_warnings(&comments.records, broken);
        comments.warnings.extend(told);
        Ok(Talk { comments, patches })
    }

    /// Reads the comments on a ticket, with warnings about unreadable records.
    pub(crate) async fn ticket_comments(
        &self,
        repository: &TangledRepository,
        ticket: &Record,
    ) -> Result<(Vec<Record>, Vec<Warning>)> {
        let talk = self.all_ticket_comments(repository).await?;
        Ok(talk.about(ticket, &self.settings.dialects))
    }

    /// Reads the commits from `base` to `head` as `git format-patch` writes them.
    pub(crate) async fn commits_as_patch(
        &self,
        repository: &TangledRepository,
        base: &str,
        head: &str,
    ) -> Result<Arc<Patch>> {
        let (knot, did) = self.account(repository).await?;
        let of = &self.settings.dialects.inputs.knot;
        let params = [
            (&*of.repo, did),
            (&*of.patch_from, base),
            (&*of.patch_to, head),
        ];
        let method = &self.settings.dialects.methods.knot.format_patch;
        let bytes = knot.bytes(method, &params).await?;
        match has_too_many_parts(&bytes) {
            true => Err(xrpc_error::too_many_parts(knot.origin())),
            false => Ok(Arc::new(Patch::parse(bytes))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(collection: &str, rkey: &str, value: Value) -> Record {
        Record {
            uri: format!("at://did:plc:repo/org.tangled.{collection}/{rkey}"),
            cid: Some("c".into()),
            value,
        }
    }

    #[test]
    fn ticket_with_patches_becomes_a_pull_request() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let patch = |rkey: &str, ticket: &str, at: &str, who: &str| {
            let value = json!({
                "ticket": ticket, "base": {"oid": a}, "head": {"oid": b}, "createdAt": at,
                "source": {"repo": "did:plc:repo", "branch": "f"}, "x-tngl-editor": who,
            });
            record("review.patch", rkey, value)
        };
        let patches = [
            patch("p2", "t", "2026-11-02T00:00:00Z", "did:plc:first"),
            patch("p1", "t", "2026-11-01T00:00:00Z", "did:plc:first"),
            patch("p3", "other", "2026-10-01T00:00:00Z", "did:plc:other"),
        ];
        let ticket = json!({
            "title": {"text": "T"}, "body": {"text": "B"}, "state": "open", "targetBranch": "main",
            "tangledLabels": [{"key": "bug"}], "createdAt": "2026-11-01T00:00:00Z",
            "x-tngl-editor": "did:plc:last",
        });
        let ticket = record("track.ticket", "t", ticket);
        let names = Dialects::default();
        let found = pull(ticket.clone(), &patches, &names).unwrap().unwrap();
        assert_eq!((found.title.as_str(), found.body.as_str()), ("T", "B"));
        assert_eq!(
            (found.author(), found.head.as_str()),
            ("did:plc:first", "f")
        );
        assert_eq!(found.rounds.len(), 2);
        let without = pull(ticket.clone(), &[], &names).unwrap().unwrap();
        assert_eq!(
            (without.author(), without.rounds.len()),
            ("did:plc:last", 0)
        );
        assert_eq!(inline(&ticket, &names).labels[0].name, "bug");
        let mut issue = ticket;
        issue.value["targetBranch"] = Value::Null;
        assert!(pull(issue, &patches, &names).unwrap().is_none());
        let broken = record("track.ticket", "t", json!({"targetBranch": "main"}));
        assert_eq!(pull(broken, &[], &names).unwrap_err().code(), "protocol");
    }

    #[test]
    fn round_of_another_editor_is_left_out() {
        let names = Dialects::default();
        let oid = |digit: &str| json!({"oid": digit.repeat(40)});
        let patch = |rkey: &str, head: &str, at: &str, who: Option<&str>| {
            let mut value = json!({
                "ticket": "t", "base": oid("0"), "head": oid(head), "createdAt": at,
                "source": {"repo": "did:plc:repo", "branch": format!("branch-{head}")},
            });
            if let Some(who) = who {
                value["x-tngl-editor"] = json!(format!("did:plc:{who}"));
            }
            record("review.patch", rkey, value)
        };
        let ticket = |who: &str| {
            let value = json!({
                "title": {"text": "T"}, "state": "open", "targetBranch": "main",
                "createdAt": "2026-11-01T00:00:00Z", "x-tngl-editor": format!("did:plc:{who}"),
            });
            record("track.ticket", "t", value)
        };
        let honest = patch("p1", "a", "2026-11-01T00:00:00Z", Some("author"));
        let stranger = |at| patch("p2", "b", at, Some("stranger"));
        let read = |last_editor: &str, patches: &[Record]| {
            let found = pull(ticket(last_editor), patches, &names).unwrap().unwrap();
            let head = found.source_sha.clone().map(|head| head[..1].to_owned());
            (found.author.clone(), head, found.warnings.len())
        };
        let of_author = |warnings| ("did:plc:author".to_owned(), Some("a".to_owned()), warnings);
        // Neither a later nor an earlier date makes a stranger's patch a round.
        for at in ["9999-12-31T00:00:00Z", "2020-01-01T00:00:00Z"] {
            let both = [honest.clone(), stranger(at)];
            assert_eq!(read("author", &both), of_author(1), "{at}");
        }
        let unnamed = patch("p3", "c", "2026-12-01T00:00:00Z", None);
        assert_eq!(read("author", &[unnamed, honest.clone()]), of_author(1));
        // A maintainer edited the ticket last.
        let one = std::slice::from_ref(&honest);
        assert_eq!(read("maintainer", one), of_author(0));
        let unknown = ("did:plc:repo".to_owned(), None, 1);
        let both = [honest, stranger("2020-01-01T00:00:00Z")];
        assert_eq!(read("maintainer", &both), unknown);
    }

    #[test]
    fn malformed_labels_and_assignees_are_warnings() {
        let value = json!({
            "state": 7, "body": {"text": []}, "assignees": "did:plc:a",
            "tangledLabels": [{"key": "bug"}, {"key": 1}, "docs"],
        });
        let names = Dialects::default();
        let said = inline(&record("track.ticket", "t", value), &names);
        assert_eq!((said.labels.len(), said.state), (1, Some(PrState::Open)));
        let told: Vec<_> = said.warnings.iter().map(|w| w.message.as_str()).collect();
        assert_eq!(told.len(), 4, "{told:?}");
        assert!(told.iter().all(|t| t.contains("track.ticket/t")));
        assert!(told.iter().any(|t| t.contains("2 labels without a key")));
        let plain = record("track.ticket", "t", json!({"assignees": null}));
        let plain = inline(&plain, &names);
        assert!(plain.warnings.is_empty(), "{:?}", plain.warnings);
    }

    #[test]
    fn missing_assignee_field_warns_about_guessed_name() {
        let ticket = |value| record("track.ticket", "t", value);
        let names = Dialects::default();
        let mut all = vec![ticket(json!({"state": "open"}))];
        let told = unassigned(all.iter(), &names).unwrap();
        assert!(told.message.contains("'assignees'"), "{told:?}");
        all.push(ticket(json!({"assignees": []})));
        assert_eq!(unassigned(all.iter(), &names), None);
    }

    #[test]
    fn unknown_state_word_is_a_warning() {
        let mut names = Dialects::default();
        assert_eq!(state("open", &names), (PrState::Open, None));
        let (merged, told) = state("was-merged", &names);
        assert_eq!(merged, PrState::Merged);
        assert!(told.unwrap().message.contains("was-merged"));
        assert_eq!(state("completed", &names).0, PrState::Closed);
        names.set("org_state_merged", "landed").unwrap();
        assert_eq!(state("landed", &names), (PrState::Merged, None));
    }

    #[test]
    fn ticket_is_read_by_configured_names() {
        let mut names = Dialects::default();
        for (key, name) in [
            ("field_title", "heading"),
            ("field_text", "words"),
            ("field_target_branch", "onto"),
            ("field_created_at", "at"),
            ("field_labels", "tags"),
            ("field_label_key", "tag"),
            ("field_body", "message"),
            ("field_reply_to", "answers"),
        ] {
            names.set(key, name).unwrap();
        }
        let ticket = json!({
            "heading": {"words": "T"}, "message": {"words": "B"}, "onto": "main",
            "at": "2026-11-01T00:00:00Z", "tags": [{"tag": "bug"}],
        });
        let ticket = record("track.ticket", "t", ticket);
        let found = pull(ticket.clone(), &[], &names).unwrap().unwrap();
        assert_eq!((found.title.as_str(), found.body.as_str()), ("T", "B"));
        assert_eq!(found.base, "main");
        assert_eq!(inline(&ticket, &names).labels[0].name, "bug");
        let comment = json!({"message": {"words": "B"}, "answers": {"uri": "at://x"}, "at": "t"});
        let comment = convert_to_2026(record("feed.comment", "c", comment), &names);
        let wanted = json!({"body": {"text": "B"}, "replyTo": {"uri": "at://x"}, "createdAt": "t"});
        assert_eq!(comment.value, wanted);
    }
}
