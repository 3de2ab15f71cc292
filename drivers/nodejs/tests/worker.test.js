// Run by ../check, which names the folder of a built worker: its modules, and the worker as its parent sees it.
import assert from 'node:assert';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { after, test } from 'node:test';

const WORKER = process.env.WORKER;
const built = name => import(path.join(WORKER, 'nodejs', name));
const { Encoder, types } = (await built('node_modules/cassandra-driver/index.js')).default;
const { histogram } = await built('histogram.js');
const { Tape } = await built('tape.js');
const { shown, typeOf } = await built('types.js');

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'cqldyno-nodejs-'));
after(() => fs.rmSync(scratch, { recursive: true }));

const encoder = new Encoder(4, { encoding: { map: Map, set: Set, copyBuffer: true } });
const { Long, Uuid, InetAddress, LocalDate, LocalTime, Duration, BigDecimal, Integer, Tuple, Vector } = types;
const uuid = last => Uuid.fromString(`00000000-0000-4000-8000-00000000000${last}`);

/** Of each type two values that differ. */
const VALUES = {
  bigint: [Long.fromString('9007199254740993'), Long.fromString('-9007199254740993')], counter: [Long.fromNumber(1), Long.fromNumber(2)],
  int: [1, -1], smallint: [300, 301], tinyint: [1, 2], boolean: [true, false], double: [0.1, 0.2], float: [0.5, 0.25],
  text: ['ä', 'b'], ascii: ['a', 'b'], varchar: ['', 'b'], blob: [Buffer.from([1]), Buffer.from([1, 2])],
  uuid: [uuid(1), uuid(2)], inet: [InetAddress.fromString('127.0.0.1'), InetAddress.fromString('::1')],
  timestamp: [new Date(1), new Date(2)], date: [new LocalDate(2026, 1, 2), new LocalDate(1969, 1, 2)],
  time: [LocalTime.fromString('01:02:03.000000004'), LocalTime.fromString('01:02:03.000000005')],
  duration: [new Duration(1, 2, Long.fromNumber(3)), new Duration(1, 2, Long.fromNumber(4))],
  decimal: [BigDecimal.fromString('1.5'), BigDecimal.fromString('1.25')],
  varint: [Integer.fromString('123456789012345678901234567890'), Integer.fromString('-1')],
  'list<int>': [[1, 2], [2, 1]], 'set<bigint>': [new Set([Long.fromNumber(1), Long.fromNumber(2)]), new Set([Long.fromNumber(1), Long.fromNumber(3)])],
  'map<uuid, frozen<list<text>>>': [new Map([[uuid(1), ['a', 'b']]]), new Map([[uuid(1), ['a', 'c']]])],
  'tuple<int, frozen<set<timestamp>>>': [new Tuple(1, new Set([new Date(5)])), new Tuple(1, new Set([new Date(6)]))],
  'udt<int, text>': [{ 0: 1, 1: 'a' }, { 0: 1, 1: 'b' }], 'vector<float, 2>': [new Vector([1, 2]), new Vector([1, 3])],
  'set<frozen<tuple<int, text>>>': [new Set([new Tuple(1, 'a')]), new Set([new Tuple(1, 'b')])],
};

test('a value is equal to itself after the driver has encoded and decoded it, and to no other', () => {
  for (const [text, [one, other]] of Object.entries(VALUES)) {
    const type = typeOf(text), came = value => encoder.decode(encoder.encode(value, type.info), type.info), due = type.keep(came(one));
    assert.ok(type.equal(due, came(one)), text);
    assert.ok(!type.equal(due, came(other)), text);
    assert.ok(!type.equal(due, null) && !type.equal(null, came(one)) && type.equal(null, null), text);
    assert.ok(shown(due).length > 0 && shown(came(one)) !== shown(came(other)), `${text}: ${shown(came(one))}`);
  }
});

test('what is null in every row is equal to null alone', () => {
  const type = typeOf('null');
  assert.ok(type.equal(type.keep(null), null) && !type.equal(type.keep(null), 0));
});

test('a list, a set or a map with another number of elements is another one', () => {
  for (const [text, shorter, longer] of [
    ['list<int>', [1], [1, 2]], ['set<int>', new Set([1]), new Set([1, 2])], ['map<int, int>', new Map([[1, 1]]), new Map([[1, 1], [2, 2]])],
  ]) {
    const type = typeOf(text);
    assert.ok(!type.equal(type.keep(shorter), longer) && !type.equal(type.keep(longer), shorter), text);
  }
});

test('sets and maps have no order, and lists have one', () => {
  const [set, map, list] = ['set<text>', 'map<int, text>', 'list<int>'].map(text => typeOf(text));
  assert.ok(set.equal(set.keep(new Set(['a', 'b'])), new Set(['b', 'a'])));
  assert.ok(map.equal(map.keep(new Map([[1, 'a'], [2, 'b']])), new Map([[2, 'b'], [1, 'a']])));
  assert.ok(!list.equal(list.keep([1, 2]), [2, 1]));
});

test('a UDT has the fields that came, whatever their names', () => {
  const type = typeOf('udt<int, text>');
  assert.ok(type.equal(type.keep({ 0: 1, 1: 'a' }), { one: 1, two: 'a' }) && !type.equal(type.keep({ 0: 1, 1: 'a' }), { one: 1 }));
});

test('a histogram has every time in a bucket of three digits', () => {
  const bytes = Buffer.from(histogram([0, 1, 2047, 2048, 123456, 123457, 5e9, 1e15]), 'base64'), counted = [];
  assert.strictEqual(bytes.readInt32BE(), 0x1c849313);
  assert.strictEqual(bytes.readInt32BE(4), bytes.length - 40);
  let index = 0, number = 0, shift = 0;
  for (const byte of bytes.subarray(40)) {
    number += (byte & 127) * 2 ** shift;
    shift = byte > 127 ? shift + 7 : 0;
    if (byte > 127) continue;
    if (number % 2 === 0) counted.push([index, number / 2]);
    index += number % 2 === 0 ? 1 : (number + 1) / 2;
    number = 0;
  }
  assert.deepStrictEqual(counted, [[1, 2], [2047, 1], [2048, 1], [8073, 2], [23720, 1], [33420, 1]]);
  assert.strictEqual(histogram([]), undefined);
});

const int = value => Buffer.from(Int32Array.of(value).buffer).reverse();
const cell = bytes => Buffer.concat([int(bytes.length), bytes]);
const record = (...parts) => cell(Buffer.concat(parts.map(part => typeof part === 'number' ? Buffer.from([part]) : part)));
const ticket = (statement, cells, ...due) => record(1, 0, statement, int(cells.length), ...cells, ...due);
const NULL = int(-1), UNSET = int(-2), windowAt = (offset, length) => Buffer.concat([int(-3), int(offset), int(length)]);

/** A tape with these records, of one statement with the markers int and text, which returns an int. */
function taped(records, magic = 'CQLTAPE1') {
  const file = path.join(scratch, 'tape'), statement = of => {
    const columns = of.columns.map(text => typeOf(text)), decoder = ({ info }) => bytes => encoder.decode(bytes, info);
    return { columns, decoded: columns.map(decoder), bound: of.values.map(text => decoder(typeOf(text))), arranged: values => values };
  };
  fs.writeFileSync(file, Buffer.concat([Buffer.from(magic), cell(Buffer.from('windows')), ...records]));
  return new Tape(file, [statement({ values: ['int', 'text'], columns: [] }), statement({ values: ['int', 'text'], columns: ['int'] })]);
}

test('a tape has values, nulls, what is not set, windows, and answers that are its own or of the pool', () => {
  const tape = taped([
    ticket(0, [cell(int(7)), windowAt(3, 4)], 0),
    record(0, 0, int(2), int(1), cell(int(1)), NULL),
    ticket(1, [NULL, UNSET], 2, int(0)),
    ticket(1, [], 1, 2, int(5), int(0)),
  ]);
  const [first, second] = tape.read(2), [third] = tape.read(1);
  assert.deepStrictEqual([first.values, first.due], [[7, 'dows'], null]);
  assert.deepStrictEqual([second.values, second.due.cells, second.due.rows], [[null, types.unset], [1, null], 2]);
  assert.deepStrictEqual([third.due.check, third.due.rows], [2, 5]);
});

test('a tape that cannot be used is refused with its record and why', () => {
  for (const [records, why, magic] of [
    [[], 'at its record 0: it does not begin with CQLTAPE1', 'CQLTAPE2'],
    [[], 'at its record 0: it ends too early'],
    [[ticket(0, [], 0), record(7)], 'at its record 1: it is neither a ticket nor an answer'],
    [[ticket(9, [], 0)], 'its statement is not one of the job'],
    [[ticket(0, [NULL], 0)], 'it has 1 values for 2 markers'],
    [[ticket(0, [], 2, int(3))], 'its answer is the one of index 3, and 0 came before it'],
    [[ticket(0, [NULL, windowAt(5, 9)], 0)], '9 bytes at 5 reach beyond the end'],
    [[ticket(1, [], 1, 0, int(1), int(2), NULL, NULL)], 'it has an answer of 2 columns, and the job says 1'],
  ]) {
    assert.throws(() => taped(records, magic).read(2), error => error.message.includes(why) || assert.fail(error.message));
  }
});

/** What a worker says to these lines, the code that it ends with, and `hello` apart. */
async function heard(lines, name = 'cqldyno-driver-nodejs') {
  const worker = spawn(path.join(WORKER, name), { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = new Promise(resolve => worker.on('exit', resolve));
  const said = [];
  for await (const line of readline.createInterface(worker.stdout)) {
    said.push(JSON.parse(line));
    if (said.at(-1).type === 'progress') continue;
    const next = lines.shift();
    if (next) worker.stdin.write(`${typeof next === 'string' ? next : JSON.stringify(next)}\n`);
    else worker.stdin.end();
  }
  return [await ended, ...said];
}

const JOB = {
  type: 'job', mode: 'measure', scenario: { name: 's', statement: [{ name: 'one', cql: 'SELECT' }] }, count: 1000, turns: 2, warmup: 10, concurrency: 4,
  target: ['127.0.0.1:1'], connections: 1, consistency: 'LOCAL_ONE', page_size: 5000, settings: 'equal', options: {}, progress_ms: 0,
  tape: { path: path.join(scratch, 'none'), statements: [{ values: ['int', 'text'], columns: ['int'] }] },
};

test('what cannot be done is a failure with its kind and a sentence', async () => {
  for (const [line, kind, words] of [
    ['{"type":"go"}', 'protocol', 'The parent said go, and job was due'],
    ['go', 'protocol', 'the line "go" was found'],
    [{ ...JOB, mode: 'load' }, 'job', 'The mode load was asked for'],
    [{ ...JOB, tape: undefined }, 'job', 'The job has no tape'],
    [{ ...JOB, options: { x: 'y' } }, 'job', 'nodejs has no option `x`; it has coalescing'],
    [{ ...JOB, options: { coalescing: '0' } }, 'job', 'option `coalescing` was set to 0; it takes BYTES'],
    [{ ...JOB, consistency: 'MOST' }, 'job', 'The consistency MOST was asked for'],
    [{ ...JOB, scenario: { ...JOB.scenario, submit: 'spawn' } }, 'job', 'submitted as spawn'],
    [{ ...JOB, scenario: { statement: [{ name: 'one', operation: 'prepare' }] } }, 'job', 'issues the statement one as prepare'],
    [JOB, 'connect', 'nodejs could not connect to 127.0.0.1:1'],
  ]) {
    const [code, hello, failed] = await heard([line]);
    assert.strictEqual(hello.type, 'hello');
    assert.strictEqual(failed?.kind, kind, JSON.stringify(failed));
    assert.ok(failed.message.includes(words), failed.message);
    assert.strictEqual(code, 1);
  }
});

test('a worker ends without its parent', async () => {
  const [code, ...said] = await heard([]);
  assert.deepStrictEqual([code, said.length], [2, 1]);
});

test('without a server a worker plays its tape in turns, and finds the rows that are not as they should be', async () => {
  const right = nth => ticket(0, [cell(int(nth)), NULL], 1, 0, int(1), int(1), cell(int(nth)));
  const worker = [...Array(1010).keys()].map(right);
  taped(worker);
  fs.renameSync(path.join(scratch, 'tape'), JOB.tape.path);
  const lines = [JOB, { type: 'go' }, { type: 'ack' }, { type: 'go' }, { type: 'ack' }];
  const [code, hello, ready, end, first, , second] = await heard(lines, 'cqldyno-driver-nodejs-noop');
  assert.ok(hello.tape && hello.turns && hello.driver.capabilities.includes('offline'), JSON.stringify(hello));
  assert.deepStrictEqual([ready.type, end.type, second?.type, code], ['ready', 'end', 'done', 0]);
  assert.deepStrictEqual([first.issued, first.verified, first.issued_by_statement, first.errors], [500, 500, { one: 500 }, {}]);
  assert.ok(end.steady.statements === 491 && end.wall_ns > 0 && first.runtime.gc_cpu_ns >= 0, JSON.stringify(end));
});
