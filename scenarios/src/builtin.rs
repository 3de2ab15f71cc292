//! The scenarios that come with the program.

use crate::Scenario;

const FILES: [(&str, &str); 11] = [
    ("writes", include_str!("../builtin/writes.toml")),
    ("reads", include_str!("../builtin/reads.toml")),
    ("mixed", include_str!("../builtin/mixed.toml")),
    ("rows", include_str!("../builtin/rows.toml")),
    ("types", include_str!("../builtin/types.toml")),
    ("payload-1k", include_str!("../builtin/payload-1k.toml")),
    ("payload-16k", include_str!("../builtin/payload-16k.toml")),
    ("batch", include_str!("../builtin/batch.toml")),
    ("prepare", include_str!("../builtin/prepare.toml")),
    ("unprepared", include_str!("../builtin/unprepared.toml")),
    ("connect", include_str!("../builtin/connect.toml")),
];

const DEFAULTS: usize = 3;

/// The built-in scenarios, in the order in which they are listed.
pub fn builtins() -> Vec<Scenario> {
    FILES.iter().filter_map(|(name, text)| Scenario::from_toml(text, name).ok()).collect()
}

/// The first three built-in scenarios, which run if none is named.
pub fn defaults() -> Vec<Scenario> {
    builtins().into_iter().take(DEFAULTS).collect()
}

/// The built-in scenario of that name.
pub fn builtin(name: &str) -> Option<Scenario> {
    builtins().into_iter().find(|scenario| scenario.name == name)
}

/// The TOML form of the built-in scenario of that name, with its comments.
pub fn builtin_toml(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commented_example_is_read_and_its_mix_has_the_orders_that_it_says() {
        let example = Scenario::from_toml(include_str!("../example.toml"), "example.toml").unwrap();
        let workload = crate::Workload::new(&example, 10_000, 100, 7).unwrap();
        assert_eq!([0, 1, 2].map(|index| workload.share(index)), [6_000, 3_000, 1_000]);
        let writes = (0..10_000).map(|ticket| workload.issue(ticket)).filter(|issue| issue.statement == 0);
        assert!(writes.map(|issue| issue.key).eq(0..6_000));
        assert_eq!(example.pages(&example.statements[2]), 3);
        // 10,000 sensors and 3,000 / 10 of the warm-up's, 500 days of 250 rows and those of the warm-up.
        assert_eq!(workload.load().iter().map(|part| part.rows()).sum::<u64>(), 10_000 + 100 + 600 * 250);
    }

    #[test]
    fn the_scenario_for_a_real_cassandra_is_read_and_loads_what_its_transactions_meet() {
        let scenario = Scenario::from_toml(include_str!("../cassandra.toml"), "cassandra.toml").unwrap();
        let workload = crate::Workload::new(&scenario, 1_000, 100, 7).unwrap();
        assert_eq!(workload.load().iter().map(|part| part.statement).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(workload.read_back().iter().map(|part| part.statement).collect::<Vec<_>>(), [0, 1, 2, 4]);
        let types = Scenario::from_toml(include_str!("../cassandra-types.toml"), "cassandra-types.toml").unwrap();
        assert_eq!(types.statements[0].values.len(), 4);
    }

    #[test]
    fn every_built_in_scenario_can_be_read_and_is_named_as_its_file() {
        for (name, text) in FILES {
            assert_eq!(Scenario::from_toml(text, name).unwrap().name, name);
        }
        assert_eq!(builtins().len(), FILES.len());
        assert!(builtin("nothing").is_none());
    }
}
