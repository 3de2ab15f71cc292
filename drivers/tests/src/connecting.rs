//! Settings, refusals and connections.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use tokio::task::JoinSet;

use super::relay::Connection;
use super::server::Server;
use super::{Failure, Outcome, Verdict, cell, check, declared, execute, same};
use cqldyno_driver_api::{
    Capability, ConnectOptions, Consistency, Credentials, Driver, DriverError, ErrorKind, Session, Setting, Settings,
    Value,
};

const SETTINGS: [&str; 11] = [
    "protocol version",
    "consistency",
    "compression",
    "retries",
    "speculative execution",
    "routing",
    "connections",
    "page size",
    "request timeout",
    "timestamps",
    "serial consistency",
];

/// Flags of an EXECUTE (native_protocol_v4.spec section 4.1.4).
const SERIAL_CONSISTENCY: u8 = 0x10;
const DEFAULT_TIMESTAMP: u8 = 0x20;

/// Every setting is listed exactly once, with equal settings and with the driver's own; name and versions are there.
pub async fn the_settings_are_told_one_by_one<D: Driver>() -> Outcome {
    let driver = D::default();
    let mut options = ConnectOptions::new(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 1))]);
    for settings in [Settings::Equal, Settings::Default] {
        options.settings = settings;
        let told = driver.settings(&options);
        let names: Vec<&str> = told.iter().map(|setting| setting.name.as_str()).collect();
        same("settings told", names.iter().copied().collect::<BTreeSet<_>>(), SETTINGS.into())?;
        same("number of settings told", names.len(), SETTINGS.len())?;
        check(told.iter().all(|setting| !setting.value.is_empty()), || format!("a value is missing: {told:?}"))?;
    }
    let info = driver.describe()?;
    check(info.version.starts_with(|c: char| c.is_ascii_digit()), || format!("`{}` is no version", info.version))?;
    check(!info.name.is_empty(), || "the driver has no name".to_owned())?;
    check(info.options.is_some(), || {
        "`options` of its description is None; an empty list says that it has none".to_owned()
    })?;
    Ok(Verdict::Holds)
}

/// The refusal of an unknown option names it.
pub async fn an_unknown_option_is_refused_by_name<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let mut options = server.options();
    options.options.insert("no-such-option".to_owned(), "1".to_owned());
    match D::default().connect(&options).await {
        Ok(_) => Err(Failure::new("the option no-such-option was taken")),
        Err(error) => {
            check(error.message().contains("no-such-option"), || format!("the refusal does not name it: {error}"))?;
            Ok(Verdict::Holds)
        }
    }
}

/// Nothing listens at the address.
pub async fn no_server_at_the_address_is_a_connect_error<D: Driver>() -> Outcome {
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    let address = address.map_err(|error| Failure::new(format!("no free port: {error}")))?;
    match D::default().connect(&ConnectOptions::new(vec![address])).await {
        Ok(_) => Err(Failure::new("it connected to a port on which nothing listens")),
        Err(error) => {
            same("the kind of the error", error.kind(), ErrorKind::Connect)?;
            Ok(Verdict::Holds)
        }
    }
}

/// With address and credentials only, as the documentation's first example connects: consistency and page size are as listed.
pub async fn the_drivers_own_defaults_work<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let driver = D::default();
    let setup = server.connect::<D>().await?;
    let table = server.create_table(&setup, "own", "pk bigint PRIMARY KEY, v bigint").await?;
    for settings in [Settings::Default, Settings::Equal] {
        let before = server.relay.connections().len();
        let mut options = server.options();
        options.settings = settings;
        let session = driver.connect(&options).await?;
        let insert = session.prepare(&format!("INSERT INTO {table} (pk, v) VALUES (?, ?)")).await?;
        let select = session.prepare(&format!("SELECT v FROM {table} WHERE pk = ?")).await?;
        for key in 0..10 {
            execute(&session, &insert, &[Value::Bigint(key), Value::Bigint(key * 7)]).await?;
            let rows = execute(&session, &select, &[Value::Bigint(key)]).await?;
            same("the row", cell(&rows, 0, 0)?, Value::Bigint(key * 7))?;
        }
        let connections = server.relay.connections().split_off(before);
        as_told(&driver.settings(&options), &connections)?;
    }
    server.end(&setup).await
}

/// Compares requests with the settings that the driver lists.
fn as_told(told: &[Setting], connections: &[Connection]) -> Result<(), Failure> {
    let value = |name: &str| {
        let setting = told.iter().find(|setting| setting.name == name);
        setting.map(|setting| setting.value.as_str()).ok_or_else(|| Failure::new(format!("{name} is not told")))
    };
    let sent: BTreeSet<u16> = connections.iter().flat_map(|seen| &seen.consistencies).copied().collect();
    let sent: BTreeSet<String> = sent.into_iter().map(consistency_name).collect();
    same("consistency levels sent", sent, BTreeSet::from([value("consistency")?.to_owned()]))?;

    let sent: BTreeSet<Option<i32>> = connections.iter().flat_map(|seen| &seen.page_sizes).copied().collect();
    // Where it is no number, the driver says in words that it does not page.
    let page_size = value("page size")?.parse().ok();
    same("page sizes of selects sent", sent, BTreeSet::from([page_size]))?;

    let sent = connections.iter().flat_map(|seen| &seen.flags).fold(0, |all, flags| all | flags);
    same("a timestamp was sent", sent & DEFAULT_TIMESTAMP != 0, value("timestamps")? == "client")?;
    same("a serial consistency was sent", sent & SERIAL_CONSISTENCY != 0, value("serial consistency")? != "none")
}

/// The name of a consistency level on the wire (native_protocol_v4.spec section 3).
fn consistency_name(code: u16) -> String {
    let known = match code {
        0x0001 => Consistency::One,
        0x0002 => Consistency::Two,
        0x0003 => Consistency::Three,
        0x0004 => Consistency::Quorum,
        0x0005 => Consistency::All,
        0x0006 => Consistency::LocalQuorum,
        0x0007 => Consistency::EachQuorum,
        0x000A => Consistency::LocalOne,
        other => return format!("{other:#06x}"),
    };
    known.to_string()
}

/// With one and with three data connections, as many carry the behaviour's EXECUTEs. A driver whose settings say that it cannot
/// have three refuses them, by name.
pub async fn as_many_data_connections_are_open_as_were_asked_for<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let setup = server.connect::<D>().await?;
    let table = server.create_table(&setup, "pool", "pk bigint PRIMARY KEY, v bigint").await?;
    for connections in [1, 3] {
        let mut options = server.options();
        options.connections = connections;
        let connected = D::default().connect(&options).await;
        let settings = D::default().settings(&options);
        if settings.iter().any(|setting| setting.name == "connections" && !setting.as_asked) {
            let refusal = connected.err().map_or_else(String::new, |error| error.into_message());
            check(refusal.contains("connections"), || {
                format!("{connections} connections are declared as impossible, and were not refused: {refusal:?}")
            })?;
            continue;
        }
        let session = Arc::new(connected?);
        D::default().settle(&options).await;
        let text = format!("INSERT INTO {table} (pk, v) VALUES (?, {connections})");
        let insert = Arc::new(session.prepare(&text).await?);
        let mut slots = JoinSet::new();
        for slot in 0..30 {
            let (session, insert) = (Arc::clone(&session), Arc::clone(&insert));
            slots.spawn(async move {
                for round in 0..10 {
                    execute(&*session, &insert, &[Value::Bigint(round * 30 + slot)]).await?;
                }
                Ok::<(), DriverError>(())
            });
        }
        while let Some(slot) = slots.join_next().await {
            slot??;
        }
        let seen = server.relay.connections();
        let carried = seen.iter().filter(|connection| connection.executes.contains_key(&text)).count();
        same("connections that carried the statement", carried, connections)?;
    }
    server.end(&setup).await
}

/// Every frame is one of protocol version 4 and uncompressed, and statements have the consistency that was asked for.
pub async fn frames_are_of_version_4_uncompressed_and_of_the_consistency_asked_for<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let setup = server.connect::<D>().await?;
    let table = server.create_table(&setup, "wire", "pk bigint PRIMARY KEY, v bigint").await?;
    for (consistency, code) in [(Consistency::LocalOne, 0x000A), (Consistency::Quorum, 0x0004)] {
        let before = server.relay.connections().len();
        let mut options = server.options();
        options.consistency = consistency;
        let session = D::default().connect(&options).await?;
        let insert = session.prepare(&format!("INSERT INTO {table} (pk, v) VALUES (?, ?)")).await?;
        execute(&session, &insert, &[Value::Bigint(1), Value::Bigint(2)]).await?;
        let connections = server.relay.connections().split_off(before);
        check(!connections.is_empty(), || "no connection was made".to_owned())?;
        let consistencies: BTreeSet<u16> = connections.iter().flat_map(|seen| &seen.consistencies).copied().collect();
        same("consistency levels of EXECUTE", consistencies, BTreeSet::from([code]))?;
        for seen in &connections {
            same("protocol versions of one connection", seen.versions.clone(), BTreeSet::from([4]))?;
            check(!seen.compressed, || "a connection is compressed, or asked to be".to_owned())?;
        }
    }
    server.end(&setup).await
}

/// The server requires user and password: only the right ones connect, and no error shows them.
pub async fn a_wrong_password_is_refused_and_the_right_one_is_not<D: Driver>() -> Outcome {
    let right = Credentials { user: "ada".to_owned(), password: "correct-horse".to_owned() };
    let wrong = Credentials { password: "battery-staple".to_owned(), ..right.clone() };
    let Some(server) = Server::start_with_login(&right).await? else {
        return Ok(Verdict::NotRun(
            "it needs a server that asks for a password, and CQLDYNO_SUITE_TARGET only names one",
        ));
    };
    let connect = async |credentials: Option<&Credentials>| {
        let mut options = server.options();
        options.credentials = credentials.cloned();
        D::default().connect(&options).await
    };
    match connect(Some(&wrong)).await {
        Ok(_) => return Err(Failure::new("a wrong password was let in")),
        Err(error) => {
            check(!error.message().contains(&wrong.password), || "the error shows the password".to_owned())?;
            // A driver may report only that it has no connection; then a caveat names the code.
            let silent = error.kind() == ErrorKind::Connect
                && D::default().describe()?.caveats.iter().any(|caveat| caveat.contains("0x0100"));
            if declared::<D>(Capability::Credentials)? && !silent {
                same("the kind of the error", error.kind(), ErrorKind::BadCredentials)?;
            }
        }
    }
    check(connect(None).await.is_err(), || "it connected without a password".to_owned())?;
    match (declared::<D>(Capability::Credentials)?, connect(Some(&right)).await) {
        (true, Ok(session)) => {
            let table = server.create_table(&session, "login", "pk int PRIMARY KEY").await?;
            let insert = session.prepare(&format!("INSERT INTO {table} (pk) VALUES (?)")).await?;
            execute(&session, &insert, &[Value::Int(1)]).await?;
            server.end(&session).await
        }
        (true, Err(error)) => Err(Failure::new(format!("the right password was refused: {error}"))),
        (false, Ok(_)) => Err(Failure::new("it logged in, which it does not declare")),
        (false, Err(_)) => Ok(Verdict::Holds),
    }
}
