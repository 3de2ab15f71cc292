// An HdrHistogram of nanoseconds with three significant digits.

const LONGEST_NS = 3600e9, HALF = 1024;

/** The length of a number in bits; it may have more than 32. */
const bits = value => value >= 2 ** 32 ? 64 - Math.clz32(value / 2 ** 32) : 32 - Math.clz32(value);

export class Histogram {
  counts = new Uint32Array((bits(LONGEST_NS) - 11) * HALF + 2 * HALF);

  /** Counts a time, which is a whole number between one nanosecond and an hour then. */
  record(ns) {
    const value = Math.min(Math.max(Math.round(ns), 1), LONGEST_NS), shift = Math.max(bits(value) - 11, 0);
    this.counts[shift * HALF + Math.floor(value / 2 ** shift)]++;
  }

  /** The V2 form in base64: counts in ZigZag LEB128, and for a run of zeros its length below zero. */
  encoded() {
    const body = [], head = Buffer.alloc(40);
    let before = -1;
    const leb = signed => {
      let rest = signed < 0 ? -2 * signed - 1 : 2 * signed;
      for (; rest > 127; rest = Math.floor(rest / 128)) body.push(rest % 128 | 128);
      body.push(rest);
    };
    this.counts.forEach((count, at) => {
      if (count === 0) return;
      if (at > before + 1) leb(before + 1 - at);
      leb(count);
      before = at;
    });
    [0x1c849313, body.length, 0, 3].forEach((value, nth) => head.writeInt32BE(value, nth * 4));
    head.writeBigInt64BE(1n, 16);
    head.writeBigInt64BE(BigInt(LONGEST_NS), 24);
    head.writeDoubleBE(1, 32);
    return Buffer.concat([head, Buffer.from(body)]).toString('base64');
  }
}
