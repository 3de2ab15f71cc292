//! Text to words.

use crate::error::{CqlError, Result};
use crate::types::LiteralKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    Word,
    QuotedName,
    /// A constant without its sign. All that look like one are of a kind but booleans, NaN and infinity.
    Literal(LiteralKind),
    /// Everything else: `(`, `<=`, `?` and so on.
    Symbol,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    pub kind: TokenKind,
    /// How it is written, with its quotes.
    pub text: &'a str,
    pub at: usize,
}

/// `line 1:7`, lines from 1 and characters from 0, as ANTLR counts.
pub(super) fn position(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count());
    format!("line {line}:{column}")
}

/// Splits a statement into its words. After the last one, [`TokenKind::End`] comes again and again.
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        Lexer { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn error(&self, what: &str) -> CqlError {
        CqlError::Syntax(format!("{} {what}", position(self.text, self.at)))
    }

    fn take(&mut self, kind: TokenKind, length: usize) -> Token<'a> {
        let at = self.at;
        self.at += length;
        Token { kind, text: self.text.get(at..self.at).unwrap_or_default(), at }
    }

    fn skip_space_and_comments(&mut self) -> Result<()> {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            let rest = self.rest();
            if rest.starts_with("--") || rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.at += rest.find("*/").ok_or_else(|| self.error("the comment does not end"))? + 2;
            } else {
                return Ok(());
            }
        }
    }

    /// The next word. A character that starts no word, and a string or comment without an end, is a syntax error.
    pub fn next_token(&mut self) -> Result<Token<'a>> {
        self.skip_space_and_comments()?;
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let Some(first) = bytes.first() else { return Ok(self.take(TokenKind::End, 0)) };
        if let Some(length) = uuid_length(bytes) {
            return Ok(self.take(TokenKind::Literal(LiteralKind::Uuid), length));
        }
        match first {
            b'\'' => self.quoted(TokenKind::Literal(LiteralKind::String), '\''),
            b'"' => self.quoted(TokenKind::QuotedName, '"'),
            b'$' if rest.starts_with("$$") => {
                let length = rest.get(2..).and_then(|rest| rest.find("$$")).map(|length| length + 4);
                let length = length.ok_or_else(|| self.error("mismatched character '<EOF>' expecting '$'"))?;
                Ok(self.take(TokenKind::Literal(LiteralKind::String), length))
            }
            b'0'..=b'9' => Ok(self.number(bytes)),
            b'a'..=b'z' | b'A'..=b'Z' => {
                let length = count(bytes, |byte| byte.is_ascii_alphanumeric() || *byte == b'_');
                Ok(self.take(TokenKind::Word, length))
            }
            _ => {
                let two = ["<=", ">=", "!=", "+=", "-="].iter().any(|symbol| rest.starts_with(symbol));
                if two {
                    Ok(self.take(TokenKind::Symbol, 2))
                } else if b"()[]{}<>=,;.:?*+-/%".contains(first) {
                    Ok(self.take(TokenKind::Symbol, 1))
                } else {
                    let character = rest.chars().next().unwrap_or_default();
                    Err(self.error(&format!("no viable alternative at character '{character}'")))
                }
            }
        }
    }

    fn quoted(&mut self, kind: TokenKind, quote: char) -> Result<Token<'a>> {
        let bytes = self.rest().as_bytes();
        let mut at = 1;
        loop {
            at += count(bytes.get(at..).unwrap_or_default(), |byte| *byte != quote as u8) + 1;
            if at > bytes.len() {
                return Err(self.error(&format!("mismatched character '<EOF>' expecting '{quote}'")));
            }
            // A doubled quote stands for one within the text.
            if bytes.get(at) != Some(&(quote as u8)) {
                return Ok(self.take(kind, at));
            }
            at += 1;
        }
    }

    fn number(&mut self, bytes: &'a [u8]) -> Token<'a> {
        if bytes.len() > 1 && bytes[0] == b'0' && (bytes[1] | 0x20) == b'x' {
            let digits = count(&bytes[2..], u8::is_ascii_hexdigit);
            return self.take(TokenKind::Literal(LiteralKind::Hex), 2 + digits);
        }
        let digits = count(bytes, u8::is_ascii_digit);
        let mut length = digits;
        if bytes.get(length) == Some(&b'.') && bytes.get(length + 1).is_some_and(u8::is_ascii_digit) {
            length += 1 + count(&bytes[length + 1..], u8::is_ascii_digit);
        }
        if bytes.get(length).is_some_and(|byte| byte | 0x20 == b'e') {
            let sign = usize::from(bytes.get(length + 1).is_some_and(|byte| b"+-".contains(byte)));
            let exponent = count(bytes.get(length + 1 + sign..).unwrap_or_default(), u8::is_ascii_digit);
            if exponent > 0 {
                length += 1 + sign + exponent;
            }
        }
        if length > digits {
            return self.take(TokenKind::Literal(LiteralKind::Float), length);
        }
        let alphanumeric = count(bytes, u8::is_ascii_alphanumeric);
        if alphanumeric > digits {
            return self.take(TokenKind::Literal(LiteralKind::Duration), alphanumeric);
        }
        self.take(TokenKind::Literal(LiteralKind::Integer), digits)
    }
}

fn count(bytes: &[u8], is_in: impl Fn(&u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| is_in(byte)).count()
}

fn uuid_length(bytes: &[u8]) -> Option<usize> {
    let candidate = bytes.get(..36)?;
    let is_uuid = candidate.iter().enumerate().all(|(index, byte)| match index {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    is_uuid.then_some(36)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Result<Vec<(TokenKind, &str)>> {
        let mut lexer = Lexer::new(text);
        let mut words = Vec::new();
        loop {
            let token = lexer.next_token()?;
            words.push((token.kind, token.text));
            if token.kind == TokenKind::End {
                return Ok(words);
            }
        }
    }

    fn words(text: &str) -> Vec<(TokenKind, &str)> {
        tokens(text).unwrap()
    }

    #[test]
    fn every_kind_of_word_is_distinguished() {
        use TokenKind as K;
        assert_eq!(
            words("a_1 \"B\"\"c\" 'it''s' $$a'b$$ 42 -1.5e-3 0xCAFE 1h30m <= ? 123e4567-e89b-12d3-a456-426614174000;"),
            [
                (K::Word, "a_1"),
                (K::QuotedName, "\"B\"\"c\""),
                (K::Literal(LiteralKind::String), "'it''s'"),
                (K::Literal(LiteralKind::String), "$$a'b$$"),
                (K::Literal(LiteralKind::Integer), "42"),
                (K::Symbol, "-"),
                (K::Literal(LiteralKind::Float), "1.5e-3"),
                (K::Literal(LiteralKind::Hex), "0xCAFE"),
                (K::Literal(LiteralKind::Duration), "1h30m"),
                (K::Symbol, "<="),
                (K::Symbol, "?"),
                (K::Literal(LiteralKind::Uuid), "123e4567-e89b-12d3-a456-426614174000"),
                (K::Symbol, ";"),
                (K::End, ""),
            ]
        );
    }

    #[test]
    fn comments_and_space_are_skipped() {
        let kinds = words("a -- x\n b // y\n/* z\n */ c").into_iter().map(|word| word.1).collect::<Vec<_>>();
        assert_eq!(kinds, ["a", "b", "c", ""]);
    }

    #[test]
    fn what_does_not_end_is_refused_with_its_place() {
        for (text, error) in [
            ("a\n 'b", "line 2:1 mismatched character '<EOF>' expecting '''"),
            ("\"b", "line 1:0 mismatched character '<EOF>' expecting '\"'"),
            ("$$b$", "line 1:0 mismatched character '<EOF>' expecting '$'"),
            ("/* b", "line 1:0 the comment does not end"),
            ("é", "line 1:0 no viable alternative at character 'é'"),
            ("''''", ""),
            ("'", "line 1:0 mismatched character '<EOF>' expecting '''"),
        ] {
            assert_eq!(tokens(text).err().map_or(String::new(), |error| error.to_string()), error, "{text}");
        }
    }
}
