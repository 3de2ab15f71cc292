//! The frame header (section 2).

use std::fmt;

use crate::error::CqlError;

/// Bytes of a header.
pub const HEADER_LEN: usize = 9;

/// The longest frame that is accepted, header included: Cassandra's `native_transport_max_frame_size`.
pub const MAX_FRAME_LEN: usize = 16 * 1024 * 1024;

/// Lowest protocol version served.
pub const LOWEST_VERSION: u8 = 3;

/// Greatest protocol version served.
pub const GREATEST_VERSION: u8 = 4;

/// Header flag: the body is compressed.
pub const FLAG_COMPRESSION: u8 = 0x01;
/// Header flag: the request asks for a trace; the answer's body starts with the id of one.
pub const FLAG_TRACING: u8 = 0x02;
/// Header flag: the body starts with a custom payload.
pub const FLAG_CUSTOM_PAYLOAD: u8 = 0x04;
/// Header flag: the body starts with warnings.
pub const FLAG_WARNING: u8 = 0x08;

/// The stream of what the server sends unasked.
pub const EVENT_STREAM: i16 = -1;

macro_rules! opcodes {
    ($($name:ident = $byte:literal $text:literal)*) => {
        /// What a frame is (section 2.4).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Opcode {
            $(#[doc = $text] $name = $byte,)*
        }

        impl Opcode {
            /// Every opcode by number, with the specification's name for it.
            pub const ALL: &[(Opcode, &str)] = &[$((Opcode::$name, $text)),*];
        }
    };
}

opcodes! {
    Error = 0x00 "ERROR"
    Startup = 0x01 "STARTUP"
    Ready = 0x02 "READY"
    Authenticate = 0x03 "AUTHENTICATE"
    Options = 0x05 "OPTIONS"
    Supported = 0x06 "SUPPORTED"
    Query = 0x07 "QUERY"
    Result = 0x08 "RESULT"
    Prepare = 0x09 "PREPARE"
    Execute = 0x0A "EXECUTE"
    Register = 0x0B "REGISTER"
    Event = 0x0C "EVENT"
    Batch = 0x0D "BATCH"
    AuthChallenge = 0x0E "AUTH_CHALLENGE"
    AuthResponse = 0x0F "AUTH_RESPONSE"
    AuthSuccess = 0x10 "AUTH_SUCCESS"
}

impl Opcode {
    /// The opcode of a number, if there is one.
    pub fn from_byte(byte: u8) -> Option<Opcode> {
        Opcode::ALL.iter().find(|(opcode, _)| *opcode as u8 == byte).map(|(opcode, _)| *opcode)
    }

    /// Whether clients send it.
    pub fn is_request(self) -> bool {
        use Opcode as O;
        matches!(
            self,
            O::Startup | O::Options | O::Query | O::Prepare | O::Execute | O::Register | O::Batch | O::AuthResponse
        )
    }

    /// Whether a client may ask for a trace of it; in other requests the flag means nothing.
    pub fn is_traceable(self) -> bool {
        matches!(self, Opcode::Query | Opcode::Prepare | Opcode::Execute | Opcode::Batch)
    }

    /// The name as the specification writes it.
    pub fn name(self) -> &'static str {
        Opcode::ALL.iter().find(|(opcode, _)| *opcode == self).map_or("", |row| row.1)
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The header of a request frame with an acceptable version and length. The opcode may be unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// 3 or 4.
    pub version: u8,
    /// Flags of section 2.2.
    pub flags: u8,
    /// Chosen by the client, echoed.
    pub stream: i16,
    /// A number of [`Opcode`], or not.
    pub opcode: u8,
    /// Bytes of the body.
    pub length: usize,
}

/// A header that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Another protocol version. Drivers look for this text when they look for a version to fall back to.
    #[error(
        "Invalid or unsupported protocol version ({version}); the lowest supported version is {LOWEST_VERSION} and \
         the greatest is {GREATEST_VERSION}"
    )]
    Version {
        /// The client's version.
        version: u8,
    },
    /// A response, sent to a server.
    #[error("Wrong protocol direction: a request was expected, and the version byte {byte:#04x} is a response's")]
    Direction {
        /// The version byte.
        byte: u8,
        /// Where the answer goes.
        stream: i16,
    },
    /// A frame above [`MAX_FRAME_LEN`]. The connection can go on after it.
    #[error("Request is too big: length {length} exceeds maximum allowed length {MAX_FRAME_LEN}.")]
    Length {
        /// Bytes of header and body.
        length: u64,
        /// The version, which is fine.
        version: u8,
        /// Where the answer goes.
        stream: i16,
    },
}

impl HeaderError {
    /// The version to answer in, and the stream to answer on. For an unknown version it is 0, as in Cassandra: its header may have
    /// another form.
    pub fn place(&self) -> (u8, i16) {
        match self {
            HeaderError::Version { .. } => (GREATEST_VERSION, 0),
            HeaderError::Direction { stream, .. } => (GREATEST_VERSION, *stream),
            HeaderError::Length { version, stream, .. } => (*version, *stream),
        }
    }
}

impl From<HeaderError> for CqlError {
    fn from(error: HeaderError) -> Self {
        match error {
            HeaderError::Length { .. } => CqlError::Invalid(error.to_string()),
            _ => CqlError::Protocol(error.to_string()),
        }
    }
}

impl Header {
    /// Reads the header at the start of `bytes`; `None` while it is incomplete. The first byte is enough to refuse a
    /// version, whose header may be shorter.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Option<Header>, HeaderError> {
        let Some(head) = bytes.first_chunk::<HEADER_LEN>() else {
            return bytes.first().map_or(Ok(()), |byte| Header::check_version(*byte)).map(|()| None);
        };
        let [version, flags, s0, s1, opcode, l0, l1, l2, l3] = *head;
        let stream = i16::from_be_bytes([s0, s1]);
        if !(LOWEST_VERSION..=GREATEST_VERSION).contains(&version) {
            Header::check_version(version)?;
            return Err(HeaderError::Direction { byte: version, stream });
        }
        let length = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
        if length > MAX_FRAME_LEN - HEADER_LEN {
            return Err(HeaderError::Length { length: (length + HEADER_LEN) as u64, version, stream });
        }
        Ok(Some(Header { version, flags, stream, opcode, length }))
    }

    fn check_version(byte: u8) -> Result<(), HeaderError> {
        match byte & 0x7F {
            LOWEST_VERSION..=GREATEST_VERSION => Ok(()),
            version => Err(HeaderError::Version { version: if byte & 0x80 == 0 { version } else { byte } }),
        }
    }

    /// The header as bytes, for a request (`response` false) or a response.
    pub fn encode(&self, response: bool) -> [u8; HEADER_LEN] {
        let [s0, s1] = self.stream.to_be_bytes();
        let [l0, l1, l2, l3] = (self.length as u32).to_be_bytes();
        [self.version | if response { 0x80 } else { 0 }, self.flags, s0, s1, self.opcode, l0, l1, l2, l3]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_a_round_trip() {
        let header = Header { version: 4, flags: 2, stream: -7, opcode: 0x0A, length: 77 };
        assert_eq!(Header::parse(&header.encode(false)), Ok(Some(header)));
    }

    #[test]
    fn half_a_header_is_not_an_error() {
        let bytes = Header { version: 3, flags: 0, stream: 1, opcode: 5, length: 0 }.encode(false);
        for len in 0..HEADER_LEN {
            assert_eq!(Header::parse(&bytes[..len]), Ok(None));
        }
    }

    #[test]
    fn versions_other_than_3_and_4_are_refused_at_their_first_byte_with_the_text_that_drivers_look_for() {
        for version in [0u8, 1, 2, 5, 6, 0x41, 0x42] {
            for len in [1, 8, 9] {
                let error = Header::parse(&[version, 0, 0, 9, 5, 0, 0, 0, 0][..len]).unwrap_err();
                assert_eq!((error.place(), CqlError::from(error).code()), ((4, 0), 0x000A));
                let text = format!(
                    "Invalid or unsupported protocol version ({version}); the lowest supported version is 3 and the greatest is 4"
                );
                assert_eq!(error.to_string(), text);
            }
        }
    }

    #[test]
    fn a_frame_above_16_mib_is_refused_because_of_its_header() {
        let header = |length: u32| {
            let mut bytes = Header { version: 4, flags: 0, stream: 2, opcode: 7, length: 0 }.encode(false);
            bytes[5..].copy_from_slice(&length.to_be_bytes());
            bytes
        };
        let longest = (MAX_FRAME_LEN - HEADER_LEN) as u32;
        assert!(Header::parse(&header(longest)).is_ok());
        for length in [longest + 1, u32::MAX] {
            let error = Header::parse(&header(length)).unwrap_err();
            let total = u64::from(length) + 9;
            assert_eq!(error, HeaderError::Length { length: total, version: 4, stream: 2 });
            assert_eq!(
                error.to_string(),
                format!("Request is too big: length {total} exceeds maximum allowed length 16777216.")
            );
            assert_eq!(CqlError::from(error).code(), 0x2200);
        }
    }

    #[test]
    fn a_response_sent_to_the_server_is_refused() {
        let bytes = Header { version: 4, flags: 0, stream: 2, opcode: 8, length: 0 }.encode(true);
        assert!(matches!(Header::parse(&bytes), Err(HeaderError::Direction { byte: 0x84, stream: 2 })));
    }
}
