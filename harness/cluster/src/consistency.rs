//! Consistency levels: what a keyspace's replication asks of the nodes that are up.

use std::collections::BTreeMap;

use crate::error::{CqlError, Result, invalid};
use crate::ring::{DATA_CENTER, Topology, replication_factor};

/// The levels by their codes (section 3 of the protocol's specification).
const NAMES: [&str; 11] = [
    "ANY",
    "ONE",
    "TWO",
    "THREE",
    "QUORUM",
    "ALL",
    "LOCAL_QUORUM",
    "EACH_QUORUM",
    "SERIAL",
    "LOCAL_SERIAL",
    "LOCAL_ONE",
];

const ANY: u16 = 0;
const QUORUM: u16 = 4;
const LOCAL_QUORUM: u16 = 6;
const EACH_QUORUM: u16 = 7;
pub const SERIAL: u16 = 8;
const LOCAL_SERIAL: u16 = 9;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access<'t> {
    Read,
    Write,
    /// Of the counters of the table with this name.
    Count(&'t str),
    /// A BATCH, which Cassandra lets pass at the serial levels.
    Batch,
    /// With conditions, whose serial consistency comes first.
    Conditional(u16),
}

/// The replicas of a keyspace's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaCount {
    asked: usize,
    up: usize,
    has_data_centers: bool,
}

/// The levels that a statement can be executed at, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Levels(u16);

impl Levels {
    /// For what has no replicas: DDL and the tables that describe a node.
    pub const ALL: Levels = Levels(u16::MAX);

    #[inline]
    pub fn have(self, level: u16) -> bool {
        (u32::from(self.0) >> level.min(31)) & 1 != 0
    }
}

impl ReplicaCount {
    /// The tables of the system: each node has its own.
    pub const LOCAL: ReplicaCount = ReplicaCount { asked: 1, up: 1, has_data_centers: false };

    /// Of a keyspace with this replication. All nodes are up.
    pub fn of(replication: &BTreeMap<String, String>, topology: Topology) -> ReplicaCount {
        let Some(asked) = replication_factor(replication) else { return ReplicaCount::LOCAL };
        // One node takes every keyspace, even one that has no replica in its data center.
        let asked = asked.max(1);
        let has_data_centers = replication.get("class").is_some_and(|class| class.ends_with("NetworkTopologyStrategy"));
        ReplicaCount { asked, up: asked.min(topology.nodes()), has_data_centers }
    }

    /// The levels that pass [`ReplicaCount::check`].
    pub fn levels(self, access: Access<'_>) -> Levels {
        let passes = |level: &u16| self.check(*level, access).is_ok();
        Levels((0..NAMES.len() as u16).filter(passes).fold(0, |levels, level| levels | 1 << level))
    }

    /// Refuses a level that does not fit the request, or that needs more replicas than are up.
    ///
    /// # Errors
    /// Invalid (0x2200) or unavailable (0x1000), with Cassandra's texts.
    pub fn check(self, level: u16, access: Access<'_>) -> Result<()> {
        let is_serial = matches!(level, SERIAL | LOCAL_SERIAL);
        match access {
            Access::Read if level == ANY => invalid("ANY ConsistencyLevel is only supported for writes"),
            // Reads at a serial level are read as from its quorum.
            Access::Read if is_serial => self.enough(serial_quorum(level)),
            Access::Write if is_serial => invalid("You must use conditional updates for serializable writes"),
            Access::Count(table) if level == ANY => {
                invalid(format!("Consistency level ANY is not yet supported for counter table {table}"))
            }
            Access::Count(_) if is_serial => invalid("Counter operations are inherently non-serializable"),
            Access::Conditional(serial) => {
                if is_serial {
                    return invalid(format!(
                        "{} is not supported as conditional update commit consistency. Use ANY if you mean \"make sure it is \
                         accepted but I don't care how many replicas commit it for non-SERIAL reads\"",
                        name(level)
                    ));
                }
                if level == EACH_QUORUM && !self.has_data_centers {
                    return invalid(
                        "consistency level EACH_QUORUM not compatible with replication strategy \
                         (org.apache.cassandra.locator.SimpleStrategy)",
                    );
                }
                if !matches!(serial, SERIAL | LOCAL_SERIAL) {
                    return invalid(
                        "Invalid consistency for conditional update. Must be one of SERIAL or LOCAL_SERIAL",
                    );
                }
                self.enough(serial_quorum(serial))?;
                self.enough(level)
            }
            _ => self.enough(level),
        }
    }

    fn enough(self, level: u16) -> Result<()> {
        let required = match name(level) {
            "ANY" => 0,
            "ONE" | "LOCAL_ONE" => 1,
            "TWO" => 2,
            "THREE" => 3,
            "ALL" => self.asked,
            _ => self.asked / 2 + 1,
        };
        if self.up >= required {
            return Ok(());
        }
        // As in Cassandra, which then counts the replicas of a data center, and of one without enough none.
        let each = level == EACH_QUORUM && self.has_data_centers;
        let (place, alive) = if each { (format!(" in DC {DATA_CENTER}"), 0) } else { (String::new(), self.up) };
        let what = format!("{}{place}", name(level));
        Err(CqlError::Unavailable { what, level, required: required as i32, alive: alive as i32 })
    }
}

fn serial_quorum(serial: u16) -> u16 {
    if serial == LOCAL_SERIAL { LOCAL_QUORUM } else { QUORUM }
}

fn name(level: u16) -> &'static str {
    NAMES.get(usize::from(level)).copied().unwrap_or("UNKNOWN")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(class: &str, factor: &str, nodes: u64) -> ReplicaCount {
        let option = if class == "SimpleStrategy" { "replication_factor" } else { DATA_CENTER };
        let replication = [("class", class), (option, factor)].map(|(key, value)| (key.to_owned(), value.to_owned()));
        ReplicaCount::of(&replication.into(), Topology::new(nodes, 1, 1, None).unwrap())
    }

    fn passing(count: ReplicaCount, access: Access<'_>) -> Vec<&'static str> {
        let levels = count.levels(access);
        (0..20).filter(|level| levels.have(*level)).map(name).collect()
    }

    #[test]
    fn one_replica_serves_every_level_but_those_that_need_more_or_are_of_the_other_kind() {
        let one = count("SimpleStrategy", "1", 1);
        let both = ["ONE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM"];
        assert_eq!(passing(one, Access::Read), [&both[..], &["SERIAL", "LOCAL_SERIAL", "LOCAL_ONE"]].concat());
        assert_eq!(passing(one, Access::Write), [&["ANY"], &both[..], &["LOCAL_ONE"]].concat());
        assert_eq!(passing(one, Access::Count("t")), [&both[..], &["LOCAL_ONE"]].concat());
        let conditional = passing(one, Access::Conditional(SERIAL));
        assert_eq!(conditional, ["ANY", "ONE", "QUORUM", "ALL", "LOCAL_QUORUM", "LOCAL_ONE"]);
        assert!(passing(one, Access::Conditional(QUORUM)).is_empty());
    }

    #[test]
    fn replicas_beyond_the_nodes_are_down() {
        let three_of_one = count("SimpleStrategy", "3", 1);
        assert_eq!(passing(three_of_one, Access::Write), ["ANY", "ONE", "LOCAL_ONE"]);
        assert!(passing(three_of_one, Access::Conditional(SERIAL)).is_empty());
        assert_eq!(
            three_of_one.check(QUORUM, Access::Read),
            Err(CqlError::Unavailable { what: "QUORUM".to_owned(), level: QUORUM, required: 2, alive: 1 })
        );
        let three_of_three = count("NetworkTopologyStrategy", "3", 3);
        assert_eq!(passing(three_of_three, Access::Write).len(), 9);
        assert_eq!(passing(count("NetworkTopologyStrategy", "2", 3), Access::Write).len(), 8, "all but THREE");
    }

    #[test]
    fn the_unavailable_level_is_named_as_cassandra_names_it() {
        let text = |count: ReplicaCount, level, access| count.check(level, access).unwrap_err().to_string();
        let (simple, network) = (count("SimpleStrategy", "3", 1), count("NetworkTopologyStrategy", "3", 1));
        assert_eq!(text(simple, SERIAL, Access::Read), "Cannot achieve consistency level QUORUM");
        assert_eq!(text(simple, SERIAL, Access::Batch), "Cannot achieve consistency level SERIAL");
        assert_eq!(text(simple, EACH_QUORUM, Access::Write), "Cannot achieve consistency level EACH_QUORUM");
        let of_data_center = "Cannot achieve consistency level EACH_QUORUM in DC datacenter1";
        assert_eq!(text(network, EACH_QUORUM, Access::Write), of_data_center);
        let serial = Access::Conditional(LOCAL_SERIAL);
        assert_eq!(text(network, ANY, serial), "Cannot achieve consistency level LOCAL_QUORUM");
    }
}
