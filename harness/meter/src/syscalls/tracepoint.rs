//! The number of the tracepoint raw_syscalls:sys_enter.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;

use nix::unistd::getgid;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::REFUSED;
use crate::Refusal;

const ROOTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
const FILE: &str = "events/raw_syscalls/sys_enter/id";

/// The number from where tracefs is mounted, else from a mount that only this process sees and that ends with the call.
pub(super) fn id() -> Result<u64, Refusal> {
    match mounted_id(&ROOTS) {
        Some(found) => found,
        None => detached_id(),
    }
}

/// The number below the first of `roots` that has the file, or the refusal of the first that hides it; `None` if none has it.
fn mounted_id(roots: &[&str]) -> Option<Result<u64, Refusal>> {
    let mut denied = None;
    for root in roots {
        let path = format!("{root}/{FILE}");
        match fs::read_to_string(&path) {
            Ok(text) => return Some(number(&path, &text)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                denied.get_or_insert_with(|| {
                    let remedy = format!(
                        "Run `mount -o remount,gid={},mode=750 /sys/kernel/tracing` and `sysctl kernel.perf_event_paranoid=1` as \
                         root, or `setcap cap_perfmon,cap_dac_read_search+ep` on the cqldyno executable.",
                        getgid()
                    );
                    Refusal::new(REFUSED, format!("{path} may not be read by this user (EACCES)"), remedy)
                });
            }
            Err(_) => {}
        }
    }
    denied.map(Err)
}

fn number(path: &str, text: &str) -> Result<u64, Refusal> {
    let text = text.trim();
    text.parse().map_err(|_| {
        let found: String = text.chars().take(80).collect();
        let why = format!("{path} should hold the tracepoint's number and holds {found:?}");
        Refusal::new(REFUSED, why, format!("Look at {path}: it should hold one number; mount tracefs there."))
    })
}

fn detached_id() -> Result<u64, Refusal> {
    let absent = |error: io::Error| {
        let why = format!(
            "the number of the tracepoint raw_syscalls:sys_enter is in tracefs, which is not mounted at {}, and could not be \
             mounted aside ({error})",
            ROOTS.join(" or ")
        );
        let remedy = format!(
            "Run `mount -t tracefs -o gid={},mode=750 tracefs /sys/kernel/tracing` and `sysctl kernel.perf_event_paranoid=1` as \
             root, or run cqldyno as root.",
            getgid()
        );
        Refusal::new(REFUSED, why, remedy)
    };
    let mounted = || {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
    };
    let mount = mounted().map_err(|error| absent(error.into()))?;
    let path = format!("/proc/self/fd/{}/{FILE}", mount.as_raw_fd());
    let text = fs::read_to_string(&path).map_err(absent)?;
    number(&path, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(content: Option<&str>) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        if let Some(content) = content {
            let path = dir.path().join(FILE);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        dir
    }

    #[test]
    fn the_first_root_that_has_the_file_gives_the_number() {
        let (empty, full) = (root(None), root(Some("437\n")));
        let roots = [empty.path().to_str().unwrap(), full.path().to_str().unwrap()];
        assert_eq!(mounted_id(&roots), Some(Ok(437)));
        assert_eq!(mounted_id(&roots[..1]), None);
    }

    #[test]
    fn a_file_without_a_number_is_shown() {
        let odd = root(Some("what\n"));
        let found = mounted_id(&[odd.path().to_str().unwrap()]);
        assert!(found.unwrap().unwrap_err().why.ends_with("holds \"what\""));
    }

    #[test]
    fn as_root_the_number_is_found_without_changing_the_machine() {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("not tested here: only root may mount aside");
            return;
        }
        let mounts = || fs::read_to_string("/proc/self/mounts").unwrap();
        let before = mounts();
        match detached_id() {
            Ok(id) => assert!(id > 0),
            Err(refusal) => eprintln!("this kernel or container gives root no tracefs: {refusal}"),
        }
        assert_eq!(mounts(), before);
    }
}
