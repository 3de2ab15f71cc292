//! `cqldyno check`: a run judged for a CI.

use std::path::PathBuf;

use anyhow::Result;
use cqldyno_reports::{Check, CheckError, Judgement};

use crate::count::parts;
use crate::outcome::{Outcome, usage};
use crate::recorded::read;
use crate::terminal::{self, Detail};

const EXAMPLES: &str = "\
Examples:
  cqldyno compare scylla cdrs-tokio --blocks 20 --format json > run.json
  cqldyno check run.json --threshold 5% >> \"$GITHUB_STEP_SUMMARY\"
  cqldyno check latest --threshold 5% --require-power 5%
  cqldyno check run.json --against baseline.json --threshold 1%

A result is inconclusive if its interval contains the threshold. The summary then names the smallest difference that the run could \
have found.

A count (--against) comes from one cell and has no interval, so it has a margin: how far counts of one build differ from run to run. \
The margin is 1 % for allocations, 4 % for their bytes, and 3 % for frees and instructions. It is 3 % for system calls of one or two \
threads on `current`, too. Cells of fewer than 20k statements (50k for bytes and frees) have wider margins. A count within its margin of \
the threshold is inconclusive. So are system calls of several threads, always.

Exit codes: 0 passed or inconclusive; 1 failed; 2 wrong usage, no such file, or too few generations for an interval.
A check fails if a contender is dearer than the threshold, failed or is void, or if the run is weaker than required. No check is \
possible if a file is damaged or of another version, the runs cannot be compared, or the contenders did not take turns. The code is \
then 1, with nothing on standard output.";

/// Judge a run in CI: fail if a contender costs more than the reference
#[derive(clap::Args)]
#[command(after_help = "Example: cqldyno check latest --threshold 5%\nAll options: cqldyno check --help", after_long_help = EXAMPLES)]
pub struct Arguments {
    /// A run folder, a file from `--format json`, or `latest`
    run: PathBuf,
    /// Refused: contenders are judged within one run
    #[arg(hide = true)]
    more: Vec<PathBuf>,
    /// How much more a contender may cost
    ///
    /// The check fails only if the whole interval lies beyond it.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "5%")]
    threshold: f64,
    /// Fail if the run could not have found this difference
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "against")]
    require_power: Option<f64>,
    /// Judge against this contender [default: the run's reference]
    #[arg(long, value_name = "CONTENDER", conflicts_with = "against")]
    reference: Option<String>,
    /// Judge only this contender; repeat it for several
    #[arg(long, value_name = "CONTENDER")]
    contender: Vec<String>,
    /// Judge counts against this earlier run
    ///
    /// Counts are system calls, allocations and instructions. Both runs need equal conditions. Times are never judged across runs.
    #[arg(long, value_name = "RUN")]
    against: Option<PathBuf>,
    #[command(flatten)]
    detail: Detail,
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    if !arguments.more.is_empty() {
        return Err(usage(format!(
            "{} runs were given, and contenders are judged within one run; name one run with both (`cqldyno compare A B`), or give the \
             earlier one as a baseline of counts (--against)",
            arguments.more.len() + 1
        )));
    }
    let recorded = read(&arguments.run)?;
    let baseline = arguments.against.as_ref().map(|path| read(path)).transpose()?;
    let reference = arguments.reference.as_ref();
    let reference = reference.map(|asked| crate::command::report::known(&recorded, asked)).transpose()?;
    let check = Check {
        threshold: arguments.threshold,
        require_power: arguments.require_power,
        reference,
        contenders: arguments.contender.clone(),
    };
    let judgement = match &baseline {
        None => Judgement::within(&recorded, &check),
        Some(baseline) => Judgement::against(&recorded, baseline, &check),
    };
    let judgement = judgement.map_err(|error| match error {
        CheckError::Unknown(..) | CheckError::NotInBaseline(..) | CheckError::NoInterval(_) => usage(error),
        error => anyhow::Error::new(error),
    })?;
    for (path, one) in [(&arguments.run, &recorded)].into_iter().chain(arguments.against.iter().zip(&baseline)) {
        one.notes.iter().for_each(|note| terminal::say(&format!("{}: {note}", path.display())));
    }
    // A CI's summary takes Markdown.
    let text = match terminal::is_shown() {
        true => judgement.table(terminal::look(&arguments.detail)),
        false => judgement.markdown(),
    };
    terminal::print(&text)?;
    Ok(if judgement.fails() { Outcome::Failed } else { Outcome::Done })
}

/// A share such as 5% or 0.05. A number above 1 without a sign more likely means percent, and is refused.
fn share(text: &str) -> Result<f64, String> {
    match parts(text) {
        Some(share) if (0.0..=1.0).contains(&share) || text.contains('%') && (0.0..=10.0).contains(&share) => Ok(share),
        _ => Err("write a share such as 5% or 0.05".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_in_hundredths_or_a_number() {
        assert_eq!((share("5%"), share("0.05"), share("0")), (Ok(0.05), Ok(0.05), Ok(0.0)));
        assert_eq!((share("1"), share("200%")), (Ok(1.0), Ok(2.0)));
        for text in ["", "five", "5", "-1%", "NaN", "1e9"] {
            assert_eq!(share(text).unwrap_err(), "write a share such as 5% or 0.05", "{text}");
        }
    }
}
