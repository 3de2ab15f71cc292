//! How many replicas a keyspace has, and where.

use std::fmt;
use std::str::FromStr;

/// The replicas of a keyspace, in the place of those of a scenario's schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replication {
    /// So many, whichever datacenters there are: SimpleStrategy.
    Simple(u32),
    /// So many in each of these datacenters: NetworkTopologyStrategy.
    Datacenters(Vec<(String, u32)>),
}

impl Replication {
    /// The map as CQL takes it.
    pub(crate) fn map(&self) -> String {
        match self {
            Replication::Simple(factor) => format!("{{'class': 'SimpleStrategy', 'replication_factor': {factor}}}"),
            Replication::Datacenters(all) => {
                let all: Vec<String> = all.iter().map(|(name, factor)| format!("'{name}': {factor}")).collect();
                format!("{{'class': 'NetworkTopologyStrategy', {}}}", all.join(", "))
            }
        }
    }
}

impl FromStr for Replication {
    type Err = String;

    /// Reads `3`, or `dc1=3,dc2=2`.
    fn from_str(text: &str) -> Result<Replication, String> {
        let factor = |text: &str| text.parse::<u32>().ok().filter(|factor| (1..=1_000).contains(factor));
        if let Some(factor) = factor(text) {
            return Ok(Replication::Simple(factor));
        }
        let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-. ".contains(c));
        let mut all: Vec<(String, u32)> = Vec::new();
        for part in text.split(',') {
            let found = part.split_once('=').and_then(|(name, text)| Some((name, factor(text)?)));
            match found.filter(|(name, _)| is_name(name)) {
                Some((name, _)) if all.iter().any(|(known, _)| known == name) => {
                    return Err(format!("the datacenter {name} is named twice; name it once"));
                }
                Some((name, factor)) => all.push((name.to_owned(), factor)),
                None => {
                    return Err(
                        "write the number of replicas, such as 3, or that of each datacenter, such as dc1=3,dc2=2"
                            .to_owned(),
                    );
                }
            }
        }
        Ok(Replication::Datacenters(all))
    }
}

impl fmt::Display for Replication {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Replication::Simple(factor) => factor.fmt(out),
            Replication::Datacenters(all) => {
                let all: Vec<String> = all.iter().map(|(name, factor)| format!("{name}={factor}")).collect();
                out.write_str(&all.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_read_as_they_are_written_and_a_name_cannot_leave_its_quotes() {
        for text in ["1", "3", "dc1=3", "us-east_1=3,eu west.2=2"] {
            assert_eq!(text.parse::<Replication>().unwrap().to_string(), text);
        }
        for text in ["", "0", "-1", "1001", "dc1", "dc1=", "=3", "dc1=0", "dc1=3,", "d'c=3", "SimpleStrategy:3"] {
            let error = text.parse::<Replication>().unwrap_err();
            assert!(error.starts_with("write the number of replicas, such as 3"), "{text}: {error}");
        }
        assert!("a=1,a=2".parse::<Replication>().unwrap_err().contains("a is named twice"));
    }
}
