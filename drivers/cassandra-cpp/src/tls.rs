//! TLS by OpenSSL, as libcassandra has it.

use std::path::Path;

use cassandra_cpp::{Ssl, SslVerifyFlag};
use cqldyno_driver_api::{DriverError, ErrorKind, Tls};

const END: &str = "-----END CERTIFICATE-----";

/// What `tls` says: with a CA, certificate and address of a node are verified.
///
/// # Errors
/// When a file cannot be read, or libcassandra does not take what it holds.
pub(crate) fn ssl(tls: &Tls) -> Result<Ssl, DriverError> {
    let mut ssl = Ssl::default();
    match &tls.ca {
        Some(file) => {
            // It takes one certificate at a time.
            let text = read(file)?;
            for certificate in text.split_inclusive(END).filter(|part| part.contains(END)) {
                ssl.add_trusted_cert(certificate).map_err(|error| refused(&error, "the CA file", file))?;
            }
            ssl.set_verify_flags(&[SslVerifyFlag::PEER_CERT, SslVerifyFlag::PEER_IDENTITY]);
        }
        None => ssl.set_verify_flags(&[SslVerifyFlag::NONE]),
    }
    if let Some(client) = &tls.client {
        let (certificate, key) = (&client.certificate, &client.key);
        ssl.set_cert(&read(certificate)?).map_err(|error| refused(&error, "the client certificate", certificate))?;
        ssl.set_private_key(&read(key)?, "").map_err(|error| refused(&error, "the client key", key))?;
    }
    Ok(ssl)
}

fn read(file: &Path) -> Result<String, DriverError> {
    let failed =
        |error| DriverError::new(ErrorKind::Connect, format_args!("{} cannot be read: {error}", file.display()));
    std::fs::read_to_string(file).map_err(failed)
}

fn refused(error: &cassandra_cpp::Error, what: &str, file: &Path) -> DriverError {
    let message = format_args!("libcassandra did not take {what} {}: {error}", file.display());
    DriverError::new(ErrorKind::Connect, message)
}
