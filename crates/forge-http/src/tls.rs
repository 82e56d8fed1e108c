//! TLS: rustls with ring, TLS 1.2 and 1.3, and the trusted certificates.

use std::{path::PathBuf, sync::Arc};

use forge_core::{Error, ErrorKind, Result};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_native_certs::CertificateResult;

/// The trusted certificate authorities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    /// Where the authorities come from.
    pub base: RootSource,
    /// PEM file with additional authorities (`FORGE_CA_BUNDLE`), such as the authority of a
    /// company.
    pub more: Option<PathBuf>,
}

/// Where the authorities of [`Roots`] come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RootSource {
    /// Mozilla's list, compiled into the program. Takes 0.02 ms to load and is the same everywhere.
    #[default]
    Bundled,
    /// The store of the system. Takes 3 to 30 ms to load on Linux, and up to 300 ms on macOS.
    System,
    /// Only a PEM file and directories of PEM files (`SSL_CERT_FILE`, `SSL_CERT_DIR`).
    Files {
        /// A PEM file with several authorities.
        file: Option<PathBuf>,
        /// Directories with a PEM file for each authority.
        dirs: Vec<PathBuf>,
    },
}

impl Roots {
    /// Reads `SSL_CERT_FILE` and `SSL_CERT_DIR`, like OpenSSL and Go, and `FORGE_CA_BUNDLE`. If
    /// neither of the first two is set, the bundled list is used, or the store of the system if
    /// `system` is true.
    #[must_use]
    pub fn from_env(get: &dyn Fn(&str) -> Option<String>, system: bool) -> Self {
        let path = |name: &str| get(name).filter(|text| !text.is_empty());
        let (file, dirs) = (path("SSL_CERT_FILE"), path("SSL_CERT_DIR"));
        let base = if file.is_some() || dirs.is_some() {
            let dirs = dirs.iter().flat_map(std::env::split_paths).collect();
            RootSource::Files {
                file: file.map(PathBuf::from),
                dirs,
            }
        } else if system {
            RootSource::System
        } else {
            RootSource::Bundled
        };
        Self {
            base,
            more: path("FORGE_CA_BUNDLE").map(PathBuf::from),
        }
    }

    fn store(&self) -> Result<RootCertStore> {
        let mut store = RootCertStore::empty();
        match &self.base {
            RootSource::Bundled => store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            RootSource::System => add(
                &mut store,
                rustls_native_certs::load_native_certs(),
                "the system's certificate store",
            )?,
            RootSource::Files { file, dirs } => {
                if let Some(file) = file {
                    let found = rustls_native_certs::load_certs_from_paths(Some(file), None);
                    add(
                        &mut store,
                        found,
                        &format!("SSL_CERT_FILE ({})", file.display()),
                    )?;
                }
                for dir in dirs {
                    let found = rustls_native_certs::load_certs_from_paths(None, Some(dir));
                    // A directory may be empty if the PEM file has all certificates.
                    if !found.certs.is_empty() {
                        add(
                            &mut store,
                            found,
                            &format!("SSL_CERT_DIR ({})", dir.display()),
                        )?;
                    }
                }
            }
        }
        if let Some(more) = &self.more {
            let found = rustls_native_certs::load_certs_from_paths(Some(more), None);
            add(
                &mut store,
                found,
                &format!("FORGE_CA_BUNDLE ({})", more.display()),
            )?;
        }
        if store.is_empty() {
            return Err(Error::new(
                ErrorKind::Config,
                "no certificate authority is trusted: SSL_CERT_FILE and SSL_CERT_DIR hold none",
            )
            .with_hint("unset both to trust the built-in list"));
        }
        Ok(store)
    }
}

fn add(store: &mut RootCertStore, found: CertificateResult, from: &str) -> Result<()> {
    let first = found.errors.first().map(ToString::to_string);
    let (added, _) = store.add_parsable_certificates(found.certs);
    if added > 0 {
        return Ok(());
    }
    let why = first.unwrap_or_else(|| "it holds no certificate".to_owned());
    Err(Error::new(
        ErrorKind::Config,
        format!("no certificate could be read from {from}: {why}"),
    )
    .with_hint(
        "it must be PEM: lines between -----BEGIN CERTIFICATE----- and -----END CERTIFICATE-----",
    ))
}

/// Builds the TLS configuration of every connection.
pub(crate) fn config(roots: &Roots) -> Result<ClientConfig> {
    let internal = |e: rustls::Error| {
        Error::new(ErrorKind::Internal, format!("TLS cannot start: {e}")).with_source(e)
    };
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(internal)?
        .with_root_certificates(roots.store()?)
        .with_no_client_auth();
    // HTTP/2 is off. Its connection would stay open when a request is dropped at the deadline, and
    // the server could then keep the connection busy.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env<'a>(vars: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| {
            vars.iter()
                .find(|(k, _)| *k == name)
                .map(|(_, v)| (*v).to_owned())
        }
    }

    #[test]
    fn tls_default_is_bundled_roots() {
        assert_eq!(Roots::from_env(&env(&[]), false), Roots::default());
        assert_eq!(Roots::from_env(&env(&[]), true).base, RootSource::System);
    }

    #[test]
    fn tls_offers_only_http_1_1() {
        let config = config(&Roots::default()).unwrap();
        assert_eq!(config.alpn_protocols, [b"http/1.1".to_vec()]);
    }

    #[test]
    fn cert_variables_replace_or_extend_roots() {
        let files = Roots::from_env(
            &env(&[("SSL_CERT_FILE", "/a"), ("SSL_CERT_DIR", "/b:/c")]),
            true,
        );
        let dirs = vec![PathBuf::from("/b"), PathBuf::from("/c")];
        assert_eq!(
            files.base,
            RootSource::Files {
                file: Some("/a".into()),
                dirs
            }
        );
        let more = Roots::from_env(&env(&[("FORGE_CA_BUNDLE", "/d")]), false);
        assert_eq!(
            (more.base, more.more),
            (RootSource::Bundled, Some("/d".into()))
        );
    }

    #[test]
    fn error_names_unreadable_certificate_file() {
        for (var, value) in [
            ("SSL_CERT_FILE", "/nonexistent/ca"),
            ("FORGE_CA_BUNDLE", "/nonexistent/ca"),
        ] {
            let error = config(&Roots::from_env(&env(&[(var, value)]), false)).unwrap_err();
            assert_eq!(error.code(), "config");
            assert!(error.message().contains(var) && error.message().contains("/nonexistent/ca"));
        }
        let error = config(&Roots::from_env(
            &env(&[("SSL_CERT_DIR", "/nonexistent")]),
            false,
        ))
        .unwrap_err();
        assert!(error.message().contains("no certificate authority"));
    }
}
