//! Determines the viewer (the user who runs forge) and the current time.

use forge_core::{Error, ErrorKind, Result, Timestamp, model::Actor};
use forge_git::{Git, Signing, parse_signature};

use crate::store::same_login;

/// The viewer (the user who runs forge), with the current time.
#[derive(Clone, Debug)]
pub(crate) struct CommitIdentity {
    pub actor: Actor,
    pub at: Timestamp,
    /// Settings for signing commits. One git process reads them together with the login.
    pub signing: Signing,
}

impl CommitIdentity {
    /// Returns true if `login` names the viewer.
    pub fn is(&self, login: &str) -> bool {
        same_login(&self.actor.login, login)
    }

    /// Replaces `@me` with the login of the viewer.
    pub fn resolve(&self, login: &str) -> String {
        if login == "@me" {
            self.actor.login.clone()
        } else {
            login.to_owned()
        }
    }
}

/// Returns the viewer: the author that git would record in a commit. The login is `forge.login`, or
/// the part of the e-mail address before the `@`. Git also provides the time, so
/// `GIT_COMMITTER_DATE` and `GIT_AUTHOR_DATE` are respected.
pub(crate) async fn identity(git: &Git) -> Result<CommitIdentity> {
    let author = git.run(["-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"]);
    let keys = format!(r"^(forge\.login|{})$", Signing::KEYS);
    let (author, settings) = tokio::join!(author, git.settings(&keys));
    let author = author?;
    if author.status != 0 {
        return Err(identity_error(&String::from_utf8_lossy(&author.stderr)));
    }
    let (name, email, authored) = parse_signature(author.stdout.trim_ascii_end())
        .ok_or_else(|| identity_error("git names no author"))?;
    let settings = settings?;
    let login = settings.iter().rfind(|s| s.key == "forge.login");
    let configured = login.and_then(|s| s.value.as_deref()).unwrap_or_default();
    let configured = configured.trim().to_owned();
    let before_at = email.split('@').next().unwrap_or_default().to_owned();
    let login = if configured.is_empty() {
        before_at
    } else {
        configured
    };
    if login.is_empty() {
        return Err(identity_error("no email was given"));
    }
    let at = match std::env::var_os("GIT_COMMITTER_DATE") {
        Some(_) => committed_at(git).await?,
        None => authored,
    };
    let some = |text: String| (!text.is_empty()).then_some(text);
    let mut actor = Actor::new(login);
    actor.name = some(name);
    actor.email = some(email);
    Ok(CommitIdentity {
        actor,
        at,
        signing: Signing::of(settings),
    })
}

async fn committed_at(git: &Git) -> Result<Timestamp> {
    let line = git.run_ok(["var", "GIT_COMMITTER_IDENT"]).await?;
    Ok(parse_signature(line.trim_ascii_end()).map_or_else(Timestamp::now, |(_, _, at)| at))
}

fn identity_error(said: &str) -> Error {
    let says = |words: &str| said.contains(words);
    // Git reports a missing name, and also a configured name that is empty or consists only of
    // characters that git removes.
    let no_name = says("no name was given") || says("empty ident name") || says("disallowed char");
    let (what, hint) = if no_name {
        ("user.name", "git config user.name \"Your Name\"")
    } else if says("no email was given") {
        ("user.email", "git config user.email you@example.com")
    } else {
        let date = says("invalid date format");
        let said = forge_core::text::one_line(said.trim()).into_owned();
        if date {
            return Error::invalid("date", format!("git cannot read the date: {said}"))
                .with_hint("correct GIT_AUTHOR_DATE, or unset it");
        }
        return Error::new(
            ErrorKind::Unauthenticated {
                host: String::new(),
            },
            format!("git does not know your name and e-mail address: {said}"),
        )
        .with_hint("set user.name and user.email with git config");
    };
    Error::new(
        ErrorKind::Unauthenticated {
            host: String::new(),
        },
        format!("git's configuration has no {what}, so your identity is unknown"),
    )
    .with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_hint_names_missing_git_setting() {
        for (said, code, hint) in [
            (
                "no name was given and auto-detection is disabled",
                "unauthenticated",
                "user.name ",
            ),
            (
                "empty ident name (for <a@x>) not allowed",
                "unauthenticated",
                "user.name ",
            ),
            (
                "name consists only of disallowed characters: ...",
                "unauthenticated",
                "user.name ",
            ),
            (
                "no email was given and auto-detection is disabled",
                "unauthenticated",
                "user.email ",
            ),
            (
                "invalid date format: nope",
                "invalid_input",
                "GIT_AUTHOR_DATE",
            ),
        ] {
            let e = identity_error(&format!("fatal: {said}"));
            assert_eq!(e.code(), code, "{e:?}");
            assert!(e.hint().is_some_and(|h| h.text().contains(hint)), "{e:?}");
        }
    }
}
