//! TCP connections of a process and what they carried, as the kernel tells it by sock_diag(7), which needs no rights. For a server
//! that is not ours this also counts the data connections.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;

use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

use crate::Refusal;
use crate::environment::cores_of;

/// What each connection of a process to some addresses has carried so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// By our and their address.
    connections: BTreeMap<(SocketAddr, SocketAddr), Carried>,
}

/// What one or more connections carried, seen from the process and without retransmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Bytes sent and acknowledged.
    pub bytes_sent: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// TCP segments with data sent.
    pub segments_sent: u64,
    /// TCP segments with data received.
    pub segments_received: u64,
}

/// A connection that sent at least one part in this many of what the busiest one sent is busy.
const BUSY_FRACTION: u64 = 20;

/// The number of connections that were busy between two looks. A connection with statements carries megabytes, a driver's
/// control connection a few kilobytes.
pub fn busy_connections(before: &Traffic, after: &Traffic) -> u64 {
    busy(before, after).count() as u64
}

/// What the busy connections carried together between two looks; `None` if a connection closed or none was busy.
pub fn busy_traffic(before: &Traffic, after: &Traffic) -> Option<Carried> {
    let gone = before.connections.keys().any(|connection| !after.connections.contains_key(connection));
    let busy = busy(before, after).reduce(|sum, carried| Carried {
        bytes_sent: sum.bytes_sent + carried.bytes_sent,
        bytes_received: sum.bytes_received + carried.bytes_received,
        segments_sent: sum.segments_sent + carried.segments_sent,
        segments_received: sum.segments_received + carried.segments_received,
    });
    busy.filter(|_| !gone)
}

/// What each busy connection carried between two looks.
fn busy(before: &Traffic, after: &Traffic) -> impl Iterator<Item = Carried> {
    let carried: Vec<Carried> = after
        .connections
        .iter()
        .map(|(connection, now)| now.since(before.connections.get(connection).copied().unwrap_or_default()))
        .collect();
    let busiest = carried.iter().map(|carried| carried.bytes_sent).max().unwrap_or(0);
    carried
        .into_iter()
        .filter(move |carried| carried.bytes_sent > 0 && carried.bytes_sent.saturating_mul(BUSY_FRACTION) >= busiest)
}

impl Carried {
    fn since(self, before: Carried) -> Carried {
        Carried {
            bytes_sent: self.bytes_sent.saturating_sub(before.bytes_sent),
            bytes_received: self.bytes_received.saturating_sub(before.bytes_received),
            // The kernel counts segments in 32 bits.
            segments_sent: u64::from((self.segments_sent as u32).wrapping_sub(before.segments_sent as u32)),
            segments_received: u64::from((self.segments_received as u32).wrapping_sub(before.segments_received as u32)),
        }
    }
}

impl Traffic {
    /// Connections that are open.
    pub fn open(&self) -> u64 {
        self.connections.len() as u64
    }

    /// What the established connections of process `pid` to `targets` have carried so far.
    ///
    /// # Errors
    /// When /proc does not show the process' files, or sock_diag fails.
    pub fn of(pid: i32, targets: &[SocketAddr]) -> Result<Traffic, Refusal> {
        let mine = socket_inodes(pid)?;
        let mut connections = BTreeMap::new();
        for family in [libc::AF_INET, libc::AF_INET6] {
            for found in established(family as u8).map_err(|error| refuse(format!("sock_diag(7) failed: {error}")))? {
                if mine.contains(&found.inode) && targets.contains(&found.remote) {
                    connections.insert((found.local, found.remote), found.carried);
                }
            }
        }
        Ok(Traffic { connections })
    }
}

/// The processes of this machine at the other ends of the connections of `workers`, if they may run on `cores` alone: a cluster that is
/// not ours may run here. None of them if /proc does not show them, as for those of another user or in a container.
pub fn local_servers(workers: &[i32], cores: &[usize]) -> Vec<i32> {
    let families = [libc::AF_INET, libc::AF_INET6].into_iter();
    let connections: Vec<Connection> = families.filter_map(|family| established(family as u8).ok()).flatten().collect();
    let own: HashSet<u32> = workers.iter().filter_map(|pid| socket_inodes(*pid).ok()).flatten().collect();
    let far: HashSet<(SocketAddr, SocketAddr)> =
        connections.iter().filter(|one| own.contains(&one.inode)).map(|one| (one.remote, one.local)).collect();
    let ends: HashSet<u32> =
        connections.iter().filter(|one| far.contains(&(one.local, one.remote))).map(|one| one.inode).collect();
    let entries = if ends.is_empty() { None } else { fs::read_dir("/proc").ok() };
    let processes = entries.into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_server = |pid: &i32| socket_inodes(*pid).is_ok_and(|inodes| !inodes.is_disjoint(&ends));
    processes.filter(is_server).filter(|pid| cores_of(*pid).iter().all(|core| cores.contains(core))).collect()
}

fn refuse(why: String) -> Refusal {
    let remedy = "Mount /proc, and run a kernel with CONFIG_INET_DIAG; in a container, a seccomp profile that allows netlink \
                  sockets.";
    Refusal::new("Traffic of connections cannot be counted", why, remedy)
}

fn socket_inodes(pid: i32) -> Result<HashSet<u32>, Refusal> {
    let path = format!("/proc/{pid}/fd");
    let entries = fs::read_dir(&path)
        .map_err(|error| refuse(format!("{path}, the sockets of process {pid}, cannot be read: {error}")))?;
    Ok(entries
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok())
        .collect())
}

struct Connection {
    local: SocketAddr,
    remote: SocketAddr,
    inode: u32,
    carried: Carried,
}

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
const TCP_ESTABLISHED: u32 = 1;
/// The attribute with `struct tcp_info`, and the bit that asks for it.
const INET_DIAG_INFO: u16 = 2;
/// Sizes of `struct nlmsghdr` and `struct inet_diag_msg`.
const HEADER: usize = 16;
const MESSAGE: usize = 72;
/// Where `tcpi_bytes_acked`, `tcpi_bytes_received`, `tcpi_data_segs_in` and `tcpi_data_segs_out` lie in `struct tcp_info`
/// (linux/tcp.h), the last two from Linux 4.6 on.
const BYTES_ACKED: usize = 120;
const BYTES_RECEIVED: usize = 128;
const DATA_SEGMENTS_IN: usize = 152;
const DATA_SEGMENTS_OUT: usize = 156;

/// All established TCP connections of this network namespace.
fn established(family: u8) -> io::Result<Vec<Connection>> {
    let netlink = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkSockDiag)?;
    send(netlink.as_raw_fd(), &request(family), MsgFlags::empty())?;
    let mut found = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = recv(netlink.as_raw_fd(), &mut buffer, MsgFlags::empty())?;
        let mut rest = buffer.get(..length).unwrap_or_default();
        while let Some((kind, body, next)) = message(rest) {
            match kind {
                NLMSG_DONE => return Ok(found),
                NLMSG_ERROR => {
                    let code = number::<4>(body, 0).map_or(0, i32::from_ne_bytes);
                    return Err(io::Error::from_raw_os_error(-code));
                }
                SOCK_DIAG_BY_FAMILY => found.extend(connection(body)),
                _ => {}
            }
            rest = next;
        }
        if length == 0 {
            return Ok(found);
        }
    }
}

/// `struct nlmsghdr` and `struct inet_diag_req_v2` (linux/inet_diag.h).
fn request(family: u8) -> Vec<u8> {
    const LENGTH: u32 = 72;
    let mut bytes = Vec::with_capacity(LENGTH as usize);
    bytes.extend(LENGTH.to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend((NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([family, libc::IPPROTO_TCP as u8, 1 << (INET_DIAG_INFO - 1), 0]);
    bytes.extend((1u32 << TCP_ESTABLISHED).to_ne_bytes());
    bytes.resize(LENGTH as usize, 0);
    bytes
}

/// Type and body of the first message, and what follows it.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(number(bytes, 0)?) as usize;
    let kind = u16::from_ne_bytes(number(bytes, 4)?);
    let body = bytes.get(HEADER..length)?;
    Some((kind, body, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

fn connection(body: &[u8]) -> Option<Connection> {
    let family = *body.first()?;
    let address = |ip: usize, port: usize| -> Option<SocketAddr> {
        let port = u16::from_be_bytes(number(body, port)?);
        let ip = match i32::from(family) {
            libc::AF_INET => IpAddr::V4(Ipv4Addr::from(number::<4>(body, ip)?)),
            _ => IpAddr::V6(Ipv6Addr::from(number::<16>(body, ip)?)).to_canonical(),
        };
        Some(SocketAddr::new(ip, port))
    };
    let (local, remote) = (address(8, 4)?, address(24, 6)?);
    let inode = u32::from_ne_bytes(number(body, 68)?);
    let mut attributes = body.get(MESSAGE..)?;
    loop {
        let length = usize::from(u16::from_ne_bytes(number(attributes, 0)?));
        let kind = u16::from_ne_bytes(number(attributes, 2)?);
        if kind == INET_DIAG_INFO {
            return Some(Connection { local, remote, inode, carried: carried(attributes.get(4..length)?)? });
        }
        attributes = attributes.get(length.max(4).next_multiple_of(4)..)?;
    }
}

fn carried(tcp_info: &[u8]) -> Option<Carried> {
    let bytes = |at| number(tcp_info, at).map(u64::from_ne_bytes);
    let segments = |at| number(tcp_info, at).map(|number| u64::from(u32::from_ne_bytes(number)));
    Some(Carried {
        bytes_sent: bytes(BYTES_ACKED)?,
        bytes_received: bytes(BYTES_RECEIVED)?,
        segments_sent: segments(DATA_SEGMENTS_OUT)?,
        segments_received: segments(DATA_SEGMENTS_IN)?,
    })
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::NO_PROCESS;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    fn exchange(client: &mut TcpStream, server: &TcpListener, bytes: usize) -> TcpStream {
        let (mut accepted, _) = server.accept().unwrap();
        pump(client, &mut accepted, bytes);
        accepted
    }

    fn pump(client: &mut TcpStream, accepted: &mut TcpStream, bytes: usize) {
        let mut got = vec![0; 1 << 10];
        for _ in 0..bytes >> 10 {
            client.write_all(&got).unwrap();
            accepted.read_exact(&mut got).unwrap();
        }
    }

    #[test]
    fn connections_that_carried_the_bulk_are_counted_and_quiet_or_other_ones_are_not() {
        let (target, other) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let address = target.local_addr().unwrap();
        let mut clients: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
        let mut elsewhere = TcpStream::connect(other.local_addr().unwrap()).unwrap();
        // Before the first look one of them has carried much already.
        let mut ends: Vec<TcpStream> = [100 << 10, 0, 0]
            .into_iter()
            .zip(&mut clients)
            .map(|(bytes, client)| exchange(client, &target, bytes))
            .collect();
        let _far = exchange(&mut elsewhere, &other, 300 << 10);
        let pid = std::process::id().cast_signed();
        let before = Traffic::of(pid, &[address]).unwrap();
        assert_eq!(before.connections.len(), 3);
        for ((client, end), bytes) in clients.iter_mut().zip(&mut ends).zip([1 << 10, 200 << 10, 300 << 10]) {
            pump(client, end, bytes);
        }
        let after = Traffic::of(pid, &[address]).unwrap();
        assert_eq!(busy_connections(&before, &after), 2);
        assert_eq!(busy_connections(&after, &after), 0);
        assert_eq!(busy_traffic(&before, &after).unwrap().bytes_sent, 500 << 10);
        assert_eq!(busy_traffic(&after, &after), None);
    }

    #[test]
    fn bytes_and_segments_are_counted_each_way() {
        let target = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = target.local_addr().unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        client.set_nodelay(true).unwrap();
        let (mut end, _) = target.accept().unwrap();
        let look = || Traffic::of(std::process::id().cast_signed(), &[address]).unwrap();
        let before = look();
        // Ten requests of 100 bytes one by one, each answered by 1,000 bytes, which acknowledge the request.
        for _ in 0..10 {
            client.write_all(&[0; 100]).unwrap();
            end.read_exact(&mut [0; 100]).unwrap();
            end.write_all(&[0; 1_000]).unwrap();
            client.read_exact(&mut [0; 1_000]).unwrap();
        }
        let carried = busy_traffic(&before, &look()).unwrap();
        let expected = Carried { bytes_sent: 1_000, bytes_received: 10_000, segments_sent: 10, segments_received: 10 };
        assert_eq!(carried, expected);
        drop(client);
        assert_eq!(busy_traffic(&before, &look()), None, "what a closed connection carried is not known");
    }

    #[test]
    fn segments_are_counted_on_when_the_kernels_number_starts_again() {
        let carried = |segments_sent| Carried { segments_sent, ..Carried::default() };
        let (before, after) = (carried(u64::from(u32::MAX)), carried(4));
        assert_eq!(after.since(before).segments_sent, 5);
    }

    #[test]
    fn who_is_at_the_other_end_on_this_machine_is_found_as_soon_as_it_is_connected() {
        let target = TcpListener::bind("127.0.0.1:0").unwrap();
        let me = std::process::id().cast_signed();
        let found = || local_servers(&[me], &cores_of(me)).contains(&me);
        let client = TcpStream::connect(target.local_addr().unwrap()).unwrap();
        let _end = target.accept().unwrap();
        assert!(found());
        assert_eq!(local_servers(&[me], &[]), [] as [i32; 0], "it may run elsewhere as well");
        assert_eq!(local_servers(&[NO_PROCESS], &cores_of(me)), [] as [i32; 0]);
        drop(client);
    }

    #[test]
    fn a_process_that_is_gone_is_named() {
        let error = Traffic::of(NO_PROCESS, &[]).unwrap_err().to_string();
        assert!(error.contains("process 4194305"), "{error}");
    }

    #[test]
    fn answers_that_are_cut_short_are_no_connections() {
        assert!(message(&[20, 0, 0, 0, 3]).is_none());
        assert!(connection(&[libc::AF_INET as u8; 30]).is_none());
        let mut body = vec![0; MESSAGE];
        body[0] = libc::AF_INET as u8;
        assert!(connection(&body).is_none(), "without tcp_info");
        body.extend([0; 8]);
        assert!(connection(&body).is_none(), "attributes of length 0 come to an end");
    }
}
