//! Authenticates requests by the tokens of sessions.

use forge_double_wire::Reply;

use super::{Pds, state::Session};
use crate::{
    atproto::jwt::Token,
    host::{Incoming, lock},
    xrpc::Failure,
};

/// Secret with which the PDS signs all session tokens.
pub(super) const SECRET: &[u8] = b"the secret of a PDS double";

/// DID of this PDS, as tokens contain it.
pub(super) const SELF: &str = "did:web:localhost";

/// The account that sends a request.
#[derive(Debug)]
pub(super) struct Viewer {
    pub(super) did: String,
    pub(super) with_app_password: bool,
}

fn refused() -> Failure {
    Failure::new(400, "InvalidToken", "Token could not be verified")
}

/// Returns the token of a request. It must be of this type, issued by this PDS, and not expired.
fn token<'a>(request: &'a Incoming, typ: &str, now: i64) -> Result<Token<'a>, Failure> {
    let header = request.header("authorization");
    if header.is_empty() {
        return Err(Failure::new(401, "AuthMissing", "Authentication Required"));
    }
    if header.starts_with("DPoP ") {
        return Err(Failure::new(401, "invalid_token", "Invalid token"));
    }
    let Some(text) = request.bearer() else {
        return Err(Failure::new(
            400,
            "InvalidToken",
            "Unexpected authorization type",
        ));
    };
    let token = Token::read(text).ok_or_else(refused)?;
    let fine =
        token.is_sealed_with(SECRET) && token.header["typ"] == typ && token.text("aud") == SELF;
    if !fine {
        return Err(refused());
    }
    if token.number("exp").is_none_or(|exp| exp <= now) {
        return Err(Failure::new(400, "ExpiredToken", "Token has expired"));
    }
    Ok(token)
}

/// Returns the account that an access token belongs to.
pub(super) fn access(pds: &Pds, request: &Incoming) -> Result<Viewer, Failure> {
    let state = lock(&pds.state);
    let token = token(request, "at+jwt", state.now())?;
    let did = token.text("sub").to_owned();
    if !state.accounts.contains_key(&did) {
        return Err(Failure::new(403, "AccountNotFound", "Account not found"));
    }
    Ok(Viewer {
        did,
        with_app_password: token.text("scope") == "com.atproto.appPass",
    })
}

/// Returns the account as [`access`] does, and refuses an account that may not write.
pub(super) fn writer(pds: &Pds, request: &Incoming) -> Result<Viewer, Failure> {
    let viewer = access(pds, request)?;
    let active = lock(&pds.state)
        .accounts
        .get(&viewer.did)
        .is_some_and(|it| it.active);
    if active {
        Ok(viewer)
    } else {
        Err(Failure::new(
            401,
            "AccountDeactivated",
            "Account is deactivated",
        ))
    }
}

/// Returns the session of a refresh token, and the token's `jti`.
pub(super) fn refresh(pds: &Pds, request: &Incoming) -> Result<(String, Session), Failure> {
    let state = lock(&pds.state);
    let token = token(request, "refresh+jwt", state.now())?;
    let jti = token.text("jti");
    let session = state.sessions.get(jti).filter(|it| {
        it.expires > state.now()
            && it
                .next
                .as_ref()
                .is_none_or(|(_, until)| *until > state.now())
    });
    match session {
        Some(session) => Ok((jti.to_owned(), session.clone())),
        None => Err(Failure::new(400, "ExpiredToken", "Token has been revoked")),
    }
}

/// Adds a challenge to the answer, for clients that use DPoP.
pub(super) fn challenge(reply: &mut Reply) {
    reply.set("dpop-nonce", "a-nonce");
    reply.set(
        "www-authenticate",
        "DPoP algs=\"ES256 ES256K\", error=\"invalid_token\", error_description=\"Invalid token\"",
    );
}
