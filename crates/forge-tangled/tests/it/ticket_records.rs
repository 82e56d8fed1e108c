//! Ticket records that a knot stores for a repository of Tangled 1.0.

use forge_tangled_world::{KnotDouble, Repository};
use serde_json::Value;

/// Reads the records of a repository without a request.
pub struct TicketRecords<'a> {
    knot: &'a KnotDouble,
    did: &'a str,
}

impl<'a> TicketRecords<'a> {
    pub fn of(knot: &'a KnotDouble, repo: &'a Repository) -> Self {
        Self {
            knot,
            did: &repo.did,
        }
    }

    fn all(&self, name: &str) -> impl Iterator<Item = (String, Value)> {
        let collection = format!("org.tangled.{name}");
        let all = self.knot.records(self.did, &collection).into_iter();
        all.map(|(uri, _, value)| (uri, value))
    }

    pub fn titled(&self, title: &str) -> Vec<(String, Value)> {
        self.all("track.ticket")
            .filter(|(_, value)| value["title"]["text"] == title)
            .collect()
    }

    pub fn rounds(&self, uri: &str) -> usize {
        let rkey = uri.rsplit('/').next().unwrap();
        self.all("review.patch")
            .filter(|(_, value)| value["ticket"] == rkey)
            .count()
    }

    /// Returns the number of comments on a ticket with this text.
    pub fn said(&self, uri: &str, text: &str) -> usize {
        self.all("feed.comment")
            .filter(|(_, value)| value["subject"]["uri"] == uri && value["body"]["text"] == text)
            .count()
    }
}
