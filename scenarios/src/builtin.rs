//! The scenarios that come with the program.

use crate::Scenario;

const FILES: [(&str, &str); 3] = [
    ("writes", include_str!("../builtin/writes.toml")),
    ("reads", include_str!("../builtin/reads.toml")),
    ("mixed", include_str!("../builtin/mixed.toml")),
];

const DEFAULTS: usize = 3;

/// The built-in scenarios, in the order in which they are listed.
pub fn builtins() -> Vec<Scenario> {
    FILES.iter().filter_map(|(name, text)| Scenario::from_toml(text, name).ok()).collect()
}

/// The built-in scenarios that are run where none is named: the first three.
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
    fn every_built_in_scenario_can_be_read_and_is_named_as_its_file() {
        for (name, text) in FILES {
            assert_eq!(Scenario::from_toml(text, name).unwrap().name, name);
        }
        assert_eq!(builtins().len(), FILES.len());
        assert!(builtin("nothing").is_none());
    }
}
