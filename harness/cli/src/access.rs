//! The cluster that answers: its addresses and options, and user, password and TLS for one that exists.

use std::path::{Path, absolute};

use anyhow::Result;
use cqldyno_bench::Target;
use cqldyno_cassandra::OPTIONS;
use cqldyno_driver_api::{ClientCertificate, Tls};
use cqldyno_scenarios::Replication;

use crate::count::{ONE_PART, options};
use crate::heading::CLUSTER;
use crate::login::Login;
use crate::outcome::usage;

/// What `--target` takes.
#[derive(Clone, Debug)]
pub struct AskedTarget {
    pub target: Target,
    pub datacenter: Option<String>,
    /// The replicas in the place of those of the scenarios' schemas.
    pub replication: Option<Replication>,
    /// Whether keyspaces that exist are used, and none is dropped.
    pub keep: bool,
}

impl AskedTarget {
    /// Reads a target with `datacenter=NAME`, `replication=N|DC=N,...` and `keep` after it.
    pub fn read(text: &str) -> Result<AskedTarget, String> {
        let keys = [("datacenter", ONE_PART), ("replication", is_of_datacenter), ("keep", ONE_PART)];
        let (target, found) = options(text, &keys)?;
        let datacenter = found.get("datacenter").cloned();
        if datacenter.as_ref().is_some_and(String::is_empty) {
            return Err("a datacenter's name has at least one character; leave `datacenter` out for the nodes of all"
                .to_owned());
        }
        if found.get("keep").is_some_and(|value| !value.is_empty()) {
            return Err("`keep` has no value; write it last, without one".to_owned());
        }
        Ok(AskedTarget {
            target: Target::parse(&target).map_err(|error| error.to_string())?,
            datacenter,
            replication: found.get("replication").map(|text| text.parse()).transpose()?,
            keep: found.contains_key("keep"),
        })
    }
}

/// Whether a part is the replicas of a datacenter. The others are options of a Cassandra, which go before.
fn is_of_datacenter(part: &str) -> bool {
    part.split_once('=').is_some_and(|(name, _)| !OPTIONS.contains(&name))
}

/// What `--tls` takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskedTls {
    /// The embedded cluster's own CA and certificates.
    Own,
    Existing(Tls),
}

/// User, password and TLS. All but the password's file name PEM files, of which workers get the paths alone.
#[derive(clap::Args)]
pub struct Access {
    #[command(flatten, next_help_heading = CLUSTER)]
    pub login: Login,
    /// Encrypt; with --target: ca=FILE[,cert=FILE,key=FILE], or unverified
    ///
    /// The embedded cluster makes its own certificates. With --target `ca` has the CA that the nodes' certificates are verified
    /// against; `cert` and `key` the client's own certificate and its key without a passphrase. All are PEM files.
    #[arg(long, value_name = "KEY=FILE,...", value_parser = tls, help_heading = CLUSTER)]
    #[arg(num_args = 0..=1, default_missing_value = "")]
    pub tls: Option<AskedTls>,
}

impl Access {
    /// What was given, with every file looked at.
    pub fn read(&self) -> Result<cqldyno_bench::Access> {
        let credentials = self.login.read()?;
        let tls = match &self.tls {
            Some(AskedTls::Existing(tls)) => {
                cqldyno_driver_tls::client_config(tls).map_err(usage)?;
                Some(tls.clone())
            }
            Some(AskedTls::Own) | None => None,
        };
        Ok(cqldyno_bench::Access { credentials, tls })
    }
}

/// Reads what `--tls` takes. Workers may run in another folder, so paths are absolute.
fn tls(text: &str) -> Result<AskedTls, String> {
    if text.is_empty() {
        return Ok(AskedTls::Own);
    }
    let in_path = |part: &str| !part.contains('=');
    let keys = [("ca", in_path as fn(&str) -> bool), ("cert", in_path), ("key", in_path), ("unverified", ONE_PART)];
    let (other, found) = options(text, &keys)?;
    if !other.is_empty() || found.is_empty() {
        let how = "write ca=FILE, cert=FILE and key=FILE with commas between, or `unverified`";
        return Err(format!(
            "{how}; on the embedded cluster write --tls alone, as the last word or before another flag"
        ));
    }
    if found.get("unverified").is_some_and(|value| !value.is_empty()) {
        return Err("`unverified` has no value; write it without one, or leave it out and give ca=FILE".to_owned());
    }
    let unverified = found.contains_key("unverified");
    let file = |key| {
        let path = |text: &String| {
            absolute(Path::new(text)).map_err(|error| format!("{key}={text} cannot be used as a path: {error}"))
        };
        found.get(key).map(path).transpose()
    };
    let client = match (file("cert")?, file("key")?) {
        (Some(certificate), Some(key)) => Some(ClientCertificate { certificate, key }),
        (None, None) => None,
        (Some(_), None) => {
            return Err("`cert` was given without `key`; give the key that the certificate was made for".to_owned());
        }
        (None, Some(_)) => {
            return Err("`key` was given without `cert`; give the certificate that belongs to the key".to_owned());
        }
    };
    match file("ca")? {
        Some(_) if unverified => Err("`ca` was given together with `unverified`; leave out one or the other".to_owned()),
        None if !unverified => Err(
            "a client certificate was given without `ca`, so no node would be verified before it is shown; give ca=FILE, or \
             `unverified` if that is meant"
                .to_owned(),
        ),
        ca => Ok(AskedTls::Existing(Tls { ca, client })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_a_target_follow_its_addresses() {
        let read = |text: &str| {
            AskedTarget::read(text).map(|one| {
                let replication = one.replication.map(|all| all.to_string());
                (one.target.to_string(), one.datacenter, replication, one.keep)
            })
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(read("127.0.0.1,127.0.0.2"), Ok(("127.0.0.1,127.0.0.2".to_owned(), None, None, false)));
        assert_eq!(
            read("127.0.0.1,127.0.0.2,datacenter=dc1,replication=dc1=3,dc2=2,keep"),
            Ok(("127.0.0.1,127.0.0.2".to_owned(), some("dc1"), some("dc1=3,dc2=2"), true))
        );
        assert_eq!(read("embedded,replication=3"), Ok(("embedded".to_owned(), None, some("3"), false)));
        for (text, why) in [
            ("127.0.0.1,datacenter=", "a datacenter's name has at least one character"),
            ("127.0.0.1,keep=yes", "`keep` has no value"),
            ("127.0.0.1,keep,keep", "`keep` is there twice"),
            ("127.0.0.1,replication=0", "write the number of replicas"),
            (
                "cassandra,replication=dc1=3,nodes=3",
                "\"nodes=3\" after `replication` is none of the options `datacenter`, `replication`, `keep`; write one of them, or \
                 put it before the first of them",
            ),
            ("10.0.0.1,datacenter=dc1,10.0.0.2", "\"10.0.0.2\" after `datacenter` is none of the options"),
            ("10.0.0.1,datacenter=dc1,dc2", "\"dc2\" after `datacenter` is none of the options"),
            ("10.0.0.1,datacenter=dc1,replicaton=3", "\"replicaton=3\" after `datacenter` is none of the options"),
            ("10.0.0.1,replication=dc1=3,keeep", "\"keeep\" after `replication` is none of the options"),
            ("10.0.0.1,replication=dc1=3,datacentre=dc1", "write the number of replicas"),
            ("10.0.0.1,keep,", "\"\" after `keep` is none of the options"),
            ("keep", "the target \"\" was asked for"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(why) || error.contains("is no address"), "{text}: {error}");
        }
    }

    #[test]
    fn nodes_are_verified_unless_the_user_says_otherwise() {
        let AskedTls::Existing(found) = tls("ca=/a,cert=/b,b,key=/c").unwrap() else { panic!() };
        assert_eq!(found.ca.as_deref(), Some(Path::new("/a")));
        assert_eq!(found.client.unwrap().certificate, Path::new("/b,b"));
        assert_eq!(tls("unverified"), Ok(AskedTls::Existing(Tls::default())));
        assert_eq!(tls(""), Ok(AskedTls::Own));
        for (text, why) in [
            ("cert=/b", "`cert` was given without `key`"),
            ("ca=/a,key=/b", "`key` was given without `cert`"),
            ("cert=/b,key=/c", "a client certificate was given without `ca`"),
            ("ca=/a,unverified", "`ca` was given together with `unverified`"),
            ("unverified=false", "`unverified` has no value; write it without one"),
            ("unverified=false,cert=/b,key=/c", "`unverified` has no value"),
            (
                "ca=/a,crt=/b",
                "\"crt=/b\" after `ca` is none of the options `ca`, `cert`, `key`, `unverified`; write one of them",
            ),
            ("/a", "write ca=FILE"),
            ("floor", "write ca=FILE"),
        ] {
            let error = tls(text).unwrap_err();
            assert!(error.starts_with(why), "{text}: {error}");
        }
    }
}
