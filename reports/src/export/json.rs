//! The result model as it is.

use std::io::Write;

use serde::Serialize;
use serde_json::{Value, json};

use super::exporter::{ExportError, Exporter, Look};
use super::side_by_side::SideBySide;
use crate::{Analysis, Cell, Combined, History, Recorded, Run, SummaryRow};

pub(super) struct Json;

impl Exporter for Json {
    fn names(&self) -> [&'static str; 3] {
        ["json", "Everything: run, cells, summary, warnings and findings", "result.json"]
    }

    /// `{run, cells, summary, warnings, findings}`. The run is as it was measured; `reference` names whom the summary is against if
    /// that is another one than the run's own.
    fn write(&self, analysis: &Analysis, _: Look, out: &mut dyn Write) -> Result<(), ExportError> {
        write(&Whole::of(analysis), out)
    }

    /// `{runs, remarks, combined}`: each run is the document of one run with its `name` and `notes` on how it was kept. Runs of one plan
    /// have a combined table; of others the remarks say why there is no ratio and in what they differ.
    fn several(&self, named: &[(String, &Recorded)], _: Look) -> Option<Result<String, ExportError>> {
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
            #[serde(skip_serializing_if = "Option::is_none")]
            combined: Option<Value>,
        }
        let analyses: Vec<Analysis> = named.iter().map(|(_, one)| Analysis::new(&one.run, &one.cells)).collect();
        let runs = named.iter().zip(&analyses).map(|((name, one), analysis)| Named {
            name,
            notes: &one.notes,
            whole: Whole::of(analysis),
        });
        let SideBySide { remarks, combined, .. } = SideBySide::new(named);
        let several = Several { runs: runs.collect(), remarks, combined: combined.as_ref().map(together) };
        Some(text(&several).map_err(ExportError::from))
    }

    fn history(&self, history: &History, _: Look) -> Option<Result<String, ExportError>> {
        Some(text(history).map_err(ExportError::from))
    }
}

pub(super) fn text(document: &impl Serialize) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(document)? + "\n")
}

/// The same as [`text`].
pub(super) fn write(document: &impl Serialize, out: &mut dyn Write) -> Result<(), ExportError> {
    match serde_json::to_writer_pretty(&mut *out, document) {
        Err(error) if error.is_io() => Err(ExportError::Write(error.into())),
        written => Ok(written.map(|()| out.write_all(b"\n"))??),
    }
}

#[derive(Serialize)]
pub(super) struct Whole<'a, C = &'a [Cell]> {
    pub run: &'a Run,
    pub cells: C,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<&'a str>,
    pub summary: &'a [SummaryRow],
    pub warnings: &'a [String],
    pub findings: &'a [String],
}

fn together(combined: &Combined) -> Value {
    let analysis = &combined.analysis;
    json!({
        "reference": analysis.reference.map(|one| &one.id),
        "rows": combined.rows,
        "spread": combined.spread,
        "agreement": combined.agreement,
        "warnings": &analysis.warnings,
        "findings": &analysis.findings,
    })
}

impl<'a> Whole<'a> {
    pub fn of(analysis: &'a Analysis) -> Whole<'a> {
        let reference = analysis.reference.filter(|_| analysis.is_turned());
        Whole {
            run: analysis.run,
            cells: analysis.every_cell,
            reference: reference.map(|one| one.id.as_str()),
            summary: &analysis.rows,
            warnings: &analysis.warnings,
            findings: &analysis.findings,
        }
    }

    /// The same of another form of its run and cells.
    pub fn with<C>(self, run: &'a Run, cells: C) -> Whole<'a, C> {
        let Whole { reference, summary, warnings, findings, .. } = self;
        Whole { run, cells, reference, summary, warnings, findings }
    }
}
