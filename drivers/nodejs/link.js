// Both directions of the worker protocol: a JSON object on each line.
import fs from 'node:fs';
import readline from 'node:readline';

const FAILED = 1, ABANDONED = 2;

/** Writes a message at once. */
export function say(type, fields) {
  fs.writeSync(1, `${JSON.stringify({ type, ...fields })}\n`);
}

/** Says why the job cannot go on, and ends the process. */
export function fail(kind, message) {
  say('failed', { kind, message });
  process.exit(FAILED);
}

export class Link {
  /** The window that `stop` ends. */
  window;
  #due;
  #heard;

  constructor() {
    readline.createInterface({ input: process.stdin }).on('line', line => this.#hear(line)).on('close', () => process.exit(ABANDONED));
  }

  /** The next message, which must be of this type. What is said before it comes with it, because the parent may answer at once. */
  next(type, ...said) {
    this.#due = type;
    say(...said);
    return new Promise(resolve => this.#heard = resolve);
  }

  #hear(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      fail('protocol', `A message of the worker protocol was expected, and the line ${JSON.stringify(line.slice(0, 80))} was found.`);
    }
    if (message?.type === 'stop' && this.window && this.#due !== 'go') {
      // One that crosses `end` changes nothing.
      this.window.stop();
    } else if (message?.type !== this.#due) {
      fail('protocol', `The parent said ${message?.type}, and ${this.#due ?? 'nothing'} was due.`);
    } else {
      this.#due = undefined;
      this.#heard(message);
    }
  }
}
