//! The token ring of several nodes: which nodes own a key, and which shard of a node serves it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{CqlError, Result};
use crate::token;

/// Nodes of a cluster; a set of them is the bits of a word.
const MOST_NODES: u64 = 64;
/// Cassandra's own limit for `num_tokens` in practice: its old default.
const MOST_TOKENS: u64 = 256;
/// Clients of the sharding extension choose a shard by a source port from 49152 to 65535.
const MOST_SHARDS: u64 = 16_384;

/// The name of the only data center, that of Cassandra's default snitch.
pub const DATA_CENTER: &str = "datacenter1";

/// The highest bits of a token that say nothing about its shard, as ScyllaDB's servers have it by default.
pub const IGNORED_BITS: u32 = 12;

/// How many nodes a cluster has, and what each of them has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    pub(crate) nodes: usize,
    pub(crate) tokens: usize,
    pub(crate) racks: usize,
    /// With ScyllaDB's sharding extension.
    pub(crate) shards: Option<usize>,
}

impl Default for Topology {
    fn default() -> Self {
        Topology { nodes: 1, tokens: 1, racks: 1, shards: None }
    }
}

/// A cluster that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// A number out of its range: its flag, the number, the most, and why.
    #[error("{0} {1} was asked for, and the embedded cluster has 1 to {2}{3}; ask for a number from 1 to {2}")]
    Number(&'static str, u64, u64, &'static str),
    /// More racks than nodes.
    #[error(
        "{0} racks were asked for, and a rack has at least one node, of which there are {1}; ask for up to {1} racks"
    )]
    Racks(u64, u64),
    /// A text that is no number of nodes with options.
    #[error(
        "write the number of nodes, such as 3, and then their options, each once, such as 24,tokens=256,racks=3, not {0:?}"
    )]
    Unreadable(String),
}

impl Topology {
    /// So many nodes in so many racks, each with so many tokens and, with the sharding extension, shards.
    ///
    /// # Errors
    /// A number that is 0 or too great.
    pub fn new(nodes: u64, tokens: u64, racks: u64, shards: Option<u64>) -> Result<Topology, TopologyError> {
        let extension = ", because clients of the sharding extension choose a shard by a port from 49152 to 65535";
        for (flag, asked, most, why) in [
            ("--nodes", nodes, MOST_NODES, " on 127.0.0.1, 127.0.0.2 and so on"),
            ("tokens", tokens, MOST_TOKENS, " per node"),
            ("--shards", shards.unwrap_or(1), MOST_SHARDS, extension),
        ] {
            if !(1..=most).contains(&asked) {
                return Err(TopologyError::Number(flag, asked, most, why));
            }
        }
        if racks == 0 || racks > nodes {
            return Err(TopologyError::Racks(racks, nodes));
        }
        let shards = shards.map(|shards| shards as usize);
        Ok(Topology { nodes: nodes as usize, tokens: tokens as usize, racks: racks as usize, shards })
    }

    /// The same nodes, each with so many shards and the sharding extension.
    ///
    /// # Errors
    /// A number that is 0 or too great.
    pub fn with_shards(self, shards: Option<u64>) -> Result<Topology, TopologyError> {
        Topology::new(self.nodes as u64, self.tokens as u64, self.racks as u64, shards)
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// How many shards each has, with the sharding extension.
    pub fn shards(&self) -> Option<usize> {
        self.shards
    }

    /// Whether a client can choose a wrong node or shard.
    pub fn can_misroute(&self) -> bool {
        self.nodes > 1 || self.shards.is_some_and(|shards| shards > 1)
    }

    pub(crate) fn rack(&self, node: usize) -> String {
        format!("rack{}", node % self.racks + 1)
    }

    /// Refuses a replication that several nodes cannot have. One node takes all, as Cassandra does.
    pub(crate) fn check(&self, keyspace: &str, replication: &BTreeMap<String, String>) -> Result<()> {
        let factor = replication_factor(replication);
        if self.nodes > 1 && factor.is_some_and(|factor| factor > self.nodes) {
            return Err(CqlError::Config(format!(
                "The keyspace {keyspace} was to have {} replicas of each row, and the embedded cluster has {} nodes; write a \
                 replication factor of at most {1}, or ask for more --nodes",
                factor.unwrap_or_default(),
                self.nodes
            )));
        }
        if self.nodes > 1 && factor == Some(0) {
            return Err(CqlError::Config(format!(
                "The keyspace {keyspace} was to have no replica in {DATA_CENTER}, which is the embedded cluster's only data center; \
                 write a replication factor for it"
            )));
        }
        Ok(())
    }
}

/// Reads what `--nodes` takes: `24`, or `24,tokens=256,racks=3`.
impl FromStr for Topology {
    type Err = TopologyError;

    fn from_str(text: &str) -> Result<Topology, TopologyError> {
        let unreadable = || TopologyError::Unreadable(text.to_owned());
        let number = |word: &str| word.parse::<u64>().ok().filter(|_| !word.starts_with('+')).ok_or_else(unreadable);
        let (mut tokens, mut racks) = (None, None);
        let mut words = text.split(',');
        let nodes = number(words.next().unwrap_or_default())?;
        for option in words {
            let (option, value) = match option.split_once('=') {
                Some(("tokens", value)) => (&mut tokens, value),
                Some(("racks", value)) => (&mut racks, value),
                _ => return Err(unreadable()),
            };
            if option.replace(number(value)?).is_some() {
                return Err(unreadable());
            }
        }
        Topology::new(nodes, tokens.unwrap_or(1), racks.unwrap_or(1), None)
    }
}

/// Writes what `--nodes` takes.
impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.nodes.fmt(f)?;
        let options = [("tokens", self.tokens), ("racks", self.racks)];
        options.into_iter().filter(|(_, number)| *number > 1).try_for_each(|(key, number)| write!(f, ",{key}={number}"))
    }
}

/// The replicas of each row; `None` for a keyspace that every node has for itself.
pub fn replication_factor(replication: &BTreeMap<String, String>) -> Option<usize> {
    let class = replication.get("class").map_or("", String::as_str);
    let given = match class.rsplit('.').next() {
        Some("LocalStrategy") => return None,
        Some("NetworkTopologyStrategy") => replication.get(DATA_CENTER).or(replication.get("replication_factor")),
        _ => replication.get("replication_factor"),
    };
    // With transient replication it is `3/1`.
    given.map_or(Some(0), |text| text.split('/').next()?.parse().ok())
}

/// The ring of a cluster.
#[derive(Debug)]
pub struct Ring {
    topology: Topology,
    /// Ascending.
    tokens: Arc<[i64]>,
    /// The node of each token.
    nodes: Vec<usize>,
    known: Mutex<Known>,
}

/// The replicas that were asked for, by number and whether racks count.
type Known = BTreeMap<(usize, bool), Arc<[u64]>>;

/// The nodes that own a key.
#[derive(Clone, Debug)]
pub struct Replicas {
    tokens: Arc<[i64]>,
    /// A bit per node for each range, which ends with the token at the same place.
    nodes: Arc<[u64]>,
}

impl Replicas {
    /// The last token of each range with its replicas, the first range first.
    pub fn ranges(&self) -> impl Iterator<Item = (i64, Vec<usize>)> {
        let nodes = |set: u64| (0..u64::BITS as usize).filter(|node| set & (1 << node) != 0).collect();
        self.tokens.iter().zip(self.nodes.iter()).map(move |(token, set)| (*token, nodes(*set)))
    }
}

impl Ring {
    /// Tokens at equal distances. Each round over the nodes has an order of its own, so that every node has all others as neighbours.
    pub fn new(topology: Topology) -> Ring {
        let all = topology.nodes * topology.tokens;
        let at = |place: usize| (((2 * place as u128 + 1) << 63) / all as u128) as u64 ^ (1 << 63);
        let tokens = (0..all).map(|place| at(place).cast_signed()).collect();
        let round = |number: usize| {
            let mut order: Vec<usize> = (0..topology.nodes).collect();
            if number > 0 {
                order.sort_by_key(|node| token::token(&[number.to_be_bytes(), node.to_be_bytes()].concat()));
            }
            order
        };
        Ring { topology, tokens, nodes: (0..topology.tokens).flat_map(round).collect(), known: Mutex::default() }
    }

    /// The tokens of a node, ascending.
    pub fn tokens_of(&self, node: usize) -> Vec<i64> {
        self.tokens.iter().zip(&self.nodes).filter(|(_, owner)| **owner == node).map(|(token, _)| *token).collect()
    }

    /// Who owns the rows of a keyspace with this replication.
    pub fn replicas(&self, replication: &BTreeMap<String, String>) -> Replicas {
        let has_racks = replication.get("class").is_some_and(|class| class.ends_with("NetworkTopologyStrategy"));
        let factor = replication_factor(replication).unwrap_or(self.topology.nodes).min(self.topology.nodes);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let nodes = known.entry((factor, has_racks)).or_insert_with(|| {
            let racks = if has_racks { self.topology.racks } else { 1 };
            (0..self.tokens.len()).map(|range| self.walk(range, factor, racks)).collect()
        });
        Replicas { tokens: self.tokens.clone(), nodes: nodes.clone() }
    }

    /// Walks on from a range to the first nodes in racks of their own. So many nodes may be in a rack that has one already as there are
    /// replicas more than racks (org.apache.cassandra.locator.NetworkTopologyStrategy; with one rack SimpleStrategy).
    fn walk(&self, range: usize, factor: usize, racks: usize) -> u64 {
        let (mut found, mut in_racks, mut repeats) = (0u64, 0u64, factor.saturating_sub(racks));
        let (before, after) = self.nodes.split_at(range);
        for node in after.iter().chain(before) {
            if found.count_ones() as usize == factor {
                break;
            }
            let rack = 1 << (node % racks);
            if found & (1 << node) != 0 || (in_racks & rack != 0 && repeats == 0) {
                continue;
            }
            repeats -= usize::from(in_racks & rack != 0);
            in_racks |= rack;
            found |= 1 << node;
        }
        found
    }
}

impl Replicas {
    /// Whether the node has the row of a key with this token.
    #[inline]
    pub fn has(&self, node: usize, token: i64) -> bool {
        let at = self.tokens.partition_point(|end| *end < token);
        // After the last token the ring begins again.
        self.nodes.get(if at == self.tokens.len() { 0 } else { at }).is_some_and(|nodes| nodes >> node & 1 == 1)
    }
}

/// The shard of a token, of so many (ScyllaDB's `biased-token-round-robin`).
#[inline]
pub fn shard_of(token: i64, shards: usize) -> usize {
    let biased = (token.cast_unsigned() ^ (1 << 63)) << IGNORED_BITS;
    ((u128::from(biased) * shards as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(nodes: u64, tokens: u64, racks: u64) -> Ring {
        Ring::new(Topology::new(nodes, tokens, racks, None).unwrap())
    }

    fn replication(class: &str, options: &[(&str, &str)]) -> BTreeMap<String, String> {
        let class = ("class", format!("org.apache.cassandra.locator.{class}"));
        let options = options.iter().map(|(option, value)| (*option, (*value).to_owned()));
        [class].into_iter().chain(options).map(|(option, value)| (option.to_owned(), value)).collect()
    }

    fn owners(ring: &Ring, replication: &BTreeMap<String, String>, token: i64) -> Vec<usize> {
        let replicas = ring.replicas(replication);
        (0..ring.topology.nodes).filter(|node| replicas.has(*node, token)).collect()
    }

    #[test]
    fn a_range_ends_with_its_token_and_the_ring_goes_round() {
        assert_eq!(ring(1, 1, 1).tokens_of(0), [0]);
        let ring = ring(4, 1, 1);
        let tokens: Vec<i64> = (0..4).flat_map(|node| ring.tokens_of(node)).collect();
        assert_eq!(tokens, [-3 << 61, -1 << 61, 1 << 61, 3 << 61]);
        let simple = replication("SimpleStrategy", &[("replication_factor", "2")]);
        for (token, nodes) in [
            (i64::MIN, [0, 1]),
            (tokens[0], [0, 1]),
            (tokens[0] + 1, [1, 2]),
            (0, [2, 3]),
            (tokens[3], [0, 3]),
            (tokens[3] + 1, [0, 1]),
            (i64::MAX, [0, 1]),
        ] {
            assert_eq!(owners(&ring, &simple, token), nodes, "{token}");
        }
    }

    #[test]
    fn every_node_has_as_many_tokens_and_every_row_as_many_replicas_as_asked_for() {
        for (nodes, tokens) in [(2, 1), (3, 7), (5, 16), (64, 256)] {
            let ring = ring(nodes, tokens, 1);
            assert!(ring.tokens.is_sorted_by(|one, other| one < other));
            for node in 0..ring.topology.nodes {
                assert_eq!(ring.tokens_of(node).len() as u64, tokens);
            }
            for factor in [1, 2, nodes] {
                let simple = replication("SimpleStrategy", &[("replication_factor", &factor.to_string())]);
                for key in 0..1_000i64 {
                    assert_eq!(owners(&ring, &simple, token::token(&key.to_be_bytes())).len() as u64, factor);
                }
            }
        }
    }

    #[test]
    fn replicas_of_a_data_center_are_spread_over_its_racks() {
        let ring = ring(6, 16, 3);
        let in_racks = |replication: &BTreeMap<String, String>, key: i64| {
            let owners = owners(&ring, replication, token::token(&key.to_be_bytes()));
            let mut racks: Vec<usize> = owners.iter().map(|node| node % 3).collect();
            racks.sort_unstable();
            racks
        };
        let simple = replication("SimpleStrategy", &[("replication_factor", "3")]);
        let of_all = replication("NetworkTopologyStrategy", &[("replication_factor", "3")]);
        let of_one = replication("NetworkTopologyStrategy", &[(DATA_CENTER, "5"), ("replication_factor", "3")]);
        for key in 0..1_000 {
            assert_eq!(in_racks(&of_all, key), [0, 1, 2]);
            let racks = in_racks(&of_one, key);
            assert!(racks.len() == 5 && (0..3).all(|rack| racks.contains(&rack)), "{racks:?}");
        }
        assert!((0..1_000).any(|key| in_racks(&simple, key) != [0, 1, 2]));
        assert_eq!(owners(&ring, &replication("LocalStrategy", &[]), 7).len(), 6);
    }

    #[test]
    fn shards_are_those_of_scylladb() {
        // The first two are from the tests of its drivers.
        for (token, shard) in
            [(-9_219_783_007_514_621_794, 3), (9_222_582_454_147_032_830, 3), (i64::MIN, 0), (i64::MAX, 3)]
        {
            assert_eq!(shard_of(token, 4), shard, "{token}");
        }
    }

    #[test]
    fn a_cluster_that_cannot_be_is_refused_by_a_sentence() {
        let error = |nodes, tokens, racks, shards| Topology::new(nodes, tokens, racks, shards).unwrap_err().to_string();
        assert_eq!(
            error(0, 1, 1, None),
            "--nodes 0 was asked for, and the embedded cluster has 1 to 64 on 127.0.0.1, 127.0.0.2 and so on; ask for a number from 1 to \
             64"
        );
        assert!(error(2, 257, 1, None).starts_with("tokens 257 was asked for"));
        assert_eq!(
            error(1, 1, 1, Some(16_385)),
            "--shards 16385 was asked for, and the embedded cluster has 1 to 16384, because clients of the sharding extension choose a \
             shard by a port from 49152 to 65535; ask for a number from 1 to 16384"
        );
        assert!(error(2, 1, 3, None).ends_with("of which there are 2; ask for up to 2 racks"));
        for text in [
            "",
            "-1",
            "+1",
            "1_",
            "three",
            "3,",
            "3,,",
            "3,tokens",
            "3,tokens=x",
            "3,tokens=2,tokens=3",
            "3,racks=1,racks=1",
            "3,shards=2",
            "tokens=3",
        ] {
            let error = text.parse::<Topology>().unwrap_err().to_string();
            assert!(error.starts_with("write the number of nodes"), "{text}: {error}");
        }
        for text in ["1", "3", "24,tokens=256,racks=3", "4,racks=2"] {
            assert_eq!(text.parse::<Topology>().unwrap().to_string(), text);
        }
        let two = Topology::new(2, 1, 1, None).unwrap();
        let check =
            |class, options: &[_]| two.check("ks", &replication(class, options)).map_err(|error| error.to_string());
        assert_eq!(check("SimpleStrategy", &[("replication_factor", "2")]), Ok(()));
        assert_eq!(
            check("SimpleStrategy", &[("replication_factor", "3")]).unwrap_err(),
            "The keyspace ks was to have 3 replicas of each row, and the embedded cluster has 2 nodes; write a replication factor of at \
             most 2, or ask for more --nodes"
        );
        let error = check("NetworkTopologyStrategy", &[("dc2", "1")]).unwrap_err();
        assert!(error.contains("no replica in datacenter1"), "{error}");
        let one = Topology::default().check("ks", &replication("SimpleStrategy", &[("replication_factor", "3")]));
        assert_eq!(one, Ok(()));
    }
}
