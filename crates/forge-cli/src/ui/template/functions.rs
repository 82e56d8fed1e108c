use std::sync::{Arc, Mutex, PoisonError};

use anstyle::{AnsiColor, Effects, Style};
use forge_core::Timestamp;
use gotmpl::{Template, TemplateError, Value};

use super::layout;
use crate::ui::{
    color::Palette,
    table::{self, Cell, Column},
    time,
};

type FunctionResult<T> = std::result::Result<T, TemplateError>;

/// Colours and width of the output, for the template functions.
#[derive(Clone, Copy)]
pub(super) struct OutputStyle {
    pub(super) now: Timestamp,
    pub(super) palette: Palette,
    /// The terminal's width, if there is a terminal.
    pub(super) width: Option<usize>,
}

impl OutputStyle {
    pub(super) fn plain() -> Self {
        Self {
            now: Timestamp::from_unix(0),
            palette: Palette { on: false },
            width: None,
        }
    }
}

/// The rows of `tablerow`.
#[derive(Default)]
pub(super) struct Table(Vec<Vec<Cell>>);

impl Table {
    pub(super) fn take(&mut self, look: OutputStyle) -> String {
        let rows = std::mem::take(&mut self.0);
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let columns = vec![
            Column {
                title: "",
                shrinks: true
            };
            columns
        ];
        table::render(
            &columns,
            &rows,
            look.width.unwrap_or(usize::MAX),
            look.palette,
        )
    }
}

/// Adds gh's template functions to `template`. `tablerow` stores its rows in `table`.
pub(super) fn add(template: Template, look: OutputStyle, table: &Arc<Mutex<Table>>) -> Template {
    let rows = Arc::clone(table);
    let rendered = Arc::clone(table);
    template
        .func("tablerow", move |args| {
            let cells = args
                .iter()
                .map(|a| Cell::plain(shown(a).replace('\n', " ")))
                .collect();
            rows.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .0
                .push(cells);
            Ok(text(""))
        })
        .func("tablerender", move |_| {
            Ok(text(
                rendered
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take(look),
            ))
        })
        .func("timeago", move |args| {
            Ok(text(time::ago_in_templates(
                look.now,
                instant(args, 0, "timeago")?,
            )))
        })
        .func("timefmt", |args| {
            let at = instant(args, 1, "timefmt")?;
            Ok(text(layout::format(
                &string(args, 0, "timefmt")?,
                &at.to_string(),
            )))
        })
        .func("truncate", |args| {
            let room = match args.first() {
                Some(Value::Uint(n)) => usize::try_from(*n).ok(),
                other => other
                    .and_then(Value::as_int)
                    .and_then(|n| usize::try_from(n).ok()),
            };
            let room = room.ok_or_else(|| wrong("truncate", "a width"))?;
            Ok(text(table::truncate_as_gh(
                &args.get(1).map(shown).unwrap_or_default(),
                room,
            )))
        })
        .func("hyperlink", |args| {
            let url = string(args, 0, "hyperlink")?;
            let label = args
                .get(1)
                .map(shown)
                .filter(|l| !l.is_empty())
                .unwrap_or_else(|| url.clone());
            Ok(text(format!(
                "\u{1b}]8;;{url}\u{1b}\\{label}\u{1b}]8;;\u{1b}\\"
            )))
        })
        .func("color", move |args| colored(look.palette, args))
        .func("autocolor", move |args| colored(look.palette, args))
        .func("join", |args| {
            let separator = string(args, 0, "join")?;
            let items: Vec<String> = list(args, 1, "join")?.iter().map(shown).collect();
            Ok(text(items.join(&separator)))
        })
        .func("pluck", |args| {
            let name = string(args, 0, "pluck")?;
            let items = list(args, 1, "pluck")?;
            Ok(Value::List(
                items
                    .iter()
                    .map(|i| i.field(&name).cloned().unwrap_or(Value::Nil))
                    .collect(),
            ))
        })
        .func("contains", |args| {
            compare(args, "contains", |part, whole| whole.contains(part))
        })
        .func("hasPrefix", |args| {
            compare(args, "hasPrefix", |part, whole| whole.starts_with(part))
        })
        .func("hasSuffix", |args| {
            compare(args, "hasSuffix", |part, whole| whole.ends_with(part))
        })
}

fn text(value: impl AsRef<str>) -> Value {
    Value::String(value.as_ref().into())
}

fn shown(value: &Value) -> String {
    match value {
        Value::Nil => String::new(),
        other => other.to_string(),
    }
}

fn wrong(function: &str, wants: &str) -> TemplateError {
    TemplateError::Exec(format!("{function} takes {wants}"))
}

fn string(args: &[Value], at: usize, function: &str) -> FunctionResult<String> {
    let value = args.get(at).and_then(Value::as_str);
    value
        .map(str::to_owned)
        .ok_or_else(|| wrong(function, "a text"))
}

fn list(args: &[Value], at: usize, function: &str) -> FunctionResult<Arc<[Value]>> {
    match args.get(at) {
        Some(Value::List(items)) => Ok(Arc::clone(items)),
        Some(Value::Nil) => Ok(Arc::from([])),
        _ => Err(wrong(function, "a list")),
    }
}

fn instant(args: &[Value], at: usize, function: &str) -> FunctionResult<Timestamp> {
    string(args, at, function)?
        .parse()
        .map_err(|_| wrong(function, "a time"))
}

fn compare(args: &[Value], function: &str, test: fn(&str, &str) -> bool) -> FunctionResult<Value> {
    Ok(Value::Bool(test(
        &string(args, 0, function)?,
        &string(args, 1, function)?,
    )))
}

fn colored(palette: Palette, args: &[Value]) -> FunctionResult<Value> {
    let spec = string(args, 0, "color")?;
    let style = style(&spec).ok_or_else(|| {
        TemplateError::Exec(format!(
            "'{spec}' is not a colour (as 'green', 'red+b', 'white+u')"
        ))
    })?;
    Ok(text(
        palette.paint(style, &args.get(1).map(shown).unwrap_or_default()),
    ))
}

/// Parses a style: `green`, `red+b` (bold), `+u` (underlined), `+i` (inverse), `+h` (bright).
fn style(spec: &str) -> Option<Style> {
    let (name, extra) = spec.split_once('+').unwrap_or((spec, ""));
    let color = match name {
        "black" => AnsiColor::Black,
        "red" => AnsiColor::Red,
        "green" => AnsiColor::Green,
        "yellow" => AnsiColor::Yellow,
        "blue" => AnsiColor::Blue,
        "magenta" => AnsiColor::Magenta,
        "cyan" => AnsiColor::Cyan,
        "white" => AnsiColor::White,
        "gray" | "grey" => AnsiColor::BrightBlack,
        _ => return None,
    };
    let mut style = color
        .bright(extra.contains('h') || color == AnsiColor::BrightBlack)
        .on_default();
    for (letter, effect) in [
        ('b', Effects::BOLD),
        ('u', Effects::UNDERLINE),
        ('i', Effects::INVERT),
        ('d', Effects::DIMMED),
    ] {
        if extra.contains(letter) {
            style = style.effects(style.get_effects() | effect);
        }
    }
    Some(style)
}
