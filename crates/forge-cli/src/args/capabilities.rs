use clap::Args;

/// `forge capabilities`
#[derive(Args, Debug, Default)]
pub struct CapabilitiesArgs {}
