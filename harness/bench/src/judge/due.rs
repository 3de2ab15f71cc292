//! What the server must have counted, by what the worker says that it issued.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use cqldyno_cluster::without_comment;
use cqldyno_protocol::Done;
use cqldyno_scenarios::{Operation, Scenario, Workload};

use crate::judge::agreement::text;

/// Requests that are due of the statements of one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Due<'a> {
    /// As it is compared.
    pub text: String,
    /// Without a comment at its end.
    pub uncommented: String,
    /// As the server counts its PREPAREs.
    pub prepared_as: String,
    pub names: Vec<&'a str>,
    /// EXECUTEs: one number, unless the answers of some statements are drawn and a part of them is missing.
    pub executes: RangeInclusive<u64>,
    /// The most of them for one statement.
    pub pages: u64,
    /// Some of these may be QUERYs, as the driver does it.
    pub unprepared: bool,
    /// PREPAREs, where they were asked for.
    pub prepares: Option<u64>,
    /// Unlogged and logged BATCHes and the rows in them, where they were asked for.
    pub batches: Option<[(u64, RangeInclusive<u64>); 2]>,
}

fn sum(one: &RangeInclusive<u64>, other: &RangeInclusive<u64>) -> RangeInclusive<u64> {
    one.start() + other.start()..=one.end() + other.end()
}

/// What is due by `done`, text by text: statements with one text share a prepared id.
pub(crate) fn due<'a>(scenario: &'a Scenario, workload: &Workload, done: &Done) -> Vec<Due<'a>> {
    let mut by_text: BTreeMap<String, Due<'a>> = BTreeMap::new();
    for (index, statement) in scenario.statements.iter().enumerate() {
        let key = text(&statement.cql);
        let due = by_text.entry(key.clone()).or_insert_with(|| Due {
            uncommented: without_comment(&key).to_owned(),
            prepared_as: without_comment(&key).to_owned(),
            text: key,
            names: Vec::new(),
            executes: 0..=0,
            pages: 1,
            unprepared: false,
            prepares: None,
            batches: None,
        });
        due.names.push(&statement.name);
        let issued = done.issued_by_statement.get(&statement.name).copied().unwrap_or(0);
        let (rows, pages) = scenario.issued(workload, index, issued);
        match statement.operation {
            Operation::Execute => {
                due.pages = due.pages.max(scenario.pages(statement));
                due.executes = sum(&due.executes, &pages);
            }
            Operation::Unprepared => {
                due.executes = sum(&due.executes, &(issued..=issued));
                due.unprepared = true;
            }
            Operation::Connect => {
                due.executes = sum(&due.executes, &pages);
                due.prepares = Some(due.prepares.unwrap_or(0) + issued);
            }
            Operation::Prepare => {
                // Its own comment stays, because another one follows it.
                due.prepared_as.clone_from(&due.text);
                due.prepares = Some(due.prepares.unwrap_or(0) + issued);
            }
            Operation::Batch => {
                let batches = due.batches.get_or_insert([(0, 0..=0), (0, 0..=0)]);
                let [unlogged, logged] = batches;
                let (count, before) = if statement.logged { logged } else { unlogged };
                (*count, *before) = (*count + issued, sum(before, &rows));
            }
        }
    }
    let mut all: Vec<Due<'a>> = by_text.into_values().collect();
    // Of a text that is sent unprepared as well a driver may prepare as often as it likes.
    all.iter_mut().filter(|due| due.unprepared).for_each(|due| due.prepares = None);
    all
}

/// Sessions that were made for one statement each.
pub(crate) fn sessions(scenario: &Scenario, done: &Done) -> u64 {
    let made = scenario.statements.iter().filter(|statement| statement.operation == Operation::Connect);
    made.filter_map(|statement| done.issued_by_statement.get(&statement.name)).sum()
}

/// Rows that the statements of `tickets` wrote or asked for. `None` if all are EXECUTEs, or if only a part of the tickets was issued.
pub(crate) fn rows(scenario: &Scenario, workload: &Workload, tickets: Range<u64>, done: &Done) -> Option<u64> {
    let statements = &scenario.statements;
    if statements.iter().all(|statement| statement.operation == Operation::Execute) {
        return None;
    }
    let issued = |index: usize| Some((index, *done.issued_by_statement.get(&statements.get(index)?.name)?));
    let exact = |(index, issued)| {
        let (rows, _) = scenario.issued(workload, index, issued);
        (rows.start() == rows.end()).then_some(*rows.end())
    };
    let each = |ticket| {
        let issue = workload.issue(ticket);
        let statement = statements.get(issue.statement)?;
        let scans = statement.expect.as_ref().is_some_and(|expect| expect.ranges.is_some());
        (!scans).then(|| statement.answer().rows(issue.key))
    };
    let all = (0..statements.len()).filter_map(issued).map(exact).sum::<Option<u64>>();
    let is_whole = done.issued == tickets.end - tickets.start;
    all.or_else(|| is_whole.then(|| tickets.map(each).sum::<Option<u64>>()).flatten())
}

#[cfg(test)]
mod tests {
    use cqldyno_scenarios::Statement;

    use super::*;

    fn scenario(operations: &[(&str, Operation)]) -> Scenario {
        let mut scenario = cqldyno_scenarios::builtin("writes").unwrap();
        let insert = scenario.statements[0].clone();
        let of = |(name, operation): &(&str, Operation)| Statement {
            name: (*name).to_owned(),
            operation: *operation,
            cql: format!("{} /* hint */", insert.cql),
            ..insert.clone()
        };
        scenario.statements = operations.iter().map(of).collect();
        scenario
    }

    fn done(by: &[(&str, u64)]) -> Done {
        let issued_by_statement = by.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        Done { issued: by.iter().map(|(_, count)| count).sum(), issued_by_statement, ..Done::default() }
    }

    #[test]
    fn what_statements_of_one_text_ask_for_is_added_up() {
        let mixed = scenario(&[("a", Operation::Execute), ("b", Operation::Connect), ("c", Operation::Batch)]);
        let (done, workload) = (done(&[("a", 5), ("b", 2), ("c", 3)]), Workload::new(&mixed, 10, 0, 1).unwrap());
        let due = due(&mixed, &workload, &done);
        assert_eq!(due.len(), 1);
        assert_eq!(
            (&due[0].executes, due[0].prepares, &due[0].batches),
            (&(7..=7), Some(2), &Some([(3, 192..=192), (0, 0..=0)]))
        );
        assert!(!due[0].uncommented.contains("hint") && due[0].text.contains("hint"));
        assert_eq!((sessions(&mixed, &done), rows(&mixed, &workload, 0..10, &done)), (2, Some(199)));
    }

    #[test]
    fn a_text_that_is_prepared_keeps_its_own_comment_and_executes_alone_have_no_rows_to_tell_of() {
        let prepare = scenario(&[("a", Operation::Prepare)]);
        let (done, workload) = (done(&[("a", 5)]), Workload::new(&prepare, 5, 0, 1).unwrap());
        let due = due(&prepare, &workload, &done);
        assert_eq!(
            (*due[0].executes.end(), due[0].prepares, due[0].prepared_as.ends_with("/* hint */")),
            (0, Some(5), true)
        );
        assert_eq!(rows(&scenario(&[("a", Operation::Execute)]), &workload, 0..5, &done), None);
    }

    #[test]
    fn rows_of_a_turn_of_drawn_batches_are_those_of_its_tickets() {
        let mut batches = scenario(&[("a", Operation::Batch)]);
        batches.statements[0].size = Some("uniform(1..100)".parse().unwrap());
        let workload = Workload::new(&batches, 300, 0, 1).unwrap();
        let of = |tickets: Range<u64>, issued| rows(&batches, &workload, tickets, &done(&[("a", issued)]));
        let [first, second, all] = [of(0..100, 100), of(100..300, 200), of(0..300, 300)].map(Option::unwrap);
        assert_eq!(first + second, all);
        assert!((3_500..6_600).contains(&first), "{first}");
        assert_eq!(of(0..100, 99), None, "nobody knows which one is missing");
    }
}
