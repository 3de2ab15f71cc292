//! Integers and decimals of any size: `varint` is big-endian two's complement, `decimal` a scale and a varint.

use std::cmp::Ordering;

/// Above this size in bytes numbers are not turned into digits, which takes quadratic time.
pub(super) const MAX_DIGITS_SOURCE: usize = 1024;

/// The two's complement bytes without those that only repeat the sign.
fn trimmed(mut bytes: &[u8]) -> &[u8] {
    while let [first, second, ..] = bytes {
        if *first == (if second & 0x80 == 0 { 0 } else { 0xff }) {
            bytes = &bytes[1..];
        } else {
            break;
        }
    }
    bytes
}

fn is_negative(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|byte| byte & 0x80 != 0)
}

pub(super) fn compare_varint(a: &[u8], b: &[u8]) -> Ordering {
    let (a, b) = (trimmed(a), trimmed(b));
    is_negative(b).cmp(&is_negative(a)).then_with(|| {
        let by_length = a.len().cmp(&b.len());
        if is_negative(a) { by_length.reverse() } else { by_length }.then_with(|| a.cmp(b))
    })
}

pub(super) fn compare_decimal(a: &[u8], b: &[u8]) -> Ordering {
    let (Some((scale_a, a)), Some((scale_b, b))) = (split_decimal(a), split_decimal(b)) else { return a.cmp(b) };
    let sign = |bytes: &[u8]| match trimmed(bytes) {
        [] | [0] => 0,
        other if is_negative(other) => -1,
        _ => 1,
    };
    if sign(a) != sign(b) || sign(a) == 0 {
        return sign(a).cmp(&sign(b));
    }
    let (Some(digits_a), Some(digits_b)) = (digits(a), digits(b)) else {
        return compare_varint(a, b);
    };
    let (digits_a, digits_b) = (digits_a.trim_start_matches('-'), digits_b.trim_start_matches('-'));
    let exponent = |digits: &str, scale: i32| digits.len() as i64 - i64::from(scale);
    let order = exponent(digits_a, scale_a)
        .cmp(&exponent(digits_b, scale_b))
        .then_with(|| digits_a.trim_end_matches('0').cmp(digits_b.trim_end_matches('0')));
    if sign(a) < 0 { order.reverse() } else { order }
}

fn split_decimal(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let (scale, unscaled) = bytes.split_first_chunk::<4>()?;
    Some((i32::from_be_bytes(*scale), unscaled))
}

/// A varint in decimal; `None` when it is too long to be turned into digits.
pub(super) fn digits(bytes: &[u8]) -> Option<String> {
    if bytes.len() > MAX_DIGITS_SOURCE {
        return None;
    }
    let negative = is_negative(bytes);
    let mut magnitude = bytes.to_vec();
    if negative {
        let mut carry = true;
        for byte in magnitude.iter_mut().rev() {
            let (negated, overflow) = (!*byte).overflowing_add(u8::from(carry));
            (*byte, carry) = (negated, overflow);
        }
    }
    // Base 1,000,000,000, least significant first.
    let mut limbs = vec![0u32];
    for byte in magnitude {
        let mut carry = u64::from(byte);
        for limb in &mut limbs {
            let value = u64::from(*limb) * 256 + carry;
            (*limb, carry) = ((value % 1_000_000_000) as u32, value / 1_000_000_000);
        }
        if carry > 0 {
            limbs.push(carry as u32);
        }
    }
    let mut text = String::from(if negative { "-" } else { "" });
    let mut limbs = limbs.iter().rev();
    text.push_str(&limbs.next().map_or(String::new(), u32::to_string));
    limbs.for_each(|limb| text.push_str(&format!("{limb:09}")));
    Some(text)
}

/// A decimal as text, as Java's `BigDecimal.toString` has it; `None` when it is too long.
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

/// The shortest two's complement of a decimal integer; `None` when it is none or longer than 2,400 digits.
pub(super) fn parse_varint(text: &str) -> Option<Vec<u8>> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || digits.len() > 2400 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Base 256, least significant first.
    let mut bytes = vec![0u8];
    for digit in digits.bytes() {
        let mut carry = u16::from(digit - b'0');
        for byte in &mut bytes {
            let value = u16::from(*byte) * 10 + carry;
            (*byte, carry) = (value as u8, value >> 8);
        }
        if carry > 0 {
            bytes.push(carry as u8);
        }
    }
    bytes.push(0);
    if negative {
        let mut carry = true;
        for byte in &mut bytes {
            let (negated, overflow) = (!*byte).overflowing_add(u8::from(carry));
            (*byte, carry) = (negated, overflow);
        }
    }
    bytes.reverse();
    Some(trimmed(&bytes).to_vec())
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
            let order = compare_varint(&parse_varint(pair[0]).unwrap(), &parse_varint(pair[1]).unwrap());
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
