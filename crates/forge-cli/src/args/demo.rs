use clap::Args;

/// `forge demo`
#[derive(Args, Debug, Default)]
pub struct DemoArgs {
    /// Keep the repository, and say where it is
    #[arg(long)]
    pub keep: bool,
}
