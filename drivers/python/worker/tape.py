"""The tape of drivers/PROTOCOL.md: what is issued, and what must come back, as values that an application would bind."""
import decimal, struct, uuid
from collections import Counter

FLOAT, DOUBLE = (struct.Struct(">" + code).unpack for code in "fd")
U32 = struct.Struct(">I").unpack_from
I32 = struct.Struct(">i").unpack_from
# The bytes of an element of a vector, for the types that have a fixed length.
FIXED = {"float": 4, "double": 8, "int": 4, "bigint": 8, "timestamp": 8, "uuid": 16, "timeuuid": 16, "boolean": 1}


def integer(raw):
    return int.from_bytes(raw, "big", signed=True)


def text(raw):
    return raw.decode()


# What all packages take and return alike; each adds or replaces others.
SCALARS = {
    "bigint": integer, "int": integer, "smallint": integer, "tinyint": integer, "varint": integer, "counter": integer,
    "float": lambda raw: FLOAT(raw)[0], "double": lambda raw: DOUBLE(raw)[0], "boolean": lambda raw: raw != b"\0",
    "text": text, "varchar": text, "ascii": text, "blob": bytes,
    "uuid": lambda raw: uuid.UUID(bytes=raw), "timeuuid": lambda raw: uuid.UUID(bytes=raw),
    "decimal": lambda raw: decimal.Decimal(f"{integer(raw[4:])}E{-integer(raw[:4])}"),
}


class Broken(Exception):
    """A tape that cannot be played, in a full sentence."""


class Unordered(list):
    """Rows that may come in any order."""


def vint(raw, at):
    """An unsigned [vint] of CQL, and where it ends."""
    more = 8 - (raw[at] ^ 255).bit_length()
    return int.from_bytes(bytes([raw[at] & (255 >> more)]) + raw[at + 1:at + 1 + more], "big"), at + 1 + more


def duration(raw):
    """Months, days and nanoseconds."""
    parts, at = [], 0
    for _ in range(3):
        folded, at = vint(raw, at)
        parts.append(folded >> 1 ^ -(folded & 1))
    return parts


def parsed(kind):
    """The name and the parameters of a type: `map<text, list<int>>` is ("map", ["text", "list<int>"])."""
    name, _, inside = kind.strip().partition("<")
    parts, depth, start = [], 0, 0
    inside = inside[:-1] + "," if inside else ""
    for at, character in enumerate(inside):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            parts.append(inside[start:at].strip())
            start = at + 1
    return (name, parts) if name != "frozen" else parsed(parts[0])


def elements(raw, at, decoders):
    """The values that follow each other, each with its length; those that are not there are null."""
    for decode in decoders:
        length, = I32(raw, at) if at < len(raw) else (-1,)
        yield decode(raw[at + 4:at + 4 + length]) if length >= 0 else None
        at += 4 + max(length, 0)


def decoder(kind, scalars):
    """The function from the bytes of a value to the value."""
    name, parts = parsed(kind)
    if name in scalars:
        return scalars[name]
    if name == "vector":
        (of, _), decode = parsed(parts[0]), decoder(parts[0], scalars)
        if of not in FIXED:
            raise Broken(f"The tape has a {kind}, and this worker decodes vectors of {', '.join(FIXED)}; leave it out.")
        return lambda raw: [decode(raw[at:at + FIXED[of]]) for at in range(0, len(raw), FIXED[of])]
    if name not in ("list", "set", "map", "tuple", "udt"):
        raise Broken(f"The tape has the type {name}, which this driver cannot bind or decode; leave it out.")
    of = [decoder(part, scalars) for part in parts]
    if name in ("tuple", "udt"):
        return lambda raw: tuple(elements(raw, 0, of))

    def collection(raw):
        values = elements(raw, 4, of * U32(raw)[0])
        return dict(zip(values, values)) if name == "map" else list(values) if name == "list" else set(values)
    return collection


class Tape:
    """A tape that is read from its beginning to its end, a turn at a time."""

    def __init__(self, tape, operations, scalars, unset):
        self.path, self.operations, self.unset, self.pooled, self.known = tape["path"], operations, unset, [], {}
        try:
            self.file = open(self.path, "rb", buffering=1 << 20)
        except OSError as error:
            raise Broken(f"The tape cannot be read: {error}.") from error
        if (magic := self.file.read(8)) != b"CQLTAPE1":
            raise Broken(f"{self.path} begins with {magic!r}, and CQLTAPE1 was expected: it is no tape of this version.")
        self.pool = self.read(U32(self.read(4))[0])
        told = [[[decoder(kind, scalars) for kind in one[part]] for part in ("values", "columns")] for one in tape["statements"]]
        self.values, self.columns = zip(*told)

    def read(self, length):
        found = self.file.read(length)
        if len(found) < length:
            raise Broken(f"{self.path} ends early: {length} bytes were expected, and {len(found)} are left.")
        return found

    def cells(self, body, at, count, decoders):
        """As many values, by the decoders in turn, and where they end."""
        values, width = [], len(decoders)
        for nth in range(count):
            length, = I32(body, at)
            at += 4
            if length >= 0:
                values.append(decoders[nth % width](body[at:at + length]))
                at += length
            elif length == -3:
                offset, size = U32(body, at)[0], U32(body, at + 4)[0]
                if offset + size > len(self.pool):
                    raise Broken(f"{self.path} has a window at {offset} of {size} bytes, and its pool has {len(self.pool)}.")
                values.append(decoders[nth % width](self.pool[offset:offset + size]))
                at += 8
            elif length == -2 and self.unset is None:
                raise Broken("The tape has a value that is not set, which this driver cannot bind; leave it out.")
            else:
                values.append(self.unset if length == -2 else None)
        return values, at

    def answer(self, body, at, statement):
        """The rows that are due, or their number if only that is checked."""
        check, rows, width = body[at], U32(body, at + 1)[0], U32(body, at + 5)[0]
        if check == 2:
            return rows
        if width != len(self.columns[statement]):
            raise Broken(f"{self.path} has an answer of {width} columns to a statement of {len(self.columns[statement])}.")
        values, _ = self.cells(body, at + 9, rows * width, self.columns[statement])
        found = [tuple(values[row * width:(row + 1) * width]) for row in range(rows)]
        return Unordered(found) if check == 1 else found

    def pooled_answer(self, nth, statement):
        if (nth, statement) not in self.known:
            if nth >= len(self.pooled):
                raise Broken(f"{self.path} names the pooled answer {nth}, and has {len(self.pooled)} before.")
            self.known[nth, statement] = self.answer(self.pooled[nth], 1, statement)
        return self.known[nth, statement]

    def tickets(self, count):
        """The next tickets: statement, values (of a batch: rows of values), and what is due."""
        tickets = []
        while len(tickets) < count:
            body = self.read(U32(self.read(4))[0])
            try:
                if body[0] == 0:
                    self.pooled.append(body)
                    continue
                tickets.append(self.ticket(body))
            except (IndexError, ValueError, struct.error, ZeroDivisionError) as error:
                raise Broken(f"{self.path} cannot be read at ticket {len(tickets)} of this turn: {error!r}.") from error
        return tickets

    def ticket(self, body):
        statement, bound = int.from_bytes(body[1:3], "big"), U32(body, 3)[0]
        if statement >= len(self.values):
            raise Broken(f"{self.path} names the statement {statement}, and the job has {len(self.values)}.")
        values, at = self.cells(body, 7, bound, self.values[statement])
        if self.operations[statement] == "batch":
            width = len(self.values[statement])
            values = [values[first:first + width] for first in range(0, bound, width)]
        due = {0: lambda: [], 1: lambda: self.answer(body, at + 1, statement),
               2: lambda: self.pooled_answer(U32(body, at + 1)[0], statement)}
        return statement, values, due[body[at]]()


def mismatch(rows, due):
    """What is wrong with rows that are not equal to what is due; None if they are right all the same."""
    number = due if isinstance(due, int) else len(due)
    if len(rows) != number:
        return f"{number} rows were due, and {len(rows)} came"
    if isinstance(due, int):
        return None
    rows = [tuple(row) for row in rows]
    if isinstance(due, Unordered):
        try:
            missing, more = Counter(due) - Counter(rows), Counter(rows) - Counter(due)
        except TypeError:  # Some value has no hash.
            missing, more = [one for one in due if one not in rows], [one for one in rows if one not in due]
        if not missing and not more:
            return None
        return f"in any order {next(iter(missing), 'no other row')!r:.200} was due, and {next(iter(more), 'no other row')!r:.200} came"
    for row, (found, expected) in enumerate(zip(rows, due)):
        if len(found) != len(expected):
            return f"row {row}: {len(expected)} columns were due, and {len(found)} came"
        for column, (one, other) in enumerate(zip(found, expected)):
            if one != other:
                return f"row {row}, column {column}: {other!r:.200} was due, and {one!r:.200} came"
    return None
