//! The result model as it is.

use serde::Serialize;

use crate::{Cell, Run, Summary, SummaryRow};

#[derive(Serialize)]
struct Whole<'a> {
    run: &'a Run,
    cells: &'a [Cell],
    summary: Vec<SummaryRow>,
    warnings: Vec<String>,
}

/// `{run, cells, summary, warnings}`: the warnings are sentences on what makes the run or tables of it doubtful.
///
/// # Errors
/// When the model cannot be written as JSON, which none of its types brings about.
pub fn json(run: &Run, cells: &[Cell]) -> Result<String, serde_json::Error> {
    let Summary { rows: summary, warnings } = Summary::new(run, cells);
    let mut text = serde_json::to_string_pretty(&Whole { run, cells, summary, warnings })?;
    text.push('\n');
    Ok(text)
}
