use clap::{
    ValueEnum,
    builder::{EnumValueParser, StringValueParser, TypedValueParser},
};

/// The value of `--color`.
///
/// Every command has `--color` for its output. `label create` also has gh's `--color` for the
/// label's colour. clap keeps one value for both flags, so they share a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColorArg {
    /// When to use colour.
    When(ColorWhen),
    /// The colour of a label, as typed.
    Label(String),
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Default for ColorArg {
    fn default() -> Self {
        Self::When(ColorWhen::default())
    }
}

impl ColorArg {
    /// Parses `--color` as the choice when to use colour in the output.
    pub(super) fn when_parser() -> impl TypedValueParser<Value = Self> {
        EnumValueParser::<ColorWhen>::new().map(Self::When)
    }

    /// Parses the `--color` of `label create`, which is a label's colour.
    pub(crate) fn label_parser() -> impl TypedValueParser<Value = Self> {
        StringValueParser::new().map(Self::Label)
    }

    /// Returns when to use colour: the flag's value, or the default if the flag is a label's
    /// colour.
    #[must_use]
    pub fn when(&self) -> ColorWhen {
        match self {
            Self::When(choice) => *choice,
            Self::Label(_) => ColorWhen::default(),
        }
    }

    /// Returns the label's colour; `None` if the flag tells when to use colour.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        match self {
            Self::When(_) => None,
            Self::Label(color) => Some(color),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::{
        cli::Cli,
        cmd::{RootCommand, label::LabelCommand},
    };

    fn label_color(args: &[&str]) -> (ColorWhen, Option<String>) {
        let all = ["forge"].iter().chain(args);
        let cli = Cli::try_parse_from(all).unwrap();
        let RootCommand::Label(args) = cli.command else {
            panic!("no label command")
        };
        let LabelCommand::Create(args) = args.command else {
            panic!("no label create")
        };
        let color = args
            .color
            .as_ref()
            .and_then(ColorArg::label)
            .map(str::to_owned);
        (cli.global.color.when(), color)
    }

    #[test]
    fn label_color_and_global_color_are_distinct() {
        let red = Some("ff0000".to_owned());
        let auto = ColorWhen::Auto;
        assert_eq!(label_color(&["label", "create", "x"]), (auto, None));
        assert_eq!(
            label_color(&["label", "create", "x", "--color", "ff0000"]),
            (auto, red.clone())
        );
        assert_eq!(
            label_color(&["label", "create", "x", "-c", "ff0000"]),
            (auto, red)
        );
        let list = Cli::try_parse_from(["forge", "label", "list", "--color", "never"]).unwrap();
        assert_eq!(list.global.color.when(), ColorWhen::Never);
        assert!(Cli::try_parse_from(["forge", "label", "list", "--color", "ff0000"]).is_err());
    }
}
