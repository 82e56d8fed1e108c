use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use forge_testkit::workspace_root;
use serde_json::Value;

/// Output of `cargo metadata`.
pub struct Metadata {
    packages: BTreeMap<String, Package>,
    members: BTreeSet<String>,
}

/// A package in the output of `cargo metadata`.
pub struct Package {
    pub name: String,
    pub license: Option<String>,
    dependencies: Vec<Value>,
}

impl Metadata {
    pub fn read() -> Self {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let out = Command::new(cargo)
            .args(["metadata", "--format-version=1", "--locked"])
            .current_dir(workspace_root())
            .output()
            .expect("cargo metadata");
        assert!(
            out.status.success(),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
        let json: Value = serde_json::from_slice(&out.stdout).expect("JSON");
        let text = |value: &Value| value.as_str().expect("a string").to_owned();
        let list = |value: &Value| value.as_array().expect("an array").clone();
        let packages: BTreeMap<_, _> = list(&json["packages"])
            .into_iter()
            .map(|p| {
                let package = Package {
                    name: text(&p["name"]),
                    license: p["license"].as_str().map(str::to_owned),
                    dependencies: list(&p["dependencies"]),
                };
                (text(&p["id"]), package)
            })
            .collect();
        let members = list(&json["workspace_members"]).iter().map(text).collect();
        Self { packages, members }
    }

    /// Returns every package in the dependency tree, including ours.
    pub fn all(&self) -> impl Iterator<Item = &Package> {
        self.packages.values()
    }

    /// Returns our packages.
    pub fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages
            .iter()
            .filter(|(id, _)| self.members.contains(*id))
            .map(|(_, p)| p)
    }

    /// Returns our package with this name.
    pub fn member(&self, name: &str) -> &Package {
        self.members()
            .find(|p| p.name == name)
            .unwrap_or_else(|| panic!("no package {name}"))
    }
}

impl Package {
    /// Returns the names of a package's dependencies. `kind` is `None` for normal dependencies.
    pub fn dependencies(&self, kind: Option<&str>) -> BTreeSet<&str> {
        self.dependencies
            .iter()
            .filter(|d| d["kind"].as_str() == kind)
            .filter_map(|d| d["name"].as_str())
            .collect()
    }

    /// Returns the features that a package enables of a normal dependency, and true if the default
    /// features are on.
    pub fn features(&self, dependency: &str) -> (BTreeSet<&str>, bool) {
        let found = self
            .dependencies
            .iter()
            .find(|d| d["name"] == dependency && d["kind"].is_null())
            .unwrap_or_else(|| panic!("{} does not depend on {dependency}", self.name));
        let features = found["features"].as_array().expect("features");
        let named = features.iter().filter_map(Value::as_str).collect();
        (named, found["uses_default_features"] == true)
    }
}
