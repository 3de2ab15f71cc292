//! Integers and decimals of any size: `varint` is big-endian two's complement, `decimal` a scale and a varint.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

/// Longer numbers, in bytes, are not turned into digits: that takes quadratic time.
const MAX_DIGITS_SOURCE: usize = 1024;

pub(super) fn compare_decimal(a: &[u8], b: &[u8]) -> Ordering {
    let (Some((scale_a, a)), Some((scale_b, b))) = (split_decimal(a), split_decimal(b)) else { return a.cmp(b) };
    let sign = |bytes: &[u8]| BigInt::from_signed_bytes_be(bytes).sign();
    if sign(a) != sign(b) || sign(a) == Sign::NoSign {
        return sign(a).cmp(&sign(b));
    }
    let (Some(digits_a), Some(digits_b)) = (digits(a), digits(b)) else {
        return BigInt::from_signed_bytes_be(a).cmp(&BigInt::from_signed_bytes_be(b));
    };
    let (digits_a, digits_b) = (digits_a.trim_start_matches('-'), digits_b.trim_start_matches('-'));
    let exponent = |digits: &str, scale: i32| digits.len() as i64 - i64::from(scale);
    let order = exponent(digits_a, scale_a)
        .cmp(&exponent(digits_b, scale_b))
        .then_with(|| digits_a.trim_end_matches('0').cmp(digits_b.trim_end_matches('0')));
    if sign(a) == Sign::Minus { order.reverse() } else { order }
}

fn split_decimal(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let (scale, unscaled) = bytes.split_first_chunk::<4>()?;
    Some((i32::from_be_bytes(*scale), unscaled))
}

/// A varint in decimal; `None` when it is too long to be turned into digits.
pub(super) fn digits(bytes: &[u8]) -> Option<String> {
    (bytes.len() <= MAX_DIGITS_SOURCE).then(|| BigInt::from_signed_bytes_be(bytes).to_string())
}

/// A decimal as Java's `BigDecimal.toString` writes it; `None` when it is too long.
pub(super) fn decimal_text(bytes: &[u8]) -> Option<String> {
    let (scale, unscaled) = split_decimal(bytes)?;
    let digits = digits(unscaled)?;
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.as_str()), |rest| ("-", rest));
    if scale == 0 {
        return Some(format!("{sign}{digits}"));
    }
    let exponent = digits.len() as i64 - 1 - i64::from(scale);
    if scale > 0 && exponent >= -6 {
        let scale = scale as usize;
        let padded = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = padded.split_at(padded.len() - scale);
        return Some(format!("{sign}{whole}.{fraction}"));
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    Some(format!("{sign}{first}{point}{rest}E{exponent:+}"))
}

/// The shortest two's complement of a decimal integer of at most 2,400 digits.
pub(super) fn parse_varint(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.len() > 2400 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse::<BigInt>().ok().map(|number| number.to_signed_bytes_be())
}

/// A decimal from text such as `-1.5` or `2E10`.
pub(super) fn parse_decimal(text: &str) -> Option<Vec<u8>> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    let unscaled = parse_varint(&format!("{whole}{fraction}"))?;
    Some([&scale.to_be_bytes()[..], &unscaled].concat())
}

#[cfg(test)]
mod tests {
    use super::super::CqlType;
    use super::*;

    #[test]
    fn integers_go_to_bytes_and_back() {
        for (text, bytes) in [
            ("0", &[0][..]),
            ("127", &[127]),
            ("128", &[0, 128]),
            ("-1", &[255]),
            ("-128", &[128]),
            ("-129", &[255, 127]),
            ("123456789012345678901234567890", &[1, 142, 233, 15, 246, 195, 115, 224, 238, 78, 63, 10, 210]),
        ] {
            assert_eq!(parse_varint(text).as_deref(), Some(bytes), "{text}");
            assert_eq!(digits(bytes).as_deref(), Some(text), "{text}");
        }
        assert_eq!(parse_varint("12a"), None);
        assert_eq!(digits(&[0; MAX_DIGITS_SOURCE + 1]), None);
    }

    #[test]
    fn decimals_go_to_bytes_and_back() {
        for text in ["1.50", "-0.001", "12", "1E+10", "-1.5E+3", "1E-10", "0.0"] {
            let bytes = parse_decimal(text).unwrap();
            assert_eq!(decimal_text(&bytes).as_deref(), Some(text), "{text}");
        }
    }

    #[test]
    fn numbers_sort_by_value() {
        let sorted = ["-1000", "-129", "-128", "-1", "0", "1", "127", "128", "256", "70000"];
        for pair in sorted.windows(2) {
            let order = CqlType::Varint.compare(&parse_varint(pair[0]).unwrap(), &parse_varint(pair[1]).unwrap());
            assert_eq!(order, Ordering::Less, "{pair:?}");
        }
        let sorted = ["-1E+3", "-999.9", "-0.5", "0", "1E-9", "0.5", "0.50001", "10", "10.01", "1E+2"];
        for pair in sorted.windows(2) {
            let order = compare_decimal(&parse_decimal(pair[0]).unwrap(), &parse_decimal(pair[1]).unwrap());
            assert_eq!(order, Ordering::Less, "{pair:?}");
        }
        assert_eq!(compare_decimal(&parse_decimal("1.0").unwrap(), &parse_decimal("1").unwrap()), Ordering::Equal);
    }
}
