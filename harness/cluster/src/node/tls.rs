//! TLS of the embedded cluster: a CA of its own, and a certificate for the addresses of its nodes.

use std::error::Error;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// What nodes need to encrypt. Clients verify them against its CA, whose key nobody has any more.
#[derive(Clone, Debug)]
pub struct Encryption {
    config: Arc<ServerConfig>,
    /// The certificate of the CA, in PEM.
    pub ca: String,
}

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
#[error(
    "The embedded cluster cannot make its certificate: {0}. Leave --tls out, or build cqldyno again from its own lock file"
)]
pub struct EncryptionError(#[source] Box<dyn Error + Send + Sync>);

impl Encryption {
    /// With a certificate for these addresses.
    ///
    /// # Errors
    /// When the cryptography fails.
    pub fn new(addresses: impl IntoIterator<Item = Ipv4Addr>) -> Result<Encryption, EncryptionError> {
        made(addresses).map_err(EncryptionError)
    }

    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        TlsAcceptor::from(self.config.clone()).accept(stream).await
    }
}

fn made(addresses: impl IntoIterator<Item = Ipv4Addr>) -> Result<Encryption, Box<dyn Error + Send + Sync>> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params.distinguished_name.push(DnType::CommonName, "cqldyno's embedded cluster");
    let key = KeyPair::generate()?;
    let ca = params.self_signed(&key)?.pem();
    let issuer = Issuer::new(params, key);
    let names: Vec<String> = addresses.into_iter().map(|address| address.to_string()).collect();
    let mut params = CertificateParams::new(names)?;
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.distinguished_name.push(DnType::CommonName, "a node");
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    // The same cryptography as that of drivers in Rust.
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    Ok(Encryption { config: Arc::new(config), ca })
}
