//! `cqldyno completions`: completions for a shell.

use anyhow::Result;
use clap_complete::{Shell, generate};

use crate::outcome::Outcome;
use crate::terminal::print;

const EXAMPLES: &str = "\
Examples:
  cqldyno completions bash > ~/.local/share/bash-completion/completions/cqldyno
  cqldyno completions zsh > ~/.zfunc/_cqldyno        with ~/.zfunc in fpath
  cqldyno completions fish > ~/.config/fish/completions/cqldyno.fish

Exit codes: 0 done, 2 wrong usage.";

/// Print completions for a shell: commands, flags, drivers, scenarios
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

pub fn run(arguments: &Arguments, mut command: clap::Command) -> Result<Outcome> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut command, "cqldyno", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}
