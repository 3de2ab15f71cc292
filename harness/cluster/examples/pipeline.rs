//! The embedded cluster's cost per EXECUTE: pipelining clients that do next to nothing, against a node in its own process.
//!
//! `cargo run --release -p cqldyno-cluster --example pipeline [ROWS] [CONNECTIONS] [IN_FLIGHT]`, 1,000,000 rows, one connection and
//! 1,024 in flight by default. Prints statements per second and the server's CPU time per EXECUTE, for inserts of new rows,
//! selects in random order, and inserts over existing rows. With NODES=3 in the environment the cluster has three nodes, of which the
//! clients use the first, so that it checks where each EXECUTE came.

use std::env;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use cqldyno_cluster::{Control, Listening, NodeOptions, ServeOptions, Snapshot, Topology, serve};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<()> {
    let mut arguments = env::args().skip(1);
    let first = arguments.next();
    if first.as_deref() == Some("serve") {
        let number = |argument: Option<String>| argument.and_then(|text| text.parse().ok());
        let expect_rows = number(arguments.next()).unwrap_or(0);
        let threads = number(arguments.next()).map(|threads| threads as usize);
        let nodes = number(env::var("NODES").ok()).unwrap_or(1);
        let topology = Topology::new(nodes, if nodes > 1 { 256 } else { 1 }, 1, None)?;
        let node = NodeOptions { expect_rows, threads, topology, ..NodeOptions::default() };
        serve(ServeOptions { node, control: true })?;
        return Ok(());
    }
    let rows: u64 = first.map_or(Ok(1_000_000), |text| text.parse())?;
    let connections: u64 = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let in_flight: usize = arguments.next().map_or(Ok(1_024), |text| text.parse())?;
    let mut server = Server::start(rows)?;
    let mut client = Client::connect(server.address)?;
    client.query("CREATE KEYSPACE bench WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")?;
    client.query("CREATE TABLE bench.bench (pk bigint PRIMARY KEY, v1 bigint, v2 bigint)")?;
    let insert = client.prepare("INSERT INTO bench.bench (pk, v1, v2) VALUES (?, ?, ?)")?;
    let select = client.prepare("SELECT pk, v1, v2 FROM bench.bench WHERE pk = ?")?;
    println!("{rows} rows, {connections} connection(s), {in_flight} in flight each");
    for (name, statement) in [
        ("insert", Statement { id: insert, values: 3 }),
        ("select", Statement { id: select, values: 1 }),
        ("insert again", Statement { id: insert, values: 3 }),
        ("select again", Statement { id: select, values: 1 }),
    ] {
        let before = server.snapshot()?;
        let start = Instant::now();
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..connections)
                .map(|number| {
                    let keys = rows * number / connections..rows * (number + 1) / connections;
                    scope.spawn(move || Client::connect(server.address)?.run(statement, keys, rows, in_flight))
                })
                .collect();
            clients.into_iter().try_for_each(|client| client.join().map_err(|_| "a client panicked")?)
        })?;
        let elapsed = start.elapsed();
        let after = server.snapshot()?;
        let cpu = |snapshot: &Snapshot| (snapshot.cpu_user_us + snapshot.cpu_sys_us) as f64 * 1e3;
        println!(
            "{name:>13}: {:>6.0} k statements/s, {:>4.0} CPU ns an EXECUTE ({:.0} % in the kernel), {:.0} frames a read, {} rows, {} MiB",
            rows as f64 / elapsed.as_secs_f64() / 1e3,
            (cpu(&after) - cpu(&before)) / rows as f64,
            (after.cpu_sys_us - before.cpu_sys_us) as f64 * 1e5 / (cpu(&after) - cpu(&before)),
            (after.frames - before.frames) as f64 / (after.reads - before.reads) as f64,
            after.rows,
            server.resident_mib()?,
        );
    }
    for query in ["SELECT COUNT(*) FROM bench.bench", "DROP TABLE bench.bench"] {
        let (before, start) = (server.snapshot()?, Instant::now());
        client.query(query)?;
        let (elapsed, after) = (start.elapsed(), server.snapshot()?);
        let cpu_us = after.cpu_user_us + after.cpu_sys_us - before.cpu_user_us - before.cpu_sys_us;
        println!("{query}: {} ms, {} ms of CPU time", elapsed.as_millis(), cpu_us / 1_000);
    }
    server.stop()
}

struct Server {
    child: Child,
    commands: ChildStdin,
    replies: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Server {
    fn start(expect_rows: u64) -> Result<Server> {
        let mut child = Command::new(env::current_exe()?)
            .args(["serve", &expect_rows.to_string()])
            .args(env::var("THREADS").ok())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let commands = child.stdin.take().ok_or("no stdin")?;
        let mut replies = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        let mut line = String::new();
        replies.read_line(&mut line)?;
        let listening: Listening = serde_json::from_str(&line)?;
        Ok(Server { child, commands, replies, address: listening.listening })
    }

    fn snapshot(&mut self) -> Result<Snapshot> {
        serde_json::to_writer(&self.commands, &Control::Snapshot(true))?;
        self.commands.write_all(b"\n")?;
        let mut line = String::new();
        self.replies.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }

    fn resident_mib(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse::<u64>()? / 1024)
    }

    fn stop(mut self) -> Result<()> {
        drop(self.commands);
        self.child.wait()?;
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct Statement {
    id: [u8; 16],
    values: u16,
}

struct Client {
    stream: TcpStream,
}

impl Client {
    fn connect(address: SocketAddr) -> Result<Client> {
        debug_assert_eq!(address.ip(), Ipv4Addr::LOCALHOST);
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut client = Client { stream };
        client.request(1, b"\0\x01\0\x0bCQL_VERSION\0\x053.0.0")?;
        Ok(client)
    }

    fn request(&mut self, opcode: u8, body: &[u8]) -> Result<Vec<u8>> {
        let mut frame = vec![4, 0, 0, 0, opcode];
        frame.extend_from_slice(&(body.len() as u32).to_be_bytes());
        frame.extend_from_slice(body);
        self.stream.write_all(&frame)?;
        let mut header = [0; 9];
        self.stream.read_exact(&mut header)?;
        let mut body = vec![0; u32::from_be_bytes([header[5], header[6], header[7], header[8]]) as usize];
        self.stream.read_exact(&mut body)?;
        if header[4] == 0 {
            return Err(format!("the node answered: {}", String::from_utf8_lossy(&body[6..])).into());
        }
        Ok(body)
    }

    fn query(&mut self, query: &str) -> Result<()> {
        let mut body = (query.len() as u32).to_be_bytes().to_vec();
        body.extend_from_slice(query.as_bytes());
        body.extend_from_slice(&[0, 10, 0]);
        self.request(7, &body).map(drop)
    }

    fn prepare(&mut self, query: &str) -> Result<[u8; 16]> {
        let mut body = (query.len() as u32).to_be_bytes().to_vec();
        body.extend_from_slice(query.as_bytes());
        Ok(self.request(9, &body)?[6..22].try_into()?)
    }

    /// Executes the statement once for each key, in an order that jumps, and checks each answer.
    fn run(&mut self, statement: Statement, keys: std::ops::Range<u64>, rows: u64, in_flight: usize) -> Result<()> {
        let mut free: Vec<i16> = (0..in_flight as i16).rev().collect();
        let mut key_of = vec![0u64; in_flight];
        let mut next = keys.start;
        let mut answered = keys.start;
        let mut out = Vec::with_capacity(64 * in_flight);
        let mut input = vec![0u8; 256 * 1024];
        let mut filled = 0;
        while answered < keys.end {
            out.clear();
            while next < keys.end {
                let Some(stream) = free.pop() else { break };
                // A permutation where the multiplier has no factor in common with the number of rows.
                let key = (u128::from(next) * 2_654_435_761 % u128::from(rows)) as u64;
                key_of[stream as usize] = key;
                next += 1;
                let length = 18 + 3 + 2 + 12 * u32::from(statement.values);
                out.extend_from_slice(&[4, 0, (stream >> 8) as u8, stream as u8, 10]);
                out.extend_from_slice(&length.to_be_bytes());
                out.extend_from_slice(&[0, 16]);
                out.extend_from_slice(&statement.id);
                out.extend_from_slice(&[0, 10, 1]);
                out.extend_from_slice(&statement.values.to_be_bytes());
                for factor in 1..=u64::from(statement.values) {
                    out.extend_from_slice(&[0, 0, 0, 8]);
                    out.extend_from_slice(&(key * factor).to_be_bytes());
                }
            }
            self.stream.write_all(&out)?;
            let read = self.stream.read(&mut input[filled..])?;
            if read == 0 {
                return Err("the node closed the connection".into());
            }
            filled += read;
            let mut at = 0;
            while let Some(header) = input[at..filled].first_chunk::<9>() {
                let length = u32::from_be_bytes([header[5], header[6], header[7], header[8]]) as usize;
                let Some(body) = input[at..filled].get(9..9 + length) else { break };
                let stream = i16::from_be_bytes([header[2], header[3]]);
                check(header[4], body, statement, key_of[stream as usize])?;
                free.push(stream);
                answered += 1;
                at += 9 + length;
            }
            input.copy_within(at..filled, 0);
            filled -= at;
        }
        Ok(())
    }
}

fn check(opcode: u8, body: &[u8], statement: Statement, key: u64) -> Result<()> {
    let right = if statement.values == 3 {
        opcode == 8 && body == [0, 0, 0, 1]
    } else {
        let value = |back: usize| body.len().checked_sub(back).and_then(|at| body.get(at..at + 8));
        let is = |back: usize, expected: u64| value(back) == Some(&expected.to_be_bytes()[..]);
        opcode == 8 && is(32, key) && is(20, key * 2) && is(8, key * 3)
    };
    if right {
        Ok(())
    } else {
        Err(format!("a wrong answer for key {key}: {:?}", String::from_utf8_lossy(body)).into())
    }
}
