// The tape of a job: its tickets, decoded with the driver's own decoder before they are issued.
import fs from 'node:fs';
import { types } from 'cassandra-driver';

const MAGIC = 'CQLTAPE1', CHUNK = 1 << 20;
const ANSWER = 0, TICKET = 1, NO_ROWS = 0, INLINE = 1, POOLED = 2;

/** Numbers and values one after the other. */
class Reader {
  constructor(bytes, pool) {
    Object.assign(this, { bytes, pool, at: 0 });
  }
  number(width) {
    return this.bytes.readUIntBE((this.at += width) - width, width);
  }
  cell(decode) {
    const length = this.number(4) | 0;
    if (length === -1) return null;
    if (length === -2) return types.unset;
    if (length === -3) return decode(within(this.pool, this.number(4), this.number(4)));
    return decode(within(this.bytes, (this.at += length) - length, length));
  }
}

function within(bytes, from, length) {
  if (length < 0 || from + length > bytes.length) throw new RangeError(`${length} bytes at ${from} reach beyond the end`);
  return bytes.subarray(from, from + length);
}

export class Tape {
  #file;
  #chunk = Buffer.alloc(0);
  #answers = [];
  #records = 0;

  /** Opens it. Of each statement `bound` decodes the markers, and `columns` are the types of what comes back. */
  constructor(path, statements) {
    Object.assign(this, { path, statements });
    this.#named(() => {
      this.#file = fs.openSync(path, 'r');
      if (this.#take(MAGIC.length).toString('latin1') !== MAGIC) throw new Error(`it does not begin with ${MAGIC}`);
      this.pool = this.#take(this.#take(4).readUInt32BE());
    });
  }

  /** The next tickets. */
  read(count) {
    const tickets = new Array(count);
    this.#named(() => {
      for (let nth = 0; nth < count; this.#records++) {
        const record = new Reader(this.#take(this.#take(4).readUInt32BE()), this.pool), kind = record.number(1);
        if (kind === ANSWER) this.#answers.push({ record, decoded: new Map() });
        else if (kind === TICKET) tickets[nth++] = this.#ticket(record);
        else throw new Error('it is neither a ticket nor an answer');
      }
    });
    return tickets;
  }

  #ticket(record) {
    const statement = this.statements[record.number(2)];
    if (!statement) throw new Error('its statement is not one of the job');
    const values = new Array(record.number(4)), { bound } = statement;
    if (values.length > 0 && !(values.length % bound.length === 0)) throw new Error(`it has ${values.length} values for ${bound.length} markers`);
    for (let nth = 0; nth < values.length; nth++) values[nth] = record.cell(bound[nth % bound.length]);
    return { statement, values: statement.arranged(values), due: this.#due(record, statement) };
  }

  #due(record, statement) {
    const kind = record.number(1);
    if (kind === NO_ROWS) return null;
    if (kind === INLINE) return answer(record, statement);
    const index = kind === POOLED ? record.number(4) : -1, pooled = this.#answers[index];
    if (!pooled) throw new Error(`its answer is the one of index ${index}, and ${this.#answers.length} came before it`);
    // Its cells have the types of the statement that it answers.
    if (!pooled.decoded.has(statement)) pooled.decoded.set(statement, answer(Object.assign(pooled.record, { at: 1 }), statement));
    return pooled.decoded.get(statement);
  }

  /** The next bytes. A chunk is not used again, because values are windows into it. */
  #take(length) {
    if (length > this.#chunk.length) {
      const chunk = Buffer.allocUnsafeSlow(Math.max(length, CHUNK));
      let end = this.#chunk.copy(chunk);
      for (let read = 1; end < length && read > 0; end += read) read = fs.readSync(this.#file, chunk, end, chunk.length - end, null);
      if (end < length) throw new Error('it ends too early');
      this.#chunk = chunk.subarray(0, end);
    }
    const taken = this.#chunk.subarray(0, length);
    this.#chunk = this.#chunk.subarray(length);
    return taken;
  }

  #named(does) {
    try {
      does();
    } catch (error) {
      throw new Error(`The tape ${this.path} cannot be used, at its record ${this.#records}: ${error.message}.`, { cause: error });
    }
  }
}

/** What is due: `check`, the number of `rows`, and their cells one after the other; for a worker that sends nothing also a result of them. */
function answer(record, { columns, decoded, resultOf }) {
  const check = record.number(1), rows = record.number(4), width = record.number(4), cells = [];
  if (width > 0 && width !== columns.length) throw new Error(`it has an answer of ${width} columns, and the job says ${columns.length}`);
  for (let nth = 0; nth < rows * width; nth++) cells.push(record.cell(decoded[nth % width]));
  return { check, rows, cells: cells.map((cell, nth) => columns[nth % width].keep(cell)), result: resultOf?.(cells, width) };
}
