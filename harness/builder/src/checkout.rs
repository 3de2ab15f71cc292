//! A driver's own sources: a folder, or a commit of a repository.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::iter::once;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::cargo::Cargo;
use crate::error::BuildError;
use crate::key::hexadecimal;
use crate::version::Version;

/// The sources of a driver in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkout {
    /// The crate's own folder.
    pub(crate) package: PathBuf,
    pub(crate) version: semver::Version,
    /// The commit, if the folder belongs to a repository.
    pub(crate) revision: Option<String>,
    /// Whether files differ from the commit's.
    pub(crate) dirty: bool,
    /// A digest of all files of its workspace, and of the folders beyond it that the workspace depends on.
    pub(crate) contents: String,
    /// The links among them.
    pub(crate) links: Vec<PathBuf>,
}

impl Checkout {
    /// Changes with every file, commit and place.
    pub(crate) fn state(&self) -> String {
        format!("{} {:?} {} {}", self.package.display(), self.revision, self.dirty, self.contents)
    }
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: semver::Version,
    manifest_path: PathBuf,
    #[serde(default)]
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    path: Option<PathBuf>,
}

/// Finds the crate `library` in the folder or the commit that `version` names; `None` for a release. Commits are checked out below `cache`,
/// of one repository by one process at a time, which holds its `lock`.
pub(crate) fn checkout(
    version: Option<&Version>,
    library: &str,
    cache: &Path,
    cargo: &Cargo<'_>,
    lock: &mut dyn FnMut(&Path) -> Result<File, BuildError>,
) -> Result<Option<Checkout>, BuildError> {
    let folder = match version {
        Some(Version::Path(folder)) => folder
            .canonicalize()
            .map_err(|error| BuildError::Checkout(folder.display().to_string(), format!("{error}; give a folder")))?,
        Some(Version::Git { url, revision }) => clone(url, revision, cache, cargo, lock)?,
        _ => return Ok(None),
    };
    let wrong = |why: String| BuildError::Checkout(folder.display().to_string(), why);
    let metadata = metadata(&folder, cargo)?;
    // A driver's crate may take a part of its code from a neighbour.
    let paths = metadata.packages.iter().flat_map(|package| &package.dependencies).filter_map(|one| one.path.clone());
    let beyond = paths.filter(|path| !path.starts_with(&metadata.workspace_root));
    let folders: BTreeSet<PathBuf> = once(metadata.workspace_root.clone()).chain(beyond).collect();
    let contents: io::Result<String> = folders.iter().map(|folder| digest(folder, &[])).collect();
    let contents = contents.map_err(|error| wrong(error.to_string()))?;
    let files: io::Result<Vec<Vec<PathBuf>>> = folders.iter().map(|folder| files(folder, &[])).collect();
    let links = files.map_err(|error| wrong(error.to_string()))?.concat();
    let links = links.into_iter().filter(|file| file.is_symlink()).collect();
    let found = metadata.packages.into_iter().find(|package| package.name == library);
    let Some(Package { version, manifest_path, .. }) = found else {
        return Err(wrong(format!("there is no package {library} in it; give the folder of the driver's checkout")));
    };
    let package = manifest_path.parent().unwrap_or(&folder).to_path_buf();
    let revision = git(cargo, &folder, &["rev-parse", "HEAD"]).ok();
    let dirty = revision.is_some() && !is_clean(cargo, &folder);
    Ok(Some(Checkout { package, version, revision, dirty, contents, links }))
}

fn metadata(folder: &Path, cargo: &Cargo<'_>) -> Result<Metadata, BuildError> {
    let wrong = |why: String| BuildError::Checkout(folder.display().to_string(), why);
    let manifest = folder.join("Cargo.toml");
    if !manifest.is_file() {
        return Err(wrong("there is no Cargo.toml in it; give the folder of the driver's checkout".to_owned()));
    }
    let arguments = ["metadata", "--no-deps", "--format-version", "1", "--manifest-path"];
    let said = cargo.run(arguments.map(OsStr::new).into_iter().chain([manifest.as_os_str()]), &mut |_| {})?;
    serde_json::from_str(&said).map_err(|error| wrong(error.to_string()))
}

pub(crate) fn packages(folder: &Path, cargo: &Cargo<'_>) -> Result<Vec<String>, BuildError> {
    Ok(metadata(folder, cargo)?.packages.into_iter().map(|package| package.name).collect())
}

pub(crate) fn repository(folder: &Path, cargo: &Cargo<'_>) -> Result<PathBuf, BuildError> {
    let why = "they are in no git repository; name the folder of the driver's checkout";
    git(cargo, folder, &["rev-parse", "--show-toplevel"]).map(PathBuf::from).map_err(in_folder(folder, why))
}

fn in_folder(folder: &Path, why: &str) -> impl Fn(BuildError) -> BuildError {
    move |error| match error {
        BuildError::Failed(_) => BuildError::Checkout(folder.display().to_string(), why.to_owned()),
        error => error,
    }
}

/// The whole name of a commit that the repository in `folder` has.
pub(crate) fn commit(folder: &Path, name: &str, cargo: &Cargo<'_>) -> Result<String, BuildError> {
    let asked = format!("{name}^{{commit}}");
    let why = format!("they have no commit, tag or branch {name:?}; name one that `git log` shows");
    git(cargo, folder, &["rev-parse", "--quiet", "--verify", "--end-of-options", &asked])
        .map_err(in_folder(folder, &why))
}

/// The folder of a commit, which is fetched if it is not there.
fn clone(
    url: &str,
    revision: &str,
    cache: &Path,
    cargo: &Cargo<'_>,
    lock: &mut dyn FnMut(&Path) -> Result<File, BuildError>,
) -> Result<PathBuf, BuildError> {
    let wrong = |error: BuildError| match error {
        BuildError::Failed(why) => BuildError::Checkout(format!("{url}#{revision}"), why),
        error => error,
    };
    let git = |folder: &Path, arguments: &[&str]| git(cargo, folder, arguments);
    // A folder is named as git would take it from here, not from the cache.
    let origin = Path::new(url).canonicalize().map_or_else(|_| url.to_owned(), |path| path.display().to_string());
    let name = hexadecimal(&Sha256::digest(&origin));
    let repository = cache.join("git").join(&name[..16]);
    let all = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"];
    let _lock = lock(&repository)?;
    if !repository.join("HEAD").is_file() {
        git(&repository, &["init", "--quiet", "--bare"]).map_err(wrong)?;
    }
    let known = |name: &str| {
        let commit = format!("{name}^{{commit}}");
        git(&repository, &["rev-parse", "--quiet", "--verify", &commit]).ok().filter(|commit| !commit.is_empty())
    };
    // Only a whole commit is the same tomorrow.
    let is_whole = revision.len() == 40 && revision.chars().all(|c| c.is_ascii_hexdigit());
    let commit = match known(revision).filter(|_| is_whole) {
        Some(commit) => commit,
        None => {
            git(&repository, &[&["fetch", "--quiet", "--force", &origin][..], &all].concat()).map_err(wrong)?;
            let fetched = || git(&repository, &["fetch", "--quiet", &origin, revision]).ok();
            known(&format!("refs/remotes/origin/{revision}"))
                .or_else(|| known(revision))
                .or_else(|| fetched().and_then(|_| known("FETCH_HEAD")))
                .ok_or_else(|| {
                    wrong(BuildError::Failed("it has no such commit, tag or branch; name one that it has".to_owned()))
                })?
        }
    };
    let folder = cache.join("git").join(format!("{}-{}", &name[..16], &commit[..12.min(commit.len())]));
    // What was interrupted, or changed by hand, is not the commit.
    if !folder.join(".git").exists() || !is_clean(cargo, &folder) {
        let _ = fs::remove_dir_all(&folder);
        let path = folder.display().to_string();
        git(&repository, &["worktree", "prune"]).map_err(wrong)?;
        git(&repository, &["worktree", "add", "--quiet", "--force", "--detach", &path, &commit]).map_err(wrong)?;
    }
    Ok(folder)
}

fn is_clean(cargo: &Cargo<'_>, folder: &Path) -> bool {
    git(cargo, folder, &["status", "--porcelain"]).is_ok_and(|files| files.is_empty())
}

/// What git prints, or why it did nothing. It is ended as `cargo` is, and never asks for a password.
pub(crate) fn git(cargo: &Cargo<'_>, folder: &Path, arguments: &[&str]) -> Result<String, BuildError> {
    let silent = [("GIT_TERMINAL_PROMPT", "0"), ("SSH_ASKPASS_REQUIRE", "force"), ("SSH_ASKPASS", "false")];
    let environment = silent.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let git = Cargo { program: Path::new("git"), environment, ..*cargo };
    let place = [OsStr::new("-C"), folder.as_os_str()].into_iter();
    let said = git.hear(place.chain(arguments.iter().map(OsStr::new)), &mut |_| ())?;
    match said.success {
        true => Ok(said.out.trim().to_owned()),
        false => Err(BuildError::Failed(format!("git says: {}", said.errors.join(" ")))),
    }
}

/// A digest of all files and links below `folder` but hidden ones and, beside a manifest, what cargo built and folders with one of the names
/// `without`.
pub(crate) fn digest(folder: &Path, without: &[&str]) -> io::Result<String> {
    let mut all = Sha256::new();
    for file in files(folder, without)? {
        all.update(file.strip_prefix(folder).unwrap_or(&file).as_os_str().as_encoded_bytes());
        all.update([0]);
        all.update(state(&file)?);
    }
    Ok(hexadecimal(&all.finalize()))
}

/// Digest of a file's contents, or of a folder with all that is in it. A link is told by what it leads to, with the contents if that is
/// a file.
pub(crate) fn state(path: &Path) -> io::Result<String> {
    let mut all = Sha256::new();
    if path.is_symlink() {
        all.update(path.canonicalize().or_else(|_| fs::read_link(path))?.as_os_str().as_encoded_bytes());
    } else if path.is_dir() {
        return digest(path, &[]);
    }
    if path.is_file() {
        // In pieces: a file may be larger than the memory.
        let mut pieces = BufReader::with_capacity(1 << 20, File::open(path)?);
        while let piece @ [_, ..] = pieces.fill_buf()? {
            all.update(piece);
            let length = piece.len();
            pieces.consume(length);
        }
    }
    Ok(hexadecimal(&all.finalize()))
}

/// The files and links of [`digest`], in order. A link to a folder is not followed: it may lead anywhere.
fn files(folder: &Path, without: &[&str]) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    collect(folder, without, &mut files)?;
    files.sort();
    Ok(files)
}

fn collect(folder: &Path, without: &[&str], files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let name = entry.file_name();
        let is_left_out =
            || (name == "target" || without.iter().any(|other| name == *other)) && folder.join("Cargo.toml").is_file();
        if name.as_encoded_bytes().starts_with(b".") || (kind.is_dir() && is_left_out()) {
            continue;
        }
        if kind.is_dir() {
            collect(&path, without, files)?;
        } else if kind.is_file() || kind.is_symlink() {
            files.push(path);
        }
    }
    Ok(())
}
