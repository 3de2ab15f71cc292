//! Publishes runs and writes the README's tables from them; `make publish` and `make readme` start it in the repository's root.

use std::path::Path;
use std::process::ExitCode;

use self::make::Asked;

mod check;
mod make;
mod page;
mod path;
mod readme;
mod store;
#[cfg(test)]
mod tests;

const USAGE: &str = "usage: cqldyno-publish [NAME=]DIR...   publishes the runs in these folders, and makes the README\n       \
                     cqldyno-publish                 makes the README from the newest published runs\n       \
                     cqldyno-publish --again         makes page and table of every published run again, and the README\n\
                     A run with a name may have other contenders than a comparison without names, and is not in the README.";

fn main() -> ExitCode {
    let all: Vec<String> = std::env::args_os().skip(1).map(|one| one.to_string_lossy().into_owned()).collect();
    let again = all == ["--again"];
    let asked: Option<Vec<Asked>> = all.iter().filter(|_| !again).map(|one| Asked::parse(one)).collect();
    let Some(asked) = asked else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match publish(&asked, again) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn publish(asked: &[Asked], again: bool) -> anyhow::Result<()> {
    let all = Path::new("reports/published");
    for made in if again { make::render_again(all)? } else { Vec::new() } {
        eprintln!("page.html and table.md of {} are written.", made.display());
    }
    for made in make::publish(asked, all)? {
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
