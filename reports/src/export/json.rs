//! The result model as it is.

use serde::Serialize;

use crate::against::turned;
use crate::export::side_by_side::SideBySide;
use crate::{Cell, Recorded, Run, Summary, SummaryRow, reference};

/// A run as one document.
#[derive(Serialize)]
struct Whole<'a> {
    run: &'a Run,
    cells: &'a [Cell],
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    summary: Vec<SummaryRow>,
    warnings: Vec<String>,
}

impl<'a> Whole<'a> {
    /// Summed up against the contender of that id, or against the run's own reference where none is named.
    fn new(run: &'a Run, cells: &'a [Cell], other: Option<&str>) -> Whole<'a> {
        let (turned, Summary { rows: summary, warnings }) = turned(run, cells, other);
        // Who reads the document back gets the run as it was measured, with its own reference and control.
        let reference = reference(&turned).filter(|one| reference(run).is_some_and(|own| own.id != one.id));
        Whole { run, cells, reference: reference.map(|one| one.id.clone()), summary, warnings }
    }
}

/// `{run, cells, summary, warnings}`: the warnings are sentences on what makes the run or tables of it doubtful.
///
/// # Errors
/// When the model cannot be written as JSON, which none of its types brings about.
pub fn json(run: &Run, cells: &[Cell]) -> Result<String, serde_json::Error> {
    json_against(run, cells, None)
}

/// As [`json`], with a summary against the contender of that id, or against the run's own reference where none is named. The run
/// in it is as it was measured; `reference` says whom the summary is against where that is another one.
///
/// # Errors
/// As [`json`].
pub fn json_against(run: &Run, cells: &[Cell], reference: Option<&str>) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(&Whole::new(run, cells, reference))? + "\n")
}

/// `{runs, remarks}`: each run is the document of [`json`] with the `name` that it is to have and `notes` on how it was kept; the
/// remarks say why there is no ratio across runs and in what they differ.
///
/// # Errors
/// As [`json`].
pub fn json_of_runs(named: &[(String, &Recorded)]) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Named<'a> {
        name: &'a str,
        notes: &'a [String],
        #[serde(flatten)]
        whole: Whole<'a>,
    }
    #[derive(Serialize)]
    struct Several<'a> {
        runs: Vec<Named<'a>>,
        remarks: Vec<String>,
    }
    let runs = named.iter().map(|(name, one)| Named {
        name,
        notes: &one.notes,
        whole: Whole::new(&one.run, &one.cells, None),
    });
    let several = Several { runs: runs.collect(), remarks: SideBySide::new(named).remarks };
    Ok(serde_json::to_string_pretty(&several)? + "\n")
}
