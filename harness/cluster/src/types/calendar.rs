//! Dates and times between their numbers and their texts (ISO 8601, proleptic Gregorian calendar, UTC).

use super::CqlType;

const DAY_MILLIS: i64 = 86_400_000;

/// Days since 1970-01-01 to year, month and day (Hinnant, "chrono-compatible low-level date algorithms").
fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = (doy - (153 * mp + 2) / 5 + 1) as u32;
    let month = if mp < 10 { mp + 3 } else { mp - 9 } as u32;
    (yoe + era * 400 + i64::from(month <= 2), month, day)
}

fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let yoe = year.rem_euclid(400);
    let mp = i64::from(month + 9) % 12;
    let doy = (153 * mp + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468
}

/// A `date` (days, with 2^31 at 1970-01-01) as `2024-02-29`.
pub(super) fn date_text(date: u32) -> String {
    let (year, month, day) = civil_from_days(i64::from(date) - (1 << 31));
    format!("{year:04}-{month:02}-{day:02}")
}

/// A `timestamp` (milliseconds since 1970) as `2024-02-29 12:00:00.000Z`.
pub(super) fn timestamp_text(millis: i64) -> String {
    let (year, month, day) = civil_from_days(millis.div_euclid(DAY_MILLIS));
    let time = time_text(millis.rem_euclid(DAY_MILLIS) * 1_000_000);
    format!("{year:04}-{month:02}-{day:02} {}Z", &time[..12])
}

/// A `time` (nanoseconds since midnight) as `12:00:00.000000000`.
pub(super) fn time_text(nanos: i64) -> String {
    let (seconds, fraction) = (nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000));
    format!("{:02}:{:02}:{:02}.{fraction:09}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn parse_days(text: &str) -> Option<i64> {
    let (negative, unsigned) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let mut parts = unsigned.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let (year, month, day) = (number::<i64>(year)?, number::<u32>(month)?, number::<u32>(day)?);
    let year = if negative { -year } else { year };
    if parts.next().is_some() || year.abs() > 5_881_580 {
        return None;
    }
    let days = days_from_civil(year, month, day);
    ((1..=12).contains(&month) && civil_from_days(days) == (year, month, day)).then_some(days)
}

/// A `date` from `2024-02-29`.
pub(super) fn parse_date(text: &str) -> Option<u32> {
    u32::try_from(parse_days(text)? + (1 << 31)).ok()
}

/// A `time` from `12:00`, `12:00:00` or `12:00:00.5`.
pub(super) fn parse_time(text: &str) -> Option<i64> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let mut parts = clock.split(':');
    let (hour, minute) = (number::<i64>(parts.next()?)?, number::<i64>(parts.next()?)?);
    let second = number::<i64>(parts.next().unwrap_or("0"))?;
    if parts.next().is_some() || fraction.len() > 9 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let nanos = number::<i64>(&format!("{fraction:0<9}"))?;
    Some((hour * 3600 + minute * 60 + second) * 1_000_000_000 + nanos)
}

/// A `timestamp` from a date, perhaps with a time after `T` or a space, and a zone (`Z`, `+0100`, `+01:00`) other than UTC.
pub(super) fn parse_timestamp(text: &str) -> Option<i64> {
    let Some((date, rest)) = text.split_once(['T', ' ']) else {
        return parse_days(text).map(|days| days * DAY_MILLIS);
    };
    let (clock, offset_minutes) = match rest.rfind(['Z', '+', '-']) {
        None => (rest, 0),
        Some(at) => (rest[..at].trim_end(), parse_zone(&rest[at..])?),
    };
    let millis = parse_time(clock)? / 1_000_000;
    Some(parse_days(date)? * DAY_MILLIS + millis - offset_minutes * 60_000)
}

fn parse_zone(text: &str) -> Option<i64> {
    if text == "Z" {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits = text.get(1..)?.replacen(':', "", 1);
    let (hours, minutes) = match digits.len() {
        2 => (number::<i64>(&digits)?, 0),
        4 => (number::<i64>(digits.get(..2)?)?, number::<i64>(digits.get(2..)?)?),
        _ => return None,
    };
    (hours <= 18 && minutes <= 59).then_some(sign * (hours * 60 + minutes))
}

/// 1970 in the time of version 1 UUIDs: in steps of 100 ns since 1582.
const EPOCH_TICKS: i64 = 0x01b2_1dd2_1381_4000;

const TICKS_PER_MILLI: i64 = 10_000;

impl CqlType {
    /// The milliseconds since 1970 of a valid timeuuid, timestamp or date; `None` if it is empty or of another type.
    pub fn unix_millis(&self, value: &[u8]) -> Option<i64> {
        match self {
            CqlType::Timestamp => Some(i64::from_be_bytes(value.try_into().ok()?)),
            CqlType::Date => {
                let days = i64::from(u32::from_be_bytes(value.try_into().ok()?)) - (1 << 31);
                Some(days * DAY_MILLIS)
            }
            CqlType::Timeuuid => {
                let [l0, l1, l2, l3, m0, m1, h0, h1, ..] = *value.first_chunk::<16>()?;
                let ticks = i64::from_be_bytes([h0 & 0x0F, h1, m0, m1, l0, l1, l2, l3]);
                Some(ticks / TICKS_PER_MILLI - EPOCH_TICKS / TICKS_PER_MILLI)
            }
            _ => None,
        }
    }
}

/// The `date` of a time in milliseconds since 1970. As in Cassandra, the last day before 1970 is 1970-01-01, too.
pub fn date_of(millis: i64) -> u32 {
    let days = millis / DAY_MILLIS + (1 << 31);
    u32::try_from(days).unwrap_or(if days < 0 { 0 } else { u32::MAX })
}

/// The least or the greatest timeuuid of a millisecond, as Cassandra orders them.
pub fn time_uuid_of(millis: i64, greatest: bool) -> [u8; 16] {
    let ticks = millis.wrapping_mul(TICKS_PER_MILLI).wrapping_add(EPOCH_TICKS);
    let (ticks, rest) = if greatest { (ticks.wrapping_add(TICKS_PER_MILLI - 1), 0x7F) } else { (ticks, 0x80) };
    let [h0, h1, m0, m1, l0, l1, l2, l3] = ticks.to_be_bytes();
    let mut uuid = [rest; 16];
    uuid[..8].copy_from_slice(&[l0, l1, l2, l3, m0, m1, 0x10 | h0 & 0x0F, h1]);
    uuid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_go_to_numbers_and_back() {
        for (text, days) in [("1970-01-01", 0), ("2024-02-29", 19_782), ("1969-12-31", -1), ("0001-01-01", -719_162)] {
            let date = parse_date(text).unwrap();
            assert_eq!(i64::from(date) - (1 << 31), days, "{text}");
            assert_eq!(date_text(date), text);
        }
        assert_eq!(parse_date("-0005-06-01").map(date_text).as_deref(), Some("-005-06-01"));
        for text in ["2023-02-29", "2024-13-01", "2024-00-01", "2024-1", "x", "", "2024-01-01-01", "99999999999-01-01"]
        {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }

    #[test]
    fn timestamps_know_their_zone() {
        assert_eq!(parse_timestamp("1970-01-01"), Some(0));
        assert_eq!(parse_timestamp("1970-01-01 01:00+0100"), Some(0));
        assert_eq!(parse_timestamp("1970-01-01T00:00:01.5Z"), Some(1500));
        assert_eq!(parse_timestamp("1970-01-01T00:00:01.500-01:00"), Some(3_601_500));
        assert_eq!(parse_timestamp("1970-01-01 25:00"), None);
        assert_eq!(timestamp_text(1500), "1970-01-01 00:00:01.500Z");
        assert_eq!(timestamp_text(-1), "1969-12-31 23:59:59.999Z");
    }

    #[test]
    fn every_number_has_a_text() {
        date_text(0);
        date_text(u32::MAX);
        timestamp_text(i64::MIN);
        timestamp_text(i64::MAX);
        time_text(i64::MIN);
        time_text(i64::MAX);
    }
}
