//! What a script may do to the statements of a window without voiding it, and what is told of it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use cqldyno_driver_api::ErrorKind;
use cqldyno_protocol::Done;
use cqldyno_reports::count;
use cqldyno_script::{Action, Answer, Played, Step};

use crate::judge::agreement::grouped;

/// Whether a statement may fail like this because of a step.
fn is_expected(step: &Step, kind: ErrorKind) -> bool {
    let lost = [ErrorKind::ConnectionLost, ErrorKind::Connect, ErrorKind::RequestTimeout, ErrorKind::QueueFull];
    let answered = match step.error {
        None => None,
        Some(Answer::ServerError) => Some(ErrorKind::Server),
        Some(Answer::Unavailable) => Some(ErrorKind::Unavailable),
        Some(Answer::Overloaded) => Some(ErrorKind::Overloaded),
        Some(Answer::Bootstrapping) => Some(ErrorKind::Bootstrapping),
        Some(Answer::WriteTimeout | Answer::ReadTimeout) => Some(ErrorKind::ServerTimeout),
        Some(Answer::Unauthorized) => Some(ErrorKind::Unauthorized),
        Some(Answer::Invalid) => Some(ErrorKind::Invalid),
    };
    // A driver that goes on to the next node while one starts has no node left in the end.
    let has_no_node = step.error == Some(Answer::Bootstrapping) && kind == ErrorKind::ConnectionLost;
    answered == Some(kind)
        || has_no_node
        || step.costs_connections() && lost.contains(&kind)
        || step.costs_time() && kind == ErrorKind::RequestTimeout
        || step.action == Action::Forget && kind == ErrorKind::Unprepared
}

/// The worker's account with the errors that the script is the reason of taken as right answers.
pub(crate) fn without_expected<'d>(script: &[Step], played: &[Played], done: &'d Done) -> Cow<'d, Done> {
    // A step that never fired explains no error, and one that touches answers no more than it touched; behind a lost connection there
    // may be any number of statements.
    let of_step = |(step, played): (&Step, &Played)| if step.costs_connections() { u64::MAX } else { played.touched };
    let most = |kind: &ErrorKind| {
        let fired = script.iter().zip(played).filter(|(step, played)| played.fired > 0 && is_expected(step, *kind));
        fired.map(of_step).fold(0, u64::saturating_add)
    };
    if done.errors.keys().all(|kind| most(kind) == 0) {
        return Cow::Borrowed(done);
    }
    let mut rest = done.clone();
    for (kind, error) in &mut rest.errors {
        let right = error.count.min(most(kind));
        error.count -= right;
        rest.verified += right;
    }
    rest.errors.retain(|_, error| error.count > 0);
    Cow::Owned(rest)
}

/// By how many statements the server's count may fall short: of those that the script made fail it counted some, and never got others.
pub(crate) fn slack(script: &[Step], played: &[Played], done: &Done) -> u64 {
    without_expected(script, played, done).verified - done.verified
}

/// Whether so many connections may be `found` of those `due`: fewer if steps closed or refused some, and as many more as these.
pub(crate) fn may_be(script: &[Step], played: &[Played], found: u64, due: u64) -> bool {
    let fired = script.iter().zip(played).filter(|(step, played)| played.fired > 0 && step.costs_connections());
    let lost = fired.map(|(_, played)| played.touched).reduce(u64::saturating_add);
    lost.is_some_and(|lost| found <= due.saturating_add(lost))
}

/// Sentences about what each step did, and what it led to: connections that the server accepted, PREPAREs that it got, and errors that
/// failed no statement.
pub(crate) fn told(script: &[Step], played: &[Played], (opened, prepared): (u64, u64), done: &Done) -> Vec<String> {
    let led_to = format!(
        "While the script was played, the server accepted {} and got {}.",
        count(opened, "connection"),
        count(prepared, "PREPARE")
    );
    let errors = || script.iter().zip(played).filter(|(step, _)| step.action == Action::Error);
    let sent: u64 = errors().map(|(_, played)| played.touched).sum();
    let is_of_error = |kind: &ErrorKind| errors().any(|(step, _)| is_expected(step, *kind));
    let failed: u64 = done.errors.iter().filter(|(kind, _)| is_of_error(kind)).map(|(_, error)| error.count).sum();
    let hidden = (sent > failed).then(|| {
        format!(
            "The script sent {}, and {} failed because of them: the driver sent other statements again, or asked for something itself.",
            count(sent, "error"),
            count(failed, "statement")
        )
    });
    let steps = script.iter().zip(played).map(|(step, played)| step.told(*played, grouped));
    steps.chain((!played.is_empty()).then_some(led_to)).chain(hidden).collect()
}

/// Answers and connections that each step touched, per statement.
pub(crate) fn breakdown(script: &[Step], played: &[Played], issued: u64) -> Option<(String, BTreeMap<String, f64>)> {
    let figure = |(nth, (step, played)): (usize, (&Step, &Played))| {
        let each = played.touched as f64 / issued.max(1) as f64;
        (format!("{}: {}", nth + 1, step.label(grouped)), each)
    };
    let figures: BTreeMap<String, f64> = script.iter().zip(played).enumerate().map(figure).collect();
    (!figures.is_empty()).then(|| ("script".to_owned(), figures))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cqldyno_protocol::ErrorCount;

    fn done(errors: &[(ErrorKind, u64)]) -> Done {
        let all: u64 = errors.iter().map(|(_, count)| count).sum();
        let of =
            |(kind, count): &(ErrorKind, u64)| (*kind, ErrorCount { count: *count, first: "it failed".to_owned() });
        Done {
            issued: 100,
            answered: 100,
            verified: 100 - all,
            errors: errors.iter().map(of).collect(),
            ..Done::default()
        }
    }

    #[test]
    fn only_errors_that_a_step_is_the_reason_of_are_taken_as_right_answers() {
        let (fired, idle) = ([Played { fired: 1, touched: 3 }], [Played::default()]);
        let close = [Step { every: Some(9), ..Step::new(Action::Close) }];
        let failed = done(&[(ErrorKind::ConnectionLost, 5), (ErrorKind::WrongRow, 2)]);
        let rest = without_expected(&close, &fired, &failed);
        assert_eq!((rest.verified, rest.errors.keys().collect::<Vec<_>>()), (98, vec![&ErrorKind::WrongRow]));
        assert_eq!(
            (slack(&close, &fired, &failed), slack(&close, &idle, &failed), slack(&[], &[], &failed)),
            (5, 0, 0)
        );
        assert_eq!(without_expected(&close, &idle, &failed).verified, 93, "it never fired");
        assert_eq!([1, 5, 6].map(|found| may_be(&close, &fired, found, 2)), [true, true, false]);
        assert!(!may_be(&close, &idle, 1, 2), "it closed none");
        let error = [Step { error: Some(Answer::WriteTimeout), ..Step::new(Action::Error) }];
        let answered = |kind, count| without_expected(&error, &fired, &done(&[(kind, count)])).verified;
        assert_eq!(answered(ErrorKind::ServerTimeout, 3), 100);
        assert_eq!(answered(ErrorKind::ServerTimeout, 4), 99, "one more than it touched");
        assert_eq!([ErrorKind::Overloaded, ErrorKind::ConnectionLost].map(|kind| answered(kind, 3)), [97, 97]);
        let drop = [Step { one_in: Some(9), ..Step::new(Action::Drop) }];
        let dropped = |kind, count| without_expected(&drop, &fired, &done(&[(kind, count)])).verified;
        assert_eq!([3, 4].map(|count| dropped(ErrorKind::RequestTimeout, count)), [100, 99]);
        assert_eq!(dropped(ErrorKind::ConnectionLost, 3), 97);
        let control = [Step { control: Some(true), ..close[0].clone() }];
        assert_eq!(without_expected(&control, &fired, &failed).verified, 93, "no data connection closed");
        assert!(!may_be(&control, &fired, 1, 2));
        let starting = [Step { error: Some(Answer::Bootstrapping), ..Step::new(Action::Error) }];
        let without_nodes = without_expected(&starting, &fired, &done(&[(ErrorKind::ConnectionLost, 4)])).verified;
        assert_eq!(without_nodes, 99, "each lost its last node to an error, and the step sent three");
    }

    #[test]
    fn a_step_that_never_fired_is_told_and_what_the_others_led_to() {
        let script = [Step { every: Some(9), ..Step::new(Action::Forget) }];
        assert_eq!(told(&[], &[], (3, 4), &done(&[])), Vec::<String>::new());
        assert_eq!(
            told(&script, &[Played::default()], (0, 1_000), &done(&[])),
            [
                "The script's step forget, every 9 statements, never fired.",
                "While the script was played, the server accepted 0 connections and got 1,000 PREPAREs."
            ]
        );
        let error = [Step { error: Some(Answer::Overloaded), after: Some(9), ..Step::new(Action::Error) }];
        let said = |failed| {
            told(&error, &[Played { fired: 1, touched: 7 }], (0, 0), &done(&[(ErrorKind::Overloaded, failed)]))
        };
        assert_eq!(
            said(2).pop().unwrap(),
            "The script sent 7 errors, and 2 statements failed because of them: the driver sent other statements again, or asked for something \
             itself."
        );
        assert_eq!(said(7).len(), 2, "all of them reached the application");
        let (kind, figures) = breakdown(&script, &[Played { fired: 1, touched: 5 }], 10).unwrap();
        assert_eq!((kind.as_str(), figures["1: forget, every 9 statements"]), ("script", 0.5));
    }
}
