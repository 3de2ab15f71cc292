//! Statements to plans: names are looked up in the catalog, constants serialised, restrictions sorted out.
//!
//! What CQL has and this node lacks is refused as unsupported (0x2200), by name: `README.md` has the list.

mod conditions;
mod modification;
mod restrictions;
mod selection;
mod terms;

use std::sync::Arc;

use crate::cql::{self, Batch, BatchKind, Statement, TableName};
use crate::error::{CqlError, Result, invalid};
use crate::prepared::{self, CqlPlan, OneOf, PartitionSelection, Prepared, Term};
use crate::schema::{
    Catalog, Column, Ddl, Definition, Table, UserTypes, check_modifiable, define_keyspace, define_table, define_type,
};
use crate::types::ColumnSpec;

/// Parses a statement and resolves it against the catalog; `keyspace` is the one that the connection uses.
pub fn analyze(text: &str, catalog: &Catalog, keyspace: Option<&str>) -> Result<Prepared> {
    let statement = cql::parse(text)?;
    let mut analyzer = Analyzer { catalog, keyspace, markers: Vec::new() };
    let (plan, result_columns) = match &statement {
        Statement::Select(select) => {
            let (select, columns) = analyzer.select(select)?;
            (CqlPlan::Select(select), columns)
        }
        other => (analyzer.statement(other)?, Vec::new()),
    };
    let partition_key_indexes = partition_key_indexes(&plan);
    let bind_markers = analyzer.markers.into_iter().collect::<Option<_>>();
    let bind_markers =
        bind_markers.ok_or_else(|| CqlError::invalid("Cannot infer the type of a bind marker in this statement"))?;
    Ok(Prepared { plan, bind_markers, partition_key_indexes, result_columns })
}

/// Refuses a batch that mixes counters with what cannot be in one batch with them.
pub fn check_counters<'p>(
    kind: BatchKind,
    mut plans: impl Iterator<Item = &'p prepared::Modification> + Clone,
) -> Result<()> {
    let counts = plans.clone().any(|plan| plan.table.has_counters());
    let all_count = plans.all(|plan| plan.table.has_counters());
    match kind {
        BatchKind::Counter if !all_count => invalid("Cannot include non-counter statement in a counter batch"),
        _ if counts && !all_count => invalid("Counter and non-counter mutations cannot exist in the same batch"),
        BatchKind::Logged if counts => invalid("Cannot include a counter statement in a logged batch"),
        _ => Ok(()),
    }
}

struct Analyzer<'a> {
    catalog: &'a Catalog,
    keyspace: Option<&'a str>,
    markers: Vec<Option<ColumnSpec>>,
}

impl Analyzer<'_> {
    fn statement(&mut self, statement: &Statement) -> Result<CqlPlan> {
        match statement {
            Statement::Select(select) => self.select(select).map(|(select, _)| CqlPlan::Select(select)),
            Statement::Insert(_) | Statement::Modify(_) => self.modification(statement).map(CqlPlan::Modify),
            Statement::Batch(batch) => self.batch(batch).map(CqlPlan::Batch),
            Statement::Truncate(name) => self.table_to_modify(name).map(CqlPlan::Truncate),
            Statement::Use(name) => match self.catalog.keyspace(name) {
                Some(keyspace) => Ok(CqlPlan::Use(keyspace.name.to_string())),
                None => invalid(format!("Keyspace '{name}' does not exist")),
            },
            Statement::Describe(describe) => Ok(CqlPlan::Describe(describe.clone(), self.keyspace.map(str::to_owned))),
            Statement::Unsupported(what) => Err(CqlError::unsupported(what)),
            Statement::Define { definition, conditional } => {
                self.definition(definition, *conditional).map(CqlPlan::Ddl)
            }
        }
    }

    fn batch(&mut self, batch: &Batch) -> Result<prepared::Batch> {
        if batch.statements.len() > usize::from(u16::MAX) {
            return invalid("A batch can have at most 65535 statements");
        }
        let [timestamp, _] = self.using(&batch.using, ("[batch]", "[batch]"))?;
        let mut statements = Vec::with_capacity(batch.statements.len());
        for statement in &batch.statements {
            let plan = self.modification(statement)?;
            if timestamp.is_some() && plan.timestamp.is_some() {
                return invalid("Timestamp must be set either on BATCH or individual statements");
            }
            statements.push(plan);
        }
        if timestamp.is_some() && statements.iter().any(|plan| plan.condition.is_some()) {
            return invalid("Cannot provide custom timestamp for conditional BATCH");
        }
        if timestamp.is_some() && batch.kind == BatchKind::Counter {
            return invalid("Cannot provide custom timestamp for counter BATCH");
        }
        if timestamp.is_some() && statements.iter().any(|plan| plan.table.has_counters()) {
            return invalid("Cannot provide custom timestamp for a BATCH containing counters");
        }
        check_counters(batch.kind, statements.iter())?;
        Ok(prepared::Batch { statements, timestamp })
    }

    fn keyspace_of<'n>(&'n self, name: &'n TableName) -> Result<&'n str> {
        name.keyspace.as_deref().or(self.keyspace).ok_or_else(|| {
            CqlError::invalid(
                "No keyspace has been specified. USE a keyspace, or explicitly specify keyspace.tablename",
            )
        })
    }

    fn table(&self, name: &TableName) -> Result<Arc<Table>> {
        let keyspace = self.keyspace_of(name)?;
        let Some(keyspace) = self.catalog.keyspace(keyspace) else {
            return invalid(format!("keyspace {keyspace} does not exist"));
        };
        match keyspace.tables.get(&name.name) {
            Some(table) => Ok(table.clone()),
            None => invalid(format!("table {} does not exist", name.name)),
        }
    }

    fn table_to_modify(&self, name: &TableName) -> Result<Arc<Table>> {
        let table = self.table(name)?;
        if table.is_virtual {
            let text = format!("Cannot MODIFY <table {}.{}>", table.keyspace, table.name);
            return Err(CqlError::Unauthorized(text));
        }
        Ok(table)
    }
}

/// The functions of Cassandra 5.0 that this node lacks everywhere or in some places.
const NATIVE_FUNCTIONS: &str = "abs avg cast collection_avg collection_count collection_max collection_min collection_sum count \
    current_date current_time current_timestamp current_timeuuid currentdate currenttime currenttimestamp currenttimeuuid dateof exp \
    from_json fromjson log log10 map_keys map_values max max_timeuuid max_writetime maxtimeuuid maxwritetime min min_timeuuid \
    min_writetime mintimeuuid minwritetime now round similarity_cosine similarity_dot_product similarity_euclidean sum to_date to_json \
    to_timestamp to_unix_timestamp todate tojson token totimestamp tounixtimestamp ttl unixtimestampof uuid writetime";

/// The refusal of a function: Cassandra's functions are unsupported, and all others unknown.
fn unknown_function(name: &str, place: &str) -> CqlError {
    let converts = |prefix: &str, suffix: &str| name.starts_with(prefix) || name.ends_with(suffix);
    if NATIVE_FUNCTIONS.split(' ').any(|native| native == name)
        || converts("blobas", "asblob")
        || converts("blob_as_", "_as_blob")
        || name.starts_with("mask_")
    {
        return CqlError::unsupported(format!("The function {name} {place}"));
    }
    CqlError::Invalid(format!("Unknown function '{name}'"))
}

fn names<'c>(columns: impl IntoIterator<Item = &'c Column>) -> Vec<String> {
    columns.into_iter().map(|column| column.name.to_string()).collect()
}

/// The names of the columns that are not given, if there are any.
fn missing(columns: &[Column], is_given: impl Fn(usize) -> bool) -> Option<String> {
    let missing = names(columns.iter().enumerate().filter(|(index, _)| !is_given(*index)).map(|(_, column)| column));
    (!missing.is_empty()).then(|| missing.join(", "))
}

fn find<'t>(table: &'t Table, name: &str) -> Result<(usize, &'t Column)> {
    let undefined = || format!("Undefined column name {name} in table {}.{}", table.keyspace, table.name);
    table.column(name).ok_or_else(|| CqlError::Invalid(undefined()))
}

/// The markers that make up the partition key, if each of its components is one.
fn partition_key_indexes(plan: &CqlPlan) -> Vec<u16> {
    let markers = match plan {
        // Only a batch of one table has any.
        CqlPlan::Batch(batch) => {
            if batch.statements.windows(2).any(|two| two[0].table.id != two[1].table.id) {
                return Vec::new();
            }
            let of_statements = batch.statements.iter().map(|plan| partition_key_markers(&plan.partition));
            let last = of_statements.reduce(|before, after| {
                after.into_iter().zip(before).map(|(after, before)| after.or(before)).collect()
            });
            last.unwrap_or_default()
        }
        CqlPlan::Modify(plan) => partition_key_markers(&plan.partition),
        CqlPlan::Select(select) => partition_key_markers(&select.partition),
        _ => Vec::new(),
    };
    markers.into_iter().collect::<Option<_>>().unwrap_or_default()
}

/// The last marker of each part of the partition key, in the key's order: Cassandra has drivers route with it.
fn partition_key_markers(partition: &PartitionSelection) -> Vec<Option<u16>> {
    let marker = |term: &Term| match term {
        Term::Marker(index) => Some(*index),
        _ => None,
    };
    match partition {
        PartitionSelection::One(terms) => terms.iter().map(marker).collect(),
        PartitionSelection::Product(parts) => parts
            .iter()
            .map(|part| match part {
                OneOf::Term(term) => marker(term),
                OneOf::Terms(terms) => terms.iter().rev().find_map(marker),
                OneOf::List(_) => None,
            })
            .collect(),
        PartitionSelection::Tokens(_) => Vec::new(),
    }
}

impl Analyzer<'_> {
    fn definition(&self, definition: &cql::Definition, conditional: bool) -> Result<Ddl> {
        let of = |name: &TableName| self.modifiable_keyspace_of(name);
        let (keyspace, definition) = match definition {
            cql::Definition::CreateKeyspace(name, properties) => {
                (name.clone(), Definition::CreateKeyspace(define_keyspace(name, properties, None)?))
            }
            cql::Definition::AlterKeyspace(name, properties) => {
                let current = self.catalog.keyspace(name);
                if current.is_none() && !conditional {
                    return invalid(format!("Keyspace '{name}' doesn't exist"));
                }
                (name.clone(), Definition::AlterKeyspace(define_keyspace(name, properties, Some(current))?))
            }
            cql::Definition::DropKeyspace(name) => {
                check_modifiable(name)?;
                (name.clone(), Definition::DropKeyspace)
            }
            cql::Definition::CreateTable(create) => {
                let keyspace = of(&create.table)?;
                let table = define_table(create, &keyspace, self.types(&keyspace))?;
                (keyspace, Definition::CreateTable(Box::new(table)))
            }
            cql::Definition::AlterTable(table, alteration) => {
                (of(table)?, Definition::AlterTable(table.name.clone(), alteration.clone()))
            }
            cql::Definition::DropTable(table) => (of(table)?, Definition::DropTable(table.name.clone())),
            cql::Definition::CreateType(name, fields) => {
                let keyspace = of(name)?;
                let ty = define_type((&keyspace, &name.name), fields, self.types(&keyspace))?;
                (keyspace, Definition::CreateType(ty.into()))
            }
            cql::Definition::AlterType(name, alteration) => {
                (of(name)?, Definition::AlterType(name.name.clone(), alteration.clone()))
            }
            cql::Definition::DropType(name) => (of(name)?, Definition::DropType(name.name.clone())),
        };
        Ok(Ddl { keyspace, definition, conditional })
    }

    fn modifiable_keyspace_of(&self, name: &TableName) -> Result<String> {
        let keyspace = self.keyspace_of(name)?;
        check_modifiable(keyspace)?;
        Ok(keyspace.to_owned())
    }

    /// The user-defined types of a keyspace; none if there is no such keyspace, which is refused later.
    fn types(&self, keyspace: &str) -> &UserTypes {
        static NONE: UserTypes = UserTypes::new();
        self.catalog.keyspace(keyspace).map_or(&NONE, |keyspace| &keyspace.types)
    }
}

#[cfg(test)]
mod tests;
