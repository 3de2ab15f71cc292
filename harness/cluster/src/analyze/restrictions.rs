//! WHERE: relations sorted by the column they restrict, then into partitions, rows and filters.

use super::{Analyzer, find, missing, names};
use crate::cql::{Operator, RawTerm, Relation};
use crate::error::{CqlError, Result, invalid};
use crate::prepared::{ClusteringSelection, Computed, Filter, Limit, OneOf, PartitionSelection, Range, Term};
use crate::schema::{Column, ColumnKind, Table};
use crate::types::CqlType;

pub(super) const NEEDS_FILTERING: &str = "Cannot execute this query as it might involve data filtering and thus may have \
    unpredictable performance. If you want to execute this query despite the performance unpredictability, use ALLOW \
    FILTERING";

#[derive(Clone, Debug, Default, PartialEq)]
struct Restriction {
    equal: Option<OneOf>,
    range: Range,
    contains: Vec<(Operator, OneOf)>,
}

impl Restriction {
    fn is_none(&self) -> bool {
        *self == Restriction::default()
    }

    fn has_range(&self) -> bool {
        self.range != Range::default()
    }
}

/// A WHERE clause with its names looked up and its terms resolved.
#[derive(Debug)]
pub(super) struct Restrictions {
    columns: Vec<Restriction>,
    /// `(a, b) > (?, ?)`: the first column's index, the number of columns, and the range.
    multi: Option<(usize, usize, Range)>,
    token: Option<Range>,
    sliced: bool,
}

impl Analyzer<'_> {
    pub(super) fn restrictions(&mut self, relations: &[Relation], table: &Table) -> Result<Restrictions> {
        let columns = vec![Restriction::default(); table.columns.len()];
        let into = Restrictions { columns, multi: None, token: None, sliced: false };
        let mut sorter = Sorter { analyzer: self, table, into };
        relations.iter().try_for_each(|relation| sorter.relation(relation))?;
        Ok(sorter.into)
    }
}

/// Sorts relations by the columns that they restrict.
struct Sorter<'s, 'c> {
    analyzer: &'s mut Analyzer<'c>,
    table: &'s Table,
    into: Restrictions,
}

impl Sorter<'_, '_> {
    fn relation(&mut self, relation: &Relation) -> Result<()> {
        match relation {
            Relation::Single(name, operator, raw) => self.single(name, *operator, raw),
            Relation::Multi(names, operator, raw) => self.multi(names, *operator, raw),
            Relation::Token(names, operator, raw) => self.token(names, *operator, raw),
            Relation::Refused(why) => Err(why.clone()),
        }
    }

    fn single(&mut self, name: &str, operator: Operator, raw: &RawTerm) -> Result<()> {
        let table = self.table;
        let (index, column) = find(table, name)?;
        if matches!(operator, Operator::Contains | Operator::ContainsKey) {
            let value = self.analyzer.compared(raw, operator, &table.spec(column))?;
            self.into.columns[index].contains.push((operator, value));
            return Ok(());
        }
        if matches!(column.ty, CqlType::User(_)) {
            let (name, ty) = (&column.name, &column.ty);
            return invalid(format!("Non-frozen UDT column '{name}' ({ty}) cannot be restricted by any relation"));
        }
        if column.ty.is_multi_cell() {
            return invalid(format!(
                "Collection column '{}' ({}) cannot be restricted by a '{operator}' relation",
                column.name, column.ty
            ));
        }
        if matches!(operator, Operator::Equal | Operator::In) {
            let value = self.analyzer.compared(raw, operator, &table.spec(column))?;
            return self.into.set_equal(index, column, value);
        }
        let term = self.analyzer.term(raw, &table.spec(column))?;
        if column.ty == CqlType::Duration {
            return invalid(format!("Slice restrictions are not supported on duration columns ({})", column.name));
        }
        let restriction = &mut self.into.columns[index];
        if restriction.equal.is_some() {
            return mixed(column);
        }
        set_limit(&mut restriction.range, operator, vec![term], &column.name)
    }

    fn multi(&mut self, names: &[String], operator: Operator, raw: &RawTerm) -> Result<()> {
        let table = self.table;
        let RawTerm::Tuple(items) = raw else {
            return invalid("A relation on several columns takes a tuple of values, with a bind marker for each");
        };
        if items.len() != names.len() {
            return invalid(format!("Expected {} elements in value tuple, but got {}", names.len(), items.len()));
        }
        let mut terms = Vec::with_capacity(names.len());
        let mut first = None;
        let mut descending = None;
        for (offset, (name, item)) in names.iter().zip(items).enumerate() {
            let (index, column) = find(table, name)?;
            if column.kind != ColumnKind::Clustering {
                return invalid(format!(
                    "Multi-column relations can only be applied to clustering columns but was applied to: {name}"
                ));
            }
            if index != *first.get_or_insert(index) + offset {
                return invalid(format!(
                    "Clustering columns must appear in the PRIMARY KEY order in multi-column relations: {}",
                    names.join(", ")
                ));
            }
            let term = self.analyzer.term(item, &table.spec(column))?;
            if operator == Operator::Equal {
                self.into.set_equal(index, column, OneOf::Term(term))?;
                continue;
            }
            if column.descending != *descending.get_or_insert(column.descending) {
                return Err(CqlError::unsupported("A range over several columns whose clustering orders differ"));
            }
            terms.push(term);
        }
        let Some(first) = first.filter(|_| operator != Operator::Equal) else { return Ok(()) };
        let (start, length, range) = self.into.multi.get_or_insert((first, names.len(), Range::default()));
        if (*start, *length) != (first, names.len()) {
            return invalid("Ranges over several columns must be over the same columns at both ends");
        }
        set_limit(range, operator, terms, &names.join(", "))
    }

    fn token(&mut self, names: &[String], operator: Operator, raw: &RawTerm) -> Result<()> {
        let table = self.table;
        let key = super::names(table.partition_key());
        for name in names {
            find(table, name)?;
        }
        if names.len() != key.len() {
            return invalid("The token() function must be applied to all partition key components or none of them");
        }
        if *names != key {
            return invalid(format!(
                "The token function arguments must be in the partition key order: {}",
                key.join(",")
            ));
        }
        let term = match raw {
            RawTerm::Function(name, arguments) if name == "token" => {
                if arguments.len() != key.len() {
                    return invalid(format!(
                        "token() takes {} values here, one per component of the partition key",
                        key.len()
                    ));
                }
                let components = arguments.iter().zip(table.partition_key());
                let terms = components.map(|(argument, column)| self.analyzer.term(argument, &table.spec(column)));
                Term::Computed(Box::new(Computed::Token(terms.collect::<Result<_, _>>()?)))
            }
            other => self.analyzer.term(other, &table.special("partition key token", CqlType::Bigint))?,
        };
        let range = self.into.token.get_or_insert_default();
        if operator == Operator::Equal {
            set_limit(range, Operator::GreaterOrEqual, vec![term.clone()], "token")?;
            return set_limit(range, Operator::LessOrEqual, vec![term], "token");
        }
        set_limit(range, operator, vec![term], "token")
    }
}

fn mixed<T>(column: &Column) -> Result<T> {
    invalid(format!("{} cannot be restricted by more than one relation if it includes an Equal", column.name))
}

fn set_limit(range: &mut Range, operator: Operator, terms: Vec<Term>, name: &str) -> Result<()> {
    let inclusive = matches!(operator, Operator::LessOrEqual | Operator::GreaterOrEqual);
    let is_lower = matches!(operator, Operator::Greater | Operator::GreaterOrEqual);
    let end = if is_lower { &mut range.lower } else { &mut range.upper };
    if end.is_some() {
        let which = if is_lower { "start" } else { "end" };
        return invalid(format!("More than one restriction was found for the {which} bound on {name}"));
    }
    *end = Some(Limit { terms: terms.into(), inclusive });
    Ok(())
}

impl Restrictions {
    fn set_equal(&mut self, index: usize, column: &Column, value: OneOf) -> Result<()> {
        let restriction = &mut self.columns[index];
        if !restriction.is_none() {
            return mixed(column);
        }
        restriction.equal = Some(value);
        Ok(())
    }

    /// The partitions of a modification: `=` or `IN` must give all components of the key.
    pub(super) fn whole_partitions(&mut self, table: &Table) -> Result<PartitionSelection> {
        if self.token.is_some() {
            return invalid("The token function cannot be used in WHERE clauses for UPDATE and DELETE statements");
        }
        let key = table.partition_key();
        for (restriction, column) in self.columns.iter().zip(key) {
            if restriction.has_range() || !restriction.contains.is_empty() {
                return invalid(format!(
                    "Only EQ and IN relation are supported on the partition key (unless you use the token() function): {}",
                    column.name
                ));
            }
        }
        if let Some(names) = missing(key, |index| self.columns[index].equal.is_some()) {
            return invalid(format!("Some partition key parts are missing: {names}"));
        }
        Ok(self.partitions(table).unwrap_or(PartitionSelection::Tokens(Range::default())))
    }

    /// Takes the partition key's restrictions if they are complete.
    fn partitions(&mut self, table: &Table) -> Option<PartitionSelection> {
        let restrictions = self.columns.get_mut(..table.partition_key_len)?;
        if restrictions.iter().any(|restriction| restriction.equal.is_none()) {
            return None;
        }
        let parts = restrictions.iter_mut().filter_map(|restriction| restriction.equal.take()).collect::<Vec<_>>();
        let single = |part: &OneOf| match part {
            OneOf::Term(term) => Some(term.clone()),
            OneOf::Terms(_) | OneOf::List(_) => None,
        };
        let terms = parts.iter().map(single).collect::<Option<Box<[Term]>>>();
        Some(terms.map_or(PartitionSelection::Product(parts.into()), PartitionSelection::One))
    }

    /// The partitions of a SELECT; what restricts the key only in part is left for filters.
    pub(super) fn some_partitions(&mut self, table: &Table, filtering: bool) -> Result<PartitionSelection> {
        let key = table.partition_key();
        let restricted = self.columns.iter().zip(key).filter(|(restriction, _)| !restriction.is_none());
        let restricted = names(restricted.map(|(_, column)| column));
        if let Some(range) = self.token.take() {
            if !restricted.is_empty() {
                return invalid(format!(
                    "Columns \"{}\" cannot be restricted by both a normal relation and a token relation",
                    restricted.join("\", \"")
                ));
            }
            return Ok(PartitionSelection::Tokens(range));
        }
        if let Some(partitions) = self.partitions(table) {
            return Ok(partitions);
        }
        if !restricted.is_empty() && !filtering {
            let ranged = self.columns.iter().zip(key).any(|(restriction, _)| restriction.has_range());
            return invalid(if ranged {
                "Only EQ and IN relation are supported on the partition key (unless you use the token() function)"
            } else {
                NEEDS_FILTERING
            });
        }
        Ok(PartitionSelection::Tokens(Range::default()))
    }

    /// The rows that the clustering columns' restrictions select; restrictions after a gap are left for filters.
    pub(super) fn rows(&mut self, table: &Table) -> ClusteringSelection {
        let start = table.partition_key_len;
        let mut prefix = Vec::new();
        for restriction in self.columns.iter_mut().skip(start).take(table.clustering_len) {
            let Some(equal) = restriction.equal.take() else { break };
            prefix.push(equal);
        }
        let next = start + prefix.len();
        let mut range = None;
        if self.multi.as_ref().is_some_and(|(first, _, _)| *first == next) {
            range = self.multi.take().map(|(_, _, range)| range);
        } else if prefix.len() < table.clustering_len
            && let Some(restriction) = self.columns.get_mut(next)
            && restriction.has_range()
        {
            range = Some(std::mem::take(&mut restriction.range));
        }
        self.sliced = range.is_some();
        ClusteringSelection { prefix: prefix.into(), range }
    }

    pub(super) fn filters(self, table: &Table, filtering: bool) -> Result<Box<[Filter]>> {
        if self.multi.is_some() {
            return invalid("A range over several columns must follow clustering columns that are restricted by =");
        }
        let mut filters = Vec::new();
        for (index, (restriction, column)) in self.columns.into_iter().zip(&table.columns).enumerate() {
            if restriction.is_none() {
                continue;
            }
            if !filtering {
                return invalid(refusal(index, table, self.sliced));
            }
            let mut filter = |operator, value| filters.push(Filter { column: index, operator, value });
            match restriction.equal {
                Some(OneOf::Terms(_) | OneOf::List(_)) if column.kind > ColumnKind::Clustering => {
                    let name = &column.name;
                    return invalid(format!("IN predicates on non-primary-key columns ({name}) is not yet supported"));
                }
                Some(term @ OneOf::Term(_)) => filter(Operator::Equal, term),
                Some(list) => filter(Operator::In, list),
                None => {}
            }
            for (limit, strict, inclusive) in [
                (restriction.range.lower, Operator::Greater, Operator::GreaterOrEqual),
                (restriction.range.upper, Operator::Less, Operator::LessOrEqual),
            ] {
                if let Some(limit) = limit
                    && let Some(term) = limit.terms.into_iter().next()
                {
                    filter(if limit.inclusive { inclusive } else { strict }, OneOf::Term(term));
                }
            }
            for (operator, value) in restriction.contains {
                filter(operator, value);
            }
        }
        Ok(filters.into())
    }

    pub(super) fn refuse_rest(&self, table: &Table) -> Result<()> {
        let left = self.columns.iter().zip(&table.columns).filter(|(restriction, _)| !restriction.is_none());
        let (key, other): (Vec<_>, Vec<_>) = left
            .map(|(_, column)| column)
            .partition(|column| matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering));
        if !other.is_empty() {
            // Cassandra's message ends with a space.
            let names = names(other).join(", ");
            return invalid(format!("Non PRIMARY KEY columns found in where clause: {names} "));
        }
        if let Some(column) = key.first() {
            let index = table.column(&column.name).map_or(0, |(index, _)| index);
            return invalid(refusal(index, table, self.sliced));
        }
        if self.multi.is_some() {
            return invalid("A range over several columns must follow clustering columns that are restricted by =");
        }
        Ok(())
    }
}

/// Why the restriction of this column needs ALLOW FILTERING.
fn refusal(index: usize, table: &Table, sliced: bool) -> String {
    match (table.columns.get(index), index.checked_sub(1).and_then(|previous| table.columns.get(previous))) {
        (Some(column), Some(previous))
            if column.kind == ColumnKind::Clustering && previous.kind == ColumnKind::Clustering =>
        {
            if sliced {
                return format!(
                    "Clustering column \"{}\" cannot be restricted (preceding column \"{}\" is restricted by a non-EQ relation)",
                    column.name, previous.name
                );
            }
            format!(
                "PRIMARY KEY column \"{}\" cannot be restricted as preceding column \"{}\" is not restricted",
                column.name, previous.name
            )
        }
        _ => NEEDS_FILTERING.to_owned(),
    }
}
