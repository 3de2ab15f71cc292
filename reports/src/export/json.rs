//! The result model as it is.

use std::io::Write;

use serde::Serialize;
use serde_json::{Value, json};

use super::exporter::{ExportError, Exporter, Look};
use super::side_by_side::SideBySide;
use crate::{Analysis, Cell, Climbed, Combined, History, Limit, Recorded, Run, Step, SummaryRow, climbed};

pub(super) struct Json;

impl Exporter for Json {
    fn names(&self) -> [&'static str; 3] {
        ["json", "Everything: run, cells, summary, warnings and findings", "result.json"]
    }

    /// `{run, cells, summary, warnings, findings}`. The run is as it was measured; `reference` names whom the summary is against if
    /// that is another one than the run's own.
    fn write(&self, analysis: &Analysis, _: Look, out: &mut dyn Write) -> Result<(), ExportError> {
        write(&Whole::of(analysis, analysis.run, analysis.every_cell), out)
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
            whole: Whole::of(analysis, &one.run, one.cells.as_slice()),
        });
        let SideBySide { remarks, combined, .. } = SideBySide::new(named);
        let several = Several { runs: runs.collect(), remarks, combined: combined.as_ref().map(together) };
        Some(text(&several))
    }

    fn history(&self, history: &History, _: Look) -> Option<Result<String, ExportError>> {
        Some(text(history))
    }
}

fn text(document: &impl Serialize) -> Result<String, ExportError> {
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ladders: Vec<Ladders>,
    pub warnings: &'a [String],
    pub findings: &'a [String],
}

/// What a ladder came to, with its steps.
#[derive(Serialize)]
#[cfg_attr(test, derive(serde::Deserialize, schemars::JsonSchema))]
pub(crate) struct Ladders {
    /// [`crate::Contender::id`].
    contender: String,
    /// [`crate::ScenarioInfo::name`].
    scenario: String,
    /// [`crate::ArrangementInfo::id`].
    arrangement: String,
    /// The highest rate that held, in statements per second; absent if none did.
    held: Option<u64>,
    /// The lowest rate that failed; absent if none did.
    failed: Option<u64>,
    /// Whether the search came to its end.
    finished: bool,
    /// CPU time per statement at the highest rate that held, in microseconds.
    cpu_us: Option<f64>,
    /// What kept the lowest rate that failed from holding.
    limit: Option<Limit>,
    /// In the order in which they ran.
    steps: Vec<Step>,
}

impl Ladders {
    fn of(one: &Climbed) -> Ladders {
        let Climbed { contender, place, ladder } = one;
        Ladders {
            contender: contender.id.clone(),
            scenario: place.scenario.name.clone(),
            arrangement: place.arrangement.id.clone(),
            held: ladder.held(),
            failed: ladder.failed(),
            finished: ladder.next().is_none(),
            cpu_us: ladder.cpu_us(),
            limit: ladder.limit().cloned(),
            steps: ladder.steps.clone(),
        }
    }
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

impl<'a, C> Whole<'a, C> {
    /// With the run and its cells in that form.
    pub fn of(analysis: &'a Analysis, run: &'a Run, cells: C) -> Whole<'a, C> {
        let reference = analysis.reference.filter(|_| analysis.is_turned());
        Whole {
            run,
            cells,
            reference: reference.map(|one| one.id.as_str()),
            summary: &analysis.rows,
            ladders: climbed(analysis.run, analysis.every_cell).iter().map(Ladders::of).collect(),
            warnings: &analysis.warnings,
            findings: &analysis.findings,
        }
    }
}
