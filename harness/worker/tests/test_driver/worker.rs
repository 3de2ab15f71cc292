//! A worker whose driver answers from nothing but the bound key, and goes wrong as the option `fault` says.
#![allow(clippy::panic, reason = "one of the faults")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cqldyno_driver_api::{
    Capability, ConnectOptions, Driver, DriverError, DriverInfo, ErrorKind, Rows, Session, Setting, Value,
};

#[derive(Default)]
struct TestDriver;

struct TestSession {
    fault: String,
    has_tables: AtomicBool,
}

/// A driver that waits on the thread that closes it, as one in C does.
impl Drop for TestSession {
    fn drop(&mut self) {
        if self.fault == "hangs also when it is closed" {
            loop {
                std::thread::park();
            }
        }
    }
}

fn main() -> std::process::ExitCode {
    cqldyno_worker::main::<TestDriver>()
}

fn fault(options: &ConnectOptions) -> String {
    options.options.get("fault").cloned().unwrap_or_default()
}

impl Driver for TestDriver {
    type Session = TestSession;

    fn describe(&self) -> Result<DriverInfo, DriverError> {
        if std::env::var_os("TEST_DRIVER_HAS_NO_LIBRARY").is_some() {
            return Err(DriverError::new(ErrorKind::Other, "libtest.so was not found"));
        }
        Ok(DriverInfo {
            name: "test".to_owned(),
            version: "1.2.3".to_owned(),
            libraries: vec![cqldyno_worker::lock::library("tokio")?],
            capabilities: [Capability::Connect].into(),
            ..DriverInfo::default()
        })
    }

    fn settings(&self, options: &ConnectOptions) -> Vec<Setting> {
        vec![Setting::taken("page size", options.page_size)]
    }

    async fn connect(&self, options: &ConnectOptions) -> Result<TestSession, DriverError> {
        let fault = fault(options);
        match fault.as_str() {
            "connect" => return Err(DriverError::new(ErrorKind::Connect, "nobody listens")),
            "panic in connect" => panic!("no driver for you"),
            "prints" => println!("a driver's banner"),
            _ => {}
        }
        Ok(TestSession { has_tables: AtomicBool::new(fault != "no tables"), fault })
    }
}

impl Session for TestSession {
    /// Whether rows come back.
    type Statement = bool;

    async fn query(&self, cql: &str) -> Result<(), DriverError> {
        if self.fault == "schema" {
            return Err(DriverError::new(ErrorKind::Syntax, "no viable alternative"));
        }
        if cql.starts_with("CREATE TABLE") {
            self.has_tables.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    async fn prepare(&self, cql: &str) -> Result<bool, DriverError> {
        if !self.has_tables.load(Ordering::Relaxed) {
            return Err(DriverError::new(ErrorKind::Invalid, "there is no such table"));
        }
        Ok(cql.starts_with("SELECT"))
    }

    async fn execute(&self, selects: &bool, values: &[Value<'_>], rows: &mut Rows) -> Result<(), DriverError> {
        let Some(&Value::Bigint(key)) = values.first() else {
            return Err(DriverError::new(ErrorKind::Codec, "the first value is no bigint"));
        };
        tokio::task::yield_now().await;
        let mut columns = [Some(key), Some(2 * key), Some(3 * key)];
        match self.fault.as_str() {
            "slow" => tokio::time::sleep(Duration::from_millis(1)).await,
            "hangs" => std::future::pending().await,
            "hangs at times" | "hangs also when it is closed" if key % 10 == 7 => std::future::pending().await,
            "hangs at times" if key % 10 == 3 => return Err(DriverError::new(ErrorKind::Unavailable, "no replica")),
            "prints" if key < 10 => println!("{{\"type\":\"ack\"}}"),
            "errors" if key % 10 == 3 => return Err(DriverError::new(ErrorKind::Unavailable, "no replica")),
            "errors" if key % 10 == 7 => return Err(DriverError::new(ErrorKind::RequestTimeout, "too late")),
            "panic" if key == 500 => panic!("key {key} is cursed"),
            "swaps columns" => columns.swap(1, 2),
            "constant" => columns = [Some(4), Some(8), Some(12)],
            "null" => columns[2] = None,
            "short row" => columns = [None; 3],
            "drops every tenth row" if key % 10 == 0 => return Ok(()),
            "rows for inserts" if !selects => rows.end_row(),
            _ => {}
        }
        if *selects {
            for value in columns {
                match (value, self.fault.as_str()) {
                    (Some(value), _) => rows.push_bigint(value),
                    (None, "short row") => {}
                    (None, _) => rows.push_null(),
                }
            }
            rows.end_row();
            rows.end_page();
        }
        Ok(())
    }
}
