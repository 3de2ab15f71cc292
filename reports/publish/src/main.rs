//! Publishes runs and writes the README's tables from them; `make publish` and `make readme` start it in the repository's root.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod archive;
mod chart;
mod check;
mod front;
mod make;
mod page;
mod path;
mod readme;
#[cfg(test)]
#[path = "../../tests/sample/mod.rs"]
mod sample;
mod shortened;
mod store;
mod strangers;
#[cfg(test)]
mod tests;

const USAGE: &str = "usage: cqldyno-publish DIR...   publishes the runs in these folders, and makes the README\n       \
                     cqldyno-publish          makes the README from the newest published runs\n       \
                     cqldyno-publish --again  makes page and table of every published run again, and the README";

fn main() -> ExitCode {
    let mut folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let again = folders.as_slice() == [Path::new("--again")];
    if again {
        folders.clear();
    }
    if folders.iter().any(|folder| folder.to_string_lossy().starts_with('-')) {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    match publish(&folders, again) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn publish(folders: &[PathBuf], again: bool) -> anyhow::Result<()> {
    let all = Path::new("reports/published");
    for made in if again { make::render_again(all)? } else { Vec::new() } {
        eprintln!("page.html and table.md of {} are written.", made.display());
    }
    for made in make::publish(folders, all)? {
        eprintln!(
            "{} is published: run.json and cells.jsonl as measured, histograms and drawings in files.tar.gz, page.html and table.md \
             made from them. The workers' logs and the other renderings stay where they are.",
            made.display()
        );
    }
    for written in readme::write(Path::new("."))? {
        eprintln!("{} is written.", written.display());
    }
    Ok(())
}
