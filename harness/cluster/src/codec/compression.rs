//! Compressed bodies (section 5).
//!
//! As Cassandra 5.0 does it (org.apache.cassandra.transport.Compressor): every answer after the one to STARTUP is compressed, even if
//! that makes it longer.

use super::frame::{FLAG_COMPRESSION, HEADER_LEN, MAX_FRAME_LEN};
use super::response;
use crate::error::{CqlError, Result};

/// The names in SUPPORTED, in Cassandra's order.
pub const OFFERED: [&str; 2] = ["lz4", "snappy"];

/// How the bodies of a connection's frames are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// An LZ4 block after its uncompressed length, an `[int]`.
    Lz4,
    /// Raw Snappy, which begins with its uncompressed length.
    Snappy,
}

impl Compression {
    /// The one that STARTUP asks for, in any case.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn named(name: &str) -> Result<Compression> {
        match name.to_ascii_lowercase().as_str() {
            "lz4" => Ok(Compression::Lz4),
            "snappy" => Ok(Compression::Snappy),
            _ => Err(CqlError::Protocol(format!(
                "Unknown compression algorithm: {name}. The embedded cluster offers {}",
                OFFERED.join(" and ")
            ))),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Compression::Lz4 => "LZ4",
            Compression::Snappy => "Snappy",
        }
    }

    /// The uncompressed body. Its length is checked before memory for it is taken.
    ///
    /// # Errors
    /// The bytes are not compressed like this, or the body is longer than a frame may be.
    pub fn decompress(self, body: &[u8]) -> Result<Vec<u8>> {
        let broken = || CqlError::Protocol(format!("Provided frame does not appear to be {} compressed", self.name()));
        let (length, block) = match self {
            Compression::Lz4 => {
                let (length, block) = body.split_first_chunk::<4>().ok_or_else(broken)?;
                (u32::from_be_bytes(*length) as usize, block)
            }
            Compression::Snappy => (snap::raw::decompress_len(body).map_err(|_| broken())?, body),
        };
        if length > MAX_FRAME_LEN {
            return Err(CqlError::Protocol(format!(
                "Invalid uncompressed frame length {length}; it must be no greater than native_transport_max_frame_size \
                 ({MAX_FRAME_LEN} bytes)"
            )));
        }
        let mut plain = vec![0; length];
        let written = match self {
            Compression::Lz4 => lz4_flex::block::decompress_into(block, &mut plain).ok(),
            Compression::Snappy => snap::raw::Decoder::new().decompress(block, &mut plain).ok(),
        };
        if written == Some(length) { Ok(plain) } else { Err(broken()) }
    }

    /// Whole frames with compressed bodies. The first `plain_len` bytes of them stay as they are.
    ///
    /// # Errors
    /// A body is too long for the format.
    pub fn compress(self, frames: &[u8], plain_len: usize) -> Result<Vec<u8>> {
        let (plain, rest) = frames.split_at(plain_len.min(frames.len()));
        let mut packed = plain.to_vec();
        for frame in response::frames(rest) {
            let (header, body) = frame.split_at(HEADER_LEN.min(frame.len()));
            let start = packed.len();
            packed.extend_from_slice(header);
            self.put(body, &mut packed)?;
            packed[start + 1] |= FLAG_COMPRESSION;
            response::end(&mut packed, start);
        }
        Ok(packed)
    }

    fn put(self, body: &[u8], out: &mut Vec<u8>) -> Result<()> {
        if self == Compression::Lz4 {
            out.extend_from_slice(&(body.len() as u32).to_be_bytes());
        }
        let at = out.len();
        let most = match self {
            Compression::Lz4 => lz4_flex::block::get_maximum_output_size(body.len()),
            Compression::Snappy => snap::raw::max_compress_len(body.len()),
        };
        out.resize(at + most, 0);
        let written = match self {
            Compression::Lz4 => lz4_flex::block::compress_into(body, &mut out[at..]).ok(),
            Compression::Snappy => snap::raw::Encoder::new().compress(body, &mut out[at..]).ok(),
        };
        let too_long = || CqlError::Server(format!("An answer of {} bytes could not be compressed", body.len()));
        out.truncate(at + written.ok_or_else(too_long)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Opcode;
    use crate::codec::response::ReplyTo;

    const BOTH: [Compression; 2] = [Compression::Lz4, Compression::Snappy];

    fn packed(compression: Compression, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        compression.put(body, &mut out).unwrap();
        out
    }

    #[test]
    fn bodies_of_all_lengths_survive_a_round_trip() {
        for compression in BOTH {
            for length in [0, 1, 4, 100, 70_000] {
                let body: Vec<u8> = (0..length).map(|at: u32| (at / 7) as u8).collect();
                assert_eq!(compression.decompress(&packed(compression, &body)), Ok(body));
            }
        }
    }

    #[test]
    fn the_forms_are_those_of_the_specification() {
        // LZ4: the length, then a token for four literals. Snappy: the length, then a tag for four literals.
        assert_eq!(packed(Compression::Lz4, b"abcd"), *b"\0\0\0\x04\x40abcd");
        assert_eq!(packed(Compression::Snappy, b"abcd"), *b"\x04\x0Cabcd");
    }

    #[test]
    fn frames_are_compressed_one_by_one_after_those_that_stay_plain() {
        let to = ReplyTo { version: 4, stream: 7 };
        let mut frames = Vec::new();
        response::ready(&mut frames, to);
        let plain_len = frames.len();
        response::void(&mut frames, to);
        response::ready(&mut frames, to);
        for compression in BOTH {
            let compressed = compression.compress(&frames, plain_len).unwrap();
            let found: Vec<&[u8]> = response::frames(&compressed).collect();
            assert_eq!(found[0], &frames[..plain_len]);
            assert_eq!((found[1][1], found[1][4]), (FLAG_COMPRESSION, Opcode::Result as u8));
            assert_eq!(compression.decompress(&found[1][HEADER_LEN..]), Ok(vec![0, 0, 0, 1]));
            assert_eq!((found[2][1], compression.decompress(&found[2][HEADER_LEN..])), (FLAG_COMPRESSION, Ok(vec![])));
        }
    }

    #[test]
    fn what_is_not_compressed_like_that_is_refused() {
        for compression in BOTH {
            let whole = packed(compression, &[7; 1_000]);
            for length in 0..whole.len() {
                let found = compression.decompress(&whole[..length]);
                // Nothing at all is an empty body in Snappy.
                let is_empty = length == 0 && compression == Compression::Snappy;
                assert!(found.is_err() || is_empty, "{compression:?} cut to {length}");
            }
            let text = format!("Provided frame does not appear to be {} compressed", compression.name());
            assert_eq!(compression.decompress(&[0, 0, 0, 9, 0xF0, 1]), Err(CqlError::Protocol(text)));
        }
        // A length that the block does not have.
        assert!(Compression::Lz4.decompress(b"\0\0\0\x05\x40abcd").is_err());
        assert!(Compression::Lz4.decompress(b"\0\0\0\x03\x40abcd").is_err());
    }

    #[test]
    fn a_length_above_that_of_a_frame_is_refused_before_memory_is_taken() {
        for (compression, body) in
            [(Compression::Lz4, &b"\xFF\xFF\xFF\xFF\x00"[..]), (Compression::Snappy, &b"\xFF\xFF\xFF\xFF\x0F\x00"[..])]
        {
            let error = compression.decompress(body).unwrap_err();
            assert_eq!(
                error.to_string(),
                "Invalid uncompressed frame length 4294967295; it must be no greater than native_transport_max_frame_size \
                 (16777216 bytes)"
            );
            assert_eq!(error.code(), 0x000A);
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_those_that_are_known() {
        for (name, compression) in OFFERED.iter().chain(&["LZ4", "Snappy"]).zip([0, 1, 0, 1]) {
            assert_eq!(Compression::named(name), Ok(BOTH[compression]));
        }
        let error = Compression::named("zstd").unwrap_err();
        assert_eq!(
            (error.code(), error.to_string().as_str()),
            (0x000A, "Unknown compression algorithm: zstd. The embedded cluster offers lz4 and snappy")
        );
    }
}
