//! Password authentication: SASL PLAIN, as org.apache.cassandra.auth.PasswordAuthenticator.

use std::fmt;

use crate::error::{CqlError, Result};

pub const AUTHENTICATOR: &str = "org.apache.cassandra.auth.PasswordAuthenticator";

/// The user and password of a node. Neither is ever shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    user: String,
    password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(hidden)")
    }
}

impl Credentials {
    /// The only user and its password.
    pub fn new(user: impl Into<String>, password: impl Into<String>) -> Self {
        Credentials { user: user.into(), password: password.into() }
    }

    /// Checks the token of an AUTH_RESPONSE: an identity (ignored), the user and the password, with zero bytes between.
    pub fn check(&self, token: Option<&[u8]>) -> Result<()> {
        let mut parts = token.unwrap_or_default().splitn(3, |byte| *byte == 0);
        let (_, user, password) = (parts.next(), parts.next(), parts.next());
        let missing = |what: &str| CqlError::BadCredentials(format!("{what} must not be null"));
        let user = user.filter(|user| !user.is_empty()).ok_or_else(|| missing("Authentication ID"))?;
        let password = password.filter(|password| !password.is_empty()).ok_or_else(|| missing("Password"))?;
        if equal(user, self.user.as_bytes()) & equal(password, self.password.as_bytes()) {
            return Ok(());
        }
        let user = String::from_utf8_lossy(user);
        Err(CqlError::BadCredentials(format!("Provided username {user} and/or password are incorrect")))
    }
}

/// Whether two strings are equal, in a time that depends on the given length only.
fn equal(given: &[u8], expected: &[u8]) -> bool {
    let expected_at = |at: usize| expected.get(at).copied().unwrap_or(0);
    let differences = given.iter().enumerate().fold(0u8, |sum, (at, byte)| sum | (byte ^ expected_at(at)));
    std::hint::black_box(differences) == 0 && given.len() == expected.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_user_with_the_right_password_is_let_in() {
        let credentials = Credentials::new("ann", "secret");
        assert_eq!(credentials.check(Some(b"\0ann\0secret")), Ok(()));
        assert_eq!(credentials.check(Some(b"other\0ann\0secret")), Ok(()));
        for token in [&b"\0ann\0wrong!"[..], b"\0ann\0secret2", b"\0ann\0secre", b"\0bob\0secret", b"\0ann\0secret\0"] {
            let error = credentials.check(Some(token)).unwrap_err();
            assert_eq!(error.code(), 0x0100);
            assert!(error.to_string().starts_with("Provided username "), "{error}");
            assert!(error.to_string().ends_with(" and/or password are incorrect"), "{error}");
        }
        for token in [None, Some(&b""[..]), Some(b"ann"), Some(b"\0ann"), Some(b"\0\0secret"), Some(b"\0ann\0")] {
            assert_eq!(credentials.check(token).unwrap_err().code(), 0x0100);
        }
    }

    #[test]
    fn credentials_are_never_shown() {
        assert_eq!(format!("{:?}", Credentials::new("ann", "secret")), "Credentials(hidden)");
    }
}
