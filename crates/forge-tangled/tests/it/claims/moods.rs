//! Behaviour of the index during a write, and faults during the write.

use std::time::Duration;

use forge_core::PullRequests as _;
use forge_tangled_world::{Fault, Moods};

use super::{Doing, Writes, pulls};

/// Behaviour of the index, or an event that it receives late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Calm,
    Lag,
    FarBehind,
    NoPulls,
    NoStatuses,
    OtherCid,
    LosesOne,
    Down,
    AllDown,
    TooMany,
    /// The index ingests no statuses, and the configuration says so.
    KnownOld,
    /// Bob loses push access after his process has checked it.
    RightLost,
    /// The index learns late of another pull request that is stacked on the same parent.
    PlaceTaken,
}

/// Every mood. After the plan, a world repeats all of them.
pub(super) const ALL: [Mood; 15] = [
    Mood::Calm,
    Mood::Calm,
    Mood::Calm,
    Mood::Lag,
    Mood::FarBehind,
    Mood::NoPulls,
    Mood::NoStatuses,
    Mood::OtherCid,
    Mood::LosesOne,
    Mood::Down,
    Mood::AllDown,
    Mood::TooMany,
    Mood::KnownOld,
    Mood::RightLost,
    Mood::PlaceTaken,
];

const FAR_BEHIND: Duration = Duration::from_secs(3_600);

/// Collections that the index may lose.
const LOSSES: [&str; 6] = [
    super::truth::PULL,
    super::truth::STATUS,
    super::truth::COMMENT,
    super::truth::LABEL_OP,
    super::truth::ISSUE,
    super::truth::ISSUE_STATE,
];

/// Methods that may fail for a repository of 2026. The PDS answers those outside `sh.tangled`.
const METHODS: [&str; 8] = [
    "com.atproto.repo.applyWrites",
    "com.atproto.repo.putRecord",
    "com.atproto.repo.uploadBlob",
    "com.atproto.repo.getRecord",
    "com.atproto.repo.listRecords",
    "com.atproto.server.refreshSession",
    "sh.tangled.repo.merge",
    "sh.tangled.repo.log",
];

/// Methods that may fail for a repository of 1.0. The knot answers all of them.
const METHODS_1_0: [&str; 5] = [
    "com.atproto.repo.createRecord",
    "com.atproto.repo.putRecord",
    "com.atproto.repo.getRecord",
    "com.atproto.repo.listRecords",
    "org.tangled.review.submitPatch",
];

impl Writes {
    /// Applies the mood to the index; after the plan, may also inject a fault into a request.
    pub(super) fn disturb(&mut self, mood: Mood, doing: &Doing) -> String {
        let index = self.stage.world.index();
        let mut moods = Moods {
            drops_unauthorised: mood == Mood::RightLost || self.random.below(2) == 0,
            ..Moods::default()
        };
        match mood {
            Mood::Calm | Mood::RightLost => {}
            Mood::Lag => moods.lag = Duration::from_millis(30),
            Mood::FarBehind | Mood::PlaceTaken => moods.lag = FAR_BEHIND,
            Mood::NoPulls => moods.pulls = false,
            Mood::NoStatuses | Mood::KnownOld => moods.statuses = false,
            Mood::OtherCid => moods.other_cid = true,
            Mood::LosesOne => index.lose_next(self.random.pick::<&str>(&LOSSES), 1),
            Mood::Down => index.host().set_down(true),
            Mood::AllDown => {
                index.backlinks().set_down(true);
                index.host().set_down(true);
            }
            Mood::TooMany => index.host().fault(Fault::rate_limited(600).always()),
        }
        index.set_moods(moods);
        let mut told = format!("{mood:?}");
        if !self.is_planned {
            for _ in 0..self.random.below(3) {
                self.break_something(doing, &mut told);
            }
        }
        told
    }

    fn break_something(&mut self, doing: &Doing, told: &mut String) {
        let random = &mut self.random;
        let fault = match random.below(5) {
            0 => Fault::reset(),
            1 => Fault::reset().committed(),
            2 => Fault::gateway(502),
            3 => Fault::gateway(502).committed(),
            _ => Fault::delayed(Duration::from_millis(20)),
        };
        let fault = fault.times(1 + u32::try_from(random.below(3)).unwrap());
        let world = &self.stage.world;
        let (pds, knot) = (world.pds().host(), world.knot().host());
        let (host, method) = match doing {
            Doing::Ticket(_) => (knot, *random.pick(&METHODS_1_0)),
            _ => match *random.pick(&METHODS) {
                method if method.starts_with("sh.") => (knot, method),
                method => (pds, method),
            },
        };
        told.push_str(&format!(", {fault:?} at {method}"));
        host.fault(fault.on(method));
    }

    /// Clears faults, downtime and traps; keeps the mood of the index.
    pub(super) fn calm(&self) {
        for host in self.hosts() {
            host.clear_faults();
            host.set_down(false);
            host.set_trap(None);
        }
    }

    /// Makes the index ingest all records, in the order in which they were written.
    pub(super) fn catch_up(&self) {
        self.stage.world.index().set_moods(Moods::default());
    }

    /// Grants or revokes Bob's push access.
    pub(super) fn set_right(&mut self, has: bool) {
        let (knot, bob) = (self.stage.world.knot(), &self.people[1].did);
        match has {
            true => knot.add_collaborator(&self.stage.repo, bob),
            false => knot.remove_collaborator(&self.stage.repo, bob),
        }
        self.is_lost = !has;
    }

    /// Prepares a pull request on a parent that already has a child. The index does not show the
    /// child yet.
    pub(super) async fn on_occupied_parent(&mut self, number: u64) -> Doing {
        let (lower, first) = (format!("b{number}.lower"), format!("b{number}.first"));
        self.catch_up();
        pulls::commit(&self.stage.repo, &lower);
        let process = self.process(0, Duration::ZERO);
        let new = pulls::New::branch(&lower).request();
        let below = process.create(self.stage.repo_id(), &new).await.unwrap();
        let below = below.value.node_id;
        self.stage.world.index().set_moods(Moods {
            lag: FAR_BEHIND,
            ..Moods::default()
        });
        let process = self.process(2, Duration::ZERO);
        let new = self.on_top(&first, &lower, &below).request();
        process.create(self.stage.repo_id(), &new).await.unwrap();
        self.learn();
        Doing::Pull(pulls::Doing::Create(self.on_top(
            &format!("b{number}"),
            &lower,
            &below,
        )))
    }

    /// Returns a branch on top of another branch. The other branch's pull request is the parent.
    fn on_top(&self, branch: &str, lower: &str, below: &str) -> pulls::New {
        self.stage.repo.git.set_branch(branch, lower);
        pulls::commit(&self.stage.repo, branch);
        pulls::New {
            how: pulls::How::OnTop(self.pull_id(below)),
            ..pulls::New::branch(branch)
        }
    }
}
