//! The data inside a page must be the run's.

use std::fs;
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cqldyno_reports::{CELLS, PAGE_LIMIT, Recorded, stand_ins};
use flate2::read::GzDecoder;

use crate::path::{of_the_machine, without_code};
use crate::store::{PAGE, RUN};

/// Checks that the data in the page are the raw cells, or exactly what a page without room keeps of them.
///
/// The page itself is not compared: it changes with every change of the exporter.
pub(crate) fn page(folder: &Path, recorded: &Recorded, say: &mut impl FnMut(String)) {
    let page = fs::read_to_string(folder.join(PAGE)).unwrap_or_default();
    if page.is_empty() {
        return say(": it is missing; publish the run again.".to_owned());
    }
    if page.len() > PAGE_LIMIT {
        say(format!(": it has {} bytes, and a page has at most {PAGE_LIMIT}.", page.len()));
    }
    let [result, table] = ["result.json", "cells.csv"].map(|name| data(&page, name));
    let [of_result, of_table] = [&result, &table].map(|text| text.as_deref().unwrap_or_default().into());
    let texts = [without_code(&page), of_result, of_table];
    texts.iter().find_map(|text| of_the_machine(text)).into_iter().for_each(&mut *say);
    let Some(result) = result else {
        if !page.contains("The page has no room for the cells of this run") {
            say(": the data that it offers for download cannot be read; publish the run again.".to_owned());
        }
        return;
    };
    if !Recorded::from_document(&result).is_ok_and(|found| stands_for(&found, recorded)) {
        say(format!(": the data in it are not those of {RUN} and {CELLS}; publish the run again."));
    }
}

/// The text of a file that the page offers for download.
fn data(page: &str, name: &str) -> Option<String> {
    let (_, rest) = page.split_once(&format!("download=\"{name}.gz\""))?;
    let (_, rest) = rest.split_once("base64,")?;
    let (encoded, _) = rest.split_once('"')?;
    let bytes = STANDARD.decode(encoded).ok()?;
    let mut text = String::new();
    GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Whether the page's data are the run, or what a page keeps of it.
fn stands_for(found: &Recorded, recorded: &Recorded) -> bool {
    let is_whole = found.run == recorded.run && found.cells == recorded.cells;
    let (run, cells) = stand_ins(&recorded.run, &recorded.cells);
    is_whole || (found.run == run && cells.eq(found.cells.iter().cloned()))
}

#[cfg(test)]
mod tests {
    use cqldyno_reports::{Cell, Checksum, sample};

    use super::*;

    /// A run with a block that was run twice.
    fn recorded() -> Recorded {
        let (mut run, mut cells) = sample::blocks(2);
        let again: Vec<Cell> =
            cells.iter().filter(|cell| cell.block == 1).map(|cell| Cell { attempt: 2, ..cell.clone() }).collect();
        cells.extend(again);
        run.checksum = Some(Checksum::of_cells(&cells));
        Recorded { run, cells, notes: Vec::new() }
    }

    fn stood_in(recorded: &Recorded) -> Recorded {
        let (run, cells) = stand_ins(&recorded.run, &recorded.cells);
        Recorded { run, cells: cells.collect(), notes: Vec::new() }
    }

    #[test]
    fn what_a_page_keeps_where_it_has_no_room_stands_for_its_run() {
        let recorded = recorded();
        let kept = stood_in(&recorded);
        assert!(kept.cells.len() < recorded.cells.len() && kept.run.checksum.is_none());
        assert!(stands_for(&kept, &recorded) && stands_for(&recorded, &recorded));
    }

    #[test]
    fn a_page_that_lacks_or_changes_anything_else_does_not() {
        type Damage = fn(&mut Recorded);
        let changes: [(Damage, &str); 7] = [
            (|found| drop(found.cells.pop()), "a cell is missing"),
            (|found| found.run.plan.count += 1, "another plan"),
            (|found| found.run.cqldyno = "9.9.9".to_owned(), "another version"),
            (|found| found.run.checksum = Some(Checksum::of_cells(&found.cells)), "a checksum of less"),
            (|found| found.cells[0].findings = vec!["Nothing was wrong.".to_owned()], "a finding of nobody's"),
            (|found| found.cells[0].void = Some("No.".to_owned()), "another judgement"),
            (|found| found.cells[0].series = sample::run().1.remove(0).series, "large parts of some cells alone"),
        ];
        let recorded = recorded();
        for (change, what) in changes {
            let mut found = stood_in(&recorded);
            change(&mut found);
            assert!(!stands_for(&found, &recorded), "{what}");
        }
    }
}
