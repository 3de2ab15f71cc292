//! Suggestions for unknown words.

/// ` Did you mean WORD?` with the nearest of `known`, or nothing when none is near.
pub fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    known
        .into_iter()
        .map(|candidate| (strsim::osa_distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.chars().count().max(3) / 3)
        .min()
        .map_or_else(String::new, |(_, candidate)| format!(" Did you mean `{candidate}`?"))
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
