//! `--jq`: filters with jaq's jq language. An expression sees only its input, because the functions
//! for the environment and for process control are removed.

use std::io::Write;

use forge_core::{Error, Result, text};
use jaq_core::{
    Compiler, Ctx, Vars, data,
    load::{self, Arena, File, Loader},
    unwrap_valr,
};
use jaq_json::{Map, Num, Val, read, write};

use super::{Ui, io_error, value::Json};

/// Maximum size of the output, in bytes. Only a mistake such as `repeat(1)` produces more.
const MAX_OUTPUT_BYTES: usize = 64 * 1024 * 1024;
/// The largest number up to which a float represents every integer exactly.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;
/// Functions that are removed from the language: `env` reads the environment, and `halt` ends the
/// process.
const REMOVED_FUNCTIONS: [&str; 4] = ["env", "halt", "halt_error", "input_filename"];

/// Functions of jq that jaq's library lacks.
const MISSING_FUNCTIONS: &str = r#"
def @csv: def cell: if isnumber and . > -1e15 and . < 1e15 and . == floor then floor else . end | tojson;
    [.[] | if . == null then "" elif isstring then "\"" + gsub("\""; "\"\"") + "\""
    elif isarray or isobject then error("\(tojson) is not valid in a csv row") else cell end]
    | join(",");
def @tsv: def cell: if isnumber and . > -1e15 and . < 1e15 and . == floor then floor else . end | tojson;
    [.[] | if . == null then "" elif isstring then gsub("\\\\"; "\\\\") | gsub("\t"; "\\t")
    | gsub("\n"; "\\n") | gsub("\r"; "\\r")
    elif isarray or isobject then error("\(tojson) is not valid in a tsv row") else cell end]
    | join("\t");
def toarray: if isarray then . else [.] end;
def trimstr($x): ltrimstr($x) | rtrimstr($x);
def leaf_paths: paths(scalars);
def IN(s): any(s == .; .);
def IN(g; s): any(g == s; .);
def INDEX(g; f): reduce g as $row ({}; . + {($row | f | tostring): $row});
def INDEX(f): INDEX(.[]; f);
def tostream: path(def r: (.[]? | r), .; r) as $p | getpath($p)
    | reduce path(.[]?) as $q ([$p, .]; [$p + $q]);
"#;

/// A compiled jq expression.
pub struct JqFilter(jaq_core::Filter<data::JustLut<Val>>);

impl JqFilter {
    /// Compiles an expression.
    ///
    /// # Errors
    ///
    /// `invalid_input` with the position of the mistake.
    pub fn new(expression: &str) -> Result<Self> {
        let kept = |name: &str| !REMOVED_FUNCTIONS.contains(&name);
        let defs = jaq_core::defs()
            .chain(jaq_std::defs())
            .chain(jaq_json::defs());
        let funs = jaq_core::funs()
            .chain(jaq_std::funs())
            .chain(jaq_json::funs());
        let more = load::parse(MISSING_FUNCTIONS, |p| p.defs()).unwrap_or_default();
        let loader = Loader::new(defs.filter(|d| kept(d.name)).chain(more));
        let arena = Arena::default();
        let modules = loader
            .load(
                &arena,
                File {
                    code: expression,
                    path: (),
                },
            )
            .map_err(|errors| {
                invalid_expression(
                    expression,
                    errors.into_iter().next().map(|(_, e)| syntax_error(&e)),
                )
            })?;
        let filter = Compiler::default()
            .with_funs(funs.filter(|(name, ..)| kept(name)))
            .compile(modules)
            .map_err(|errors| {
                let undefined = errors.into_iter().flat_map(|(_, e)| e).next();
                invalid_expression(
                    expression,
                    undefined.map(|(name, what)| format!("undefined {}: {name}", what.as_str())),
                )
            })?;
        Ok(Self(filter))
    }

    /// Runs the filter, and prints each result on a line as gh does: strings unquoted, `null` as an
    /// empty line, other values as JSON with sorted keys.
    ///
    /// # Errors
    ///
    /// `invalid_input` if the expression fails or its output is too large; other kinds if stdout
    /// cannot be written.
    pub fn print(&self, ui: &Ui, value: &Json) -> Result<()> {
        self.for_each(value, |result| {
            if ui.is_tty() {
                ui.write(&text::neutralise_bytes(result))?;
                ui.write(b"\n")
            } else {
                ui.write(result)?;
                ui.write(b"\n")
            }
        })
    }

    fn for_each(&self, value: &Json, mut print: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let failed = |e: &dyn std::fmt::Display| {
            Error::invalid("jq", format!("the jq expression failed: {e}"))
        };
        let input = read::parse_single(value.compact().as_bytes()).map_err(|e| failed(&e))?;
        let pp = write::Pp {
            sort_keys: true,
            ..write::Pp::default()
        };
        let ctx = Ctx::<data::JustLut<Val>>::new(&self.0.lut, Vars::new([]));
        let mut written = 0_usize;
        for result in self.0.id.run((ctx, input)).map(unwrap_valr) {
            let line = match result.map_err(|e| failed(&e))? {
                Val::Null => Vec::new(),
                Val::TStr(bytes) | Val::BStr(bytes) => bytes.to_vec(),
                other => {
                    let mut json = CappedBuffer(Vec::new());
                    write::write(&mut json, &pp, 0, &integral_as_integer(other))
                        .map_err(io_error)?;
                    json.0
                }
            };
            written = written.saturating_add(line.len() + 1);
            if written > MAX_OUTPUT_BYTES {
                return Err(failed(&format!(
                    "it made more than {MAX_OUTPUT_BYTES} bytes"
                )));
            }
            print(&line)?;
        }
        Ok(())
    }
}

/// Converts an integral float to an integer, so that `10 / 2` prints `5`, as in jq and gh. jaq
/// prints `5.0`, which a shell does not accept as an integer.
fn integral_as_integer(value: Val) -> Val {
    match value {
        Val::Num(Num::Float(x)) => Val::Num(integral(x).unwrap_or(Num::Float(x))),
        Val::Num(Num::Dec(digits)) => {
            let short = digits.parse().ok().and_then(integral);
            Val::Num(short.unwrap_or(Num::Dec(digits)))
        }
        Val::Arr(items) => {
            let items: Vec<Val> = items.iter().cloned().map(integral_as_integer).collect();
            Val::Arr(items.into())
        }
        Val::Obj(members) => {
            let pairs = members.iter();
            let members: Map = pairs
                .map(|(k, v)| (k.clone(), integral_as_integer(v.clone())))
                .collect();
            Val::Obj(members.into())
        }
        other => other,
    }
}

fn integral(x: f64) -> Option<Num> {
    (x.fract() == 0.0 && x.abs() < MAX_EXACT_INTEGER).then_some(Num::Int(x as isize))
}

/// A buffer with a maximum size, so that a huge result cannot exhaust memory.
struct CappedBuffer(Vec<u8>);

impl Write for CappedBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_OUTPUT_BYTES {
            return Err(std::io::Error::other(
                "the jq expression made too much output",
            ));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn syntax_error(e: &load::Error<&str>) -> String {
    let (expected, found) = match e {
        load::Error::Io(errors) => {
            return errors
                .first()
                .map_or_else(String::new, |(path, e)| format!("{path}: {e}"));
        }
        load::Error::Lex(errors) => match errors.first() {
            Some((expected, found)) => (expected.as_str(), *found),
            None => return String::new(),
        },
        load::Error::Parse(errors) => match errors.first() {
            Some((expected, found)) => (expected.as_str(), *found),
            None => return String::new(),
        },
    };
    let found = if found.is_empty() {
        "the end".to_owned()
    } else {
        format!("'{found}'")
    };
    format!("expected {expected}, found {found}")
}

fn invalid_expression(expression: &str, why: Option<String>) -> Error {
    let why = why.unwrap_or_else(|| "syntax error".to_owned());
    Error::invalid("jq", format!("invalid jq expression '{expression}': {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(expression: &str) -> Result<Vec<String>> {
        let value = Json::Array(vec![
            Json::Object(vec![
                ("title", Json::text("b")),
                ("number", Json::Number(2)),
            ]),
            Json::Object(vec![
                ("title", Json::text("a")),
                ("number", Json::Number(1)),
            ]),
        ]);
        let mut lines = Vec::new();
        JqFilter::new(expression)?.for_each(&value, |line| {
            lines.push(String::from_utf8_lossy(line).into_owned());
            Ok(())
        })?;
        Ok(lines)
    }

    #[test]
    fn jq_results_print_as_in_gh() {
        assert_eq!(run(".[].title").unwrap(), ["b", "a"]);
        assert_eq!(run("map(.number) | add").unwrap(), ["3"]);
        assert_eq!(run(".[0]").unwrap(), [r#"{"number":2,"title":"b"}"#]);
        assert_eq!(run(".[0].nothing").unwrap(), [""]);
        assert_eq!(
            run("sort_by(.number)[0].title | test(\"^a\")").unwrap(),
            ["true"]
        );
    }

    #[test]
    fn integral_floats_print_as_integers() {
        assert_eq!(
            run("10 / 2, 7 / 2, 1.0, 1e3, -4 / 2").unwrap(),
            ["5", "3.5", "1", "1000", "-2"]
        );
        assert_eq!(run("map(.number) | add / length").unwrap(), ["1.5"]);
        assert_eq!(
            run("{a: (4 / 2), b: [6 / 3, 0.5]}").unwrap(),
            [r#"{"a":2,"b":[2,0.5]}"#]
        );
        assert_eq!(
            run("1e300, 123456789012345678901234567890").unwrap(),
            ["1e300", "123456789012345678901234567890"]
        );
        assert_eq!(
            run("[4 / 2, 2.5, 1] | @csv, @tsv").unwrap(),
            ["2,2.5,1", "2\t2.5\t1"]
        );
    }

    #[test]
    fn jq_formats_csv_and_tsv_rows() {
        let row = r#"["a\"b", 1, null, true, "t\tn\nr\rs\\"]"#;
        assert_eq!(
            run(&format!("{row} | @csv")).unwrap(),
            ["\"a\"\"b\",1,,true,\"t\tn\nr\rs\\\""]
        );
        assert_eq!(
            run(&format!("{row} | @tsv")).unwrap(),
            ["a\"b\t1\t\ttrue\tt\\tn\\nr\\rs\\\\"]
        );
        assert_eq!(
            run(".[] | [.number, .title] | @tsv").unwrap(),
            ["2\tb", "1\ta"]
        );
        assert_eq!(run("1 | toarray").unwrap(), ["[1]"]);
        let e = run("[[1]] | @tsv").unwrap_err();
        assert!(e.message().contains("not valid in a tsv row"), "{e}");
    }

    #[test]
    fn functions_missing_in_jaq_are_defined() {
        for (expression, wanted) in [
            ("[.[] | select(.title | IN(\"a\", \"c\")) | .number]", "[1]"),
            (".[0].title | IN(\"a\", \"c\")", "false"),
            ("IN(.[].number; 2, 9)", "true"),
            ("IN(.[].number; 8, 9)", "false"),
            ("INDEX(.number) | .\"1\".title", "a"),
            ("INDEX(.[]; .title) | keys", r#"["a","b"]"#),
            (
                "[[1, {\"a\": 2}] | tostream]",
                r#"[[[0],1],[[1,"a"],2],[[1,"a"]],[[1]]]"#,
            ),
            ("[.[0] | leaf_paths] | sort", r#"[["number"],["title"]]"#),
            ("\"axa\" | trimstr(\"a\")", "x"),
        ] {
            assert_eq!(run(expression).unwrap(), [wanted], "{expression}");
        }
    }

    #[test]
    fn invalid_expressions_are_refused_before_running() {
        for bad in [
            ".[",
            "map(",
            "nosuch",
            "$x",
            "env",
            "halt",
            "1 | halt_error",
            "input",
            "$ENV",
        ] {
            let e = run(bad).unwrap_err();
            assert!(e.message().contains("invalid jq expression"), "{bad}: {e}");
        }
    }

    #[test]
    fn failing_or_endless_expressions_are_refused() {
        assert!(
            run(".[0] | .title | keys")
                .unwrap_err()
                .message()
                .contains("failed")
        );
        let flood = run("[range(100000)] as $a | repeat($a)").unwrap_err();
        assert!(flood.message().contains("more than"), "{flood}");
    }
}
