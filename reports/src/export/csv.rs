//! One row a measure.

use crate::text::plain;
use crate::{Cell, Measure, Run};

const HEADER: &str =
    "contender,label,scenario,arrangement,block,pass,attempt,measure,value,unit,unavailable,void,failed";

/// Every measure of every cell as a row of its own, with a header (RFC 4180). A cell that failed, and a contender that could
/// not be asked, is a row without a measure.
pub fn csv(run: &Run, cells: &[Cell]) -> String {
    let mut out = format!("{HEADER}\r\n");
    for contender in &run.contenders {
        if let Some(why) = &contender.unavailable {
            let nothing = "";
            line(
                &mut out,
                &[
                    &contender.id,
                    &contender.label,
                    nothing,
                    nothing,
                    nothing,
                    nothing,
                    nothing,
                    nothing,
                    nothing,
                    nothing,
                    why,
                    nothing,
                    nothing,
                ],
            );
        }
    }
    for cell in cells {
        let block = cell.block.to_string();
        let attempt = cell.attempt.to_string();
        let void = cell.void.as_deref().unwrap_or_default();
        let failed = cell.failed.as_deref().unwrap_or_default();
        let mut row = |measure: &str, value: &str, unit: &str, unavailable: &str| {
            line(
                &mut out,
                &[
                    &cell.contender,
                    &cell.label,
                    &cell.scenario,
                    &cell.arrangement,
                    &block,
                    cell.pass.name(),
                    &attempt,
                    measure,
                    value,
                    unit,
                    unavailable,
                    void,
                    failed,
                ],
            );
        };
        if cell.measures.is_empty() {
            row("", "", "", "");
        }
        for (id, measure) in &cell.measures {
            match measure {
                Measure::Value { value, unit } => row(id, &value.to_string(), unit.symbol(), ""),
                Measure::Unavailable { unavailable } => row(id, "", "", unavailable),
            }
        }
    }
    out
}

fn line(out: &mut String, fields: &[&str]) {
    for (place, field) in fields.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        out.push_str(&quoted(&plain(field)));
    }
    out.push_str("\r\n");
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.to_owned() }
}
