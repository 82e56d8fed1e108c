//! `forge pr list` and `forge pr status` for several repositories, in one table.

use std::collections::{BTreeMap, BTreeSet};

use forge::{MINE, Places};
use forge_core::{
    Error, RepoId, Result, Warning,
    model::{PrFields, PullRequest},
    text,
};

use super::{
    list::{self, ListArgs},
    shared::repo_name,
    status::{self, RowOptions, StatusArgs},
};
use crate::{
    args::output::JsonArgs,
    ctx::Ctx,
    exit::Exit,
    ui::{
        json::{Json, PULL_FIELDS, Selection},
        table::{self, Cell, Column},
    },
};

/// Returns the repositories and owners that the flags name; `None` for a single repository.
pub(super) fn places(repos: &[String], owners: &[String]) -> Option<Places> {
    let several = repos.len() > 1 || repos.iter().any(|name| name == MINE);
    (several || !owners.is_empty()).then(|| {
        let mut places = Places::default();
        places.repos = repos.to_vec();
        places.owners = owners.to_vec();
        places
    })
}

/// Runs `forge pr list` for several repositories.
///
/// # Errors
///
/// Fails if nothing can be read. Partial failures are printed on stderr and change the exit code.
pub(super) async fn list(ctx: &Ctx, places: &Places, args: &ListArgs) -> Result<Exit> {
    let selection = fields(&args.json)?;
    if args.web {
        return Err(single_repository_flag("web", "--web"));
    }
    if !args.touches.is_empty() {
        return Err(single_repository_flag("touches", "--touches"));
    }
    let query = list::query(args, selection.as_ref());
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let forges = ctx.forges()?;
    let found = forges
        .list_across(places, &query, limit, &ctx.policy()?)
        .await?;
    let pulls: Vec<PullRequest> = found.lists.into_iter().flatten().collect();
    for warning in &found.warnings {
        ctx.ui.warning(warning);
    }
    let rows = pulls.iter();
    let rows = rows.map(|p| (p.id.to_string(), p.warnings.as_slice()));
    for warning in Warning::of_rows(rows, &found.warnings) {
        ctx.ui.warning(&warning);
    }
    // Only a table reports in its heading that the list is cut, so other output needs a warning.
    if found.is_cut && (selection.is_some() || !ctx.ui.is_tty()) {
        let why = "there are more pull requests than are shown";
        let hint = "raise the limit, or name fewer repositories";
        ctx.ui.warning(&Warning::new(why).with_hint(hint));
    }
    match selection {
        Some(selection) => selection.print(&ctx.ui, &to_objects(&selection, &pulls))?,
        None if ctx.ui.is_tty() => print_list(ctx, places, &pulls, found.is_cut)?,
        None => {
            for pull in &pulls {
                let repo = pull.id.repo.to_string();
                let line = format!("{}\t{}", text::one_line(&repo), list::row(pull));
                ctx.ui.line(&line)?;
            }
        }
    }
    Ok(exit(ctx, &found.failed))
}

/// Runs `forge pr status` for several repositories.
///
/// # Errors
/// The errors of [`list`].
pub(super) async fn status(ctx: &Ctx, places: &Places, args: &StatusArgs) -> Result<Exit> {
    let selection = fields(&args.json)?;
    let mut fields = selection
        .as_ref()
        .map_or(PrFields::CHECKS, Selection::sections);
    if args.conflict_status {
        fields |= PrFields::MERGEABILITY;
    }
    let forges = ctx.forges()?;
    let (found, failed) = forges.status_across(places, fields, &ctx.policy()?).await?;
    for warning in &found.warnings {
        ctx.ui.warning(warning);
    }
    status::print_row_warnings(ctx, &found);
    match selection {
        Some(selection) => {
            let value = Json::Object(vec![
                ("createdBy", to_objects(&selection, &found.created_by)),
                ("needsReview", to_objects(&selection, &found.needs_review)),
            ]);
            selection.print(&ctx.ui, &value)?;
        }
        None => {
            let pulls = found.created_by.iter().chain(&found.needs_review);
            let rows = RowOptions {
                conflicts: args.conflict_status,
                repos: true,
                hosts: !ctx.ui.is_tty() || !ambiguous_names(pulls).is_empty(),
                width: ctx.ui.is_tty().then(|| ctx.ui.width()),
            };
            let shown = status::render(ctx.ui.palette(), &names(places), &found, None, rows);
            ctx.ui.write(shown.as_bytes())?;
        }
    }
    Ok(exit(ctx, &failed))
}

/// Prints each repository or owner that could not be read, with the error. Returns the exit code.
fn exit(ctx: &Ctx, failed: &[(String, Error)]) -> Exit {
    for (name, error) in failed {
        let warning = Warning::new(format!("{name} is not shown: {}", error.message()));
        ctx.ui.warning(&match error.hint() {
            Some(hint) => warning.with_hint(hint),
            None => warning,
        });
    }
    match failed.is_empty() {
        true => Exit::Ok,
        false => Exit::Failure,
    }
}

fn single_repository_flag(field: &'static str, flag: &str) -> Error {
    Error::invalid(field, format!("{flag} works with one repository only"))
        .with_hint("name one repository with -R, without --owner")
}

fn names(places: &Places) -> String {
    let all: Vec<&str> = places
        .repos
        .iter()
        .chain(&places.owners)
        .map(String::as_str)
        .collect();
    all.join(", ")
}

/// Parses the selected fields. Removes `repository`, because every item has this member anyway.
fn fields(json: &JsonArgs) -> Result<Option<Selection<PullRequest, PrFields>>> {
    let mut json = json.clone();
    if let Some(names) = &mut json.json {
        let are_some = !names.is_empty();
        names.retain(|name| name != "repository");
        if are_some && names.is_empty() {
            names.push("number".to_owned());
        }
    }
    Selection::from_args(&json, PULL_FIELDS)
}

/// Returns the selected fields of each pull request, with its repository.
fn to_objects(selection: &Selection<PullRequest, PrFields>, pulls: &[PullRequest]) -> Json {
    let object = |pull: &PullRequest| {
        let mut members = match selection.object(pull) {
            Json::Object(members) => members,
            _ => Vec::new(),
        };
        members.push(("repository", repository(pull)));
        members.sort_by_key(|(name, _)| *name);
        Json::Object(members)
    };
    Json::Array(pulls.iter().map(object).collect())
}

/// Returns a pull request's repository in the form of `gh search prs --json repository`, and adds
/// the host.
fn repository(pull: &PullRequest) -> Json {
    let id = &pull.id.repo;
    let full = repo_name(id);
    let name = full.rsplit('/').next().unwrap_or_default().to_owned();
    Json::Object(vec![
        ("host", Json::text(&id.host)),
        ("name", Json::text(name)),
        ("nameWithOwner", Json::text(full)),
    ])
}

fn print_list(ctx: &Ctx, places: &Places, pulls: &[PullRequest], is_cut: bool) -> Result<()> {
    let names = text::one_line(&names(places)).into_owned();
    if pulls.is_empty() {
        ctx.ui.note(&format!("no pull requests found in {names}"));
        return Ok(());
    }
    let repository = Column {
        title: "REPOSITORY",
        shrinks: true,
    };
    let columns: Vec<Column> = std::iter::once(repository).chain(list::COLUMNS).collect();
    let ambiguous = ambiguous_names(pulls);
    let rows: Vec<Vec<Cell>> = pulls
        .iter()
        .map(|pull| {
            let mut repo = repo_name(&pull.id.repo);
            if ambiguous.contains(&repo) {
                repo = pull.id.repo.to_string();
            }
            let first = Cell::plain(text::one_line(&repo));
            std::iter::once(first)
                .chain(list::cells(ctx, pull))
                .collect()
        })
        .collect();
    let newest = if is_cut { "the newest " } else { "" };
    let noun = match pulls.len() {
        1 => "pull request",
        _ => "pull requests",
    };
    let heading = format!("Showing {newest}{} {noun} in {names}", pulls.len());
    let table = table::render(&columns, &rows, ctx.ui.width(), ctx.ui.palette());
    ctx.ui.page(&format!("\n{heading}\n\n{table}"))
}

/// Returns the repository names that occur on several hosts.
fn ambiguous_names<'a>(pulls: impl IntoIterator<Item = &'a PullRequest>) -> BTreeSet<String> {
    let mut known: BTreeMap<String, &RepoId> = BTreeMap::new();
    let mut ambiguous = BTreeSet::new();
    for pull in pulls {
        let name = repo_name(&pull.id.repo);
        let first = *known.entry(name.clone()).or_insert(&pull.id.repo);
        if *first != pull.id.repo {
            ambiguous.insert(name);
        }
    }
    ambiguous
}
