//! Words that shells complete.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};

/// Takes any word, and offers those that the function returns for completion.
#[derive(Clone)]
pub struct Known(pub fn() -> Vec<String>);

impl TypedValueParser for Known {
    type Value = String;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, word: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, word)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}
