//! Values bound to a statement's markers and read back from rows.

/// One CQL value, borrowed from the load generator when bound and from [`crate::Rows`] when read.
///
/// The variants are the types of native_protocol_v4.spec section 6 that scenarios use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value, of any type.
    Null,
    /// `boolean`
    Boolean(bool),
    /// `int`
    Int(i32),
    /// `bigint`
    Bigint(i64),
    /// `double`
    Double(f64),
    /// `timestamp`: milliseconds since the Unix epoch.
    Timestamp(i64),
    /// `uuid`: the sixteen bytes in network order.
    Uuid([u8; 16]),
    /// `text`
    Text(&'a str),
    /// `blob`
    Blob(&'a [u8]),
}

impl Value<'_> {
    /// The CQL name of the value's type, `null` for [`Value::Null`].
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Boolean(_) => "boolean",
            Value::Int(_) => "int",
            Value::Bigint(_) => "bigint",
            Value::Double(_) => "double",
            Value::Timestamp(_) => "timestamp",
            Value::Uuid(_) => "uuid",
            Value::Text(_) => "text",
            Value::Blob(_) => "blob",
        }
    }
}
