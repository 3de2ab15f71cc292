//! How late the embedded cluster answers, as a distant one would.

use std::time::Duration;

/// A time by which answers are late, and by which share of it each may be earlier or later.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delay {
    mean: Duration,
    /// At most 1.
    jitter: f64,
}

impl Delay {
    /// Reads a time that `time` takes, with `±20%` or `+-20%` after it for a jitter.
    ///
    /// # Errors
    /// What `time` says, or how a jitter is written.
    pub fn parse(text: &str, time: impl FnOnce(&str) -> Result<Duration, String>) -> Result<Delay, String> {
        let Some((mean, jitter)) = text.split_once('±').or_else(|| text.split_once("+-")) else {
            return Ok(Delay { mean: time(text)?, jitter: 0.0 });
        };
        let mean = time(mean.trim())?;
        let percent = jitter.strip_suffix('%').and_then(|percent| percent.trim().parse::<f64>().ok());
        match percent.filter(|percent| *percent > 0.0 && *percent <= 100.0) {
            None => Err(format!(
                "the jitter of a delay is a percentage above 0% and up to 100%, as in 0.5ms±20% or 0.5ms+-20%, not {jitter:?}"
            )),
            Some(_) if mean.is_zero() => Err(format!(
                "a delay of 0 has no jitter; write a time such as 0.5ms before ±{jitter}, or leave ±{jitter} out"
            )),
            Some(percent) => Ok(Delay { mean, jitter: percent / 100.0 }),
        }
    }

    /// In the middle of what is drawn.
    pub fn mean(self) -> Duration {
        self.mean
    }

    /// The longest that is drawn.
    pub fn longest(self) -> Duration {
        self.mean.mul_f64(1.0 + self.jitter)
    }

    /// A delay around `mean`, evenly drawn.
    pub(crate) fn drawn(self, mean: Duration, random: &mut fastrand::Rng) -> Duration {
        if self.jitter == 0.0 {
            return mean;
        }
        mean.mul_f64(1.0 + self.jitter * (2.0 * random.f64() - 1.0))
    }
}

/// One without jitter.
impl From<Duration> for Delay {
    fn from(mean: Duration) -> Delay {
        Delay { mean, jitter: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Delay, String> {
        let time = |text: &str| {
            let micros = text.strip_suffix("us").and_then(|number| number.parse().ok());
            micros.map(Duration::from_micros).ok_or_else(|| "write a time".to_owned())
        };
        Delay::parse(text, time)
    }

    #[test]
    fn a_delay_is_read_with_a_jitter_and_without_and_drawn_evenly_around_its_time() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut drawn = |text: &str| {
            let delay = read(text).unwrap();
            let all: Vec<u128> = (0..10_000).map(|_| delay.drawn(delay.mean(), &mut random).as_micros()).collect();
            (*all.iter().min().unwrap(), all.iter().sum::<u128>() / 10_000, *all.iter().max().unwrap())
        };
        assert_eq!(drawn("500us"), (500, 500, 500));
        for text in ["500us±20%", "500us+-20%", "500us ± 20 %"] {
            let (least, mean, most) = drawn(text);
            assert!((400..405).contains(&least) && (495..505).contains(&mean) && (595..600).contains(&most), "{text}");
            assert_eq!(read(text).unwrap().longest(), Duration::from_micros(600));
        }
        assert!(drawn("500us±100%").0 < 10);
    }

    #[test]
    fn a_jitter_that_is_none_is_refused_with_how_to_write_it() {
        for text in ["500us±20", "500us±", "500us±0%", "500us+-101%", "500us±-1%", "500us±nan%", "500us±20%±5%"]
        {
            let said = read(text).unwrap_err();
            assert!(said.contains("above 0% and up to 100%, as in 0.5ms±20% or 0.5ms+-20%, not \""), "{text}: {said}");
        }
        assert_eq!(
            read("0us±20%").unwrap_err(),
            "a delay of 0 has no jitter; write a time such as 0.5ms before ±20%, or leave ±20% out"
        );
        assert_eq!(read("±20%").unwrap_err(), "write a time");
        assert_eq!(read("500us-20%").unwrap_err(), "write a time");
    }
}
