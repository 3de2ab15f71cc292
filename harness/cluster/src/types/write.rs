//! Appending the notations of the protocol's section 3 to a buffer.

/// `[short]`
#[inline]
pub fn short(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// `[int]`
#[inline]
pub fn int(out: &mut Vec<u8>, value: i32) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// `[long]`
#[inline]
pub fn long(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// `[string]`; one of more than 65,535 bytes is cut at a character.
pub fn string(out: &mut Vec<u8>, text: &str) {
    let mut len = text.len().min(usize::from(u16::MAX));
    while !text.is_char_boundary(len) {
        len -= 1;
    }
    short(out, len as u16);
    out.extend_from_slice(&text.as_bytes()[..len]);
}

/// `[long string]`
pub fn long_string(out: &mut Vec<u8>, text: &str) {
    int(out, text.len() as i32);
    out.extend_from_slice(text.as_bytes());
}

/// `[string list]`
pub fn string_list(out: &mut Vec<u8>, texts: &[&str]) {
    short(out, texts.len() as u16);
    for text in texts {
        string(out, text);
    }
}

/// `[bytes]`
#[inline]
pub fn bytes(out: &mut Vec<u8>, value: Option<&[u8]>) {
    match value {
        Some(value) => {
            int(out, value.len() as i32);
            out.extend_from_slice(value);
        }
        None => int(out, -1),
    }
}

/// `[short bytes]`, of at most 65,535 bytes.
pub fn short_bytes(out: &mut Vec<u8>, value: &[u8]) {
    let len = value.len().min(usize::from(u16::MAX));
    short(out, len as u16);
    out.extend_from_slice(&value[..len]);
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_string_too_long_for_its_length_is_cut_at_a_character() {
        let mut out = Vec::new();
        super::string(&mut out, &"é".repeat(40_000));
        assert_eq!(out.len(), 2 + 65_534);
        assert!(std::str::from_utf8(&out[2..]).is_ok());
    }
}
