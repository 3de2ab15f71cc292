//! The files that cells name, packed into one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result};
use cqldyno_reports::read_cells;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tar::{Archive, Builder, HeaderMode};

use crate::store::{CELLS, used};

/// Packs the files of `folder` with these names into `to`; the same files give the same archive.
pub(crate) fn pack(folder: &Path, names: &BTreeSet<String>, to: &Path) -> Result<()> {
    let file = File::create(to).with_context(used(to))?;
    let mut archive = Builder::new(GzEncoder::new(file, Compression::best()));
    archive.mode(HeaderMode::Deterministic);
    for name in names {
        let path = folder.join(name);
        archive.append_path_with_name(&path, name).with_context(used(&path))?;
    }
    archive.into_inner().and_then(GzEncoder::finish).map(drop).with_context(used(to))
}

/// Packs the cells of the run in `folder` into `to`.
pub(crate) fn pack_cells(folder: &Path, to: &Path) -> Result<()> {
    let mut cells = read_cells(folder).with_context(used(&folder.join(CELLS)))?;
    let mut packed = GzEncoder::new(File::create(to).with_context(used(to))?, Compression::best());
    io::copy(&mut cells, &mut packed).and_then(|_| packed.finish()).map(drop).with_context(used(to))
}

/// The files in the archive, by name.
pub(crate) fn unpack(path: &Path) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in Archive::new(GzDecoder::new(File::open(path)?)).entries()? {
        let mut entry = entry?;
        let name = entry.path()?.to_string_lossy().into_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        found.insert(name, bytes);
    }
    Ok(found)
}
