//! A package for Python, fetched once and kept for the tests that need it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder below `target` with `package`, fetched with pip and `options` if it is not there yet.
///
/// `python` is the command that starts Python. The folder is named after `name` and that Python, which alone can load it.
pub(crate) fn python_package(
    target: &Path,
    python: &[&str],
    (name, package): (&str, &str),
    options: &[&str],
) -> Result<PathBuf, String> {
    let (program, before) = python.split_first().ok_or("no Python was named")?;
    let run = |arguments: &[&str]| {
        let output = Command::new(program)
            .args(before)
            .args(arguments)
            .output()
            .map_err(|error| format!("{program} could not be started: {error}"))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    };
    let version = run(&["-c", "import sys; print(sys.implementation.cache_tag)"])?;
    let folder = target.join(format!("{name}-{version}"));
    if folder.exists() {
        return Ok(folder);
    }
    // Others may fetch the same at the same time: the first one stays.
    let fetched = target.join(format!("{name}-{version}-{}", std::process::id()));
    let to = fetched.to_string_lossy();
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    let done = run(&[&pip, options, &["--target", &*to, package]].concat()).map_err(|why| format!("pip failed: {why}"));
    if done.is_err() || fs::rename(&fetched, &folder).is_err() {
        let _ = fs::remove_dir_all(&fetched);
    }
    done.map(|_| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Python 9.9 whose pip writes a file where it is told to, and then runs `end`.
    const PYTHON: &str = r#"
        if [ "$1" = -c ]; then echo "$TAG"; exit; fi
        while [ "$1" != --target ]; do shift; done
        mkdir -p "$2" && echo "$3" > "$2/module"
    "#;

    fn python(folder: &Path, tag: &str, end: &str) -> String {
        let script = folder.join("python");
        fs::write(&script, format!("TAG={tag}\n{PYTHON}\n{end}\n")).unwrap();
        script.to_string_lossy().into_owned()
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn every_python_has_a_folder_of_its_own() {
        let (target, scripts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for tag in ["cpython-98", "cpython-99", "cpython-99"] {
            let script = python(scripts.path(), tag, "");
            let folder = python_package(target.path(), &["sh", &script], ("pandas", "pandas>=2"), &[]).unwrap();
            assert_eq!(fs::read_to_string(folder.join("module")).unwrap(), "pandas>=2\n");
        }
        assert_eq!(names(target.path()), ["pandas-cpython-98", "pandas-cpython-99"]);
    }

    #[test]
    fn a_pip_that_fails_leaves_nothing_behind() {
        let (target, scripts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let script = python(scripts.path(), "cpython-99", "echo no such package >&2; exit 1");
        let why = python_package(target.path(), &["sh", &script], ("pandas", "pandas>=2"), &[]).unwrap_err();
        assert_eq!(why, "pip failed: no such package");
        assert_eq!(names(target.path()), [""; 0]);
    }
}
