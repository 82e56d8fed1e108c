use clap::Args;

/// `forge auth`
#[derive(Args, Debug, Default)]
pub struct AuthArgs {}
