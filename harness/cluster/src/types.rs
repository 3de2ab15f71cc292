//! CQL's types: their ids on the wire, their names, and what a serialised value may look like.

/// A CQL type (native_protocol_v4.spec section 4.2.5.2, `[option]`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CqlType {
    /// `ascii`
    Ascii,
    /// `bigint`
    Bigint,
    /// `blob`
    Blob,
    /// `boolean`
    Boolean,
    /// `counter`
    Counter,
    /// `date`
    Date,
    /// `decimal`
    Decimal,
    /// `double`
    Double,
    /// `duration`
    Duration,
    /// `float`
    Float,
    /// `inet`
    Inet,
    /// `int`
    Int,
    /// `smallint`
    Smallint,
    /// `text`, `varchar`
    Text,
    /// `time`
    Time,
    /// `timestamp`
    Timestamp,
    /// `timeuuid`
    Timeuuid,
    /// `tinyint`
    Tinyint,
    /// `uuid`
    Uuid,
    /// `varint`
    Varint,
    /// `list<element>`
    List(Box<CqlType>),
    /// `set<element>`
    Set(Box<CqlType>),
    /// `map<key, value>`
    Map(Box<(CqlType, CqlType)>),
    /// `tuple<...>`
    Tuple(Vec<CqlType>),
    /// `frozen<...>` of a collection; tuples are frozen by themselves.
    Frozen(Box<CqlType>),
}
