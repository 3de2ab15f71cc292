//! Tells the code which release of the driver it is compiled with.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    cqldyno_driver_since::tell(&[
        "0.3", "0.4", "0.5", "0.8", "0.9", "0.10", "0.11", "0.13", "0.14", "0.15", "1.0", "1.9",
    ])
}
