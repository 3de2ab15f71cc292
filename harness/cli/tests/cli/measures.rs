//! What the meters declare and what the reports know of a measure is the same.

use cqldyno_meter::Pass;
use cqldyno_reports::measure::{DEFINITIONS, definition};

#[test]
fn every_measure_of_the_reports_is_declared_by_a_meter_with_its_unit_direction_and_pass() {
    let meters = cqldyno_meter::all();
    let declared: Vec<_> = meters.iter().flat_map(|meter| meter.declarations()).collect();
    for known in DEFINITIONS {
        let measure = declared.iter().find(|measure| measure.id == known.id).unwrap_or_else(|| panic!("{}", known.id));
        assert_eq!(measure.unit, known.unit.symbol(), "{}", known.id);
        assert_eq!(format!("{:?}", measure.better), format!("{:?}", known.better), "{}", known.id);
        let pass = match known.pass {
            cqldyno_reports::Pass::Timing => Pass::Timing,
            cqldyno_reports::Pass::Counting => Pass::Counting,
        };
        assert!(measure.pass.taken_in(pass), "{}", known.id);
    }
}

#[test]
fn what_no_report_knows_is_only_listed() {
    for meter in cqldyno_meter::all() {
        for measure in meter.declarations().iter().filter(|measure| definition(measure.id).is_none()) {
            let shown = ["cpu", "voluntary_switches", "involuntary_switches", "minor_faults", "major_faults"];
            assert!(shown.contains(&measure.id) || measure.id.starts_with("machine_"), "{}", measure.id);
        }
    }
}
