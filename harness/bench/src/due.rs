//! What the server must have counted, by what the worker says that it issued.

use std::collections::BTreeMap;

use cqldyno_cluster::without_comment;
use cqldyno_protocol::Done;
use cqldyno_scenarios::{Operation, Scenario};

use crate::agreement::text;

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
            unprepared: false,
            prepares: None,
            batches: None,
        });
        due.names.push(&statement.name);
        let issued = done.issued_by_statement.get(&statement.name).copied().unwrap_or(0);
        match statement.operation {
            Operation::Execute => due.executes += issued * scenario.pages(statement),
            Operation::Unprepared => {
                due.executes += issued;
                due.unprepared = true;
            }
            Operation::Connect => {
                due.executes += issued;
                due.prepares = Some(due.prepares.unwrap_or(0) + issued);
            }
            Operation::Prepare => {
                // Its own comment stays, because another one comes behind it.
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
