//! Validates data against the part of JSON Schema that our tools use.

use serde_json::{Value, json};

/// Checks `value` against `schema`, and reports the first mismatch. A property that the schema does
/// not declare is a mismatch, because clients cannot know it.
pub fn check(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Some(words) = schema.as_object() else {
        return match schema {
            Value::Bool(true) => Ok(()),
            _ => Err(format!("{at}: nothing fits {schema}")),
        };
    };
    if let Some(rule) = words.get("type").filter(|rule| !has_type(rule, value)) {
        return Err(format!("{at}: {value} is no {rule}"));
    }
    for (word, rule) in words {
        match word.as_str() {
            "enum" if !rule.as_array().unwrap().contains(value) => {
                return Err(format!("{at}: {value} is none of {rule}"));
            }
            "required" => {
                let names = rule.as_array().unwrap().iter().map(|n| n.as_str().unwrap());
                for name in names {
                    if value.get(name).is_none() {
                        return Err(format!("{at}: {name} is not there"));
                    }
                }
            }
            "properties" => {
                for (name, of) in value.as_object().into_iter().flatten() {
                    let at = format!("{at}.{name}");
                    match (rule.get(name), words.get("additionalProperties")) {
                        (Some(rule), _) | (None, Some(rule)) => check(rule, of, &at)?,
                        (None, None) => return Err(format!("{at}: not in the schema")),
                    }
                }
            }
            "items" => {
                for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(rule, item, &format!("{at}[{n}]"))?;
                }
            }
            "additionalProperties" if !words.contains_key("properties") => {
                for (name, of) in value.as_object().into_iter().flatten() {
                    check(rule, of, &format!("{at}.{name}"))?;
                }
            }
            "anyOf" => {
                let any = rule.as_array().unwrap();
                if any.iter().all(|one| check(one, value, at).is_err()) {
                    return Err(format!("{at}: {value} is none of {rule}"));
                }
            }
            "type" | "enum" | "additionalProperties" | "description" | "default" => {}
            other => return Err(format!("{at}: this does not know '{other}'")),
        }
    }
    Ok(())
}

fn has_type(name: &Value, value: &Value) -> bool {
    match name.as_str().expect("one type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("a type '{other}'"),
    }
}

#[test]
fn schema_mismatches_are_detected() {
    let schema = json!({
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": "string"},
            "state": {"type": "string", "enum": ["open", "closed"]},
            "rows": {"type": "array", "items": {
                "type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}
            }},
            "any": {"anyOf": [{"type": "string"}, {"type": "boolean"}]},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}}
        }
    });
    let fits =
        json!({"id": "1", "state": "open", "rows": [{"n": 1}], "any": true, "map": {"a": 1}});
    assert_eq!(check(&schema, &fits, ""), Ok(()));
    for (value, says) in [
        (json!([]), "is no \"object\""),
        (json!({}), "id is not there"),
        (json!({"id": null}), ".id: null"),
        (json!({"id": "1", "state": "merged"}), ".state"),
        (json!({"id": "1", "rows": [{"n": 1}, {}]}), ".rows[1]: n"),
        (json!({"id": "1", "rows": [{"n": 1.5}]}), ".rows[0].n"),
        (json!({"id": "1", "any": 1}), ".any"),
        (json!({"id": "1", "map": {"a": "b"}}), ".map.a"),
        (json!({"id": "1", "more": 1}), ".more: not in"),
    ] {
        let why = check(&schema, &value, "").unwrap_err();
        assert!(why.contains(says), "{value}: {why}");
    }
    assert!(check(&json!({"pattern": "x"}), &json!("x"), "").is_err());
}
