//! What is asked for: a version, nodes, heap and port.

use std::fmt;

use crate::error::{CassandraError, Result};

/// The options of an order, each as KEY=VALUE.
pub const OPTIONS: [&str; 4] = ["nodes", "heap", "port", "commitlog"];
/// The lines of releases that were tried with this cqldyno, the default first, each with its release.
pub const RELEASES: [(&str, &str); 2] = [("5.0", "5.0.9"), ("4.1", "4.1.10")];

/// The word that stands for a Cassandra of ours.
const WORD: &str = "cassandra";
/// More nodes are no use on one machine.
const MOST_NODES: u8 = 9;
const MIB: u64 = 1 << 20;
/// The heap of a node that is alone, and of one of several.
const HEAP: (u64, u64) = (1_024 * MIB, 640 * MIB);
/// Cassandra does not start with less, and no machine of ours has more.
const HEAPS: std::ops::RangeInclusive<u64> = 256 * MIB..=(256 << 10) * MIB;

/// The first release line that knows each word of `commitlog` under the names that a node of ours gets.
const COMMITLOG_SINCE: (u64, u64) = (4, 1);

/// When a node writes its commit log to the disk (`commitlog_sync` of cassandra.yaml).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommitLog {
    /// Every 10 seconds, whatever was answered before.
    #[default]
    Periodic,
    /// Before each answer.
    Batch,
    /// Before each answer, every [`CommitLog::WINDOW`].
    Group,
}

impl CommitLog {
    const ALL: [CommitLog; 3] = [CommitLog::Batch, CommitLog::Group, CommitLog::Periodic];
    /// Cassandra has no default for it; its own file proposes a second, and each answer waits for up to that long.
    const WINDOW: &str = "10ms";

    /// Whether a write is on the disk before it is answered.
    pub fn is_durable(self) -> bool {
        self != CommitLog::Periodic
    }

    fn word(self) -> &'static str {
        match self {
            CommitLog::Periodic => "periodic",
            CommitLog::Batch => "batch",
            CommitLog::Group => "group",
        }
    }

    /// Names and values in cassandra.yaml.
    pub(crate) fn yaml(self) -> Vec<(&'static str, String)> {
        let window = match self {
            CommitLog::Periodic => Some(("commitlog_sync_period", "10000ms".to_owned())),
            CommitLog::Batch => None,
            CommitLog::Group => Some(("commitlog_sync_group_window", CommitLog::WINDOW.to_owned())),
        };
        std::iter::once(("commitlog_sync", self.word().to_owned())).chain(window).collect()
    }

    /// What a run says of it.
    fn about(self) -> String {
        match self {
            CommitLog::Periodic => String::new(),
            CommitLog::Batch => ", commit log synced before each answer (batch)".to_owned(),
            CommitLog::Group => {
                format!(", commit log synced every {} before the answers that wait (group)", CommitLog::WINDOW)
            }
        }
    }
}

/// A Cassandra that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The whole version, such as `5.0.9`.
    pub version: String,
    /// Nodes, on 127.0.0.1 and the addresses after it.
    pub nodes: u8,
    /// Bytes of heap of each node.
    pub heap: u64,
    /// The port for CQL; `None` for a free one.
    pub port: Option<u16>,
    /// When it writes its commit log to the disk.
    pub commitlog: CommitLog,
}

impl Order {
    /// Reads `cassandra[:VERSION][,nodes=N][,heap=SIZE][,port=N][,commitlog=WORD]`; `None` for a text that names no Cassandra of ours. A host of that
    /// name has a port: `cassandra:9042`.
    ///
    /// # Errors
    /// When the version or an option cannot be read.
    pub fn parse(text: &str) -> Option<Result<Order>> {
        let rest = text.strip_prefix(WORD)?;
        let mut parts = rest.split(',');
        let version = match parts.next()? {
            "" => None,
            version => Some(version.strip_prefix(':')?),
        };
        let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let options: Vec<(&str, &str)> = parts.map(|part| part.split_once('=')).collect::<Option<_>>()?;
        if version.is_some_and(is_port) {
            return None;
        }
        Some(read(version, &options).map_err(|why| CassandraError::Order(text.to_owned(), why)))
    }

    /// Whether this release was tried with this cqldyno.
    pub fn is_tried(&self) -> bool {
        RELEASES.iter().any(|(_, release)| *release == self.version)
    }

    /// `Apache Cassandra 5.0.9`.
    pub fn name(&self) -> String {
        format!("Apache Cassandra {}", self.version)
    }

    /// `Apache Cassandra 5.0.9, 1 node, heap 1 GiB`, and whether that release was tried.
    pub fn about(&self) -> String {
        let tried = if self.is_tried() { "" } else { " (a release that was not tried with this cqldyno)" };
        let nodes = match self.nodes {
            1 => format!("1 node, heap {}", memory(self.heap)),
            nodes => format!("{nodes} nodes, heap {} each", memory(self.heap)),
        };
        format!("{}{tried}, {nodes}{}", self.name(), self.commitlog.about())
    }
}

/// Memory in words.
pub(crate) fn memory(bytes: u64) -> String {
    match bytes / MIB {
        mib if mib.is_multiple_of(1_024) => format!("{} GiB", mib / 1_024),
        mib if mib > 10 * 1_024 => format!("{:.0} GiB", mib as f64 / 1_024.0),
        mib if mib > 1_024 => format!("{:.1} GiB", mib as f64 / 1_024.0),
        mib => format!("{mib} MiB"),
    }
}

fn read(version: Option<&str>, options: &[(&str, &str)]) -> Result<Order, String> {
    let asked = version.unwrap_or(RELEASES[0].0);
    let version = RELEASES.iter().find(|(line, _)| *line == asked).map_or(asked, |(_, release)| *release);
    let is_whole = version.split('.').count() >= 3 && version.starts_with(|c: char| c.is_ascii_digit());
    let is_plain = version.chars().all(|c| c.is_ascii_alphanumeric() || ".-".contains(c));
    // Pre-releases have two numbers and a word: 6.0-alpha2.
    if !is_plain || !(is_whole || version.contains('-') && version.contains('.')) {
        let known = RELEASES.map(|(line, release)| format!("{line} ({release})")).join(" and ");
        return Err(format!("{version:?} is no whole version like 5.0.9; the lines {known} have a short form"));
    }
    let (mut nodes, mut heap, mut port, mut commitlog) = (1, None, None, CommitLog::default());
    for (key, value) in options {
        let wrong = |what: &str| format!("{key}={value} is not {what}");
        match *key {
            "nodes" => {
                let read = value.parse().ok().filter(|nodes| (1..=MOST_NODES).contains(nodes));
                nodes = read.ok_or_else(|| wrong(&format!("a number of nodes from 1 to {MOST_NODES}")))?;
            }
            "heap" => {
                let read = bytes(value).filter(|bytes| HEAPS.contains(bytes));
                heap = Some(read.ok_or_else(|| wrong("a heap from 256M to 256G, such as 640M or 2G"))?);
            }
            "port" => {
                let read = value.parse().ok().filter(|port| *port > 0);
                port = Some(read.ok_or_else(|| wrong("a port from 1 to 65535"))?);
            }
            "commitlog" => {
                let read = CommitLog::ALL.into_iter().find(|one| one.word() == *value);
                commitlog = read.ok_or_else(|| wrong("one of batch, group and periodic"))?;
                if line(version) < COMMITLOG_SINCE && commitlog != CommitLog::Periodic {
                    return Err(format!("commitlog={value} needs Cassandra 4.1 or newer, which {version} is not"));
                }
            }
            _ => return Err(format!("{key} is none of its options")),
        }
    }
    let heap = heap.unwrap_or(if nodes == 1 { HEAP.0 } else { HEAP.1 });
    Ok(Order { version: version.to_owned(), nodes, heap, port, commitlog })
}

/// The 5 and 0 of `5.0.9` and of `5.0-beta1`.
fn line(version: &str) -> (u64, u64) {
    let mut numbers = version.split(['.', '-']).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// `640M` or `2G`, in powers of 1,024.
fn bytes(text: &str) -> Option<u64> {
    let unit = match text.chars().last()? {
        'm' | 'M' => MIB,
        'g' | 'G' => 1_024 * MIB,
        _ => return None,
    };
    text[..text.len() - 1].parse::<u64>().ok()?.checked_mul(unit)
}

impl fmt::Display for Order {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{WORD}:{}", self.version)?;
        if self.nodes > 1 {
            write!(out, ",nodes={}", self.nodes)?;
        }
        if self.heap != if self.nodes == 1 { HEAP.0 } else { HEAP.1 } {
            write!(out, ",heap={}M", self.heap / MIB)?;
        }
        self.port.map_or(Ok(()), |port| write!(out, ",port={port}"))?;
        match self.commitlog {
            CommitLog::Periodic => Ok(()),
            other => write!(out, ",commitlog={}", other.word()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Order {
        Order::parse(text).unwrap().unwrap()
    }

    #[test]
    fn an_order_is_read_and_written_with_its_whole_version() {
        for (text, whole) in [
            ("cassandra", "cassandra:5.0.9"),
            ("cassandra:4.1", "cassandra:4.1.10"),
            ("cassandra:5.0.5", "cassandra:5.0.5"),
            ("cassandra:6.0-alpha2,heap=1G", "cassandra:6.0-alpha2"),
            ("cassandra,nodes=3", "cassandra:5.0.9,nodes=3"),
            ("cassandra,port=9042,heap=2G", "cassandra:5.0.9,heap=2048M,port=9042"),
            ("cassandra,commitlog=batch,nodes=3", "cassandra:5.0.9,nodes=3,commitlog=batch"),
            ("cassandra:4.1,commitlog=group", "cassandra:4.1.10,commitlog=group"),
            ("cassandra,commitlog=periodic", "cassandra:5.0.9"),
        ] {
            assert_eq!(read(text).to_string(), whole);
            assert_eq!(read(whole), read(text));
        }
    }

    #[test]
    fn a_host_of_that_name_is_no_order() {
        for text in ["cassandra:9042", "cassandra-1", "cassandra,10.0.0.1", "cassandra.example.org:9042", "127.0.0.1"] {
            assert!(Order::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_had_is_refused_with_what_can() {
        for (text, why) in [
            ("cassandra:4.0", "\"4.0\" is no whole version like 5.0.9"),
            ("cassandra:5.0.9;rm", "is no whole version"),
            ("cassandra,nodes=0", "nodes=0 is not a number of nodes from 1 to 9"),
            ("cassandra,heap=1", "heap=1 is not a heap from 256M"),
            ("cassandra,heap=1M", "heap=1M is not a heap from 256M"),
            ("cassandra,port=0", "port=0 is not a port"),
            ("cassandra,size=3", "size is none of its options"),
            ("cassandra,commitlog=always", "commitlog=always is not one of batch, group and periodic"),
            ("cassandra:4.0.11,commitlog=group", "commitlog=group needs Cassandra 4.1 or newer, which 4.0.11 is not"),
        ] {
            let error = Order::parse(text).unwrap().unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("; write cassandra[:VERSION]"), "{error}");
        }
    }

    #[test]
    fn a_run_names_what_answered_and_whether_it_was_tried() {
        assert_eq!(read("cassandra").about(), "Apache Cassandra 5.0.9, 1 node, heap 1 GiB");
        assert_eq!(read("cassandra:4.1,nodes=3").about(), "Apache Cassandra 4.1.10, 3 nodes, heap 640 MiB each");
        let synced = read("cassandra,commitlog=batch").about();
        assert_eq!(synced, "Apache Cassandra 5.0.9, 1 node, heap 1 GiB, commit log synced before each answer (batch)");
        let other = read("cassandra:5.0.5").about();
        assert_eq!(
            other,
            "Apache Cassandra 5.0.5 (a release that was not tried with this cqldyno), 1 node, heap 1 GiB"
        );
        assert_eq!(memory(1_500 * MIB), "1.5 GiB");
    }
}
