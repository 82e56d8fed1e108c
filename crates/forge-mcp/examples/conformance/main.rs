//! A server with the fixtures that the protocol's conformance suite calls by name. Only the suite
//! uses this server, which listens on a loopback port without a token and prints its address.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    deprecated,
    missing_docs,
    reason = "fixtures of a test, also for deprecated features of the protocol"
)]

mod ask;
mod asked;
mod content;
mod tools;

use std::sync::Arc;

use forge::{Config, Forges, config::Env};
use forge_mcp::{
    Extension, Route, Server, ServerOptions,
    http::{self, HttpLimits, HttpOptions},
};
use futures::future::BoxFuture;
use rmcp::{
    ErrorData,
    model::{
        CompleteRequestParams, GetPromptRequestParams, GetPromptResponse, Prompt,
        ReadResourceResult, Resource, ResourceTemplate, ServerCapabilities,
    },
    service::{SubscriptionContext, SubscriptionSink},
};
use tokio::sync::Mutex;

/// The open subscriptions.
pub type Sinks = Arc<Mutex<Vec<SubscriptionSink>>>;

#[derive(Default)]
struct Fixtures {
    sinks: Sinks,
}

impl Extension for Fixtures {
    fn tools(&self) -> Vec<Route> {
        let mut all = tools::all(&self.sinks);
        all.extend(ask::all());
        all.extend(asked::all());
        all
    }

    fn prompts(&self) -> Vec<Prompt> {
        content::prompts()
    }

    fn prompt(
        &self,
        params: &GetPromptRequestParams,
    ) -> Option<Result<GetPromptResponse, ErrorData>> {
        content::prompt(params)
    }

    fn resources(&self) -> Vec<Resource> {
        content::resources()
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        content::templates()
    }

    fn read(&self, uri: &str) -> Option<Result<ReadResourceResult, ErrorData>> {
        content::read(uri)
    }

    fn complete(&self, _: &CompleteRequestParams) -> Option<Vec<String>> {
        Some(vec![
            "paris".to_owned(),
            "park".to_owned(),
            "party".to_owned(),
        ])
    }

    fn capabilities(&self, mut own: ServerCapabilities) -> ServerCapabilities {
        if let Some(tools) = &mut own.tools {
            tools.list_changed = Some(true);
        }
        if let Some(prompts) = &mut own.prompts {
            prompts.list_changed = Some(true);
        }
        own.logging = Some(rmcp::model::JsonObject::default());
        if let Some(resources) = &mut own.resources {
            resources.subscribe = Some(true);
        }
        own
    }

    fn subscribes(&self, uri: &str) -> bool {
        uri.starts_with("test://")
    }

    fn logs(&self) -> bool {
        true
    }

    fn listen(
        &self,
        subscription: SubscriptionContext,
    ) -> BoxFuture<'static, Result<(), ErrorData>> {
        let sinks = Arc::clone(&self.sinks);
        Box::pin(async move {
            sinks.lock().await.push(subscription.sink().clone());
            subscription.cancelled().await;
            Ok(())
        })
    }
}

#[tokio::main]
async fn main() {
    let forges = Forges::from_parts(Config::without_files(Env::fixed([("HOME", "/")])));
    let options = ServerOptions {
        dir: std::env::temp_dir(),
        ..ServerOptions::default()
    };
    let server = Server::extended(forges, options, Box::new(Fixtures::default())).unwrap();
    let port = std::env::args().nth(1).unwrap_or_else(|| "0".to_owned());
    let options = HttpOptions {
        addr: format!("127.0.0.1:{port}").parse().expect("a port"),
        bearer: None,
        hosts: Vec::new(),
        limits: HttpLimits::default(),
    };
    let listening = http::serve(server, options).await.unwrap();
    println!("listening on {}", listening.url());
    listening.run().await;
}
