//! Single tickets, as runs.

use serde::{Deserialize, Serialize};

/// Tickets as runs of neighbours: the first ticket and how many follow each other. Ascending, disjoint and never empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "Vec<(u64, u64)>")]
pub struct Tickets(Vec<(u64, u64)>);

/// Runs that are not those of [`Tickets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("runs of tickets were expected, as [first, how many], ascending, and the run [{0}, {1}] was found: {2}")]
pub struct NoRun(u64, u64, &'static str);

impl TryFrom<Vec<(u64, u64)>> for Tickets {
    type Error = NoRun;

    fn try_from(runs: Vec<(u64, u64)>) -> Result<Tickets, NoRun> {
        let mut end = 0;
        for &(first, count) in &runs {
            let no_run = |reason| NoRun(first, count, reason);
            if count == 0 {
                return Err(no_run("it is empty"));
            }
            if first < end {
                return Err(no_run("the run before it does not end before it"));
            }
            end = first.checked_add(count).ok_or_else(|| no_run("its end is no number of 64 bits"))?;
        }
        Ok(Tickets(runs))
    }
}

/// From tickets in any order; one that is there twice counts once.
impl FromIterator<u64> for Tickets {
    fn from_iter<I: IntoIterator<Item = u64>>(tickets: I) -> Tickets {
        let mut tickets: Vec<u64> = tickets.into_iter().collect();
        tickets.sort_unstable();
        tickets.dedup();
        let runs = tickets.chunk_by(|one, next| one + 1 == *next);
        Tickets(runs.map(|run| (run[0], run.len() as u64)).collect())
    }
}

impl Tickets {
    /// How many tickets.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// Whether `ticket` is one of them.
    pub fn contains(&self, ticket: u64) -> bool {
        let after = self.0.partition_point(|&(first, _)| first <= ticket);
        self.0[..after].last().is_some_and(|&(first, count)| ticket - first < count)
    }

    /// Each ticket, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.0.iter().flat_map(|&(first, count)| first..=first + (count - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_in_any_order_become_runs_and_come_back() {
        let tickets: Tickets = [7, 3, 4, 9, 5, 3].into_iter().collect();
        assert_eq!(serde_json::to_string(&tickets).unwrap(), "[[3,3],[7,1],[9,1]]");
        assert_eq!(tickets.count(), 5);
        let few: Tickets = (3..6).chain([8]).collect();
        assert!(few.iter().eq([3, 4, 5, 8]));
        assert!((0..10).filter(|&ticket| few.contains(ticket)).eq(few.iter()));
        assert_eq!(serde_json::from_str::<Tickets>("[[3,3],[8,1]]").unwrap(), few);
        assert_eq!((Tickets::default().count(), Tickets::default().contains(0)), (0, false));
    }

    #[test]
    fn runs_that_are_none_are_refused() {
        for (runs, reason) in [
            ("[[3,0]]", "the run [3, 0] was found: it is empty"),
            ("[[3,2],[4,1]]", "the run [4, 1] was found: the run before it does not end before it"),
            ("[[9,1],[3,2]]", "the run [3, 2] was found: the run before it does not end before it"),
            ("[[18446744073709551615,1]]", "1] was found: its end is no number of 64 bits"),
        ] {
            let error = serde_json::from_str::<Tickets>(runs).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
