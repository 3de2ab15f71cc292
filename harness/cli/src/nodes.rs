//! How many embedded nodes there are, and what each has.

use anyhow::Result;
use cqldyno_cluster::Topology;

use crate::count::count_or_none;
use crate::heading::SETUP;
use crate::outcome::usage;

/// The ring of the embedded cluster.
#[derive(clap::Args)]
pub struct Nodes {
    /// Embedded nodes, on 127.0.0.1, 127.0.0.2, ... [default: 1]
    #[arg(long, value_name = "N", value_parser = count_or_none, help_heading = SETUP)]
    nodes: Option<u64>,
    /// Tokens of each embedded node on the Murmur3 ring, up to 256 [default: 1]
    #[arg(long, value_name = "N", value_parser = count_or_none, help_heading = SETUP)]
    tokens: Option<u64>,
    /// Racks of the embedded nodes, for NetworkTopologyStrategy [default: 1]
    #[arg(long, value_name = "N", value_parser = count_or_none, help_heading = SETUP)]
    racks: Option<u64>,
    /// Shards of each embedded node, with ScyllaDB's sharding extension [default: without it]
    #[arg(long, value_name = "N", value_parser = count_or_none, help_heading = SETUP)]
    shards: Option<u64>,
}

impl Nodes {
    /// The cluster that was asked for.
    pub fn topology(&self) -> Result<Topology> {
        let of = |number: Option<u64>| number.unwrap_or(1);
        Topology::new(of(self.nodes), of(self.tokens), of(self.racks), self.shards).map_err(usage)
    }

    /// The same as arguments of `cqldyno serve`.
    pub fn arguments(&self) -> Vec<String> {
        let flags =
            [("--nodes", self.nodes), ("--tokens", self.tokens), ("--racks", self.racks), ("--shards", self.shards)];
        let given = flags.into_iter().filter_map(|(flag, number)| Some([flag.to_owned(), number?.to_string()]));
        given.flatten().collect()
    }
}
