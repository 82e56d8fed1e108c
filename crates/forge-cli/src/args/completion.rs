use clap::Args;
use clap_complete::Shell;

/// `forge completion`
#[derive(Args, Debug)]
pub struct CompletionArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}
