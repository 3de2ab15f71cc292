// The worker of the driver for Node.js: carries out one job of drivers/PROTOCOL.md.
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import { performance, PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { connected, describe, kindOf, messageOf, onItsOwn, settings, statements } from './driver.js';
import { Link, fail, say } from './link.js';
import { Tape } from './tape.js';
import { Window } from './window.js';

const LEAST_PROGRESS_MS = 500;
/** Fields of `end`, and Node's names for them. */
const USAGE = Object.entries({
  user_us: 'userCPUTime', sys_us: 'systemCPUTime', voluntary_switches: 'voluntaryContextSwitches',
  involuntary_switches: 'involuntaryContextSwitches', minor_faults: 'minorPageFault', major_faults: 'majorPageFault',
});
/** A worker of this name sends nothing. */
const isOffline = Boolean(process.argv[2]?.endsWith('-noop'));

// What a library prints goes to the log.
globalThis.console = new console.Console(process.stderr);
process.on('uncaughtException', error => {
  console.error(error.stack);
  fail('crash', `The driver threw where nobody catches it: ${error.message}`);
});

/** The pauses of the thread of JavaScript for garbage collection, in milliseconds. */
const pauses = [];
new PerformanceObserver(list => pauses.push(...list.getEntries())).observe({ entryTypes: ['gc'] });

/** For how long the thread of JavaScript has run, and for how long it has waited for a core, in nanoseconds. */
const scheduled = () => fs.readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ').map(Number);
const threads = () => fs.readdirSync('/proc/self/task').length;
const clock = () => ({ at: performance.now(), ns: process.hrtime.bigint() });

/** Returns at a time of CLOCK_MONOTONIC: sleeps, and looks at the clock in the last milliseconds. */
async function until(ns) {
  for (let ms; (ms = Number(BigInt(ns) - process.hrtime.bigint()) / 1e6) > 0;) await (ms > 3 ? sleep(ms - 2) : turn());
}

/** Issues all of a window, with progress now and then. */
async function run(window, everyMs) {
  const timer = everyMs > 0 && setInterval(() => say('progress', { issued: window.taken }), Math.max(everyMs, LEAST_PROGRESS_MS));
  await window.run();
  clearInterval(timer);
}

/** Why a job cannot be carried out, if so. */
function refusal({ mode, tape, scenario: { submit = 'slots', statement } }) {
  if (!['measure', 'connect'].includes(mode)) return `The mode ${mode} was asked for, which is for floor; nodejs knows measure and connect.`;
  if (tape?.statements?.length !== statement.length) return 'The job has no tape with the types of its statements; take a cqldyno that writes tapes.';
  if (!['slots', 'sequential'].includes(submit)) return `Statements were to be submitted as ${submit}; nodejs knows slots and sequential.`;
  const known = ['execute', ...describe(isOffline).capabilities];
  const lacking = statement.find(({ operation = 'execute' }) => !known.includes(operation));
  return lacking && `The scenario issues the statement ${lacking.name} as ${lacking.operation}, for which nodejs has no call.`;
}

/** What the step returns; an error ends the job with this kind. */
async function step(kind, does, what = '') {
  try {
    return await does();
  } catch (error) {
    console.error(error.stack);
    return fail(kindOf(error) === 'bad_credentials' ? 'bad_credentials' : kind, what + messageOf(error));
  }
}

async function main() {
  const link = new Link(), here = name => new URL(name, import.meta.url);
  const sources = fs.readdirSync(here('.')).filter(name => name.endsWith('.js')).map(name => fs.readFileSync(here(name)));
  const adapter = crypto.createHash('sha256').update(Buffer.concat(sources));
  const job = await link.next('job', 'hello', {
    protocol: 3, turns: true, tape: true, language: 'JavaScript', driver: describe(isOffline), settings: settings(),
    machine: { host: os.hostname(), cores: os.availableParallelism(), kernel: os.release() },
    build: { id: '', adapter: adapter.digest('hex'), compiler: `Node.js ${process.version}, V8 ${process.versions.v8}`, profile: 'release' },
  });
  const refused = refusal(job);
  if (refused) fail('job', refused);
  const { count, turns = 1, warmup, mode, rate } = job;
  await step('job', () => settings(job));
  const client = isOffline ? undefined : await step('connect', () => connected(job), `nodejs could not connect to ${job.target}: `);
  const made = await step('prepare', () => statements(job, client));
  const tape = await step('job', () => new Tape(job.tape.path, made));
  const read = async (of, first, ...how) => {
    const tickets = await step('job', () => tape.read(of));
    // What was decoded leaves the young generation now, and not in the window. What is older is collected when V8 does it.
    for (let nth = 0; nth < 2; nth++) globalThis.gc({ type: 'minor' });
    return new Window(tickets, first, ...how);
  };
  const slots = job.scenario.submit === 'sequential' ? 1 : job.concurrency;
  const warming = await read(warmup, 0, slots);
  await run(warming, job.progress_ms);
  const [failed] = Object.entries(warming.errors);
  if (failed) fail('warm_up', `The warm-up of ${warmup} statements had ${failed[1].count} errors of kind ${failed[0]}, the first: ${failed[1].first}`);
  if (mode === 'connect') for (const one of made) one.issue = onItsOwn(job, made, one);
  const edge = nth => Number(BigInt(count) * BigInt(nth) / BigInt(turns));
  const prepared = nth => read(edge(nth + 1) - edge(nth), edge(nth), mode === 'connect' ? 1 : slots, rate, job.trace?.patience_ms);
  let said = ['ready', { settings: settings(job, client), threads: threads() }];
  for (let nth = 0; nth < turns; nth++) {
    link.window = await prepared(nth);
    const go = await link.next('go', ...said), { window } = link;
    if (go.at_ns) await until(go.at_ns);
    const [ran, waited] = scheduled(), used = process.resourceUsage(), from = clock();
    await run(window, job.progress_ms);
    const to = clock(), use = process.resourceUsage(), spent = USAGE.map(([name, of]) => [name, use[of] - used[of]]);
    const acked = link.next('ack', 'end', { wall_ns: Number(to.ns - from.ns), at_ns: Number(to.ns), ...Object.fromEntries(spent), steady: window.steady });
    const found = threads(), [runs, waits] = scheduled();
    await acked;
    const paused = pauses.splice(0).reduce((sum, { startTime, duration }) => sum + (startTime >= from.at && startTime < to.at ? duration : 0), 0);
    // Pauses are wall time: without the part for which a thread that is not idle waits for a core they are CPU time.
    const gc = paused * 1e6 * (runs - ran) / (runs - ran + waits - waited);
    said = ['done', { ...window.done(made), threads: found, runtime: { gc_cpu_ns: Math.round(gc) || 0 } }];
  }
  say(...said);
  process.exit(0);
}

step('crash', main);
