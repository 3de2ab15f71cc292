//! A scenario at a count: which statement and which key each ticket is.

use std::ops::Range;

use crate::answer::{KEY_BITS, stored};
use crate::load::{LoadPart, Numbers, READ_BACK_ROWS};
use crate::order::{DEFAULT_EXPONENT, Keys, Order};
use crate::splitmix::{seed as seed_of, word};
use crate::turns::Turns;
use crate::{Amount, Permutation, Scenario, Statement};

/// One statement to issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Index into the scenario's statements.
    pub statement: usize,
    /// The key that its values follow from. If its answer is drawn for each execution, what is drawn is in the upper bits
    /// ([`Answer::key`](crate::Answer::key)).
    pub key: u64,
}

/// A scenario for `count` statements after a warm-up.
///
/// By default every key is used once, in a permuted order. The keys `0..count` are divided among the statements by weight into
/// ranges. A seeded permutation of `0..count` gives each ticket its key, and the key's range gives the statement: the mix is
/// random and exact in its shares.
///
/// Else each statement has a range of as many keys as it asks for. The permutation gives each ticket its statement and a number
/// among that statement's issues, from which the key follows. If a statement wants its keys in sequence, the statements take
/// turns instead, as evenly as their weights allow.
///
/// Warm-up keys come after all these, in one range per statement.
#[derive(Clone, Debug)]
pub struct Workload {
    count: u64,
    warmup: u64,
    permutation: Permutation,
    /// The end of each statement's range of keys; also the number of issues up to there if every key is used once.
    ends: Vec<u64>,
    asks: Vec<Ask>,
    warmup_turns: Turns,
    /// Whether every key is used once, so that [`Workload::issue_once`] holds.
    pub is_once: bool,
    /// `None` where the permutation says whose turn it is.
    turns: Option<Turns>,
    seed: u64,
}

/// What one statement asks for.
#[derive(Clone, Debug)]
struct Ask {
    /// Issues in the window.
    share: u64,
    /// The first key.
    start: u64,
    keys: Keys,
    /// The first key of the warm-up, and how many there are.
    warm: Range<u64>,
    /// Rows of a key.
    rows: Amount,
    /// Whether the answer is drawn for each execution.
    is_drawn: bool,
    loads: bool,
    reads_back: bool,
    /// The statement whose keys it has, if they are not its own.
    keys_of: Option<usize>,
}

impl Ask {
    /// How many rows the keys of window and warm-up have: of drawn rows the mean.
    fn rows_of_keys(&self) -> u64 {
        let keys = self.keys.count + self.warm.end - self.warm.start;
        if self.rows.is_drawn() {
            (keys as f64 * self.rows.mean()).ceil() as u64
        } else {
            keys * self.rows.most() as u64
        }
    }
}

/// Why a count makes no workload: too few or too many statements, or rows with the same primary key.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WorkloadError(pub(crate) String);

/// Makes what is drawn for an issue independent of its key.
const DRAWN_SEED: u64 = 0x0064_7261_776e;

fn statements_were(count: u64) -> String {
    if count == 1 { "1 statement was".to_owned() } else { format!("{count} statements were") }
}

/// The most statements, and the most keys of one.
pub(crate) const MOST: u64 = 1 << 40;

/// The most keys of a statement that loads drawn numbers of rows: the number up to each is kept.
const MOST_DRAWN: u64 = 1 << 24;

impl Workload {
    /// Divides `count` statements and `warmup` before them; `seed` chooses the order of the keys.
    ///
    /// # Errors
    /// When a statement would have no part of `count`, `count` or `warmup` are beyond 2^40, or rows would share a primary key.
    pub fn new(scenario: &Scenario, count: u64, warmup: u64, seed: u64) -> Result<Workload, WorkloadError> {
        let (statements, name) = (&scenario.statements, &scenario.name);
        let weights: Vec<u64> = statements.iter().map(|statement| u64::from(statement.weight)).collect();
        if count.max(warmup) > MOST {
            let were = statements_were(count.max(warmup));
            return Err(WorkloadError(format!("{were} asked of the scenario {name}; ask for at most {MOST}")));
        }
        let ends = ends(&weights, count);
        let shares: Vec<u64> =
            (0..ends.len()).map(|index| range(&ends, index)).map(|one| one.end - one.start).collect();
        // Rows of the user's own say whose turn it is.
        if let Some(none) = shares.iter().position(|share| *share == 0).filter(|_| scenario.tape.is_none()) {
            let least = weights.iter().copied().min().unwrap_or(1).max(1);
            return Err(WorkloadError(format!(
                "{} asked of the scenario {name}, and its statement {} would be none of them; ask for at least {}",
                statements_were(count),
                statements[none].name,
                weights.iter().sum::<u64>().div_ceil(least),
            )));
        }
        let numbered = statements.iter().any(|one| one.order == Order::Sequential);
        let is_drawn = |one: &Statement| one.expect.as_ref().is_some_and(|expect| expect.answer().is_drawn());
        let is_once = |one: &Statement| {
            one.keys.is_none() && one.keys_of.is_none() && one.order == Order::Permuted && !is_drawn(one)
        };
        let (is_once, turns) = (statements.iter().all(is_once), numbered.then(|| Turns::new(&shares)));
        let mut start = 0;
        let mut asks: Vec<Ask> = Vec::with_capacity(statements.len());
        for (index, (statement, &share)) in statements.iter().zip(&shares).enumerate() {
            let keys_of = statement.source().and_then(|name| statements.iter().position(|one| one.name == name));
            let of = keys_of.unwrap_or(index);
            let count = statements[of].keys.unwrap_or(shares[of]);
            let exponent = statement.exponent.unwrap_or(DEFAULT_EXPONENT);
            // More keys than issues are taken from all over their range.
            let keys =
                Keys::new(count, statement.order, exponent, numbered || count > share, seed.wrapping_add(index as u64));
            let warm = 0..statements[of].keys.map_or(warmup, |keys| keys.min(warmup));
            let (loads, reads_back) = (statement.load.is_some(), statement.read_back.is_some());
            let (rows, is_drawn) = (statement.amount(), is_drawn(statement));
            if loads && rows.is_drawn() && keys.count.max(warm.end) > MOST_DRAWN {
                return Err(WorkloadError(format!(
                    "the statement {} of the scenario {name} has {} keys with {rows} rows each; at most {MOST_DRAWN} keys with drawn \
                     rows are possible: set keys to fewer",
                    statement.name,
                    keys.count.max(warm.end)
                )));
            }
            asks.push(Ask { share, start, keys, warm, rows, is_drawn, loads, reads_back, keys_of });
            start += if keys_of.is_none() { keys.count } else { 0 };
        }
        for ask in asks.iter_mut().filter(|ask| ask.keys_of.is_none()) {
            ask.warm = start..start + ask.warm.end;
            start += warmup;
        }
        for index in 0..asks.len() {
            if let Some(of) = asks[index].keys_of {
                (asks[index].start, asks[index].warm) = (asks[of].start, asks[of].warm.clone());
            }
        }
        if start > 1 << KEY_BITS && asks.iter().any(|ask| ask.is_drawn) {
            return Err(WorkloadError(format!(
                "the statements of the scenario {name} have {start} keys together, and some draw their answers; at most {} keys are \
                 possible then: set keys to fewer",
                1u64 << KEY_BITS
            )));
        }
        let permutation = Permutation::new(count, seed);
        let warmup_turns = Turns::new(&weights);
        let workload = Workload { count, warmup, permutation, ends, asks, warmup_turns, is_once, turns, seed };
        scenario.check_keys(&workload)?;
        Ok(workload)
    }

    /// The workload of a tape of `count` statements after a warm-up.
    pub fn played(count: u64, warmup: u64) -> Workload {
        let (permutation, warmup_turns) = (Permutation::new(count, 0), Turns::new(&[1]));
        let (ends, asks) = (vec![count], Vec::new());
        Workload { count, warmup, permutation, ends, asks, warmup_turns, is_once: true, turns: None, seed: 0 }
    }

    /// The number of statements in the window.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number of statements of the warm-up.
    pub fn warmup(&self) -> u64 {
        self.warmup
    }

    /// How many statements of the window are the scenario's statement `index`.
    pub fn share(&self, index: usize) -> u64 {
        self.asks.get(index).map_or(0, |ask| ask.share)
    }

    /// What ticket `0..count` issues if every key is used once.
    #[inline]
    pub fn issue_once(&self, ticket: u64) -> Issue {
        let key = self.permutation.apply(ticket);
        let statement = self.ends.iter().position(|&end| key < end).unwrap_or(self.ends.len() - 1);
        Issue { statement, key }
    }

    /// What ticket `0..count` issues.
    pub fn issue(&self, ticket: u64) -> Issue {
        if self.is_once {
            return self.issue_once(ticket);
        }
        let (statement, number) = match &self.turns {
            Some(turns) => turns.whose(ticket),
            None => {
                let Issue { statement, key } = self.issue_once(ticket);
                (statement, key - range(&self.ends, statement).start)
            }
        };
        Issue { statement, key: self.key(statement, number) }
    }

    /// The key of a statement's issue with this number, from 0 to below its share.
    fn key(&self, statement: usize, number: u64) -> u64 {
        self.asks.get(statement).map_or(number, |ask| ask.start + ask.keys.key(number) + self.drawn(ask, number))
    }

    /// What is drawn for the issue with this number, above the bits of its key.
    fn drawn(&self, ask: &Ask, number: u64) -> u64 {
        if !ask.is_drawn {
            return 0;
        }
        word(seed_of(number, self.seed.cast_signed()), DRAWN_SEED) >> KEY_BITS << KEY_BITS
    }

    /// The keys of all issues of statement `index`, with what was drawn for each.
    pub(crate) fn keys_issued(&self, index: usize) -> impl Iterator<Item = u64> {
        (0..self.share(index)).map(move |number| self.key(index, number))
    }

    /// What ticket `0..warmup` issues before the window: the same mix, on keys after the window's, which are loaded if the
    /// statement has a `load`.
    #[inline]
    pub fn warmup_issue(&self, ticket: u64) -> Issue {
        let (statement, _) = self.warmup_turns.whose(ticket);
        let Some(ask) = self.asks.get(statement) else { return Issue { statement, key: 0 } };
        let warm = &ask.warm;
        let key = warm.start + ticket % (warm.end - warm.start).max(1);
        Issue { statement, key: key + self.drawn(ask, ticket) }
    }

    /// What to load before the warm-up, statement by statement.
    pub fn load(&self) -> Vec<LoadPart> {
        let loading = self.asks.iter().enumerate().filter(|(_, ask)| ask.loads);
        let part = |(statement, ask): (usize, &Ask)| {
            let keys = [ask.start..ask.start + ask.keys.count, ask.warm.clone()];
            LoadPart { statement, numbers: Numbers::of(keys, ask.rows) }
        };
        loading.map(part).collect()
    }

    /// What to read back after the window, statement by statement: at most [`READ_BACK_ROWS`] of the rows that each wrote, chosen
    /// by the seed.
    pub fn read_back(&self) -> Vec<LoadPart> {
        let reading = self.asks.iter().enumerate().filter(|(_, ask)| ask.reads_back);
        let part = |(statement, ask): (usize, &Ask)| {
            let written = ask.keys.sampled(ask.share) * ask.rows.most() as u64;
            // Another order than the window's, so that these are not the first rows written.
            let order = Permutation::new(written, !self.seed);
            let (start, keys, rows) = (ask.start, ask.keys, ask.rows);
            let numbers = Numbers::Sample { start, keys, rows, order, count: written.min(READ_BACK_ROWS) };
            LoadPart { statement, numbers }
        };
        reading.map(part).collect()
    }

    /// How many different rows statement `index` has written after so many issues. `None` if that is unknown, because keys repeat
    /// or differ in their rows, and some issues are missing.
    pub fn rows_written(&self, index: usize, issued: u64) -> Option<u64> {
        let ask = self.asks.get(index)?;
        if ask.rows.is_drawn() {
            let rows = |key| stored(ask.rows, ask.start + key);
            return (issued == ask.share).then(|| ask.keys.sum(issued, rows));
        }
        Some(self.keys_used(index, issued)? * ask.rows.most() as u64)
    }

    /// How many different keys statement `index` has had after so many issues. `None` if that is unknown.
    pub fn keys_used(&self, index: usize, issued: u64) -> Option<u64> {
        let ask = self.asks.get(index)?;
        if self.is_once { Some(issued) } else { (issued == ask.share).then(|| ask.keys.different(issued)) }
    }

    /// The keys of statement `index`, of the window and of the warm-up.
    pub fn keys(&self, index: usize) -> [Range<u64>; 2] {
        self.asks.get(index).map_or([0..0, 0..0], |ask| [ask.start..ask.start + ask.keys.count, ask.warm.clone()])
    }

    /// How many rows the keys of statement `index` have, at most.
    pub(crate) fn rows_scanned(&self, index: usize) -> u64 {
        let keys: u64 = self.keys(index).into_iter().map(|keys| keys.end - keys.start).sum();
        keys * self.asks.get(index).map_or(0, |ask| ask.rows.most() as u64)
    }

    /// The most rows that the tables hold after the window; about so many, if the rows of a key are drawn.
    pub fn rows(&self) -> u64 {
        self.asks.iter().filter(|ask| ask.keys_of.is_none()).map(Ask::rows_of_keys).sum()
    }

    /// How many rows are loaded; about how many, if the rows of a key are drawn.
    pub fn rows_loaded(&self) -> u64 {
        self.asks.iter().filter(|ask| ask.loads).map(Ask::rows_of_keys).sum()
    }
}

/// The end of each statement's part of `0..count`.
fn ends(weights: &[u64], count: u64) -> Vec<u64> {
    let sum: u64 = weights.iter().sum();
    let mut before = 0;
    let end = |weight: &u64| {
        before += weight;
        (u128::from(count) * u128::from(before) / u128::from(sum.max(1))) as u64
    };
    weights.iter().map(end).collect()
}

fn range(ends: &[u64], index: usize) -> Range<u64> {
    let start = index.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    start..ends.get(index).copied().unwrap_or(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;
    use std::collections::HashSet;

    #[test]
    fn mixed_reads_what_is_loaded_and_inserts_elsewhere_half_and_half() {
        let scenario = builtin("mixed").unwrap();
        let workload = Workload::new(&scenario, 1_001, 10, 7).unwrap();
        let load = workload.load();
        assert_eq!(load.len(), 1);
        let loaded: HashSet<u64> = (0..load[0].rows()).map(|index| load[0].key(index)).collect();
        assert_eq!(loaded.len() as u64, load[0].rows());
        let mut keys = HashSet::new();
        let mut counts = [0u64; 2];
        for ticket in 0..workload.count() {
            let issue = workload.issue(ticket);
            assert!(issue.key < 1_001);
            assert!(keys.insert(issue.key), "key {} twice", issue.key);
            counts[issue.statement] += 1;
            let reads = scenario.statements[issue.statement].expect.is_some();
            assert_eq!(loaded.contains(&issue.key), reads);
        }
        assert_eq!(counts, [workload.share(0), workload.share(1)]);
        assert_eq!(counts, [500, 501]);
    }

    #[test]
    fn the_warm_up_touches_no_key_of_the_window_and_reads_only_what_is_loaded() {
        for scenario in crate::builtins() {
            let workload = Workload::new(&scenario, 100, 30, 7).unwrap();
            let loaded: HashSet<u64> =
                workload.load().iter().flat_map(|part| (0..part.rows()).map(|index| part.key(index))).collect();
            let mut keys = HashSet::new();
            for ticket in 0..workload.warmup() {
                let issue = workload.warmup_issue(ticket);
                assert!(workload.keys(issue.statement)[1].contains(&issue.key));
                let window = (0..scenario.statements.len()).map(|index| workload.keys(index)[0].clone());
                assert!(window.into_iter().all(|keys| !keys.contains(&issue.key)));
                assert!(keys.insert(issue.key) || scenario.statements[issue.statement].keys.is_some());
                assert_eq!(loaded.contains(&issue.key), scenario.statements[issue.statement].load.is_some());
            }
        }
    }

    #[test]
    fn what_is_read_back_are_different_rows_that_the_window_wrote_from_everywhere_in_it() {
        for name in ["writes", "mixed"] {
            let scenario = builtin(name).unwrap();
            let workload = Workload::new(&scenario, 100_000, 30, 7).unwrap();
            let parts = workload.read_back();
            assert_eq!((parts.len(), parts[0].rows()), (1, READ_BACK_ROWS));
            let keys: HashSet<u64> = (0..READ_BACK_ROWS).map(|index| parts[0].key(index)).collect();
            assert_eq!(keys.len() as u64, READ_BACK_ROWS);
            let written: HashSet<u64> = (0..workload.count())
                .map(|ticket| (ticket, workload.issue(ticket)))
                .filter(|(_, issue)| issue.statement == parts[0].statement)
                .map(|(_, issue)| issue.key)
                .collect();
            assert!(keys.is_subset(&written));
            let early = (0..workload.count() / 10).filter(|ticket| keys.contains(&workload.issue(*ticket).key)).count();
            assert!((50..150).contains(&early), "{early} of the sample are from the window's first tenth");
            let few = Workload::new(&scenario, 10, 0, 7).unwrap();
            assert_eq!(few.read_back()[0].rows(), few.share(parts[0].statement));
        }
        assert!(Workload::new(&builtin("reads").unwrap(), 10, 0, 7).unwrap().read_back().is_empty());
    }

    #[test]
    fn the_rows_of_batches_are_read_back_from_everywhere_and_counted() {
        let mut scenario = builtin("writes").unwrap();
        scenario.statements[0].operation = crate::Operation::Batch;
        let workload = Workload::new(&scenario, 1_000, 10, 7).unwrap();
        assert_eq!(workload.rows(), 1_010 * 64);
        let part = &workload.read_back()[0];
        let keys: Vec<u64> = (0..part.rows()).map(|index| part.key(index)).collect();
        assert_eq!(keys.len() as u64, READ_BACK_ROWS);
        assert!(keys.iter().all(|key| *key < 64_000) && keys.iter().any(|key| *key > 60_000));
        assert!(keys.iter().map(|key| key % 64).collect::<HashSet<_>>().len() == 64, "of every place in a batch");
    }

    #[test]
    fn too_few_statements_are_refused_with_a_sentence() {
        let error = Workload::new(&builtin("mixed").unwrap(), 1, 0, 0).unwrap_err().to_string();
        assert_eq!(
            error,
            "1 statement was asked of the scenario mixed, and its statement select would be none of them; ask for at least 2"
        );
    }

    /// The scenario `mixed` with other weights, and with `change` made to its select.
    fn mixed(weights: [u32; 2], change: impl Fn(&mut Statement)) -> Scenario {
        let mut scenario = builtin("mixed").unwrap();
        for (statement, weight) in scenario.statements.iter_mut().zip(weights) {
            statement.weight = weight;
        }
        change(&mut scenario.statements[0]);
        scenario
    }

    fn issues(workload: &Workload) -> Vec<Issue> {
        (0..workload.count()).map(|ticket| workload.issue(ticket)).collect()
    }

    #[test]
    fn weights_of_any_size_give_exact_shares_in_a_mix() {
        for (weights, count, shares) in [
            ([3, 1], 1_000, [750, 250]),
            ([u32::MAX, u32::MAX - 1], 1_001, [500, 501]),
            ([1, 999], 10_000, [10, 9_990]),
            ([1_000_000, 1], 2_000_000, [1_999_998, 2]),
        ] {
            let workload = Workload::new(&mixed(weights, |_| ()), count, 10, 7).unwrap();
            assert_eq!([0, 1].map(|index| workload.share(index)), shares);
            let issued = issues(&workload);
            assert_eq!(issued.iter().filter(|issue| issue.statement == 0).count() as u64, shares[0]);
            let keys: HashSet<u64> = issued.iter().map(|issue| issue.key).collect();
            assert_eq!(keys.len() as u64, count);
        }
        let rare = mixed([1, 999], |_| ());
        assert!(Workload::new(&rare, 999, 10, 7).unwrap_err().to_string().contains("ask for at least 1000"));
        assert!(Workload::new(&rare, 1_000, 10, 7).is_ok());
    }

    #[test]
    fn a_limited_number_of_keys_comes_again_and_again_each_as_often() {
        let workload = Workload::new(&mixed([1, 1], |select| select.keys = Some(100)), 10_000, 30, 7).unwrap();
        assert_eq!([workload.keys(0), workload.keys(1)], [[0..100, 5_100..5_130], [100..5_100, 5_130..5_160]]);
        assert_eq!((workload.rows(), workload.load()[0].rows()), (100 + 5_000 + 60, 130));
        let mut counts = [0; 100];
        let mut written = HashSet::new();
        for issue in issues(&workload) {
            match issue.statement {
                0 => counts[issue.key as usize] += 1,
                _ => assert!((100..5_100).contains(&issue.key) && written.insert(issue.key)),
            }
        }
        assert_eq!(counts, [50; 100]);
        let few = Workload::new(&mixed([1, 1], |select| select.keys = Some(7)), 100, 30, 7).unwrap();
        assert!(
            (0..30)
                .map(|ticket| few.warmup_issue(ticket))
                .all(|issue| few.keys(issue.statement)[1].contains(&issue.key))
        );
        assert_eq!(few.keys(0)[1], 57..64, "a warm-up has no more keys than the window");
    }

    #[test]
    fn more_keys_than_issues_are_taken_from_all_over_them() {
        let workload = Workload::new(&mixed([1, 1], |select| select.keys = Some(100_000)), 2_000, 0, 7).unwrap();
        let keys: HashSet<u64> =
            issues(&workload).iter().filter(|issue| issue.statement == 0).map(|issue| issue.key).collect();
        assert_eq!(keys.len(), 1_000);
        assert!((400..600).contains(&keys.iter().filter(|key| **key < 50_000).count()));
    }

    #[test]
    fn keys_in_sequence_come_in_sequence_also_beside_another_statement() {
        let workload = Workload::new(&mixed([1, 2], |select| select.order = Order::Sequential), 3_000, 30, 7).unwrap();
        let issued = issues(&workload);
        let of = |statement| issued.iter().filter(move |issue| issue.statement == statement).map(|issue| issue.key);
        assert!(of(0).eq(0..1_000));
        let others: Vec<u64> = of(1).collect();
        assert!(!others.is_sorted() && others.iter().collect::<HashSet<_>>().len() == 2_000);
        assert!(issued.chunks(3).all(|three| three.iter().filter(|issue| issue.statement == 0).count() == 1));
    }

    #[test]
    fn drawn_keys_are_loaded_and_what_they_write_is_counted_once_and_read_back() {
        for order in [Order::Uniform, Order::Zipf] {
            let mut scenario = mixed([1, 1], |select| select.order = order);
            scenario.statements[1].order = order;
            let workload = Workload::new(&scenario, 2_000, 30, 7).unwrap();
            let loaded: HashSet<u64> = (0..workload.load()[0].rows()).map(|row| workload.load()[0].key(row)).collect();
            let issued = issues(&workload);
            let of = |statement| issued.iter().filter(move |issue| issue.statement == statement).map(|issue| issue.key);
            assert!(of(0).all(|key| loaded.contains(&key)));
            let written: HashSet<u64> = of(1).collect();
            assert!(written.len() < 700 && written.is_disjoint(&loaded), "{order:?} {}", written.len());
            assert_eq!(workload.rows_written(1, 1_000), Some(written.len() as u64));
            assert_eq!(workload.rows_written(1, 999), None);
            let part = &workload.read_back()[0];
            assert!((0..part.rows()).all(|row| written.contains(&part.key(row))));
        }
    }

    #[test]
    fn a_partition_is_loaded_row_by_row() {
        let rows = |select: &mut Statement| {
            select.keys = Some(10);
            select.expect.as_mut().unwrap().rows = Some(100.into());
            // Not the table of the inserts, whose keys are numbers of these rows.
            select.load.as_mut().unwrap().cql = "INSERT INTO cqldyno.rows (pk, v1, v2) VALUES (?, ?, ?)".to_owned();
        };
        let workload = Workload::new(&mixed([1, 1], rows), 1_000, 30, 7).unwrap();
        let part = &workload.load()[0];
        assert_eq!(part.rows(), 2_000);
        assert!((0..1_000).map(|row| part.key(row)).eq(0..1_000));
        assert!((1_000..2_000).map(|row| part.key(row)).eq(51_000..52_000), "those of the warm-up's keys 510..520");
        assert_eq!(workload.rows(), 2_000 + 500 + 30);
    }

    #[test]
    fn exactly_the_drawn_rows_of_each_key_are_loaded_and_what_issues_read_and_write_is_added_up() {
        let mut scenario = builtin("rows").unwrap();
        let select = &mut scenario.statements[0];
        (select.keys, select.order) = (Some(60), Order::Uniform);
        let expect = select.expect.as_mut().unwrap();
        expect.rows = Some("uniform(1..20)".parse().unwrap());
        let workload = Workload::new(&scenario, 1_000, 30, 7).unwrap();
        let answer = scenario.statements[0].answer();
        let part = &workload.load()[0];
        let numbers: Vec<u64> = (0..part.rows()).map(|index| part.key(index)).collect();
        let keys = workload.keys(0).into_iter().flatten();
        let due: Vec<u64> = keys.flat_map(|key| answer.places(key).map(move |place| key * 20 + place)).collect();
        assert_eq!(numbers, due);
        let sum: u64 = (0..1_000).map(|ticket| answer.rows(workload.issue(ticket).key)).sum();
        assert_eq!(scenario.issued(&workload, 0, 1_000), (sum..=sum, 1_000..=1_000));
        assert_eq!(scenario.issued(&workload, 0, 999).0, 0..=999 * 20, "some are missing, and nobody knows which");
        scenario.page_size = Some(7);
        let pages: u64 = (0..1_000).map(|ticket| answer.rows(workload.issue(ticket).key) / 7 + 1).sum();
        assert_eq!(scenario.issued(&workload, 0, 1_000).1, pages..=pages);
    }

    #[test]
    fn the_rows_of_batches_of_drawn_sizes_are_counted_once_per_key_and_read_back() {
        let mut scenario = builtin("writes").unwrap();
        let insert = &mut scenario.statements[0];
        (insert.operation, insert.size) = (crate::Operation::Batch, Some("zipf(2..10)".parse().unwrap()));
        for (keys, order) in [(None, Order::Permuted), (Some(40), Order::Zipf), (Some(40), Order::Sequential)] {
            (scenario.statements[0].keys, scenario.statements[0].order) = (keys, order);
            let workload = Workload::new(&scenario, 300, 0, 7).unwrap();
            let answer = scenario.statements[0].answer();
            let keys: HashSet<u64> = (0..300).map(|ticket| workload.issue(ticket).key).collect();
            let written: HashSet<u64> =
                keys.iter().flat_map(|key| answer.places(*key).map(move |place| key * 10 + place)).collect();
            assert_eq!(workload.rows_written(0, 300), Some(written.len() as u64));
            assert_eq!(workload.rows_written(0, 299), None);
            let issued: u64 = (0..300).map(|ticket| answer.rows(workload.issue(ticket).key)).sum();
            assert_eq!(scenario.issued(&workload, 0, 300), (issued..=issued, 300..=300));
            let part = &workload.read_back()[0];
            assert!((0..part.rows()).all(|index| written.contains(&part.key(index))));
        }
    }
}
