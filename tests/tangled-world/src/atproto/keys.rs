//! The secp256k1 keys with which accounts sign.

use k256::ecdsa::{
    Signature, SigningKey, VerifyingKey,
    signature::{Signer, Verifier},
};
use sha2::{Digest, Sha256};

const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// Bytes with which a multikey of the curve secp256k1 starts.
const MULTICODEC: [u8; 2] = [0xe7, 0x01];

#[derive(Clone)]
pub(crate) struct Key(SigningKey);

impl Key {
    pub(crate) fn from_seed(seed: &str) -> Self {
        let mut bytes = Sha256::digest(seed);
        loop {
            if let Ok(key) = SigningKey::from_slice(&bytes) {
                return Self(key);
            }
            bytes = Sha256::digest(bytes);
        }
    }

    /// Returns the public key as current DID documents contain it: compressed, after a prefix for
    /// the key type.
    pub(crate) fn multikey(&self) -> String {
        let mut bytes = MULTICODEC.to_vec();
        bytes.extend(self.0.verifying_key().to_encoded_point(true).as_bytes());
        format!("z{}", base58(&bytes))
    }

    /// Returns the public key as older DID documents contain it: only the point.
    pub(crate) fn point(&self) -> String {
        format!(
            "z{}",
            base58(self.0.verifying_key().to_encoded_point(false).as_bytes())
        )
    }

    /// Returns the signature of a message in the form that tokens need, which has 64 bytes.
    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        let signature: Signature = self.0.sign(message);
        signature.to_bytes().to_vec()
    }
}

/// Returns true if the key in a DID document made `signature` for `message`. The key may have
/// either form.
pub(crate) fn verifies(multibase: &str, message: &[u8], signature: &[u8]) -> bool {
    let key = multibase
        .strip_prefix('z')
        .and_then(unbase58)
        .and_then(|bytes| {
            let bytes = bytes.strip_prefix(&MULTICODEC).unwrap_or(&bytes);
            VerifyingKey::from_sec1_bytes(bytes).ok()
        });
    let signature = Signature::from_slice(signature);
    match (key, signature) {
        (Some(key), Ok(signature)) => key.verify(message, &signature).is_ok(),
        _ => false,
    }
}

fn base58(bytes: &[u8]) -> String {
    let mut digits: Vec<u32> = Vec::new();
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += *digit << 8;
            *digit = carry % 58;
            carry /= 58;
        }
        while carry > 0 {
            digits.push(carry % 58);
            carry /= 58;
        }
    }
    let zeros = bytes.iter().take_while(|it| **it == 0).count();
    let digits = digits
        .iter()
        .rev()
        .map(|digit| char::from(ALPHABET[*digit as usize]));
    "1".repeat(zeros).chars().chain(digits).collect()
}

fn unbase58(text: &str) -> Option<Vec<u8>> {
    let mut bytes: Vec<u32> = Vec::new();
    for character in text.bytes() {
        let digit = ALPHABET.iter().position(|it| *it == character)?;
        let mut carry = u32::try_from(digit).ok()?;
        for byte in &mut bytes {
            carry += *byte * 58;
            *byte = carry & 0xff;
            carry >>= 8;
        }
        while carry > 0 {
            bytes.push(carry & 0xff);
            carry >>= 8;
        }
    }
    let zeros = text.bytes().take_while(|it| *it == b'1').count();
    let bytes = bytes.iter().rev().map(|byte| u8::try_from(*byte).ok());
    std::iter::repeat_n(Some(0), zeros).chain(bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base58_round_trips() {
        assert_eq!(base58(b"Hello World!"), "2NEpo7TZRRrLZSi2U");
        assert_eq!(base58(&[0, 0, 1]), "112");
        assert_eq!(unbase58("112"), Some(vec![0, 0, 1]));
        assert_eq!(
            unbase58("2NEpo7TZRRrLZSi2U").as_deref(),
            Some(&b"Hello World!"[..])
        );
        assert_eq!(unbase58("0"), None);
    }

    #[test]
    fn signature_is_bound_to_key_and_message() {
        let (key, other) = (Key::from_seed("a"), Key::from_seed("b"));
        let signature = key.sign(b"m");
        assert_eq!(signature.len(), 64);
        assert!(key.multikey().starts_with("zQ3s"), "{}", key.multikey());
        for public in [key.multikey(), key.point()] {
            assert!(verifies(&public, b"m", &signature));
            assert!(!verifies(&public, b"n", &signature));
        }
        assert!(!verifies(&other.multikey(), b"m", &signature));
        assert!(!verifies("", b"m", &signature));
    }
}
