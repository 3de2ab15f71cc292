//! EXECUTE and RESULT of the scenarios' two statements, encoded and decoded by `floor` and by the embedded node: CPU time per
//! frame. The bytes are those of a run of `floor`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use cqldyno_cluster::codec::response::{self, ReplyTo};
use cqldyno_cluster::codec::{HEADER_LEN, Header, Opcode, request, write};
use cqldyno_cluster::types::{ColumnSpec, CqlType};
use cqldyno_criterion::{CpuTime, Exchange, IN_FLIGHT, Kind, ROWS, by_cpu_time, or_leave};
use cqldyno_driver_api::Rows;
use criterion::{BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};

const KEY: u64 = 77;

fn execute(criterion: &mut Criterion<CpuTime>) {
    let exchange = or_leave(Exchange::new());
    let mut group = criterion.benchmark_group("EXECUTE");
    for kind in Kind::ALL {
        let statement = exchange.prepared(kind);
        let mut out = Vec::new();
        group.bench_function(BenchmarkId::new("encoded by floor", kind.name()), |bencher| {
            bencher.iter(|| {
                out.clear();
                let encoded = kind.values(black_box(KEY), |values| statement.encode(values, 1, &mut out).is_ok());
                black_box((encoded, &out));
            });
        });
        let frame = or_leave(exchange.request(kind, KEY));
        // The general way, into a list of values; statements by key are read in place, which the group below has.
        or_leave(request::execute(&frame[HEADER_LEN..], 4));
        group.bench_function(BenchmarkId::new("decoded by the node", kind.name()), |bencher| {
            bencher.iter(|| {
                let frame = black_box(frame.as_slice());
                let header = Header::parse(frame);
                black_box((request::execute(&frame[HEADER_LEN..], 4).is_ok(), header.is_ok()))
            });
        });
    }
    group.finish();
}

fn columns() -> Vec<ColumnSpec> {
    let (keyspace, table): (Arc<str>, Arc<str>) = ("cqldyno".into(), "bench".into());
    ["pk", "v1", "v2"]
        .map(|name| ColumnSpec {
            keyspace: keyspace.clone(),
            table: table.clone(),
            name: name.into(),
            ty: CqlType::Bigint,
        })
        .into()
}

/// One row of three bigints.
fn put_rows(out: &mut Vec<u8>, to: ReplyTo, columns: &[ColumnSpec], skip_metadata: bool) {
    response::frame(out, to, Opcode::Result, |out| {
        write::int(out, response::KIND_ROWS);
        response::rows_metadata(out, to.version, columns, skip_metadata, None);
        write::int(out, 1);
        for value in [KEY, 2 * KEY, 3 * KEY] {
            write::bytes(out, Some(&black_box(value).to_be_bytes()));
        }
    });
}

fn result(criterion: &mut Criterion<CpuTime>) {
    let exchange = or_leave(Exchange::new());
    let mut group = criterion.benchmark_group("RESULT");
    let (to, columns) = (ReplyTo { version: 4, stream: 1 }, columns());
    let mut out = Vec::new();
    group.bench_function("encoded by the node/void", |bencher| {
        bencher.iter(|| {
            out.clear();
            response::void(&mut out, black_box(to));
            black_box(&out);
        });
    });
    for (name, skip_metadata) in [("rows", true), ("rows with metadata", false)] {
        group.bench_function(BenchmarkId::new("encoded by the node", name), |bencher| {
            bencher.iter(|| {
                out.clear();
                put_rows(&mut out, black_box(to), black_box(&columns), skip_metadata);
                black_box(&out);
            });
        });
    }
    let mut with_metadata = Vec::new();
    put_rows(&mut with_metadata, to, &columns, false);
    let answers = [
        ("void", Kind::Insert, or_leave(exchange.answer(Kind::Insert, KEY))),
        ("rows", Kind::Select, or_leave(exchange.answer(Kind::Select, KEY))),
        ("rows with metadata", Kind::Select, with_metadata),
    ];
    for (name, kind, frame) in answers {
        let statement = exchange.prepared(kind);
        let mut rows = Rows::new();
        or_leave(statement.decode(&frame, &mut rows));
        group.bench_function(BenchmarkId::new("decoded by floor", name), |bencher| {
            bencher.iter(|| {
                rows.clear();
                let decoded = statement.decode(black_box(&frame), &mut rows).is_ok();
                black_box((decoded, &rows));
            });
        });
    }
    group.finish();
}

/// The node's work per statement without sockets: it finds frames, decodes them, executes them on a table of 65,536 rows in the
/// processor's cache, and encodes the answers.
fn node(criterion: &mut Criterion<CpuTime>) {
    let exchange = or_leave(Exchange::new());
    let mut group = criterion.benchmark_group("EXECUTE served by the node without a socket");
    group.sampling_mode(SamplingMode::Flat).sample_size(20);
    for kind in Kind::ALL {
        let requests = or_leave(exchange.requests(kind));
        group.bench_function(BenchmarkId::new(format!("{IN_FLIGHT} a read"), kind.name()), |bencher| {
            bencher.iter_custom(|statements| {
                let mut used = Duration::ZERO;
                let mut left = statements;
                while left > 0 {
                    let count = left.min(ROWS);
                    let (more, outcome) = CpuTime::of(|| exchange.execute(&requests, count));
                    or_leave(outcome);
                    used += more;
                    left -= count;
                }
                used
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = by_cpu_time();
    targets = execute, result, node
}
criterion_main!(benches);
