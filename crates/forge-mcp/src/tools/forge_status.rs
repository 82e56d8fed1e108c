use forge_core::{
    Action, Capability, Error, ErrorKind, Hint, IndexLimit, Param, Support, Warning,
    model::{Permission, RepoInfo},
};
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};

use crate::{
    calls::{Advice, CallContext, HintContext, Tool, ToolEffect, ToolError, ToolOutput, ToolSpec},
    content::{Clean, MAX_MESSAGE_CHARS, name, name_of},
    output::serde_name,
};

pub(super) struct ForgeStatus;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ForgeStatusInput {
    /// Also report what its forge can do
    repo: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ForgeStatusOut {
    version: String,
    /// Whether write tools are offered
    write: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    allow_repo: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allow_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allow_write: Option<String>,
    forges: Vec<String>,
    accounts: Vec<Account>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<RepositoryOut>,
    /// What is needed to do more
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<Clean>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Account {
    host: String,
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    active: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RepositoryOut {
    repo: Clean,
    #[serde(skip_serializing_if = "Option::is_none")]
    viewer: Option<Clean>,
    permission: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_branch: Option<Clean>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<Clean>,
    merge_methods: Vec<String>,
    can: Vec<String>,
    cannot: Vec<UnsupportedOut>,
    /// Records that the index may not show to others
    #[serde(skip_serializing_if = "Vec::is_empty")]
    index_limits: Vec<IndexLimitOut>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct IndexLimitOut {
    collection: String,
    /// not_ingested, no_longer_ingested or unknown
    support: String,
    effect: String,
    instead: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct UnsupportedOut {
    capability: String,
    why: String,
    instead: String,
}

/// Capabilities that no tool of this server uses.
const WITHOUT_TOOL: [Capability; 15] = [
    Capability::PrListApp,
    Capability::PrMilestone,
    Capability::PrProjects,
    Capability::PrLock,
    Capability::PrRevert,
    Capability::MergeAdmin,
    Capability::PrPatch,
    Capability::Attachments,
    Capability::IssueDuplicateOf,
    Capability::IssueDelete,
    Capability::IssueMilestone,
    Capability::IssueTypes,
    Capability::IssueProjects,
    Capability::LabelEdit,
    Capability::RepoFork,
];

impl Tool for ForgeStatus {
    const SPEC: ToolSpec = ToolSpec {
        name: "forge_status",
        title: "Show accounts and what is possible",
        description: "Accounts by host, what this server may do, and for a repository what its \
                      forge can and cannot do, and why. Changes nothing, shows no token.",
        effect: ToolEffect::Read,
    };
    type Args = ForgeStatusInput;
    type Out = ForgeStatusOut;

    fn is_local(args: &ForgeStatusInput) -> bool {
        args.repo.is_none()
    }

    async fn run(
        call: &CallContext,
        args: ForgeStatusInput,
    ) -> Result<ToolOutput<ForgeStatusOut>, ToolError> {
        let server = &call.server;
        let options = server.options();
        let accounts = server.forges().accounts().status()?;
        let accounts: Vec<Account> = accounts
            .into_iter()
            .map(|a| Account {
                host: a.host,
                kind: a.kind.as_str().to_owned(),
                account: a.account,
                active: a.active,
            })
            .collect();
        let list = |list: &crate::safety::AllowList| (!list.is_empty()).then(|| list.to_string());
        let mut missing = Vec::new();
        if !options.write {
            missing.push("a server with write access: start it with --write".to_owned());
        }
        let repository = match &args.repo {
            Some(named) => match repository(call, named, &mut missing).await {
                Ok(repository) => Some(repository),
                // Some forges refuse requests from anonymous users.
                Err(e) if is_login(&e) => {
                    missing.push(login(call, &e));
                    None
                }
                Err(e) => return Err(e.into()),
            },
            None => None,
        };
        let out = ForgeStatusOut {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            write: options.write,
            allow_repo: list(&options.repos),
            allow_path: list(&options.paths),
            allow_write: list(&options.writable),
            forges: forge::backends()
                .iter()
                .map(|b| b.kind().as_str().to_owned())
                .collect(),
            accounts,
            repository,
            missing: missing.iter().map(|m| call.cleaner.line(m)).collect(),
        };
        Ok(ToolOutput {
            text: text(&out),
            data: out,
        })
    }
}

async fn repository(
    call: &CallContext,
    named: &str,
    missing: &mut Vec<String>,
) -> Result<RepositoryOut, Error> {
    let repo = call.repo(Some(named)).await?;
    let info = repo.info().await?;
    // A missing capability concerns other tools. Its hint is therefore rendered without this tool's
    // name, so that it does not suggest to repeat this call.
    let elsewhere = HintContext {
        tool: String::new(),
        ..call.about()
    };
    let (mut can, mut cannot) = (Vec::new(), Vec::new());
    for capability in Capability::ALL {
        let narrowed = info
            .overrides
            .iter()
            .find(|(c, _)| c == capability)
            .map(|(_, s)| *s);
        match narrowed.unwrap_or_else(|| repo.support(*capability)) {
            Support::No { why, instead } => cannot.push(UnsupportedOut {
                capability: capability.name().to_owned(),
                why: why.to_owned(),
                instead: Advice::of(instead, &elsewhere, &call.cleaner, MAX_MESSAGE_CHARS)
                    .to_string(),
            }),
            _ if WITHOUT_TOOL.contains(capability) => {}
            _ => can.push(capability.name().to_owned()),
        }
    }
    let viewer = repo.viewer().await;
    if call.server.options().write
        && let Err(e) = call.server.may_change(&repo).await
    {
        let needed = "permission of this server to change the repository";
        missing.push(format!("{needed}: {}", e.message()));
    }
    match &viewer {
        Ok(_) => missing.extend(rights(call, &info)),
        Err(e) if is_login(e) => missing.push(login(call, e)),
        Err(e) => missing.push(format!("your identity: {}", e.message())),
    }
    missing.extend(info.warnings.iter().map(|w| format_doubt(call, w)));
    // Without credentials there is no account whose name could be shown.
    let viewer = viewer.ok().map(|v| call.cleaner.line(&v.login));
    Ok(RepositoryOut {
        repo: call.cleaner.line(&info.id.to_string()),
        viewer,
        permission: serde_name(&info.permission),
        default_branch: info.default_branch.as_ref().map(|b| call.cleaner.line(b)),
        description: info.description.as_ref().map(|d| call.cleaner.line(d)),
        merge_methods: info
            .merge_methods
            .iter()
            .map(|m| m.as_str().to_owned())
            .collect(),
        can,
        cannot,
        index_limits: repo.index_limits().await?.iter().map(limit_out).collect(),
    })
}

fn limit_out(limit: &IndexLimit) -> IndexLimitOut {
    IndexLimitOut {
        collection: limit.collection.clone(),
        support: limit.support.word().to_owned(),
        effect: limit.effect(),
        instead: limit.instead.clone(),
    }
}

fn is_login(e: &Error) -> bool {
    matches!(e.kind(), ErrorKind::Unauthenticated { .. })
}

fn login(call: &CallContext, e: &Error) -> String {
    format!("a login: {}", call.error_text(e))
}

/// Formats a warning that came with the repository's information.
fn format_doubt(call: &CallContext, warning: &Warning) -> String {
    let message = &warning.message;
    match &warning.hint {
        Some(hint) => format!("unconfirmed: {message}; {}", call.advise(hint)),
        None => format!("unconfirmed: {message}"),
    }
}

/// Returns the rights that the viewer lacks in this repository.
fn rights(call: &CallContext, info: &RepoInfo) -> Vec<String> {
    let right = match info.permission {
        Permission::Read => {
            Some("the right to triage (labels, closing) or to write (merging, resolving)")
        }
        Permission::Triage => Some("the right to write (merging, resolving)"),
        Permission::Write | Permission::Admin => None,
    };
    let scopes = info.missing_scopes.iter().map(|scope| {
        let login = Action::new(forge_core::Call::Login).with(Param::Host, info.id.host.clone());
        let hint = Hint::new("log in with a token that has it").with_action(login);
        format!("the scope '{scope}' of the token: {}", call.advise(&hint))
    });
    right.map(str::to_owned).into_iter().chain(scopes).collect()
}

fn text(out: &ForgeStatusOut) -> String {
    let mode = if out.write {
        "reads and writes"
    } else {
        "only reads"
    };
    let mut text = format!(
        "forge {}: {mode}; forges: {}\n",
        out.version,
        out.forges.join(", ")
    );
    for (name, list) in [
        ("allow-repo", &out.allow_repo),
        ("allow-path", &out.allow_path),
        ("allow-write", &out.allow_write),
    ] {
        if let Some(list) = list {
            text.push_str(&format!("{name}: {list}\n"));
        }
    }
    if out.accounts.is_empty() {
        text.push_str("no accounts: repositories on this machine, and reading on tangled, work without; `forge auth login` adds one\n");
    }
    for a in &out.accounts {
        let account = a.account.as_deref();
        let name = account.map_or("token of the environment".to_owned(), name_of);
        let unused = if a.active { "" } else { " (not used)" };
        text.push_str(&format!(
            "account: {name} at {} ({}){unused}\n",
            a.host, a.kind
        ));
    }
    let missing: String = out
        .missing
        .iter()
        .map(|what| format!("missing for more: {what}\n"))
        .collect();
    let Some(repo) = &out.repository else {
        return text + &missing;
    };
    text.push_str(&format!("\n{}: ", name(&repo.repo)));
    match &repo.viewer {
        Some(viewer) => text.push_str(&format!(
            "you are @{} with {} rights",
            name(viewer),
            repo.permission
        )),
        None => text.push_str("nobody is logged in"),
    }
    if let Some(branch) = &repo.default_branch {
        text.push_str(&format!("; default branch {}", name(branch)));
    }
    text.push_str(&format!("; merges by {}\n", repo.merge_methods.join(", ")));
    text.push_str(&missing);
    for limit in &repo.index_limits {
        text.push_str(&format!(
            "index, {}: {}: {}; instead: {}\n",
            limit.support, limit.collection, limit.effect, limit.instead
        ));
    }
    text.push_str(&format!("can: {}\n", repo.can.join(", ")));
    for no in &repo.cannot {
        text.push_str(&format!(
            "cannot {}: {}; instead: {}\n",
            no.capability, no.why, no.instead
        ));
    }
    text
}
