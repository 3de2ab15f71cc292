//! A connection on which many frames are sent before an answer is read.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer: its stream, its opcode and its body.
pub type Answer = (i16, u8, Vec<u8>);

pub const OPTIONS: u8 = 0x05;
pub const QUERY: u8 = 0x07;
pub const PREPARE: u8 = 0x09;
pub const EXECUTE: u8 = 0x0A;

pub struct Pipe {
    pub stream: TcpStream,
}

pub fn frame(flags: u8, stream: i16, opcode: u8, body: &[u8]) -> Vec<u8> {
    let mut frame = vec![4, flags];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.push(opcode);
    frame.extend_from_slice(&(body.len() as u32).to_be_bytes());
    frame.extend_from_slice(body);
    frame
}

impl Pipe {
    pub fn connect(address: SocketAddr) -> Pipe {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Pipe { stream }
    }

    pub fn start(address: SocketAddr) -> Pipe {
        let mut pipe = Pipe::connect(address);
        let (_, opcode, _) = pipe.request(1, b"\0\x01\0\x0bCQL_VERSION\0\x053.0.0");
        assert_eq!(opcode, 2, "READY");
        pipe
    }

    pub fn send(&mut self, frames: &[u8]) {
        self.stream.write_all(frames).unwrap();
    }

    pub fn answer(&mut self) -> Answer {
        let mut header = [0; 9];
        self.stream.read_exact(&mut header).unwrap();
        let mut body = vec![0; u32::from_be_bytes([header[5], header[6], header[7], header[8]]) as usize];
        self.stream.read_exact(&mut body).unwrap();
        (i16::from_be_bytes([header[2], header[3]]), header[4], body)
    }

    pub fn answers(&mut self, count: usize) -> Vec<Answer> {
        (0..count).map(|_| self.answer()).collect()
    }

    pub fn request(&mut self, opcode: u8, body: &[u8]) -> Answer {
        self.send(&frame(0, 0, opcode, body));
        self.answer()
    }

    pub fn query(&mut self, query: &str) -> Answer {
        let mut body = long_string(query);
        body.extend_from_slice(&[0, 1, 0]);
        let answer = self.request(QUERY, &body);
        assert_ne!(answer.1, 0, "{query}: {}", String::from_utf8_lossy(&answer.2));
        answer
    }

    pub fn prepare(&mut self, query: &str) -> Vec<u8> {
        let (_, opcode, body) = self.request(PREPARE, &long_string(query));
        assert_eq!(opcode, 8, "{query}: {}", String::from_utf8_lossy(&body));
        body[6..22].to_vec()
    }
}

fn long_string(text: &str) -> Vec<u8> {
    let mut body = (text.len() as u32).to_be_bytes().to_vec();
    body.extend_from_slice(text.as_bytes());
    body
}

/// The body of an EXECUTE; a value is bytes, null or not set.
pub fn execute(id: &[u8], flags: u8, values: &[Result<&[u8], i32>], timestamp: Option<i64>) -> Vec<u8> {
    let mut body = vec![0, 16];
    body.extend_from_slice(id);
    body.extend_from_slice(&[0, 1, flags | 1 | if timestamp.is_some() { 0x20 } else { 0 }]);
    body.extend_from_slice(&(values.len() as u16).to_be_bytes());
    for value in values {
        match value {
            Ok(bytes) => {
                body.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
                body.extend_from_slice(bytes);
            }
            Err(length) => body.extend_from_slice(&length.to_be_bytes()),
        }
    }
    if let Some(timestamp) = timestamp {
        body.extend_from_slice(&timestamp.to_be_bytes());
    }
    body
}
