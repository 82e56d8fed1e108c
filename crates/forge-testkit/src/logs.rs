//! Searches the traces of a process under test for tokens.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

use crate::CANARY;

/// True if a token was traced since the first call of [`watch_logs`].
static FOUND: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Searches all traces of this process from now on. A span or event that contains a test token
/// panics, at any level. A task may catch that panic, so dropping the returned value panics as
/// well.
///
/// # Panics
///
/// Panics if another subscriber is installed.
#[must_use]
pub fn watch_logs() -> LogWatch {
    let found = FOUND.get_or_init(|| {
        let reader = Reader::default();
        let found = Arc::clone(&reader.found);
        tracing::subscriber::set_global_default(reader).expect("nothing else reads the log");
        found
    });
    LogWatch(Arc::clone(found))
}

/// Panics on drop if a token was logged; see [`watch_logs`].
#[derive(Debug)]
pub struct LogWatch(Arc<AtomicBool>);

impl Drop for LogWatch {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(!self.0.load(Ordering::SeqCst), "a token was logged");
        }
    }
}

/// A subscriber that searches all spans and events and stores none.
#[derive(Debug, Default)]
struct Reader {
    found: Arc<AtomicBool>,
    spans: AtomicU64,
}

impl Reader {
    fn read(&self, name: &'static str, record: impl FnOnce(&mut Search)) {
        let mut search = Search(None);
        record(&mut search);
        if let Some(field) = search.0 {
            self.found.store(true, Ordering::SeqCst);
            panic!("{name} has logged a token in its field {field}");
        }
    }
}

impl Subscriber for Reader {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.read(span.metadata().target(), |search| span.record(search));
        Id::from_u64(1 + self.spans.fetch_add(1, Ordering::Relaxed))
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        self.read("a span", |search| values.record(search));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.read(event.metadata().target(), |search| event.record(search));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The name of the field that contains the marker.
struct Search(Option<&'static str>);

impl Visit for Search {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if format!("{value:?}").contains(CANARY) {
            self.0 = Some(field.name());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// Runs `log` with a separate reader. Returns the panic message, and whether a token was found.
    fn told(log: impl FnOnce()) -> (Option<String>, bool) {
        let reader = Reader::default();
        let found = Arc::clone(&reader.found);
        let caught =
            tracing::subscriber::with_default(reader, || catch_unwind(AssertUnwindSafe(log)).err());
        let message = caught.map(|m| m.downcast_ref::<String>().expect("a message").clone());
        (message, found.load(Ordering::SeqCst))
    }

    #[test]
    fn logged_token_fails_without_being_shown() {
        let cases: [fn(); 5] = [
            || tracing::trace!("with {CANARY} in it"),
            || tracing::error!(token = CANARY, "refused"),
            || tracing::info!(header = ?vec![CANARY], "sent"),
            || drop(tracing::trace_span!("request", url = %CANARY)),
            || {
                let span = tracing::debug_span!("request", path = tracing::field::Empty);
                span.record("path", CANARY);
            },
        ];
        for case in cases {
            let (message, found) = told(case);
            let message = message.expect("it logged a token");
            assert!(message.contains("has logged a token"), "{message}");
            assert!(!message.contains(CANARY));
            assert!(found);
        }
        assert_eq!(told(|| tracing::warn!(secret = "***")), (None, false));
    }

    #[test]
    fn dropped_log_watch_panics_after_logged_token() {
        let watch = LogWatch(Arc::new(AtomicBool::new(true)));
        assert!(catch_unwind(AssertUnwindSafe(|| drop(watch))).is_err());
        drop(LogWatch(Arc::default()));
    }
}
