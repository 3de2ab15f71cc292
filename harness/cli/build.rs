//! Tells the program how it was built.

use std::process::Command;

fn main() {
    let compiler = std::env::var_os("RUSTC")
        .and_then(|rustc| Command::new(rustc).arg("--version").output().ok())
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .unwrap_or_default();
    let profile = std::env::var("PROFILE").unwrap_or_default();
    println!("cargo::rustc-env=CQLDYNO_COMPILER={}", compiler.trim());
    println!("cargo::rustc-env=CQLDYNO_PROFILE={profile}");
    println!("cargo::rerun-if-changed=build.rs");
}
