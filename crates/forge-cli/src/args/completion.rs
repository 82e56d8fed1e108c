use clap::Args;

/// `forge completion`
#[derive(Args, Debug, Default)]
pub struct CompletionArgs {}
