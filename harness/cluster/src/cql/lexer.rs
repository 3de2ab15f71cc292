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
        use TokenKind as T;
        self.skip_space_and_comments()?;
        let rest = self.rest();
        let (kind, length) = match rest.as_bytes() {
            [] => (T::End, 0),
            bytes if is_uuid(bytes) => (T::Literal(LiteralKind::Uuid), UUID_LEN),
            [b'\'', ..] => (T::Literal(LiteralKind::String), self.quoted('\'')?),
            [b'"', ..] => (T::QuotedName, self.quoted('"')?),
            [b'$', b'$', ..] => {
                let length = rest.get(2..).and_then(|rest| rest.find("$$")).map(|length| length + 4);
                let length = length.ok_or_else(|| self.error("mismatched character '<EOF>' expecting '$'"))?;
                (T::Literal(LiteralKind::String), length)
            }
            [b'0', b'x' | b'X', digits @ ..] => {
                (T::Literal(LiteralKind::Hex), 2 + count(digits, u8::is_ascii_hexdigit))
            }
            bytes @ [b'0'..=b'9', ..] => number(bytes),
            bytes @ [b'a'..=b'z' | b'A'..=b'Z', ..] => {
                (T::Word, count(bytes, |byte| byte.is_ascii_alphanumeric() || *byte == b'_'))
            }
            [b'<' | b'>' | b'!' | b'+' | b'-', b'=', ..] => (T::Symbol, 2),
            [first, ..] if b"()[]{}<>=,;.:?*+-/%".contains(first) => (T::Symbol, 1),
            _ => {
                let character = rest.chars().next().unwrap_or_default();
                return Err(self.error(&format!("no viable alternative at character '{character}'")));
            }
        };
        let at = self.at;
        self.at += length;
        Ok(Token { kind, text: self.text.get(at..self.at).unwrap_or_default(), at })
    }

    /// The length of what is in quotes here; a doubled quote stands for one within the text.
    fn quoted(&self, quote: char) -> Result<usize> {
        let bytes = self.rest().as_bytes();
        let mut at = 1;
        loop {
            at += count(bytes.get(at..).unwrap_or_default(), |byte| *byte != quote as u8) + 1;
            if at > bytes.len() {
                return Err(self.error(&format!("mismatched character '<EOF>' expecting '{quote}'")));
            }
            if bytes.get(at) != Some(&(quote as u8)) {
                return Ok(at);
            }
            at += 1;
        }
    }
}

fn number(bytes: &[u8]) -> (TokenKind, usize) {
    let digits_of = |bytes: &[u8]| count(bytes, u8::is_ascii_digit);
    let digits = digits_of(bytes);
    let fraction = match &bytes[digits..] {
        [b'.', rest @ ..] => digits_of(rest),
        _ => 0,
    };
    let mut length = digits + if fraction > 0 { 1 + fraction } else { 0 };
    let (sign, exponent) = match &bytes[length..] {
        [b'e' | b'E', b'+' | b'-', rest @ ..] => (2, digits_of(rest)),
        [b'e' | b'E', rest @ ..] => (1, digits_of(rest)),
        _ => (0, 0),
    };
    if exponent > 0 {
        length += sign + exponent;
    }
    let alphanumeric = count(bytes, u8::is_ascii_alphanumeric);
    let (kind, length) = match length {
        length if length > digits => (LiteralKind::Float, length),
        _ if alphanumeric > digits => (LiteralKind::Duration, alphanumeric),
        _ => (LiteralKind::Integer, digits),
    };
    (TokenKind::Literal(kind), length)
}

fn count(bytes: &[u8], is_in: impl Fn(&u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| is_in(byte)).count()
}

const UUID_LEN: usize = 36;

fn is_uuid(bytes: &[u8]) -> bool {
    bytes.get(..UUID_LEN).is_some_and(|candidate| {
        candidate.iter().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    })
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
