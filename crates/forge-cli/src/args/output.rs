//! Flags for the format of output.

use clap::{Arg, Args};

/// `--json`, `--jq` and `--template`, with gh's meaning.
#[derive(Args, Clone, Debug, Default)]
pub struct JsonArgs {
    /// Print these fields as JSON; without a value, all
    #[arg(long, value_name = "fields", value_delimiter = ',', num_args = 0..=1)]
    pub json: Option<Vec<String>>,
    /// Filter the JSON with a jq expression
    #[arg(short = 'q', long, value_name = "expression")]
    pub jq: Option<String>,
    /// Format the JSON with a Go template
    #[arg(short = 't', long, value_name = "template", conflicts_with = "jq")]
    pub template: Option<String>,
    /// True if `--json` without a value selects every field.
    #[arg(skip)]
    pub selects_all: bool,
}

impl JsonArgs {
    /// Sets the help text of `--json` for a command that gh also has: without a value, the flag
    /// lists the fields.
    #[must_use]
    pub fn of_gh(json: Arg) -> Arg {
        json.help("Print these fields as JSON; without a value, list the fields")
    }

    /// Selects every field if `--json` has no value. Used for commands that gh does not have.
    #[must_use]
    pub fn or_all(&self, fields: impl Iterator<Item = &'static str>) -> Self {
        let mut args = self.clone();
        args.selects_all = true;
        if args.json.as_ref().is_some_and(Vec::is_empty) {
            args.json = Some(fields.map(str::to_owned).collect());
        }
        args
    }
}

/// Flags that pass a text, as an argument or from a file.
#[derive(Args, Clone, Debug, Default)]
pub struct BodyArgs {
    /// The text
    #[arg(short, long, value_name = "text", conflicts_with = "body_file")]
    pub body: Option<String>,
    /// Read the text from a file ("-" for standard input)
    #[arg(short = 'F', long, value_name = "file")]
    pub body_file: Option<String>,
}

impl BodyArgs {
    /// Returns a function that sets the help texts of the two flags, for `#[command(mut_args(…))]`
    /// of a command.
    pub fn with_help(body: &'static str, body_file: &'static str) -> impl FnMut(Arg) -> Arg {
        move |arg: Arg| match arg.get_id().as_str() {
            "body" => arg.help(body),
            "body_file" => arg.help(body_file),
            _ => arg,
        }
    }
}
