//! Rate limits, which count points per time window.

use std::collections::BTreeMap;

use forge_double_wire::Reply;
use serde_json::Value;

use super::{Pds, PdsOptions};
use crate::{
    atproto::jwt::Token,
    host::{Incoming, lock},
    xrpc::Failure,
};

#[derive(Debug, Clone, Copy)]
struct Rule {
    points: u64,
    window: i64,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    rule: Rule,
    used: u64,
    reset: i64,
}

#[derive(Debug)]
pub(crate) struct Limits {
    on: bool,
    write_points: u64,
    buckets: BTreeMap<String, Bucket>,
}

impl Limits {
    pub(super) fn new(options: &PdsOptions) -> Self {
        Self {
            on: options.rate_limits,
            write_points: options.write_points,
            buckets: BTreeMap::new(),
        }
    }

    /// Returns the rate limits to which a request counts, each with the request's points.
    fn draws(&self, nsid: &str, request: &Incoming) -> Vec<(String, Rule, u64)> {
        let rule = |points, window| Rule { points, window };
        let mut draws = vec![("all".to_owned(), rule(3_000, 300), 1)];
        let body = || serde_json::from_slice::<Value>(&request.body).unwrap_or_default();
        if nsid == "com.atproto.server.createSession" {
            let who = body()["identifier"].as_str().unwrap_or_default().to_owned();
            draws.push((format!("session {who}"), rule(30, 300), 1));
        }
        let points = match nsid {
            "com.atproto.repo.createRecord" => 3,
            "com.atproto.repo.putRecord" => 2,
            "com.atproto.repo.deleteRecord" => 1,
            "com.atproto.repo.applyWrites" => body()["writes"]
                .as_array()
                .map_or(0, |writes| writes.iter().map(cost).sum()),
            _ => 0,
        };
        let who = request.bearer().and_then(Token::read);
        if let (1.., Some(token)) = (points, who) {
            let who = token.text("sub");
            draws.push((
                format!("hour {who}"),
                rule(self.write_points, 3_600),
                points,
            ));
            draws.push((format!("day {who}"), rule(35_000, 86_400), points));
        }
        if nsid == "com.atproto.repo.uploadBlob" {
            draws.push(("blobs".to_owned(), rule(1_000, 86_400), 1));
        }
        draws
    }
}

fn cost(write: &Value) -> u64 {
    match write["$type"].as_str().and_then(|it| it.split_once('#')) {
        Some((_, "create")) => 3,
        Some((_, "update")) => 2,
        _ => 1,
    }
}

/// Subtracts the points of a request from its limits, or refuses the request if too few are left.
pub(super) fn spend(pds: &Pds, nsid: &str, request: &Incoming) -> Result<(), Failure> {
    let now = lock(&pds.state).now();
    let mut limits = lock(&pds.limits);
    if !limits.on {
        return Ok(());
    }
    let mut enough = true;
    for (name, rule, points) in limits.draws(nsid, request) {
        let fresh = Bucket {
            rule,
            used: 0,
            reset: now + rule.window,
        };
        let bucket = limits.buckets.entry(name).or_insert(fresh);
        if bucket.reset <= now {
            *bucket = fresh;
        }
        bucket.used += points;
        enough &= bucket.used <= rule.points;
    }
    if enough {
        Ok(())
    } else {
        Err(Failure::new(
            429,
            "RateLimitExceeded",
            "Rate Limit Exceeded",
        ))
    }
}

/// Adds headers to an answer that describe the limit with the fewest points left.
pub(super) fn add_headers(pds: &Pds, nsid: &str, request: &Incoming, reply: &mut Reply) {
    let now = lock(&pds.state).now();
    let limits = lock(&pds.limits);
    let drawn = limits.draws(nsid, request).into_iter();
    let buckets = drawn.filter_map(|(name, _, _)| limits.buckets.get(&name));
    let left = |it: &Bucket| it.rule.points.saturating_sub(it.used);
    let Some(bucket) = buckets.min_by_key(|it| left(it)).filter(|_| limits.on) else {
        return;
    };
    reply.set("ratelimit-limit", bucket.rule.points.to_string());
    reply.set("ratelimit-remaining", left(bucket).to_string());
    reply.set("ratelimit-reset", bucket.reset.to_string());
    let policy = format!("{};w={}", bucket.rule.points, bucket.rule.window);
    reply.set("ratelimit-policy", policy);
    if reply.status == 429 {
        reply.set("retry-after", (bucket.reset - now).max(0).to_string());
    }
}
