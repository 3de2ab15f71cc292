//! Flame graphs: stacks of each contender, and how they differ from the reference's.

use std::fs;

use cqldyno_meter::{Artifact, Meter, PictureError, Probe, STACKS, Stacks, differential, picture};
use cqldyno_reports::Cell;

use super::{Cost, Ended, PassKind, Step};
use crate::folder::{FolderError, file_stem};
use crate::plan::Plan;

/// Times as many statements as a timing cell has: a sample comes every two milliseconds.
const TIMES: u64 = 4;
/// The most statements, which take seconds.
const MOST: u64 = 1_000_000;
/// Statements of a cell where nothing is sampled: it only says why.
const UNSAMPLED_COUNT: u64 = 10_000;

/// The folder of the pictures, and what a cell calls its own.
const PICTURE: &str = "flamegraph";
/// What a cell calls the picture of how it differs from the reference.
const DIFFERENCE: &str = "flamegraph_against_reference";

pub(super) struct Flamegraph;

/// Why a picture is not there, as the rest of a sentence.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("{0}")]
    Picture(#[from] PictureError),
    #[error("{0}")]
    Folder(#[from] FolderError),
    #[error("the stacks in {0} could not be read")]
    Stacks(String),
}

impl PassKind for Flamegraph {
    fn about(&self) -> &'static str {
        "flame graphs, with frames of the kernel and of C and C++, and how they differ from the reference's"
    }

    fn doing(&self) -> &'static str {
        "sampling stacks"
    }

    fn headline(&self) -> Option<(&'static str, &'static str)> {
        Some(("stack_samples", "stacks sampled"))
    }

    fn probe(&self) -> Probe {
        Stacks.probe()
    }

    fn steps(&self, plan: &Plan, allowed: bool) -> Vec<Step> {
        Step::only(match allowed {
            true => plan.count.saturating_mul(TIMES).min(MOST),
            false => plan.count.min(UNSAMPLED_COUNT),
        })
    }

    fn cost(&self, _: usize) -> Cost {
        Cost { seconds: 3.0, factor: 1.1 }
    }

    fn ended(&self, ended: &Ended<'_>, cell: &mut Cell) -> Vec<String> {
        let mut trouble = Vec::new();
        if let Err(error) = own(ended, cell) {
            trouble.push(error);
        }
        let is_pair = |other: &&Cell| {
            (other.pass, &other.scenario, &other.arrangement) == (cell.pass, &cell.scenario, &cell.arrangement)
                && other.attempt == cell.attempt
                && other.files.contains_key(STACKS)
                && cell.files.contains_key(STACKS)
        };
        let others: Vec<&Cell> = ended.cells.iter().filter(is_pair).collect();
        if ended.reference == Some(&cell.contender) {
            // Those that came before the reference.
            let results = others.iter().filter(|other| other.contender != cell.contender);
            trouble.extend(results.filter_map(|other| difference(ended, cell, other).err()));
        } else if let Some(reference) = others.iter().find(|other| ended.reference == Some(&other.contender)) {
            match difference(ended, reference, cell) {
                Ok(name) => drop(cell.files.insert(DIFFERENCE.to_owned(), name)),
                Err(error) => trouble.push(error),
            }
        }
        trouble.into_iter().map(|trouble| trouble.to_string()).collect()
    }
}

/// The cell's own picture.
fn own(ended: &Ended<'_>, cell: &mut Cell) -> Result<(), Trouble> {
    if cell.files.contains_key(STACKS) {
        let title = format!("{}, {}, {}", cell.label, cell.scenario, cell.arrangement);
        let svg = picture(&stacks(ended, cell)?, &title)?;
        let name =
            ended.folder.write_artifact(ended.stem, &Artifact { kind: PICTURE, extension: "svg", bytes: svg })?;
        cell.files.insert(PICTURE.to_owned(), name);
    }
    Ok(())
}

/// The picture of how `cell` differs from the reference's cell; its name in the run folder.
fn difference(ended: &Ended<'_>, reference: &Cell, cell: &Cell) -> Result<String, Trouble> {
    let title = format!("{} against {}, {}, {}", cell.label, reference.label, cell.scenario, cell.arrangement);
    let svg = differential(&stacks(ended, reference)?, &stacks(ended, cell)?, &title)?;
    let parts = [&cell.scenario, &cell.arrangement, &cell.contender].map(|part| file_stem(part));
    let name = format!("{}-against-{}", parts.join("-"), file_stem(&reference.contender));
    Ok(ended.folder.write_artifact(&name, &Artifact { kind: PICTURE, extension: "svg", bytes: svg })?)
}

fn stacks(ended: &Ended<'_>, cell: &Cell) -> Result<String, Trouble> {
    let name = cell.files.get(STACKS).cloned().unwrap_or_default();
    fs::read_to_string(ended.folder.path().join(&name)).map_err(|_| Trouble::Stacks(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::empty_cell;
    use crate::folder::RunFolder;
    use cqldyno_reports::Pass;

    fn cell(folder: &RunFolder, contender: &str) -> Cell {
        let bytes = format!("worker;main;{contender} 3\n").into_bytes();
        let name = folder.write_artifact(contender, &Artifact { kind: STACKS, extension: "folded", bytes }).unwrap();
        let (scenario, arrangement) = ("writes".to_owned(), "current".to_owned());
        let (contender, label) = (contender.to_owned(), format!("{contender}<1>"));
        let files = [(STACKS.to_owned(), name)].into();
        Cell { contender, label, scenario, arrangement, pass: Pass::Flamegraph, files, ..empty_cell() }
    }

    #[test]
    fn every_contender_has_a_picture_and_one_against_the_reference_whichever_came_first() {
        let out = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(Some(&out.path().join("run")), jiff::Timestamp::now()).unwrap();
        let mut cells: Vec<Cell> = Vec::new();
        for contender in ["before", "reference", "behind"] {
            let mut cell = cell(&folder, contender);
            let ended = Ended { folder: &folder, stem: contender, reference: Some("reference"), cells: &cells };
            assert_eq!(Flamegraph.ended(&ended, &mut cell), [] as [&str; 0]);
            cells.push(cell);
        }
        assert_eq!(cells[1].files[PICTURE], "flamegraph/reference.svg");
        assert_eq!(cells[2].files[DIFFERENCE], "flamegraph/writes-current-behind-against-reference.svg");
        for contender in ["before", "behind"] {
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
        let ended = Ended { folder: &folder, stem: "a", reference: Some("a"), cells: &[] };
        assert_eq!(Flamegraph.ended(&ended, &mut cell), ["the stacks in stacks/a.folded could not be read"]);
    }
}
