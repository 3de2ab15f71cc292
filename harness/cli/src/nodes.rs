//! How many embedded nodes there are, and what each has.

use anyhow::Result;
use cqldyno_cluster::Topology;

use crate::heading::SETUP;
use crate::outcome::usage;

/// The ring of the embedded cluster.
#[derive(clap::Args)]
pub struct Nodes {
    /// Embedded nodes, on 127.0.0.1, 127.0.0.2, ... [default: 1, on bad days 3]
    ///
    /// Options follow: 24,tokens=256,racks=3. `tokens` are those of each node on the Murmur3 ring, up to 256; `racks` are for
    /// NetworkTopologyStrategy.
    #[arg(long, value_name = "N[,KEY=N]", value_parser = str::parse::<Topology>, help_heading = SETUP)]
    pub nodes: Option<Topology>,
}

impl Nodes {
    /// The cluster that was asked for, with so many shards of each node.
    pub fn topology(&self, shards: Option<u64>) -> Result<Topology> {
        self.nodes.unwrap_or_default().with_shards(shards).map_err(usage)
    }
}
