//! `cqldyno check`: a run judged for a CI.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use cqldyno_reports::{Check, CheckError, Judgement};

use crate::count::parts;
use crate::outcome::{Outcome, usage};
use crate::recorded::read;
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  cqldyno compare scylla cdrs-tokio --blocks 20 --format json > run.json
  cqldyno check run.json --threshold 5% >> \"$GITHUB_STEP_SUMMARY\"
  cqldyno check run.json --threshold 5% --require-power 5%
  cqldyno check run.json --against baseline.json --threshold 1%

Inconclusive is an interval that holds the threshold: the summary says what the smallest difference is that the run could have found.

A count (--against) is of one cell and has no interval. It is worse when it lies beyond the threshold by more than counts of one build \
differ from run to run: 1 % for allocations, 4 % for their bytes, 3 % for frees and instructions, and for system calls of a worker of one \
or two threads on the arrangement `current`; in short cells (20k statements, of bytes and frees 50k) accordingly more. Nearer to the threshold it is \
inconclusive, and so are system calls of several threads, which differ by several times: the summary says why.

Exit codes: 0 passed or inconclusive; 1 worse than the threshold, not judged, or weaker than required, or no check could be made, with \
nothing on standard output: a file is damaged or of another version, the runs cannot be compared, or contenders did not take \
turns; 2 wrong usage, or there is no such file.";

/// Judges a run that holds both contenders: fails when one costs more than the reference, by the interval.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A run folder, or a file that `--format json` wrote
    run: PathBuf,
    /// Refused: contenders are judged within one run
    #[arg(hide = true)]
    more: Vec<PathBuf>,
    /// By how much a contender may cost more than the reference: fails when the whole interval lies beyond
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "5%", allow_hyphen_values = true)]
    threshold: f64,
    /// Fail, too, when the run could not have found a difference of this much
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "against", allow_hyphen_values = true)]
    require_power: Option<f64>,
    /// The contender that the others are judged against [default: the run's reference]
    #[arg(long, value_name = "CONTENDER", conflicts_with = "against")]
    reference: Option<String>,
    /// Who is judged; give it several times for several [default: every driver but the reference]
    #[arg(long, value_name = "CONTENDER")]
    contender: Vec<String>,
    /// Judge what is counted (system calls, allocations, instructions) against this earlier run, under equal conditions; times
    /// are never judged across runs
    #[arg(long, value_name = "RUN")]
    against: Option<PathBuf>,
}

pub fn run(arguments: &Arguments, out: &mut impl Write) -> Result<Outcome> {
    if !arguments.more.is_empty() {
        return Err(usage(format!(
            "a check of {} runs was asked for, and contenders are judged within one run, in which they took turns; name one run that \
             holds both (`cqldyno compare A B`), or give the earlier one as a baseline of what is counted (--against)",
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
        CheckError::Unknown { .. } | CheckError::NotInBaseline { .. } => usage(error),
        error => anyhow::Error::new(error),
    })?;
    for (path, one) in [(Some(&arguments.run), Some(&recorded)), (arguments.against.as_ref(), baseline.as_ref())] {
        if let (Some(path), Some(one)) = (path, one) {
            one.notes.iter().for_each(|note| terminal::say(&format!("{}: {note}", path.display())));
        }
    }
    let text = if terminal::is_shown() { judgement.table(terminal::look()) } else { judgement.markdown() };
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(if judgement.fails() { Outcome::Failed } else { Outcome::Done })
}

/// A share such as 5% or 0.05. A number above 1 without its sign is rather meant in hundredths, and is refused.
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
