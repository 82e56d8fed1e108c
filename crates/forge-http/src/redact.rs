//! Removes credentials from text that people may read: log lines, error messages, bodies.
//!
//! [`redact`] removes everything that looks like a credential:
//!
//! - GitHub tokens (`ghp_`, `gho_`, `ghu_`, `ghs_`, `ghr_`, `github_pat_`),
//! - JWTs, and app passwords (`xxxx-xxxx-xxxx-xxxx`),
//! - the values of the headers `Authorization`, `Proxy-Authorization`, `DPoP`, `Cookie`,
//!   `Set-Cookie`, `X-Api-Key` and `Private-Token`, and `Bearer …`,
//! - user information in URLs,
//! - the values of query parameters and JSON members whose name is that of a credential.
//!
//! [`mask_secrets`] removes credentials that the caller knows, whatever their shape, also in base64
//! and percent-encoding.

use std::{borrow::Cow, cmp::Reverse};

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use forge_core::{TOKEN_PREFIXES, text::strip_hidden};
use percent_encoding::{percent_decode, percent_decode_str};

const MARK: &str = "***";

/// Base64 decoder that accepts missing padding and trailing bits. The text may be cut, or part of a
/// longer word.
const LENIENT_BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Names of headers whose whole value is a credential. A redirect to another origin drops them.
pub(crate) const HEADERS: &[&str] = &[
    "authorization",
    "proxy-authorization",
    "dpop",
    "cookie",
    "set-cookie",
    "x-api-key",
    "private-token",
];

/// Names of query parameters and JSON members whose value is a credential.
const NAMES: &[&str] = &[
    "access_token",
    "accessjwt",
    "client_secret",
    "oauth_token",
    "password",
    "private_token",
    "refresh_token",
    "refreshjwt",
    "secret",
    "token",
];

/// Maximum size, in bytes, of a credential that is still recognised where a long text is cut.
const MAX_CREDENTIAL: usize = 4 * 1024;

/// Masks the first `max` bytes of `text` with `mask`, and drops the rest. A text that is at most
/// 4 KiB longer stays whole.
///
/// For texts from servers, because masking a text of megabytes takes seconds. A credential is
/// recognised only if it is complete. `mask` therefore gets 4 KiB more than are kept, so that a
/// credential at the cut is complete.
#[must_use]
pub fn mask_start(text: &str, max: usize, mask: impl FnOnce(&str) -> String) -> String {
    let end = text.floor_char_boundary(max + MAX_CREDENTIAL);
    let mut masked = mask(text.get(..end).unwrap_or_default());
    if end < text.len() {
        let kept = masked.len().saturating_sub(MAX_CREDENTIAL);
        masked.truncate(masked.floor_char_boundary(kept));
    }
    masked
}

/// Replaces each credential in `text` by `***`.
#[must_use]
pub fn redact(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        let found = if word_starts(bytes, at) {
            secret_at(bytes, at)
        } else {
            None
        }
        .or_else(|| userinfo_at(bytes, at));
        match found {
            Some((start, end)) => {
                out.push_str(text.get(copied..start).unwrap_or_default());
                out.push_str(MARK);
                copied = end;
                at = end.max(at + 1);
            }
            None => at += 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

/// Replaces each of the `secrets` in `text` by `***`, also if hidden characters split the secret.
///
/// A word is replaced as a whole if it contains a secret in percent-encoding or in base64 of either
/// alphabet, such as the `user:token` of a `Basic` header. If the base64 is wrapped into lines, the
/// words around it are replaced, too.
///
/// A secret of fewer than four bytes stays, because it would match ordinary words.
#[must_use]
pub fn mask_secrets<'a>(text: &'a str, secrets: &[&str]) -> Cow<'a, str> {
    let long = secrets.iter().copied().filter(|secret| secret.len() >= 4);
    let mut secrets: Vec<&str> = long.collect();
    // A secret may be the start of a longer one, so the longest is masked first.
    secrets.sort_by_key(|secret| Reverse(secret.len()));
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    let masked = mask_visible(text, &secrets);
    mask_split(&masked, &secrets).map_or(masked, Cow::Owned)
}

/// Masks secrets that are split by hidden characters. A reader who does not see these characters
/// would see the whole secret.
fn mask_split(text: &str, secrets: &[&str]) -> Option<String> {
    let (visible, hidden) = strip_hidden(text);
    if hidden == 0 {
        return None;
    }
    match mask_visible(&visible, secrets) {
        Cow::Owned(masked) => Some(masked),
        Cow::Borrowed(_) => None,
    }
}

fn mask_visible<'a>(text: &'a str, secrets: &[&str]) -> Cow<'a, str> {
    let mut masked = Cow::Borrowed(text);
    for secret in secrets {
        if masked.contains(secret) {
            masked = Cow::Owned(masked.replace(secret, MARK));
        }
    }
    let is_gap = |c: char| c.is_whitespace() || matches!(c, '"' | '<' | '>');
    let is_secret = |word: &str| encodes(word, secrets);
    if let Some(words) = mask_pieces(&masked, is_gap, is_secret) {
        masked = Cow::Owned(words);
    }
    let is_end = |c: char| !is_joint(c) && !u8::try_from(c).is_ok_and(is_base64_digit);
    let is_secret = |run: &str| {
        if run.len() < shortest(secrets) {
            return false;
        }
        let joined = run.replace("\\r", "").replace("\\n", "");
        let joined = joined.replace(is_joint, "");
        joined.len() < run.len() && encodes(&joined, secrets)
    };
    match mask_pieces(&masked, is_end, is_secret) {
        Some(runs) => Cow::Owned(runs),
        None => masked,
    }
}

/// Splits `text` at gaps, and masks each piece that is a secret. Returns `None` if no piece is a
/// secret.
fn mask_pieces(
    text: &str,
    is_gap: impl Fn(char) -> bool + Copy,
    is_secret: impl Fn(&str) -> bool,
) -> Option<String> {
    if !text.split(is_gap).any(&is_secret) {
        return None;
    }
    let mut out = String::new();
    for piece in text.split_inclusive(is_gap) {
        let word = piece.trim_end_matches(is_gap);
        out.push_str(if is_secret(word) { MARK } else { word });
        out.push_str(piece.get(word.len()..).unwrap_or_default());
    }
    Some(out)
}

/// Returns true for a character that can stand between pieces of base64: whitespace, the backslash
/// of an escaped line break (`\n`), and the `=` or `,` after a piece.
fn is_joint(c: char) -> bool {
    c.is_whitespace() || matches!(c, '=' | ',' | '\\')
}

/// Returns the length of the shortest secret, in bytes. No encoding makes it shorter.
fn shortest(secrets: &[&str]) -> usize {
    secrets.iter().map(|secret| secret.len()).min().unwrap_or(0)
}

/// Returns true if a word contains one of the `secrets` in base64, in single or double
/// percent-encoding, or as JSON escapes (`\u00xx`).
fn encodes(word: &str, secrets: &[&str]) -> bool {
    let shortest = shortest(secrets);
    if word.len() < shortest {
        return false;
    }
    let holds = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        secrets.iter().any(|secret| text.contains(secret))
    };
    let in_base64 = |digits: &[u8]| {
        // Digits of other data may precede the encoded secret, so all four alignments are tried.
        digits.len() > shortest
            && (0..4_usize).any(|skipped| holds(&base64_decoded(tail(digits, skipped))))
    };
    let shows = |plain: &[u8]| {
        let is_part = |b: u8| is_base64_digit(b) || ends_base64(b);
        holds(plain)
            || plain.split(|b| !is_base64_digit(*b)).any(in_base64)
            || plain.split(|b| !is_part(*b)).any(in_base64)
    };
    let once: Vec<u8> = percent_decode_str(&word.replace("\\u00", "%")).collect();
    let twice: Vec<u8> = percent_decode(&once).collect();
    shows(&once) || twice != once && shows(&twice)
}

fn ends_base64(b: u8) -> bool {
    matches!(b, b'=' | b',')
}

fn is_base64_digit(b: u8) -> bool {
    is_word(b) || b == b'+' || b == b'/'
}

/// Decodes base64 in parts, each of which may end with `=` or `,`.
fn base64_decoded(parts: &[u8]) -> Vec<u8> {
    let parts = parts.split(|b| ends_base64(*b));
    parts.flat_map(digits_decoded).collect()
}

/// Decodes base64 digits of either alphabet. A single digit after the last group of four encodes no
/// byte.
fn digits_decoded(digits: &[u8]) -> Vec<u8> {
    let whole = digits.len() - usize::from(digits.len() % 4 == 1);
    let url_safe = |b: &u8| match b {
        b'+' => b'-',
        b'/' => b'_',
        _ => *b,
    };
    let digits: Vec<u8> = digits.iter().take(whole).map(url_safe).collect();
    LENIENT_BASE64.decode(digits).unwrap_or_default()
}

fn byte(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied()
}

fn tail(bytes: &[u8], at: usize) -> &[u8] {
    bytes.get(at..).unwrap_or_default()
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'-'
}

fn word_starts(bytes: &[u8], at: usize) -> bool {
    byte(bytes, at).is_some_and(|b| b.is_ascii_alphanumeric())
        && at
            .checked_sub(1)
            .and_then(|i| byte(bytes, i))
            .is_none_or(|b| !is_word(b))
}

fn run(bytes: &[u8], from: usize, ok: impl Fn(u8) -> bool) -> usize {
    from + tail(bytes, from).iter().take_while(|b| ok(**b)).count()
}

/// Returns the range of the credential at `at`. It is the word at `at`, or the value after this
/// word.
fn secret_at(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    token(bytes, at)
        .or_else(|| jwt(bytes, at))
        .or_else(|| app_password(bytes, at))
        .map(|end| (at, end))
        .or_else(|| value_after_name(bytes, at))
}

/// Returns the end of a token such as `ghp_…`. Newer tokens contain dots, so the whole rest of the
/// word is removed.
fn token(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = tail(bytes, at);
    let is_of = |prefix: &&&str| rest.starts_with(prefix.as_bytes());
    let prefix = TOKEN_PREFIXES.iter().find(is_of)?.len();
    let end = run(bytes, at + prefix, |b| {
        b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')
    });
    (end - at - prefix >= 4).then_some(end)
}

/// Returns the end of a JWT: three parts in base64url, the first of which starts like an encoded
/// `{"`.
fn jwt(bytes: &[u8], at: usize) -> Option<usize> {
    let part = |from| run(bytes, from, is_word);
    if !tail(bytes, at).starts_with(b"eyJ") {
        return None;
    }
    let first = part(at);
    let second = (byte(bytes, first) == Some(b'.')).then(|| part(first + 1))?;
    if byte(bytes, second) == Some(b'.') {
        Some(part(second + 1))
    } else {
        Some(second)
    }
}

/// Returns the end of an app password: `xxxx-xxxx-xxxx-xxxx` in lowercase letters and digits. A
/// part of a longer word, such as a UUID, does not count.
fn app_password(bytes: &[u8], at: usize) -> Option<usize> {
    let shape = bytes.get(at..at + 19)?;
    let fits = shape.iter().enumerate().all(|(i, b)| {
        if i % 5 == 4 {
            *b == b'-'
        } else {
            b.is_ascii_lowercase() || b.is_ascii_digit()
        }
    });
    (fits && byte(bytes, at + 19).is_none_or(|b| !is_word(b))).then_some(at + 19)
}

/// Returns the range of the credential after the name at `at`. The name is that of a header, a JSON
/// member, a query parameter or an authentication scheme.
fn value_after_name(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let end = run(bytes, at, is_word);
    let word = std::str::from_utf8(bytes.get(at..end)?)
        .ok()?
        .to_ascii_lowercase();
    if word == "bearer" || word == "dpop" && byte(bytes, end) == Some(b' ') {
        let start = run(bytes, end, |b| b == b' ');
        let stop = run(bytes, start, |b| {
            !b.is_ascii_whitespace() && b != b'"' && b != b'\''
        });
        return (start > end && stop >= start + 8).then_some((start, stop));
    }
    let header = HEADERS.contains(&word.as_str());
    if !header && !NAMES.contains(&word.as_str()) {
        return None;
    }
    let quote = run(bytes, end, |b| matches!(b, b'"' | b'\''));
    let blank = run(bytes, quote, |b| b == b' ');
    if !matches!(byte(bytes, blank), Some(b':' | b'=')) {
        return None;
    }
    let value = run(bytes, blank + 1, |b| b == b' ');
    let (start, stop) = match byte(bytes, value) {
        Some(q @ (b'"' | b'\'')) => (value + 1, run(bytes, value + 1, |b| b != q)),
        _ if header => (value, run(bytes, value, |b| b != b'\r' && b != b'\n')),
        _ => (
            value,
            run(bytes, value, |b| {
                !b.is_ascii_whitespace() && !matches!(b, b'&' | b',' | b';' | b'}')
            }),
        ),
    };
    (stop > start).then_some((start, stop))
}

/// Returns the range of the user information in a URL: the text between `://` and the last `@`
/// before the path.
fn userinfo_at(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    if byte(bytes, at) != Some(b':') || !tail(bytes, at).starts_with(b"://") {
        return None;
    }
    let start = at + 3;
    let end = run(bytes, start, |b| {
        !b.is_ascii_whitespace() && !matches!(b, b'/' | b'?' | b'#' | b'"' | b'\'')
    });
    let at_sign = bytes.get(start..end)?.iter().rposition(|b| *b == b'@')?;
    (at_sign > 0).then_some((start, start + at_sign))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_credential_shape_is_redacted() {
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl";
        for secret in [
            "ghp_0123456789abcdefghij",
            "gho_0123456789abcdefghij",
            "ghu_0123456789abcdefghij",
            "ghs_12345_eyJhbGci.eyJzdWIi.c2ln",
            "ghr_0123456789abcdefghij",
            "github_pat_11AAAAAAA0_abcdefghij",
            jwt,
            "abcd-ef12-gh34-ij56",
        ] {
            for text in [
                secret.to_owned(),
                format!("token {secret}, again"),
                format!("\"{secret}\""),
                format!("https://x.example/?a={secret}&b=1"),
            ] {
                let clean = redact(&text);
                assert!(!clean.contains(secret), "{text} became {clean}");
                assert!(clean.contains(MARK), "{text} became {clean}");
            }
        }
    }

    #[test]
    fn value_after_credential_name_is_redacted() {
        for (text, clean) in [
            ("Authorization: token canary", "Authorization: ***"),
            (
                "authorization: Basic Y2FuYXJ5\r\nAccept: x",
                "authorization: ***\r\nAccept: x",
            ),
            (
                "{\"authorization\":\"canary\",\"a\":1}",
                "{\"authorization\":\"***\",\"a\":1}",
            ),
            ("DPoP: canary", "DPoP: ***"),
            ("Cookie: a=canary; b=canary", "Cookie: ***"),
            ("set-cookie: a=canary", "set-cookie: ***"),
            ("PRIVATE-TOKEN: canary", "PRIVATE-TOKEN: ***"),
            ("Bearer canary-canary", "Bearer ***"),
            ("DPoP canary-canary", "DPoP ***"),
            (
                "https://canary@github.com/o/r",
                "https://***@github.com/o/r",
            ),
            ("http://u:canary@h:80/x", "http://***@h:80/x"),
            ("/x?access_token=canary&y=1", "/x?access_token=***&y=1"),
            ("{\"password\": \"can ary\"}", "{\"password\": \"***\"}"),
            ("accessJwt=canary", "accessJwt=***"),
        ] {
            assert_eq!(redact(text), clean);
        }
    }

    #[test]
    fn ordinary_text_is_not_redacted() {
        for text in [
            "",
            "the token is missing",
            "ghp_",
            "a bearer of news",
            "commit 0123456789012345678901234567890123456789",
            "550e8400-e29b-41d4-a716-446655440000",
            "https://github.com/o/r/pull/7?x=a@b",
            "mail a@b.example",
            "ünïcödé ☃ 0000",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn encoded_secret_is_masked() {
        use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD};

        let secret = "no?shape>CANARY~0";
        let mut forms = vec![
            secret.to_owned(),
            "no%3Fshape%3eCANARY~0".to_owned(),
            secret.bytes().map(|b| format!("%{b:02X}")).collect(),
            secret.bytes().map(|b| format!("%25{b:02X}")).collect(),
            secret.bytes().map(|b| format!("\\u{b:04x}")).collect(),
            "no?sh\u{200b}ape>CANARY~0".to_owned(),
        ];
        for pair in ["", "u:", "me:", "who:"].map(|user| format!("{user}{secret}")) {
            let base64 = BASE64_STANDARD.encode(&pair);
            forms.push(base64.replace('=', "%3D").replace('/', "%2F"));
            forms.push(format!("you/sent/{base64}"));
            let (start, end) = pair.split_at(10);
            let [start, end] = [start, end].map(|part| BASE64_STANDARD.encode(part));
            forms.push(format!("{start}{end}"));
            forms.push(format!("{start},{end}"));
            forms.push(format!("{}\u{ad}{}", &base64[..9], &base64[9..]));
            forms.push(BASE64_URL_SAFE.encode(&pair));
            forms.push(BASE64_URL_SAFE_NO_PAD.encode(&pair));
            forms.push(BASE64_URL_SAFE_NO_PAD.encode(format!("{pair}, it was")));
        }
        for form in forms {
            let text = format!("{{\"message\": \"sent {form} here\"}}");
            let masked = mask_secrets(&text, &["other", secret]);
            assert_eq!(masked, "{\"message\": \"sent *** here\"}", "{form}");
            let borrowed = matches!(mask_secrets(&text, &["other"]), Cow::Borrowed(_));
            assert!(borrowed, "{form}");
        }
    }

    #[test]
    fn wrapped_base64_is_masked() {
        use base64::prelude::BASE64_STANDARD;

        let secret = "no?shape>CANARY~0";
        let base64 = BASE64_STANDARD.encode(format!("u:{secret}"));
        let (start, end) = base64.split_at(5);
        for gap in ["\n", "\r\n  ", "\\r\\n", ",", "="] {
            let text = format!("sent:{start}{gap}{end}.");
            assert_eq!(mask_secrets(&text, &[secret]), "sent:***.", "{text}");
            let borrowed = matches!(mask_secrets(&text, &["other"]), Cow::Borrowed(_));
            assert!(borrowed, "{text}");
        }
    }

    #[test]
    fn credential_at_the_cut_leaves_no_part() {
        let secret = "no?shape>CANARY~0";
        let max = 100;
        let filler = "x ".repeat(100_000);
        for cut in [max, max + MAX_CREDENTIAL] {
            for part in [1, 8, secret.len() - 1] {
                let text = format!("{}{secret}{filler}", &filler[..cut - part]);
                let masked = mask_start(&text, max, |start| {
                    assert!(start.len() <= max + MAX_CREDENTIAL);
                    mask_secrets(start, &[secret]).into_owned()
                });
                let is_other = |c: char| !matches!(c, 'x' | ' ' | '*');
                assert!(!masked.contains(is_other), "{masked}");
            }
        }
    }

    #[test]
    fn secret_that_begins_another_leaves_no_rest() {
        assert_eq!(mask_secrets("abcd-efgh", &["abcd", "abcd-efgh"]), "***");
    }

    proptest! {
        #[test]
        fn redaction_of_arbitrary_text_is_idempotent(text in ".{0,200}") {
            let once = redact(&text).into_owned();
            prop_assert_eq!(redact(&once).into_owned(), once.clone());
        }

        #[test]
        fn token_in_arbitrary_text_is_redacted(
            before in "[ \\t\"'(:=/,;]{0,3}", after in "[ \\t\"'),;&]{0,3}", tail in "[A-Za-z0-9]{36}",
        ) {
            let token = format!("ghp_{tail}");
            let text = format!("{before}{token}{after}");
            prop_assert!(!redact(&text).contains(&tail));
        }
    }
}
