//! Makes the executable find libcassandra where it was linked.

use std::env;
use std::path::Path;

/// Where the linker looks without being told to, and where cassandra-cpp-sys tells it to look.
const SYSTEM_DIRECTORIES: [&str; 7] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/local/lib/x86_64-linux-gnu",
    "/usr/local/lib64",
    "/usr/local/lib",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/aarch64-linux-gnu",
];

/// Where `native` puts what it fetches, below the target folder.
const FETCHED: &str = "libcassandra";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CASSANDRA_SYS_LIB_PATH");
    let has_library = |directory: &str| Path::new(directory).join("libcassandra.so").exists();
    match env::var("CASSANDRA_SYS_LIB_PATH") {
        Ok(path) if !path.is_empty() => {
            for directory in path.split(';') {
                if !Path::new(directory).is_absolute() {
                    println!("cargo:error=CASSANDRA_SYS_LIB_PATH is {path}, but must be an absolute path.");
                }
                println!("cargo:rustc-link-search=native={directory}");
                // One that was fetched lies beside the folder of workers, and moves with it.
                if let Some(name) = fetched(Path::new(directory)) {
                    println!("cargo:rustc-link-arg=-Wl,-rpath,$ORIGIN/../{FETCHED}/{name}");
                }
                // A run path that LD_LIBRARY_PATH overrides (DT_RUNPATH), so that the same executable runs on another library.
                println!("cargo:rustc-link-arg=-Wl,--enable-new-dtags,-rpath,{directory}");
            }
            if !path.split(';').any(has_library) {
                println!("cargo:error=CASSANDRA_SYS_LIB_PATH is {path}, where there is no libcassandra.so.");
            }
        }
        _ if SYSTEM_DIRECTORIES.into_iter().any(has_library) => {}
        // Only a warning: checking, clippy and documentation need no library. Linking fails right after it.
        _ => println!(
            "cargo:warning=libcassandra was not found, so linking this package will fail: run `make build`, or set \
             CASSANDRA_SYS_LIB_PATH to the directory that drivers/cassandra-cpp/libcassandra/provide prints."
        ),
    }
}

/// The name of a library's folder that was fetched.
fn fetched(directory: &Path) -> Option<&str> {
    directory.parent().filter(|folder| folder.ends_with(FETCHED))?;
    directory.file_name()?.to_str()
}
