//! `duration`: months, days and nanoseconds as signed vints (native_protocol_v5.spec section 3, `[vint]`).

use std::fmt::Write;

use cqldyno_driver_api::wire::{Body, vint};

fn split(bytes: &[u8]) -> Option<[i64; 3]> {
    let mut body = Body { rest: bytes };
    let parts = [body.vint().ok()?, body.vint().ok()?, body.vint().ok()?];
    body.rest.is_empty().then_some(parts)
}

pub(super) fn validate(bytes: &[u8]) -> Result<(), String> {
    if bytes.len() < 3 {
        return Err(format!("Expected at least 3 bytes for a duration ({})", bytes.len()));
    }
    let Some(parts) = split(bytes) else { return Err("Invalid duration: it is to be three signed vints".to_owned()) };
    let [months, days, nanos] = parts;
    for (what, value) in [("months", months), ("days", days)] {
        if i32::try_from(value).is_err() {
            return Err(format!("The duration {what} must be a 32 bits integer but was: {value}"));
        }
    }
    if parts.iter().any(|part| *part < 0) && parts.iter().any(|part| *part > 0) {
        return Err(format!(
            "The duration months, days and nanoseconds must be all of the same sign ({months}, {days}, {nanos})"
        ));
    }
    Ok(())
}

/// The units of months, days and nanoseconds: which of the three, and how many of it. Those that are written come first.
const UNITS: [(&str, usize, i64); 11] = [
    ("y", 0, 12),
    ("mo", 0, 1),
    ("d", 1, 1),
    ("h", 2, 3_600_000_000_000),
    ("m", 2, 60_000_000_000),
    ("s", 2, 1_000_000_000),
    ("ms", 2, 1_000_000),
    ("us", 2, 1_000),
    ("ns", 2, 1),
    ("w", 1, 7),
    ("µs", 2, 1_000),
];

/// A duration from text such as `1y2mo3w4d5h6m7s8ms9us10ns`, with an optional sign before it.
pub(super) fn parse(text: &str) -> Option<Vec<u8>> {
    let (sign, mut rest) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let mut parts = [0i64; 3];
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.bytes().take_while(|byte| !byte.is_ascii_digit()).count();
        let (unit, tail) = tail.split_at_checked(letters)?;
        let number: i64 = number.parse().ok()?;
        let unit = unit.to_ascii_lowercase();
        let (_, part, factor) = UNITS.iter().find(|(name, ..)| *name == unit)?;
        parts[*part] = parts[*part].checked_add(number.checked_mul(*factor)?)?;
        rest = tail;
    }
    let mut bytes = Vec::new();
    parts.iter().for_each(|part| vint(sign * part, &mut bytes));
    Some(bytes)
}

/// The text of a valid duration: `1y2mo3d4h5m6s7ms8us9ns`.
pub(super) fn text(bytes: &[u8]) -> Option<String> {
    let parts = split(bytes)?;
    let mut text = String::from(if parts.iter().any(|part| *part < 0) { "-" } else { "" });
    let mut left = parts.map(i64::unsigned_abs);
    for (unit, part, factor) in &UNITS[..9] {
        let (whole, rest) = (left[*part] / factor.unsigned_abs(), left[*part] % factor.unsigned_abs());
        left[*part] = rest;
        if whole > 0 {
            let _ = write!(text, "{whole}{unit}");
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_duration_have_one_sign() {
        assert_eq!(validate(&[2, 4, 6]), Ok(()));
        assert!(validate(&[1, 4, 6]).is_err());
        assert!(validate(&[2, 4]).is_err());
        assert!(validate(&[2, 4, 0xff]).is_err());
    }
}
