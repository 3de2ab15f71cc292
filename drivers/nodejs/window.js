// A warm-up or a turn: issues its tickets, checks what comes back, and counts.
import { performance } from 'node:perf_hooks';
import { kindOf, messageOf } from './driver.js';
import { Histogram } from './histogram.js';
import { shown } from './types.js';

/** How late a timer of Node may be on an idle machine, and how long one waits at most, in milliseconds. */
const LATE_AFTER = 2, LONGEST_SLEEP = 100;
/** All slots are at work after so many rounds of tickets; a turn of fewer than the second number has no such part. */
const FIRST_EDGE = 2, LEAST_ROUNDS = 8;
/** How rows are checked: in any order, or only how many there are. */
const ANY_ORDER = 1, COUNTED = 2;
/** What became of a ticket. */
const UNANSWERED = 0, RIGHT = 1, FAILED = 2;
const NONE = [];

const ns = ms => Math.round(ms * 1e6);

/** Counts one at a place of a series. */
function addTo(series, place) {
  while (series.length <= place) series.push(0);
  series[Math.floor(place)]++;
}

export class Window {
  #edges = [];
  #noted;

  /**
   * The tickets have the numbers from `first` on. A rate is in statements per second; without one every slot issues after its answer.
   * With a patience, single statements are traced, and answers are not waited for longer than so many milliseconds.
   */
  constructor(tickets, first, concurrency, rate, patience) {
    Object.assign(this, { tickets, first, concurrency, rate, patience, latencies: new Histogram(), errors: {}, perSecond: [] });
    Object.assign(this, { isOver: false, taken: 0, answered: 0, failed: 0 });
    this.states = new Uint8Array(patience === undefined ? 0 : tickets.length);
    if (!rate && tickets.length >= LEAST_ROUNDS * concurrency) this.#edges = [FIRST_EDGE * concurrency, tickets.length - 1];
  }

  /** Issues no more. */
  stop() {
    this.isOver = true;
    this.onStop?.();
  }

  /** Issues all tickets, and returns after the last answer. */
  async run() {
    this.origin = performance.now();
    this.isOver = this.tickets.length === 0;
    const slots = () => Array.from({ length: Math.min(this.concurrency, this.tickets.length) }, () => this.#slot());
    await (this.rate ? this.#atRate() : Promise.all(slots()));
    // Answered tickets make room for those of the next turn, and answers that are late count nowhere.
    Object.assign(this, { tickets: NONE, isOver: true, isClosed: true });
  }

  /** The next ticket. */
  #take() {
    this.isOver ||= this.taken + 1 === this.tickets.length;
    this.tickets[this.taken].statement.issued++;
    return this.taken++;
  }

  async #slot() {
    while (!this.isOver) {
      if (this.#edges.includes(this.taken)) this.#note();
      await this.#one(this.#take());
    }
  }

  /** Notes time and CPU time when the ticket of an edge is taken; between both all slots are at work. */
  #note() {
    const { user, system } = process.cpuUsage(), wall = performance.now(), cpu = user + system, before = this.#noted, [from, to] = this.#edges;
    if (before) this.steady = { wall_ns: ns(wall - before.wall), cpu_ns: (cpu - before.cpu) * 1000, statements: to - from };
    this.#noted = { wall, cpu };
  }

  /** Starts each statement when it is due and a slot is free. Every answer looks for what is due, and a timer if none comes. */
  #atRate() {
    const { rate, origin } = this, due = nth => origin + nth * 1000 / rate;
    this.pace = { response: new Histogram(), lateness: new Histogram(), late: 0, latest: 0, last: origin, rightPer10Ms: [] };
    let free = this.concurrency, timer;
    return new Promise(resolve => {
      const start = () => {
        for (; !this.isOver && free > 0 && due(this.taken) <= performance.now(); free--) {
          const intended = due(this.taken);
          this.#one(this.#take(), intended).then(() => {
            free++;
            start();
          });
        }
        if (this.isOver && free === this.concurrency) resolve();
        else if (!this.isOver && free > 0) {
          const wait = Math.min(Math.max(due(this.taken) - performance.now(), 1), LONGEST_SLEEP);
          timer ??= setTimeout(() => start(timer = undefined), wait);
        }
      };
      const until = ms => setTimeout(resolve, ms + this.patience);
      if (this.patience !== undefined) {
        until((this.tickets.length - 1) * 1000 / rate);
        this.onStop = () => until(0);
      }
      start();
    });
  }

  /** Issues a ticket and counts its answer. */
  async #one(nth, intended) {
    const ticket = this.tickets[nth], { statement } = ticket, issued = performance.now();
    let came, error;
    try {
      const result = await statement.issue(ticket);
      const rows = result.isPaged() ? await all(result) : result.rows ?? NONE;
      came = performance.now();
      const wrong = unlike(ticket, result.columns, rows);
      error = wrong && ['wrong_row', `ticket ${this.first + nth} of the statement ${statement.name}: ${wrong}`];
    } catch (thrown) {
      came ??= performance.now();
      error = [kindOf(thrown), messageOf(thrown)];
    }
    if (!this.isClosed) this.#count(nth, issued, came, intended, error);
    await ticket.session?.shutdown();
  }

  #count(nth, issued, came, intended, error) {
    const { pace, origin, states } = this;
    this.answered++;
    this.latencies.record(ns(came - issued));
    addTo(this.perSecond, (came - origin) / 1000);
    if (error) {
      this.failed++;
      (this.errors[error[0]] ??= { count: 0, first: error[1] }).count++;
    }
    if (states.length > 0) {
      states[nth] = error ? FAILED : RIGHT;
      if (!error) addTo(pace.rightPer10Ms, (came - origin) / 10);
    }
    if (pace) {
      const lateness = issued - intended;
      pace.response.record(ns(came - intended));
      pace.lateness.record(ns(lateness));
      if (lateness > LATE_AFTER) pace.late++;
      Object.assign(pace, { latest: Math.max(pace.latest, lateness), last: Math.max(pace.last, came) });
    }
  }

  /** What `done` says of the turn. */
  done(statements) {
    const { taken, answered, failed, errors, rate, origin, pace, perSecond, latencies, states } = this, issued = {};
    for (const { name, issued: count } of statements) issued[name] = (issued[name] ?? 0) + count;
    const trace = () => ({ failed: this.#runs(FAILED), unanswered: this.#runs(UNANSWERED), answers_per_10ms: pace.rightPer10Ms });
    return {
      issued: taken, answered, verified: answered - failed, errors, issued_by_statement: issued, per_second: perSecond,
      histogram: answered > 0 ? latencies.encoded() : undefined,
      pace: pace && {
        rate, lasted_ns: ns(pace.last - origin), response: pace.response.encoded(), lateness: pace.lateness.encoded(),
        late_after_ns: ns(LATE_AFTER), late: pace.late, latest_ns: ns(pace.latest),
      },
      trace: states.length > 0 ? trace() : undefined,
    };
  }

  /** Runs of tickets in this state. */
  #runs(state) {
    const runs = [];
    for (let nth = 0; nth < this.taken; nth++) {
      if (this.states[nth] !== state) continue;
      if (nth > 0 && this.states[nth - 1] === state) runs.at(-1)[1]++;
      else runs.push([this.first + nth, 1]);
    }
    return runs;
  }
}

/** The rows of all pages. */
async function all(result) {
  const rows = [];
  for await (const row of result) rows.push(row);
  return rows;
}

/** What is wrong with the rows that came for a ticket; `columns` of the driver name their fields. */
function unlike({ statement: { columns: types }, due }, columns, rows) {
  const count = due === null ? 0 : due.rows;
  if (rows.length !== count) return `${count} rows were due, and ${rows.length} came`;
  if (count === 0 || due.check === COUNTED) return undefined;
  if (columns.length !== types.length) return `${types.length} columns were due, and ${columns.length} came`;
  let first;
  const isRow = (at, row) => types.every((type, nth) => {
    const cell = due.cells[at * types.length + nth], came = row[columns[nth].name];
    const isSame = type.equal(cell, came);
    if (!isSame) first ??= [at, nth, cell, came];
    return isSame;
  });
  const left = due.check === ANY_ORDER && new Set(rows.keys());
  const isLeft = row => {
    for (const at of left) if (isRow(at, row)) return left.delete(at);
    return false;
  };
  if (rows.every((row, at) => left ? isLeft(row) : isRow(at, row))) return undefined;
  const [at, nth, cell, came] = first;
  return `in row ${at + 1} column ${nth + 1} should be ${shown(cell)}, and ${shown(came)} came`;
}
