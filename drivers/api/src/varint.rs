//! The bytes of a `varint` (native_protocol_v4.spec section 6.21), of those that 64 bits hold.

/// A number in two's complement, most significant byte first, without the bytes that its sign implies.
pub fn shortest(bytes: &[u8; 8]) -> &[u8] {
    let implied =
        |pair: &[u8]| matches!(pair, [0, next] if next >> 7 == 0) || matches!(pair, [0xff, next] if next >> 7 == 1);
    let skipped = bytes.windows(2).take_while(|pair| implied(pair)).count();
    bytes.get(skipped..).unwrap_or(bytes)
}

/// The number with these bytes; `None` if there are none, or more than eight.
pub fn number(bytes: &[u8]) -> Option<i64> {
    let sign = if bytes.first()? >> 7 == 1 { -1 } else { 0 };
    (bytes.len() <= 8).then(|| bytes.iter().fold(sign, |number, byte| (number << 8) | i64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_from_their_shortest_form() {
        for shift in 0..63 {
            for value in [1i64 << shift, -(1 << shift), (1 << shift) - 1, !(1i64 << shift), i64::MIN, 0, -1] {
                assert_eq!(number(shortest(&value.to_be_bytes())), Some(value));
            }
        }
        assert_eq!((shortest(&127i64.to_be_bytes()), shortest(&128i64.to_be_bytes())), (&[127][..], &[0, 128][..]));
        assert_eq!(shortest(&(-128i64).to_be_bytes()), [128]);
        assert_eq!((number(&[]), number(&[0; 9])), (None, None));
    }
}
