// The driver: what it says of itself, its settings, its statements, and how its errors are named.
import fs from 'node:fs';
import { Client, Encoder, errors, policies, types, version } from 'cassandra-driver';
import { typeOf } from './types.js';

const { loadBalancing, retry: { FallthroughRetryPolicy } } = policies;
const MOST_IN_FLIGHT = { equal: 32768, default: 2048 };
const CONSISTENCIES = new Map(Object.entries(types.consistencyToString).map(([code, name]) => [name, Number(code)]));

const OPTIONS = [
  ['coalescing', 'BYTES', '65536', 'How many bytes of requests it writes at once (coalescingThreshold).', '8192'],
  ['routing', 'token-aware|round-robin', 'token-aware', 'Sends each statement to a replica of its row, or to each node in turn.'],
  ['timestamps', 'server|client', 'server', 'Leaves the time of a write to the server, or sends one of the client\'s own with every statement.'],
  ['integers', 'long|bigint', 'long', 'Has a bigint as an object of the class Long and a varint as an Integer, or both as JavaScript\'s BigInt.'],
  ['buffers', 'copied|shared', 'copied', 'Copies blobs and uuids out of what was received, or hands out windows into it (copyBuffer).'],
].map(([name, values, initial, about, tried]) => ({ name, values, default: initial, about, tried }));

const CAVEATS = [
  'JavaScript runs on one thread, so `current` and `multi:N` are the same for it. V8 adds threads that help to collect garbage and to ' +
    'compile, and libuv four for files; all are in its CPU time.',
  'Its garbage collection is the time for which V8 stopped the thread of JavaScript, without waiting for a core and other threads.',
  'It asks for the result\'s metadata with every SELECT, which cannot be set, so its answers are longer.',
  'It has no call for preparing alone, so the scenario prepare is not possible.',
  'Its control connection carries statements, too: one of those that were asked for is subscribed to events.',
  'A timer of Node.js has a resolution of a millisecond, so at a rate its statements start up to two late.',
  'Sets and maps are JavaScript\'s Set and Map; without this setting it uses arrays and objects.',
];

/** Its own default policy, which uses one datacenter. If none is named, it is that of the first node; the driver would refuse. */
class Near extends loadBalancing.DefaultLoadBalancingPolicy {
  init(client, hosts, callback) {
    this.localDc ??= hosts.values()[0].datacenter;
    super.init(client, hosts, callback);
  }
}

export const describe = isOffline => ({
  name: 'nodejs', version, caveats: CAVEATS, options: OPTIONS, most_in_flight: MOST_IN_FLIGHT,
  libraries: [
    { name: 'node', version: process.versions.node }, { name: 'v8', version: process.versions.v8 },
    { name: 'long', version: JSON.parse(fs.readFileSync(new URL('package.json', import.meta.resolve('long')))).version },
  ],
  capabilities: [
    'request_timeout', 'paging', 'reprepare', 'reconnect', 'notices_close', 'closes_sessions', 'credentials', 'tls',
    'batch', 'unprepared', 'connect', ...isOffline ? ['offline'] : [],
  ],
});

/** The contender's options and the defaults of the others. */
function optionsOf(asked = {}) {
  for (const [name, value] of Object.entries(asked)) {
    const known = OPTIONS.find(one => one.name === name);
    if (!known) throw new Error(`nodejs has no option \`${name}\`; it has ${OPTIONS.map(one => one.name).join(', ')}.`);
    const takes = known.values === 'BYTES' ? /^[1-9]\d{0,8}$/ : new RegExp(`^(${known.values})$`);
    if (!takes.test(value)) throw new Error(`nodejs' option \`${name}\` was set to ${value}; it takes ${known.values}.`);
  }
  return { ...Object.fromEntries(OPTIONS.map(one => [one.name, one.default])), ...asked };
}

const encoding = ({ integers, buffers }) => ({
  map: Map, set: Set, copyBuffer: buffers === 'copied', useBigIntAsLong: integers === 'bigint', useBigIntAsVarint: integers === 'bigint',
});

/** Files of TLS. Without other settings Node verifies that a certificate is for the address that is dialled. */
function tls({ ca, client }) {
  const read = file => file && fs.readFileSync(file);
  return { rejectUnauthorized: ca !== undefined, ca: read(ca), cert: read(client?.certificate), key: read(client?.key) };
}

/** The driver's configuration for a job; what is not set is its own. */
function configuration(job) {
  const { datacenter, credentials, options: asked = {}, settings: kind, connections } = job, own = optionsOf(asked);
  // A worker that sends nothing has no address.
  const target = job.target?.length > 0 ? job.target : EQUAL.target, consistency = CONSISTENCIES.get(job.consistency);
  const isEqual = kind !== 'default', only = (is, settings) => is ? settings : {}, sets = (name, of) => only(isEqual || name in asked, of);
  const inTurn = () => datacenter ? new loadBalancing.DCAwareRoundRobinPolicy(datacenter) : new loadBalancing.RoundRobinPolicy();
  if (isEqual && consistency === undefined) throw new Error(`The consistency ${job.consistency} was asked for, which the driver does not know.`);
  return {
    contactPoints: target, encoding: encoding(own), credentials: credentials && { username: credentials.user, password: credentials.password },
    sslOptions: job.tls && (job.tls.read ??= tls(job.tls)),
    protocolOptions: { port: Number(target[0].split(':').pop()), ...only(isEqual, { maxVersion: 4 }) },
    policies: {
      loadBalancing: own.routing === 'round-robin' ? inTurn() : new Near(datacenter), ...only(isEqual, { retry: new FallthroughRetryPolicy() }),
      ...sets('timestamps', only(own.timestamps === 'server', { timestampGeneration: null })),
    },
    queryOptions: only(isEqual, { consistency, fetchSize: job.page_size }),
    socketOptions: { ...sets('coalescing', { coalescingThreshold: Number(own.coalescing) }), ...only(isEqual, { readTimeout: job.request_timeout_ms ?? 0 }) },
    pooling: only(isEqual, {
      coreConnectionsPerHost: { [types.distance.local]: connections, [types.distance.remote]: connections },
      // An answer frees its stream a moment after it was handed over.
      maxRequestsPerConnection: Math.min(Math.max(2 * job.concurrency, MOST_IN_FLIGHT.default), MOST_IN_FLIGHT.equal),
    }),
  };
}

const lasting = ms => ms > 0 ? ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms` : 'none';

/** The equal settings, before there is a job. */
const EQUAL = { target: ['127.0.0.1:9042'], consistency: 'LOCAL_ONE', connections: 1, page_size: 5000, concurrency: 1 };

/** What the driver makes of the settings, read from a client that may be connected. */
export function settings(job = EQUAL, client = new Client(configuration(job))) {
  const { connected: isOpen, controlConnection, options } = client, { queryOptions, protocolOptions, pooling, socketOptions } = options;
  const { loadBalancing: routing, retry, timestampGeneration } = options.policies, hosts = isOpen ? client.hosts.values() : [];
  const within = name => name ? ` in ${name}` : '';
  const kind = routing instanceof Near ? 'token-aware' : 'round-robin';
  const limits = new Set(hosts.map(host => host.datacenter)).size > 1 && routing.localDc;
  const each = hosts.filter(host => routing.getDistance(host) === types.distance.local).map(host => client.getState().getOpenConnections(host));
  const highest = protocolOptions.maxVersion ? `v${protocolOptions.maxVersion}` : 'the highest that the server knows';
  const found = [
    ['protocol version', isOpen ? `v${controlConnection.protocolVersion}` : highest, 'v4'],
    ['consistency', types.consistencyToString[queryOptions.consistency ?? types.consistencies.localOne], job.consistency],
    ['compression', 'none', 'none'],
    ['retries', retry instanceof FallthroughRetryPolicy ? 'none' : 'its own policy', 'none'],
    ['speculative execution', 'none', 'none'],
    ['routing', kind + within(job.datacenter ?? limits), `token-aware${within(job.datacenter)}`],
    ['connections', `${isOpen ? Math.min(...each) : pooling.coreConnectionsPerHost?.[0] ?? 1} per node`, `${job.connections} per node`],
    ['page size', String(queryOptions.fetchSize), String(job.page_size)],
    ['request timeout', lasting(socketOptions.readTimeout), lasting(job.request_timeout_ms ?? 0)],
    ['timestamps', timestampGeneration === null ? 'server' : 'client', 'server'],
    ['serial consistency', 'none', 'none'],
  ];
  const isFree = name => job.settings === 'default' || name in (job.options ?? {});
  return found.map(([name, value, due]) => ({ name, value, as_asked: isFree(name) || value === due }));
}

export async function connected(job) {
  const client = new Client(configuration(job));
  await client.connect();
  return client;
}

/** Prepares a text and returns its markers' types. The driver has no call for that: without a valid routing key an execution ends there. */
async function prepare(client, cql) {
  try {
    await client.execute(cql, [], { prepare: true, routingKey: {} });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  return client.metadata.getPreparedInfo(client.keyspace, cql).meta.columns.map(column => column.type);
}

/** The statements of a job, prepared by a client; a worker that sends nothing has none. */
export async function statements(job, client) {
  const { integers } = optionsOf(job.options), made = job.scenario.statement.map(one => ({ operation: 'execute', ...one }));
  // What is decoded beforehand may be windows into the tape.
  const encoder = new Encoder(4, { encoding: encoding({ integers, buffers: 'shared' }) }), decoder = info => bytes => encoder.decode(bytes, info);
  for (const [nth, one] of made.entries()) {
    const { values, columns } = job.tape.statements[nth];
    const isPrepared = client && one.operation !== 'unprepared', width = values.length, markers = values.map(text => typeOf(text, integers).info);
    one.hints = values.map(text => text === 'null' ? undefined : text);
    one.columns = columns.map(text => typeOf(text, integers));
    one.decoded = one.columns.map(({ info }) => decoder(info));
    try {
      one.bound = (isPrepared ? await prepare(client, one.cql) : markers).map(decoder);
    } catch (error) {
      throw new Error(`The statement ${one.name} (${one.cql}) could not be prepared: ${messageOf(error)}`, { cause: error });
    }
    const row = (cells, at) => ({ query: one.cql, params: cells.slice(at * width, (at + 1) * width) });
    const batch = cells => Array.from({ length: cells.length / width }, (_, at) => row(cells, at));
    one.arranged = one.operation === 'batch' ? batch : cells => cells;
    one.issue = client ? one.operation === 'connect' ? onItsOwn(job, [], one) : issuer(one, client) : answered;
    if (!client) one.resultOf = resultOf;
  }
  return made;
}

/** How a ticket of the statement is issued on a client: it returns a promise of the driver's result. */
function issuer({ operation, cql, logged = false, hints }, client) {
  const how = { batch: { prepare: true, logged }, unprepared: { prepare: false, hints } }[operation] ?? { prepare: true };
  return operation === 'batch' ? ({ values }) => client.batch(values, how) : ({ values }) => client.execute(cql, values, how);
}

/** How a ticket is issued on a session of its own, on which all of `before` are prepared; the ticket then has the session to close. */
export const onItsOwn = (job, before, statement) => async ticket => {
  ticket.session = await connected(job);
  for (const one of before) if (one.operation !== 'unprepared') await prepare(ticket.session, one.cql);
  return issuer(statement, ticket.session)(ticket);
};

/** Without a server: the due rows come in the next turn of the event loop, as the driver would return them. */
const NOTHING = { isPaged: () => false };
const answered = ({ due }) => new Promise(resolve => setImmediate(resolve, due?.result ?? NOTHING));
function resultOf(cells, width) {
  const columns = Array.from({ length: width }, (_, nth) => ({ name: `c${nth}` }));
  const row = nth => Object.fromEntries(columns.map(({ name }, column) => [name, cells[nth * width + column]]));
  return { ...NOTHING, columns, rows: Array.from({ length: cells.length / width || 0 }, (_, nth) => row(nth)) };
}

/** Error codes of native_protocol_v4.spec section 9 that have a name of their own. */
const KINDS = {
  0x000a: 'protocol', 0x0100: 'bad_credentials', 0x1000: 'unavailable', 0x1001: 'overloaded', 0x1002: 'bootstrapping', 0x1100: 'server_timeout',
  0x1200: 'server_timeout', 0x2000: 'syntax', 0x2100: 'unauthorized', 0x2200: 'invalid', 0x2400: 'already_exists', 0x2500: 'unprepared',
};

/** An error's message; the driver adds a stack to some. */
export const messageOf = error => error.message.split('\n')[0];

export function kindOf(error) {
  if (error instanceof errors.AuthenticationError) return 'bad_credentials';
  if (error instanceof errors.ResponseError) return KINDS[error.code] ?? 'server';
  if (error instanceof errors.OperationTimedOutError) return 'request_timeout';
  if (error instanceof errors.BusyConnectionError) return 'queue_full';
  if (error instanceof errors.NoHostAvailableError) {
    return Object.values(error.innerErrors ?? {}).filter(inner => inner instanceof Error).map(kindOf).find(kind => kind !== 'other') ?? 'connection_lost';
  }
  if (error.isSocketError || typeof error.syscall === 'string') return 'connection_lost';
  return error instanceof TypeError || error instanceof RangeError ? 'codec' : 'other';
}
