//! The shortest label that tells a contender from the others of its run.

use crate::{Contender, Run, plain};

/// `NAME@VERSION PLACE+KEY=VALUE...#NUMBER`, in its parts.
struct Parts<'a> {
    name: &'a str,
    /// With the `@`, and where the driver comes from.
    version: &'a str,
    options: Vec<&'a str>,
}

impl Parts<'_> {
    fn of(label: &str) -> Parts<'_> {
        let label = label.rsplit_once('#').filter(|(_, mark)| is_mark(mark)).map_or(label, |(label, _)| label);
        let begins_at = options_at(label);
        let head = &label[..begins_at.first().copied().unwrap_or(label.len())];
        let ends = begins_at.iter().skip(1).copied().chain([label.len()]);
        let options = begins_at.iter().zip(ends).map(|(begin, end)| &label[*begin..end]).collect();
        let (name, version) = head.split_at(head.find('@').unwrap_or(head.len()));
        Parts { name, version, options }
    }
}

/// Where each `+KEY=VALUE` of a contender begins: a path may have a `+` of its own.
pub fn options_at(label: &str) -> Vec<usize> {
    let begins = |at: &usize| label[at + 1..].split_once('=').is_some_and(|(key, _)| is_key(key));
    label.match_indices('+').map(|(at, _)| at).filter(begins).collect()
}

/// Whether `text` can be the key of an option.
pub fn is_key(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
}

/// What follows the label of a contender that is there twice.
fn is_mark(text: &str) -> bool {
    text == "control" || (!text.is_empty() && text.chars().all(|c| c.is_ascii_digit()))
}

/// The name alone if no other driver of the run has it, else with the version, with the options that differ, or with both. A control keeps
/// its whole label.
pub fn short(run: &Run, contender: &Contender) -> String {
    let mine = Parts::of(&contender.label);
    if mine.name.is_empty() || contender.control {
        return plain(&contender.label);
    }
    let all = run.contenders.iter().filter(|one| !one.control).map(|one| Parts::of(&one.label));
    let same: Vec<Parts<'_>> = all.filter(|one| one.name == mine.name).collect();
    let is_common = |option: &&str| same.iter().all(|one| one.options.contains(option));
    let text = |one: &Parts<'_>, with_version: bool, with_options: bool| {
        let version = if with_version { one.version } else { "" };
        let options = one.options.iter().filter(|option| with_options && !is_common(option)).copied();
        format!("{}{version}{}", one.name, options.collect::<String>())
    };
    let tells_apart = |(with_version, with_options): &(bool, bool)| {
        let mut texts: Vec<String> = same.iter().map(|one| text(one, *with_version, *with_options)).collect();
        texts.sort();
        texts.windows(2).all(|two| two[0] != two[1])
    };
    let ways = [(false, false), (true, false), (false, true), (true, true)];
    let way = ways.into_iter().find(tells_apart);
    plain(&way.map_or_else(|| contender.label.clone(), |(version, options)| text(&mine, version, options)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn labels(whole: &[&str]) -> Vec<String> {
        let (mut run, _) = sample::run();
        let template = run.contenders[0].clone();
        let contender =
            |label: &&str| Contender { id: label.to_string(), label: label.to_string(), ..template.clone() };
        run.contenders = whole.iter().map(contender).collect();
        run.contenders.iter().map(|one| short(&run, one)).collect()
    }

    #[test]
    fn a_name_is_enough_for_a_driver_that_is_there_once() {
        assert_eq!(labels(&["scylla@1.9.0+tokio=1.44.2", "cdrs-tokio@9.0.2"]), ["scylla", "cdrs-tokio"]);
    }

    #[test]
    fn a_version_is_said_where_a_driver_runs_in_two() {
        assert_eq!(
            labels(&["scylla@0.3.0", "scylla@0.3.1+timeout=none", "cdrs-tokio@9.0.2"]),
            ["scylla@0.3.0", "scylla@0.3.1", "cdrs-tokio"]
        );
        assert_eq!(
            labels(&["scylla@1.9.0", "scylla@1.9.0 path:../a+b 1a2b3c4 dirty"]),
            ["scylla@1.9.0", "scylla@1.9.0 path:../a+b 1a2b3c4 dirty"]
        );
    }

    #[test]
    fn of_options_those_are_said_that_differ() {
        assert_eq!(
            labels(&["scylla@1.9.0+lto=fat", "scylla@1.9.0+lto=fat+tokio=1.44.2"]),
            ["scylla", "scylla+tokio=1.44.2"]
        );
        assert_eq!(labels(&["a@1", "a@1+x=1", "a@2+x=1"]), ["a@1", "a@1+x=1", "a@2+x=1"]);
    }

    #[test]
    fn contenders_that_nothing_tells_apart_keep_their_whole_labels() {
        assert_eq!(labels(&["a@1+lib=x", "a@1+lib=x#2"]), ["a@1+lib=x", "a@1+lib=x#2"]);
    }
}
