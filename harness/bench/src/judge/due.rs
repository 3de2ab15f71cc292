//! What the server must have counted, by what the worker says that it issued.

use std::collections::BTreeMap;

use cqldyno_cluster::without_comment;
use cqldyno_protocol::Done;
use cqldyno_scenarios::{Operation, Scenario, Statement};

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
    /// The names of the statements.
    pub names: Vec<&'a str>,
    /// EXECUTEs.
    pub executes: u64,
    /// The most of them for one statement.
    pub pages: u64,
    /// Some of these may be QUERYs, as the driver does it.
    pub unprepared: bool,
    /// PREPAREs, where they were asked for.
    pub prepares: Option<u64>,
    /// Unlogged BATCHes and the rows in them, where they were asked for.
    pub batches: Option<(u64, u64)>,
}

/// What is due by `done`, text by text: statements with one text share a prepared id.
pub(crate) fn due<'a>(scenario: &'a Scenario, done: &Done) -> Vec<Due<'a>> {
    let mut by_text: BTreeMap<String, Due<'a>> = BTreeMap::new();
    for statement in &scenario.statements {
        let key = text(&statement.cql);
        let due = by_text.entry(key.clone()).or_insert_with(|| Due {
            uncommented: without_comment(&key).to_owned(),
            prepared_as: without_comment(&key).to_owned(),
            text: key,
            names: Vec::new(),
            executes: 0,
            pages: 1,
            unprepared: false,
            prepares: None,
            batches: None,
        });
        due.names.push(&statement.name);
        let issued = done.issued_by_statement.get(&statement.name).copied().unwrap_or(0);
        match statement.operation {
            Operation::Execute => {
                due.pages = due.pages.max(scenario.pages(statement));
                due.executes += issued * scenario.pages(statement);
            }
            Operation::Unprepared => {
                due.executes += issued;
                due.unprepared = true;
            }
            Operation::Connect => {
                due.executes += issued * scenario.pages(statement);
                due.prepares = Some(due.prepares.unwrap_or(0) + issued);
            }
            Operation::Prepare => {
                // Its own comment stays, because another one follows it.
                due.prepared_as.clone_from(&due.text);
                due.prepares = Some(due.prepares.unwrap_or(0) + issued);
            }
            Operation::Batch => {
                let (batches, rows) = due.batches.unwrap_or_default();
                due.batches = Some((batches + issued, rows + issued * statement.rows()));
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

/// Rows that the statements wrote or asked for; `None` where all of them are EXECUTEs.
pub(crate) fn rows(scenario: &Scenario, done: &Done) -> Option<u64> {
    if scenario.statements.iter().all(|statement| statement.operation == Operation::Execute) {
        return None;
    }
    let rows = |statement: &Statement| Some(done.issued_by_statement.get(&statement.name)? * statement.rows());
    Some(scenario.statements.iter().filter_map(rows).sum())
}

#[cfg(test)]
mod tests {
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
        Done { issued_by_statement, ..Done::default() }
    }

    #[test]
    fn what_statements_of_one_text_ask_for_is_added_up() {
        let mixed = scenario(&[("a", Operation::Execute), ("b", Operation::Connect), ("c", Operation::Batch)]);
        let done = done(&[("a", 5), ("b", 2), ("c", 3)]);
        let due = due(&mixed, &done);
        assert_eq!(due.len(), 1);
        assert_eq!((due[0].executes, due[0].prepares, due[0].batches), (7, Some(2), Some((3, 192))));
        assert!(!due[0].uncommented.contains("hint") && due[0].text.contains("hint"));
        assert_eq!((sessions(&mixed, &done), rows(&mixed, &done)), (2, Some(199)));
    }

    #[test]
    fn a_text_that_is_prepared_keeps_its_own_comment_and_executes_alone_have_no_rows_to_tell_of() {
        let prepare = scenario(&[("a", Operation::Prepare)]);
        let done = done(&[("a", 5)]);
        let due = due(&prepare, &done);
        assert_eq!((due[0].executes, due[0].prepares, due[0].prepared_as.ends_with("/* hint */")), (0, Some(5), true));
        assert_eq!(rows(&scenario(&[("a", Operation::Execute)]), &done), None);
    }
}
