//! The comparison functions: `eq`, `lt` and so on.
//!
//! In Go, JSON numbers are floats, so templates for gh contain `{{if gt .additions 100.0}}`. In
//! forge, these numbers are integers; templates may use both notations.

use std::cmp::Ordering;

use gotmpl::{Template, TemplateError, Value};

type CompareResult<T> = std::result::Result<T, TemplateError>;

pub(super) fn add(template: Template) -> Template {
    template
        .func("eq", |args| match args {
            [left, others @ ..] if !others.is_empty() => {
                for right in others {
                    if equal(left, right)? {
                        return Ok(Value::Bool(true));
                    }
                }
                Ok(Value::Bool(false))
            }
            _ => Err(wrong("eq")),
        })
        .func("ne", |args| match args {
            [left, right] => Ok(Value::Bool(!equal(left, right)?)),
            _ => Err(wrong("ne")),
        })
        .func("lt", |args| ordered("lt", args, Ordering::is_lt))
        .func("le", |args| ordered("le", args, Ordering::is_le))
        .func("gt", |args| ordered("gt", args, Ordering::is_gt))
        .func("ge", |args| ordered("ge", args, Ordering::is_ge))
}

fn ordered(function: &str, args: &[Value], wanted: fn(Ordering) -> bool) -> CompareResult<Value> {
    match args {
        [left, right] => Ok(Value::Bool(wanted(order(left, right)?))),
        _ => Err(wrong(function)),
    }
}

fn equal(left: &Value, right: &Value) -> CompareResult<bool> {
    match (left, right) {
        (Value::Nil, Value::Nil) => Ok(true),
        (Value::Nil, _) | (_, Value::Nil) => Ok(false),
        (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
        _ => Ok(order(left, right)?.is_eq()),
    }
}

fn order(left: &Value, right: &Value) -> CompareResult<Ordering> {
    let found = match (left, right) {
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => match (number(left), number(right)) {
            (Some(a), Some(b)) => a.partial_cmp(&b),
            _ => None,
        },
    };
    found.ok_or_else(|| {
        TemplateError::Exec(format!(
            "incompatible types for comparison: {left} and {right}"
        ))
    })
}

/// Converts a number to a float, exact up to 2^53 as in Go.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(n) => Some(*n as f64),
        Value::Uint(n) => Some(*n as f64),
        Value::Float(n) => Some(*n),
        _ => None,
    }
}

fn wrong(function: &str) -> TemplateError {
    TemplateError::Exec(format!("{function} compares two values"))
}
