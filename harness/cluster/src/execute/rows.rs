//! What a SELECT does with each row: filters, selectors, counts, and the end of a page.

use std::borrow::Cow;

use crate::codec::response::Rows;
use crate::error::{CqlError, Result};
use crate::prepared::{EvaluatedFilter, Select, Selector};
use crate::schema::Table;
use crate::storage::clock::seconds;
use crate::storage::record::{Cell, FOREVER, Row};
use crate::token;
use crate::types::write;

const LONGEST_ROWS: usize = 32 * 1024 * 1024;

#[derive(Clone, Copy)]
pub struct RowView<'r> {
    pub key: &'r [u8],
    pub components: &'r [&'r [u8]],
    /// The clustering columns; empty when the partition has static columns and no rows.
    pub clustering: &'r [&'r [u8]],
    pub statics: Option<&'r Row<'r>>,
    /// The regular columns; `None` when there is no row.
    pub cells: Option<&'r Row<'r>>,
}

impl<'r> RowView<'r> {
    fn cell(&self, table: &Table, column: usize) -> Option<&'r Cell<'r>> {
        match column.checked_sub(table.regular_start()) {
            Some(regular) => self.cells.and_then(|row| row.cells.get(regular)),
            None => self.statics.and_then(|row| row.cells.get(column.checked_sub(table.static_start())?)),
        }
    }

    pub fn value(&self, table: &Table, column: usize) -> Option<&'r [u8]> {
        if column < table.partition_key_len {
            return self.components.get(column).copied();
        }
        if column < table.static_start() {
            return self.clustering.get(column - table.partition_key_len).copied();
        }
        self.cell(table, column)?.value.bytes()
    }
}

/// Collects the rows of a page, or counts.
pub struct Collector<'s> {
    select: &'s Select,
    filters: Vec<EvaluatedFilter<'s>>,
    pub page_left: usize,
    pub limit_left: Option<u64>,
    counts: Vec<i64>,
    rows: Rows,
}

impl<'s> Collector<'s> {
    /// For a page of `page_size` rows at most, of which LIMIT leaves `limit_left`.
    pub fn new(
        select: &'s Select,
        filters: Vec<EvaluatedFilter<'s>>,
        page_size: Option<usize>,
        limit_left: Option<u64>,
    ) -> Self {
        Collector {
            select,
            filters,
            page_left: if select.aggregate { usize::MAX } else { page_size.unwrap_or(usize::MAX) },
            // LIMIT would limit the one row of counts.
            limit_left: if select.aggregate { None } else { limit_left },
            counts: vec![0; select.selectors.len()],
            rows: Rows::default(),
        }
    }

    /// Whether regular or static columns are needed, so that rows must be decoded.
    pub fn needs_cells(&self) -> bool {
        let first = self.select.table.static_start();
        let of_selector = |selector: &Selector| match selector {
            Selector::Column(column)
            | Selector::Field(column, _)
            | Selector::Converted(_, column)
            | Selector::CountColumn(column)
            | Selector::ToJson(column)
            | Selector::WriteTime(column)
            | Selector::Ttl(column) => *column >= first,
            _ => false,
        };
        self.select.selectors.iter().any(of_selector) || self.filters.iter().any(|filter| filter.column >= first)
    }

    /// Takes a row if it passes the filters, and returns whether it does. LIMIT must not be reached, and the page must not be full.
    pub fn offer(&mut self, row: RowView<'_>) -> Result<bool> {
        let table = &*self.select.table;
        if !self.filters.iter().all(|filter| filter.matches(row.value(table, filter.column))) {
            return Ok(false);
        }
        if self.select.aggregate {
            for (count, selector) in self.counts.iter_mut().zip(&self.select.selectors) {
                *count += match selector {
                    Selector::CountColumn(column) => i64::from(row.value(table, *column).is_some()),
                    _ => 1,
                };
            }
            return Ok(true);
        }
        self.page_left = self.page_left.saturating_sub(1);
        if let Some(left) = &mut self.limit_left {
            *left = left.saturating_sub(1);
        }
        for selector in &self.select.selectors {
            put_selected(&mut self.rows.values, table, selector, row)?;
        }
        self.rows.count = self.rows.count.checked_add(1).ok_or_else(too_long)?;
        if self.rows.values.len() > LONGEST_ROWS {
            return Err(too_long());
        }
        Ok(true)
    }

    pub fn finish(mut self) -> Rows {
        if self.select.aggregate {
            let counts: Vec<[u8; 8]> = self.counts.iter().map(|count| count.to_be_bytes()).collect();
            self.rows.push(counts.iter().map(|count| Some(&count[..])));
        }
        self.rows
    }
}

fn too_long() -> CqlError {
    CqlError::Invalid(format!(
        "The rows of this answer would be longer than {} MiB: ask for smaller pages",
        LONGEST_ROWS / 1024 / 1024
    ))
}

fn put_selected(out: &mut Vec<u8>, table: &Table, selector: &Selector, row: RowView<'_>) -> Result<()> {
    let written = |column| row.cell(table, column).filter(|cell| cell.value.bytes().is_some());
    let value: Option<Cow<'_, [u8]>> = match selector {
        Selector::Column(column) => row.value(table, *column).map(Cow::Borrowed),
        Selector::Field(column, field) => {
            let user = table.columns.get(*column).and_then(|column| column.ty.user());
            let fields = user.zip(row.value(table, *column)).map(|(user, value)| user.fields(value));
            fields.and_then(|fields| fields.get(*field).copied().flatten()).map(Cow::Borrowed)
        }
        Selector::Converted(conversion, column) => {
            let value = table.columns.get(*column).zip(row.value(table, *column));
            value.and_then(|(column, value)| conversion.of(&column.ty, value)).map(Cow::Owned)
        }
        Selector::ToJson(column) => {
            let mut json = String::new();
            if let Some(definition) = table.columns.get(*column) {
                definition.ty.write_json(row.value(table, *column), &mut json).map_err(CqlError::Invalid)?;
            }
            Some(json.into_bytes().into())
        }
        Selector::Token => Some(token::token(row.key).to_be_bytes().to_vec().into()),
        Selector::WriteTime(column) => written(*column).map(|cell| cell.timestamp.to_be_bytes().to_vec().into()),
        Selector::Ttl(column) => written(*column)
            .filter(|cell| cell.until != FOREVER)
            .map(|cell| cell.until.saturating_sub(seconds()).to_be_bytes().to_vec().into()),
        Selector::Generated(generated) => Some(generated.bytes().into()),
        // The collector writes counts.
        Selector::CountRows | Selector::CountColumn(_) => None,
    };
    write::bytes(out, value.as_deref());
    Ok(())
}
