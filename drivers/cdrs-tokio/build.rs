//! Tells the code which release of the driver it is compiled with.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    cqldyno_driver_since::tell(&["5.0", "6.0", "7.0", "8.1"])
}
