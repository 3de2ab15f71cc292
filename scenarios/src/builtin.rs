//! The scenarios that come with the program.

use crate::{Scenario, ScenarioError};

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

/// Bad days, after one on which nothing happens.
const DAYS: [(&str, &str); 12] = [
    ("calm", include_str!("../days/calm.toml")),
    ("closed", include_str!("../days/closed.toml")),
    ("half-closed", include_str!("../days/half-closed.toml")),
    ("node-stopped", include_str!("../days/node-stopped.toml")),
    ("node-frozen", include_str!("../days/node-frozen.toml")),
    ("errors", include_str!("../days/errors.toml")),
    ("no-answer", include_str!("../days/no-answer.toml")),
    ("late-answer", include_str!("../days/late-answer.toml")),
    ("slow-node", include_str!("../days/slow-node.toml")),
    ("forgotten", include_str!("../days/forgotten.toml")),
    ("events", include_str!("../days/events.toml")),
    ("control-lost", include_str!("../days/control-lost.toml")),
];

/// What a day asks that has no statements of its own: the schema on the first line, then the statements.
const OF_DAYS: &str = include_str!("../days/statements.toml");

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

/// The days of `cqldyno faults`, in the order in which they are shown.
pub fn days() -> Vec<Scenario> {
    DAYS.iter().filter_map(|(name, text)| day(text, name).ok()).collect()
}

/// The day that `text` describes in TOML: a scenario, or a name and a script alone. Then it reads loaded rows and inserts new ones, half
/// each, with three replicas.
///
/// # Errors
/// As [`Scenario::from_toml`]; `origin` stands in the message.
pub fn day(text: &str, origin: &str) -> Result<Scenario, ScenarioError> {
    let lines: Vec<&str> = text.lines().collect();
    let begins = |line: &&str, what: &str| line.trim_start().starts_with(what);
    let is_schema = |line: &&str| line.split_once('=').is_some_and(|(key, _)| key.trim() == "schema");
    if lines.iter().any(|line| begins(line, "[[statement]]") || is_schema(line)) {
        return Scenario::from_toml(text, origin);
    }
    let (schema, statements) = OF_DAYS.split_once('\n').unwrap_or((OF_DAYS, ""));
    let (head, script) = lines.split_at(lines.iter().position(|line| begins(line, "[")).unwrap_or(lines.len()));
    // In place of an empty line, so that messages name the lines of the file.
    let head = match head.split_last() {
        Some((last, head)) if last.trim().is_empty() => head,
        _ => head,
    };
    let whole = [head, &[schema], script, &[statements]].concat().join("\n");
    Scenario::from_toml(&whole, origin)
}

/// The TOML form of the built-in scenario or day of that name, with its comments.
pub fn builtin_toml(name: &str) -> Option<&'static str> {
    FILES.iter().chain(&DAYS).find(|(known, _)| *known == name).map(|(_, text)| *text)
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

    #[test]
    fn every_day_can_be_read_and_a_file_without_statements_has_those_of_all_days() {
        for (name, text) in DAYS {
            let day = day(text, name).unwrap();
            assert_eq!((day.name.as_str(), day.statements.len(), day.script.is_empty()), (name, 2, name == "calm"));
        }
        assert_eq!((days().len(), days()[0].statements == days()[1].statements), (DAYS.len(), true));
        let own = include_str!("../example.toml");
        assert_eq!(day(own, "own.toml").unwrap(), Scenario::from_toml(own, "own.toml").unwrap());
        let wrong = "name = \"mine\"\nabout = \"Mine.\"\n\n[[script]]\ndo = \"close\"\nat = \"soon\"\n";
        let error = day(wrong, "mine.toml").unwrap_err().to_string();
        assert!(error.contains("mine.toml") && error.contains("line 6"), "{error}");
    }
}
