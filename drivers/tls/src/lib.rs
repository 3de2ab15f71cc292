//! TLS for adapters in Rust: what a job asks for, as a configuration of rustls.
//!
//! All take the same cryptography (ring), and verify the same: that a CA of the job signed the node's certificate, that it is valid now,
//! and that it is for the address that was dialled. The command line calls [`client_config`], too, so that a file that cannot be used is
//! refused before anything starts.
#![deny(missing_docs)]

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cqldyno_driver_api::{ClientCertificate, DriverError, ErrorKind, Tls};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;

pub use rustls::ClientConfig;
pub use tokio_rustls::client::TlsStream;

/// A file that TLS cannot be set up from.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file that cannot be read, what it is for, and what the system said.
    #[error("the {0} {1} cannot be read: {2}; name a PEM file")]
    Unreadable(&'static str, PathBuf, io::Error),
    /// A file without a certificate.
    #[error("the {0} {1} holds no certificate; name a PEM file with at least one `BEGIN CERTIFICATE`")]
    NoCertificate(&'static str, PathBuf),
    /// A certificate that cannot be used, and why.
    #[error("the {0} {1} holds a certificate that cannot be used: {2}; name another PEM file")]
    BadCertificate(&'static str, PathBuf, String),
    /// A key file without a key.
    #[error("the {KEY} {0} holds no private key; name a PEM file with a `BEGIN PRIVATE KEY`")]
    NoKey(PathBuf),
    /// A key with a passphrase.
    #[error("the {KEY} {0} has a passphrase; decrypt it with `openssl pkey -in {0} -out PLAIN`, and name PLAIN")]
    Encrypted(PathBuf),
    /// Key and certificate, of which one is another's, or a key of a kind that is not known.
    #[error("the {KEY} {0} does not fit the {CERTIFICATE} {1} ({2}); name the key that the certificate was made for")]
    NoPair(PathBuf, PathBuf, String),
    /// The cryptography lacks what TLS needs.
    #[error("TLS cannot be set up here: {0}; build cqldyno again from its own lock file")]
    Library(rustls::Error),
}

const CA: &str = "CA file";
const CERTIFICATE: &str = "client certificate";
const KEY: &str = "client key";

impl From<TlsError> for DriverError {
    fn from(error: TlsError) -> DriverError {
        DriverError::new(ErrorKind::Connect, error)
    }
}

/// The configuration of a client that does what `tls` says. Without a CA it takes any certificate.
///
/// # Errors
/// When a file cannot be read, holds something else, or key and certificate are no pair.
pub fn client_config(tls: &Tls) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(TlsError::Library)?;
    let builder = match &tls.ca {
        Some(file) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(CA, file)? {
                let bad = |error: rustls::Error| TlsError::BadCertificate(CA, file.clone(), error.to_string());
                roots.add(certificate).map_err(bad)?;
            }
            builder.with_root_certificates(roots)
        }
        None => builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))),
    };
    match &tls.client {
        Some(client) => {
            let chain = certificates(CERTIFICATE, &client.certificate)?;
            let no_pair = |error: rustls::Error| {
                TlsError::NoPair(client.key.clone(), client.certificate.clone(), error.to_string())
            };
            builder.with_client_auth_cert(chain, key(client)?).map_err(no_pair)
        }
        None => Ok(builder.with_no_client_auth()),
    }
}

/// Connects, and makes the handshake.
///
/// # Errors
/// When there is no connection, or one of both refuses the other's certificate.
pub async fn connect(
    config: Arc<ClientConfig>,
    address: SocketAddr,
    nodelay: bool,
) -> io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(nodelay)?;
    let connected = tokio_rustls::TlsConnector::from(config).connect(ServerName::from(address.ip()), stream).await;
    connected.map_err(|error| {
        let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match cause {
            Some(rustls::Error::InvalidMessage(_)) => {
                io::Error::new(error.kind(), format!("{error}; the server seems to speak no TLS there"))
            }
            _ => error,
        }
    })
}

fn read(what: &'static str, file: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(file).map_err(|error| TlsError::Unreadable(what, file.to_path_buf(), error))
}

fn certificates(what: &'static str, file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = CertificateDer::pem_slice_iter(&read(what, file)?).collect::<Result<Vec<_>, _>>();
    let found = found.map_err(|error| TlsError::BadCertificate(what, file.to_path_buf(), error.to_string()))?;
    if found.is_empty() {
        return Err(TlsError::NoCertificate(what, file.to_path_buf()));
    }
    Ok(found)
}

fn key(client: &ClientCertificate) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = read(KEY, &client.key)?;
    // PKCS#8 and the older form of OpenSSL say so, each in its way.
    let is_encrypted = |mark: &[u8]| text.windows(mark.len()).any(|part| part == mark);
    if [&b"BEGIN ENCRYPTED PRIVATE KEY"[..], b"Proc-Type: 4,ENCRYPTED"].into_iter().any(is_encrypted) {
        return Err(TlsError::Encrypted(client.key.clone()));
    }
    // What is wrong with a key is not repeated: it could show a part of it.
    PrivateKeyDer::from_pem_slice(&text).map_err(|_| TlsError::NoKey(client.key.clone()))
}

/// Takes any certificate of a server that has its key.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        file
    }

    /// A certificate that signs itself, and its key.
    fn pair(folder: &Path, name: &str) -> ClientCertificate {
        let key = KeyPair::generate().unwrap();
        let made = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
        ClientCertificate {
            certificate: written(folder, &format!("{name}.pem"), &made.pem()),
            key: written(folder, &format!("{name}.key"), &key.serialize_pem()),
        }
    }

    #[test]
    fn a_file_that_cannot_be_used_is_refused_with_what_is_wrong_and_never_with_what_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (own, other) = (pair(folder, "own"), pair(folder, "other"));
        let ca = |ca: &Path| Tls { ca: Some(ca.to_path_buf()), client: None };
        let client = |certificate: &Path, key: &Path| {
            let client = ClientCertificate { certificate: certificate.to_path_buf(), key: key.to_path_buf() };
            Tls { ca: None, client: Some(client) }
        };
        let refused = |tls: Tls| client_config(&tls).unwrap_err().to_string().replace(folder.to_str().unwrap(), "F");
        for tls in [Tls::default(), ca(&own.certificate), client(&own.certificate, &own.key)] {
            assert!(client_config(&tls).is_ok(), "{tls:?}");
        }
        assert_eq!(
            refused(ca(&folder.join("none"))),
            "the CA file F/none cannot be read: No such file or directory (os error 2); name a PEM file"
        );
        assert_eq!(
            refused(ca(&own.key)),
            "the CA file F/own.key holds no certificate; name a PEM file with at least one `BEGIN CERTIFICATE`"
        );
        let broken = written(folder, "broken", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        let error = refused(ca(&broken));
        assert!(error.starts_with("the CA file F/broken holds a certificate that cannot be used: "), "{error}");
        assert_eq!(
            refused(client(&own.certificate, &own.certificate)),
            "the client key F/own.pem holds no private key; name a PEM file with a `BEGIN PRIVATE KEY`"
        );
        let error = refused(client(&own.certificate, &other.key));
        assert!(
            error.starts_with("the client key F/other.key does not fit the client certificate F/own.pem ("),
            "{error}"
        );
        for text in
            ["-----BEGIN ENCRYPTED PRIVATE KEY-----\n", "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"]
        {
            let error = refused(client(&own.certificate, &written(folder, "locked", text)));
            assert!(
                error.starts_with("the client key F/locked has a passphrase; decrypt it with `openssl pkey"),
                "{error}"
            );
        }
    }
}
