//! What Cassandra needs of this machine, looked at before anything is fetched or started.

use std::env;
use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::unistd::geteuid;

use crate::error::{CassandraError, Result};
use crate::fetch::is_fetched;
use crate::order::{Order, memory};

/// What a node takes besides its heap.
const BESIDE_HEAP: u64 = 512 << 20;
/// The major versions of Java that Cassandra 4.1 and 5.0 run on with our flags.
const JAVA: [u32; 2] = [11, 17];
/// Where ports are looked for: below those that Linux gives to clients.
const PORTS: std::ops::Range<u16> = 10_000..32_000;

#[derive(Clone, Debug)]
pub(crate) struct Java {
    pub program: PathBuf,
    /// As it says itself, such as `17.0.15`.
    pub version: String,
}

/// Looks whether this machine has what `order` needs: Java, Maven unless the cache has the release, memory, and the port.
///
/// # Errors
/// The first thing that is missing, with what to do.
pub fn check(order: &Order, cache: &Path) -> Result<()> {
    java(order)?;
    if !is_fetched(&order.version, cache) && on_path("mvn").is_none() {
        return Err(CassandraError::NoMaven(order.name()));
    }
    let (needed, there) = ((order.heap + BESIDE_HEAP) * u64::from(order.nodes), available_memory());
    if let Some(there) = there.filter(|there| needed > *there) {
        return Err(CassandraError::Memory(order.about(), memory(needed), memory(there)));
    }
    ports(order).map(drop)
}

/// The Java of JAVA_HOME, else the one on the path.
pub(crate) fn java(order: &Order) -> Result<Java> {
    let home = env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin/java")).filter(|java| java.is_file());
    let program = home.or_else(|| on_path("java")).ok_or_else(|| CassandraError::NoJava(order.name()))?;
    let said = Command::new(&program).arg("-version").stdin(Stdio::null()).output();
    let said = said.map(|output| String::from_utf8_lossy(&output.stderr).into_owned()).unwrap_or_default();
    let version = said.split('"').nth(1).unwrap_or_default().to_owned();
    let wrong = |what: String| Err(CassandraError::WrongJava(order.name(), program.clone(), what));
    match major(&version) {
        Some(major) if JAVA.contains(&major) => Ok(Java { program, version }),
        Some(_) => wrong(format!("Java {version}")),
        None => wrong("a program that does not tell its version".to_owned()),
    }
}

/// The 17 of `17.0.15`, and the 8 of `1.8.0_402`.
fn major(version: &str) -> Option<u32> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().ok());
    match numbers.next()?? {
        1 => numbers.next()?,
        major => Some(major),
    }
}

/// A program that the path leads to.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// The program that lets go of the right to lock memory, if we have that right: as root, Cassandra would lock its whole heap.
pub(crate) fn without_locked_memory() -> Vec<std::ffi::OsString> {
    let setpriv = on_path("setpriv").filter(|_| geteuid().is_root());
    let arguments = ["--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"];
    setpriv.map_or(Vec::new(), |program| {
        std::iter::once(program.into_os_string()).chain(arguments.map(Into::into)).collect()
    })
}

fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1_024)
}

/// The address of the node with this number, from 0.
pub(crate) fn address(node: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, node.saturating_add(1))
}

/// A port for CQL and one for the nodes among themselves, free on all addresses now.
pub(crate) fn ports(order: &Order) -> Result<(u16, u16)> {
    let taken = |port: u16| {
        (0..order.nodes).find_map(|node| {
            let address = SocketAddrV4::new(address(node), port);
            TcpListener::bind(address).err().map(|error| (address, error))
        })
    };
    // Two of us that start at once look in different places.
    let from = usize::try_from(std::process::id()).unwrap_or_default() * 16 % PORTS.len();
    let mut free = PORTS.cycle().skip(from).take(PORTS.len()).filter(|port| taken(*port).is_none());
    let none = || CassandraError::NoPort(order.name());
    let native = match order.port {
        Some(port) => match taken(port) {
            Some((address, error)) => return Err(CassandraError::Port(order.name(), address.to_string(), error)),
            None => port,
        },
        None => free.next().ok_or_else(none)?,
    };
    Ok((native, free.find(|port| *port != native).ok_or_else(none)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_of_java_is_read_from_what_it_says() {
        let of = |version| major(version);
        assert_eq!([of("17.0.15"), of("1.8.0_402"), of("11"), of("21-ea")], [Some(17), Some(8), Some(11), Some(21)]);
        assert_eq!(of(""), None);
    }

    #[test]
    fn ports_are_free_and_differ_and_one_in_use_is_refused_with_its_address() {
        let order = Order::parse("cassandra,nodes=3").unwrap().unwrap();
        let (native, storage) = ports(&order).unwrap();
        assert!(native != storage && PORTS.contains(&native) && PORTS.contains(&storage));
        let taken = TcpListener::bind(("127.0.0.2", 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let error = ports(&Order { port: Some(port), ..order }).unwrap_err().to_string();
        let expected = format!("on port {port}, and 127.0.0.2:{port} cannot be used (Address already in use");
        assert!(error.contains(&expected) && error.contains("leave ,port= out"), "{error}");
    }
}
