//! A node without sockets, for the fuzzer: connections are byte strings.

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use cqldyno_driver_api::Credentials;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::runtime::{Builder, Runtime};

use crate::counters::stats::Place;
use crate::node::connection::{script_state, serve_stream};
use crate::node::state::{NodeOptions, NodeState};
use crate::storage::database::Database;
use crate::system;

/// See the module.
#[derive(Debug)]
pub struct SocketlessNode {
    runtime: Runtime,
    state: Arc<NodeState>,
}

impl SocketlessNode {
    /// A node without tables that asks for these credentials, if any.
    pub fn new(credentials: Option<Credentials>) -> io::Result<SocketlessNode> {
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let database = Arc::new(Database::new(system::catalog(), 0));
        let options = NodeOptions { port: 9042, credentials, ..NodeOptions::default() };
        Ok(SocketlessNode { runtime, state: Arc::new(NodeState::new(database, options)) })
    }

    /// Serves a connection whose client sends these pieces, one per read. Returns all answers.
    pub fn connection<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
        let pieces = Pieces(pieces.into_iter().filter(|piece| !piece.is_empty()).collect());
        let mut answers = Vec::new();
        let stats = self.state.stats.connection((Ipv4Addr::LOCALHOST, 0).into(), Place::default());
        let script = script_state(&self.state);
        self.runtime.block_on(serve_stream(tokio::io::join(pieces, &mut answers), self.state.clone(), stats, script));
        answers
    }
}

struct Pieces<'a>(VecDeque<&'a [u8]>);

impl AsyncRead for Pieces<'_> {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Some(piece) = self.0.pop_front() {
            let (read, left) = piece.split_at(piece.len().min(into.remaining()));
            into.put_slice(read);
            if !left.is_empty() {
                self.0.push_front(left);
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_served_in_whatever_pieces_it_comes() {
        let node = SocketlessNode::new(None).unwrap();
        let options = [4, 0, 0, 7, 5, 0, 0, 0, 0];
        let whole = node.connection([&options[..]]);
        assert_eq!(whole[..5], [0x84, 0, 0, 7, 6]);
        assert_eq!(node.connection(options.chunks(1)), whole);
        assert!(node.connection([&options[..8]]).is_empty());
    }
}
