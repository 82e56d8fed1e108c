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

/// What a program that embeds the server adds to it, beside the server's own tools, prompts and
/// resources. A method that answers `None` leaves the request to the server.
pub trait Extension: Send + Sync + 'static {
    /// More tools. They are offered with and without `write`.
    fn tools(&self) -> Vec<Route>;
    /// More prompts.
    fn prompts(&self) -> Vec<Prompt>;
    /// One of them, filled in.
    fn prompt(
        &self,
        params: &GetPromptRequestParams,
    ) -> Option<Result<GetPromptResponse, ErrorData>>;
    /// More resources.
    fn resources(&self) -> Vec<Resource>;
    /// More templates of resources.
    fn templates(&self) -> Vec<ResourceTemplate>;
    /// One of them.
    fn read(&self, uri: &str) -> Option<Result<ReadResourceResult, ErrorData>>;
    /// Values for an argument.
    fn complete(&self, params: &CompleteRequestParams) -> Option<Vec<String>>;
    /// What the server says it can do, with what this adds.
    fn capabilities(&self, own: ServerCapabilities) -> ServerCapabilities;
    /// Whether a client of 2025-11-25 may subscribe to a resource.
    fn subscribes(&self, uri: &str) -> bool;
    /// Whether it sends log messages, of which a client of 2025-11-25 may set the level.
    fn logs(&self) -> bool;
    /// Serves a subscription until it ends.
    fn listen(
        &self,
        subscription: SubscriptionContext,
    ) -> BoxFuture<'static, Result<(), ErrorData>>;
}
