//! A test rig of tangled with a real PDS, and with doubles of knot and index.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use forge_core::Capabilities;
use forge_tangled_world::RealWorld;
use forge_testkit::behaviour::{Facts, Fixture, Rig};

use crate::tangled;

/// A real PDS, which starts with the first trial and serves all trials. Each trial has its own
/// accounts and repository.
#[derive(Default)]
pub struct PdsRig {
    world: OnceLock<Arc<RealWorld>>,
    trials: AtomicUsize,
}

#[async_trait]
impl Rig for PdsRig {
    fn name(&self) -> &str {
        "tangled-pds"
    }

    fn capabilities(&self) -> &'static Capabilities {
        &forge_tangled::CAPABILITIES
    }

    fn facts(&self) -> Facts {
        tangled::facts()
    }

    fn exceptions(&self) -> &'static [(&'static str, &'static str)] {
        tangled::EXCEPTIONS
    }

    async fn fixture(&self) -> Fixture {
        let world = Arc::clone(self.world.get_or_init(|| {
            let dir = RealWorld::installed().unwrap_or_else(|| panic!("no atproto world"));
            Arc::new(RealWorld::start(&dir).unwrap_or_else(|e| panic!("{e}")))
        }));
        let trial = self.trials.fetch_add(1, Ordering::Relaxed);
        let author = world.account(&format!("alice{trial}.test"), tangled::PASSWORD);
        let reviewer = world.account(&format!("bob{trial}.test"), tangled::PASSWORD);
        let repo = world.repository(&author, "widget");
        world.knot().add_collaborator(&repo, &reviewer.did);
        let (label, _) = world.put(
            &author,
            "sh.tangled.label.definition",
            "assignee",
            &tangled::assignee(),
        );
        let record = tangled::subscribed(world.record(&repo.uri).1, &label);
        world.put(&author, "sh.tangled.repo", "widget", &record);
        let settings = tangled::settings(
            &world.directory().host().url(),
            &world.pds_url(),
            world.index(),
        );
        tangled::fixture(&settings, [&author, &reviewer], &repo, Box::new(world))
    }
}
