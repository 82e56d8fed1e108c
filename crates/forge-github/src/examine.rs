//! Checks that a host's GraphQL schema and REST routes have the parts that this crate uses.

use std::collections::{BTreeMap, BTreeSet};

use forge_core::{
    Error, RepoId, Repos as _, Result, Timestamp,
    model::{Examined, ExaminedVerdict as Verdict},
};
use http::{HeaderMap, Method};
use percent_encoding::utf8_percent_encode;
use serde_json::{Value, json};

use crate::{
    GitHub,
    api::JSON,
    error::{self, ErrorContext},
    gql::{GqlDocument, field_paths},
    pulls::{SEGMENT, repo_route},
};

const SCHEMA: &str = "GraphQL schema";
const RULES: &str = "GET /repos/{owner}/{repo}/rules/branches/{branch}";
const PROTECTION: &str = "GET /repos/{owner}/{repo}/branches/{branch}/protection";
/// The introspection selection for one type. A field's type is nested at most three deep: `[X!]!`.
const FIELDS: &str = "fields(includeDeprecated: true) { name type { name ofType { name ofType { name ofType { name } } } } }";

/// The field names of a type, each with the field's type.
type TypeFields = BTreeMap<String, String>;

impl GitHub {
    /// See [`forge_core::Repos::examine`].
    pub(crate) async fn examine_host(&self, repo: &RepoId, live: bool) -> Vec<Examined> {
        if !live {
            return [SCHEMA, RULES, PROTECTION].map(Examined::not_asked).into();
        }
        let mut all = vec![self.examine_schema().await];
        let routes = async {
            let route = repo_route(repo)?;
            Ok::<_, Error>((route, self.repo(repo).await?.default_branch))
        };
        match routes.await {
            Ok((route, Some(branch))) => {
                let branch = utf8_percent_encode(&branch, SEGMENT);
                let rules = format!("{route}/rules/branches/{branch}?per_page=1");
                let are_rules: fn(&Value) -> bool = |answer| {
                    let is_rule = |it: &Value| it.get("type").is_some_and(Value::is_string);
                    answer.as_array().is_some_and(|all| all.iter().all(is_rule))
                };
                // Private repositories on a free plan have no rulesets, so GitHub answers 403.
                all.push(self.examine_route(RULES, &rules, &[403], are_rules).await);
                let protection = format!("{route}/branches/{branch}/protection");
                // Only administrators can read the protection, and most branches have none. The
                // answer is then 403 or 404.
                let refusals = [403, 404];
                all.push(
                    self.examine_route(PROTECTION, &protection, &refusals, Value::is_object)
                        .await,
                );
            }
            Ok((_, None)) => {
                let skipped =
                    |name: &str| Examined::new(name, Verdict::Skipped, "there is no branch");
                all.extend([RULES, PROTECTION].map(skipped));
            }
            Err(e) => all.extend([RULES, PROTECTION].map(|name| Examined::of_error(name, &e))),
        }
        all
    }

    async fn examine_schema(&self) -> Examined {
        match self.compare_schema().await {
            Ok((count, missing)) if missing.is_empty() => {
                let detail = format!("has the {count} fields that forge requests");
                Examined::new(SCHEMA, Verdict::Ok, &detail)
            }
            Ok((_, missing)) => {
                let missing = Vec::from_iter(missing).join(", ");
                Examined::new(SCHEMA, Verdict::Differs, &format!("lacks {missing}"))
            }
            Err(e) => Examined::of_error(SCHEMA, &e),
        }
    }

    /// Counts the schema fields that this crate uses, and collects the fields that the schema
    /// lacks. Each iteration reads the types of the fields that the iteration before has found.
    async fn compare_schema(&self) -> Result<(usize, BTreeSet<String>)> {
        let asked = field_paths();
        let mut types: BTreeMap<String, TypeFields> = BTreeMap::new();
        loop {
            let (mut missing, mut unknown) = (BTreeSet::new(), BTreeSet::new());
            for (on, path) in &asked {
                let mut of = on;
                for field in path {
                    let Some(fields) = types.get(of) else {
                        unknown.insert(of.clone());
                        break;
                    };
                    let Some(leads_to) = fields.get(field) else {
                        missing.insert(format!("{of}.{field}"));
                        break;
                    };
                    of = leads_to;
                }
            }
            if unknown.is_empty() {
                return Ok((asked.len(), missing));
            }
            types.extend(self.fields_of_types(unknown).await?);
        }
    }

    /// Reads the fields of types by introspection. A type that the schema lacks gets no fields.
    async fn fields_of_types(
        &self,
        names: BTreeSet<String>,
    ) -> Result<BTreeMap<String, TypeFields>> {
        let types = names.iter().enumerate().map(|(at, name)| {
            let name = json!(name);
            format!("t{at}: __type(name: {name}) {{ name {FIELDS} }}")
        });
        let selection = types.collect::<Vec<_>>().join(" ");
        let document = GqlDocument::generated("query Introspection", &selection);
        let variables = json!({});
        let answer = self
            .api
            .query::<Value>(&document.text(), &variables)
            .await?;
        let data = self.api.require_complete(answer)?;
        let found = names.into_iter().enumerate().map(|(at, name)| {
            let found = data.get(format!("t{at}"));
            let fields = found.and_then(|it| it.get("fields")?.as_array());
            let fields = fields.into_iter().flatten().filter_map(|field| {
                let name = field.get("name")?.as_str()?.to_owned();
                Some((name, inner_name(field.get("type")?).to_owned()))
            });
            (name, fields.collect::<TypeFields>())
        });
        Ok(found.collect())
    }

    /// Sends a GET request to a REST route and checks the answer. Besides a success, a status in
    /// `refusals` counts as normal, because the account may lack the permission.
    async fn examine_route(
        &self,
        name: &str,
        path: &str,
        refusals: &[u16],
        fits: fn(&Value) -> bool,
    ) -> Examined {
        let (status, headers, bytes) = match self.api.rest(Method::GET, path, JSON, None).await {
            Ok(answer) => answer,
            Err(e) => return Examined::of_error(name, &e),
        };
        let about = self.api.error_context(false);
        let mut shown = format!("HTTP {}{}", status.as_u16(), deprecation(about, &headers));
        if let Some(end) = error::soon_expired(&headers, &Timestamp::now()) {
            shown.push_str(&format!("; the token expires at {end}"));
        }
        if status.is_success() {
            let answer: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            return match fits(&answer) {
                true => Examined::new(name, Verdict::Ok, &shown),
                false => Examined::new(
                    name,
                    Verdict::Differs,
                    &format!("{shown}: the fields have unexpected types"),
                ),
            };
        }
        let e = error::from_http(self.api.error_context(false), status, &headers, &bytes);
        // GitHub can report a rate limit with the same status as a missing permission.
        let is_limited = Verdict::of_error(&e) == Verdict::Unreachable;
        match refusals.contains(&status.as_u16()) && !is_limited {
            true => Examined::new(name, Verdict::Ok, &shown),
            false => Examined::of_error(name, &e),
        }
    }
}

/// Returns what the headers `Deprecation` (RFC 9745) and `Sunset` (RFC 8594) of an answer tell: the
/// version of the API is deprecated, and when it ends.
fn deprecation(about: ErrorContext<'_>, headers: &HeaderMap) -> String {
    let text_of = |name: &str| {
        let text = headers.get(name).and_then(|value| value.to_str().ok())?;
        Some(about.sanitize(text))
    };
    let since = text_of("deprecation").map(|since| format!("Deprecation: {since}"));
    let end = text_of("sunset").map(|end| format!("Sunset: {end}"));
    let told: Vec<String> = [since, end].into_iter().flatten().collect();
    if told.is_empty() {
        String::new()
    } else {
        format!(
            "; the host deprecates this version of its API ({})",
            told.join("; ")
        )
    }
}

/// Returns the name of the innermost type, inside lists and non-null wrappers.
fn inner_name(of: &Value) -> &str {
    match of.get("name").and_then(Value::as_str) {
        Some(name) => name,
        None => of.get("ofType").map_or("", inner_name),
    }
}
