//! Somebody agrees before a merge, a deletion or a force operation.
//!
//! A client of 2026-07-28 is answered with a question and a sealed state, and calls again with
//! both; one of 2025-11-25 is asked within the call. A seal is bound to the tool, its arguments, the
//! repository, the head and all that the question names, holds for five minutes and is taken once. A
//! client that cannot ask has to name what it means in an argument, together with the head, unless
//! the server was started so that somebody has to be asked.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use forge_core::{Error, ErrorKind, PrId, Result, model::PrState};
use rmcp::{
    elicit_safe,
    model::{
        BooleanSchema, ElicitRequest, ElicitRequestParams, ElicitationSchema, InputRequest,
        InputRequiredResult, InputResponses, ProtocolVersion, RequestStateCodec, SealOptions,
    },
    schemars::{self, JsonSchema},
    service::ElicitationError,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::server::{Call, Stop};

/// How long a question stands.
const TTL: Duration = Duration::from_secs(300);

/// The name of the question.
const KEY: &str = "confirm";

/// What is to be agreed to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    /// The pull request.
    pub id: &'a PrId,
    /// Its head, if it is known.
    pub head: Option<&'a str>,
    /// What it is while the question is asked: an answer is worth nothing once that is over.
    pub state: PrState,
    /// The question, with all that somebody needs to know.
    pub question: &'a str,
    /// What the question names beside the head and the arguments: an answer is worth nothing once that
    /// is other.
    pub bound: &'a str,
    /// What the caller wrote as `confirm`.
    pub confirm: Option<&'a str>,
    /// The caller has named the head.
    pub head_named: bool,
}

/// What the form has.
#[derive(Debug, Deserialize, JsonSchema)]
struct Form {
    /// Do it
    confirm: bool,
}

elicit_safe!(Form);

/// What a seal holds.
#[derive(Debug, Deserialize, Serialize)]
struct Sealed {
    nonce: String,
    /// When it was made, in milliseconds of the clock of [`Seals`].
    made: u64,
}

/// Time that nobody can set, in milliseconds since some moment.
type Clock = Box<dyn Fn() -> u64 + Send + Sync>;

/// The key of this process, and which seals were taken.
pub(crate) struct Seals {
    codec: RequestStateCodec,
    /// Those that were taken, and when they were made.
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
        })?;
        Ok(Self {
            codec,
            taken: Mutex::default(),
            clock,
        })
    }

    fn seal(&self, bind: &str) -> Result<String> {
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
        })
    }

    /// Takes a seal; a second time it is none.
    fn open(&self, bind: &str, state: &str) -> Result<()> {
        let refused = |why: &str| {
            Error::invalid("confirm", format!("the confirmation does not count: {why}"))
        };
        let another = "it was given for another call, or the pull request has changed since";
        let sealed: Sealed = self
            .codec
            .open_json_with(state, bind.as_bytes())
            .map_err(|_| refused(another))?;
        let now = (self.clock)();
        let holds = |made: u64| u128::from(now.saturating_sub(made)) <= TTL.as_millis();
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
            format!("the system has no random numbers: {e}"),
        )
    })
}

/// See [`Call::confirm`].
pub(crate) async fn confirm(call: &Call, ask: Ask<'_>) -> Result<(), Stop> {
    let modern = call
        .ctx
        .protocol_version()
        .is_some_and(|v| v.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
    let bind = bind(call, &ask);
    if modern {
        if let Some(state) = &call.params.request_state {
            call.server.seals().open(&bind, state).map_err(|e| {
                e.with_hint(format!(
                    "make the call again without it; the user is asked anew: {}",
                    ask.question
                ))
            })?;
            return match answered(call.params.input_responses.as_ref()) {
                true => Ok(()),
                false => Err(declined(&ask).into()),
            };
        }
        let can_ask = call.ctx.client_capabilities().and_then(|c| c.elicitation);
        // A client that names no way of asking has the form.
        if can_ask.is_some_and(|e| e.form.is_some() || e.url.is_none()) {
            let schema = ElicitationSchema::builder()
                .required_property(
                    KEY,
                    rmcp::model::PrimitiveSchemaDefinition::Boolean(
                        BooleanSchema::new().title("Do it"),
                    ),
                )
                .build()
                .map_err(|e| Error::new(ErrorKind::Internal, format!("no form: {e}")))?;
            let form = ElicitRequestParams::FormElicitationParams {
                meta: None,
                message: ask.question.to_owned(),
                requested_schema: schema,
            };
            let requests = [(
                KEY.to_owned(),
                InputRequest::Elicitation(ElicitRequest::new(form)),
            )];
            let sealed = call.server.seals().seal(&bind)?;
            let mut required = InputRequiredResult::new(Some(requests.into()), Some(sealed));
            // The question names the pull request as others have.
            required.meta = Some(call.cleaner.mark());
            return Err(Stop::Ask(Box::new(required)));
        }
        return named(call, &ask).map_err(Stop::from);
    }
    // Somebody may think for minutes: others work meanwhile.
    call.give_turn();
    let answer = call
        .ctx
        .peer
        .elicit_with_timeout::<Form>(ask.question, Some(TTL))
        .await;
    match answer {
        Ok(Some(Form { confirm: true })) => Ok(call.take_turn().await?),
        // A stateless connection has nobody to ask either.
        Err(ElicitationError::CapabilityNotSupported) => {
            named(call, &ask)?;
            Ok(call.take_turn().await?)
        }
        Ok(_)
        | Err(
            ElicitationError::UserDeclined
            | ElicitationError::UserCancelled
            | ElicitationError::NoContent,
        ) => Err(declined(&ask).into()),
        Err(e) => Err(Error::new(
            ErrorKind::Cancelled,
            format!("the user could not be asked: {e}"),
        )
        .with_hint("nothing was done; make the call again when the user is there")
        .into()),
    }
}

/// What a confirmation is worth for, and nothing else.
fn bind(call: &Call, ask: &Ask<'_>) -> String {
    let mut args = call.params.arguments.clone().unwrap_or_default();
    args.remove("confirm");
    // Keys are sorted, so that the order in which a client sends them makes no difference.
    let args: std::collections::BTreeMap<String, Value> = args.into_iter().collect();
    let args = serde_json::to_string(&args).unwrap_or_default();
    format!(
        "{}\n{}\n{}\n{}\n{:?}\n{}\n{args}",
        call.params.name,
        ask.id.repo.comparison_key(),
        ask.id.key,
        ask.head.unwrap_or_default(),
        ask.state,
        ask.bound,
    )
}

fn answered(responses: Option<&InputResponses>) -> bool {
    let answer = responses.and_then(|r| r.get(KEY));
    answer.is_some_and(|a| {
        a.get("action").and_then(Value::as_str) == Some("accept")
            && a.get("content").and_then(|c| c.get("confirm")) == Some(&Value::Bool(true))
    })
}

fn declined(ask: &Ask<'_>) -> Error {
    Error::new(
        ErrorKind::Cancelled,
        format!("the user did not agree; {} is unchanged", ask.id),
    )
    .with_hint("do not repeat it: ask the user what to do instead")
}

/// The policy for clients that cannot ask: the caller names the pull request, and its head where
/// that is known; or nothing is done, because there a model would agree with itself.
fn named(call: &Call, ask: &Ask<'_>) -> Result<()> {
    match call.server.options().confirm_required {
        true => Err(nobody_to_ask(&call.params.name, ask)),
        false => is_named(ask),
    }
}

fn nobody_to_ask(tool: &str, ask: &Ask<'_>) -> Error {
    let missing = vec!["elicitation".to_owned()];
    Error::new(
        ErrorKind::PermissionDenied {
            missing,
            sso_url: None,
        },
        format!(
            "{tool} needs the user's word on {}, and this client cannot ask the user (it offers no \
             elicitation)",
            ask.id
        ),
    )
    .with_hint(format!(
        "nothing was done. Tell the user, who can do it by hand, use a client that can ask, or start \
         the server without --confirm-required. The question: {}",
        ask.question
    ))
}

fn is_named(ask: &Ask<'_>) -> Result<()> {
    let wanted = ask.id.to_string();
    let confirmed = ask
        .confirm
        .is_some_and(|c| c.trim().eq_ignore_ascii_case(&wanted));
    if !confirmed || (ask.head.is_some() && !ask.head_named) {
        let head = match ask.head {
            Some(head) => format!(" and expected_head=\"{head}\""),
            None => String::new(),
        };
        return Err(Error::invalid("confirm", format!("it needs a confirmation. {}", ask.question)).with_hint(format!(
            "this client cannot ask the user, so ask yourself; if the user agrees, repeat the call with \
             confirm=\"{wanted}\"{head}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

    use super::*;

    #[test]
    fn who_cannot_ask_names_the_head_where_there_is_one() {
        let id: PrId = PrId {
            repo: forge_core::RepoId::local("/srv/git/x"),
            key: forge_core::PrKey::Number(7),
        };
        let confirm = id.to_string();
        let ask = |head, confirm, head_named| Ask {
            id: &id,
            head,
            state: PrState::Open,
            question: "Merge it?",
            bound: "",
            confirm,
            head_named,
        };
        let head = Some("0123456789abcdef");
        for (asked, says) in [
            (
                ask(head, None, true),
                Some("expected_head=\"0123456789abcdef\""),
            ),
            (
                ask(head, Some(confirm.as_str()), false),
                Some("expected_head=\"0123456789abcdef\""),
            ),
            (ask(head, Some(confirm.as_str()), true), None),
            (ask(None, None, false), Some("#7\"")),
            (ask(None, Some("another"), false), Some("#7\"")),
            (ask(None, Some(confirm.as_str()), false), None),
        ] {
            let answer = is_named(&asked);
            match says {
                Some(part) => {
                    let e = answer.unwrap_err();
                    let hint = e.hint().unwrap();
                    assert!(hint.contains(part), "{hint}");
                    assert_eq!(
                        asked.head.is_some(),
                        hint.contains("expected_head"),
                        "{hint}"
                    );
                }
                None => answer.unwrap(),
            }
        }
    }

    #[test]
    fn a_seal_holds_for_five_minutes_and_once() {
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
        // What was taken is forgotten once it is too old to be taken again.
        assert!(why(&first, "a").contains("older than five minutes"));
        let third = seals.seal("a").unwrap();
        seals.open("a", &third).unwrap();
        assert_eq!(seals.taken.lock().unwrap().len(), 1);
    }

    #[test]
    fn a_seal_of_another_process_or_altered_is_none() {
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
