//! Established TCP connections of a process, from /proc/PID/fd and /proc/PID/net (proc(5)): how data connections are
//! counted where the server is not ours.

use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Why sockets could not be counted.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// /proc does not show them.
    #[error("the sockets of process {pid} could not be counted in {path}: {error}")]
    Unreadable {
        /// The process.
        pid: i32,
        /// What was read.
        path: String,
        /// Why it failed.
        error: std::io::Error,
    },
}

const ESTABLISHED: &str = "01";

/// The number of established TCP connections from process `pid` to any of `targets`.
///
/// # Errors
/// When /proc does not show the process' files or sockets.
pub fn established_to(pid: i32, targets: &[SocketAddr]) -> Result<u64, SocketError> {
    let unreadable = |path: &str, error| SocketError::Unreadable { pid, path: path.to_owned(), error };
    let path = format!("/proc/{pid}/fd");
    let inodes: HashSet<String> = fs::read_dir(&path)
        .map_err(|error| unreadable(&path, error))?
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let mut count = 0;
    for table in ["tcp", "tcp6"] {
        let path = format!("/proc/{pid}/net/{table}");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && table == "tcp6" => continue,
            Err(error) => return Err(unreadable(&path, error)),
        };
        count += rows(&text).filter(|(remote, inode)| targets.contains(remote) && inodes.contains(*inode)).count();
    }
    Ok(count as u64)
}

/// Remote address and inode of every established socket of a table.
fn rows(table: &str) -> impl Iterator<Item = (SocketAddr, &str)> {
    table.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace();
        let remote = fields.nth(2)?;
        if fields.next()? != ESTABLISHED {
            return None;
        }
        Some((address(remote)?, fields.nth(5)?))
    })
}

/// `0100007F:2352`: the address in 32-bit words in the machine's byte order, and the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut octets = Vec::with_capacity(16);
    for at in (0..ip.len()).step_by(8) {
        octets.extend(u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    }
    let ip = match octets.len() {
        4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(octets).ok()?)),
        16 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(octets).ok()?)),
        _ => return None,
    };
    Some(SocketAddr::new(ip.to_canonical(), port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::NO_PROCESS;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn connections_to_the_target_are_counted_and_others_are_not() {
        let target = TcpListener::bind("127.0.0.1:0").unwrap();
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = target.local_addr().unwrap();
        let _open = [TcpStream::connect(address).unwrap(), TcpStream::connect(address).unwrap()];
        let _elsewhere = TcpStream::connect(other.local_addr().unwrap()).unwrap();
        let _closed = TcpStream::connect(address).unwrap().shutdown(std::net::Shutdown::Both);
        assert_eq!(established_to(std::process::id().cast_signed(), &[address]).unwrap(), 2);
    }

    #[test]
    fn a_process_that_is_gone_is_named() {
        assert!(established_to(NO_PROCESS, &[]).unwrap_err().to_string().contains("process 4194305"));
    }
}
