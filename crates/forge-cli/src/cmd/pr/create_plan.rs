//! `forge pr create --dry-run`: prints the pull request to create.

use std::fmt::Write as _;

use forge_core::{Error, ErrorKind, Repo, Result, model::CreatePull, text};

use crate::{ctx::Ctx, exit::Exit, ui::markdown};

/// Prints the planned pull request without creating it. Missing capabilities are errors, as in a
/// real run.
pub(super) async fn dry_run(ctx: &Ctx, repo: &Repo, req: &CreatePull) -> Result<Exit> {
    let mut policy = ctx.policy()?;
    policy.access = forge_core::Access::DryRun;
    let dry = ctx.forges()?.open(repo.id(), policy).await?;
    match dry.create_pull(req).await {
        Err(e) if matches!(e.kind(), ErrorKind::DryRun) => {}
        Err(e) => return Err(e),
        Ok(_) => {
            return Err(Error::new(
                ErrorKind::Internal,
                "a dry run has opened a pull request",
            ));
        }
    }
    ctx.ui.write(plan(ctx, req).as_bytes())?;
    Ok(Exit::Ok)
}

fn plan(ctx: &Ctx, req: &CreatePull) -> String {
    let tty = ctx.ui.is_tty();
    let c = ctx.ui.palette();
    let mut out = String::from("Would have created a Pull Request with:\n");
    let mut key = |plain: &str, title: &str, value: &str| {
        if tty {
            let _ = writeln!(out, "{}: {}", c.bold(title), text::one_line(value));
        } else {
            let _ = writeln!(out, "{plain}:\t{}", text::neutralise(value));
        }
    };
    key("title", "Title", &req.title);
    if let Some(below) = &req.depends_on {
        key("dependsOn", "DependsOn", &below.key.to_string());
    }
    key("draft", "Draft", &req.draft.to_string());
    // With `--depends-on`, the base branch is the head branch of the pull request that the flag
    // names, so it is not printed.
    if req.base.is_some() || req.depends_on.is_none() {
        key("base", "Base", req.base.as_deref().unwrap_or(""));
    }
    key("head", "Head", &req.head.to_string());
    for edit in &req.edits {
        match &edit.content {
            Some(content) => {
                let size = content.len();
                key("edit", "Edit", &format!("{} ({size} bytes)", edit.path));
            }
            None => key("delete", "Delete", &edit.path),
        }
    }
    let reviewers: Vec<String> = req
        .reviewers
        .iter()
        .map(|r| r.handle().to_owned())
        .collect();
    let milestone: Vec<String> = req.milestone.iter().cloned().collect();
    for (plain, title, values) in [
        ("labels", "Labels", &req.labels),
        ("reviewers", "Reviewers", &reviewers),
        ("assignees", "Assignees", &req.assignees),
        ("milestones", "Milestones", &milestone),
        ("projects", "Projects", &req.projects),
    ] {
        if !values.is_empty() {
            key(plain, title, &values.join(", "));
        }
    }
    key(
        "maintainerCanModify",
        "MaintainerCanModify",
        &req.maintainer_can_modify.to_string(),
    );
    if !tty {
        out.push_str("body:\n");
        if !req.description.is_empty() {
            let _ = writeln!(out, "{}", text::neutralise(&req.description));
        }
        return out;
    }
    let _ = writeln!(out, "{}", c.bold("Body:"));
    if req.description.trim().is_empty() {
        let _ = writeln!(out, "{}", c.gray("No description provided"));
    } else {
        out.push_str(&markdown::render(&req.description, ctx.ui.width(), c));
    }
    out
}
