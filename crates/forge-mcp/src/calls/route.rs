//! Defines tools and their routes.

use std::{future::Future, pin::Pin, sync::Arc};

use forge_core::Error;
use rmcp::{
    RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
        InputRequiredResult, JsonObject, Tool as Definition, ToolAnnotations,
    },
    schemars::JsonSchema,
    service::RequestContext,
};
use serde::{Serialize, de::DeserializeOwned};

use super::{CallContext, ServerState, args, failure, schema};

#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolSpec {
    pub name: &'static str,
    pub title: &'static str,
    /// The purpose and the limits of the tool, and which tools to use instead.
    pub description: &'static str,
    pub effect: ToolEffect,
}

/// Effect of a call. It determines the four MCP tool annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolEffect {
    Read,
    /// Adds an object; repeating the call adds another.
    Add,
    /// Sets a value; repeating the call changes nothing.
    Set,
    /// Replaces or extends a value.
    Replace,
    /// Sets a value whose old value is hard to restore; repeating the call changes nothing.
    Destroy,
}

impl ToolEffect {
    pub const fn is_write(self) -> bool {
        !matches!(self, Self::Read)
    }

    fn hints(self) -> ToolAnnotations {
        ToolAnnotations::new()
            .read_only(self == Self::Read)
            .destructive(matches!(self, Self::Replace | Self::Destroy))
            .idempotent(!matches!(self, Self::Add | Self::Replace))
            .open_world(true)
    }
}

/// A tool; each tool has its own file under `tools/`.
pub(crate) trait Tool: 'static {
    const SPEC: ToolSpec;
    type Args: DeserializeOwned + JsonSchema + Send + 'static;
    /// The type of the structured result.
    type Out: Serialize + JsonSchema + Send;

    /// Returns true if a call with these arguments needs no forge. Such a call does not wait for a
    /// slot.
    fn is_local(_args: &Self::Args) -> bool {
        false
    }

    fn run(
        call: &CallContext,
        args: Self::Args,
    ) -> impl Future<Output = Result<ToolOutput<Self::Out>, ToolError>> + Send;
}

/// Result of a tool: text for the model, and structured data for programs.
#[derive(Debug)]
pub(crate) struct ToolOutput<T> {
    pub text: String,
    pub data: T,
}

/// The reason why a tool has no result.
#[derive(Debug)]
pub(crate) enum ToolError {
    Failed(Error),
    /// The user has to answer a question first.
    Ask(Box<InputRequiredResult>),
}

impl From<Error> for ToolError {
    fn from(e: Error) -> Self {
        Self::Failed(e)
    }
}

type ToolFuture = Pin<Box<dyn Future<Output = Result<CallToolResponse, ErrorData>> + Send>>;
type ToolHandler = dyn Fn(ServerState, CallToolRequestParams, RequestContext<RoleServer>) -> ToolFuture
    + Send
    + Sync;

/// A tool with its handler.
#[derive(Clone)]
pub struct Route {
    pub(crate) definition: Definition,
    pub(crate) write: bool,
    pub(crate) handler: Arc<ToolHandler>,
}

impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Route").field(&self.definition.name).finish()
    }
}

impl Route {
    /// Wraps a handler that uses the protocol directly, without checks or limits.
    pub fn raw<F, Fut>(definition: Definition, handler: F) -> Self
    where
        F: Fn(CallToolRequestParams, RequestContext<RoleServer>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<CallToolResponse, ErrorData>> + Send + 'static,
    {
        Self {
            definition,
            write: false,
            handler: Arc::new(move |_, params, ctx| Box::pin(handler(params, ctx))),
        }
    }

    /// Wraps a tool of this crate.
    pub(crate) fn of<T: Tool>() -> Self {
        let spec = T::SPEC;
        let input = schema::of_input::<T::Args>();
        let definition = Definition::new(spec.name, spec.description, Arc::clone(&input))
            .with_title(spec.title)
            .with_raw_output_schema(schema::of_output::<T::Out>())
            .with_annotations(spec.effect.hints());
        let handler = move |server: ServerState, params: CallToolRequestParams, ctx| {
            let input = Arc::clone(&input);
            let called: ToolFuture =
                Box::pin(async move { Ok(run::<T>(server, params, ctx, &input).await) });
            called
        };
        Self {
            definition,
            write: spec.effect.is_write(),
            handler: Arc::new(handler),
        }
    }
}

/// A running call that may write. When the call ends, even with a failure, the cached results of
/// `pr_context` are dropped.
struct Write(ServerState);

impl Drop for Write {
    fn drop(&mut self) {
        self.0.contexts().forget();
    }
}

async fn run<T: Tool>(
    server: ServerState,
    mut params: CallToolRequestParams,
    ctx: RequestContext<RoleServer>,
    input: &JsonObject,
) -> CallToolResponse {
    let cancelled = ctx.ct.clone();
    // The call keeps only the parsed arguments, so that long arguments are in memory once.
    let sent = params.arguments.take();
    let _write = T::SPEC.effect.is_write().then(|| Write(server.clone()));
    let call = CallContext::new(server, T::SPEC, params, ctx);
    let work = async {
        let sent = Arc::new(args::fit(sent, input)?);
        call.learn_arguments(Arc::clone(&sent));
        if T::SPEC.effect.is_write() {
            let args: T::Args = args::read(&sent, input)?;
            call.acquire_slot().await?;
            let run = Box::pin(T::run(&call, args));
            return forge_core::call::kept(false, run).await.0;
        }
        let args = || args::read::<T::Args>(&sent, input);
        if !T::is_local(&args()?) {
            call.acquire_slot().await?;
        }
        let read = || async {
            call.cleaner.reset();
            T::run(&call, args()?).await
        };
        call.server.bounded(read).await?
    };
    let answer = tokio::select! {
        biased;
        () = cancelled.cancelled() => Err(Error::new(
            forge_core::ErrorKind::Cancelled,
            "the client cancelled the call",
        )
        .into()),
        answer = work => answer,
    };
    match answer {
        Ok(answer) => result(&call, answer).into(),
        Err(ToolError::Ask(ask)) => CallToolResponse::InputRequired(*ask),
        Err(ToolError::Failed(e)) => failure::result(&e, &call.about()).into(),
    }
}

fn result<T: Serialize>(call: &CallContext, answer: ToolOutput<T>) -> CallToolResult {
    let mut text = answer.text;
    text.push_str(&call.cleaner.note());
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = serde_json::to_value(answer.data).ok();
    result.meta = Some(call.cleaner.mark());
    result
}
