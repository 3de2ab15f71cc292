//! What was meant by a word that is not known.

/// ` Did you mean WORD?` with the nearest of `known`, or nothing when none is near.
pub fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    known
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.chars().count().max(3) / 3)
        .min()
        .map_or_else(String::new, |(_, candidate)| format!(" Did you mean `{candidate}`?"))
}

/// The least number of letters to insert, delete, replace or swap with their neighbour (restricted Damerau-Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows = vec![vec![0; to.len() + 1]; from.len() + 1];
    for (place, row) in rows.iter_mut().enumerate() {
        row[0] = place;
    }
    rows[0] = (0..=to.len()).collect();
    for i in 1..=from.len() {
        for j in 1..=to.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_suggested_and_a_far_one_is_not() {
        let known = ["writes", "reads", "mixed"];
        assert_eq!(suggestion("raeds", known), " Did you mean `reads`?");
        assert_eq!(suggestion("write", known), " Did you mean `writes`?");
        assert_eq!(suggestion("tpcc", known), "");
        assert_eq!(suggestion("", known), "");
    }
}
