//! Draws from a range in whole numbers alone, so that every language has the same ones.

use std::fmt;
use std::str::FromStr;

use cqldyno_driver_api::words;
use serde::{Deserialize, Serialize};

use crate::column::{seed, word};

words! {
    /// How the numbers of a range are drawn.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Distribution {
        Fixed = "fixed",
        Uniform = "uniform",
        Gaussian = "gaussian",
        Exponential = "exponential",
    }
}

/// Makes lengths independent of the values that have them.
const LENGTH_SEED: u64 = 0x6c65_6e67_7468;

/// A number from 0 to below `count`; the upper half of the product, so some are more likely by a 2^64th at most (Lemire 2019).
#[inline]
pub(crate) fn below(count: u64, word: u64) -> u64 {
    ((u128::from(word) * u128::from(count)) >> 64) as u64
}

/// A number from 0 to below `count` of a normal distribution whose ends are three standard deviations from the middle.
///
/// Of 64 random bits 32 are ones on average, with a standard deviation of 4. A second word fills the gaps between their numbers.
#[inline]
pub(crate) fn gaussian(count: u64, words: [u64; 2]) -> u64 {
    let ones = (u64::from(words[0].count_ones()) << 32) | (words[1] >> 32);
    // The range begins 12 ones before the middle of 32.5, and is 24 long.
    let from = ones.saturating_sub(41 << 31);
    ((u128::from(count) * u128::from(from) / (24 << 32)) as u64).min(count.saturating_sub(1))
}

/// A number from 0 to below `count` of an exponential distribution whose mean is a tenth of `count`.
#[inline]
pub(crate) fn exponential(count: u64, words: [u64; 2]) -> u64 {
    /// A tenth of the logarithm of 2, times 2^32.
    const TENTH: u128 = 297_704_447;
    let word = words[0] | 1;
    let zeros = word.leading_zeros();
    // Squares of the mantissa give its binary logarithm, 16 digits of it; the second word gives 16 more.
    let (mut mantissa, mut logarithm) = (word << zeros, 0u64);
    for _ in 0..16 {
        let square = (u128::from(mantissa) * u128::from(mantissa)) >> 63;
        let digit = (square >> 64) as u64;
        (mantissa, logarithm) = ((square >> digit) as u64, (logarithm << 1) | digit);
    }
    let halvings = (u64::from(zeros + 1) << 32) - ((logarithm << 16) | (words[1] >> 48));
    let tenths = (u128::from(halvings) * TENTH) >> 32;
    (((u128::from(count) * tenths) >> 32) as u64).min(count.saturating_sub(1))
}

/// How many bytes the texts or blobs of a column have: one length, or a distribution of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Length {
    distribution: Distribution,
    low: usize,
    high: usize,
}

/// A length as it is written: `20` or `"uniform(10..30)"`.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Written {
    Number(usize),
    Text(String),
}

impl Length {
    /// The greatest.
    pub fn most(self) -> usize {
        self.high
    }

    /// The least.
    pub fn least(self) -> usize {
        self.low
    }

    /// How much longer one value may be than another.
    pub fn span(self) -> usize {
        self.high - self.low
    }

    /// That of the value of `number`; `plus` seeds another sequence.
    #[inline]
    pub fn of(self, number: u64, plus: i64) -> usize {
        if self.low == self.high {
            return self.low;
        }
        let seed = seed(number, plus);
        let [first, second] = [0, 1].map(|n| word(seed, LENGTH_SEED + n));
        let count = (self.high - self.low) as u64 + 1;
        let above = match self.distribution {
            Distribution::Fixed => 0,
            Distribution::Uniform => below(count, first),
            Distribution::Gaussian => gaussian(count, [first, second]),
            Distribution::Exponential => exponential(count, [first, second]),
        };
        self.low + above as usize
    }
}

impl From<usize> for Length {
    fn from(length: usize) -> Length {
        Length { distribution: Distribution::Fixed, low: length, high: length }
    }
}

impl fmt::Display for Length {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.low == self.high {
            true => write!(to, "{}", self.low),
            false => write!(to, "{}({}..{})", self.distribution.name(), self.low, self.high),
        }
    }
}

impl FromStr for Length {
    type Err = String;

    fn from_str(text: &str) -> Result<Length, String> {
        let parsed = || {
            let (name, range) = text.strip_suffix(')')?.split_once('(')?;
            let (_, distribution) = Distribution::WORDS.into_iter().find(|(word, _)| *word == name)?;
            let (low, high) = match distribution {
                Distribution::Fixed => (range, range),
                _ => range.split_once("..")?,
            };
            let number = |text: &str| text.parse::<u32>().ok().map(|number| number as usize);
            Some(Length { distribution, low: number(low)?, high: number(high)? }).filter(|one| one.low <= one.high)
        };
        parsed().ok_or_else(|| {
            format!(
                "a length is a number, or a distribution such as \"uniform(10..30)\", and {text:?} was found; use fixed(N), \
                 uniform(LOW..HIGH), gaussian(LOW..HIGH) or exponential(LOW..HIGH)"
            )
        })
    }
}

impl TryFrom<Written> for Length {
    type Error = String;

    fn try_from(written: Written) -> Result<Length, String> {
        match written {
            Written::Number(length) => Ok(length.into()),
            Written::Text(text) => text.parse(),
        }
    }
}

impl From<Length> for Written {
    fn from(length: Length) -> Written {
        match length.low == length.high {
            true => Written::Number(length.low),
            false => Written::Text(length.to_string()),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Length {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Length".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Written::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation of 100,000 lengths, and the shares of the least and the greatest one.
    fn figures(text: &str) -> (f64, f64, f64, f64) {
        let length: Length = text.parse().unwrap();
        let drawn: Vec<f64> = (0..100_000).map(|number| length.of(number, 7) as f64).collect();
        let count = drawn.len() as f64;
        let mean = drawn.iter().sum::<f64>() / count;
        let variance = drawn.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / count;
        let share = |of: usize| drawn.iter().filter(|one| **one == of as f64).count() as f64 / count;
        (mean, variance.sqrt(), share(length.least()), share(length.most()))
    }

    #[test]
    fn lengths_have_the_mean_and_the_deviation_of_their_distribution() {
        let near = |found: f64, due: f64| (found - due).abs() < 0.02 * due;
        let (mean, deviation, least, most) = figures("uniform(100..199)");
        assert!(
            near(mean, 149.5) && near(deviation, 28.87) && least > 0.008 && most > 0.008,
            "{mean} {deviation} {least} {most}"
        );
        let (mean, deviation, least, most) = figures("gaussian(1000..1999)");
        assert!(
            near(mean, 1_499.5) && near(deviation, 166.7) && least < 0.003 && most < 0.003,
            "{mean} {deviation} {least} {most}"
        );
        let (mean, deviation, least, most) = figures("exponential(0..9999)");
        assert!(
            near(mean, 1_000.0) && near(deviation, 1_000.0) && least < 0.003 && most < 0.001,
            "{mean} {deviation} {least} {most}"
        );
        assert_eq!(figures("fixed(5)"), (5.0, 0.0, 1.0, 1.0));
    }

    #[test]
    fn draws_stay_below_their_count_whatever_the_words_are() {
        for count in [1, 2, 1_000, 1 << 40] {
            for word in [0, 1, u64::MAX / 3, u64::MAX - 1, u64::MAX] {
                for other in [0, u64::MAX] {
                    assert!(gaussian(count, [word, other]) < count && exponential(count, [word, other]) < count);
                }
                assert!(below(count, word) < count);
            }
            assert_eq!([exponential(count, [0, 0]), exponential(count, [u64::MAX; 2])], [count - 1, 0]);
        }
    }

    #[test]
    fn a_length_is_read_as_it_is_written() {
        for text in ["20", "uniform(10..30)", "gaussian(0..4000000)", "exponential(1..2)"] {
            let read: Length =
                serde_json::from_str(&if text == "20" { text.to_owned() } else { format!("{text:?}") }).unwrap();
            assert_eq!(read.to_string(), text);
        }
        assert_eq!("fixed(20)".parse(), Ok(Length::from(20)));
        for wrong in [
            "",
            "20",
            "uniform",
            "uniform(10)",
            "uniform(30..10)",
            "normal(1..2)",
            "uniform(1..x)",
            "uniform(1..2",
            "fixed(1..2)",
        ] {
            let error = wrong.parse::<Length>().unwrap_err();
            assert!(error.contains(&format!("and {wrong:?} was found; use fixed(N), uniform(LOW..HIGH)")), "{error}");
        }
    }
}
