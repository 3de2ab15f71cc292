//! The order of values: Cassandra's `AbstractType.compare`.

use std::cmp::Ordering;

use super::collection::Components;
use super::{CqlType, bignum, elements};

impl CqlType {
    /// Compares two valid serialised values in the type's natural order. Empty values come first.
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        if a.is_empty() || b.is_empty() {
            return a.len().cmp(&b.len());
        }
        match self {
            CqlType::Decimal => bignum::compare_decimal(a, b),
            CqlType::List(_) | CqlType::Set(_) | CqlType::Map(_) => compare_elements(a, b, self.elements()),
            CqlType::Tuple(types) => compare_tuple(a, b, types),
            CqlType::User(user) => compare_tuple(a, b, &user.types),
            CqlType::Vector(_) => {
                let mut orders = a.chunks(4).zip(b.chunks(4)).map(|(a, b)| CqlType::Float.compare(a, b));
                orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            }
            CqlType::Frozen(inner) => inner.compare(a, b),
            CqlType::Ascii
            | CqlType::Blob
            | CqlType::Boolean
            | CqlType::Date
            | CqlType::Duration
            | CqlType::Inet
            | CqlType::Text => a.cmp(b),
            _ => self.sortable(a).cmp(&self.sortable(b)),
        }
    }

    fn sortable(&self, value: &[u8]) -> Vec<u8> {
        let mut sortable = Vec::with_capacity(2 * value.len() + 8);
        self.put_sortable(value, &mut sortable);
        sortable
    }

    /// Appends a value of a scalar type in a form whose bytes are in the order of values and no prefix of another.
    pub(crate) fn put_sortable(&self, value: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        match self.unfrozen() {
            CqlType::Bigint
            | CqlType::Counter
            | CqlType::Int
            | CqlType::Smallint
            | CqlType::Tinyint
            | CqlType::Time
            | CqlType::Timestamp => {
                // Two's complement of equal length.
                out.extend_from_slice(value);
                out[start] ^= 0x80;
            }
            CqlType::Double | CqlType::Float => {
                // Java's compare: negative numbers in reverse, -0.0 below 0.0, NaN above all, whatever its sign.
                let float = |bytes: &[u8]| bytes.try_into().map(|bytes| f64::from(f32::from_be_bytes(bytes)));
                if value.try_into().map(f64::from_be_bytes).or_else(|_| float(value)).is_ok_and(f64::is_nan) {
                    out.resize(start + value.len(), 0xFF);
                } else if value[0] & 0x80 != 0 {
                    out.extend(value.iter().map(|byte| !byte));
                } else {
                    out.extend_from_slice(value);
                    out[start] ^= 0x80;
                }
            }
            CqlType::Uuid => {
                // UUIDType: the version, then for version 1 the time, then the bytes.
                out.push(value.get(6).map_or(0, |byte| byte >> 4));
                if out[start] == 1 {
                    put_uuid_time(out, value);
                }
                out.extend_from_slice(value);
            }
            CqlType::Timeuuid => {
                // TimeUUIDType: the time, then the rest as signed bytes.
                put_uuid_time(out, value);
                out.extend(value.get(8..).unwrap_or_default().iter().map(|byte| byte ^ 0x80));
            }
            CqlType::Varint => put_varint(out, value),
            // Date is unsigned days, boolean one byte; both are as long as all others of their type.
            CqlType::Boolean | CqlType::Date => out.extend_from_slice(value),
            // Text, blobs, addresses (of two lengths): unsigned bytes, the shorter first.
            _ => {
                for byte in value {
                    out.push(*byte);
                    if *byte == 0 {
                        out.push(0xFF);
                    }
                }
                out.extend_from_slice(&[0, 0]);
            }
        }
    }
}

fn put_uuid_time(out: &mut Vec<u8>, value: &[u8]) {
    if let Some([l0, l1, l2, l3, m0, m1, h0, h1, ..]) = value.get(..16) {
        out.extend_from_slice(&[h0 & 0x0F, *h1, *m0, *m1, *l0, *l1, *l2, *l3]);
    }
}

fn put_varint(out: &mut Vec<u8>, value: &[u8]) {
    let negative = value[0] & 0x80 != 0;
    let sign = if negative { 0xFF } else { 0 };
    let digits = &value[value.iter().take_while(|byte| **byte == sign).count()..];
    // The sign and the number of digits (fewer are nearer to zero), then the digits of two's complement.
    let len = (digits.len() as u32).to_be_bytes();
    out.push(u8::from(!negative));
    out.extend(len.iter().map(|byte| byte ^ sign));
    out.extend_from_slice(digits);
}

fn compare_elements(a: &[u8], b: &[u8], types: &[CqlType]) -> Ordering {
    let (mut left, mut right) = (elements(a), elements(b));
    for ty in types.iter().cycle() {
        let order = match (left.next(), right.next()) {
            (Some(a), Some(b)) => compare_nullable(ty, a, b),
            (a, b) => return a.is_some().cmp(&b.is_some()),
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

fn compare_tuple(a: &[u8], b: &[u8], types: &[CqlType]) -> Ordering {
    let (mut left, mut right) = (Components::new(a), Components::new(b));
    for ty in types {
        let a = left.next().and_then(Result::ok).flatten();
        let b = right.next().and_then(Result::ok).flatten();
        match compare_nullable(ty, a, b) {
            Ordering::Equal => {}
            order => return order,
        }
    }
    Ordering::Equal
}

fn compare_nullable(ty: &CqlType, a: Option<&[u8]>, b: Option<&[u8]>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => ty.compare(a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_by_value_and_empty_comes_first() {
        let order = |a: i64, b: i64| CqlType::Bigint.compare(&a.to_be_bytes(), &b.to_be_bytes());
        assert_eq!(order(-1, 1), Ordering::Less);
        assert_eq!(order(-2, -1), Ordering::Less);
        assert_eq!(order(300, 2), Ordering::Greater);
        assert_eq!(CqlType::Bigint.compare(b"", &(-5i64).to_be_bytes()), Ordering::Less);
        let order = |a: f64, b: f64| CqlType::Double.compare(&a.to_be_bytes(), &b.to_be_bytes());
        assert_eq!(order(-0.0, 0.0), Ordering::Less);
        assert_eq!(order(-1.5, -1.0), Ordering::Less);
        assert_eq!(order(f64::NAN, f64::INFINITY), Ordering::Greater);
        assert_eq!(order(f64::NAN, -f64::NAN), Ordering::Equal);
    }

    #[test]
    fn time_uuids_sort_by_time() {
        let earlier = [0xff, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let later = [0, 0, 0, 0, 0, 1, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(CqlType::Timeuuid.compare(&earlier, &later), Ordering::Less);
        assert_eq!(CqlType::Uuid.compare(&earlier, &later), Ordering::Less);
        let [mut negative, mut random] = [earlier; 2];
        negative[8] = 0x80;
        assert_eq!(CqlType::Timeuuid.compare(&negative, &earlier), Ordering::Less, "then by signed bytes");
        assert_eq!(CqlType::Uuid.compare(&negative, &earlier), Ordering::Greater, "then by unsigned ones");
        random[6] = 0x40;
        assert_eq!(CqlType::Uuid.compare(&later, &random), Ordering::Less, "first by version");
    }

    #[test]
    fn lists_sort_by_their_first_difference_then_by_length() {
        let list = CqlType::List(Box::new(CqlType::Tinyint));
        let value = |values: &[i8]| {
            let mut bytes = (values.len() as i32).to_be_bytes().to_vec();
            values.iter().for_each(|value| bytes.extend_from_slice(&[0, 0, 0, 1, *value as u8]));
            bytes
        };
        assert_eq!(list.compare(&value(&[1, 2]), &value(&[1, 3])), Ordering::Less);
        assert_eq!(list.compare(&value(&[1, -1]), &value(&[1])), Ordering::Greater);
        assert_eq!(list.compare(&value(&[1]), &value(&[1])), Ordering::Equal);
    }
}
