//! Draws from a range in whole numbers alone, so that every language has the same ones.

use std::fmt;
use std::str::FromStr;

use cqldyno_driver_api::words;
use serde::{Deserialize, Serialize};

use crate::splitmix::{seed, word};

words! {
    /// How the numbers of a range are drawn.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Distribution {
        Fixed = "fixed",
        Uniform = "uniform",
        Gaussian = "gaussian",
        Exponential = "exponential",
        Zipf = "zipf",
    }
}

/// Makes amounts independent of the values that have them.
const AMOUNT_SEED: u64 = 0x6c65_6e67_7468;

/// Euler's constant, in the harmonic number.
const EULER: f64 = 0.577_215_664_9;

/// The most draws for one number of a Zipf distribution, each of which is taken with a chance of a half or more.
const MOST_TRIES: u64 = 64;

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

/// A number from 0 to below `count`, the `k`th in proportion to `1/k`; `word` has the words that it is drawn from.
///
/// It draws an octave (1, 2 to 3, 4 to 7 and so on) and a number `k` of it. A third draw takes `k` with a chance of the octave's
/// first number over `k`.
#[inline]
pub(crate) fn zipf(count: u64, word: impl Fn(u64) -> u64) -> u64 {
    let octaves = u64::from(u64::BITS - count.leading_zeros());
    let tried = (0..MOST_TRIES).find_map(|nth| {
        let [octave, within, taken] = [0, 1, 2].map(|n| word(3 * nth + n));
        let first = 1 << below(octaves, octave);
        let k = first + below(first, within);
        (k <= count && below(k, taken) < first).then_some(k - 1)
    });
    tried.unwrap_or(0)
}

/// How many bytes, elements or rows there are: one number, or a distribution of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Amount {
    distribution: Distribution,
    low: usize,
    high: usize,
}

/// An amount as it is written: `20` or `"uniform(10..30)"`.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum Written {
    Number(usize),
    Text(String),
}

impl Amount {
    /// The greatest.
    pub fn most(self) -> usize {
        self.high
    }

    /// The least.
    pub fn least(self) -> usize {
        self.low
    }

    /// By how much one may exceed another.
    pub fn span(self) -> usize {
        self.high - self.low
    }

    /// Whether it differs from number to number.
    pub fn is_drawn(self) -> bool {
        self.low != self.high
    }

    /// The mean of the distribution.
    pub fn mean(self) -> f64 {
        let (span, count) = (self.span() as f64, self.span() as f64 + 1.0);
        let above = match self.distribution {
            Distribution::Fixed => 0.0,
            Distribution::Uniform | Distribution::Gaussian => span / 2.0,
            Distribution::Exponential => span / 10.0,
            // The harmonic number to two terms; it is off by a hundredth at most.
            Distribution::Zipf if self.is_drawn() => count / (count.ln() + EULER + 0.5 / count) - 1.0,
            Distribution::Zipf => 0.0,
        };
        self.low as f64 + above
    }

    /// That of `number`; `plus` seeds another sequence.
    #[inline]
    pub fn of(self, number: u64, plus: i64) -> usize {
        if !self.is_drawn() {
            return self.low;
        }
        let seed = seed(number, plus);
        let word = |n| word(seed, AMOUNT_SEED + n);
        let count = (self.high - self.low) as u64 + 1;
        let above = match self.distribution {
            Distribution::Fixed => 0,
            Distribution::Uniform => below(count, word(0)),
            Distribution::Gaussian => gaussian(count, [word(0), word(1)]),
            Distribution::Exponential => exponential(count, [word(0), word(1)]),
            Distribution::Zipf => zipf(count, word),
        };
        self.low + above as usize
    }
}

impl From<usize> for Amount {
    fn from(amount: usize) -> Amount {
        Amount { distribution: Distribution::Fixed, low: amount, high: amount }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_drawn() {
            false => write!(to, "{}", self.low),
            true => write!(to, "{}({}..{})", self.distribution.name(), self.low, self.high),
        }
    }
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Amount, String> {
        let parsed = || {
            let (name, range) = text.strip_suffix(')')?.split_once('(')?;
            let (_, distribution) = Distribution::WORDS.into_iter().find(|(word, _)| *word == name)?;
            let (low, high) = match distribution {
                Distribution::Fixed => (range, range),
                _ => range.split_once("..")?,
            };
            let number = |text: &str| text.parse::<u32>().ok().map(|number| number as usize);
            let (low, high) = (number(low)?, number(high)?);
            let distribution = if low == high { Distribution::Fixed } else { distribution };
            Some(Amount { distribution, low, high }).filter(|one| one.low <= one.high)
        };
        parsed().ok_or_else(|| {
            format!(
                "it takes a number, or a distribution such as \"uniform(10..30)\", and {text:?} was found; use fixed(N), \
                 uniform(LOW..HIGH), gaussian(LOW..HIGH), exponential(LOW..HIGH) or zipf(LOW..HIGH)"
            )
        })
    }
}

impl TryFrom<Written> for Amount {
    type Error = String;

    fn try_from(written: Written) -> Result<Amount, String> {
        match written {
            Written::Number(amount) => Ok(amount.into()),
            Written::Text(text) => text.parse(),
        }
    }
}

impl From<Amount> for Written {
    fn from(amount: Amount) -> Written {
        match amount.is_drawn() {
            false => Written::Number(amount.low),
            true => Written::Text(amount.to_string()),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Amount {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Written::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and standard deviation of 100,000 amounts, and the shares of the least and the greatest one.
    fn figures(text: &str) -> (f64, f64, f64, f64) {
        let amount: Amount = text.parse().unwrap();
        let drawn: Vec<f64> = (0..100_000).map(|number| amount.of(number, 7) as f64).collect();
        let count = drawn.len() as f64;
        let mean = drawn.iter().sum::<f64>() / count;
        assert!((mean - amount.mean()).abs() <= 0.03 * mean, "{text}: {mean} {}", amount.mean());
        let variance = drawn.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / count;
        let share = |of: usize| drawn.iter().filter(|one| **one == of as f64).count() as f64 / count;
        (mean, variance.sqrt(), share(amount.least()), share(amount.most()))
    }

    #[test]
    fn amounts_have_the_mean_and_the_deviation_of_their_distribution() {
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
        // The harmonic number of 100 is 5.187.
        let (mean, _, least, most) = figures("zipf(1..100)");
        assert!(near(mean, 100.0 / 5.187) && near(least, 1.0 / 5.187), "{mean} {least}");
        assert!((0.0014..0.0025).contains(&most), "{most}");
        assert_eq!(figures("fixed(5)"), (5.0, 0.0, 1.0, 1.0));
    }

    #[test]
    fn draws_stay_below_their_count_whatever_the_words_are() {
        for count in [1, 2, 1_000, 1 << 40] {
            for word in [0, 1, u64::MAX / 3, u64::MAX - 1, u64::MAX] {
                for other in [0, u64::MAX] {
                    assert!(gaussian(count, [word, other]) < count && exponential(count, [word, other]) < count);
                }
                assert!(below(count, word) < count && zipf(count, |n| word.rotate_left(n as u32)) < count);
            }
            assert_eq!([exponential(count, [0, 0]), exponential(count, [u64::MAX; 2])], [count - 1, 0]);
        }
    }

    #[test]
    fn an_amount_is_read_as_it_is_written() {
        for text in ["20", "uniform(10..30)", "gaussian(0..4000000)", "exponential(1..2)", "zipf(3..9)"] {
            let read: Amount =
                serde_json::from_str(&if text == "20" { text.to_owned() } else { format!("{text:?}") }).unwrap();
            assert_eq!(read.to_string(), text);
        }
        for same in ["fixed(20)", "uniform(20..20)", "zipf(20..20)"] {
            assert_eq!(same.parse(), Ok(Amount::from(20)));
        }
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
            let error = wrong.parse::<Amount>().unwrap_err();
            assert!(error.contains(&format!("and {wrong:?} was found; use fixed(N), uniform(LOW..HIGH)")), "{error}");
        }
    }
}
