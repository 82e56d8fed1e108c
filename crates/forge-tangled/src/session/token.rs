//! Reads the claims of a session token. They are not verified, because only the server that issued
//! the token can verify them.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use forge_core::Secret;
use serde_json::Value;

/// Returns the expiry of a token, in seconds since the epoch; `None` if the token has none.
pub(super) fn expiry(token: &Secret) -> Option<i64> {
    let payload = token.expose().split('.').nth(1)?;
    let bytes = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    let claims: Value = serde_json::from_slice(&bytes).ok()?;
    claims.get("exp")?.as_i64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_token_has_no_expiry() {
        let payload = URL_SAFE_NO_PAD.encode(br#"{"exp":1700000000}"#);
        let token = Secret::new(format!("x.{payload}.y"));
        assert_eq!(expiry(&token), Some(1_700_000_000));
        for junk in ["", "a", "a.b", "a.!!.c", "a.e30.c"] {
            assert_eq!(expiry(&Secret::new(junk)), None, "{junk}");
        }
    }
}
