use clap::Args;

/// `forge config`
#[derive(Args, Debug, Default)]
pub struct ConfigArgs {}
