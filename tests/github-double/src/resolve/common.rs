//! Fields that several families of types share.

use serde_json::json;

use crate::{
    graphql::{Args, Connection, Ctx, Fail, Node, Resolved, Val, account_node},
    state::{AccountKind, Id, Permission, Reaction, State},
};

/// Returns an account as a value, or null if the account does not exist.
pub(crate) fn actor(ctx: &Ctx<'_>, id: Id) -> Val {
    let state = ctx.state();
    if state.accounts.contains_key(&id) {
        Val::Object(account_node(&state, id))
    } else {
        Val::NULL
    }
}

/// Returns a connection of accounts.
pub(crate) fn actors(ctx: &Ctx<'_>, ids: &[Id]) -> Val {
    let state = ctx.state();
    Val::connection(ids.iter().map(|id| account_node(&state, *id)))
}

/// Returns a connection of those accounts that are users.
pub(crate) fn users(ctx: &Ctx<'_>, ids: &[Id]) -> Val {
    let people: Vec<Id> = {
        let state = ctx.state();
        let is_user = |id: &&Id| {
            let account = state.accounts.get(*id);
            account.is_some_and(|account| account.kind == AccountKind::User)
        };
        ids.iter().filter(is_user).copied().collect()
    };
    actors(ctx, &people)
}

/// Formats text as minimal HTML.
pub(crate) fn html(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let escaped = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    format!("<p dir=\"auto\">{escaped}</p>")
}

/// Returns GitHub's name for the relation of an author to a repository.
pub(crate) fn association(state: &State, author: Id, repo: Id) -> &'static str {
    let Some(repo) = state.repos.get(&repo) else {
        return "NONE";
    };
    if repo.owner == author {
        return "OWNER";
    }
    if repo.collaborators.contains_key(&author) {
        return "COLLABORATOR";
    }
    let member = state
        .accounts
        .get(&repo.owner)
        .is_some_and(|owner| owner.members.contains_key(&author));
    if member {
        return "MEMBER";
    }
    let merged = state
        .pulls
        .values()
        .any(|pull| pull.repo == repo.id && pull.author == author && pull.merge.is_some());
    if merged { "CONTRIBUTOR" } else { "NONE" }
}

/// Content, author and times that every object with a body has.
pub(crate) struct Written<'a> {
    pub(crate) id: Id,
    pub(crate) repo: Id,
    pub(crate) author: Id,
    pub(crate) body: &'a str,
    pub(crate) created_at: &'a str,
    pub(crate) updated_at: &'a str,
    pub(crate) edited: bool,
    pub(crate) minimized: Option<&'a str>,
}

/// Resolves the fields of GitHub's interfaces `Comment`, `Reactable`, `Minimizable`, `Updatable`
/// and `Deletable`.
pub(crate) fn written(
    ctx: &Ctx<'_>,
    it: &Written<'_>,
    node: &Node,
    name: &str,
    args: &Args,
) -> Resolved {
    let own = it.author == ctx.viewer;
    let maintains = || ctx.permission(it.repo) >= Some(Permission::Write);
    Ok(Some(match name {
        "databaseId" => it.id.into(),
        "author" => actor(ctx, it.author),
        "authorAssociation" => association(&ctx.state(), it.author, it.repo).into(),
        "body" => it.body.into(),
        "createdAt" => it.created_at.into(),
        "updatedAt" => it.updated_at.into(),
        "lastEditedAt" if it.edited => it.updated_at.into(),
        "editor" if it.edited => actor(ctx, it.author),
        "includesCreatedEdit" => it.edited.into(),
        "repository" => Node::Repo(it.repo).into(),
        "isMinimized" => it.minimized.is_some().into(),
        "minimizedReason" => Val::option(it.minimized.map(minimized_reason)),
        "viewerDidAuthor" => own.into(),
        "viewerCanUpdate" | "viewerCanDelete" => (own || maintains()).into(),
        "viewerCanMinimize" | "viewerCanUnminimize" => maintains().into(),
        "viewerCanReact" | "viewerCanSubscribe" => true.into(),
        "reactionGroups" => reaction_groups(ctx, it.id, node),
        "reactions" => {
            let state = ctx.state();
            let wanted = args.str("content");
            Val::connection(
                state
                    .reactions
                    .get(&it.id)
                    .into_iter()
                    .flatten()
                    .filter(|reaction| wanted.is_none_or(|wanted| wanted == reaction.content))
                    .map(|reaction| Node::Reaction(it.id, reaction.id)),
            )
        }
        _ => return Ok(None),
    }))
}

/// Converts the classifier of a minimized comment to the reason that GitHub displays.
fn minimized_reason(classifier: &str) -> String {
    classifier.to_lowercase().replace('_', "-")
}

const REACTIONS: [&str; 8] = [
    "THUMBS_UP",
    "THUMBS_DOWN",
    "LAUGH",
    "HOORAY",
    "CONFUSED",
    "HEART",
    "ROCKET",
    "EYES",
];

fn reaction_groups(ctx: &Ctx<'_>, subject: Id, node: &Node) -> Val {
    let state = ctx.state();
    let given: &[Reaction] = state.reactions.get(&subject).map_or(&[], Vec::as_slice);
    let groups = REACTIONS.iter().map(|content| {
        let users: Vec<Id> = given
            .iter()
            .filter(|reaction| reaction.content == *content)
            .map(|reaction| reaction.user)
            .collect();
        let connection = || Connection {
            nodes: users
                .iter()
                .map(|user| Val::Object(account_node(&state, *user)))
                .collect(),
            ..Connection::default()
        };
        Val::record(
            "ReactionGroup",
            vec![
                ("content", (*content).into()),
                ("users", Val::Connection(connection())),
                ("reactors", Val::Connection(connection())),
                ("viewerHasReacted", users.contains(&ctx.viewer).into()),
                ("subject", node.clone().into()),
                ("createdAt", Val::NULL),
            ],
        )
    });
    Val::List(groups.collect())
}

/// Sorts by an `orderBy` argument.
///
/// `key` returns an item's sort key for the field that the argument names.
pub(crate) fn sort_by<T>(items: &mut [T], args: &Args, key: impl Fn(&T, &str) -> String) {
    let Some(order) = args.object("orderBy") else {
        return;
    };
    let field = order.str("field").unwrap_or("CREATED_AT").to_owned();
    items.sort_by_cached_key(|item| key(item, &field));
    if order.str("direction") == Some("DESC") {
        items.reverse();
    }
}

/// Formats a number as a text. The texts sort in the order of the numbers.
pub(crate) fn sortable(number: u64) -> String {
    format!("{number:020}")
}

/// Returns the labels of an issue or pull request in alphabetical order, as GitHub does.
pub(crate) fn labels(state: &State, ids: &[Id]) -> Val {
    let mut labels: Vec<_> = ids.iter().filter_map(|id| state.labels.get(id)).collect();
    labels.sort_by_key(|label| label.name.to_lowercase());
    Val::connection(labels.into_iter().map(|label| Node::Label(label.id)))
}

/// Returns the comments of an issue or pull request.
pub(crate) fn comments(ctx: &Ctx<'_>, subject: Id, args: &Args) -> Val {
    let state = ctx.state();
    let mut comments: Vec<_> = state
        .comments
        .values()
        .filter(|comment| comment.subject == subject)
        .collect();
    sort_by(&mut comments, args, |comment, _| {
        format!("{}{}", comment.updated_at, sortable(comment.id))
    });
    Val::connection(
        comments
            .into_iter()
            .map(|comment| Node::Comment(comment.id)),
    )
}

/// Returns the error for an object that was deleted while the request ran.
pub(crate) fn gone(what: &str) -> Fail {
    Fail::not_found(format!("Could not resolve to a {what}."))
}

/// Returns a list of JSON texts.
pub(crate) fn texts<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> Val {
    Val::List(
        items
            .into_iter()
            .map(|item| Val::Json(json!(item.as_ref())))
            .collect(),
    )
}
