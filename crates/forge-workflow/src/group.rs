//! Finds the group of an issue, and orders its members.
//!
//! A group is a set of issues that are linked by "blocks" or by "is a sub-issue of".

use std::collections::{BTreeMap, BTreeSet};

use forge_core::model::IssueId;
use serde::Serialize;

use crate::member::order;

/// Maximum number of issues in a group. A larger group is cut and marked as truncated.
pub const MAX_GROUP: usize = 200;

/// Links of an issue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IssueLinks {
    /// The parent issue.
    pub parent: Option<IssueId>,
    /// The sub-issues.
    pub children: Vec<IssueId>,
    /// The issues that block this one.
    pub blocked_by: Vec<IssueId>,
    /// The issues that this issue blocks.
    pub blocking: Vec<IssueId>,
    /// True if the issue is open.
    pub open: bool,
    /// True if some links of the issue are missing here.
    pub truncated: bool,
}

/// A group of linked issues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Group {
    /// The members, each after the issues that block it.
    pub members: Vec<IssueId>,
    /// The first of `members`.
    pub primary: Option<IssueId>,
    /// Sets of members that block each other. Within a cycle, members are ordered by number.
    pub cycles: Vec<Vec<IssueId>>,
    /// True if members are missing because of [`MAX_GROUP`] or unreadable links.
    pub truncated: bool,
}

type IssueSortKey = (String, u64, String);

/// The known links of issues.
#[derive(Clone, Debug, Default)]
pub struct LinkMap {
    known: BTreeMap<IssueSortKey, (IssueId, IssueLinks)>,
}

impl LinkMap {
    /// Adds an issue with its links.
    pub fn insert(&mut self, id: IssueId, links: IssueLinks) {
        self.known.insert(order(&id), (id, links));
    }

    /// Returns the linked issues that are still to be read, in the order of their numbers. Empty
    /// once [`MAX_GROUP`] issues are known.
    #[must_use]
    pub fn unknown(&self) -> Vec<IssueId> {
        if self.known.len() >= MAX_GROUP {
            return Vec::new();
        }
        let linked = self.known.values().flat_map(|(_, links)| neighbours(links));
        let unknown: BTreeMap<IssueSortKey, IssueId> = linked
            .map(|id| (order(id), id.clone()))
            .filter(|(key, _)| !self.known.contains_key(key))
            .collect();
        unknown.into_values().collect()
    }

    /// Returns the group of the issue `seed`. The result is the same for every member of the group.
    ///
    /// The members are all issues that can be reached by links in either direction. A parent with
    /// an open sub-issue in the group is a container and not a member.
    #[must_use]
    pub fn group_of(&self, seed: &IssueId) -> Group {
        let reached = self.reach(seed);
        let is_container = |key: &IssueSortKey| {
            self.known.get(key).is_some_and(|(_, links)| {
                links.children.iter().any(|child| {
                    let child = order(child);
                    let open = self.known.get(&child).is_some_and(|(_, links)| links.open);
                    open && reached.contains(&child)
                })
            })
        };
        let all: BTreeSet<IssueSortKey> = reached
            .iter()
            .filter(|key| !is_container(key))
            .cloned()
            .collect();
        // `reached` contains an unknown issue if the group has more than `MAX_GROUP` issues.
        let truncated = reached
            .iter()
            .any(|key| self.known.get(key).is_none_or(|(_, links)| links.truncated));
        let (ordered, cycles) = self.sort(&all);
        let ids = |keys: Vec<IssueSortKey>| -> Vec<IssueId> {
            keys.iter()
                .filter_map(|key| Some(self.known.get(key)?.0.clone()))
                .collect()
        };
        let members = ids(ordered);
        Group {
            primary: members.first().cloned(),
            members,
            cycles: cycles.into_iter().map(ids).collect(),
            truncated,
        }
    }

    fn reach(&self, seed: &IssueId) -> BTreeSet<IssueSortKey> {
        // A link that only one of the two issues lists counts for both.
        let mut linked: BTreeMap<IssueSortKey, BTreeSet<IssueSortKey>> = BTreeMap::new();
        for (key, (_, links)) in &self.known {
            for other in neighbours(links).map(order) {
                linked.entry(other.clone()).or_default().insert(key.clone());
                linked.entry(key.clone()).or_default().insert(other);
            }
        }
        let mut reached = BTreeSet::from([order(seed)]);
        let mut open = vec![order(seed)];
        while let Some(key) = open.pop() {
            for next in linked.get(&key).into_iter().flatten() {
                if reached.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        reached
    }

    /// Sorts with Kahn's algorithm, smallest key first. Starts a cycle with its smallest member.
    fn sort(&self, all: &BTreeSet<IssueSortKey>) -> (Vec<IssueSortKey>, Vec<Vec<IssueSortKey>>) {
        let mut waits: BTreeMap<&IssueSortKey, BTreeSet<IssueSortKey>> = BTreeMap::new();
        for key in all {
            waits.entry(key).or_default();
            let Some((_, links)) = self.known.get(key) else {
                continue;
            };
            for before in links
                .blocked_by
                .iter()
                .map(order)
                .filter(|k| all.contains(k))
            {
                waits.entry(key).or_default().insert(before);
            }
            for after in links.blocking.iter().map(order) {
                if let Some(after) = all.get(&after) {
                    waits.entry(after).or_default().insert(key.clone());
                }
            }
        }
        let cycles = cycles(&waits);
        let mut ordered = Vec::new();
        while !waits.is_empty() {
            let free = waits.iter().find(|(_, before)| before.is_empty());
            let next = free.or_else(|| {
                let in_cycle = |key: &IssueSortKey| cycles.iter().any(|cycle| cycle.contains(key));
                waits.iter().find(|(key, _)| in_cycle(key))
            });
            let Some(next) = next
                .or_else(|| waits.iter().next())
                .map(|(key, _)| (*key).clone())
            else {
                break;
            };
            waits.remove(&next);
            for before in waits.values_mut() {
                before.remove(&next);
            }
            ordered.push(next);
        }
        (ordered, cycles)
    }
}

fn neighbours(links: &IssueLinks) -> impl Iterator<Item = &IssueId> {
    let family = links.parent.iter().chain(&links.children);
    family.chain(&links.blocked_by).chain(&links.blocking)
}

/// Returns the sets of keys that block each other, each set sorted.
fn cycles(waits: &BTreeMap<&IssueSortKey, BTreeSet<IssueSortKey>>) -> Vec<Vec<IssueSortKey>> {
    let reach = |from: &IssueSortKey| {
        let mut reached = BTreeSet::new();
        let mut open = vec![from.clone()];
        while let Some(key) = open.pop() {
            for next in waits.get(&key).into_iter().flatten() {
                if reached.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&IssueSortKey, BTreeSet<IssueSortKey>> =
        waits.keys().map(|key| (*key, reach(key))).collect();
    let mut found: Vec<Vec<IssueSortKey>> = Vec::new();
    for (key, from) in &reached {
        if !from.contains(*key) || found.iter().any(|cycle| cycle.contains(key)) {
            continue;
        }
        let back = |other: &&IssueSortKey| reached.get(*other).is_some_and(|r| r.contains(*key));
        found.push(from.iter().filter(back).cloned().collect());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member::tests::{id, numbers};

    /// Builds links from texts: `1<2` means "1 blocks 2", `1/2` means "1 is the parent of 2". Only
    /// one of the two issues lists each link.
    fn map(links: &[&str]) -> LinkMap {
        let mut all: BTreeMap<u64, IssueLinks> = BTreeMap::new();
        for link in links {
            let (a, kind, b) = match (link.split_once('<'), link.split_once('/')) {
                (Some((a, b)), _) => (a, '<', b),
                (_, Some((a, b))) => (a, '/', b),
                _ => panic!("{link}"),
            };
            let (a, b): (u64, u64) = (a.parse().unwrap(), b.parse().unwrap());
            for n in [a, b] {
                all.entry(n).or_insert(IssueLinks {
                    open: true,
                    ..IssueLinks::default()
                });
            }
            match kind {
                '<' => all.get_mut(&b).unwrap().blocked_by.push(id(a)),
                _ => all.get_mut(&a).unwrap().children.push(id(b)),
            }
        }
        let mut map = LinkMap::default();
        for (n, links) in all {
            map.insert(id(n), links);
        }
        map
    }

    fn group(links: &[&str], seed: u64) -> Vec<u64> {
        numbers(&map(links).group_of(&id(seed)).members)
    }

    #[test]
    fn group_is_the_same_from_every_member() {
        for (links, wanted) in [
            (&["10<11", "11<12"][..], vec![10, 11, 12]),
            (&["20<5"], vec![20, 5]),
            (&["1/2", "1/3", "3<2"], vec![3, 2]),
            (&["1/2", "2/3", "2/4", "1/5"], vec![3, 4, 5]),
            (&["1<2", "1<3", "2<4", "3<4"], vec![1, 2, 3, 4]),
        ] {
            for seed in &wanted {
                assert_eq!(group(links, *seed), wanted, "{links:?} from {seed}");
            }
        }
        // The group of the container 1 is the same as the group of its children.
        assert_eq!(group(&["1/2", "1/3", "3<2"], 1), [3, 2]);
    }

    #[test]
    fn cycle_is_reported_and_members_stay_ordered() {
        let found = map(&["1<2", "2<1", "2<3"]).group_of(&id(3));
        assert_eq!(numbers(&found.members), [1, 2, 3]);
        assert_eq!(found.cycles.len(), 1);
        assert_eq!(numbers(&found.cycles[0]), [1, 2]);
        assert!(!found.truncated);
    }

    #[test]
    fn issue_without_links_is_a_group_of_one() {
        let mut map = LinkMap::default();
        map.insert(id(7), IssueLinks::default());
        let found = map.group_of(&id(7));
        assert_eq!(
            (numbers(&found.members), found.primary),
            (vec![7], Some(id(7)))
        );
    }

    #[test]
    fn next_layer_has_unread_linked_issues() {
        let mut map = LinkMap::default();
        let links = IssueLinks {
            blocked_by: vec![id(3), id(2)],
            parent: Some(id(9)),
            ..IssueLinks::default()
        };
        map.insert(id(1), links);
        assert_eq!(numbers(&map.unknown()), [2, 3, 9]);
        assert!(map.group_of(&id(1)).truncated);
        for n in [2, 3, 9] {
            map.insert(id(n), IssueLinks::default());
        }
        assert!(map.unknown().is_empty());
        assert!(!map.group_of(&id(1)).truncated);
    }

    #[test]
    fn group_is_truncated_only_beyond_the_maximum() {
        for (length, truncated) in [(MAX_GROUP, false), (MAX_GROUP + 1, true)] {
            let mut map = LinkMap::default();
            for n in 0..MAX_GROUP as u64 {
                let next = (n + 1 < length as u64).then(|| id(n + 1));
                let links = IssueLinks {
                    blocking: next.into_iter().collect(),
                    ..IssueLinks::default()
                };
                map.insert(id(n), links);
            }
            assert!(map.unknown().is_empty());
            for seed in [0, 99, MAX_GROUP as u64 - 1] {
                let found = map.group_of(&id(seed));
                assert_eq!(found.members.len(), MAX_GROUP, "{length} from {seed}");
                assert_eq!(found.truncated, truncated, "{length} from {seed}");
            }
        }
    }

    #[test]
    fn random_graph_members_share_one_group() {
        let mut seed = 7_u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        for _ in 0..300 {
            let links: Vec<String> = (0..next(9))
                .map(|_| {
                    let (a, b) = (next(8), next(8));
                    format!("{a}{}{b}", if next(3) == 0 { '/' } else { '<' })
                })
                .collect();
            let links: Vec<&str> = links.iter().map(String::as_str).collect();
            let map = map(&links);
            for (from, _) in map.known.values() {
                let whole = map.group_of(from);
                for member in &whole.members {
                    assert_eq!(map.group_of(member), whole, "{links:?}");
                }
            }
        }
    }
}
