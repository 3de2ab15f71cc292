//! Tells the program which compiler built it, for `run.json`.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = env::var_os("RUSTC")
        .and_then(|rustc| Command::new(rustc).arg("--version").output().ok())
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map_or_else(|| "unknown".to_owned(), |text| text.trim().to_owned());
    println!("cargo::rustc-env=CQLDYNO_COMPILER={version}");
    println!("cargo::rustc-env=CQLDYNO_PROFILE={}", env::var("PROFILE").unwrap_or_else(|_| "unknown".to_owned()));
}
