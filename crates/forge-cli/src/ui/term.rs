use std::io::{IsTerminal as _, stderr, stdin, stdout};

use forge::config::{self, Config, Env, Var};

use crate::args::ColorWhen;

/// Properties of standard input, output and error.
#[derive(Clone, Copy, Debug)]
pub(super) struct TerminalStreams {
    pub(super) out_tty: bool,
    pub(super) err_tty: bool,
    pub(super) can_prompt: bool,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) color_out: bool,
    pub(super) color_err: bool,
    choice: ColorWhen,
}

impl TerminalStreams {
    /// Reads the environment. The result is used until the configuration is read, for example for
    /// errors in the configuration.
    pub(super) fn from_env(choice: ColorWhen) -> Self {
        let env = Env::process();
        let forced = env
            .first(&[Var::ForgeForceTty, Var::GhForceTty])
            .map(|(_, text)| text);
        let out_tty = forced.is_some() || stdout().is_terminal();
        let err_tty = stderr().is_terminal();
        let size = terminal_size::terminal_size();
        let columns = env.get(Var::Columns).and_then(|c| c.parse().ok());
        let real_width = size.map_or(columns.unwrap_or(80), |(w, _)| usize::from(w.0));
        let height = size.map_or(24, |(_, h)| usize::from(h.0));
        let width = forced.as_deref().and_then(|f| forced_width(f, real_width));
        Self {
            out_tty,
            err_tty,
            can_prompt: out_tty && stdin().is_terminal(),
            width: width.unwrap_or(real_width).max(20),
            height,
            color_out: use_color(choice, out_tty, &env),
            color_err: use_color(choice, err_tty, &env),
            choice,
        }
    }

    /// Applies the configuration; flags take precedence.
    pub(super) fn configure(&mut self, config: &Config) {
        self.can_prompt &= config.prompt();
        if self.choice == ColorWhen::Auto {
            let choice = match config.color() {
                config::ColorChoice::Auto => ColorWhen::Auto,
                config::ColorChoice::Always => ColorWhen::Always,
                config::ColorChoice::Never => ColorWhen::Never,
            };
            self.color_out = use_color(choice, self.out_tty, config.env());
            self.color_err = use_color(choice, self.err_tty, config.env());
        }
    }
}

/// Parses the width in `FORGE_FORCE_TTY`: `120` columns, or `50%` of the real width. Ignores other
/// texts.
fn forced_width(text: &str, real: usize) -> Option<usize> {
    match text.strip_suffix('%') {
        Some(share) => share
            .parse::<usize>()
            .ok()
            .map(|s| real.saturating_mul(s) / 100),
        None => text.parse().ok().filter(|w| *w > 1),
    }
}

/// Decides about colour, in gh's order: the flag, then `CLICOLOR_FORCE`, then `NO_COLOR` and
/// `CLICOLOR=0`, then whether the stream is a terminal.
fn use_color(choice: ColorWhen, tty: bool, env: &Env) -> bool {
    match choice {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto if env.get(Var::ClicolorForce).is_some_and(|v| v != "0") => true,
        ColorWhen::Auto
            if env.is_set(Var::NoColor) || env.get(Var::Clicolor).as_deref() == Some("0") =>
        {
            false
        }
        ColorWhen::Auto => tty && env.get(Var::Term).as_deref() != Some("dumb"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn color(choice: ColorWhen, tty: bool, vars: &[(&str, &str)]) -> bool {
        use_color(choice, tty, &Env::fixed(vars.iter().copied()))
    }

    #[test]
    fn color_follows_flag_then_environment() {
        use ColorWhen::{Always, Auto, Never};
        assert!(color(Auto, true, &[]) && !color(Auto, false, &[]));
        assert!(!color(Auto, true, &[("NO_COLOR", "1")]) && color(Auto, true, &[("NO_COLOR", "")]));
        assert!(
            !color(Auto, true, &[("CLICOLOR", "0")]) && !color(Auto, true, &[("TERM", "dumb")])
        );
        assert!(color(
            Auto,
            false,
            &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]
        ));
        assert!(!color(Auto, false, &[("CLICOLOR_FORCE", "0")]));
        assert!(color(Always, false, &[("NO_COLOR", "1")]) && !color(Never, true, &[]));
    }

    #[test]
    fn forced_width_is_columns_or_a_percentage() {
        assert_eq!(forced_width("120", 80), Some(120));
        assert_eq!(forced_width("50%", 80), Some(40));
        assert_eq!(forced_width("true", 80), None);
        assert_eq!(forced_width("1", 80), None);
    }
}
