//! Instructions, cycles and misses in user mode by the processor's counters: perf_event_open(2), attached to the process before
//! it starts the worker's program, so that every thread counts.

use std::hint::black_box;
use std::sync::LazyLock;

use cqldyno_measure::list::declared;
use perf_event::events::Hardware;
use perf_event::{CountAndTime, Counter};

use super::is_under_valgrind;
use crate::meter::{Edge, at_edges, per_statement};
use crate::perf_event::{Counts, from_exec, refused, try_out};
use crate::{Attachment, Better, Declaration, Meter, Outcome, Pass, Probe, Refusal, Subject, Unit, Window};

const fn user_mode(id: &'static str, about: &'static str) -> Declaration {
    Declaration::new(Pass::Instructions, id, Unit::Count, Better::Lower, about)
}

const MEASURES: [Declaration; 4] = [
    declared::PROCESSOR_INSTRUCTIONS.titled("instructions,\nuser mode,\nprocessor"),
    user_mode("processor_cycles_per_statement", "cycles in user mode per verified statement, by the processor")
        .titled("cycles,\nuser mode"),
    user_mode("processor_cache_misses_per_statement", "misses of the last cache in user mode per verified statement")
        .titled("cache\nmisses"),
    user_mode(
        "processor_branch_misses_per_statement",
        "branches predicted wrongly in user mode per verified statement",
    )
    .titled("branch\nmisses"),
];

const EVENTS: [Hardware; 4] =
    [Hardware::INSTRUCTIONS, Hardware::CPU_CYCLES, Hardware::CACHE_MISSES, Hardware::BRANCH_MISSES];

const REFUSED: &str = "Instructions cannot be counted by the processor";

/// Turns of the self-test's loop; each is an instruction at least.
const TRIAL_TURNS: u64 = 1_000_000;

/// How much a counter counted between two reads, as if it had counted all the time: counters take turns if the processor has
/// too few. `None` if it never counted.
fn counted(before: &CountAndTime, after: &CountAndTime) -> Option<f64> {
    let enabled = after.time_enabled.saturating_sub(before.time_enabled) as f64;
    let running = after.time_running.saturating_sub(before.time_running) as f64;
    (running > 0.0).then(|| after.count.saturating_sub(before.count) as f64 * enabled / running)
}

/// Instructions, cycles, cache misses and branch misses per statement.
pub const PROCESSOR_COUNTERS: Meter = Meter::new("processor's counters", &MEASURES, attach)
    .needs("perf_event_open(2) on the processor's counters")
    .costs("a little at every switch of threads")
    .at_worker()
    .probed(|| TRIED.clone());

static TRIED: LazyLock<Probe> = LazyLock::new(|| {
    let turn = || {
        black_box(0);
    };
    try_out(REFUSED, Hardware::INSTRUCTIONS, Counts::User, TRIAL_TURNS, turn)
});

fn attach(subject: &Subject) -> Box<dyn Attachment> {
    let worker = subject.worker;
    let probed = TRIED.clone();
    let mut counters = EVENTS.map(|event| {
        probed.clone()?;
        from_exec(event, Counts::User, worker).map_err(|error| refused(REFUSED, &error))
    });
    let mut is_here = true;
    let look = move |edge| {
        // Callgrind's cell is its own, unless no cell of ours could say why there is no figure.
        if edge == Edge::Go {
            is_here = probed.is_err() || !is_under_valgrind(worker);
        }
        Ok(is_here.then(|| counters.each_mut().map(read)))
    };
    at_edges(look, |both, window| match both {
        Ok((Some(go), Some(end))) => {
            Outcome::of(&MEASURES, go.iter().zip(end).map(|(go, end)| per_counter(go, end, window)))
        }
        Ok(_) => Outcome::default(),
        Err(why) => Outcome::of(&MEASURES, MEASURES.map(|_| Err(why.clone()))),
    })
}

type Read = Result<CountAndTime, String>;

fn read(counter: &mut Result<Counter, Refusal>) -> Read {
    let counted = counter.as_mut().map_err(|refusal| refusal.to_string())?.read_count_and_time();
    counted.map_err(|error| format!("The processor's counter could not be read: {error}."))
}

fn per_counter(go: &Read, end: &Read, window: &Window) -> Result<f64, String> {
    const SHARED: &str =
        "The processor's counter never counted in the window, because others use all of them. End other profilers.";
    let (go, end) = (go.as_ref().map_err(Clone::clone)?, end.as_ref().map_err(Clone::clone)?);
    per_statement(counted(go, end).ok_or_else(|| SHARED.to_owned())?, window)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{subject, window};

    #[test]
    fn a_counter_that_was_shared_is_taken_for_its_share_and_one_that_never_ran_for_none() {
        let at = |count, time_enabled, time_running| CountAndTime { count, time_enabled, time_running };
        let since = |after| counted(&at(100, 1_000, 500), &after);
        assert_eq!(since(at(300, 2_000, 1_500)), Some(200.0));
        assert_eq!(since(at(300, 3_000, 1_500)), Some(400.0));
        assert_eq!(since(at(100, 2_000, 500)), None);
    }

    #[test]
    fn without_counters_every_measure_says_why_and_with_them_each_has_a_figure() {
        let mut counters = PROCESSOR_COUNTERS.attach(&subject(std::process::id().cast_signed()));
        counters.at_go();
        let outcome = counters.at_end()(&window());
        assert_eq!(outcome.readings.len(), 4);
        if let Err(refusal) = PROCESSOR_COUNTERS.probe() {
            assert!(outcome.readings.iter().all(|reading| reading.value == Err(refusal.to_string())), "{outcome:?}");
        }
    }
}
