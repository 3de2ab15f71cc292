//! Rows of a file, batch by batch.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use arrow_select::take::take;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use sha2::{Digest, Sha256};

use crate::TapeError;

const BATCH_ROWS: usize = 8_192;
const READ_BYTES: usize = 1 << 20;

#[derive(Clone, Copy, Debug)]
enum Format {
    Arrow,
    Parquet,
}

/// A file whose schema was read.
#[derive(Debug)]
pub(crate) struct RowFile {
    path: PathBuf,
    format: Format,
    /// The names of its columns, in their order.
    pub(crate) columns: Vec<String>,
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>>>;

impl RowFile {
    pub(crate) fn open(path: &Path) -> Result<RowFile, TapeError> {
        let mut magic = Vec::new();
        let read = File::open(path).and_then(|file| file.take(6).read_to_end(&mut magic));
        read.map_err(|error| {
            TapeError(format!(
                "the tape {} cannot be read: {error}; give the path of a file in Arrow or Parquet, from the scenario's folder",
                path.display()
            ))
        })?;
        let format = match magic.as_slice() {
            b"ARROW1" => Format::Arrow,
            [b'P', b'A', b'R', b'1', ..] => Format::Parquet,
            other => {
                return Err(TapeError(format!(
                    "the tape {} is neither Parquet nor Arrow's file format, as it begins with {:?}; write it with to_parquet or \
                     to_feather of pandas",
                    path.display(),
                    String::from_utf8_lossy(other)
                )));
            }
        };
        let mut file = RowFile { path: path.to_path_buf(), format, columns: Vec::new() };
        let (schema, _) = file.read()?;
        file.columns = schema.fields().iter().map(|field| field.name().clone()).collect();
        Ok(file)
    }

    pub(crate) fn shown(&self) -> String {
        self.path.display().to_string()
    }

    fn damaged(&self, error: &dyn std::fmt::Display) -> TapeError {
        TapeError(format!("the tape {} cannot be read: {error}; write it again", self.shown()))
    }

    fn read(&self) -> Result<(SchemaRef, Batches), TapeError> {
        let file = File::open(&self.path).map_err(|error| self.damaged(&error))?;
        match self.format {
            Format::Arrow => {
                let reader = FileReader::try_new(file, None).map_err(|error| self.damaged(&error))?;
                Ok((reader.schema(), Box::new(reader)))
            }
            Format::Parquet => {
                let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| self.damaged(&error))?;
                let schema = builder.schema().clone();
                let reader = builder.with_batch_size(BATCH_ROWS).build().map_err(|error| self.damaged(&error))?;
                Ok((schema, Box::new(reader)))
            }
        }
    }

    /// Gives `each` every row: its number from 0, the columns of its batch, and its place there. Returns the number of rows.
    pub(crate) fn each(
        &self,
        mut each: impl FnMut(u64, &[ArrayRef], usize) -> Result<(), TapeError>,
    ) -> Result<u64, TapeError> {
        let mut number = 0;
        for batch in self.read()?.1 {
            let batch = batch.map_err(|error| self.damaged(&error))?;
            let columns = batch.columns().iter().map(plain).collect::<Result<Vec<_>, _>>();
            let columns = columns.map_err(|error| self.damaged(&error))?;
            for row in 0..batch.num_rows() {
                each(number, &columns, row)?;
                number += 1;
            }
        }
        Ok(number)
    }

    /// The SHA-256 of its content.
    pub(crate) fn hash(&self) -> Result<String, TapeError> {
        let mut digest = Sha256::new();
        let mut room = vec![0; READ_BYTES];
        let mut file = File::open(&self.path).map_err(|error| self.damaged(&error))?;
        loop {
            match file.read(&mut room).map_err(|error| self.damaged(&error))? {
                0 => break,
                read => digest.update(room.get(..read).unwrap_or_default()),
            }
        }
        Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// The column with values in the place of numbers of a dictionary, which pandas has for categories.
fn plain(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match column.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = column.as_any_dictionary();
            take(dictionary.values(), dictionary.keys(), None)
        }
        _ => Ok(column.clone()),
    }
}
