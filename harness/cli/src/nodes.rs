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
    ///
    /// Options follow: 24,tokens=256,racks=3. `tokens` are those of each node on the Murmur3 ring, up to 256; `racks` are for
    /// NetworkTopologyStrategy.
    #[arg(long, value_name = "N[,KEY=N]", value_parser = str::parse::<Topology>, help_heading = SETUP)]
    nodes: Option<Topology>,
    /// Shards of each embedded node, with ScyllaDB's sharding extension [default: without it]
    #[arg(long, value_name = "N", value_parser = count_or_none, help_heading = SETUP)]
    shards: Option<u64>,
}

impl Nodes {
    /// The cluster that was asked for.
    pub fn topology(&self) -> Result<Topology> {
        self.nodes.unwrap_or_default().with_shards(self.shards).map_err(usage)
    }

    /// The same as arguments of `cqldyno serve`.
    pub fn arguments(&self) -> Vec<String> {
        let flags =
            [("--nodes", self.nodes.map(|nodes| nodes.to_string())), ("--shards", self.shards.map(|n| n.to_string()))];
        flags.into_iter().filter_map(|(flag, value)| Some([flag.to_owned(), value?])).flatten().collect()
    }
}
