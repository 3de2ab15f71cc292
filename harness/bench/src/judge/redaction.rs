//! Keeps the password out of whatever a worker prints: its log, its messages, its errors.

const MASK: &str = "***";

/// Replaces the password wherever it appears.
#[derive(Clone, Default)]
pub struct Redaction {
    /// The password as it is and as JSON writes it, the longer one first.
    forms: Vec<String>,
}

impl std::fmt::Debug for Redaction {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Redaction(..)")
    }
}

impl Redaction {
    /// Keeps `password` out; an empty one or none leaves every text as it is.
    pub fn of(password: Option<&str>) -> Redaction {
        let mut forms = Vec::new();
        if let Some(password) = password.filter(|password| !password.is_empty()) {
            let quoted = serde_json::Value::from(password).to_string();
            forms.extend(quoted.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).map(str::to_owned));
            forms.push(password.to_owned());
        }
        Redaction { forms }
    }

    /// The text without the password.
    pub fn apply(&self, text: &str) -> String {
        self.forms.iter().fold(text.to_owned(), |text, form| text.replace(form, MASK))
    }

    /// The same for bytes of which more may follow: what may be the beginning of a password is left in `bytes` for the next
    /// time, everything before it comes back. With `is_last` nothing is left.
    pub fn take(&self, bytes: &mut Vec<u8>, is_last: bool) -> Vec<u8> {
        if self.forms.is_empty() {
            return std::mem::take(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len());
        let mut rest = bytes.as_slice();
        while let Some((first, behind)) = rest.split_first() {
            if let Some(behind) = self.forms.iter().find_map(|form| rest.strip_prefix(form.as_bytes())) {
                out.extend_from_slice(MASK.as_bytes());
                rest = behind;
            } else if !is_last && self.forms.iter().any(|form| form.as_bytes().starts_with(rest)) {
                break;
            } else {
                out.push(*first);
                rest = behind;
            }
        }
        *bytes = rest.to_vec();
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_disappears_as_it_is_and_as_json_writes_it() {
        let redaction = Redaction::of(Some("s\"3\\cret"));
        assert_eq!(redaction.apply("it is s\"3\\cret, or \"s\\\"3\\\\cret\""), "it is ***, or \"***\"");
        assert_eq!(Redaction::of(None).apply("as it is"), "as it is");
        assert_eq!(Redaction::of(Some("")).apply("as it is"), "as it is");
        assert_eq!(format!("{redaction:?}"), "Redaction(..)");
    }

    #[test]
    fn a_password_that_comes_in_two_parts_disappears_wherever_it_is_cut() {
        let redaction = Redaction::of(Some("sés\"am"));
        let text = "sé it is sés\"am, or \"sés\\\"am\", sés".as_bytes();
        for cut in 0..=text.len() {
            let mut bytes = text[..cut].to_vec();
            let mut out = redaction.take(&mut bytes, false);
            bytes.extend_from_slice(&text[cut..]);
            out.extend(redaction.take(&mut bytes, true));
            assert_eq!(String::from_utf8_lossy(&out), "sé it is ***, or \"***\", sés", "cut at {cut}");
            assert!(bytes.is_empty());
        }
        let mut bytes = b"as it is".to_vec();
        assert_eq!(Redaction::default().take(&mut bytes, false), b"as it is");
    }
}
