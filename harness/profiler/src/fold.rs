//! Sampled stacks as lines.

use std::collections::BTreeMap;
use std::fmt::Write;

use pprof::Report;

/// A line a stack: the thread's name and its frames from the outermost on, inlined functions among them, and how often it was seen.
pub(crate) fn folded(report: &Report) -> String {
    let mut stacks: BTreeMap<String, isize> = BTreeMap::new();
    for (stack, count) in &report.data {
        let mut line = part(&stack.thread_name_or_id());
        for symbol in stack.frames.iter().rev().flat_map(|frame| frame.iter().rev()) {
            line.push(';');
            line.push_str(&part(&symbol.name()));
        }
        *stacks.entry(line).or_default() += count;
    }
    let mut text = String::new();
    for (stack, count) in stacks {
        // A string takes everything.
        let _ = writeln!(text, "{stack} {count}");
    }
    text
}

/// A name without what separates names and lines.
fn part(name: &str) -> String {
    name.replace([';', '\n'], ":")
}
