//! The result model as it is.

use serde::Serialize;

use crate::{Cell, Run, SummaryRow, summary};

#[derive(Serialize)]
struct Whole<'a> {
    run: &'a Run,
    cells: &'a [Cell],
    summary: Vec<SummaryRow>,
}

/// `{run, cells, summary}`.
///
/// # Errors
/// When the model cannot be written as JSON, which none of its types brings about.
pub fn json(run: &Run, cells: &[Cell]) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&Whole { run, cells, summary: summary(run, cells) })?;
    text.push('\n');
    Ok(text)
}
