//! Flame graphs of cells whose stacks were sampled, and how they differ from the reference's.

use std::fs;

use cqldyno_meter::{Artifact, STACKS, differential, picture};
use cqldyno_reports::Cell;

use crate::record::folder::{RunFolder, file_stem};

/// The folder of the pictures, and what a cell calls its own.
const PICTURE: &str = "flamegraph";
/// What a cell calls the picture of how it differs from the reference.
const DIFFERENCE: &str = "flamegraph_against_reference";

/// A name in the run folder, or why it is not there.
type Drawn = Result<String, Box<dyn std::error::Error>>;

/// Draws the cell's own picture and those that compare it with `cells`, which ended before; what failed.
pub(super) fn draw(
    folder: &RunFolder,
    stem: &str,
    reference: Option<&str>,
    cells: &[Cell],
    cell: &mut Cell,
) -> Vec<String> {
    if !cell.files.contains_key(STACKS) {
        return Vec::new();
    }
    let mut trouble = Vec::new();
    match own(folder, stem, cell) {
        Ok(name) => drop(cell.files.insert(PICTURE.to_owned(), name)),
        Err(error) => trouble.push(error),
    }
    let is_pair = |other: &&Cell| {
        (other.pass, &other.scenario, &other.arrangement) == (cell.pass, &cell.scenario, &cell.arrangement)
            && other.attempt == cell.attempt
            && other.files.contains_key(STACKS)
    };
    let others: Vec<&Cell> = cells.iter().filter(is_pair).collect();
    if reference == Some(&cell.contender) {
        // Those that came before the reference.
        let results = others.iter().filter(|other| other.contender != cell.contender);
        trouble.extend(results.filter_map(|other| difference(folder, cell, other).err()));
    } else if let Some(base) = others.iter().find(|other| reference == Some(&other.contender)) {
        match difference(folder, base, cell) {
            Ok(name) => drop(cell.files.insert(DIFFERENCE.to_owned(), name)),
            Err(error) => trouble.push(error),
        }
    }
    trouble.into_iter().map(|trouble| trouble.to_string()).collect()
}

/// The cell's own picture; its name in the run folder.
fn own(folder: &RunFolder, stem: &str, cell: &Cell) -> Drawn {
    let title = format!("{}, {}, {}", cell.label, cell.scenario, cell.arrangement);
    let bytes = picture(&stacks(folder, cell)?, &title)?;
    Ok(folder.keep_artifact(Some(stem), &Artifact { kind: PICTURE, extension: "svg", bytes })?)
}

/// The picture of how `cell` differs from the reference's cell; its name in the run folder.
fn difference(folder: &RunFolder, reference: &Cell, cell: &Cell) -> Drawn {
    let title = format!("{} against {}, {}, {}", cell.label, reference.label, cell.scenario, cell.arrangement);
    let bytes = differential(&stacks(folder, reference)?, &stacks(folder, cell)?, &title)?;
    let parts = [&cell.scenario, &cell.arrangement, &cell.contender].map(|part| file_stem(part));
    let name = format!("{}-against-{}", parts.join("-"), file_stem(&reference.contender));
    Ok(folder.keep_artifact(Some(&name), &Artifact { kind: PICTURE, extension: "svg", bytes })?)
}

fn stacks(folder: &RunFolder, cell: &Cell) -> Drawn {
    let name = cell.files.get(STACKS).cloned().unwrap_or_default();
    fs::read_to_string(folder.path().join(&name)).map_err(|_| format!("the stacks in {name} could not be read").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(folder: &RunFolder, contender: &str) -> Cell {
        let bytes = format!("worker;main;{contender} 3\n").into_bytes();
        let name =
            folder.keep_artifact(Some(contender), &Artifact { kind: STACKS, extension: "folded", bytes }).unwrap();
        let (scenario, arrangement) = ("writes".to_owned(), "current".to_owned());
        let (contender, label) = (contender.to_owned(), format!("{contender}<1>"));
        let files = [(STACKS.to_owned(), name)].into();
        Cell {
            contender,
            label,
            scenario,
            arrangement,
            pass: cqldyno_reports::Pass::Flamegraph,
            files,
            ..Cell::default()
        }
    }

    #[test]
    fn every_contender_has_a_picture_and_one_against_the_reference_whichever_came_first() {
        let out = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(Some(&out.path().join("run")), jiff::Timestamp::now()).unwrap();
        let mut cells: Vec<Cell> = Vec::new();
        for contender in ["before", "reference", "after"] {
            let mut cell = cell(&folder, contender);
            assert_eq!(draw(&folder, contender, Some("reference"), &cells, &mut cell), [] as [&str; 0]);
            cells.push(cell);
        }
        assert_eq!(cells[1].files[PICTURE], "flamegraph/reference.svg");
        assert_eq!(cells[2].files[DIFFERENCE], "flamegraph/writes-current-after-against-reference.svg");
        for contender in ["before", "after"] {
            let name = format!("flamegraph/writes-current-{contender}-against-reference.svg");
            let svg = fs::read_to_string(folder.path().join(name)).unwrap();
            assert!(
                svg.contains(&format!("{contender}&lt;1&gt; against reference&lt;1&gt;, writes, current")),
                "{svg}"
            );
        }
    }

    #[test]
    fn stacks_that_are_gone_are_told() {
        let out = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(Some(&out.path().join("run")), jiff::Timestamp::now()).unwrap();
        let mut cell = cell(&folder, "a");
        fs::remove_file(folder.path().join(&cell.files[STACKS])).unwrap();
        let trouble = draw(&folder, "a", Some("a"), &[], &mut cell);
        assert_eq!(trouble, ["the stacks in stacks/a.folded could not be read"]);
    }
}
