//! A run read back from its files; what does not hold together is refused.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::iter;
use std::path::Path;

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::earlier::Earlier;
use crate::{Cell, Checksum, ModelError, Run};

/// A run with its cells, read back.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// What was asked.
    pub run: Run,
    /// What was measured.
    pub cells: Vec<Cell>,
    /// What a reader must know about its files, each a full sentence.
    pub notes: Vec<String>,
}

/// A run that cannot be read. The texts end sentences that begin with its place.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// The run itself is not one of this version.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// What `report RUN RUN --format json` printed.
    #[error(
        "it holds {runs} runs beside each other, and one is read at a time; put one of its `runs` into a file of its own"
    )]
    Several {
        /// How many.
        runs: usize,
    },
    /// A line of `cells.jsonl` that is not the last one, or an entry of `cells`, is no cell of the run.
    #[error("its cell {number} is damaged: {why}; take the files as they were written, or run the comparison again")]
    Cell {
        /// From 1.
        number: usize,
        /// What is wrong.
        why: String,
    },
    /// The cells cannot be read.
    #[error("its cells cannot be read: {0}")]
    Read(#[from] io::Error),
    /// The cells are not what the checksum says.
    #[error(
        "its cells are not those that were measured: run.json says {stated} and there are {found}; somebody or something changed \
         them afterwards, so take the files as they were written"
    )]
    Changed {
        /// What `run.json` says.
        stated: Checksum,
        /// What there is.
        found: Checksum,
    },
}

/// What is in `cells.jsonl` of a run folder, or in `cells.jsonl.gz` of a published run.
///
/// # Errors
/// When neither can be opened; the error is that of `cells.jsonl`.
pub fn read_cells(folder: &Path) -> io::Result<Box<dyn BufRead>> {
    match File::open(folder.join(CELLS)) {
        Ok(cells) => Ok(Box::new(BufReader::new(cells))),
        Err(error) => {
            let packed = File::open(folder.join(PACKED_CELLS)).map_err(|_| error)?;
            Ok(Box::new(BufReader::new(GzDecoder::new(packed))))
        }
    }
}

/// The file of a run folder that has its cells, and of a published one that has them packed.
pub const CELLS: &str = "cells.jsonl";
/// See [`CELLS`].
pub const PACKED_CELLS: &str = "cells.jsonl.gz";

impl Recorded {
    /// Reads a run folder: the text of `run.json`, and what is in `cells.jsonl`, a line at a time.
    ///
    /// # Errors
    /// When it cannot be read, is of another schema version, or damaged, or was changed afterwards.
    pub fn from_folder(run: &str, mut cells: impl BufRead) -> Result<Recorded, RecordedError> {
        let run = Run::from_value(serde_json::from_str(run).map_err(ModelError::NotARun)?)?;
        let (mut line, mut at) = (Vec::new(), 0);
        let values = iter::from_fn(|| {
            line.clear();
            match cells.read_until(b'\n', &mut line) {
                Err(error) => return Some(Err(error.into())),
                // A power cut may leave a part of a line after the last line feed.
                Ok(_) => line.pop_if(|last| *last == b'\n')?,
            };
            at += 1;
            Some(serde_json::from_slice(&line).map_err(|error| damaged(at - 1, error)))
        });
        let mut recorded = Recorded::checked(run, values)?;
        if !line.is_empty() {
            recorded.notes.insert(0, "The last line of its cells.jsonl is cut off; that cell is left out.".to_owned());
        }
        Ok(recorded)
    }

    /// Reads what `--format json` printed.
    ///
    /// # Errors
    /// As [`Recorded::from_folder`].
    pub fn from_document(text: &str) -> Result<Recorded, RecordedError> {
        #[derive(Deserialize)]
        struct Document {
            run: Value,
            cells: Vec<Value>,
        }
        #[derive(Deserialize)]
        struct Several {
            runs: Vec<IgnoredAny>,
        }
        let Document { run, cells } = match serde_json::from_str(text) {
            Ok(document) => document,
            Err(error) => match serde_json::from_str(text) {
                Ok(Several { runs }) => return Err(RecordedError::Several { runs: runs.len() }),
                Err(_) => return Err(ModelError::NotARun(error).into()),
            },
        };
        Recorded::checked(Run::from_value(run)?, cells.into_iter().map(Ok))
    }

    /// Takes one cell at a time: as JSON values all of them would take many times their memory.
    fn checked(
        (mut run, mut earlier): (Run, Earlier),
        values: impl Iterator<Item = Result<Value, RecordedError>>,
    ) -> Result<Recorded, RecordedError> {
        let (mut cells, mut notes) = (Vec::new(), Vec::new());
        let mut wrong = None;
        let mut take = |(at, value): (usize, Result<Value, RecordedError>)| {
            let mut value = value?;
            // The checksum is that of the file.
            let text = value.to_string();
            earlier.cell(at, &mut value);
            let cell = Cell::deserialize(value).map_err(|error| damaged(at, error));
            let own = cell.and_then(|cell| match foreign(&cell, &run) {
                None => Ok(cell),
                Some(why) => Err(RecordedError::Cell { number: at + 1, why }),
            });
            match own {
                Ok(cell) => cells.push(cell),
                Err(error) => wrong = wrong.take().or(Some(error)),
            }
            Ok::<_, RecordedError>(text)
        };
        let found = Checksum::of(values.enumerate().map(&mut take))?;
        match &run.checksum {
            Some(stated) => {
                if found != *stated {
                    return Err(RecordedError::Changed { stated: stated.clone(), found });
                }
            }
            None if run.ended.is_some() => notes.push(
                "It was written by a version of cqldyno that kept no checksum, so nothing shows that its cells are as measured."
                    .to_owned(),
            ),
            None => notes.push(
                "It has no end: it is under way or broke off, so nothing shows that its cells are as measured."
                    .to_owned(),
            ),
        }
        if let Some(error) = wrong {
            return Err(error);
        }
        earlier.finish(&mut run, &mut cells);
        Ok(Recorded { run, cells, notes })
    }
}

fn damaged(at: usize, error: serde_json::Error) -> RecordedError {
    RecordedError::Cell { number: at + 1, why: error.to_string() }
}

/// What names something that the run does not have, as the end of a sentence.
fn foreign(cell: &Cell, run: &Run) -> Option<String> {
    let scenario = run.scenarios.iter().any(|one| one.name == cell.scenario && one.hash == cell.scenario_hash);
    let known = [
        (scenario, "scenario", &cell.scenario),
        (run.contender(&cell.contender).is_some(), "contender", &cell.contender),
        (run.plan.arrangements.iter().any(|one| one.id == cell.arrangement), "arrangement", &cell.arrangement),
    ];
    let stranger = known.iter().find(|(known, ..)| !known);
    stranger.map(|(_, what, name)| format!("its {what} {name:?} is none of the run's"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::shown::{json, several};
    use crate::{Look, sample};

    fn kept() -> (Run, Vec<Cell>, String) {
        let (run, cells) = sample::run();
        let run = Run { checksum: Some(Checksum::of_cells(&cells)), ..run };
        let lines = cells.iter().map(|cell| serde_json::to_string(cell).unwrap() + "\n").collect();
        (run, cells, lines)
    }

    fn read(run: &Run, lines: &str) -> Result<Recorded, RecordedError> {
        Recorded::from_folder(&serde_json::to_string(run).unwrap(), lines.as_bytes())
    }

    #[test]
    fn a_run_is_read_back_as_it_was_from_its_folder_and_from_its_document() {
        let (run, cells, lines) = kept();
        let expected = Recorded { run: run.clone(), cells: cells.clone(), notes: Vec::new() };
        assert_eq!(read(&run, &lines).unwrap(), expected);
        assert_eq!(Recorded::from_document(&json(&run, &cells)).unwrap(), expected);
    }

    #[test]
    fn a_digit_that_was_changed_by_hand_is_noticed() {
        let (run, _, lines) = kept();
        let changed = lines.replacen("\"value\":1.", "\"value\":2.", 1);
        assert_ne!(changed, lines);
        let error = read(&run, &changed).unwrap_err().to_string();
        assert!(error.starts_with("its cells are not those that were measured: run.json says 32 cells"), "{error}");
        assert!(error.ends_with("so take the files as they were written"), "{error}");
    }

    #[test]
    fn a_cell_that_was_taken_away_is_noticed() {
        let (run, _, lines) = kept();
        let fewer: String = lines.split_inclusive('\n').skip(1).collect();
        let error = read(&run, &fewer).unwrap_err().to_string();
        assert!(error.contains("and there are 31 cells"), "{error}");
    }

    #[test]
    fn a_damaged_line_and_a_cell_of_another_run_are_refused_by_their_number() {
        let (mut run, _, lines) = kept();
        let half = lines.replacen('}', "", 1);
        assert!(read(&run, &half).unwrap_err().to_string().starts_with("its cell 1 is damaged: "));
        run.checksum = None;
        let other = lines.replacen("\"contender\":\"scylla\"", "\"contender\":\"gocql\"", 1);
        let error = read(&run, &other).unwrap_err().to_string();
        assert!(error.starts_with("its cell 1 is damaged: its contender \"gocql\" is none of the run's"), "{error}");
    }

    #[test]
    fn a_run_that_broke_off_is_read_with_a_note_and_without_its_last_half_line() {
        let (run, cells, lines) = kept();
        let run = Run { checksum: None, ended: None, ..run };
        let found = read(&run, &format!("{lines}{{\"contender\"")).unwrap();
        assert_eq!(found.cells, cells);
        assert!(found.notes[0].contains("cut off") && found.notes[1].starts_with("It has no end"), "{:?}", found.notes);
    }

    #[test]
    fn a_document_of_several_runs_is_refused_with_what_to_do() {
        let (run, cells, _) = kept();
        let one = Recorded { run, cells, notes: Vec::new() };
        let document = several("json", &[("a".to_owned(), &one), ("b".to_owned(), &one)], Look::default());
        let error = Recorded::from_document(&document).unwrap_err().to_string();
        assert!(error.starts_with("it holds 2 runs beside each other, and one is read at a time; put one"), "{error}");
        for text in ["", "{}", "[]", "{\"run\": {}}"] {
            let error = Recorded::from_document(text).unwrap_err().to_string();
            assert!(error.starts_with("a run in JSON was expected"), "{text}: {error}");
        }
    }

    #[test]
    fn another_version_is_refused() {
        let (run, _, lines) = kept();
        let error = read(&Run { schema: 99, ..run }, &lines).unwrap_err().to_string();
        assert!(error.starts_with("the run has schema version 99"), "{error}");
    }
}
