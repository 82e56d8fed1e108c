//! Colours.

use anstyle::{AnsiColor, Style};

/// Colours of an output stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Palette {
    /// True if colours are on.
    pub on: bool,
}

macro_rules! colors {
    ($($(#[$doc:meta])* $name:ident = $style:expr;)*) => {
        impl Palette {
            $($(#[$doc])*
            #[must_use]
            pub fn $name(self, text: &str) -> String {
                self.paint($style, text)
            })*
        }
    };
}

colors! {
    /// Bold.
    bold = Style::new().bold();
    /// Italic.
    italic = Style::new().italic();
    /// Underlined.
    underline = Style::new().underline();
    /// Grey.
    gray = AnsiColor::BrightBlack.on_default();
    /// Red.
    red = AnsiColor::Red.on_default();
    /// Green.
    green = AnsiColor::Green.on_default();
    /// Yellow.
    yellow = AnsiColor::Yellow.on_default();
    /// Blue.
    blue = AnsiColor::Blue.on_default();
    /// Magenta.
    magenta = AnsiColor::Magenta.on_default();
    /// Cyan.
    cyan = AnsiColor::Cyan.on_default();
}

impl Palette {
    /// Returns `text` in `style`, or unchanged if colours are off.
    #[must_use]
    pub fn paint(self, style: Style, text: &str) -> String {
        if self.on && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}
