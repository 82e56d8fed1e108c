use clap::Args;

/// `--attach`
#[derive(Args, Clone, Debug, Default)]
pub struct AttachArgs {
    /// Attach an image or a video: a file, or file#alternative-text; may be repeated
    ///
    /// Where the text names the file, as in "![alt](./login.png)", the name becomes the address of
    /// the upload; else the file is added at the end of the text.
    #[arg(long, value_name = "file")]
    pub attach: Vec<String>,
}
