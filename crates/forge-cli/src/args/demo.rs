use clap::Args;

/// `forge demo`
#[derive(Args, Debug, Default)]
pub struct DemoArgs {}
