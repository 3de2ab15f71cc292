//! What is asked of every contender: the scenario type, its TOML form and the built-in scenarios.
