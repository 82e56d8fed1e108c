//! Somebody agrees before a merge, a deletion or a force operation.
//!
//! A client of 2026-07-28 is answered with a question and a sealed state, and calls again with
//! both; one of 2025-11-25 is asked within the call. A seal is bound to the tool, its arguments, the
//! repository, the head and all that the question names, holds for five minutes and is taken once. A
//! client that cannot ask gets the question and the same seal, which its next call has to bring as
//! `confirm`, unless the server was started so that somebody has to be asked.

use forge_core::{Error, ErrorKind, PrId, Result, model::PrState};
use rmcp::{
    elicit_safe,
    model::{
        BooleanSchema, ElicitRequest, ElicitRequestParams, ElicitationSchema, InputRequest,
        InputRequiredResult, InputResponses, ProtocolVersion,
    },
    schemars::{self, JsonSchema},
    service::ElicitationError,
};
use serde::Deserialize;
use serde_json::Value;

use super::{Call, Stop};
use crate::safety::seals::TTL;

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
}

/// What the form has.
#[derive(Debug, Deserialize, JsonSchema)]
struct Form {
    /// Do it
    confirm: bool,
}

elicit_safe!(Form);

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
                .map_err(|e| {
                    Error::new(ErrorKind::Internal, format!("no form: {e}")).with_source(e)
                })?;
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
        return brought(call, &ask, &bind).map_err(Stop::from);
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
            brought(call, &ask, &bind)?;
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
        .with_source(e)
        .with_hint("nothing was done; make the call again when the user is there")
        .into()),
    }
}

/// What a confirmation is worth for, and nothing else.
fn bind(call: &Call, ask: &Ask<'_>) -> String {
    let mut args = call.params.arguments.clone().unwrap_or_default();
    // The head is bound by itself, whether the caller names it or not.
    args.retain(|name, _| !["confirm", "expected_head"].contains(&name.as_str()));
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

/// The policy for clients that cannot ask: the call brings the seal of the question that an earlier
/// call got; or nothing is done, because there a model would agree with itself.
fn brought(call: &Call, ask: &Ask<'_>, bind: &str) -> Result<()> {
    if call.server.options().confirm_required {
        return Err(nobody_to_ask(&call.params.name, ask));
    }
    let seals = call.server.seals();
    let why = match ask.confirm.map(str::trim) {
        Some(seal) => match seals.open(bind, seal) {
            Ok(()) => return Ok(()),
            Err(e) => e.message().to_owned(),
        },
        None => "it needs a confirmation".to_owned(),
    };
    let seal = seals.seal(bind)?;
    let message = format!("{why}. {}", ask.question);
    Err(Error::invalid("confirm", message).with_hint(format!(
        "this client cannot ask, so ask the user yourself, with this question; after a yes, repeat the \
         call with confirm=\"{seal}\""
    )))
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
