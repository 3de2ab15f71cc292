//! User, password and TLS for an existing cluster.

use std::path::PathBuf;

use anyhow::Result;
use cqldyno_driver_api::{ClientCertificate, Tls};

use crate::heading::CLUSTER;
use crate::login::Login;
use crate::outcome::usage;

/// User, password and TLS. All but the password's file name PEM files, of which workers get the paths alone.
#[derive(clap::Args)]
pub struct Access {
    #[command(flatten, next_help_heading = CLUSTER)]
    pub login: Login,
    /// Encrypt; --tls-ca verifies the nodes, too
    #[arg(long, help_heading = CLUSTER)]
    tls: bool,
    /// Encrypt, and verify nodes against the CA in a PEM file
    #[arg(long, value_name = "FILE", help_heading = CLUSTER)]
    tls_ca: Option<PathBuf>,
    /// Show this client certificate
    #[arg(long, value_name = "FILE", help_heading = CLUSTER)]
    tls_cert: Option<PathBuf>,
    /// Its key, without a passphrase
    #[arg(long, value_name = "FILE", help_heading = CLUSTER)]
    tls_key: Option<PathBuf>,
}

impl Access {
    /// The first flag that was given, if any was.
    pub fn flag(&self) -> Option<&'static str> {
        let flags = [
            ("--tls", self.tls),
            ("--tls-ca", self.tls_ca.is_some()),
            ("--tls-cert", self.tls_cert.is_some()),
            ("--tls-key", self.tls_key.is_some()),
        ];
        flags.into_iter().find_map(|(flag, given)| given.then_some(flag))
    }

    /// What was given, with every file looked at.
    pub fn read(&self) -> Result<cqldyno_bench::Access> {
        let credentials = self.login.read()?;
        let client = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => {
                Some(ClientCertificate { certificate: absolute(certificate)?, key: absolute(key)? })
            }
            (None, None) => None,
            (Some(_), None) => {
                return Err(usage(
                    "--tls-cert was given without --tls-key; give the key that the certificate was made for",
                ));
            }
            (None, Some(_)) => {
                return Err(usage(
                    "--tls-key was given without --tls-cert; give the certificate that belongs to the key",
                ));
            }
        };
        let ca = self.tls_ca.as_ref().map(absolute).transpose()?;
        if client.is_some() && ca.is_none() && !self.tls {
            return Err(usage(
                "a client certificate was given without --tls-ca, so no node would be verified before it is shown; give --tls-ca, or \
                 --tls if that is meant",
            ));
        }
        let tls = self.flag().map(|_| Tls { ca, client });
        if let Some(tls) = &tls {
            cqldyno_driver_tls::client_config(tls).map_err(usage)?;
        }
        Ok(cqldyno_bench::Access { credentials, tls })
    }
}

/// Workers may run in another folder.
fn absolute(file: &PathBuf) -> Result<PathBuf> {
    std::path::absolute(file).map_err(|error| usage(format!("{} cannot be used as a path: {error}", file.display())))
}
