//! Reads optional fields of foreign JSON, in which `null` means that the field is missing.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// Reads a field of foreign JSON in which `null` means that the field is missing.
///
/// Servers and other clients write optional fields either way: a pull request of 2025 has
/// `"patchBlob": null` beside its `patch`.
pub(crate) trait OptionalField {
    /// Returns the value of the field; `None` if it is missing or `null`.
    fn field(&self, name: &str) -> Option<&Value>;
}

impl OptionalField for Value {
    fn field(&self, name: &str) -> Option<&Value> {
        self.as_object()?.field(name)
    }
}

impl OptionalField for Map<String, Value> {
    fn field(&self, name: &str) -> Option<&Value> {
        self.get(name).filter(|value| !value.is_null())
    }
}

/// Deserializes `null` as the default value, for a field that may be missing.
pub(crate) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
