"""The tape of drivers/PROTOCOL.md: what is issued, and what must come back, as values that an application would bind."""
import datetime, decimal, itertools, struct, uuid
from collections import Counter

I32, U32, FLOAT, DOUBLE = (struct.Struct(">" + code).unpack_from for code in "iIfd")
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
EMPTY = ([], set(), {})
integer = lambda raw: int.from_bytes(raw, "big", signed=True)
# The types that have a value in Python's own library.
SCALARS = dict.fromkeys(("bigint", "int", "smallint", "tinyint", "varint", "counter"), integer) | {
    "float": lambda raw: FLOAT(raw)[0], "double": lambda raw: DOUBLE(raw)[0], "boolean": lambda raw: raw != b"\0", "blob": bytes,
    "decimal": lambda raw: decimal.Decimal(f"{integer(raw[4:])}E{-integer(raw[:4])}"),
    "timestamp": lambda raw: EPOCH + datetime.timedelta(milliseconds=integer(raw)),
    "date": lambda raw: EPOCH.date() + datetime.timedelta(days=U32(raw)[0] - 2**31),
} | dict.fromkeys(("text", "varchar", "ascii"), bytes.decode) | dict.fromkeys(("uuid", "timeuuid"), lambda raw: uuid.UUID(bytes=raw))
# The bytes of a vector's element, for the types of which all values have as many.
FIXED = {"float": 4, "double": 8, "int": 4, "bigint": 8, "timestamp": 8, "uuid": 16, "timeuuid": 16}

class Broken(Exception): """A tape that cannot be played, in a full sentence."""

class Unordered(list): """Rows that may come in any order."""

def parsed(kind):
    """The name and the parameters of a type: `map<text, list<int>>` is ("map", ["text", "list<int>"])."""
    name, _, inside = kind.strip().partition("<")
    parts, depth, start = [], 0, 0
    for at, character in enumerate(inside[:-1] + "," if inside else ""):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            parts, start = [*parts, inside[start:at].strip()], at + 1
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
    if name in scalars or name == "null":  # Of which there is no value but null.
        return scalars.get(name)
    if name == "vector" and parts[0] in FIXED.keys() & scalars.keys():
        decode, size = scalars[parts[0]], FIXED[parts[0]]
        return lambda raw: [decode(raw[at:at + size]) for at in range(0, len(raw), size)]
    if name not in ("list", "set", "map", "tuple", "udt"):
        raise Broken(f"The tape has the type {kind}, which this worker cannot bind or decode; leave it out.")
    of = [decoder(part, scalars) for part in parts]
    def collection(raw):
        values = elements(raw, 4, of * U32(raw)[0])
        return dict(zip(values, values)) if name == "map" else list(values) if name == "list" else set(values)
    return collection if name in ("list", "set", "map") else lambda raw: tuple(elements(raw, 0, of))

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
        self.pool = self.read(*U32(self.read(4)))
        self.values, self.columns = ([[decoder(kind, scalars) for kind in one[part]] for one in tape["statements"]]
                                     for part in ("values", "columns"))
    def read(self, length):
        if len(found := self.file.read(length)) < length:
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
                (offset,), (size,), at = U32(body, at), U32(body, at + 4), at + 8
                if offset + size > len(self.pool):
                    raise Broken(f"{self.path} has a window at {offset} of {size} bytes, and its pool has {len(self.pool)}.")
                values.append(decoders[nth % width](self.pool[offset:offset + size]))
            elif length == -2 and self.unset is None:
                raise Broken("The tape has a value that is not set, which this driver cannot bind; leave it out.")
            else:
                values.append(self.unset if length == -2 else None)
        return values, at
    def answer(self, body, at, statement):
        """The rows that are due, or their number if only that is checked."""
        check, (rows,), (width,), columns = body[at], U32(body, at + 1), U32(body, at + 5), self.columns[statement]
        if check == 2:
            return rows
        if width != len(columns):
            raise Broken(f"{self.path} has an answer of {width} columns to a statement of {len(columns)}.")
        return (Unordered if check == 1 else list)(zip(*[iter(self.cells(body, at + 9, rows * width, columns)[0])] * width))
    def tickets(self, count):
        """The next tickets: statement, values (of a batch: rows of values), and what is due."""
        tickets = []
        while len(tickets) < count:
            body = self.read(*U32(self.read(4)))
            try:
                tickets.append(self.ticket(body)) if body[0] else self.pooled.append(body)
            except (ArithmeticError, LookupError, ValueError, struct.error) as error:
                raise Broken(f"{self.path} cannot be read at ticket {len(tickets)} of this turn: {error!r}.") from error
        return tickets
    def ticket(self, body):
        statement, (bound,) = int.from_bytes(body[1:3], "big"), U32(body, 3)
        if statement >= len(self.values):
            raise Broken(f"{self.path} names the statement {statement}, and the job has {len(self.values)}.")
        values, at = self.cells(body, 7, bound, self.values[statement])
        if self.operations[statement] == "batch":
            values = list(map(list, zip(*[iter(values)] * len(self.values[statement]))))
        if body[at] != 2:
            return statement, values, self.answer(body, at + 1, statement) if body[at] else []
        if (nth := U32(body, at + 1)[0]) >= len(self.pooled):
            raise Broken(f"{self.path} names the pooled answer {nth}, and has {len(self.pooled)} before.")
        if (nth, statement) not in self.known:
            self.known[nth, statement] = self.answer(self.pooled[nth], 1, statement)
        return statement, values, self.known[nth, statement]

def mismatch(rows, due):
    """What is wrong with rows that are not equal to what is due; None if they are right all the same."""
    number = due if isinstance(due, int) else len(due)
    if len(rows) != number:
        return f"{number} rows were due, and {len(rows)} came"
    if isinstance(due, int):
        return None
    # CQL does not tell an empty collection from null, and packages give either.
    rows, wanted = ([tuple(None if value in EMPTY else value for value in row) for row in which] for which in (rows, due))
    if isinstance(due, Unordered):
        try:
            missing, more = list(Counter(wanted) - Counter(rows)), list(Counter(rows) - Counter(wanted))
        except TypeError:  # Some value has no hash.
            missing, more = [one for one in wanted if one not in rows], [one for one in rows if one not in wanted]
        return f"in any order {missing[:1]} was due, and {more[:1]} came" if missing or more else None
    for row, (found, expected) in enumerate(zip(rows, wanted)):
        for column, (one, other) in enumerate(itertools.zip_longest(found, expected, fillvalue="no column")):
            if one != other:
                return f"row {row}, column {column}: {other!r:.200} was due, and {one!r:.200} came"
