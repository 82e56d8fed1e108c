//! Tests every ingestion state of a write under every fault of the index: the state, the exit code
//! and the text. The module `words` tests which fault causes which state.

use std::time::Duration;

use forge_tangled_world::{Fault, Moods};
use forge_testkit::Output;

use super::world::{PULL, STATUS, Tangled};

const COMMENT: &str = "sh.tangled.feed.comment";
const TICKET: &str = "org.tangled.track.ticket";

/// Name of an index fault, and the function that causes it.
type Mood = (&'static str, fn(&Tangled));

fn set(t: &Tangled, moods: Moods) {
    t.world.index().set_moods(moods);
}

fn lose(t: &Tangled, times: usize) {
    for collection in [PULL, STATUS, COMMENT] {
        t.world.index().lose_next(collection, times);
    }
}

const MOODS: [Mood; 11] = [
    ("well", |_| {}),
    ("slow", |t| {
        let lag = Duration::from_millis(300);
        let moods = Moods::default();
        set(t, Moods { lag, ..moods });
    }),
    ("far behind", |t| {
        let lag = Duration::from_secs(600);
        let moods = Moods::default();
        set(t, Moods { lag, ..moods });
    }),
    ("loses one", |t| lose(t, 1)),
    ("loses all", |t| lose(t, 99)),
    ("of 2025", |t| {
        let old = Moods {
            pulls: false,
            statuses: false,
            ..Moods::default()
        };
        set(t, old);
    }),
    ("of May 2026", |t| {
        let old = Moods {
            statuses: false,
            ..Moods::default()
        };
        set(t, old);
    }),
    ("drops what is not authorised", |t| {
        let strict = Moods {
            drops_unauthorised: true,
            ..Moods::default()
        };
        set(t, strict);
    }),
    ("another version", |t| {
        let other = Moods {
            other_cid: true,
            ..Moods::default()
        };
        set(t, other);
    }),
    ("429", |t| {
        let busy = Fault::rate_limited(600).always();
        t.world.index().host().fault(busy);
    }),
    ("down", |t| t.world.index().host().set_down(true)),
];

/// Faults under which no record becomes visible before the timeout.
const SHOWS_NOTHING: [&str; 5] = ["far behind", "loses all", "another version", "429", "down"];

/// Returns the ingestion state that a command prints for its write. No printed line means
/// `immediate`.
fn ingestion_state(output: &Output) -> &'static str {
    let said = output.stderr_text();
    if said.contains("the index ignores it: ") {
        return "ineffective";
    }
    let begins = |start: &str| said.lines().any(|line| line.starts_with(start));
    let words = [
        ("confirmed: ", "confirmed"),
        ("! pending: ", "pending"),
        ("warning: pds_only: ", "pds_only"),
    ];
    let found = words.into_iter().find(|(start, _)| begins(start));
    found.map_or("immediate", |(_, word)| word)
}

/// Asserts that a valid write is pending under [`SHOWS_NOTHING`] and the faults in `pending`, and
/// confirmed under all other faults.
fn is_confirmed_or_pending(
    prepare: impl Fn(&Tangled) -> String,
    write: impl Fn(&Tangled, &str, &[&str]) -> Output,
    pending: &[&str],
) {
    for (mood, set) in MOODS {
        let t = Tangled::new();
        let uri = prepare(&t);
        set(&t);
        let index = t.world.index().host().authority();
        let wanted = match SHOWS_NOTHING.contains(&mood) || pending.contains(&mood) {
            true => "pending",
            false => "confirmed",
        };
        let wait = match wanted {
            "pending" => "600ms",
            _ => "8s",
        };
        let output = write(&t, &uri, &["--wait", wait]).exits(0);
        assert_eq!(ingestion_state(&output), wanted, "{mood}: {output:?}");
        let (line, next) = match wanted {
            "pending" => (
                "; nothing shows it yet, after ".to_owned(),
                "Recovery: look again: forge tangled ingestion at://",
            ),
            _ => (format!("confirmed: {index} shows the record, after "), ""),
        };
        let said = output.stderr_text();
        let whole = said.contains(&line) && said.contains(next);
        assert!(whole, "{mood}: {output:?}");
    }
}

#[test]
fn comment_under_each_index_state_is_confirmed_or_pending() {
    is_confirmed_or_pending(
        |t| t.open("topic"),
        |t, uri, wait| {
            let comment = ["pr", "comment", uri, "-b", "Text."];
            t.forge(&t.bob, &[&comment[..], wait].concat()).output()
        },
        &[],
    );
}

#[test]
fn pull_under_each_index_state_is_confirmed_or_pending() {
    is_confirmed_or_pending(
        |_| String::new(),
        |t, _, wait| t.create("topic", wait).output(),
        &["of 2025"],
    );
}

#[test]
fn close_under_each_index_state_is_confirmed_or_pending() {
    is_confirmed_or_pending(
        |t| t.open("topic"),
        |t, uri, wait| {
            let close = ["pr", "close", uri];
            t.forge(&t.bob, &[&close[..], wait].concat()).output()
        },
        &["of 2025", "of May 2026"],
    );
}

/// A broken rule counts only if a list of the index lacks the record.
#[test]
fn dropped_record_is_ineffective_if_the_index_answers() {
    for (mood, set) in MOODS {
        let t = Tangled::new();
        let uri = t.foreign(b"no gzip", |_| {});
        set(&t);
        let edit = ["pr", "edit", &uri, "-t", "Better", "--wait", "600ms"];
        if ["429", "down"].contains(&mood) {
            let output = t.forge(&t.alice, &edit).output().exits(0);
            assert_eq!(ingestion_state(&output), "pending", "{mood}: {output:?}");
            let doubt = "! doubt: an index of July 2026 ignored such a record (the patch of round \
                         0 is not gzip)";
            let _ = output.says(doubt);
            continue;
        }
        let output = t.forge(&t.alice, &edit).output().exits(1);
        assert_eq!(
            ingestion_state(&output),
            "ineffective",
            "{mood}: {output:?}"
        );
        let why = "is stored, but the index ignores it: the patch of round 0 is not gzip";
        let look =
            format!("Recovery: see the details, and how to recover: forge tangled ingestion {uri}");
        let _ = output.says(why).says(&look);
        let check = ["tangled", "ingestion", &uri];
        let output = t.forge(&t.alice, &check).output().exits(1);
        let said = output.stdout_text();
        let why = "because:\tthe index ignores it: the patch of round 0 is not gzip\n";
        let whole = said.starts_with("ingestion:\tineffective\n") && said.contains(why);
        assert!(whole, "{mood}: {output:?}");
    }
}

/// `forge` does not poll an index that it knows to be too old, because such an index never shows
/// the record.
#[test]
fn record_unknown_to_old_index_stays_pds_only() {
    for (mood, set) in MOODS {
        let t = Tangled::new();
        t.scratch.write(
            "home/.config/forge/config.toml",
            "[hosts.\"tangled.org\"]\nindex_date = \"2025-10\"\n",
        );
        set(&t);
        let output = t.create("topic", &[]).output().exits(0);
        assert_eq!(ingestion_state(&output), "pds_only", "{mood}: {output:?}");
        let _ = output.says("Recovery: open it on the web page of the repository");
        let (uri, _, _) = t.world.pds().records(&t.alice.did, PULL).remove(0);
        for (args, instead) in [
            (
                &["pr", "comment", &uri, "-b", "Text."][..],
                "Recovery: comment on its web page",
            ),
            (
                &["pr", "close", &uri][..],
                "Recovery: close, reopen or mark it as merged on its web page",
            ),
        ] {
            let output = t.forge(&t.bob, args).output().exits(0);
            assert_eq!(ingestion_state(&output), "pds_only", "{mood}: {output:?}");
            let _ = output.says(instead);
        }
        let check = ["tangled", "ingestion", &uri];
        let output = t.forge(&t.alice, &check).output().exits(0);
        let said = output.stdout_text();
        let whole =
            said.starts_with("ingestion:\tpds_only\n") && said.ends_with("index:\twas not asked\n");
        assert!(whole, "{mood}: {output:?}");
        assert_eq!(t.looks(), 0, "{mood}");
    }
}

/// A knot of Tangled 1.0 itself shows the records that it stores, so faults of the index have no
/// effect.
#[test]
fn knot_record_under_each_index_state_is_immediate() {
    for (mood, set) in MOODS {
        let t = Tangled::new();
        let repo = t.world.repository_1_0(&t.alice, "new");
        repo.git.commit("topic", "Add", &[("a", Some("1\n"))]);
        set(&t);
        let create = ["pr", "create", "-R", "tangled:alice.test/new", "-H"];
        let what = ["topic", "-t", "T", "-b", "B"];
        let create = [&create[..], &what].concat();
        let output = t.forge(&t.alice, &create).output().exits(0);
        assert_eq!(ingestion_state(&output), "immediate", "{mood}: {output:?}");
        let _ = output.says("experimental");
        let tickets = t.world.knot().records(&repo.did, TICKET);
        let uri = tickets[0].0.as_str();
        let close = ["pr", "close", uri];
        let output = t.forge(&t.alice, &close).output().exits(0);
        assert_eq!(ingestion_state(&output), "immediate", "{mood}: {output:?}");
        let check = ["tangled", "ingestion", uri];
        let output = t.forge(&t.alice, &check).output().exits(0);
        let said = output.stdout_text();
        let why = "because:\trecords of Tangled 1.0 are read from the account that stores them, ";
        let whole = said.starts_with("ingestion:\timmediate\n") && said.contains(why);
        assert!(whole, "{mood}: {output:?}");
    }
}
