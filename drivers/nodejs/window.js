// A warm-up or a turn: issues its tickets and notes what came back; it counts afterwards.
import { performance } from 'node:perf_hooks';
import { kindOf, messageOf } from './driver.js';
import { histogram } from './histogram.js';
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

export class Window {
  #edges = [];
  #noted;
  /** When a ticket is to be issued at the rate. */
  #due = nth => this.origin + nth * 1000 / this.rate;

  /**
   * The tickets have the numbers from `first` on. A rate is in statements per second; without one every slot issues after its answer.
   * With a patience, single statements are traced, and answers are not waited for longer than so many milliseconds.
   */
  constructor(tickets, first, concurrency, rate, patience) {
    const count = tickets.length, times = () => new Float64Array(count);
    Object.assign(this, { tickets, first, concurrency, rate, patience, errors: {}, isOver: count === 0, taken: 0 });
    Object.assign(this, { issued: times(), came: times(), states: new Uint8Array(count) });
    if (!rate && count >= LEAST_ROUNDS * concurrency) this.#edges = [FIRST_EDGE * concurrency, count - 1];
  }

  /** Issues no more. */
  stop() {
    this.isOver = true;
    this.onStop?.();
  }

  /** Issues all tickets, and returns after the last answer. */
  async run() {
    this.origin = performance.now();
    const slots = () => Array.from({ length: Math.min(this.concurrency, this.tickets.length) }, () => this.#slot());
    await (this.rate ? this.#atRate() : Promise.all(slots()));
    // Answers that are late count nowhere.
    Object.assign(this, { isOver: true, isClosed: true });
  }

  async #slot() {
    while (!this.isOver) {
      if (this.#edges.includes(this.taken)) this.#note();
      await this.#one();
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
    let free = this.concurrency, timer;
    return new Promise(resolve => {
      const start = () => {
        for (; !this.isOver && free > 0 && this.#due(this.taken) <= performance.now(); free--) this.#one().then(() => start(free++));
        if (this.isOver && free === this.concurrency) resolve();
        else if (!this.isOver && free > 0) {
          const wait = Math.min(Math.max(this.#due(this.taken) - performance.now(), 1), LONGEST_SLEEP);
          timer ??= setTimeout(() => start(timer = undefined), wait);
        }
      };
      const until = ms => this.patience === undefined || setTimeout(resolve, ms + this.patience);
      until((this.tickets.length - 1) * 1000 / this.rate);
      this.onStop = () => until(0);
      start();
    });
  }

  /** Issues the next ticket, and notes what became of it. */
  async #one() {
    const nth = this.taken++, ticket = this.tickets[nth], { statement } = ticket;
    this.isOver ||= this.taken === this.tickets.length;
    this.issued[nth] = performance.now();
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
    if (!this.isClosed) {
      this.came[nth] = came;
      this.states[nth] = error ? FAILED : RIGHT;
      if (error) (this.errors[error[0]] ??= { count: 0, first: error[1] }).count++;
    }
    await ticket.session?.shutdown();
  }

  /** What `done` says of the turn. The tickets make room for those of the next one. */
  done(statements) {
    const { tickets, taken, errors, rate, origin, issued, came, states } = this;
    const byStatement = Object.fromEntries(statements.map(({ name }) => [name, 0]));
    for (let nth = 0; nth < taken; nth++) byStatement[tickets[nth].statement.name]++;
    this.tickets = NONE;
    const answered = [...states.subarray(0, taken).keys()].filter(nth => states[nth] !== UNANSWERED);
    const right = answered.filter(nth => states[nth] === RIGHT), late = nth => issued[nth] - this.#due(nth);
    const times = of => histogram(answered.map(nth => ns(of(nth))));
    const largest = (of, least) => answered.reduce((most, nth) => Math.max(most, of(nth)), least);
    return {
      issued: taken, answered: answered.length, verified: right.length, errors, issued_by_statement: byStatement,
      per_second: series(answered.map(nth => (came[nth] - origin) / 1000)), histogram: times(nth => came[nth] - issued[nth]),
      pace: rate && {
        rate, lasted_ns: ns(largest(nth => came[nth], origin) - origin), response: times(nth => came[nth] - this.#due(nth)), lateness: times(late),
        late_after_ns: ns(LATE_AFTER), late: answered.filter(nth => late(nth) > LATE_AFTER).length, latest_ns: ns(largest(late, 0)),
      },
      trace: this.patience === undefined ? undefined : {
        failed: this.#runs(FAILED), unanswered: this.#runs(UNANSWERED), answers_per_10ms: series(right.map(nth => (came[nth] - origin) / 10)),
      },
    };
  }

  /** Runs of tickets in this state. */
  #runs(state) {
    const runs = [];
    for (let nth = 0; nth < this.taken; nth++) {
      const [before, own] = [this.states[nth - 1], this.states[nth]];
      if (own === state && before === state) runs.at(-1)[1]++;
      else if (own === state) runs.push([this.first + nth, 1]);
    }
    return runs;
  }
}

/** How many there are at each place. */
function series(places) {
  const counts = [];
  for (const place of places.map(Math.floor)) counts[place] = (counts[place] ?? 0) + 1;
  return Array.from(counts, count => count ?? 0);
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
  const cell = (at, nth) => due.cells[at * types.length + nth];
  const other = (at, row) => types.findIndex((type, nth) => !type.equal(cell(at, nth), row[columns[nth].name]));
  const left = due.check === ANY_ORDER && new Set(rows.keys());
  const isLeft = row => { for (const at of left) if (other(at, row) < 0) return left.delete(at); return false; };
  const at = rows.findIndex((row, at) => left ? !isLeft(row) : other(at, row) >= 0);
  if (at < 0) return undefined;
  const nth = Math.max(other(at, rows[at]), 0);
  return `in row ${at + 1} column ${nth + 1} should be ${shown(cell(at, nth))}, and ${shown(rows[at][columns[nth].name])} came`;
}
