//! Checks service tokens. A token is signed with an account's key, and is valid for one knot and
//! one method.

use super::{Audience, Knot, Repo};
use crate::{atproto::jwt::Token, host::Incoming, xrpc::Failure};

/// Seconds by which the clock of a token's signer may be ahead.
const LEEWAY: i64 = 60;

fn refused(why: &str) -> Failure {
    let message = format!("signature verification failed: {why}");
    Failure::new(403, "Auth", message)
}

/// Returns the account that calls a method. The token must name this knot's host as its audience.
pub(super) fn caller(knot: &Knot, request: &Incoming, nsid: &str) -> Result<String, Failure> {
    verified(knot, request, nsid, &knot.did)
}

/// Returns the account that writes to a repository of Tangled 1.0.
pub(super) fn writer(
    knot: &Knot,
    request: &Incoming,
    nsid: &str,
    repo: &str,
) -> Result<String, Failure> {
    let audience = match knot.options.audience {
        Audience::Host => &knot.did,
        Audience::Repository => repo,
    };
    verified(knot, request, nsid, audience)
}

fn verified(
    knot: &Knot,
    request: &Incoming,
    nsid: &str,
    audience: &str,
) -> Result<String, Failure> {
    let token = request.bearer().ok_or_else(|| refused("no token"))?;
    let token = Token::read(token).ok_or_else(|| refused("no token of three parts"))?;
    let alias = knot.options.alias.as_ref();
    let alias = alias.is_some_and(|it| token.text("aud").strip_prefix("did:web:") == Some(it));
    if token.text("aud") != audience && !alias {
        return Err(refused("jwt audience does not match service did"));
    }
    let now = knot.now();
    if token.number("exp").is_none_or(|exp| exp <= now) {
        return Err(refused("token is expired"));
    }
    if token.number("iat").is_some_and(|iat| iat > now + LEEWAY) {
        return Err(refused("token used before issued"));
    }
    // A knot of 2025 does not check the method in a token.
    let method = request.asked.as_deref().unwrap_or(nsid);
    if !knot.options.legacy && token.text("lxm") != method {
        return Err(refused("bad jwt lexicon method (\"lxm\")"));
    }
    let did = token.text("iss").split('#').next().unwrap_or_default();
    let key = knot
        .identities
        .key(did)
        .ok_or_else(|| refused("unknown account"))?;
    if !token.is_signed_by(&key) {
        return Err(refused("signature is invalid"));
    }
    Ok(did.to_owned())
}

/// Refuses an account without push access to the repository.
pub(super) fn must_push(repo: &Repo, did: &str) -> Result<(), Failure> {
    if repo.may_push(did) {
        Ok(())
    } else {
        Err(Failure::new(
            401,
            "AccessControl",
            format!("DID does not have sufficient access permissions for this operation: {did}"),
        ))
    }
}
