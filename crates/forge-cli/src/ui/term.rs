use std::{
    env,
    io::{IsTerminal as _, stderr, stdin, stdout},
};

use crate::args::ColorChoice;

/// What the three streams are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    pub(super) out_tty: bool,
    pub(super) err_tty: bool,
    pub(super) can_prompt: bool,
    /// Columns.
    pub(super) width: usize,
    /// Rows.
    pub(super) height: usize,
    pub(super) color_out: bool,
    pub(super) color_err: bool,
}

impl Term {
    pub(super) fn from_env(choice: ColorChoice) -> Self {
        let forced = var("FORGE_FORCE_TTY").or_else(|| var("GH_FORCE_TTY"));
        let out_tty = forced.is_some() || stdout().is_terminal();
        let err_tty = stderr().is_terminal();
        let size = terminal_size::terminal_size();
        let real_width = size.map_or(80, |(w, _)| usize::from(w.0));
        let height = size.map_or(24, |(_, h)| usize::from(h.0));
        let width = forced.as_deref().and_then(|f| forced_width(f, real_width));
        let color = |tty| {
            use_color(choice, tty, &|name| env::var(name).ok())
        };
        Self {
            out_tty,
            err_tty,
            can_prompt: out_tty
                && stdin().is_terminal()
                && var("GH_PROMPT_DISABLED").is_none()
                && var("FORGE_PROMPT_DISABLED").is_none(),
            width: width.unwrap_or(real_width).max(20),
            height,
            color_out: color(out_tty),
            color_err: color(err_tty),
        }
    }
}

fn var(name: &str) -> Option<String> {
    env::var(name).ok().filter(|v| !v.is_empty())
}

/// `120` is a width, `50%` a share of the real one, anything else says nothing about it.
fn forced_width(text: &str, real: usize) -> Option<usize> {
    match text.strip_suffix('%') {
        Some(share) => share.parse::<usize>().ok().map(|s| real.saturating_mul(s) / 100),
        None => text.parse().ok().filter(|w| *w > 1),
    }
}

/// The flag, then `CLICOLOR_FORCE`, then `NO_COLOR` and `CLICOLOR=0`, then whether somebody sees
/// it (the order of gh).
fn use_color(choice: ColorChoice, tty: bool, env: &dyn Fn(&str) -> Option<String>) -> bool {
    let set = |name| env(name).is_some_and(|v| !v.is_empty());
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if env("CLICOLOR_FORCE").is_some_and(|v| !v.is_empty() && v != "0") => true,
        ColorChoice::Auto if set("NO_COLOR") || env("CLICOLOR").as_deref() == Some("0") => false,
        ColorChoice::Auto => tty && env("TERM").as_deref() != Some("dumb"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn color(choice: ColorChoice, tty: bool, vars: &[(&str, &str)]) -> bool {
        use_color(choice, tty, &|name| {
            vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned())
        })
    }

    #[test]
    fn colour_rules() {
        use ColorChoice::{Always, Auto, Never};
        assert!(color(Auto, true, &[]) && !color(Auto, false, &[]));
        assert!(!color(Auto, true, &[("NO_COLOR", "1")]) && color(Auto, true, &[("NO_COLOR", "")]));
        assert!(!color(Auto, true, &[("CLICOLOR", "0")]) && !color(Auto, true, &[("TERM", "dumb")]));
        assert!(color(Auto, false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
        assert!(!color(Auto, false, &[("CLICOLOR_FORCE", "0")]));
        assert!(color(Always, false, &[("NO_COLOR", "1")]) && !color(Never, true, &[]));
    }

    #[test]
    fn forced_widths() {
        assert_eq!(forced_width("120", 80), Some(120));
        assert_eq!(forced_width("50%", 80), Some(40));
        assert_eq!(forced_width("true", 80), None);
        assert_eq!(forced_width("1", 80), None);
    }
}
