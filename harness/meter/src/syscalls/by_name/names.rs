//! What system calls are called: the kernel's tables, as of Linux 6.17.

use std::borrow::Cow;

#[cfg(any(target_arch = "aarch64", test))]
mod aarch64;
#[cfg(any(target_arch = "x86_64", test))]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64::RUNS;
#[cfg(target_arch = "x86_64")]
use x86_64::RUNS;
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
const RUNS: &[(usize, &[&str])] = &[];

/// The name of the call with this number, `syscall_NUMBER` where there is none in the tables.
pub(super) fn name(number: usize) -> Cow<'static, str> {
    let named = RUNS.iter().find_map(|(first, names)| names.get(number.checked_sub(*first)?));
    named.map_or_else(|| Cow::Owned(format!("syscall_{number}")), |name| Cow::Borrowed(*name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_those_of_the_c_librarys_numbers() {
        for (number, called) in [
            (libc::SYS_read, "read"),
            (libc::SYS_writev, "writev"),
            (libc::SYS_sendto, "sendto"),
            (libc::SYS_recvfrom, "recvfrom"),
            (libc::SYS_futex, "futex"),
            (libc::SYS_epoll_pwait, "epoll_pwait"),
            (libc::SYS_getppid, "getppid"),
            (libc::SYS_eventfd2, "eventfd2"),
            (libc::SYS_newfstatat, "newfstatat"),
            (libc::SYS_bpf, "bpf"),
            (libc::SYS_io_uring_enter, "io_uring_enter"),
            (libc::SYS_clone3, "clone3"),
            (libc::SYS_epoll_pwait2, "epoll_pwait2"),
            (libc::SYS_futex_waitv, "futex_waitv"),
        ] {
            assert_eq!(name(number as usize), called);
        }
    }

    #[test]
    fn a_number_without_a_name_is_shown() {
        assert_eq!(name(400), "syscall_400");
        assert_eq!(name(510), "syscall_510");
    }

    #[test]
    fn both_tables_have_each_name_once_and_their_runs_do_not_overlap() {
        for runs in [aarch64::RUNS, x86_64::RUNS] {
            let all: Vec<&str> = runs.iter().flat_map(|(_, names)| names.iter().copied()).collect();
            assert!(all.len() > 300);
            assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
            assert!(runs.windows(2).all(|pair| pair[0].0 + pair[0].1.len() < pair[1].0));
            assert!(runs.iter().all(|(first, names)| first + names.len() <= super::super::program::NUMBERS));
        }
    }
}
