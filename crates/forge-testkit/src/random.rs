use std::time::{SystemTime, UNIX_EPOCH};

/// A small generator whose sequence depends only on its seed, so that a failing run can be
/// repeated.
///
/// The algorithm is `SplitMix64` (Steele, Lea and Flood, 2014).
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
    state: u64,
}

impl Random {
    /// Creates the sequence of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, state: seed }
    }

    /// Creates the sequence of `FORGE_SEED`, or of a seed from the clock.
    ///
    /// # Panics
    ///
    /// Panics if `FORGE_SEED` is not a number.
    #[must_use]
    pub fn from_env() -> Self {
        let seed = match std::env::var("FORGE_SEED") {
            Ok(text) => text.parse().expect("FORGE_SEED is a decimal number"),
            Err(_) => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |d| d.as_secs() ^ u64::from(d.subsec_nanos())),
        };
        Self::new(seed)
    }

    /// Returns the seed. Print it with a failure, so that the run can be repeated.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`, which must not be zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound
    }

    /// Picks an item of `items`, which must not be empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        let at = self.below(items.len() as u64);
        &items[usize::try_from(at).unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_determines_the_sequence() {
        let take = |seed| {
            let mut r = Random::new(seed);
            [r.bits(), r.bits(), r.bits()]
        };
        assert_eq!(take(7), take(7));
        assert_ne!(take(7), take(8));
    }
}
