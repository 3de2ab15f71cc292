//! Password authentication: SASL PLAIN, as org.apache.cassandra.auth.PasswordAuthenticator.

use cqldyno_driver_api::Credentials;

use crate::error::{CqlError, Result};

pub const AUTHENTICATOR: &str = "org.apache.cassandra.auth.PasswordAuthenticator";

/// Checks the token of an AUTH_RESPONSE: an identity (ignored), the user and the password, with zero bytes between.
pub fn check(credentials: &Credentials, token: Option<&[u8]>) -> Result<()> {
    let mut parts = token.unwrap_or_default().splitn(3, |byte| *byte == 0);
    let (_, user, password) = (parts.next(), parts.next(), parts.next());
    let missing = |what: &str| CqlError::BadCredentials(format!("{what} must not be null"));
    let user = user.filter(|user| !user.is_empty()).ok_or_else(|| missing("Authentication ID"))?;
    let password = password.filter(|password| !password.is_empty()).ok_or_else(|| missing("Password"))?;
    if equal(user, credentials.user.as_bytes()) & equal(password, credentials.password.as_bytes()) {
        return Ok(());
    }
    let user = String::from_utf8_lossy(user);
    Err(CqlError::BadCredentials(format!("Provided username {user} and/or password are incorrect")))
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
        let credentials = Credentials { user: "ann".to_owned(), password: "secret".to_owned() };
        assert_eq!(check(&credentials, Some(b"\0ann\0secret")), Ok(()));
        assert_eq!(check(&credentials, Some(b"other\0ann\0secret")), Ok(()));
        for token in [&b"\0ann\0wrong!"[..], b"\0ann\0secret2", b"\0ann\0secre", b"\0bob\0secret", b"\0ann\0secret\0"] {
            let error = check(&credentials, Some(token)).unwrap_err();
            assert_eq!(error.code(), 0x0100);
            assert!(error.to_string().starts_with("Provided username "), "{error}");
            assert!(error.to_string().ends_with(" and/or password are incorrect"), "{error}");
        }
        for token in [None, Some(&b""[..]), Some(b"ann"), Some(b"\0ann"), Some(b"\0\0secret"), Some(b"\0ann\0")] {
            assert_eq!(check(&credentials, token).unwrap_err().code(), 0x0100);
        }
    }
}
