//! State of a running call: writes sent, bytes in memory, pauses. The HTTP transport and the readers
//! of git repositories update it.
//!
//! A call is one operation of [`crate::Client`]. While the client runs a call, a thread-local
//! variable holds the call's state. The transport finds the state there, so backends do not pass a
//! handle of the call. Outside of a call every function here does nothing.

use std::{
    cell::RefCell,
    error::Error as StdError,
    fmt,
    future::{Future, poll_fn},
    ops::Deref,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use tokio::time::{Instant, timeout};

use crate::{
    Action, Arg, Error, ErrorKind, Hint, IndexLimit, NamedAccounts, Observer, Param, Policy,
    Result, Retry, SentRequest, Warning,
};

/// Memory limit for what one call reads, in bytes: answers of servers ([`hold`]), objects and output
/// of git ([`charge`]). An answer counts twice its length, because its text is parsed and printed,
/// plus a fixed amount for each object in it. The limit keeps a process below 150 MB.
pub const MAX_HELD: usize = 32 * 1024 * 1024;

/// Memory limit for the results that a server holds for all of its running calls, in bytes. The
/// calls run inside of [`kept`].
pub const MAX_KEPT: usize = MAX_HELD;

/// Limit for the texts that one command searches for references, in bytes. Parsing texts as Markdown
/// takes processor time, which nothing interrupts.
pub const MAX_SEARCHED: usize = 512 * 1024;

/// Memory used by the results of all running [`kept`] scopes, in bytes.
static KEPT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The call whose future this thread is polling.
    static CALL: RefCell<Option<Arc<CallState>>> = const { RefCell::new(None) };
}

/// Time for which calls have waited for the optional parts of their results; see [`optional`].
#[derive(Default)]
struct OptionalWaits {
    spent: Duration,
    /// Number of waits that are running, and the time since which at least one of them runs.
    running: usize,
    since: Option<Instant>,
}

impl OptionalWaits {
    fn spent(&self) -> Duration {
        let running = self.since.map_or(Duration::ZERO, |since| since.elapsed());
        self.spent + running
    }
}

/// Counts an optional wait as running until it is dropped.
struct OptionalWait(Arc<Mutex<OptionalWaits>>);

impl OptionalWait {
    /// Begins a wait. Also returns the time that all earlier waits took.
    fn begin(waits: Arc<Mutex<OptionalWaits>>) -> (Self, Duration) {
        let mut all = waits.lock().unwrap_or_else(PoisonError::into_inner);
        let spent = all.spent();
        all.running += 1;
        all.since.get_or_insert_with(Instant::now);
        drop(all);
        (Self(waits), spent)
    }
}

impl Drop for OptionalWait {
    fn drop(&mut self) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.running -= 1;
        if all.running == 0 {
            all.spent = all.spent();
            all.since = None;
        }
    }
}

/// Guard that makes a call the current one of this thread until the guard is dropped.
struct CurrentCallGuard(Option<Arc<CallState>>);

impl CurrentCallGuard {
    fn new(call: &Arc<CallState>) -> Self {
        Self(CALL.replace(Some(Arc::clone(call))))
    }
}

impl Drop for CurrentCallGuard {
    fn drop(&mut self) {
        CALL.set(self.0.take());
    }
}

/// Memory that one [`kept`] scope adds to [`KEPT`].
#[derive(Debug)]
struct Kept {
    weight: AtomicUsize,
    /// True if this scope refuses an answer that would raise the total of all scopes above
    /// [`MAX_KEPT`]. False if the scope accepts such an answer.
    yields: bool,
    was_refused: AtomicBool,
}

impl Kept {
    /// Adds `weight` to this scope and to the total of all scopes. Returns false if `yields` is set
    /// and the total now exceeds [`MAX_KEPT`]. If no other scope has results, the answer always
    /// fits.
    fn add(&self, weight: usize) -> bool {
        let total = |counter: &AtomicUsize| {
            let before = counter.fetch_add(weight, Ordering::Relaxed);
            before.saturating_add(weight)
        };
        let (own, all) = (total(&self.weight), total(&KEPT));
        let fits = !self.yields || all <= MAX_KEPT || all <= own;
        if !fits {
            self.was_refused.store(true, Ordering::Relaxed);
        }
        fits
    }

    /// Subtracts `weight`, or what is left of it after [`let_go`].
    fn subtract(&self, weight: usize) {
        let subtracted = subtract(&self.weight, weight);
        KEPT.fetch_sub(subtracted, Ordering::Relaxed);
    }

    fn release(&self) {
        self.subtract(usize::MAX);
    }
}

/// Subtracts at most `weight` from a counter, and returns how much was subtracted.
fn subtract(counter: &AtomicUsize, weight: usize) -> usize {
    let rest = |before: usize| Some(before.saturating_sub(weight));
    let before = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest);
    before.unwrap_or_default().min(weight)
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.release();
    }
}

#[derive(Default)]
pub(crate) struct CallState {
    observer: Option<Arc<dyn Observer>>,
    /// True if the call uses a transport that counts writes. A call in a local git repository uses
    /// none.
    uses_transport: AtomicBool,
    /// Number of writes that the forge may have carried out.
    writes: AtomicUsize,
    /// Bytes of answers counted so far, shared with the enclosing call.
    received: Arc<AtomicUsize>,
    /// Time limit of the call.
    time_limit: Option<Duration>,
    /// Milliseconds spent on computations so far, shared with the enclosing call.
    computed: Arc<AtomicU64>,
    /// True if calls nested in this call add to `received`.
    shares: bool,
    /// The enclosing [`kept`] scope.
    kept: Option<Arc<Kept>>,
    /// Shared with the enclosing call.
    optional: Arc<Mutex<OptionalWaits>>,
    /// Bytes of texts searched for references so far, shared with the enclosing call.
    searched: Arc<AtomicUsize>,
    /// The deadline of the call.
    ends: Option<Instant>,
    accounts: NamedAccounts,
}

impl CallState {
    pub(crate) fn new(observer: Option<Arc<dyn Observer>>) -> Arc<Self> {
        Arc::new(Self::within_outer(observer))
    }

    /// Returns the state of a call that begins now under `policy`.
    pub(crate) fn of_policy(policy: &Policy) -> Arc<Self> {
        Arc::new(Self {
            time_limit: Some(policy.deadline),
            ends: Instant::now().checked_add(policy.deadline),
            accounts: policy.accounts,
            ..Self::within_outer(policy.observer.clone())
        })
    }

    fn within_outer(observer: Option<Arc<dyn Observer>>) -> Self {
        let outer = CALL.with_borrow(Clone::clone);
        let shared = outer.as_ref().filter(|call| call.shares);
        let received = shared.map(|call| Arc::clone(&call.received));
        let received = received.unwrap_or_default();
        let computed = shared.map(|call| Arc::clone(&call.computed));
        let computed = computed.unwrap_or_default();
        let Some(outer) = outer else {
            return Self {
                observer,
                received,
                computed,
                shares: true,
                ..Self::default()
            };
        };
        Self {
            observer,
            received,
            computed,
            time_limit: outer.time_limit,
            shares: true,
            kept: outer.kept.clone(),
            optional: Arc::clone(&outer.optional),
            searched: Arc::clone(&outer.searched),
            ends: outer.ends,
            accounts: outer.accounts,
            ..Self::default()
        }
    }

    pub(crate) async fn scope<T>(self: &Arc<Self>, call: impl Future<Output = T>) -> T {
        let mut call = pin!(call);
        poll_fn(|context| {
            let _entered = CurrentCallGuard::new(self);
            call.as_mut().poll(context)
        })
        .await
    }

    /// Returns true if it is certain that the forge carried out no write of this call.
    pub(crate) fn wrote_nothing(&self) -> bool {
        self.uses_transport.load(Ordering::Relaxed) && self.writes.load(Ordering::Relaxed) == 0
    }

    /// Adds "nothing was written" or "nothing was sent" to the error of a write, if that is
    /// certain.
    pub(crate) fn of_write(&self, e: Error) -> Error {
        let what = match (e.kind(), e.retry()) {
            (_, Retry::Ambiguous) => return e,
            (ErrorKind::RateLimited { .. }, _) | (_, Retry::After(_)) => "nothing was written",
            (ErrorKind::Network | ErrorKind::Timeout { .. }, _) | (_, Retry::Transient) => {
                "nothing was sent"
            }
            _ => return e,
        };
        if !self.wrote_nothing() {
            return e;
        }
        e.add_to_message(&format!(" ({what})"))
    }
}

fn with_current_call(tell: impl FnOnce(&CallState)) {
    // The borrow ends before the observer is called, because the observer may start another call.
    if let Some(call) = CALL.with_borrow(Clone::clone) {
        tell(&call);
    }
}

/// Records that the call uses a transport, which counts the writes of the call.
pub fn uses_transport() {
    with_current_call(|call| call.uses_transport.store(true, Ordering::Relaxed));
}

/// Records that a write is about to be sent. From here on, the forge may carry out the write.
pub fn write_begins() {
    with_current_call(|call| {
        call.writes.fetch_add(1, Ordering::Relaxed);
    });
}

/// Records that the forge did not carry out the last write: the write was refused or never sent.
pub fn write_refused() {
    with_current_call(|call| {
        let one_less = |writes: usize| writes.checked_sub(1);
        let _ = call
            .writes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
    });
}

/// Waits for a part that a result can do without, such as the name of an account. Returns `None` if
/// the part did not come in time.
///
/// All such waits of a call, and of the calls in one scope, take at most `limit` together. Waits
/// that run at once count once. Outside of a call, each wait has the whole `limit`.
pub async fn optional<T>(limit: Duration, part: impl Future<Output = T>) -> Option<T> {
    let mut waits = None;
    with_current_call(|call| waits = Some(Arc::clone(&call.optional)));
    let (_wait, spent) = OptionalWait::begin(waits.unwrap_or_default());
    timeout(limit.saturating_sub(spent), part).await.ok()
}

/// Counts a text of `bytes` that is about to be searched for references. Returns false if the texts
/// of the command would exceed [`MAX_SEARCHED`]. Outside of a call, every text may be searched.
#[must_use]
pub fn may_search(bytes: usize) -> bool {
    let mut fits = true;
    with_current_call(|call| {
        let before = call.searched.fetch_add(bytes, Ordering::Relaxed);
        fits = before.saturating_add(bytes) <= MAX_SEARCHED;
    });
    fits
}

/// Runs the calls of one command, which share the limits of [`optional`] and [`may_search`].
pub async fn command<T>(calls: impl Future<Output = T>) -> T {
    Arc::new(CallState::default()).scope(calls).await
}

/// Returns the time until the deadline of the call. `None` outside of a call.
#[must_use]
pub fn time_left() -> Option<Duration> {
    let mut ends = None;
    with_current_call(|call| ends = call.ends);
    ends.map(|ends| ends.saturating_duration_since(Instant::now()))
}

/// Returns which accounts the arguments of the call may name.
#[must_use]
pub fn named_accounts() -> NamedAccounts {
    let mut accounts = NamedAccounts::default();
    with_current_call(|call| accounts = call.accounts);
    accounts
}

/// Adds `bytes` of an answer to the total of the call, and returns the total. Returns 0 outside of
/// a call.
pub fn received(bytes: usize) -> usize {
    let mut all = 0;
    with_current_call(|call| {
        let before = call.received.fetch_add(bytes, Ordering::Relaxed);
        all = before.saturating_add(bytes);
    });
    all
}

/// Counts an answer of `host` that stays in memory until the call ends. `weight` is the size in
/// bytes.
///
/// # Errors
/// `protocol` if the answers of this call weigh more than [`MAX_HELD`] together; see [`is_spent`].
/// `rate_limited` if the results of all calls together are too large; see [`kept`].
pub fn hold(host: &str, weight: usize) -> Result<()> {
    keep(weight)?;
    if received(weight) <= MAX_HELD {
        return Ok(());
    }
    Err(limit_exceeded(&format!(
        "the answers of {host} to this command take"
    )))
}

/// Returns the error for a call that exceeds [`MAX_HELD`]. `subject` says what takes the memory.
fn limit_exceeded(subject: &str) -> Error {
    let most = MAX_HELD >> 20;
    let less = Hint::new("ask for less at once: a lower limit, or fewer fields")
        .with_action(Action::again(&[(Param::Limit, Arg::Choose)]));
    Error::new(
        ErrorKind::Protocol,
        format!("{subject} more than {most} MiB in all"),
    )
    .with_source(MemoryLimitExceeded)
    .with_hint(less)
}

/// Memory that counts for the current call until this value is dropped.
///
/// A reader charges bytes before it takes the memory for them. [`Charge::keep`] counts them until
/// the call ends, for what becomes part of the result.
#[derive(Debug, Default)]
pub struct Charge {
    weight: usize,
    received: Option<Arc<AtomicUsize>>,
    kept: Option<Arc<Kept>>,
}

/// Counts `weight` bytes of memory for `what` in the current call; see [`Charge::add`].
///
/// # Errors
/// The errors of [`Charge::add`].
pub fn charge(what: &str, weight: usize) -> Result<Charge> {
    let mut charge = Charge::new();
    charge.add(what, weight)?;
    Ok(charge)
}

impl Charge {
    /// Returns a charge of 0 bytes to the current call. Outside of a call, only the bytes of this
    /// charge itself are limited.
    #[must_use]
    pub fn new() -> Self {
        let mut charge = Self::default();
        with_current_call(|call| {
            charge.received = Some(Arc::clone(&call.received));
            charge.kept.clone_from(&call.kept);
        });
        charge
    }

    /// Returns the bytes of this charge.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Counts `more` bytes of memory. `what` completes an error message: `the output of git log`.
    ///
    /// # Errors
    /// `protocol` if the call would hold more than [`MAX_HELD`]; see [`is_spent`]. `rate_limited`
    /// if all calls together would hold too much; see [`kept`]. The bytes then do not count.
    pub fn add(&mut self, what: &str, more: usize) -> Result<()> {
        let before = match &self.received {
            Some(received) => received.fetch_add(more, Ordering::Relaxed),
            None => self.weight,
        };
        let fits = self.kept.as_ref().is_none_or(|kept| kept.add(more));
        self.weight = self.weight.saturating_add(more);
        if before.saturating_add(more) > MAX_HELD {
            self.subtract(more);
            return Err(limit_exceeded(&format!(
                "{what} and what else this command holds in memory take"
            )));
        }
        if !fits {
            self.subtract(more);
            return Err(results_too_large());
        }
        Ok(())
    }

    /// Counts the bytes until the call ends.
    pub fn keep(mut self) {
        self.received = None;
        self.kept = None;
    }

    fn subtract(&mut self, weight: usize) {
        self.weight = self.weight.saturating_sub(weight);
        if let Some(received) = &self.received {
            subtract(received, weight);
        }
        if let Some(kept) = &self.kept {
            kept.subtract(weight);
        }
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.subtract(self.weight);
    }
}

/// A value with the memory that it takes, counted until it is dropped.
#[derive(Debug)]
pub struct Charged<T> {
    value: T,
    charge: Charge,
}

impl<T> Charged<T> {
    /// Combines a value with its charge.
    #[must_use]
    pub fn new(value: T, charge: Charge) -> Self {
        Self { value, charge }
    }

    /// Returns the bytes that count for the value.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.charge.weight()
    }

    /// Returns the value and its charge.
    #[must_use]
    pub fn into_parts(self) -> (T, Charge) {
        (self.value, self.charge)
    }

    /// Returns the value, whose memory counts until the call ends.
    #[must_use]
    pub fn keep(self) -> T {
        self.charge.keep();
        self.value
    }
}

impl<T> Deref for Charged<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// Returns the time limit of the current call; `None` outside of a call of a client.
#[must_use]
pub fn time_limit() -> Option<Duration> {
    let mut limit = None;
    with_current_call(|call| limit = call.time_limit);
    limit
}

/// Adds `spent` to the time that the call has spent on computations, and returns the total. Returns
/// `spent` outside of a call.
pub fn computed(spent: Duration) -> Duration {
    let mut total = spent;
    with_current_call(|call| {
        let more = u64::try_from(spent.as_millis()).unwrap_or(u64::MAX);
        let before = call.computed.fetch_add(more, Ordering::Relaxed);
        total = Duration::from_millis(before.saturating_add(more));
    });
    total
}

/// Memory of one map node in parsed JSON, in bytes. A map with a single field still takes a whole
/// node, which has room for [`MAP_NODE_FIELDS`].
pub const MAP_NODE: usize =
    MAP_NODE_FIELDS * (size_of::<String>() + size_of::<Value>()) + 2 * size_of::<usize>();
/// Maximum number of fields in one map node.
pub const MAP_NODE_FIELDS: usize = 11;

/// Minimum capacity of a list: a list of one value already takes memory for this many values.
const LIST_ROOM: usize = 4;

/// Approximate upper bound of the memory that parsed JSON takes, in bytes: sixteen times the length
/// of the text for `[0,0,…]`, sixty times for `[[[…]]]`, and a hundred times for
/// `[{"":0},{"":0},…]`.
#[must_use]
pub fn weight_of_json(json: &[u8]) -> usize {
    let (mut values, mut maps, mut in_string, mut is_escaped) = (0, 0, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => {
                maps += 1;
                values += 1;
            }
            b'[' if !in_string => values += LIST_ROOM,
            b',' | b':' if !in_string => values += 1,
            _ => {}
        }
    }
    json.len() + values * size_of::<Value>() + maps * MAP_NODE
}

/// Adds `weight` to the results of the innermost [`kept`] scope, if there is one.
///
/// # Errors
/// `rate_limited` if the results of all calls together are too large; see [`kept`].
pub fn keep(weight: usize) -> Result<()> {
    let mut fits = true;
    with_current_call(|call| fits = call.kept.as_ref().is_none_or(|kept| kept.add(weight)));
    match fits {
        true => Ok(()),
        false => Err(results_too_large()),
    }
}

/// Returns the memory used by the results of the innermost [`kept`] scope, in bytes.
#[must_use]
pub fn kept_weight() -> usize {
    let mut weight = 0;
    with_current_call(|call| {
        let kept = call.kept.as_ref();
        weight = kept.map_or(0, |kept| kept.weight.load(Ordering::Relaxed));
    });
    weight
}

/// Name of the rate limit for the memory of all calls.
const MEMORY_BUCKET: &str = "memory";

fn results_too_large() -> Error {
    let bucket = MEMORY_BUCKET.to_owned();
    let kind = ErrorKind::RateLimited {
        bucket,
        reset: None,
    };
    let most = MAX_KEPT >> 20;
    let message =
        format!("the answers held in memory by all calls of this server exceed {most} MiB");
    Error::new(kind, message)
        .with_retry(Retry::After(Duration::from_secs(5)))
        .with_hint("make fewer calls at once")
}

/// Error source that marks a call as having exceeded [`MAX_HELD`]; [`is_spent`] checks for it.
#[derive(Debug)]
struct MemoryLimitExceeded;

impl fmt::Display for MemoryLimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the limit for answers held in memory is exceeded")
    }
}

impl StdError for MemoryLimitExceeded {}

/// Returns true if a call failed because its answers exceeded [`MAX_HELD`], also if the error has
/// been wrapped in another one. Data read before the failure is valid.
#[must_use]
pub fn is_spent(error: &Error) -> bool {
    let mut source = error.source();
    while let Some(cause) = source {
        if cause.is::<MemoryLimitExceeded>() {
            return true;
        }
        source = cause.source();
    }
    false
}

/// Returns true if an error is about the memory of a call, or of all calls together, and not about
/// what was read.
#[must_use]
pub fn is_about_memory(error: &Error) -> bool {
    is_spent(error)
        || matches!(error.kind(), ErrorKind::RateLimited { bucket, .. } if bucket == MEMORY_BUCKET)
}

/// Returns the warning for a list that ended early because of an `error` accepted by [`is_spent`].
#[must_use]
pub fn cut_list(error: &Error) -> Warning {
    let warning = Warning::new(format!("the list is incomplete: {}", error.message()));
    match error.hint() {
        Some(hint) => warning.with_hint(hint.clone()),
        None => warning,
    }
}

/// Runs several calls that share one memory limit, because their answers are in memory together.
pub async fn together<T>(calls: impl Future<Output = T>) -> T {
    CallState::new(None).scope(calls).await
}

/// Runs calls whose results stay in memory until the last call ends, such as all calls of one MCP
/// tool. With `yields`, [`hold`] refuses an answer if the kept results of all scopes would exceed
/// [`MAX_KEPT`]. The returned flag is true if an answer was refused, so that the caller can turn
/// the refusal into a warning.
pub async fn kept<T>(yields: bool, calls: impl Future<Output = T>) -> (T, bool) {
    let kept = Arc::new(Kept {
        weight: AtomicUsize::new(0),
        yields,
        was_refused: AtomicBool::new(false),
    });
    let state = Arc::new(CallState {
        kept: Some(Arc::clone(&kept)),
        received: Arc::default(),
        shares: false,
        ..CallState::within_outer(None)
    });
    let result = state.scope(calls).await;
    (result, kept.was_refused.load(Ordering::Relaxed))
}

/// Reports that the results kept so far in the innermost [`kept`] scope were dropped from memory.
pub fn let_go() {
    with_current_call(|call| {
        if let Some(kept) = &call.kept {
            kept.release();
        }
    });
}

/// Reports that the call pauses because `host` limits the rate of requests.
pub fn rate_limited(host: &str, wait: Duration) {
    with_current_call(|call| {
        if let Some(observer) = &call.observer {
            observer.rate_limited(host, wait);
        }
    });
}

/// Reports, before a write, that an index does not ingest the records of the write.
pub fn index_limited(limit: &IndexLimit) {
    with_current_call(|call| {
        if let Some(observer) = &call.observer {
            observer.index_limited(limit);
        }
    });
}

/// Reports a request that was sent. Its answer may have arrived or been lost.
pub fn requested(request: &SentRequest<'_>) {
    with_current_call(|call| {
        if let Some(observer) = &call.observer {
            observer.requested(request);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost() -> Error {
        Error::new(ErrorKind::Network, "no connection")
    }

    #[tokio::test(start_paused = true)]
    async fn optional_waits_of_command_share_one_limit() {
        let limit = Duration::from_secs(2);
        let wait = |millis| optional(limit, tokio::time::sleep(Duration::from_millis(millis)));
        let operation = || CallState::of_policy(&Policy::default());
        let begun = Instant::now();
        let found = command(async {
            // Waits that run at once count once.
            let first = async { tokio::join!(wait(900), wait(900), wait(900)) };
            let first = operation().scope(first).await;
            tokio::time::sleep(Duration::from_secs(60)).await;
            let second = async { (wait(5_000).await, wait(5_000).await) };
            let second = operation().scope(second).await;
            (first, second, optional(limit, async { 7 }).await)
        });
        let found = found.await;
        let some = Some(());
        assert_eq!(found, ((some, some, some), (None, None), Some(7)));
        assert_eq!(begun.elapsed(), Duration::from_secs(62));
        // Another command has the whole limit.
        assert_eq!(command(wait(1_900)).await, Some(()));
        assert_eq!((wait(1_900).await, wait(1_900).await), (some, some));
    }

    #[tokio::test(start_paused = true)]
    async fn deadline_and_account_rule_are_those_of_operation() {
        let policy = Policy {
            accounts: NamedAccounts::OfRepository,
            ..Policy::default()
        };
        let state = CallState::of_policy(&policy);
        let facts = state.scope(async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            (time_left(), named_accounts())
        });
        let left = policy.deadline - Duration::from_secs(20);
        assert_eq!(facts.await, (Some(left), NamedAccounts::OfRepository));
        assert_eq!((time_left(), named_accounts()), (None, NamedAccounts::Any));
    }

    #[tokio::test]
    async fn joined_calls_share_one_memory_limit() {
        let call = || CallState::new(None);
        let half = MAX_HELD / 2;
        let alone = async || call().scope(async { hold("h", half) }).await;
        for _ in 0..3 {
            assert!(alone().await.is_ok());
        }
        let made = together(async { [alone().await, alone().await, alone().await] }).await;
        let spent = made.map(|made| made.err().is_some_and(|e| is_spent(&e)));
        assert_eq!(spent, [false, false, true]);
        let error = together(async { hold("h", MAX_HELD + 1) })
            .await
            .unwrap_err();
        assert_eq!(error.code(), "protocol");
        assert!(cut_list(&error).message.contains("more than 32 MiB in all"));
        // Outside of a call nothing is counted.
        assert!(hold("h", MAX_HELD + 1).is_ok());
    }

    #[tokio::test]
    async fn charge_counts_until_dropped() {
        let held = || received(0);
        let half = MAX_HELD / 2;
        together(async {
            let first = charge("one", half).unwrap();
            let mut second = charge("two", half).unwrap();
            let refused = second.add("three", 1).unwrap_err();
            assert!(is_spent(&refused) && is_about_memory(&refused));
            let message = refused.message();
            assert!(message.starts_with("three and what else"), "{message}");
            assert!(message.ends_with("more than 32 MiB in all"), "{message}");
            assert_eq!((second.weight(), held()), (half, MAX_HELD));
            drop(first);
            assert_eq!(held(), half);
            second.keep();
            assert!(charge("four", half + 1).is_err());
            assert_eq!(*Charged::new(7, charge("five", half).unwrap()), 7);
            assert_eq!(held(), half);
            assert_eq!(Charged::new(7, charge("five", half).unwrap()).keep(), 7);
            assert_eq!(held(), MAX_HELD);
        })
        .await;
        // Outside of a call, each charge has the limit for itself.
        let alone = charge("one", MAX_HELD).unwrap();
        assert!(charge("two", MAX_HELD).is_ok() && charge("two", MAX_HELD + 1).is_err());
        drop(alone);
    }

    #[tokio::test]
    async fn wrapped_memory_error_is_still_recognised() {
        let spent = charge("one", MAX_HELD + 1).unwrap_err();
        let outer = Error::new(ErrorKind::Protocol, "cannot read").with_source(spent);
        assert!(is_spent(&outer) && is_about_memory(&outer));
        assert!(!is_about_memory(&lost()));
    }

    #[tokio::test]
    async fn joined_calls_share_computation_time() {
        let second = Duration::from_secs(1);
        let compute = async || {
            let call = CallState::new(None);
            call.scope(async { computed(second) }).await
        };
        assert_eq!([compute().await, compute().await], [second, second]);
        let joined = together(async { [compute().await, compute().await] }).await;
        assert_eq!(joined, [second, 2 * second]);
        assert_eq!([computed(second), computed(second)], [second, second]);
        let limited = CallState::of_policy(&Policy {
            deadline: second,
            ..Policy::default()
        });
        let limits =
            limited.scope(async { [time_limit(), together(async { time_limit() }).await] });
        assert_eq!(limits.await, [Some(second); 2]);
        assert_eq!(time_limit(), None);
    }

    /// Runs a call that holds one answer of `weight` bytes.
    async fn read(weight: usize) -> Result<()> {
        let call = CallState::new(None);
        call.scope(async { hold("h", weight) }).await
    }

    #[tokio::test]
    async fn concurrent_calls_share_one_limit_of_results() {
        let beside = async {
            read(MAX_KEPT).await.unwrap();
            let (refused, was_refused) = kept(true, read(1024)).await;
            let code = refused.unwrap_err().code();
            assert_eq!((code, was_refused), ("rate_limited", true));
            let (counted, was_refused) = kept(false, read(1024)).await;
            assert!(counted.is_ok() && !was_refused);
            let_go();
            kept(true, read(1024)).await
        };
        let ((found, was_refused), _) = kept(true, beside).await;
        assert!(found.is_ok() && !was_refused);
        // A call without concurrent calls is limited only by `MAX_HELD`.
        let twice = async { read(MAX_HELD).await.and(read(MAX_HELD).await) };
        let (found, was_refused) = kept(true, twice).await;
        assert!(found.is_ok() && !was_refused);
        let beside = async {
            let held = charge("one", MAX_KEPT).unwrap();
            let (refused, was_refused) = kept(true, async { charge("two", 1024) }).await;
            let refused = refused.unwrap_err();
            assert!(was_refused && is_about_memory(&refused) && !is_spent(&refused));
            drop(held);
            assert!(kept(true, async { charge("two", 1024) }).await.0.is_ok());
            // Released memory is not subtracted twice.
            let held = charge("three", 1024).unwrap();
            let_go();
            drop(held);
            assert_eq!(kept_weight(), 0);
        };
        kept(true, beside).await;
        assert_eq!(KEPT.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn writes_are_counted_per_call() {
        let (one, other) = (CallState::new(None), CallState::new(None));
        let write = async {
            uses_transport();
            tokio::task::yield_now().await;
            write_begins();
        };
        let refused = async {
            uses_transport();
            write_begins();
            tokio::task::yield_now().await;
            write_refused();
        };
        tokio::join!(one.scope(write), other.scope(refused));
        // Outside of a call, no write is counted.
        write_begins();
        assert!(!one.wrote_nothing() && other.wrote_nothing());
        assert_eq!(one.of_write(lost()).message(), "no connection");
        assert_eq!(
            other.of_write(lost()).message(),
            "no connection (nothing was sent)"
        );
        let unknown = other.of_write(lost().with_retry(Retry::Ambiguous));
        assert_eq!(unknown.message(), "no connection");
        // Without a transport, writes are not counted, so the call may have written something.
        assert!(!CallState::new(None).wrote_nothing());
    }
}
