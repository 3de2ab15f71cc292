//! Prints what every meter says of this machine, one line a meter: what `cqldyno doctor` shows.

use cqldyno_meter::{Probe, all};

fn main() {
    for meter in all() {
        match meter.probe() {
            Probe::Available => println!("{}: available", meter.name()),
            Probe::Unavailable { sentence, remedy } => println!("{}: unavailable: {sentence} {remedy}", meter.name()),
        }
    }
}
