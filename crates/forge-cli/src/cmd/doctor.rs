//! `forge doctor`: reports the configuration and checks how the forge's services answer.

use clap::Args;
use forge::{Forges, auth::AccountStatus};
use forge_core::{
    Access, Error, ErrorKind, Locator, Op, Page, PageReq, Repo, Result, Warning, locator,
    model::{
        Examined, ExaminedVerdict as Verdict, IssueQuery, PrFields, PullQuery, PullRequest,
        StateFilter,
    },
    text,
};

use crate::{
    args::{output::JsonArgs, single_repo},
    ctx::Ctx,
    exit::Exit,
    ui::{
        json::{Json, JsonField, Selection},
        table::{self, Cell, Column},
    },
};

/// `forge doctor`
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Use another repository: owner/repo, a URL, file:///…, a path or local:PATH
    #[arg(short = 'R', long, value_name = "repository")]
    pub repo: Vec<String>,
    /// Ask the services of the repository's forge, and compare their answers with what forge
    /// expects; only reads
    #[arg(long)]
    pub live: bool,
    /// Flags for JSON output.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// The report of `forge doctor`; no field holds a credential.
struct DoctorReport {
    git: String,
    config_files: Vec<String>,
    accounts: Vec<AccountStatus>,
    /// The repository's name, or the reason why no repository was found.
    repository: Result<String, String>,
    checks: Vec<Examined>,
}

const FIELDS: &[JsonField<DoctorReport>] = &[
    JsonField {
        name: "accounts",
        needs: (),
        get: |r| Json::list(&r.accounts, account),
    },
    JsonField {
        name: "checks",
        needs: (),
        get: |r| Json::list(&r.checks, check),
    },
    JsonField {
        name: "configFiles",
        needs: (),
        get: |r| Json::Array(r.config_files.iter().map(Json::text).collect()),
    },
    JsonField {
        name: "gitVersion",
        needs: (),
        get: |r| Json::text(&r.git),
    },
    JsonField {
        name: "repository",
        needs: (),
        get: |r| r.repository.as_ref().map_or(Json::Null, Json::text),
    },
    JsonField {
        name: "version",
        needs: (),
        get: |_| Json::text(env!("CARGO_PKG_VERSION")),
    },
];

const COLUMNS: &[Column] = &[
    Column {
        title: "VERDICT",
        shrinks: false,
    },
    Column {
        title: "ASKED",
        shrinks: true,
    },
    Column {
        title: "DETAIL",
        shrinks: true,
    },
];

/// Operations that exist on all forges; each sends a few requests.
const READS: &[Op] = &[
    Op::Viewer,
    Op::RepoView,
    Op::BranchList,
    Op::PrList,
    Op::PrView,
    Op::IssueList,
    Op::LabelList,
];

const SECTIONS: PrFields = PrFields::STATS
    .with(PrFields::COMMENTS)
    .with(PrFields::REVIEWS)
    .with(PrFields::THREADS)
    .with(PrFields::COMMITS)
    .with(PrFields::FILES)
    .with(PrFields::CHECKS)
    .with(PrFields::LINKED_ISSUES)
    .with(PrFields::AUTO_MERGE)
    .with(PrFields::RULES);

/// Prints the report. Exits with 1 if a service is unreachable, or answers differently than
/// expected.
///
/// # Errors
/// `config` for a broken configuration or account store; with `--live` or `-R`, also the errors of
/// opening the repository.
pub async fn run(ctx: &Ctx, args: &DoctorArgs) -> Result<Exit> {
    let selection = Selection::from_args(&args.json.or_all(FIELDS.iter().map(|f| f.name)), FIELDS)?;
    let forges = ctx.forges()?;
    let (repository, checks) = match open(ctx, forges, args).await {
        Ok(repo) => {
            let named = repo.id().to_string();
            (Ok(named), examine(&repo, args.live).await)
        }
        Err(e) if args.live || !args.repo.is_empty() => return Err(e),
        Err(e) => (Err(e.message().to_owned()), Vec::new()),
    };
    let is_sound = |check: &Examined| matches!(check.verdict, Verdict::Ok | Verdict::Skipped);
    let exit = match checks.iter().all(is_sound) {
        true => Exit::Ok,
        false => Exit::Failure,
    };
    let report = DoctorReport {
        git: git_version(ctx).await,
        config_files: config_files(forges),
        accounts: forges.accounts().status()?,
        repository,
        checks,
    };
    match selection {
        Some(selection) => selection.print(&ctx.ui, &selection.object(&report))?,
        None => print(ctx, &report)?,
    }
    Ok(exit)
}

/// Opens the repository as a handle that refuses to write.
async fn open(ctx: &Ctx, forges: &Forges, args: &DoctorArgs) -> Result<Repo> {
    let named = single_repo(&args.repo)?;
    if let (Some(text), false) = (named, args.live)
        && let Locator::Record(_) = locator::parse(text, forges.hosts())?.locator
    {
        let message = "the repository of a record can be found only by asking tangled's services";
        return Err(Error::invalid("repo", message).with_hint("pass `--live` to ask the services"));
    }
    let repo = ctx.repo(named).await?;
    let mut policy = repo.client().policy().clone();
    policy.access = Access::ReadOnly;
    Ok(repo.with_policy(policy))
}

async fn git_version(ctx: &Ctx) -> String {
    match ctx.git().run_ok(["version"]).await {
        Ok(printed) => String::from_utf8_lossy(&printed).trim().to_owned(),
        Err(e) => e.message().to_owned(),
    }
}

/// Returns the configuration files that exist.
fn config_files(forges: &Forges) -> Vec<String> {
    let config = forges.config();
    let files = [config.user_file(), config.repo_file()];
    let files = files.into_iter().flatten().filter(|path| path.is_file());
    files.map(|path| path.display().to_string()).collect()
}

/// Runs the operations that every forge has, then the checks that only this forge has.
async fn examine(repo: &Repo, live: bool) -> Vec<Examined> {
    let mut checks = match live {
        true => read(repo).await,
        false => READS
            .iter()
            .map(|op| Examined::not_asked(op.name()))
            .collect(),
    };
    match repo.examine(live).await {
        Ok(more) => checks.extend(more),
        Err(e) => checks.push(Examined::of_error(Op::Examine.name(), &e)),
    }
    checks
}

async fn read(repo: &Repo) -> Vec<Examined> {
    let page = || PageReq::first(1);
    let viewer = match repo.viewer().await {
        // Public repositories can be read without an account.
        Err(e) if matches!(e.kind(), ErrorKind::Unauthenticated { .. }) => {
            Examined::new(Op::Viewer.name(), Verdict::Skipped, e.message())
        }
        viewer => outcome(Op::Viewer, viewer.map(|_| Vec::new())),
    };
    let mut query = PullQuery::default();
    query.state = StateFilter::All;
    let pulls = repo.pulls(&query, page()).await;
    let newest = pulls.as_ref().ok().and_then(|page| page.items.first());
    let view = match newest {
        Some(pull) => {
            let view = repo.pull(&pull.id, SECTIONS).await;
            outcome(Op::PrView, view.map(view_warnings))
        }
        None => {
            let why = "there is no pull request to read";
            Examined::new(Op::PrView.name(), Verdict::Skipped, why)
        }
    };
    vec![
        viewer,
        outcome(Op::RepoView, repo.info().await.map(|info| info.warnings)),
        outcome(
            Op::BranchList,
            repo.branches(page()).await.map(page_warnings),
        ),
        outcome(Op::PrList, pulls.map(page_warnings)),
        view,
        outcome(
            Op::IssueList,
            repo.issues(&IssueQuery::default(), page())
                .await
                .map(page_warnings),
        ),
        outcome(Op::LabelList, repo.labels(page()).await.map(page_warnings)),
    ]
}

/// Returns the warnings of a view, without those about who set the state: a pull request that a
/// status record calls merged is read as expected.
fn view_warnings(mut pull: PullRequest) -> Vec<Warning> {
    pull.warnings.retain(|w| w.section != Some("state"));
    pull.warnings
}

fn page_warnings<T>(page: Page<T>) -> Vec<Warning> {
    page.warnings
}

/// Converts the result of an operation to a line of the report. A warning in the result means that
/// a part of the service's answer could not be read.
fn outcome(op: Op, result: Result<Vec<Warning>>) -> Examined {
    match result {
        Ok(warnings) if warnings.is_empty() => Examined::new(op.name(), Verdict::Ok, "answered"),
        Ok(warnings) => {
            let messages: Vec<&str> = warnings.iter().map(|w| w.message.as_str()).collect();
            Examined::new(op.name(), Verdict::Differs, &messages.join("; "))
        }
        Err(e) => Examined::of_error(op.name(), &e),
    }
}

fn print(ctx: &Ctx, report: &DoctorReport) -> Result<()> {
    let mut facts = vec![
        ("forge", env!("CARGO_PKG_VERSION").to_owned()),
        ("git", report.git.clone()),
    ];
    let files = report.config_files.iter();
    facts.extend(files.map(|path| ("config file", path.clone())));
    if report.accounts.is_empty() {
        let none = "none stored, and none in the environment; forge also uses a login of gh";
        facts.push(("account", none.to_owned()));
    }
    facts.extend(report.accounts.iter().map(|it| {
        let name = it.account.as_deref().unwrap_or("token");
        let used = if it.active { ", used" } else { "" };
        let shown = format!(
            "{name} at {} ({}{used}) from {}",
            it.host, it.kind, it.source
        );
        ("account", shown)
    }));
    let repository = match &report.repository {
        Ok(id) => id.clone(),
        Err(why) => format!("none: {why}"),
    };
    facts.push(("repository", repository));
    let (palette, is_tty) = (ctx.ui.palette(), ctx.ui.is_tty());
    for (key, value) in &facts {
        let value = text::one_line(value);
        let line = match is_tty {
            true => format!("{} {value}", palette.bold(&format!("{key}:"))),
            false => format!("{key}:\t{value}"),
        };
        ctx.ui.line(&line)?;
    }
    if !is_tty {
        for check in &report.checks {
            let verdict = check.verdict.word();
            let (name, detail) = (text::one_line(&check.name), &check.detail);
            ctx.ui.line(&format!("{verdict}\t{name}\t{detail}"))?;
        }
        return Ok(());
    }
    let rows: Vec<Vec<Cell>> = report.checks.iter().map(row).collect();
    ctx.ui
        .page(&table::render(COLUMNS, &rows, ctx.ui.width(), palette))
}

fn row(check: &Examined) -> Vec<Cell> {
    let word = check.verdict.word();
    let verdict = match check.verdict {
        Verdict::Ok => Cell::painted(word, |p, t| p.green(t)),
        Verdict::Differs | Verdict::Unreachable => Cell::painted(word, |p, t| p.red(t)),
        Verdict::Skipped => Cell::painted(word, |p, t| p.gray(t)),
    };
    vec![
        verdict,
        Cell::plain(check.name.as_str()),
        Cell::plain(check.detail.as_str()),
    ]
}

fn account(status: &AccountStatus) -> Json {
    Json::Object(vec![
        (
            "account",
            status.account.as_deref().map_or(Json::Null, Json::text),
        ),
        ("active", Json::Bool(status.active)),
        ("host", Json::text(&status.host)),
        ("kind", Json::text(status.kind.as_str())),
        ("source", Json::text(status.source.to_string())),
    ])
}

fn check(check: &Examined) -> Json {
    Json::Object(vec![
        ("detail", Json::text(&check.detail)),
        ("name", Json::text(&check.name)),
        ("verdict", Json::text(check.verdict.word())),
    ])
}
