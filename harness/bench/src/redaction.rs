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
}
