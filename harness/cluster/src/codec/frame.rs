//! The frame header (section 2).

use std::fmt;

/// Bytes of a header.
pub const HEADER_LEN: usize = 9;

/// The longest body that is accepted: 16 MiB, Cassandra's `native_transport_max_frame_size`.
pub const MAX_BODY_LEN: usize = 16 * 1024 * 1024;

/// Lowest protocol version served.
pub const LOWEST_VERSION: u8 = 3;

/// Greatest protocol version served.
pub const GREATEST_VERSION: u8 = 4;

/// Header flag: the body is compressed.
pub const FLAG_COMPRESSION: u8 = 0x01;
/// Header flag: tracing.
pub const FLAG_TRACING: u8 = 0x02;
/// Header flag: the body starts with a custom payload.
pub const FLAG_CUSTOM_PAYLOAD: u8 = 0x04;
/// Header flag: the body starts with warnings.
pub const FLAG_WARNING: u8 = 0x08;

/// The stream of what the server sends unasked.
pub const EVENT_STREAM: i16 = -1;

/// What a frame is (section 2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Opcode {
    /// ERROR, an answer.
    Error = 0x00,
    /// STARTUP, a request.
    Startup = 0x01,
    /// READY, an answer.
    Ready = 0x02,
    /// AUTHENTICATE, an answer.
    Authenticate = 0x03,
    /// OPTIONS, a request.
    Options = 0x05,
    /// SUPPORTED, an answer.
    Supported = 0x06,
    /// QUERY, a request.
    Query = 0x07,
    /// RESULT, an answer.
    Result = 0x08,
    /// PREPARE, a request.
    Prepare = 0x09,
    /// EXECUTE, a request.
    Execute = 0x0A,
    /// REGISTER, a request.
    Register = 0x0B,
    /// EVENT, sent unasked.
    Event = 0x0C,
    /// BATCH, a request.
    Batch = 0x0D,
    /// AUTH_CHALLENGE, an answer.
    AuthChallenge = 0x0E,
    /// AUTH_RESPONSE, a request.
    AuthResponse = 0x0F,
    /// AUTH_SUCCESS, an answer.
    AuthSuccess = 0x10,
}

impl Opcode {
    /// All of them, by number.
    pub const ALL: [Opcode; 16] = [
        Opcode::Error,
        Opcode::Startup,
        Opcode::Ready,
        Opcode::Authenticate,
        Opcode::Options,
        Opcode::Supported,
        Opcode::Query,
        Opcode::Result,
        Opcode::Prepare,
        Opcode::Execute,
        Opcode::Register,
        Opcode::Event,
        Opcode::Batch,
        Opcode::AuthChallenge,
        Opcode::AuthResponse,
        Opcode::AuthSuccess,
    ];

    /// The opcode of a number, if there is one.
    pub fn from_byte(byte: u8) -> Option<Opcode> {
        Opcode::ALL.into_iter().find(|opcode| *opcode as u8 == byte)
    }

    /// Whether clients send it.
    pub fn is_request(self) -> bool {
        matches!(
            self,
            Opcode::Startup
                | Opcode::Options
                | Opcode::Query
                | Opcode::Prepare
                | Opcode::Execute
                | Opcode::Register
                | Opcode::Batch
                | Opcode::AuthResponse
        )
    }

    /// The name as the specification writes it.
    pub fn name(self) -> &'static str {
        match self {
            Opcode::Error => "ERROR",
            Opcode::Startup => "STARTUP",
            Opcode::Ready => "READY",
            Opcode::Authenticate => "AUTHENTICATE",
            Opcode::Options => "OPTIONS",
            Opcode::Supported => "SUPPORTED",
            Opcode::Query => "QUERY",
            Opcode::Result => "RESULT",
            Opcode::Prepare => "PREPARE",
            Opcode::Execute => "EXECUTE",
            Opcode::Register => "REGISTER",
            Opcode::Event => "EVENT",
            Opcode::Batch => "BATCH",
            Opcode::AuthChallenge => "AUTH_CHALLENGE",
            Opcode::AuthResponse => "AUTH_RESPONSE",
            Opcode::AuthSuccess => "AUTH_SUCCESS",
        }
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The header of a request frame whose version and length are acceptable. The opcode is not judged yet.
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
    /// Bytes of the body, at most [`MAX_BODY_LEN`].
    pub length: usize,
}

/// A header after which the connection cannot go on: what follows it is not known, or not wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Another protocol version; the text is what drivers look for when they look for a version to fall back to.
    #[error(
        "Invalid or unsupported protocol version ({version}); the lowest supported version is {LOWEST_VERSION} and \
         the greatest is {GREATEST_VERSION}"
    )]
    Version {
        /// What was asked for.
        version: u8,
        /// Where the answer goes.
        stream: i16,
    },
    /// A response, sent to a server.
    #[error("Wrong protocol direction: a request was expected, and the version byte {byte:#04x} is a response's")]
    Direction {
        /// The version byte.
        byte: u8,
        /// Where the answer goes.
        stream: i16,
    },
    /// A body above [`MAX_BODY_LEN`], or a negative length.
    #[error("Request is too big: length {length} exceeds maximum allowed length {MAX_BODY_LEN}.")]
    Length {
        /// What the header says.
        length: u32,
        /// The version, which is fine.
        version: u8,
        /// Where the answer goes.
        stream: i16,
    },
}

impl HeaderError {
    /// The version to answer in.
    pub fn answer_version(&self) -> u8 {
        match self {
            HeaderError::Length { version, .. } => *version,
            _ => GREATEST_VERSION,
        }
    }

    /// The stream to answer on.
    pub fn stream(&self) -> i16 {
        match self {
            HeaderError::Version { stream, .. }
            | HeaderError::Direction { stream, .. }
            | HeaderError::Length { stream, .. } => *stream,
        }
    }

    /// The ERROR code (section 9).
    pub fn code(&self) -> i32 {
        match self {
            HeaderError::Length { .. } => 0x2200,
            _ => 0x000A,
        }
    }
}

impl Header {
    /// Reads the header at the start of `bytes`; `None` while it is not all there.
    ///
    /// # Errors
    /// When no frame can be read after it: see [`HeaderError`].
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Option<Header>, HeaderError> {
        let Some(head) = bytes.first_chunk::<HEADER_LEN>() else {
            // A version that is not ours may have another header; say so as soon as its first byte is there.
            return match bytes.first() {
                Some(&byte) if !(LOWEST_VERSION..=GREATEST_VERSION).contains(&byte) && bytes.len() >= 4 => {
                    Err(Header::refuse(byte, i16::from_be_bytes([bytes[2], bytes[3]])))
                }
                _ => Ok(None),
            };
        };
        let [version, flags, s0, s1, opcode, l0, l1, l2, l3] = *head;
        let stream = i16::from_be_bytes([s0, s1]);
        if !(LOWEST_VERSION..=GREATEST_VERSION).contains(&version) {
            return Err(Header::refuse(version, stream));
        }
        let length = u32::from_be_bytes([l0, l1, l2, l3]);
        if length as usize > MAX_BODY_LEN {
            return Err(HeaderError::Length { length, version, stream });
        }
        Ok(Some(Header { version, flags, stream, opcode, length: length as usize }))
    }

    fn refuse(byte: u8, stream: i16) -> HeaderError {
        match byte & 0x7F {
            LOWEST_VERSION..=GREATEST_VERSION => HeaderError::Direction { byte, stream },
            version => HeaderError::Version { version: if byte & 0x80 == 0 { version } else { byte }, stream },
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
    fn versions_other_than_3_and_4_are_refused_with_the_text_that_drivers_look_for() {
        for version in [0u8, 1, 2, 5, 6, 0x41, 0x42] {
            let error = Header::parse(&[version, 0, 0, 9, 5, 0, 0, 0, 0]).unwrap_err();
            assert_eq!(error.code(), 0x000A);
            assert_eq!(error.stream(), 9);
            assert_eq!(
                error.to_string(),
                format!(
                    "Invalid or unsupported protocol version ({version}); the lowest supported version is 3 and the greatest is 4"
                )
            );
        }
    }

    #[test]
    fn a_body_above_16_mib_is_refused_by_its_header() {
        let header = |length: u32| {
            let mut bytes = Header { version: 4, flags: 0, stream: 2, opcode: 7, length: 0 }.encode(false);
            bytes[5..].copy_from_slice(&length.to_be_bytes());
            bytes
        };
        assert!(Header::parse(&header(MAX_BODY_LEN as u32)).is_ok());
        assert!(matches!(Header::parse(&header(MAX_BODY_LEN as u32 + 1)), Err(HeaderError::Length { .. })));
        assert!(matches!(Header::parse(&header(u32::MAX)), Err(HeaderError::Length { .. })));
    }

    #[test]
    fn a_response_sent_to_the_server_is_refused() {
        let bytes = Header { version: 4, flags: 0, stream: 2, opcode: 8, length: 0 }.encode(true);
        assert!(matches!(Header::parse(&bytes), Err(HeaderError::Direction { byte: 0x84, stream: 2 })));
    }
}
