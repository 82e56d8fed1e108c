//! `forge issue list`.

use clap::{Args, ValueEnum};
use forge_core::{
    Error, Repo, Result, WebPage,
    model::{Issue, IssueFilter, IssueQuery, IssueState},
    text,
};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::shared::{label_names, selected_sections, state_word, with_values};
use crate::{
    args::output::JsonArgs,
    cmd::{
        Ctx,
        pages::{PagedItems, collect},
        pr::shared::{names, non_empty, repo_name},
    },
    exit::Exit,
    ui::{
        browser,
        color::Palette,
        json::{ISSUE_FIELDS, Selection},
        table::{self, Cell, Column},
    },
};

/// `--state`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum IssueStateArg {
    /// Open.
    #[default]
    Open,
    /// Closed.
    Closed,
    /// All.
    All,
}

/// `forge issue list`
#[derive(Args, Debug, Default)]
#[command(mut_arg("json", JsonArgs::of_gh))]
pub struct IssueListArgs {
    /// By the GitHub app that opened the issue
    #[arg(long, value_name = "app")]
    pub app: Option<String>,
    /// By assignee
    #[arg(short, long, value_name = "login")]
    pub assignee: Option<String>,
    /// By author
    #[arg(short = 'A', long, value_name = "login")]
    pub author: Option<String>,
    /// By labels; an issue must have all of them
    #[arg(short, long, value_name = "name", value_delimiter = ',')]
    pub label: Vec<String>,
    /// Maximum number of rows
    #[arg(short = 'L', long, value_name = "number", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// By mentioned login
    #[arg(long, value_name = "login")]
    pub mention: Option<String>,
    /// By milestone
    #[arg(short, long, value_name = "title")]
    pub milestone: Option<String>,
    /// Words and qualifiers in GitHub's search syntax
    #[arg(short = 'S', long, value_name = "query")]
    pub search: Option<String>,
    /// By state
    #[arg(
        short,
        long,
        value_name = "state",
        value_enum,
        ignore_case = true,
        default_value_t
    )]
    pub state: IssueStateArg,
    /// By type
    #[arg(long = "type", value_name = "name")]
    pub issue_type: Option<String>,
    /// Open the list in the browser
    #[arg(short, long, conflicts_with = "json")]
    pub web: bool,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// The value of `Warning::section` in a warning about labels.
const LABELS: &str = "labels";

const COLUMNS: [Column; 4] = [
    Column {
        title: "ID",
        shrinks: false,
    },
    Column {
        title: "TITLE",
        shrinks: true,
    },
    Column {
        title: "LABELS",
        shrinks: true,
    },
    Column {
        title: "UPDATED",
        shrinks: false,
    },
];

/// Prints the list.
///
/// # Errors
///
/// Fails if the list cannot be read.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &IssueListArgs) -> Result<Exit> {
    let selection = Selection::from_args(&args.json, ISSUE_FIELDS)?;
    let repo = ctx.repo(repo).await?;
    let mut query = IssueQuery::default();
    query.state = match args.state {
        IssueStateArg::Open => IssueFilter::Open,
        IssueStateArg::Closed => IssueFilter::Closed,
        IssueStateArg::All => IssueFilter::All,
    };
    query.author = non_empty(args.author.as_ref());
    query.assignee = non_empty(args.assignee.as_ref());
    query.labels = names(&args.label);
    query.search = non_empty(args.search.as_ref());
    query.mention = non_empty(args.mention.as_ref());
    query.milestone = non_empty(args.milestone.as_ref());
    query.issue_type = non_empty(args.issue_type.as_ref());
    query.app = non_empty(args.app.as_ref());
    if args.web {
        let url = match repo.web_page(&WebPage::Issues(&query)) {
            Some(url) => url,
            None => repo.info().await?.url,
        };
        browser::open(&ctx.ui, ctx.config()?.browser().as_deref(), &url)?;
        return Ok(Exit::Ok);
    }
    if let Some(selection) = &selection {
        query.fields = selected_sections(ctx, &repo, selection)?;
    }
    let mut found = collect(ctx, &repo, args.limit, async |page| {
        repo.issues(&query, page).await
    })
    .await?;
    if let Some(selection) = &selection {
        let fields = &query.fields;
        let more = selection.shows_more_than_rows();
        let repo = &repo;
        let at_once = repo.concurrency().get();
        let views = std::mem::take(&mut found.items).into_iter();
        let views = views.map(|mut issue| async move {
            // A warning about labels marks a row whose labels could not be read. Such a row is read
            // again.
            let lacks = issue.warnings.iter().any(|w| w.section == Some(LABELS));
            let comments = fields.comments && issue.comments.is_none();
            let relations = fields.relations && issue.relations.is_none();
            if comments || relations || more && lacks {
                issue = repo.issue(&issue.id, fields).await?;
            }
            issue.warnings.retain(|w| more || w.section != Some(LABELS));
            Ok::<_, Error>(issue)
        });
        found.items = stream::iter(views).buffered(at_once).try_collect().await?;
    }
    found.print_row_warnings(ctx, |i| (i.id.key.to_string(), i.warnings.as_slice()));
    if is_filtered(&query) || query.state != IssueFilter::Open {
        found.print_scan_note(ctx, "issues");
    }
    match selection {
        Some(selection) => {
            let items = with_values(ctx, &repo, found.items, &selection).await?;
            selection.print(&ctx.ui, &selection.array(&items))?;
        }
        None if ctx.ui.is_tty() => print_list(ctx, &repo, &query, &found)?,
        None => {
            for issue in &found.items {
                ctx.ui.line(&row(issue))?;
            }
        }
    }
    Ok(Exit::Ok)
}

/// Formats a row for a pipe: gh's columns, separated by tabs.
fn row(issue: &Issue) -> String {
    format!(
        "{}\t{}\t{}\t{}\t{}",
        issue.id.key,
        state_word(issue.state),
        text::one_line(&issue.title),
        text::one_line(&label_names(issue).join(", ")),
        issue.updated_at
    )
}

fn is_filtered(q: &IssueQuery) -> bool {
    q.author.is_some() || q.assignee.is_some() || !q.labels.is_empty() || q.searches()
}

fn print_list(ctx: &Ctx, repo: &Repo, query: &IssueQuery, found: &PagedItems<Issue>) -> Result<()> {
    let name = repo_name(repo.id());
    let state = match query.state {
        IssueFilter::Open => "open ",
        IssueFilter::Closed => "closed ",
        IssueFilter::All => "",
    };
    let filtered = is_filtered(query);
    if found.items.is_empty() {
        ctx.ui.note(&if filtered {
            format!("no issues match your search in {name}")
        } else {
            format!("no {state}issues in {name}")
        });
        return Ok(());
    }
    let heading = found.heading(["issue", "issues"], state, filtered, &name);
    let rows: Vec<Vec<Cell>> = found.items.iter().map(|i| cells(ctx, i)).collect();
    let table = table::render(&COLUMNS, &rows, ctx.ui.width(), ctx.ui.palette());
    ctx.ui
        .page(&format!("\n{}\n\n{table}", text::one_line(&heading)))
}

fn cells(ctx: &Ctx, issue: &Issue) -> Vec<Cell> {
    let color: fn(Palette, &str) -> String = match issue.state {
        IssueState::Open => Palette::green,
        IssueState::Closed => Palette::magenta,
    };
    vec![
        Cell::painted(format!("#{}", issue.id.key), color),
        Cell::plain(text::one_line(&issue.title)),
        Cell::plain(text::one_line(&label_names(issue).join(", "))),
        Cell::painted(ctx.ui.ago(issue.updated_at), Palette::gray),
    ]
}
