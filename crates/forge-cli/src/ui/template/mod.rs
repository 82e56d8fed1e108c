//! `--template`: Go templates with gh's functions.

mod compare;
mod functions;
mod layout;

use std::sync::{Arc, Mutex, PoisonError};

use forge_core::{Error, Result, text};
use gotmpl::Value;

use self::functions::Table;
use super::{Ui, value::Json};

/// The source of a valid template. The source is parsed again at execution, with functions for the
/// actual output.
pub struct Template(String);

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    ///
    /// `invalid_input` with the position of the mistake.
    pub fn new(source: &str) -> Result<Self> {
        parse(source, functions::OutputStyle::plain(), &Arc::default())?;
        Ok(Self(source.to_owned()))
    }

    /// Executes the template.
    ///
    /// # Errors
    ///
    /// `invalid_input` if the template fails; other kinds if stdout cannot be written.
    pub fn print(&self, ui: &Ui, value: &Json) -> Result<()> {
        let look = functions::OutputStyle {
            now: ui.now(),
            palette: ui.palette(),
            width: ui.is_tty().then_some(ui.width()),
        };
        ui.write(render(&self.0, look, &data(value, ui.is_tty()))?.as_bytes())
    }
}

fn parse(
    source: &str,
    look: functions::OutputStyle,
    table: &Arc<Mutex<Table>>,
) -> Result<gotmpl::Template> {
    compare::add(functions::add(gotmpl::Template::new(""), look, table))
        .parse(source)
        .map_err(|e| failed(&e))
}

fn render(source: &str, look: functions::OutputStyle, data: &Value) -> Result<String> {
    let table = Arc::default();
    let mut out = parse(source, look, &table)?
        .execute_to_string(data)
        .map_err(|e| failed(&e))?;
    // As in gh, rows that no `tablerender` printed are printed at the end.
    out.push_str(
        &table
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take(look),
    );
    Ok(out)
}

fn failed(e: &gotmpl::TemplateError) -> Error {
    Error::invalid("template", format!("the template failed: {e}"))
}

/// Converts the data for the template. For a terminal, neutralises escapes in the data. This cannot
/// be done in the output, because escapes of the template itself must be kept.
fn data(value: &Json, tty: bool) -> Value {
    match value {
        Json::Null => Value::Nil,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => Value::Uint(*n),
        Json::Text(t) if tty => Value::String(text::neutralise(t).into()),
        Json::Text(t) => Value::String(t.as_str().into()),
        Json::Array(items) => Value::List(items.iter().map(|i| data(i, tty)).collect()),
        Json::Object(_) | Json::Map(_) => Value::Map(Arc::new(
            value
                .members()
                .into_iter()
                .map(|(name, m)| (Arc::from(name), data(m, tty)))
                .collect(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use forge_core::Timestamp;

    use super::{functions::OutputStyle, *};
    use crate::ui::color::Palette;

    fn run(source: &str) -> Result<String> {
        let pr = |number, title: &str| {
            Json::Object(vec![
                ("number", Json::Number(number)),
                ("title", Json::text(title)),
                ("createdAt", Json::text("2026-11-21T08:05:09Z")),
                ("closedAt", Json::Null),
                (
                    "labels",
                    Json::Array(vec![Json::Object(vec![("name", Json::text("bug"))])]),
                ),
            ])
        };
        let value = Json::Array(vec![pr(1, "one"), pr(22, "twenty-two")]);
        let now: Timestamp = "2026-11-21T10:05:09Z".parse().unwrap();
        let look = OutputStyle {
            now,
            palette: Palette { on: false },
            width: None,
        };
        render(source, look, &data(&value, false))
    }

    #[test]
    fn template_formats_tables_and_texts() {
        assert_eq!(
            run("{{range .}}{{tablerow .number .title}}{{end}}").unwrap(),
            "1   one\n22  twenty-two\n"
        );
        assert_eq!(
            run("{{range .}}{{tablerow .number}}{{end}}{{tablerender}}done").unwrap(),
            "1\n22\ndone"
        );
        assert_eq!(
            run("{{range .}}{{truncate 5 .title}},{{end}}").unwrap(),
            "one,tw...,"
        );
        assert_eq!(
            run(r#"{{(index . 0).labels | pluck "name" | join ", "}}"#).unwrap(),
            "bug"
        );
        assert_eq!(
            run(r#"{{range .}}{{if contains "wen" .title}}{{.number}}{{end}}{{end}}"#).unwrap(),
            "22"
        );
        assert_eq!(
            run(r#"{{hasPrefix "on" "one"}} {{hasSuffix "on" "one"}}"#).unwrap(),
            "true false"
        );
        // Numbers are integers, unlike gh's floats (see docs/reference/cli.md).
        assert_eq!(
            run("{{range .}}{{if eq .number 22}}{{.title}}{{end}}{{end}}").unwrap(),
            "twenty-two"
        );
    }

    #[test]
    fn template_formats_times_and_colors() {
        assert_eq!(
            run("{{timeago (index . 0).createdAt}}").unwrap(),
            "2 hours ago"
        );
        assert_eq!(
            run(r#"{{timefmt "Mon, 02 Jan 2006 3:04:05PM" (index . 0).createdAt}}"#).unwrap(),
            "Sat, 21 Nov 2026 8:05:09AM"
        );
        assert_eq!(
            run(r#"{{color "green" "x"}}|{{autocolor "green" "x"}}"#).unwrap(),
            "x|x"
        );
        assert_eq!(
            run(r#"{{hyperlink "https://e.org" "e"}}"#).unwrap(),
            "\u{1b}]8;;https://e.org\u{1b}\\e\u{1b}]8;;\u{1b}\\"
        );
    }

    /// In gh, `color` and `autocolor` both follow the colour setting.
    #[test]
    fn color_functions_follow_colour_setting() {
        let look = OutputStyle {
            palette: Palette { on: true },
            ..OutputStyle::plain()
        };
        let source = r#"{{color "green" "x"}}|{{autocolor "green" "x"}}"#;
        assert_eq!(
            render(source, look, &Value::Nil).unwrap(),
            "\u{1b}[32mx\u{1b}[0m|\u{1b}[32mx\u{1b}[0m"
        );
    }

    #[test]
    fn template_compares_integers_with_floats() {
        for (source, wanted) in [
            ("{{range .}}{{eq .number 22.0}} {{end}}", "false true "),
            ("{{range .}}{{eq .number 22}} {{end}}", "false true "),
            ("{{range .}}{{gt .number 1.5}} {{end}}", "false true "),
            ("{{range .}}{{le .number 1}} {{end}}", "true false "),
            (
                "{{eq 3 1 2 3}} {{ne 1 1.0}} {{lt 1 2}} {{ge 2.0 2}}",
                "true false true true",
            ),
            (
                r#"{{eq "a" "a"}} {{lt "a" "b"}} {{eq true false}}"#,
                "true true false",
            ),
            ("{{range .}}{{eq .closedAt nil}} {{end}}", "true true "),
            (r#"{{range .}}{{eq .closedAt "x"}} {{end}}"#, "false false "),
        ] {
            assert_eq!(run(source).unwrap(), wanted, "{source}");
        }
        for bad in [
            r#"{{eq 1 "1"}}"#,
            "{{lt true false}}",
            "{{eq 1}}",
            "{{eq . .}}",
            "{{lt 1 2 3}}",
        ] {
            assert!(run(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn template_mistakes_are_errors() {
        for bad in [
            "{{",
            "{{nosuch .}}",
            "{{timeago 3}}",
            r#"{{color "nocolor" "x"}}"#,
        ] {
            assert!(run(bad).is_err(), "{bad}");
        }
    }
}
