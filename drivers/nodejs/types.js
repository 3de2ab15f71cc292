// The CQL types of a tape: what the driver calls each, and how two of its values are compared.
import { types } from 'cassandra-driver';

const { dataTypes } = types;

/** Types whose values are JavaScript's own. */
const PRIMITIVE = new Set(['ascii', 'boolean', 'double', 'float', 'int', 'smallint', 'text', 'tinyint', 'varchar']);
/** What stands for a value in a set, if it is not its text. */
const KEY = { timestamp: value => value.getTime(), blob: value => value.toString('latin1') };

/** The texts between commas that no angle bracket encloses. */
function split(text) {
  let depth = 0;
  return text.replace(/[<>,]/g, sign => {
    depth += (sign === '<') - (sign === '>');
    return sign === ',' && depth === 0 ? '\n' : sign;
  }).split('\n');
}

/** The comparison, for values that may be null; fields that a shorter value lacks are undefined. */
const nullable = equal => (due, came) => due == null || came == null ? due == came : equal(due, came);
const ifAny = of => value => value == null ? value : of(value);

function scalar(name, integers) {
  if (name === 'null') return { keep: value => value, equal: (due, came) => due === came };
  const code = dataTypes[name];
  if (typeof code !== 'number' || code >= dataTypes.list || code === dataTypes.custom) {
    throw new Error(`The tape has a value of the type ${name}, which this worker does not know.`);
  }
  const info = { code };
  if (PRIMITIVE.has(name) || integers === 'bigint' && ['bigint', 'counter', 'varint'].includes(name)) {
    return { info, keep: value => value, key: value => value, equal: (due, came) => due === came };
  }
  const equal = name === 'timestamp' ? (due, came) => due.getTime() === came.getTime() : (due, came) => due.equals(came);
  return { info, keep: value => value, key: KEY[name] ?? String, equal: nullable(equal) };
}

/** A type whose values are elements in their order; `elementsOf` takes them out of a value, and `typeAt` is that of each. */
function sequence(info, typeAt, elementsOf) {
  const each = (value, of) => elementsOf(value).map((element, nth) => of(typeAt(nth))(element));
  return {
    info,
    keep: ifAny(value => each(value, type => type.keep)),
    key: value => JSON.stringify(each(value, type => ifAny(element => String(type.key(element))))),
    equal: nullable((due, came) => {
      const elements = elementsOf(came);
      return elements.length === due.length && due.every((one, nth) => typeAt(nth).equal(one, elements[nth]));
    }),
  };
}

/** A type whose values have no order: keys with a value each, or elements that stand for themselves. */
function keyed(info, keys, values) {
  const each = (value, key, of) => Array.from(value.entries(), ([one, element]) => [key(one), of(element)]);
  return {
    info,
    keep: ifAny(value => new Map(each(value, keys.key, values.keep))),
    key: value => JSON.stringify(each(value, one => String(keys.key(one)), one => String(values.key(one))).sort()),
    equal: nullable((due, came) => {
      for (const [one, element] of came.entries()) if (!values.equal(due.get(keys.key(one)), element)) return false;
      return due.size === came.size;
    }),
  };
}

/** Types of several parts, from these and their names for the driver. A tape does not name a UDT's fields, which come in their order. */
const COMPOSED = {
  frozen: ([one]) => one,
  list: ([one], [info]) => sequence({ code: dataTypes.list, info }, () => one, value => value),
  set: ([one], [info]) => keyed({ code: dataTypes.set, info }, one, { keep: () => true, key: () => '', equal: due => due === true }),
  map: ([key, value], info) => keyed({ code: dataTypes.map, info }, key, value),
  tuple: (of, info) => sequence({ code: dataTypes.tuple, info }, nth => of[nth], value => value.elements),
  udt: (of, infos) => {
    const fields = infos.map((type, nth) => ({ name: String(nth), type }));
    return sequence({ code: dataTypes.udt, info: { fields } }, nth => of[nth], value => Object.values(value));
  },
  vector: ([one], [type], dimension) => (
    sequence({ code: dataTypes.custom, customTypeName: 'vector', info: [type, dimension] }, () => one, value => value.elements)),
};

/**
 * A type from its text: `info` is how the driver knows it, `keep` turns a value into what is due, `equal` compares that with another
 * value, and `key` is the same primitive for equal values. Sets and maps are kept by the keys of their elements.
 */
export function typeOf(text, integers) {
  const [, name, inside] = /^\s*(\w+)\s*(?:<(.*)>)?\s*$/.exec(text) ?? [, text], composed = COMPOSED[name];
  if (inside === undefined || !composed) return scalar(name, integers);
  const parts = split(inside), dimension = name === 'vector' && Number(parts.pop());
  const of = parts.map(part => typeOf(part, integers));
  return composed(of, of.map(({ info }) => info), dimension);
}

/** A value for a message, cut after 80 characters. */
export function shown(value) {
  const text = one => {
    if (one == null) return 'null';
    if (Buffer.isBuffer(one)) return `0x${one.toString('hex', 0, 40)}`;
    if (one instanceof Date) return one.toISOString();
    if (typeof one === 'string') return JSON.stringify(one);
    const fields = one.elements ?? (one.constructor === Object ? Object.values(one) : one[Symbol.iterator] && [...one]);
    return fields ? `[${fields.slice(0, 20).map(text).join(', ')}]` : String(one);
  };
  const whole = text(value);
  return whole.length > 80 ? `${whole.slice(0, 80)}... of ${whole.length} characters` : whole;
}
