//! Seals for confirmation questions. A seal is a signed token that proves which question was asked.
//! It is valid for this question only, expires after five minutes, and can be used once.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use forge_core::{Error, ErrorKind, Result};
use rmcp::model::{RequestStateCodec, SealOptions};
use serde::{Deserialize, Serialize};

/// How long a seal is valid.
pub(crate) const SEAL_TTL: Duration = Duration::from_secs(300);

#[derive(Debug, Deserialize, Serialize)]
struct Sealed {
    nonce: String,
    /// The time of creation in milliseconds, from the clock of [`Seals`].
    made: u64,
}

/// A monotonic clock that counts milliseconds from an arbitrary start.
type Clock = Box<dyn Fn() -> u64 + Send + Sync>;

/// The secret key of this process, and the seals that were used.
pub(crate) struct Seals {
    codec: RequestStateCodec,
    /// The used seals, each with its time of creation.
    taken: Mutex<HashMap<String, u64>>,
    clock: Clock,
}

impl Seals {
    pub fn new() -> Result<Self> {
        let start = Instant::now();
        Self::at(Box::new(move || {
            u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
        }))
    }

    fn at(clock: Clock) -> Result<Self> {
        let mut key = [0_u8; 32];
        random(&mut key)?;
        let codec = RequestStateCodec::try_new(key).map_err(|e| {
            Error::new(
                ErrorKind::Internal,
                format!("cannot seal confirmations: {e}"),
            )
            .with_source(e)
        })?;
        Ok(Self {
            codec,
            taken: Mutex::default(),
            clock,
        })
    }

    pub fn seal(&self, bind: &str) -> Result<String> {
        let mut nonce = [0_u8; 16];
        random(&mut nonce)?;
        let sealed = Sealed {
            nonce: nonce.iter().map(|b| format!("{b:02x}")).collect(),
            made: (self.clock)(),
        };
        let options = SealOptions::new().associated_data(bind.as_bytes());
        self.codec.seal_json_with(&sealed, &options).map_err(|e| {
            Error::new(
                ErrorKind::Internal,
                format!("cannot seal a confirmation: {e}"),
            )
            .with_source(e)
        })
    }

    /// Opens a seal. A seal that was used before is refused.
    pub fn open(&self, bind: &str, state: &str) -> Result<()> {
        let refused =
            |why: &str| Error::invalid("confirm", format!("the confirmation is not valid: {why}"));
        let another = "it was given for another call, or the pull request has changed since";
        let sealed: Sealed = self
            .codec
            .open_json_with(state, bind.as_bytes())
            .map_err(|_| refused(another))?;
        let now = (self.clock)();
        let holds = |made: u64| u128::from(now.saturating_sub(made)) <= SEAL_TTL.as_millis();
        if !holds(sealed.made) {
            return Err(refused("it is older than five minutes"));
        }
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.retain(|_, made| holds(*made));
        match taken.insert(sealed.nonce, sealed.made) {
            None => Ok(()),
            Some(_) => Err(refused("it was used before")),
        }
    }
}

fn random(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|e| {
        Error::new(
            ErrorKind::Internal,
            format!("the system provides no random numbers: {e}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

    use super::*;

    #[test]
    fn seal_is_valid_once_within_five_minutes() {
        let time = Arc::new(AtomicU64::new(7));
        let clock = Arc::clone(&time);
        let seals = Seals::at(Box::new(move || clock.load(Ordering::Relaxed))).unwrap();
        let why = |state: &str, bind: &str| seals.open(bind, state).unwrap_err().to_string();
        let pass = |ms| time.fetch_add(ms, Ordering::Relaxed);

        let (first, second) = (seals.seal("a").unwrap(), seals.seal("a").unwrap());
        assert_ne!(first, second);
        assert!(why(&first, "b").contains("another call"));
        pass(300_000);
        seals.open("a", &first).unwrap();
        assert!(why(&first, "a").contains("used before"));
        pass(1);
        assert!(why(&second, "a").contains("older than five minutes"));
        // The error says "expired", not "used", because used seals are forgotten when they expire.
        assert!(why(&first, "a").contains("older than five minutes"));
        let third = seals.seal("a").unwrap();
        seals.open("a", &third).unwrap();
        assert_eq!(seals.taken.lock().unwrap().len(), 1);
    }

    #[test]
    fn foreign_or_altered_seal_is_refused() {
        let (own, other) = (Seals::new().unwrap(), Seals::new().unwrap());
        let state = own.seal("a").unwrap();
        assert!(other.open("a", &state).is_err());
        for at in 0..state.len() {
            let mut altered = state.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            if altered != state {
                assert!(own.open("a", &altered).is_err(), "{altered}");
            }
        }
        own.open("a", &state).unwrap();
    }
}
