//! `forge pr diff`.

use forge_core::{
    Error, Locator, PageReq, Result, WebPage, locator,
    model::{DiffFormat, DiffReq, PrFields, Rounds},
    text,
};
use futures::StreamExt as _;

use crate::{
    args::pr::DiffArgs,
    cmd::Ctx,
    exit::Exit,
    select::{self, Selected, Unnamed},
    ui::{
        browser,
        diff::{Escapes, Options, Printer},
        glob,
    },
};

/// Runs it.
///
/// # Errors
/// When the diff cannot be read, or at a terminal escape that a pipe must not get.
pub async fn run(ctx: &Ctx, repo: Option<&str>, args: DiffArgs) -> Result<Exit> {
    let named = args.selector.as_deref();
    let rounds = rounds(ctx, &args)?;
    let mut selected = select::pull(ctx, repo, named, Unnamed::NotWithRepo, PrFields::NONE).await?;
    if args.web {
        let url = selected.view(PrFields::NONE).await?.url;
        let page = selected.repo.web_page(&WebPage::Files(&url)).unwrap_or(url);
        browser::open(&ctx.ui, ctx.config()?.browser().as_deref(), &page)?;
    } else if args.name_only {
        names(ctx, &selected, &args.exclude).await?;
    } else {
        stream(ctx, &selected, args, rounds).await?;
    }
    Ok(Exit::Ok)
}

/// Rows that are asked for at once; a forge that gives fewer has further pages.
const ROWS: usize = 10_000;

async fn names(ctx: &Ctx, selected: &Selected, exclude: &[String]) -> Result<()> {
    let mut request = PageReq::first(ROWS);
    loop {
        let page = selected.repo.files(&selected.id, request).await?;
        for file in &page.items {
            if !exclude.iter().any(|g| glob::matches(g, &file.path)) {
                ctx.ui.line(&quoted(&file.path))?;
            }
        }
        match page.next {
            Some(next) => request = PageReq::after(next, ROWS),
            None => return Ok(()),
        }
    }
}

/// A path as git prints it: quoted where it has a control character, a quote or a backslash, so
/// that each takes one line and none can move the cursor. Other characters stay readable.
fn quoted(path: &str) -> String {
    let plain = |c: char| !(c.is_control() || matches!(c, '"' | '\\'));
    if path.chars().all(plain) {
        return text::neutralise(path).into_owned();
    }
    let mut out = String::from("\"");
    for c in path.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    out.push_str(&format!("\\{byte:03o}"));
                }
            }
            c => out.push(c),
        }
    }
    out + "\""
}

/// The rounds that are asked for: by flags, or by an address that names one.
fn rounds(ctx: &Ctx, args: &DiffArgs) -> Result<Option<Rounds>> {
    let hosts = ctx.forges()?.hosts();
    let parsed = args
        .selector
        .as_deref()
        .map(|text| locator::parse(text, hosts));
    let addressed = match parsed {
        Some(Ok(parsed)) => match parsed.locator {
            Locator::Pull { round, .. } => round.and_then(|round| usize::try_from(round).ok()),
            _ => None,
        },
        _ => None,
    };
    if addressed.is_some() && (args.name_only || args.web) {
        return Err(Error::invalid(
            "round",
            "the address names a round, and `--name-only` and `--web` show the newest one",
        )
        .with_hint("name the pull request without its round"));
    }
    let round = args.round.or(addressed);
    Ok((round.is_some() || args.since.is_some()).then_some(Rounds {
        round,
        since: args.since,
    }))
}

async fn stream(
    ctx: &Ctx,
    selected: &Selected,
    args: DiffArgs,
    rounds: Option<Rounds>,
) -> Result<()> {
    let format = if args.patch {
        DiffFormat::Patch
    } else {
        DiffFormat::Diff
    };
    let diff = selected
        .repo
        .diff(
            &selected.id,
            &DiffReq {
                format,
                context_lines: None,
                rounds,
                clone: select::clone(ctx, &selected.repo).await,
            },
        )
        .await?;
    for warning in &diff.warnings {
        ctx.ui.warning(warning);
    }
    let escapes = if args.allow_escape_sequences {
        Escapes::Allow
    } else if ctx.ui.is_tty() {
        Escapes::Neutralise
    } else {
        Escapes::Refuse
    };
    let mut printer = Printer::new(Options {
        exclude: args.exclude,
        escapes,
        palette: ctx.ui.palette(),
        mails: args.patch,
    });
    let mut pager = ctx.ui.start_pager()?;
    let mut body = diff.body;
    let mut out = Vec::new();
    loop {
        out.clear();
        let next = body.next().await;
        let ended = next.is_none();
        let fed = match next {
            Some(Ok(chunk)) => printer.feed(&chunk, &mut out),
            Some(Err(e)) => Err(e),
            None => printer.finish(&mut out),
        };
        // What came before a failure is shown, and every chunk at once: the reader may be waiting
        // for the first line while git still works on the last.
        let wanted = match &mut pager {
            Some(pager) => pager.write(&out)?,
            None => {
                ctx.ui.write(&out)?;
                ctx.ui.flush()?;
                true
            }
        };
        fed?;
        if ended || !wanted {
            break;
        }
    }
    match pager {
        Some(pager) => pager.finish(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_paths_are_quoted() {
        assert_eq!(quoted("a b/ä.rs"), "a b/ä.rs");
        assert_eq!(quoted("a\n\"b\u{1b}"), "\"a\\n\\\"b\\033\"");
        assert_eq!(quoted("\u{9b}"), "\"\\302\\233\"");
    }
}
