const LONGEST_NS = 3600e9, HALF = 1024;

/** The length of a number in bits; it may have more than 32. */
const bits = value => value >= 2 ** 32 ? 64 - Math.clz32(value / 2 ** 32) : 32 - Math.clz32(value);

/**
 * An HdrHistogram of nanoseconds with three significant digits, in its V2 form and base64: counts in ZigZag LEB128, and for a run of
 * zeros its length below zero. Undefined if there are none.
 */
export function histogram(times) {
  if (times.length === 0) return undefined;
  const counts = new Uint32Array((bits(LONGEST_NS) - 9) * HALF), body = [], head = Buffer.alloc(40);
  for (const ns of times) {
    const value = Math.min(Math.max(ns, 1), LONGEST_NS), shift = Math.max(bits(value) - 11, 0);
    counts[shift * HALF + Math.floor(value / 2 ** shift)]++;
  }
  const leb = signed => {
    let rest = signed < 0 ? -2 * signed - 1 : 2 * signed;
    for (; rest > 127; rest = Math.floor(rest / 128)) body.push(rest % 128 | 128);
    body.push(rest);
  };
  let zeros = 0;
  for (const count of counts) {
    if (count > 0 && zeros > 0) leb(-zeros);
    if (count > 0) leb(count);
    zeros = count > 0 ? 0 : zeros + 1;
  }
  [0x1c849313, body.length, 0, 3].forEach((value, nth) => head.writeInt32BE(value, nth * 4));
  head.writeBigInt64BE(1n, 16);
  head.writeBigInt64BE(BigInt(LONGEST_NS), 24);
  head.writeDoubleBE(1, 32);
  return Buffer.concat([head, Buffer.from(body)]).toString('base64');
}
