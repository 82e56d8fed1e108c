use clap::Args;

/// `forge label`
#[derive(Args, Debug, Default)]
pub struct LabelArgs {}
