//! The order of versions.

use std::cmp::Ordering;

/// Orders versions as semantic versioning does (clause 11): numbers by their value, a pre-release before its release, build
/// metadata last and only so that two that differ are not equal. One that was not stated comes first.
pub fn compare_versions(one: &str, other: &str) -> Ordering {
    let stated = other.is_empty().cmp(&one.is_empty());
    let (a, b) = (Parts::of(one), Parts::of(other));
    let release = by_part(a.release, b.release);
    let pre = match (a.pre, b.pre) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(a), Some(b)) => by_part(a, b),
    };
    stated.then(release).then(pre).then_with(|| one.cmp(other))
}

struct Parts<'a> {
    release: &'a str,
    pre: Option<&'a str>,
}

impl Parts<'_> {
    fn of(version: &str) -> Parts<'_> {
        let version = version.split('+').next().unwrap_or(version);
        match version.split_once('-') {
            Some((release, pre)) => Parts { release, pre: Some(pre) },
            None => Parts { release: version, pre: None },
        }
    }
}

/// A number comes before a word, and fewer parts before more.
fn by_part(one: &str, other: &str) -> Ordering {
    let (mut a, mut b) = (one.split('.'), other.split('.'));
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => match (a.parse::<u64>(), b.parse::<u64>()) {
                (Ok(a), Ok(b)) => a.cmp(&b),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => a.cmp(b),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_number_and_pre_releases_come_first() {
        let sorted = [
            "",
            "0.9.0",
            "0.10.0",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.0.1",
        ];
        let mut found = sorted;
        found.reverse();
        found.sort_by(|a, b| compare_versions(a, b));
        assert_eq!(found, sorted);
    }
}
