//! How the library comes to work: the dynamic loader calls what `.init_array` names (the generic ABI of ELF, initialization functions).
#![allow(
    unsafe_code,
    reason = "a link section is named by an unsafe attribute; the section holds functions without arguments, as this one is"
)]

use std::{env, thread};

use crate::{VARIABLE, follow};

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    if let Some(folder) = env::var_os(VARIABLE) {
        // Without a thread nothing is sampled, which the other side sees.
        let _ = thread::Builder::new().name("profiler".to_owned()).spawn(move || follow(&folder));
    }
}
