//! `forge pr list`.

use clap::{Args, ValueEnum};
use forge_core::{
    Repo, Result, WebPage,
    model::{PrFields, PrState, PullQuery, PullRequest, StateFilter},
    text,
};

use super::shared::{head_label, names, non_empty, repo_name, state_word};
use crate::{
    args::output::JsonArgs,
    cmd::{
        Ctx,
        pages::{PagedItems, collect},
    },
    exit::Exit,
    ui::{
        browser,
        color::Palette,
        json::{PULL_FIELDS, Selection},
        table::{self, Cell, Column},
    },
};

/// `--state`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum StateArg {
    /// Open, including drafts.
    #[default]
    Open,
    /// Closed, merged or not.
    Closed,
    /// Merged.
    Merged,
    /// All.
    All,
}

/// `forge pr list`
#[derive(Args, Debug, Default)]
#[command(mut_arg("json", JsonArgs::of_gh))]
pub struct ListArgs {
    /// By the GitHub app that opened the pull request
    #[arg(long, value_name = "app", conflicts_with = "author")]
    pub app: Option<String>,
    /// By assignee
    #[arg(short, long, value_name = "login")]
    pub assignee: Option<String>,
    /// By author
    #[arg(short = 'A', long, value_name = "login")]
    pub author: Option<String>,
    /// By base branch
    #[arg(short = 'B', long, value_name = "branch")]
    pub base: Option<String>,
    /// Only drafts; with =false, only pull requests that are not drafts
    #[arg(short, long, value_name = "bool", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub draft: Option<bool>,
    /// By head branch
    #[arg(short = 'H', long, value_name = "branch")]
    pub head: Option<String>,
    /// By labels; a pull request must have all of them
    #[arg(short, long, value_name = "name", value_delimiter = ',')]
    pub label: Vec<String>,
    /// Maximum number of rows
    #[arg(short = 'L', long, value_name = "number", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
    /// All repositories of this owner (owner or host/owner); may be repeated
    #[arg(long, value_name = "owner")]
    pub owner: Vec<String>,
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
    pub state: StateArg,
    /// By changed file: a path, a directory or a glob; with several, any of them
    #[arg(long, value_name = "path", conflicts_with = "web")]
    pub touches: Vec<String>,
    /// Open the list in the browser
    #[arg(short, long, conflicts_with = "json")]
    pub web: bool,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Prints the list.
///
/// # Errors
///
/// Fails if the list cannot be read.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: &ListArgs) -> Result<Exit> {
    let selection = Selection::from_args(&args.json, PULL_FIELDS)?;
    let repo = ctx.repo(repo).await?;
    let query = query(args, selection.as_ref());
    if args.web {
        let url = match repo.web_page(&WebPage::Pulls(&query)) {
            Some(url) => url,
            None => repo.info().await?.url,
        };
        browser::open(&ctx.ui, ctx.config()?.browser().as_deref(), &url)?;
        return Ok(Exit::Ok);
    }
    let compared = std::cell::Cell::new(0);
    let found = collect(ctx, &repo, args.limit, async |request| {
        let limit = request.limit;
        let mut page = repo.pulls(&query, request).await?;
        compared.set(compared.get() + page.scanned.unwrap_or_default());
        if !query.touches.is_empty() && page.items.len() < limit {
            // With `--touches`, a page with fewer rows than requested means that the search reached
            // its limit. Therefore no further page is read.
            page.next = None;
        }
        Ok(page)
    })
    .await?;
    if !query.touches.is_empty() && compared.get() > 0 {
        let noun = match compared.get() {
            1 => "pull request",
            _ => "pull requests",
        };
        ctx.ui
            .note(&format!("compared the files of {} {noun}", compared.get()));
    }
    found.print_row_warnings(ctx, |p| (p.id.key.to_string(), p.warnings.as_slice()));
    if is_filtered(&query) || query.state != StateFilter::Open {
        found.print_scan_note(ctx, "pull requests");
    }
    match selection {
        Some(selection) => selection.print(&ctx.ui, &selection.array(&found.items))?,
        None if ctx.ui.is_tty() => print_list(ctx, &repo, &query, &found)?,
        None => {
            for pull in &found.items {
                ctx.ui.line(&row(pull))?;
            }
        }
    }
    Ok(Exit::Ok)
}

pub(super) fn query(
    args: &ListArgs,
    selection: Option<&Selection<PullRequest, PrFields>>,
) -> PullQuery {
    let mut query = PullQuery::default();
    query.state = match args.state {
        StateArg::Open => StateFilter::Open,
        StateArg::Closed => StateFilter::Closed,
        StateArg::Merged => StateFilter::Merged,
        StateArg::All => StateFilter::All,
    };
    query.author = non_empty(args.author.as_ref());
    query.app = non_empty(args.app.as_ref());
    query.assignee = non_empty(args.assignee.as_ref());
    query.labels = names(&args.label);
    query.base = non_empty(args.base.as_ref());
    query.head = non_empty(args.head.as_ref());
    query.draft = args.draft;
    query.search = non_empty(args.search.as_ref());
    query.touches = args.touches.clone();
    query.fields = selection.map_or(PrFields::ROW, Selection::sections_of_rows);
    query
}

/// Formats a row for a pipe: gh's columns, separated by tabs.
pub(super) fn row(p: &PullRequest) -> String {
    format!(
        "{}\t{}\t{}\t{}\t{}",
        p.id.key,
        text::one_line(&p.title),
        text::one_line(&head_label(p)),
        state_word(p),
        p.created_at
    )
}

fn is_filtered(q: &PullQuery) -> bool {
    q.author.is_some()
        || q.app.is_some()
        || q.assignee.is_some()
        || !q.labels.is_empty()
        || q.base.is_some()
        || q.head.is_some()
        || q.draft.is_some()
        || q.search.is_some()
        || !q.touches.is_empty()
}

fn print_list(
    ctx: &Ctx,
    repo: &Repo,
    query: &PullQuery,
    found: &PagedItems<PullRequest>,
) -> Result<()> {
    let name = repo_name(repo.id());
    let state = match query.state {
        StateFilter::Open => "open ",
        StateFilter::Closed => "closed ",
        StateFilter::Merged => "merged ",
        StateFilter::All => "",
    };
    let filtered = is_filtered(query);
    if found.items.is_empty() {
        ctx.ui.note(&if filtered {
            format!("no pull requests match your search in {name}")
        } else {
            format!("no {state}pull requests in {name}")
        });
        return Ok(());
    }
    let heading = found.heading(["pull request", "pull requests"], state, filtered, &name);
    let rows: Vec<Vec<Cell>> = found.items.iter().map(|p| cells(ctx, p)).collect();
    let table = table::render(&COLUMNS, &rows, ctx.ui.width(), ctx.ui.palette());
    ctx.ui
        .page(&format!("\n{}\n\n{table}", text::one_line(&heading)))
}

/// The columns of [`cells`].
pub(super) const COLUMNS: [Column; 4] = [
    Column {
        title: "ID",
        shrinks: false,
    },
    Column {
        title: "TITLE",
        shrinks: true,
    },
    Column {
        title: "BRANCH",
        shrinks: true,
    },
    Column {
        title: "CREATED AT",
        shrinks: false,
    },
];

/// Formats a row of the table.
pub(super) fn cells(ctx: &Ctx, p: &PullRequest) -> Vec<Cell> {
    let color: fn(Palette, &str) -> String = match p.state {
        PrState::Open if p.draft => Palette::gray,
        PrState::Open => Palette::green,
        PrState::Closed => Palette::red,
        PrState::Merged => Palette::magenta,
    };
    vec![
        Cell::painted(format!("#{}", p.id.key), color),
        Cell::plain(text::one_line(&p.title)),
        Cell::painted(text::one_line(&head_label(p)), Palette::cyan),
        Cell::painted(ctx.ui.ago(p.created_at), Palette::gray),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::pr::sample::pull;

    #[test]
    fn list_row_is_one_line_without_escapes() {
        let mut p = pull();
        p.title = "a \n\tb\u{1b}[2J".into();
        p.head_branch = "x\u{202e}".into();
        assert!(row(&p).starts_with("7\ta b␛[2J\tx<U+202E>\tOPEN"));
    }

    #[test]
    fn list_row_has_the_columns_of_gh() {
        let row_of = |state, draft| {
            let mut p = pull();
            p.state = state;
            p.draft = draft;
            row(&p)
        };
        assert_eq!(
            row_of(PrState::Open, false),
            "7\tGreet the reader\tpolite\tOPEN\t2026-11-20T10:00:00Z"
        );
        assert!(row_of(PrState::Open, true).contains("\tDRAFT\t"));
        assert!(row_of(PrState::Closed, true).contains("\tCLOSED\t"));
    }

    #[test]
    fn cross_repository_head_shows_the_owner() {
        let fork = forge_core::RepoId {
            kind: forge_core::ForgeKind::GITHUB,
            host: "github.com".into(),
            path: forge_core::RepoPath::Named {
                owner: "hubot".into(),
                name: "repo".into(),
            },
        };
        let mut p = pull();
        p.head_repo = Some(fork);
        assert_eq!(head_label(&p), "hubot:polite");
        p.head_repo = None;
        p.head_repo_is_unknown = true;
        assert_eq!(head_label(&p), ":polite");
    }
}
