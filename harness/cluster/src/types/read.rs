//! Reading the notations of the protocol's section 3.

use std::borrow::Cow;

use super::Value;

/// A body that is not what its opcode promises. The text names what could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub Cow<'static, str>);

impl Malformed {
    /// With a fixed text.
    pub const fn new(text: &'static str) -> Self {
        Malformed(Cow::Borrowed(text))
    }
}

/// The result of reading.
pub type Read<T> = Result<T, Malformed>;

/// A cursor over a body; every read fails when the body ends first.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    /// What has not been read.
    pub rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// At the start of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// `n` raw bytes.
    #[inline]
    pub fn take(&mut self, n: usize) -> Read<&'a [u8]> {
        match self.rest.split_at_checked(n) {
            Some((head, rest)) => {
                self.rest = rest;
                Ok(head)
            }
            None => Err(Malformed::new("The body ends before the value that it announces")),
        }
    }

    #[inline]
    fn chunk<const N: usize>(&mut self) -> Read<[u8; N]> {
        match self.rest.split_first_chunk::<N>() {
            Some((head, rest)) => {
                self.rest = rest;
                Ok(*head)
            }
            None => Err(Malformed::new("The body ends in the middle of a number")),
        }
    }

    /// `[byte]`
    #[inline]
    pub fn byte(&mut self) -> Read<u8> {
        Ok(self.chunk::<1>()?[0])
    }

    /// `[short]`
    #[inline]
    pub fn short(&mut self) -> Read<u16> {
        Ok(u16::from_be_bytes(self.chunk()?))
    }

    /// `[int]`
    #[inline]
    pub fn int(&mut self) -> Read<i32> {
        Ok(i32::from_be_bytes(self.chunk()?))
    }

    /// `[long]`
    #[inline]
    pub fn long(&mut self) -> Read<i64> {
        Ok(i64::from_be_bytes(self.chunk()?))
    }

    /// `[string]`
    pub fn string(&mut self) -> Read<&'a str> {
        let len = self.short()?;
        utf8(self.take(usize::from(len))?)
    }

    /// `[long string]`
    pub fn long_string(&mut self) -> Read<&'a str> {
        let len = usize::try_from(self.int()?).map_err(|_| Malformed::new("A long string has a negative length"))?;
        utf8(self.take(len)?)
    }

    /// `[string list]`
    pub fn string_list(&mut self) -> Read<Vec<&'a str>> {
        (0..self.short()?).map(|_| self.string()).collect()
    }

    /// `[string map]`
    pub fn string_map(&mut self) -> Read<Vec<(&'a str, &'a str)>> {
        (0..self.short()?).map(|_| Ok((self.string()?, self.string()?))).collect()
    }

    /// `[bytes]`: a negative length is null.
    #[inline]
    pub fn bytes(&mut self) -> Read<Option<&'a [u8]>> {
        match usize::try_from(self.int()?) {
            Ok(len) => self.take(len).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// `[short bytes]`
    #[inline]
    pub fn short_bytes(&mut self) -> Read<&'a [u8]> {
        let len = self.short()?;
        self.take(usize::from(len))
    }

    /// `[value]`: before version 4 every negative length is null; since then -2 is "not set", and lower is an error.
    #[inline]
    pub fn value(&mut self, version: u8) -> Read<Value<'a>> {
        match self.int()? {
            len @ 0.. => Ok(Value::Bytes(self.take(len as usize)?)),
            -1 => Ok(Value::Null),
            -2 if version >= 4 => Ok(Value::Unset),
            _ if version < 4 => Ok(Value::Null),
            len => Err(Malformed(format!("Invalid ByteBuf length {len}").into())),
        }
    }
}

fn utf8(bytes: &[u8]) -> Read<&str> {
    std::str::from_utf8(bytes).map_err(|_| Malformed::new("Cannot decode string as UTF8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_beyond_the_body_is_an_error_and_reads_nothing() {
        assert!(Reader::new(&[0x7F, 0xFF, 0xFF, 0xFF, 1]).bytes().is_err());
        assert!(Reader::new(&[0xFF, 0xFF, 1]).string().is_err());
        assert!(Reader::new(&[0xFF, 0xFF, 0xFF, 0xFF]).long_string().is_err());
        assert!(Reader::new(&[0, 1]).int().is_err());
        assert!(Reader::new(&[0xFF, 0xFF]).string_list().is_err());
    }

    #[test]
    fn not_set_is_known_from_version_4_on() {
        let unset = (-2i32).to_be_bytes();
        assert_eq!(Reader::new(&unset).value(4), Ok(Value::Unset));
        assert_eq!(Reader::new(&unset).value(3), Ok(Value::Null));
        assert!(Reader::new(&(-3i32).to_be_bytes()).value(4).is_err());
    }

    #[test]
    fn text_that_is_not_utf8_is_an_error() {
        assert!(Reader::new(&[0, 2, 0xC3, 0x28]).string().is_err());
    }
}
