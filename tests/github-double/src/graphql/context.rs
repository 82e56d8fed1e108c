//! The context that resolvers share during one request.

use std::cell::{Cell, RefCell, RefMut};

use super::{
    analysis::Cost,
    value::{Fail, Node},
};
use crate::state::{Id, Permission, Repo, State, Token};

/// State, viewer and addresses that resolvers need for one request.
pub(crate) struct Ctx<'s> {
    state: RefCell<&'s mut State>,
    /// Account that sent the request.
    pub(crate) viewer: Id,
    /// Text of the token, under which the state counts the token's points.
    token_text: String,
    pub(crate) token: Token,
    /// Address of the double's web pages, without a trailing slash.
    pub(crate) web: String,
    /// Number of the HTTP request, unique in a double.
    pub(crate) request: u64,
    /// URL at which the user can authorise the token. Set if an organisation's single sign-on has
    /// refused an object.
    sso: RefCell<Option<String>>,
    cost: Cell<Cost>,
}

impl<'s> Ctx<'s> {
    pub(crate) fn new(
        state: &'s mut State,
        token_text: &str,
        token: Token,
        web: &str,
        request: u64,
    ) -> Self {
        Self {
            state: RefCell::new(state),
            viewer: token.account,
            token_text: token_text.to_owned(),
            token,
            web: web.to_owned(),
            request,
            sso: RefCell::new(None),
            cost: Cell::new(Cost::default()),
        }
    }

    /// Borrows the state. A resolver must hold the borrow only for one expression.
    pub(crate) fn state(&self) -> RefMut<'_, State> {
        RefMut::map(self.state.borrow_mut(), |state| &mut **state)
    }

    /// Subtracts a request's points from the token's budget.
    pub(crate) fn charge(&self, cost: &Cost) {
        self.cost.set(*cost);
        if let Some(token) = self.state().tokens.get_mut(&self.token_text) {
            token.remaining = token.remaining.saturating_sub(cost.points);
        }
    }

    pub(crate) fn cost(&self) -> Cost {
        self.cost.get()
    }

    /// Returns the points left in the token's budget.
    pub(crate) fn remaining(&self) -> u64 {
        self.state()
            .tokens
            .get(&self.token_text)
            .map_or(0, |token| token.remaining)
    }

    /// Returns the URL for the `X-GitHub-SSO` header, if single sign-on has refused an object.
    pub(crate) fn sso_url(&self) -> Option<String> {
        self.sso.borrow().clone()
    }

    /// Returns true if the viewer may see a repository. Otherwise GitHub hides even that it exists.
    pub(crate) fn may_see(&self, repo: Id) -> bool {
        let state = self.state();
        state.repos.get(&repo).is_some_and(|repo| {
            state.permission(self.viewer, repo).is_some()
                && (!repo.private || self.token.has_scope(&["repo"]))
        })
    }

    /// Refuses a token without single sign-on if the organisation requires single sign-on.
    pub(crate) fn check_sso(&self, owner: Id) -> Result<(), Fail> {
        let state = self.state();
        let Some(account) = state.accounts.get(&owner).filter(|account| account.sso) else {
            return Ok(());
        };
        if self.token.authorised.contains(&owner) {
            return Ok(());
        }
        let url = format!(
            "{}/orgs/{}/sso?authorization_request=A1B2C3",
            self.web, account.login
        );
        *self.sso.borrow_mut() = Some(url);
        Err(Fail::forbidden(
            "Resource protected by organization SAML enforcement. You must grant your OAuth token access to this organization.",
        ))
    }

    /// Refuses a token that has none of the scopes in `any_of`.
    pub(crate) fn check_scope(&self, field: &str, any_of: &[&str]) -> Result<(), Fail> {
        if self.token.has_scope(any_of) {
            return Ok(());
        }
        let list = |scopes: &[String]| {
            let quoted: Vec<String> = scopes.iter().map(|scope| format!("'{scope}'")).collect();
            format!("[{}]", quoted.join(", "))
        };
        let wanted: Vec<String> = any_of.iter().map(|scope| (*scope).to_owned()).collect();
        let has = self.token.scopes.clone().unwrap_or_default();
        Err(Fail::new(
            "INSUFFICIENT_SCOPES",
            format!(
                "Your token has not been granted the required scopes to execute this query. The '{field}' field requires one of the following scopes: {}, but your token has only been granted the: {} scopes. Please modify your token's scopes at: {}/settings/tokens.",
                list(&wanted),
                list(&has),
                self.web
            ),
        ))
    }

    pub(crate) fn permission(&self, repo: Id) -> Option<Permission> {
        let state = self.state();
        let repo = state.repos.get(&repo)?;
        state.permission(self.viewer, repo)
    }

    /// Refuses a mutation if the viewer lacks the permission `least`. `name` is the mutation's name
    /// in capitals.
    pub(crate) fn require(&self, repo: Id, least: Permission, name: &str) -> Result<(), Fail> {
        let owner = self.state().repos.get(&repo).map(|repo| repo.owner);
        if let Some(owner) = owner {
            self.check_sso(owner)?;
        }
        if self.token.read_only {
            return Err(Fail::forbidden(
                "Resource not accessible by personal access token",
            ));
        }
        let scopes: &[&str] = if self.state().repos.get(&repo).is_some_and(|it| it.private) {
            &["repo"]
        } else {
            &["public_repo", "repo"]
        };
        self.check_scope(&lower_first(name), scopes)?;
        if self.state().repos.get(&repo).is_some_and(|it| it.archived) {
            return Err(Fail::unprocessable(
                "Repository was archived so is read-only",
            ));
        }
        if self.permission(repo) >= Some(least) {
            return Ok(());
        }
        let login = self.state().login(self.viewer).to_owned();
        Err(Fail::forbidden(format!(
            "{login} does not have the correct permissions to execute `{name}`"
        )))
    }

    /// Returns the global id of the viewer's account.
    pub(crate) fn viewer_node(&self) -> Node {
        super::ids::account_node(&self.state(), self.viewer)
    }

    /// Returns a copy of a repository.
    pub(crate) fn repo(&self, id: Id) -> Result<Repo, Fail> {
        self.state()
            .repos
            .get(&id)
            .cloned()
            .ok_or_else(|| Fail::not_found("Could not resolve to a Repository."))
    }

    /// Returns the URL of a repository's web page.
    pub(crate) fn repo_url(&self, id: Id) -> String {
        format!("{}/{}", self.web, self.state().full_name(id))
    }
}

fn lower_first(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}
