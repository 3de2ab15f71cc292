//! Numbers and durations as they are written on a command line.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use cqldyno_bench::AskedDelay;
pub use cqldyno_bench::duration;

/// The longest time that can be asked for.
pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A number of things: `500000`, `1_000`, `250k`, `10M`, `2.5M`; at least 1.
pub fn count(text: &str) -> Result<u64, String> {
    let count = number(text).filter(|count| *count > 0);
    count.ok_or_else(|| "write a whole number from 1 on, such as 500000, 1_000, 250k or 10M".to_owned())
}

/// One number of things, or several that rise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers(pub Vec<u64>);

impl fmt::Display for Numbers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.iter().map(u64::to_string).collect::<Vec<_>>().join(","))
    }
}

/// Numbers with commas between them: `64`, `1,64,1k`, or `1,2,4,...,8192`, where `...` goes on by the factor before it.
pub fn numbers(text: &str) -> Result<Numbers, String> {
    let mut all: Vec<u64> = Vec::new();
    let mut words = text.split(',').map(str::trim);
    while let Some(word) = words.next() {
        if word != "..." {
            all.push(count(word)?);
            continue;
        }
        let (Some(last), Some(end)) = (all.last().copied(), words.next()) else {
            return Err("write a number before `...` and one after it, as in 1,2,4,...,8192".to_owned());
        };
        let end = count(end)?;
        let factor = match all.as_slice() {
            [.., before, last] if last % before == 0 => last / before,
            [.., _, _] => 0,
            _ => 2,
        };
        if factor < 2 {
            return Err(
                "write two numbers before `...` of which one is a multiple of the other, as in 1,4,...,1024".to_owned()
            );
        }
        let further = std::iter::successors(last.checked_mul(factor), |number| number.checked_mul(factor));
        all.extend(further.take_while(|number| *number < end));
        all.push(end);
    }
    match all.is_sorted_by(|one, next| one < next) {
        true => Ok(Numbers(all)),
        false => Err("write numbers that rise, such as 1,64,1024 or 1,2,4,...,8192".to_owned()),
    }
}

/// A number of things that may be none.
pub fn count_or_none(text: &str) -> Result<u64, String> {
    number(text).ok_or_else(|| "write a whole number such as 0, 1_000, 250k or 10M".to_owned())
}

/// An amount of memory, at least a MiB: `512M`, `1.5G`, `4GiB`; `k`, `M` and `G` are powers of 1,024.
pub fn bytes(text: &str) -> Result<u64, String> {
    // More than a PiB is a slip of the hand.
    let bytes =
        scaled(text.strip_suffix("iB").unwrap_or(text), 1_024).filter(|bytes| (1 << 20..1 << 50).contains(bytes));
    bytes.ok_or_else(|| "write an amount of memory such as 512M or 4G, at least 1M".to_owned())
}

fn number(text: &str) -> Option<u64> {
    scaled(text, 1_000)
}

/// A number with a unit, each the `base` times the one before. Only a power of ten must come out whole.
fn scaled(text: &str, base: u64) -> Option<u64> {
    let power = text.chars().last().and_then(|unit| "kmg".find(unit.to_ascii_lowercase()));
    let digits = if power.is_some() { &text[..text.len() - 1] } else { text };
    let unit = base.pow(power.map_or(0, |power| power as u32 + 1));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let plain = |part: &str| part.starts_with(|c: char| c.is_ascii_digit()) && !part.ends_with('_');
    if !plain(whole) || !plain(fraction) {
        return None;
    }
    let parse = |part: &str| part.replace('_', "").parse::<u64>().ok();
    let scale = 10_u64.checked_pow(fraction.replace('_', "").len().try_into().ok()?)?;
    let fraction = parse(fraction)?.checked_mul(unit)?;
    if base == 1_000 && fraction % scale != 0 {
        return None;
    }
    parse(whole)?.checked_mul(unit)?.checked_add(fraction / scale)
}

/// The longest time by which an answer is held back.
const MINUTE: Duration = Duration::from_secs(60);
const TOO_LATE: &str = "an answer is held back for a minute at most";

/// A time of a minute at most, for what holds every answer back.
pub fn pause(text: &str) -> Result<Duration, String> {
    duration(text).and_then(|time| if time > MINUTE { Err(TOO_LATE.to_owned()) } else { Ok(time) })
}

/// Such a time, or one with a jitter after it: `0.5ms±20%`.
pub fn delay(text: &str) -> Result<AskedDelay, String> {
    let asked: AskedDelay = text.parse()?;
    if asked.delay.longest() > MINUTE { Err(TOO_LATE.to_owned()) } else { Ok(asked) }
}

/// Delays of answers with commas between them: rising times, or one that may have a jitter.
#[derive(Clone, Debug, PartialEq)]
pub struct Delays(pub Vec<AskedDelay>);

impl Delays {
    pub fn ns(&self) -> Vec<u64> {
        self.0.iter().filter_map(|one| u64::try_from(one.delay.mean().as_nanos()).ok()).collect()
    }
}

/// One delay, or several that rise: `0,0.2ms,1ms`.
pub fn delays(text: &str) -> Result<Delays, String> {
    let all = text.split(',').map(|one| delay(one.trim())).collect::<Result<Vec<AskedDelay>, String>>()?;
    match all.as_slice() {
        [_] => Ok(Delays(all)),
        several if several.iter().any(|one| one.delay.longest() != one.delay.mean()) => {
            Err("several delays have no jitter; leave ± out, or give one delay".to_owned())
        }
        several if several.is_sorted_by(|one, next| one.delay.mean() < next.delay.mean()) => Ok(Delays(all)),
        _ => Err("write delays that rise, such as 0,0.2ms,1ms".to_owned()),
    }
}

/// A time from a second to a day, for what waits or ends.
pub fn patience(text: &str) -> Result<Duration, String> {
    let time = duration(text).ok().filter(|time| (Duration::from_secs(1)..=DAY).contains(time));
    time.ok_or_else(|| "write a time from 1s to a day (1440min), such as 90s or 5min".to_owned())
}

/// A whole number of milliseconds, a day at most.
pub fn milliseconds(text: &str) -> Result<u64, String> {
    let time = duration(text)?;
    let is_whole = !time.is_zero() && time.subsec_nanos() % 1_000_000 == 0;
    let ms = u64::try_from(time.as_millis()).ok().filter(|_| is_whole && time <= DAY);
    ms.ok_or_else(|| "write a whole number of milliseconds, from 1ms to a day (1440min)".to_owned())
}

/// The most generations of a run, against a slip of the hand.
pub const MOST_BLOCKS: u32 = 100_000;
pub const TOO_MANY: &str = "a run has at most 100000 generations; ask for fewer, or for longer turns with --turn";

/// Generations of a run.
pub fn blocks(text: &str) -> Result<u32, String> {
    let blocks = u32::try_from(count(text)?).ok().filter(|blocks| *blocks <= MOST_BLOCKS);
    blocks.ok_or_else(|| TOO_MANY.to_owned())
}

/// An option, and whether a part after a comma goes on with its value.
pub type Key = (&'static str, fn(&str) -> bool);

/// Of an option whose value has no comma.
pub const ONE_PART: fn(&str) -> bool = |_| false;

/// What stands in `text` before its options, and the options: KEY=VALUE or KEY, for KEY one of `keys`, with commas between.
pub fn options(text: &str, keys: &[Key]) -> Result<(String, BTreeMap<&'static str, String>), String> {
    let (mut first, mut found, mut last) = (String::new(), BTreeMap::new(), None::<&Key>);
    for (at, part) in text.split(',').enumerate() {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let before = match (keys.iter().find(|(key, _)| *key == name), last) {
            (Some((key, _)), _) if found.contains_key(key) => {
                return Err(format!("`{key}` is there twice; give it once"));
            }
            (Some(key), _) => {
                found.insert(key.0, value.to_owned());
                last = Some(key);
                continue;
            }
            (None, None) => &mut first,
            (None, Some((key, goes_on))) if goes_on(part) => found.entry(key).or_default(),
            (None, Some((key, _))) => {
                let known = keys.iter().map(|(key, _)| format!("`{key}`")).collect::<Vec<_>>().join(", ");
                let how = if first.is_empty() { "" } else { ", or put it before the first of them" };
                return Err(format!("{part:?} after `{key}` is none of the options {known}; write one of them{how}"));
            }
        };
        *before += if at > 0 { "," } else { "" };
        *before += part;
    }
    Ok((first, found))
}

/// A text of one character at least, or the sentence.
pub fn nonempty(sentence: &'static str) -> impl Fn(&str) -> Result<String, &'static str> + Clone {
    move |text| if text.is_empty() { Err(sentence) } else { Ok(text.to_owned()) }
}

/// A value, or none for a word such as `none` or `all`.
#[derive(Clone, Copy, Debug)]
pub struct Limit<T>(pub Option<T>);

type Read<T> = fn(&str) -> Result<T, String>;

/// Takes the word, or what `read` takes.
pub fn or<T>(word: &'static str, read: Read<T>) -> impl Fn(&str) -> Result<Limit<T>, String> + Clone {
    move |text| match text == word {
        true => Ok(Limit(None)),
        false => read(text).map(|value| Limit(Some(value))).map_err(|error| format!("{error}, or `{word}`")),
    }
}

/// A part of a whole, written as `5%` or `0.05`; `None` for what is no number.
pub fn parts(text: &str) -> Option<f64> {
    match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_with_units_and_separators() {
        for (text, expected) in [
            ("1", 1),
            ("1_000", 1_000),
            ("250k", 250_000),
            ("250K", 250_000),
            ("10M", 10_000_000),
            ("2.5M", 2_500_000),
            ("1.25k", 1_250),
            ("1_000k", 1_000_000),
        ] {
            assert_eq!(count(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_count_is_refused() {
        for text in ["", "0", "k", "ten", "-1", "1.5", "1.0005k", "1__", "_1", "1kk", "99999999999G", "1e6", "+1", "１"]
        {
            assert!(count(text).unwrap_err().starts_with("write a whole number from 1 on"), "{text}");
        }
        assert_eq!(count_or_none("0"), Ok(0));
    }

    #[test]
    fn several_numbers_are_read_and_an_ellipsis_goes_on_as_they_began() {
        for (text, expected) in [
            ("64", &[64][..]),
            ("1,64,1k", &[1, 64, 1_000]),
            ("1,2,4,...,64", &[1, 2, 4, 8, 16, 32, 64]),
            ("1,4,...,100", &[1, 4, 16, 64, 100]),
            ("8, ..., 32, 100", &[8, 16, 32, 100]),
        ] {
            assert_eq!(numbers(text), Ok(Numbers(expected.to_vec())), "{text}");
        }
        for (text, why) in [
            ("", "write a whole number from 1 on"),
            ("1,,4", "write a whole number from 1 on"),
            ("1,0", "write a whole number from 1 on"),
            ("1,2,...", "write a number before `...` and one after it"),
            ("...,8", "write a number before `...` and one after it"),
            ("1,...,many", "write a whole number from 1 on"),
            ("3,4,...,64", "write two numbers before `...` of which one is a multiple"),
            ("4,4,...,64", "write two numbers before `...` of which one is a multiple"),
            ("64,16", "write numbers that rise, such as 1,64,1024"),
            ("1,2,...,2", "write numbers that rise"),
        ] {
            assert!(numbers(text).unwrap_err().starts_with(why), "{text}: {:?}", numbers(text));
        }
    }

    #[test]
    fn several_delays_rise_and_have_no_jitter() {
        assert_eq!(delays("0, 0.2ms,1ms").unwrap().ns(), [0, 200_000, 1_000_000]);
        assert_eq!(delays("0.5ms±20%").unwrap(), Delays(vec!["0.5ms±20%".parse().unwrap()]));
        for (text, why) in [
            ("1ms,0", "write delays that rise, such as 0,0.2ms,1ms"),
            ("1ms,1ms", "write delays that rise"),
            ("1ms,", "write a time such as 100us"),
            ("1ms,2ms±20%", "several delays have no jitter; leave ± out, or give one delay"),
            ("0,2min", "an answer is held back for a minute at most"),
        ] {
            assert!(delays(text).unwrap_err().starts_with(why), "{text}: {:?}", delays(text));
        }
    }

    #[test]
    fn amounts_of_memory_are_read_with_their_unit() {
        for (text, expected) in [("512M", 512 << 20), ("1.5G", 3 << 29), ("4GiB", 4 << 30), ("1048576", 1 << 20)] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for text in ["", "0", "1k", "lots", "-1G", "1e9", "9999999999G", "infM", "1.5.5G"] {
            assert!(bytes(text).unwrap_err().starts_with("write an amount of memory"), "{text}");
        }
    }

    #[test]
    fn durations_are_read_with_their_unit() {
        assert_eq!(duration("100us"), Ok(Duration::from_micros(100)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1_500)));
        assert_eq!(duration("1min"), Ok(Duration::from_secs(60)));
        assert_eq!(duration("0"), Ok(Duration::ZERO));
        for text in ["", "5", "s", "-1s", "1h30", "nans", "1e999s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
