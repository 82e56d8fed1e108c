//! Asks the user to confirm a merge, a deletion or a force operation.
//!
//! A seal is a signed token that proves which question was asked. The question reaches the user in
//! one of three ways:
//! - Protocol version 2026-07-28: the result contains the question and a seal. The client repeats
//!   the call with the user's answer and the seal.
//! - Protocol version 2025-11-25: the server asks the client during the call, without a seal.
//! - A client that cannot ask the user: the call fails with the question and a seal, and the model
//!   repeats it with the seal as `confirm`. A server with the option `confirm_required` refuses
//!   such calls.
//!
//! A seal is bound to the tool, the arguments, the repository, the head commit and all facts in the
//! question. It can be used once, within five minutes.

use forge_core::{Error, ErrorKind, Result, model::PrState};
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

use super::{CallContext, ToolError};
use crate::safety::seals::SEAL_TTL;

/// The key of the question, and of the user's answer, in the protocol.
const KEY: &str = "confirm";

#[derive(Clone, Copy, Debug)]
pub(crate) struct ConfirmationRequest<'a> {
    /// Locator of the pull request or issue that the question is about.
    pub id: &'a str,
    pub head: Option<&'a str>,
    /// The state of the pull request when the user is asked. An answer is invalid if the state has
    /// changed since.
    pub state: PrState,
    /// The complete question to the user.
    pub question: &'a str,
    /// All other facts in the question. An answer is invalid if one of them has changed since.
    pub bound: &'a str,
    pub confirm: Option<&'a str>,
}

/// The form that the client shows to the user.
#[derive(Debug, Deserialize, JsonSchema)]
struct Form {
    /// Do it
    confirm: bool,
}

elicit_safe!(Form);

/// Asks the user to confirm; see [`CallContext::confirm`].
pub(crate) async fn confirm(
    call: &CallContext,
    ask: ConfirmationRequest<'_>,
) -> Result<(), ToolError> {
    let modern = call
        .ctx
        .protocol_version()
        .is_some_and(|v| v.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
    let bind = binding_of(call, &ask);
    if modern {
        if let Some(state) = &call.params.request_state {
            call.server.seals().open(&bind, state).map_err(|e| {
                e.with_hint(format!(
                    "repeat the call without the confirmation; the user is asked again: {}",
                    ask.question
                ))
            })?;
            return match answered(call.params.input_responses.as_ref()) {
                Some(true) => Ok(()),
                Some(false) => Err(declined_error(&ask).into()),
                None => Err(unclear_error(&ask).into()),
            };
        }
        let can_ask = call.ctx.client_capabilities().and_then(|c| c.elicitation);
        // A client that names no elicitation mode supports forms (MCP specification,
        // "Elicitation").
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
                    Error::new(ErrorKind::Internal, format!("invalid form: {e}")).with_source(e)
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
            // The mark tells the client that the question contains text of other people, such as
            // the title.
            required.meta = Some(call.cleaner.mark());
            return Err(ToolError::Ask(Box::new(required)));
        }
        return check_seal(call, &ask, &bind).map_err(ToolError::from);
    }
    // The user may take minutes to answer, so the slot is released.
    call.release_slot();
    let answer = call
        .ctx
        .peer
        .elicit_with_timeout::<Form>(ask.question, Some(SEAL_TTL))
        .await;
    match answer {
        Ok(Some(Form { confirm: true })) => Ok(call.acquire_slot().await?),
        // The client has no forms, or it did not announce any because the connection is stateless.
        // The call must therefore pass a seal.
        Err(ElicitationError::CapabilityNotSupported) => {
            check_seal(call, &ask, &bind)?;
            Ok(call.acquire_slot().await?)
        }
        Ok(Some(Form { confirm: false }))
        | Err(ElicitationError::UserDeclined | ElicitationError::UserCancelled) => {
            Err(declined_error(&ask).into())
        }
        Ok(None) | Err(ElicitationError::NoContent | ElicitationError::ParseError { .. }) => {
            Err(unclear_error(&ask).into())
        }
        Err(e) => Err(Error::new(
            ErrorKind::Cancelled,
            format!("the user could not be asked: {e}"),
        )
        .with_source(e)
        .with_hint("nothing was done; make the call again when the user can answer")
        .into()),
    }
}

/// Returns the facts that a seal is bound to, as one text.
fn binding_of(call: &CallContext, ask: &ConfirmationRequest<'_>) -> String {
    let about = call.about();
    let args = about.arguments.iter().flat_map(|args| args.iter());
    // `expected_head` is left out of the arguments, because the head commit is bound below in any
    // case.
    let args = args.filter(|(name, _)| !["confirm", "expected_head"].contains(&name.as_str()));
    // The keys are sorted, so that the order of the client's arguments does not matter.
    let args: std::collections::BTreeMap<&String, &Value> = args.collect();
    let args = serde_json::to_string(&args).unwrap_or_default();
    format!(
        "{}\n{}\n{}\n{:?}\n{}\n{args}",
        call.params.name,
        ask.id,
        ask.head.unwrap_or_default(),
        ask.state,
        ask.bound,
    )
}

/// Returns the user's answer; `None` if the client sent none, or an accepted form without content.
fn answered(responses: Option<&InputResponses>) -> Option<bool> {
    let answer = responses?.get(KEY)?;
    match answer.get("action")?.as_str()? {
        "accept" => answer.get("content")?.get("confirm")?.as_bool(),
        _ => Some(false),
    }
}

fn declined_error(ask: &ConfirmationRequest<'_>) -> Error {
    Error::new(
        ErrorKind::Cancelled,
        format!("the user did not agree; {} is unchanged", ask.id),
    )
    .with_hint("do not repeat the call: ask the user what to do instead")
}

fn unclear_error(ask: &ConfirmationRequest<'_>) -> Error {
    Error::new(
        ErrorKind::Cancelled,
        format!(
            "the client's answer has no `confirm`; {} is unchanged",
            ask.id
        ),
    )
    .with_hint("nothing was done; the client has to send the form with confirm true or false")
}

/// Checks the call of a client that cannot ask the user. The call must pass the seal of an earlier
/// question. Fails if the server requires that a person confirms, because otherwise a model could
/// confirm its own request.
fn check_seal(call: &CallContext, ask: &ConfirmationRequest<'_>, bind: &str) -> Result<()> {
    if call.server.options().confirm_required {
        return Err(no_elicitation_error(&call.params.name, ask));
    }
    let seals = call.server.seals();
    let why = match ask.confirm.map(str::trim) {
        Some(seal) => match seals.open(bind, seal) {
            Ok(()) => return Ok(()),
            Err(e) => e.message().to_owned(),
        },
        None => "the call needs a confirmation".to_owned(),
    };
    let seal = seals.seal(bind)?;
    let message = format!("{why}. {}", ask.question);
    Err(Error::invalid("confirm", message).with_hint(format!(
        "this client cannot ask, so ask the user yourself, with this question; after a yes, repeat the \
         call with confirm=\"{seal}\""
    )))
}

fn no_elicitation_error(tool: &str, ask: &ConfirmationRequest<'_>) -> Error {
    let missing = vec!["elicitation".to_owned()];
    Error::new(
        ErrorKind::PermissionDenied {
            missing,
            sso_url: None,
        },
        format!(
            "{tool} needs the user's consent for {}, and this client cannot ask the user (it has no \
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
