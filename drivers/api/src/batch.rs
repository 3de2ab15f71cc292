//! The values of a batch.

use crate::Value;

/// Rows of values for one statement, to be sent as one batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchRows<'a> {
    values: &'a [Value<'a>],
    width: usize,
    rows: usize,
    /// Whether the batch is to be a logged one.
    pub is_logged: bool,
}

impl<'a> BatchRows<'a> {
    /// `values` has those of `rows` rows in turn, as many for each; the rest is ignored.
    pub fn new(values: &'a [Value<'a>], rows: usize) -> BatchRows<'a> {
        BatchRows { values, width: values.len().checked_div(rows).unwrap_or_default(), rows, is_logged: false }
    }

    /// The same rows for a logged batch.
    #[must_use]
    pub fn logged(self) -> BatchRows<'a> {
        BatchRows { is_logged: true, ..self }
    }

    /// The number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The values of a row, in the order of the markers; none after the last row.
    #[inline]
    pub fn get(&self, row: usize) -> &'a [Value<'a>] {
        self.values.get(row * self.width..(row + 1) * self.width).unwrap_or_default()
    }

    /// All rows in turn.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [Value<'a>]> + Clone + use<'a> {
        let rows = *self;
        (0..self.rows).map(move |row| rows.get(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_divided_among_the_rows() {
        let values = [1, 2, 3, 4, 5, 6].map(Value::Int);
        let rows = BatchRows::new(&values, 3);
        assert_eq!(rows.len(), 3);
        assert_eq!(rows.get(1), [Value::Int(3), Value::Int(4)]);
        assert_eq!(rows.iter().map(<[_]>::len).collect::<Vec<_>>(), [2, 2, 2]);
        assert!(rows.get(3).is_empty());
        assert!(BatchRows::new(&[], 0).is_empty());
        assert_eq!(
            BatchRows::new(&[], 2).iter().collect::<Vec<_>>(),
            [&[] as &[Value<'_>]; 2],
            "a statement without markers"
        );
    }
}
