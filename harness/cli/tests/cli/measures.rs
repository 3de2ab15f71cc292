//! What the meters declare and what the reports know of a measure is the same.

use cqldyno_reports::measure::DEFINITIONS;

#[test]
fn every_measure_of_the_reports_is_declared_by_a_meter_with_its_unit_direction_and_pass() {
    let meters = cqldyno_meter::all();
    let declared: Vec<_> = meters.iter().flat_map(|meter| meter.declarations()).collect();
    for known in DEFINITIONS {
        let measure = declared.iter().find(|measure| measure.id == known.id).unwrap_or_else(|| panic!("{}", known.id));
        assert_eq!(measure.unit, known.unit.symbol(), "{}", known.id);
        assert_eq!(format!("{:?}", measure.better), format!("{:?}", known.better), "{}", known.id);
        let everywhere = measure.pass == cqldyno_meter::Pass::Any;
        assert!(everywhere || format!("{:?}", measure.pass) == format!("{:?}", known.pass), "{}", known.id);
    }
}
