//! Prints what every meter says of this machine, one line per meter: what `cqldyno doctor` shows.

use cqldyno_meter::ALL;

fn main() {
    for meter in &ALL {
        match meter.probe() {
            Ok(()) => println!("{}: available", meter.name),
            Err(refusal) => println!("{}: unavailable: {refusal}", meter.name),
        }
    }
}
