//! Implements `com.atproto.server.*`: accounts, sessions, app passwords and service tokens.

use serde_json::{Value, json};

use super::{
    Pds,
    auth::{self, SECRET, SELF},
    repo::param,
    state::{Session, State},
};
use crate::{
    atproto::{jwt, keys::Key},
    host::{Incoming, lock},
    xrpc::{Answer, Failure, Input},
};

const REFRESH_LIFETIME_SECONDS: i64 = 90 * 86_400;

/// Seconds for which a used refresh token is accepted again, for clients that did not receive the
/// first answer.
const REFRESH_GRACE_SECONDS: i64 = 2 * 3_600;

const HOUR: i64 = 3_600;

fn tokens(pds: &Pds, state: &State, jti: &str, session: &Session) -> (String, String) {
    let now = state.now();
    let scope = if session.app_password.is_some() {
        "com.atproto.appPass"
    } else {
        "com.atproto.access"
    };
    let access = json!({
        "scope": scope, "sub": session.did, "aud": SELF,
        "iat": now, "exp": now + pds.options.access_lifetime,
    });
    let refresh = json!({
        "scope": "com.atproto.refresh", "sub": session.did, "aud": SELF, "jti": jti,
        "iat": now, "exp": session.expires,
    });
    (
        jwt::session(SECRET, "at+jwt", &access),
        jwt::session(SECRET, "refresh+jwt", &refresh),
    )
}

fn new_session(state: &mut State, did: &str, app_password: Option<String>) -> (String, Session) {
    state.issued += 1;
    let jti = format!("jti-{}", state.issued);
    let session = Session {
        did: did.to_owned(),
        app_password,
        expires: state.now() + REFRESH_LIFETIME_SECONDS,
        next: None,
    };
    state.sessions.insert(jti.clone(), session.clone());
    (jti, session)
}

/// Returns the fields of an account that only the account's own session may read.
fn profile(pds: &Pds, state: &State, did: &str) -> Value {
    let account = state.accounts.get(did);
    let mut profile = json!({
        "did": did,
        "didDoc": pds.directory.document(did),
        "handle": account.map(|it| it.handle.clone()),
        "emailConfirmed": false,
        "active": account.is_some_and(|it| it.active),
    });
    if let Some(email) = account.and_then(|it| it.email.clone()) {
        profile["email"] = email.into();
    }
    if account.is_some_and(|it| !it.active) {
        profile["status"] = "deactivated".into();
    }
    profile
}

fn with_tokens(mut profile: Value, (access, refresh): (String, String)) -> Value {
    profile["accessJwt"] = access.into();
    profile["refreshJwt"] = refresh.into();
    profile
}

pub(super) fn create_account(pds: &Pds, request: &Incoming) -> Answer {
    let input = Input::read(request)?;
    let handle = input.text("handle")?;
    let password = input.optional("password")?.unwrap_or_default();
    let email = input.optional("email")?;
    if !handle.ends_with(".test") {
        return Err(Failure::new(
            400,
            "UnsupportedDomain",
            "Not a supported handle domain",
        ));
    }
    let Some(did) = pds.new_account(handle, password, email, None) else {
        return Err(Failure::invalid(format!("Handle already taken: {handle}")));
    };
    let mut state = lock(&pds.state);
    let (jti, session) = new_session(&mut state, &did, None);
    let (access, refresh) = tokens(pds, &state, &jti, &session);
    Ok(json!({
        "handle": handle, "did": did, "didDoc": pds.directory.document(&did),
        "accessJwt": access, "refreshJwt": refresh,
    }))
}

pub(super) fn create(pds: &Pds, request: &Incoming) -> Answer {
    let input = Input::read(request)?;
    let identifier = input.text("identifier")?;
    let password = input.text("password")?;
    let mut state = lock(&pds.state);
    let known = state.find(identifier).and_then(|did| {
        let account = state.accounts.get(&did)?;
        if account.password == password {
            return Some((did, None));
        }
        let named = account
            .app_passwords
            .iter()
            .find(|(_, it)| it == password)?;
        Some((did, Some(named.0.clone())))
    });
    let Some((did, app_password)) = known else {
        let message = "Invalid identifier or password";
        return Err(Failure::new(401, "AuthenticationRequired", message));
    };
    let (jti, session) = new_session(&mut state, &did, app_password);
    let tokens = tokens(pds, &state, &jti, &session);
    Ok(with_tokens(profile(pds, &state, &did), tokens))
}

pub(super) fn refresh(pds: &Pds, request: &Incoming) -> Answer {
    let (jti, old) = auth::refresh(pds, request)?;
    let mut state = lock(&pds.state);
    let following = old.next.as_ref().and_then(|(next, _)| {
        let session = state.sessions.get(next)?;
        Some((next.clone(), session.clone()))
    });
    let (next, session) = match following {
        Some(following) => following,
        None => {
            let new = new_session(&mut state, &old.did, old.app_password.clone());
            let until = state.now() + REFRESH_GRACE_SECONDS;
            if let Some(session) = state.sessions.get_mut(&jti) {
                session.next = Some((new.0.clone(), until));
            }
            new
        }
    };
    let tokens = tokens(pds, &state, &next, &session);
    Ok(with_tokens(profile(pds, &state, &old.did), tokens))
}

pub(super) fn delete(pds: &Pds, request: &Incoming) -> Answer {
    let (jti, session) = auth::refresh(pds, request)?;
    let mut state = lock(&pds.state);
    state.sessions.remove(&jti);
    if let Some((next, _)) = session.next {
        state.sessions.remove(&next);
    }
    Ok(Value::Null)
}

pub(super) fn get(pds: &Pds, request: &Incoming) -> Answer {
    let viewer = auth::access(pds, request)?;
    Ok(profile(pds, &lock(&pds.state), &viewer.did))
}

pub(super) fn create_app_password(pds: &Pds, request: &Incoming) -> Answer {
    let viewer = auth::access(pds, request)?;
    if viewer.with_app_password {
        return Err(Failure::new(400, "InvalidToken", "Bad token scope"));
    }
    let input = Input::read(request)?;
    let name = input.text("name")?;
    let mut state = lock(&pds.state);
    let time = state.time();
    let account = state
        .accounts
        .get_mut(&viewer.did)
        .ok_or_else(Failure::internal)?;
    if account.app_passwords.iter().any(|(it, _)| it == name) {
        return Err(Failure::internal());
    }
    let password = account.add_app_password(name);
    Ok(json!({ "name": name, "password": password, "createdAt": time, "privileged": false }))
}

pub(super) fn revoke_app_password(pds: &Pds, request: &Incoming) -> Answer {
    let viewer = auth::access(pds, request)?;
    let input = Input::read(request)?;
    let name = input.text("name")?;
    let mut state = lock(&pds.state);
    state.revoke_sessions(&viewer.did, Some(name));
    if let Some(account) = state.accounts.get_mut(&viewer.did) {
        account.app_passwords.retain(|(it, _)| it != name);
    }
    Ok(Value::Null)
}

fn set_active(pds: &Pds, request: &Incoming, active: bool) -> Answer {
    let viewer = auth::access(pds, request)?;
    if let Some(account) = lock(&pds.state).accounts.get_mut(&viewer.did) {
        account.active = active;
    }
    Ok(Value::Null)
}

pub(super) fn deactivate(pds: &Pds, request: &Incoming) -> Answer {
    set_active(pds, request, false)
}

pub(super) fn activate(pds: &Pds, request: &Incoming) -> Answer {
    set_active(pds, request, true)
}

/// Issues a token with which an account authenticates at another service.
pub(super) fn service_token(
    key: &Key,
    did: &str,
    aud: &str,
    lxm: Option<&str>,
    now: i64,
    exp: i64,
) -> String {
    let mut claims = json!({
        "iat": now, "iss": did, "aud": aud, "exp": exp,
        "jti": format!("{now}-{exp}-{aud}-{}", lxm.unwrap_or_default()),
    });
    if let Some(lxm) = lxm {
        claims["lxm"] = lxm.into();
    }
    jwt::service(key, &claims)
}

pub(super) fn service_auth(pds: &Pds, request: &Incoming) -> Answer {
    let viewer = auth::writer(pds, request)?;
    let aud = param(request, "com.atproto.server.getServiceAuth", "aud")?;
    if !is_audience(&aud) {
        let message = "aud must be a valid atproto DID or did#serviceId reference";
        return Err(Failure::invalid(message));
    }
    let lxm = request.param("lxm");
    let state = lock(&pds.state);
    let now = state.now();
    let exp = match request.param("exp") {
        None => now + 60,
        Some(exp) => exp
            .parse()
            .map_err(|_| Failure::invalid("exp is no integer"))?,
    };
    let bad = |message: &str| Err(Failure::new(400, "BadExpiration", message));
    if exp < now {
        return bad("expiration is in past");
    }
    if exp > now + HOUR {
        return bad("cannot request a token with an expiration more than an hour in the future");
    }
    if lxm.is_none() && exp > now + 60 {
        return bad(
            "cannot request a method-less token with an expiration more than a minute in the future",
        );
    }
    let account = state
        .accounts
        .get(&viewer.did)
        .ok_or_else(Failure::internal)?;
    let token = service_token(&account.key, &viewer.did, &aud, lxm.as_deref(), now, exp);
    Ok(json!({ "token": token }))
}

/// Returns true if a token may name this audience: a `did:plc`, or the `did:web` of a host. Only
/// `localhost` may have a port, written with `%3A`.
fn is_audience(aud: &str) -> bool {
    let did = aud.split_once('#').map_or(aud, |(did, _)| did);
    if let Some(id) = did.strip_prefix("did:plc:") {
        return id.len() == 24 && id.bytes().all(|it| matches!(it, b'a'..=b'z' | b'2'..=b'7'));
    }
    let Some(host) = did.strip_prefix("did:web:") else {
        return false;
    };
    let (name, port) = host
        .split_once("%3A")
        .map_or((host, None), |(name, port)| (name, Some(port)));
    let labels = |it: &str| {
        !it.is_empty()
            && it
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || it == b'-')
    };
    name.split('.').all(labels)
        && (name == "localhost" || name.contains('.') && port.is_none())
        && port.is_none_or(|it| it.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::is_audience;

    #[test]
    fn token_audience_has_a_port_only_on_localhost() {
        for good in [
            "did:web:knot.example.com",
            "did:web:localhost",
            "did:web:localhost%3A6000",
            "did:plc:ewvi7nxzyoun6zhxrhs64oiz#atproto_pds",
        ] {
            assert!(is_audience(good), "{good}");
        }
        for bad in [
            "did:web:localhost:6000",
            "did:web:127.0.0.1%3A6000",
            "did:web:knot.test%3A6000",
            "knot.example.com",
            "",
        ] {
            assert!(!is_audience(bad), "{bad}");
        }
    }
}
