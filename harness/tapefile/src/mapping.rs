//! Which column of the file is what of a statement: what it binds, what loads its rows, what comes back, and what is read back.

use std::collections::BTreeSet;

use arrow_array::ArrayRef;
use cqldyno_cluster::types::ColumnSpec;
use cqldyno_cluster::{Rehearsal, Rehearsed};
use cqldyno_scenarios::{Scenario, Statement, suggestion};

use crate::TapeError;
use crate::file::RowFile;
use crate::fit::{is_null, kind, put};

/// The column that names the statement of each row.
const STATEMENT: &str = "statement";
/// What the names of columns with expected values begin with.
const EXPECT: &str = "expect.";
/// How many rows come back.
const EXPECTED_ROWS: &str = "expect.rows";
/// Columns of pandas' own.
const INDEX: &str = "__index_level_";

/// A text of a statement, with the file's column of each of its markers.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) rehearsed: Rehearsed,
    pub(crate) columns: Vec<usize>,
}

/// What comes back.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It writes.
    Nothing,
    /// Values of these columns of the file.
    Columns(Vec<usize>),
    /// What a node without clients finds among the loaded rows.
    Loaded,
    /// As many rows as the file says.
    Counted,
}

/// What is read back, and the first statement that is read back in the same way.
#[derive(Debug)]
pub(crate) struct Back {
    pub(crate) binding: Binding,
    pub(crate) columns: Vec<usize>,
    pub(crate) like: usize,
}

#[derive(Debug)]
pub(crate) struct Role {
    pub(crate) name: String,
    pub(crate) own: Binding,
    pub(crate) load: Option<Binding>,
    pub(crate) back: Option<Back>,
    pub(crate) answer: Answer,
}

#[derive(Debug)]
pub(crate) struct Mapping<'a> {
    pub(crate) node: Rehearsal,
    pub(crate) roles: Vec<Role>,
    file: &'a RowFile,
    /// The columns that name the statement, and say how many rows come back.
    statement: Option<usize>,
    pub(crate) expected_rows: Option<usize>,
}

impl<'a> Mapping<'a> {
    pub(crate) fn of(scenario: &Scenario, file: &'a RowFile) -> Result<Mapping<'a>, TapeError> {
        let node = Rehearsal::new().map_err(|error| {
            TapeError(format!("the tape {} needs a node that knows its types: {error}", file.shown()))
        })?;
        for cql in &scenario.schema {
            node.define(cql).map_err(|error| {
                TapeError(format!(
                    "the schema says the types of the tape {}, and the embedded cluster refuses {cql:?}: {error}; write it as the embedded \
                     cluster takes it",
                    file.shown()
                ))
            })?;
        }
        let mut made = Mapping { node, roles: Vec::new(), file, statement: None, expected_rows: None };
        made.expected_rows = made.place(EXPECTED_ROWS);
        made.roles = scenario.statements.iter().map(|one| made.role(one)).collect::<Result<_, _>>()?;
        made.statement = made.place(STATEMENT).filter(|at| made.roles.len() > 1 || !made.bound().contains(at));
        if made.roles.len() > 1 && made.statement.is_none() {
            return Err(TapeError(format!(
                "the scenario {} has {} statements, and the tape {} has no column {STATEMENT}; add one with the name of each row's statement",
                scenario.name,
                made.roles.len(),
                file.shown()
            )));
        }
        made.link_backs(scenario)?;
        made.check_reads()?;
        made.check_columns()?;
        Ok(made)
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.file.columns.iter().position(|column| column == name)
    }

    fn role(&self, statement: &Statement) -> Result<Role, TapeError> {
        let name = &statement.name;
        let own = self.binding(name, "binds", &statement.cql)?;
        let load = statement.load.as_ref().map(|load| self.binding(name, "loads", &load.cql)).transpose()?;
        let back = match &statement.read_back {
            None => None,
            Some(back) => {
                let binding = self.binding(name, "reads back by", &back.cql)?;
                let columns = self.columns(name, "reads back", binding.rehearsed.columns(), "")?;
                Some(Back { binding, columns, like: 0 })
            }
        };
        let answer = if statement.reads() { self.answer(name, own.rehearsed.columns())? } else { Answer::Nothing };
        Ok(Role { name: name.clone(), own, load, back, answer })
    }

    fn binding(&self, statement: &str, does: &str, cql: &str) -> Result<Binding, TapeError> {
        let rehearsed = self.node.prepare(cql).map_err(|error| {
            TapeError(format!(
                "the statement {statement} says the types of the tape {}, and the embedded cluster refuses {cql:?}: {error}; write it as \
                 the embedded cluster takes it",
                self.file.shown()
            ))
        })?;
        let columns = self.columns(statement, does, rehearsed.markers(), "")?;
        Ok(Binding { rehearsed, columns })
    }

    /// The file's columns that are named as these, after `prefix`.
    fn columns(
        &self,
        statement: &str,
        does: &str,
        specs: &[ColumnSpec],
        prefix: &str,
    ) -> Result<Vec<usize>, TapeError> {
        let of = |spec: &ColumnSpec| {
            if kind(&spec.ty, 1).is_none() {
                return Err(TapeError(format!(
                    "the statement {statement} {does} {} of the type {}, which no tape has; leave the column out",
                    spec.name, spec.ty
                )));
            }
            let name = format!("{prefix}{}", spec.name);
            self.place(&name).ok_or_else(|| {
                let known = self.file.columns.iter().map(String::as_str);
                TapeError(format!(
                    "the statement {statement} {does} {}, and the tape {} has no column {name}: it has {}; add it, or name a marker of the \
                     statement as a column, such as :{}.{}",
                    spec.name,
                    self.file.shown(),
                    self.file.columns.join(", "),
                    self.file.columns.first().map_or("name", String::as_str),
                    suggestion(&name, known)
                ))
            })
        };
        specs.iter().map(of).collect()
    }

    fn answer(&self, statement: &str, columns: &[ColumnSpec]) -> Result<Answer, TapeError> {
        let has = |spec: &&ColumnSpec| self.place(&format!("{EXPECT}{}", spec.name)).is_some();
        match (columns.iter().any(|spec| has(&spec)), self.expected_rows) {
            (true, _) => self.columns(statement, "selects", columns, EXPECT).map(Answer::Columns),
            (false, Some(_)) => Ok(Answer::Counted),
            (false, None) => Ok(Answer::Loaded),
        }
    }

    /// Refuses what cannot be read back because other statements write to its table.
    fn link_backs(&mut self, scenario: &Scenario) -> Result<(), TapeError> {
        let text = |at: usize| scenario.statements.get(at).and_then(|one| Some(one.read_back.as_ref()?.cql.trim()));
        let tables: Vec<Vec<String>> = self.roles.iter().map(|role| role.own.rehearsed.tables()).collect();
        for at in 0..self.roles.len() {
            let Some(cql) = text(at) else { continue };
            let writes = |other: &usize| {
                let meets = tables
                    .get(*other)
                    .zip(tables.get(at))
                    .is_some_and(|(other, own)| other.iter().any(|one| own.contains(one)));
                meets && text(*other) != Some(cql) && scenario.statements.get(*other).is_some_and(Statement::writes)
            };
            let role = &self.roles[at];
            if let Some(other) = (0..self.roles.len()).find(writes) {
                return Err(TapeError(format!(
                    "the statement {} is read back, and {} writes to its table, too, so its final rows are unknown; leave \
                     [statement.read_back] out, or give both statements the same one",
                    role.name, self.roles[other].name
                )));
            }
            let is_counter = |spec: &ColumnSpec| spec.ty.to_string() == "counter";
            if role.own.rehearsed.markers().iter().any(is_counter) {
                return Err(TapeError(format!(
                    "the statement {} adds to a counter, so its final value is unknown; leave [statement.read_back] out",
                    role.name
                )));
            }
            let like = (0..at).find(|other| text(*other) == Some(cql)).unwrap_or(at);
            if let Some(back) = &mut self.roles[at].back {
                back.like = like;
            }
        }
        Ok(())
    }

    /// Refuses a read of rows that the tape writes, if the file does not say what comes back.
    fn check_reads(&self) -> Result<(), TapeError> {
        let written: Vec<(&str, Vec<String>)> = self
            .roles
            .iter()
            .filter(|role| matches!(role.answer, Answer::Nothing))
            .map(|role| (role.name.as_str(), role.own.rehearsed.tables()))
            .collect();
        for role in self.roles.iter().filter(|role| matches!(role.answer, Answer::Loaded)) {
            let tables = role.own.rehearsed.tables();
            if let Some((other, _)) = written.iter().find(|(_, all)| all.iter().any(|table| tables.contains(table))) {
                return Err(TapeError(format!(
                    "the statement {} reads what the statement {other} of the tape {} writes, so its result is unknown; \
                     add {EXPECT}NAME for each column, or {EXPECTED_ROWS} with the number of rows",
                    role.name,
                    self.file.shown()
                )));
            }
        }
        Ok(())
    }

    /// The file's columns that statements use.
    fn bound(&self) -> BTreeSet<usize> {
        let columns = self.roles.iter().flat_map(|role| {
            let backs = role.back.iter().flat_map(|back| back.binding.columns.iter().chain(&back.columns));
            let expected = if let Answer::Columns(all) = &role.answer { all.as_slice() } else { &[] };
            let loads = role.load.iter().flat_map(|load| &load.columns);
            role.own.columns.iter().chain(loads).chain(backs).chain(expected)
        });
        columns.copied().collect()
    }

    /// Refuses a column that no statement uses.
    fn check_columns(&self) -> Result<(), TapeError> {
        let used = self.bound();
        let is_used = |at: usize, name: &str| {
            used.contains(&at)
                || Some(at) == self.statement
                || Some(at) == self.expected_rows
                || name.starts_with(INDEX)
        };
        let unused = self.file.columns.iter().enumerate().find(|(at, name)| !is_used(*at, name));
        unused.map_or(Ok(()), |(_, name)| {
            let known: Vec<&str> = used.iter().filter_map(|at| self.file.columns.get(*at)).map(String::as_str).collect();
            Err(TapeError(format!(
                "the tape {} has a column {name}, and no statement of the scenario uses it: they use {}; leave it out, or bind it.{}",
                self.file.shown(),
                known.join(", "),
                suggestion(name, known.iter().copied())
            )))
        })
    }

    /// The statement of a row.
    pub(crate) fn statement_of(&self, row: u64, columns: &[ArrayRef], at: usize) -> Result<usize, TapeError> {
        let Some((place, column)) = self.statement.and_then(|place| Some((place, columns.get(place)?))) else {
            return Ok(0);
        };
        let mut name = Vec::new();
        let text = !is_null(column, at) && put(column, at, &cqldyno_cluster::types::CqlType::Text, &mut name).is_ok();
        let name = String::from_utf8_lossy(name.get(4..).filter(|_| text).unwrap_or_default()).into_owned();
        self.roles.iter().position(|role| role.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.roles.iter().map(|role| role.name.as_str()).collect();
            let found = if text { format!("{name:?}") } else { format!("no text, but {}", column.data_type()) };
            TapeError(format!(
                "the tape {} has in row {} the {} {found}; name {}.{}",
                self.file.shown(),
                row + 1,
                self.file.columns.get(place).map_or(STATEMENT, String::as_str),
                known.join(" or "),
                suggestion(&name, known.iter().copied())
            ))
        })
    }

    /// Appends the values of a row that these columns have, as the specifications say; `longest` learns how long they are.
    pub(crate) fn put(
        &self,
        row: u64,
        (batch, at): (&[ArrayRef], usize),
        (columns, specs): (&[usize], &[ColumnSpec]),
        statement: &str,
        longest: &mut [usize],
        out: &mut Vec<u8>,
    ) -> Result<(), TapeError> {
        for (place, spec) in columns.iter().zip(specs) {
            let (start, Some(column)) = (out.len(), batch.get(*place)) else { continue };
            put(column, at, &spec.ty, out).map_err(|misfit| {
                TapeError(format!(
                    "the tape {} does not fit in row {}: its column {} has {}, and the statement {statement} takes {} there; convert \
                     the column",
                    self.file.shown(),
                    row + 1,
                    self.file.columns.get(*place).map_or("", String::as_str),
                    misfit.0,
                    spec.ty
                ))
            })?;
            if let Some(longest) = longest.get_mut(*place) {
                *longest = (*longest).max(out.len() - start - 4);
            }
        }
        Ok(())
    }

    /// Refuses a row whose partition key has a null.
    pub(crate) fn check_key(&self, row: u64, of: &Binding, (batch, at): (&[ArrayRef], usize)) -> Result<(), TapeError> {
        let places = of.rehearsed.partition_key().iter().filter_map(|marker| of.columns.get(usize::from(*marker)));
        let null = |place: &&usize| batch.get(**place).is_some_and(|column| is_null(column, at));
        places.clone().find(null).map_or(Ok(()), |place| {
            Err(TapeError(format!(
                "the tape {} has in row {} a null in the column {}, which is part of a partition key; give it a value",
                self.file.shown(),
                row + 1,
                self.file.columns.get(*place).map_or("", String::as_str)
            )))
        })
    }
}
