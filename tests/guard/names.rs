use std::{collections::BTreeMap, path::Path};

use crate::sources::{files, read};

/// Returns true if a file has code of the product, not only of its tests.
fn is_product(name: &Path) -> bool {
    let parts: Vec<_> = name.iter().filter_map(|part| part.to_str()).collect();
    let ["crates", krate, "src", file @ ..] = parts.as_slice() else {
        return false;
    };
    !["forge-testkit", "xtask"].contains(krate)
        && !file.contains(&"tests")
        && name.extension().is_some_and(|e| e == "rs")
        && !name.ends_with("tests.rs")
}

/// Returns the name of the type that a line declares for other modules.
fn declared(line: &str) -> Option<&str> {
    let line = line
        .strip_prefix("pub ")
        .or_else(|| line.strip_prefix("pub(crate) "))?;
    let name = ["struct ", "enum ", "trait ", "type "]
        .iter()
        .find_map(|keyword| line.strip_prefix(keyword))?;
    name.split(|c: char| !c.is_alphanumeric()).next()
}

#[test]
fn product_type_names_are_unique() {
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in files().into_iter().filter(|name| is_product(name)) {
        let text = read(&name).unwrap_or_default();
        let code = text.split("\n#[cfg(test)]\nmod tests {").next();
        for found in code.unwrap_or_default().lines().filter_map(declared) {
            let places = types.entry(found.to_owned()).or_default();
            places.push(name.display().to_string());
        }
    }
    assert!(types.len() > 500, "only {} types were found", types.len());
    types.retain(|_, places| places.len() > 1);
    assert!(types.is_empty(), "rename one of the types: {types:#?}");
}
