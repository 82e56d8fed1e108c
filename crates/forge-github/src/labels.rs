//! Labels of a repository.

use async_trait::async_trait;
use forge_core::{
    Action, Cursor, Error, ErrorKind, Hint, Labels, Noun, Op, Outcome, Page, PageReq, Param,
    RepoId, Result,
    limits::{check_label_color, check_label_description, check_label_name},
    model::{Label, NewLabel},
    suggest,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    GitHub,
    gql::{
        GqlDocument,
        mutation::{CREATE_LABEL, DELETE_LABEL, UPDATE_LABEL},
        types::{self as wire, Nodes},
    },
    map,
    mutate::or_read_back,
    paged::MAX_PAGE_SIZE,
    repo_variables,
};

const SCHEME: &str = "github-labels";
/// The longest name of a label, in characters.
const MAX_NAME_LENGTH: usize = 50;
/// The colour that GitHub's page preselects for a label.
const COLOR: &str = "ededed";

#[derive(Deserialize)]
struct LabelsOf {
    repository: Option<RepoLabels>,
}

#[derive(Default, Deserialize)]
struct RepoLabels {
    #[serde(default)]
    id: String,
    #[serde(default)]
    labels: Option<Nodes<wire::Label>>,
    #[serde(default)]
    label: Option<wire::Label>,
}

#[derive(Deserialize)]
struct LabelPayload {
    label: Option<wire::Label>,
}

#[async_trait]
impl Labels for GitHub {
    async fn labels(&self, repo: &RepoId, page: PageReq) -> Result<Page<Label>> {
        let key = repo.comparison_key();
        let cursor = page.position(SCHEME, &key)?;
        let mut after = cursor.map(str::to_owned);
        let text = GqlDocument::query("Labels").text();
        let mut items = Vec::new();
        loop {
            let mut variables = repo_variables(repo)?;
            variables.insert(
                "first".into(),
                json!((page.limit - items.len()).min(MAX_PAGE_SIZE)),
            );
            variables.insert("after".into(), json!(after));
            let answer = self.api.query::<LabelsOf>(&text, &variables.into()).await?;
            let found = self
                .api
                .require_complete(answer)?
                .repository
                .unwrap_or_default();
            let nodes = found.labels.unwrap_or_default();
            let (next, total) = (
                nodes.next().filter(|n| Some(n) != after.as_ref()),
                nodes.total_count,
            );
            items.extend(nodes.into_vec().into_iter().map(map::label));
            after = next;
            if after.is_none() || items.len() >= page.limit {
                let next = after.map(|position| Cursor::new(SCHEME, &key, &position));
                let mut result = Page::new(items);
                result.next = next;
                result.total = total;
                return Ok(result);
            }
        }
    }

    async fn define_label(&self, repo: &RepoId, label: &NewLabel) -> Result<Outcome<Label>> {
        let label = &checked(label)?;
        let (repo_id, existing) = self.find_label(repo, &label.name).await?;
        let written = match &existing {
            Some(old) if !label.overwrite => {
                return Err(Error::new(
                    ErrorKind::AlreadyExists { existing: None },
                    format!("label '{}' exists in {repo}", old.name),
                )
                .with_hint(
                    Hint::new("change the existing label")
                        .with_action(Action::again(&[]).with(Param::Force, "true")),
                ));
            }
            Some(old) => {
                self.write_label(
                    UPDATE_LABEL,
                    input(label, json!({ "id": old.id }), Some(old)),
                )
                .await
            }
            None => {
                self.write_label(
                    CREATE_LABEL,
                    input(label, json!({ "repositoryId": repo_id }), None),
                )
                .await
            }
        };
        let (made, warning) = or_read_back(written, || async {
            let found = self.find_label(repo, &label.name).await?.1;
            Ok(found
                .filter(|l| has_values(l, label, existing.as_ref()))
                .map(map::label))
        })
        .await?;
        let mut outcome = Outcome::immediate(made);
        outcome.warnings.extend(warning);
        Ok(outcome)
    }

    async fn delete_label(&self, repo: &RepoId, name: &str) -> Result<Outcome<()>> {
        let Some(label) = self.find_label(repo, name).await?.1 else {
            let there = self.labels(repo, PageReq::first(MAX_PAGE_SIZE)).await;
            let there = there.map(|page| page.items).unwrap_or_default();
            let near = suggest::did_you_mean(name, there.iter().map(|l| l.name.as_str()));
            return Err(Error::not_found(
                Noun::Label,
                format!("there is no label '{name}' in {repo}"),
            )
            .with_hint(near.map_or_else(all_labels, Hint::from)));
        };
        let written = self
            .send_one::<Value>(DELETE_LABEL, json!({ "id": label.id }))
            .await
            .map(drop);
        let ((), warning) = or_read_back(written, || async {
            Ok(self.find_label(repo, name).await?.1.is_none().then_some(()))
        })
        .await?;
        let mut outcome = Outcome::immediate(());
        outcome.warnings.extend(warning);
        Ok(outcome)
    }
}

impl GitHub {
    /// Reads the repository's node id, and the label of that name, if the label exists.
    async fn find_label(&self, repo: &RepoId, name: &str) -> Result<(String, Option<wire::Label>)> {
        let mut variables = repo_variables(repo)?;
        variables.insert("label".into(), json!(name));
        let text = GqlDocument::query("Label").text();
        let answer = self.api.query::<LabelsOf>(&text, &variables.into()).await?;
        let found = self
            .api
            .require_complete(answer)?
            .repository
            .unwrap_or_default();
        Ok((found.id, found.label))
    }

    async fn write_label(
        &self,
        mutation: crate::gql::mutation::Mutation,
        input: Value,
    ) -> Result<Label> {
        let payload: LabelPayload = self.send_one(mutation, input).await?;
        Ok(map::label(payload.label.unwrap_or_default()))
    }
}

fn all_labels() -> Hint {
    Hint::new("look at the list of labels").with_action(Action::op(Op::LabelList))
}

fn checked(label: &NewLabel) -> Result<NewLabel> {
    let description = label.description.as_deref();
    let description = description.map(check_label_description).transpose()?;
    let mut checked = NewLabel::new(check_label_name(&label.name, MAX_NAME_LENGTH)?);
    checked.color = label.color.as_deref().map(check_label_color).transpose()?;
    checked.description = description.map(str::to_owned);
    checked.overwrite = label.overwrite;
    Ok(checked)
}

fn input(label: &NewLabel, mut input: Value, old: Option<&wire::Label>) -> Value {
    if let Value::Object(map) = &mut input {
        map.insert("name".into(), json!(label.name));
        match (&label.color, old) {
            (Some(color), _) => drop(map.insert("color".into(), json!(color))),
            (None, None) => drop(map.insert("color".into(), json!(COLOR))),
            (None, Some(_)) => {}
        }
        if let Some(description) = &label.description {
            map.insert("description".into(), json!(description));
        }
    }
    input
}

/// Returns whether `found` shows the wanted values. If the write renames the label, its name must
/// match as well.
fn has_values(found: &wire::Label, wanted: &NewLabel, old: Option<&wire::Label>) -> bool {
    let new = old.is_none_or(|o| o.name == wanted.name || found.name == wanted.name);
    new && wanted.color.as_ref().is_none_or(|c| *c == found.color)
        && wanted
            .description
            .as_deref()
            .is_none_or(|d| d == found.description.as_deref().unwrap_or(""))
}
