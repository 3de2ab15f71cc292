//! The distributions of a profile.

/// How large values are that the profile says nothing of.
pub(super) const SIZE: Spread = Spread { way: Some("uniform"), low: 4, high: 8, is_exact: true };
/// The one row of a value of the clustering columns that the profile says nothing of.
pub(super) const ONE: Spread = Spread { way: Some("uniform"), low: 1, high: 1, is_exact: true };

/// A distribution by its ends: `uniform(1..10M)`, `fixed(5)`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Spread {
    /// As scenarios name it; `None` for one that they do not have.
    pub(super) way: Option<&'static str>,
    pub(super) low: u64,
    pub(super) high: u64,
    /// Whether scenarios draw as the profile says, not with another mean or deviation.
    pub(super) is_exact: bool,
}

impl Spread {
    pub(super) fn parse(text: &str) -> Option<Spread> {
        let (name, inside) = text.trim().split_once('(')?;
        let (range, more) = inside.strip_suffix(')')?.split_once(',').unwrap_or((inside.strip_suffix(')')?, ""));
        let (low, high) = range.split_once("..").unwrap_or((range, range));
        let way = match name.trim().to_ascii_lowercase().as_str() {
            "fixed" | "uniform" => "uniform",
            "seq" => "sequential",
            "gaussian" | "gauss" | "normal" | "norm" => "gaussian",
            "exp" | "exponential" => "exponential",
            "zipf" => "zipf",
            _ => "",
        };
        let is_exact = !way.is_empty() && more.is_empty();
        let way = Some(way).filter(|way| !way.is_empty());
        Some(Spread { way, low: number(low)?, high: number(high)?, is_exact }).filter(|one| one.low <= one.high)
    }

    /// No number is below `least` or above `most`.
    pub(super) fn within(self, least: u64, most: u64) -> Spread {
        let [low, high] = [self.low, self.high].map(|end| end.clamp(least, most));
        Spread { low, high, is_exact: self.is_exact && (low, high) == (self.low, self.high), ..self }
    }

    /// That of the products, drawn as one number.
    pub(super) fn times(self, other: Spread) -> Spread {
        let (drawn, factor) = if other.low < other.high { (other, self) } else { (self, other) };
        Spread {
            low: self.low.saturating_mul(other.low),
            high: self.high.saturating_mul(other.high),
            is_exact: drawn.is_exact && (factor.high == 1 || drawn.high == drawn.low),
            ..drawn
        }
    }

    /// A part of it, such as `fixed(1)/10`, and at least 1.
    pub(super) fn part(self, ratio: &str) -> Option<Spread> {
        let (part, of) = ratio.rsplit_once('/')?;
        let (part, of) = (Spread::parse(part)?, number(of).filter(|of| *of > 0)?);
        let all = self.times(part);
        Some(Spread { low: (all.low / of).max(1), high: (all.high / of).max(1), ..all })
    }

    /// As a scenario has it: itself, or its middle if no scenario has it.
    pub(super) fn amount(self) -> String {
        match self.way.filter(|way| *way != "sequential" && self.low < self.high) {
            Some(way) => format!("\"{way}({}..{})\"", self.low, self.high),
            None => self.low.midpoint(self.high).to_string(),
        }
    }
}

/// A number such as `5`, `10M` or `100B`.
fn number(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let units = [('k', 1_000), ('m', 1_000_000), ('b', 1_000_000_000)];
    let scaled = units.into_iter().find_map(|(sign, unit)| Some((text.strip_suffix(sign)?, unit)));
    let (digits, unit) = scaled.unwrap_or((&text, 1));
    digits.parse::<u64>().ok()?.checked_mul(unit)
}
