//! Tokens of two kinds: session tokens of a PDS (HS256) and service tokens (ES256K).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::keys::{self, Key};

/// A token that is parsed but not verified.
pub(crate) struct Token<'a> {
    pub(crate) header: Value,
    pub(crate) claims: Value,
    signed: &'a str,
    signature: Vec<u8>,
}

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

fn seal(secret: &[u8], signed: &str) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    mac.update(signed.as_bytes());
    Some(mac)
}

/// Creates a session token. `typ` is `at+jwt` or `refresh+jwt`.
pub(crate) fn session(secret: &[u8], typ: &str, claims: &Value) -> String {
    let signed = format!(
        "{}.{}",
        part(&json!({ "typ": typ, "alg": "HS256" })),
        part(claims)
    );
    let mac = seal(secret, &signed).map(|mac| mac.finalize().into_bytes());
    format!(
        "{signed}.{}",
        URL_SAFE_NO_PAD.encode(mac.unwrap_or_default())
    )
}

pub(crate) fn service(key: &Key, claims: &Value) -> String {
    let signed = format!(
        "{}.{}",
        part(&json!({ "typ": "JWT", "alg": "ES256K" })),
        part(claims)
    );
    let signature = key.sign(signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

impl<'a> Token<'a> {
    /// Parses a token without verifying it. Returns `None` if the text is not a token.
    pub(crate) fn read(token: &'a str) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let json = |text: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok();
        Some(Self {
            header: json(header)?,
            claims: json(claims)?,
            signed,
            signature: URL_SAFE_NO_PAD.decode(signature).ok()?,
        })
    }

    /// Returns true if a PDS with this secret issued the token.
    pub(crate) fn is_sealed_with(&self, secret: &[u8]) -> bool {
        self.header["alg"] == "HS256"
            && seal(secret, self.signed)
                .is_some_and(|mac| mac.verify_slice(&self.signature).is_ok())
    }

    /// Returns true if the token is signed with a key from a DID document.
    pub(crate) fn is_signed_by(&self, multibase: &str) -> bool {
        self.header["alg"] == "ES256K"
            && keys::verifies(multibase, self.signed.as_bytes(), &self.signature)
    }

    pub(crate) fn text(&self, claim: &str) -> &str {
        self.claims[claim].as_str().unwrap_or_default()
    }

    pub(crate) fn number(&self, claim: &str) -> Option<i64> {
        self.claims[claim].as_i64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_token_is_bound_to_secret() {
        let token = session(b"s", "at+jwt", &json!({ "sub": "did:plc:a", "exp": 7 }));
        let read = Token::read(&token).unwrap();
        assert!(read.is_sealed_with(b"s") && !read.is_sealed_with(b"t"));
        assert_eq!(
            (read.text("sub"), read.number("exp")),
            ("did:plc:a", Some(7))
        );
        assert_eq!(read.header["typ"], "at+jwt");
        assert!(Token::read("x").is_none() && Token::read("x.y.z").is_none());
    }

    #[test]
    fn service_token_is_bound_to_key() {
        let (key, other) = (Key::from_seed("a"), Key::from_seed("b"));
        let token = service(&key, &json!({ "iss": "did:plc:a" }));
        let read = Token::read(&token).unwrap();
        assert!(read.is_signed_by(&key.multikey()) && !read.is_signed_by(&other.multikey()));
        // A service token (ES256K) must not be accepted as a session token (HS256).
        assert!(!read.is_sealed_with(b"s"));
    }
}
