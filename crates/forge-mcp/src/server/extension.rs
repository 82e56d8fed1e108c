use futures::future::BoxFuture;
use rmcp::{
    ErrorData,
    model::{
        CompleteRequestParams, GetPromptRequestParams, GetPromptResponse, Prompt,
        ReadResourceResult, Resource, ResourceTemplate, ServerCapabilities,
    },
    service::SubscriptionContext,
};

use crate::calls::Route;

/// Tools, prompts and resources that a program adds to the server. If a method here returns `None`,
/// the server handles the client's request itself.
pub trait Extension: Send + Sync + 'static {
    /// Returns additional tools. They are offered even if `write` is not set.
    fn tools(&self) -> Vec<Route>;
    /// Returns additional prompts.
    fn prompts(&self) -> Vec<Prompt>;
    /// Fills in an additional prompt.
    fn prompt(
        &self,
        params: &GetPromptRequestParams,
    ) -> Option<Result<GetPromptResponse, ErrorData>>;
    /// Returns additional resources.
    fn resources(&self) -> Vec<Resource>;
    /// Returns additional resource templates.
    fn templates(&self) -> Vec<ResourceTemplate>;
    /// Reads an additional resource.
    fn read(&self, uri: &str) -> Option<Result<ReadResourceResult, ErrorData>>;
    /// Completes an argument.
    fn complete(&self, params: &CompleteRequestParams) -> Option<Vec<String>>;
    /// Returns the server's own capabilities together with those of the extension.
    fn capabilities(&self, own: ServerCapabilities) -> ServerCapabilities;
    /// Returns true if clients of protocol version 2025-11-25 may subscribe to the resource.
    fn subscribes(&self, uri: &str) -> bool;
    /// Returns true if the extension sends log messages. Clients of protocol version 2025-11-25 may
    /// then set the log level.
    fn logs(&self) -> bool;
    /// Serves a subscription until it ends.
    fn listen(
        &self,
        subscription: SubscriptionContext,
    ) -> BoxFuture<'static, Result<(), ErrorData>>;
}
