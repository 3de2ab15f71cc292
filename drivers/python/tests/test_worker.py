"""Tests of the worker without a package or a server: tape, slots, figures."""
import asyncio, base64, pathlib, struct, sys, tempfile, unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "worker"))
import window
from tape import SCALARS, Broken, Tape, Unordered, decoder, mismatch, parsed
from window import Turn, by_callbacks, by_tasks, by_threads, histogram

bigint = struct.Struct(">q").pack
sized = lambda raw: struct.pack(">i", len(raw)) + raw
record = lambda body: struct.pack(">I", len(body)) + body
KEY = struct.pack(">BHI", 1, 0, 1) + sized(bigint(7))
ROW = struct.pack(">BII", 0, 1, 1) + sized(bigint(9))


def tape(*records, pool=b"", columns=("bigint",), operation="execute", values=("bigint",), unset=None):
    file = tempfile.NamedTemporaryFile(suffix=".tape")
    file.write(b"CQLTAPE1" + struct.pack(">I", len(pool)) + pool + b"".join(map(record, records)))
    file.flush()
    made = Tape({"path": file.name, "statements": [{"values": values, "columns": columns}]}, [operation], SCALARS, unset)
    made.kept = file
    return made


def turn(count, slots, **more):
    return Turn([(0, (nth,), [(nth,)]) for nth in range(count)], 0, slots, lambda error: ("other", str(error)), **more)


def crash(error):
    raise error


class Future:
    """A future of a driver with callbacks, answered before anybody asks."""

    def __init__(self, pages):
        self.pages, self.has_more_pages = pages, len(pages) > 1

    def start_fetching_next_page(self):
        self.pages = self.pages[1:]
        self.has_more_pages = len(self.pages) > 1
        self.callback(self.pages[0])

    def add_callbacks(self, callback, errback):
        self.callback = callback
        callback(self.pages[0])


def played(start):
    """A coroutine that issues a ticket with a driver's call that returns a future."""
    async def play(one, at):
        _, values, due = one.tickets[at]
        one.sent[at] = window.now()
        try:
            future = start(values, due)
            rows = await window.answer(future)
            while future.has_more_pages:
                future.start_fetching_next_page()
                rows = rows + await window.answer()
        except ValueError as error:
            return one.failed(at, error)
        one.answered(at, rows)
    return play


class TheTape(unittest.TestCase):
    def test_types_within_types_are_parsed(self):
        self.assertEqual(parsed("map<text, frozen<list<int>>>"), ("map", ["text", "frozen<list<int>>"]))
        self.assertEqual(parsed("frozen<tuple<int, text>>"), ("tuple", ["int", "text"]))
        raw = struct.pack(">i", 1) + sized(b"a") + sized(struct.pack(">i", 2) + sized(b"\0\0\0\1") + sized(b"\0\0\0\2"))
        self.assertEqual(decoder("map<text, list<int>>", SCALARS)(raw), {"a": [1, 2]})
        self.assertEqual(decoder("udt<int, text, text>", SCALARS)(sized(b"\0\0\0\1") + struct.pack(">i", -1)), (1, None, None))
        self.assertEqual(decoder("vector<float, 2>", SCALARS)(struct.pack(">ff", 1, 2)), [1.0, 2.0])
        self.assertEqual(str(decoder("decimal", SCALARS)(struct.pack(">i", 2) + b"\x01\x00")), "2.56")
        for kind in ("geometry", "vector<text, 2>"):
            with self.assertRaisesRegex(Broken, "leave it out"):
                decoder(kind, SCALARS)

    def test_tickets_have_values_and_answers_of_every_kind(self):
        window_of_the_pool = struct.pack(">BHIiII", 1, 0, 1, -3, 1, 8) + b"\0"
        found = tape(b"\0" + ROW, KEY + b"\1" + ROW, KEY + b"\2\0\0\0\0", window_of_the_pool, KEY + b"\1" + b"\2" + struct.pack(">II", 5, 0),
                     KEY + b"\1\1" + ROW[1:], struct.pack(">BHIi", 1, 0, 1, -1) + b"\0", pool=b"x" + bigint(3)).tickets(6)
        self.assertEqual([ticket[1] for ticket in found], [[7], [7], [3], [7], [7], [None]])
        self.assertEqual([ticket[2] for ticket in found], [[(9,)], [(9,)], [], 5, [(9,)], []])
        self.assertIsInstance(found[4][2], Unordered)

    def test_a_batch_has_rows_of_values(self):
        body = struct.pack(">BHI", 1, 0, 4) + b"".join(sized(bigint(nth)) for nth in range(4)) + b"\0"
        self.assertEqual(tape(body, operation="batch", values=("bigint", "bigint")).tickets(1)[0][1], [[0, 1], [2, 3]])

    def test_a_tape_that_cannot_be_played_is_refused_with_a_sentence(self):
        far = struct.pack(">BHIiII", 1, 0, 1, -3, 1, 8) + b"\0"
        for body, why in ((KEY + b"\2\0\0\0\3", "names the pooled answer 3, and has 0 before"), (far, "a window at 1 of 8 bytes, and its pool has 0"),
                          (struct.pack(">BHI", 1, 4, 0) + b"\0", "names the statement 4, and the job has 1"),
                          (struct.pack(">BHIi", 1, 0, 1, -2) + b"\0", "not set, which this driver cannot bind"),
                          (KEY + b"\1" + struct.pack(">BII", 0, 1, 2), "an answer of 2 columns to a statement of 1"), (KEY, "cannot be read at ticket 0")):
            with self.assertRaisesRegex(Broken, why):
                tape(body).tickets(1)
        with self.assertRaisesRegex(Broken, "ends early: 4 bytes were expected, and 0 are left"):
            tape(KEY + b"\0").tickets(2)
        with tempfile.NamedTemporaryFile() as other, self.assertRaisesRegex(Broken, "it is no tape of this version"):
            Tape({"path": other.name, "statements": []}, [], SCALARS, None)
        with self.assertRaisesRegex(Broken, "cannot be read: .*No such file"):
            Tape({"path": "/nowhere", "statements": []}, [], SCALARS, None)

    def test_rows_are_compared_in_order_in_any_order_or_counted(self):
        self.assertIsNone(mismatch([(2, {3}), (1, [4])], Unordered([(1, [4]), (2, {3})])))
        self.assertIsNone(mismatch([(2,), (1,)], 2))
        self.assertEqual(mismatch([(1,)], [(1,), (2,)]), "2 rows were due, and 1 came")
        self.assertEqual(mismatch([(1,), (3,)], [(1,), (2,)]), "row 1, column 0: 2 was due, and 3 came")
        self.assertEqual(mismatch([(1,), (1,)], Unordered([(1,), (2,)])), "in any order [(2,)] was due, and [(1,)] came")


class TheWindow(unittest.TestCase):
    def check(self, one, count):
        told = one.counted(["select"], window.now())
        self.assertEqual((told["issued"], told["verified"], told["errors"]), (count, count, {}))
        self.assertEqual(told["issued_by_statement"], {"select": count})
        return told

    def test_answers_that_come_at_once_do_not_pile_up_the_stack(self):
        one = turn(5000, 3, edges=True)
        by_callbacks(one, [played(lambda values, due: Future([due]))], crash)
        self.check(one, 5000)
        self.assertEqual(one.steady()["steady"]["statements"], 4999 - 6)

    def test_pages_are_put_together(self):
        one = Turn([(0, (), [(1,), (2,), (3,)])], 0, 1, None)
        by_callbacks(one, [played(lambda values, due: Future([[(1,)], [(2,)], [(3,)]]))], crash)
        self.check(one, 1)

    def test_a_statement_that_fails_or_brings_a_wrong_row_is_counted_by_kind(self):
        def start(values, due):
            if values[0] == 3:
                raise ValueError("no such value")
            return Future([[(0,)] if values[0] == 5 else due])
        one = turn(10, 2)
        by_callbacks(one, [played(start)], crash)
        told = one.counted(["select"], window.now())
        self.assertEqual((told["answered"], told["verified"]), (10, 8))
        self.assertEqual(told["errors"]["other"], {"count": 1, "first": "no such value"})
        self.assertEqual(told["errors"]["wrong_row"]["first"], "ticket 5: row 0, column 0: 5 was due, and 0 came")

    def test_tasks_and_threads_issue_every_ticket_once_and_a_stop_ends_them(self):
        async def play(one, at):
            one.sent[at] = window.now()
            if at == one.count - 1 and stops:
                one.stopped = True
            one.answered(at, one.tickets[at][2])
        for stops in (False, True):
            for run in (lambda one: asyncio.run(by_tasks(one, [play])), lambda one: by_threads(one, [play])):
                one = turn(1000, 7)
                run(one)
                self.check(one, 1000)
                self.assertTrue(one.finished.is_set())

    def test_a_rate_is_kept_and_told(self):
        async def play(one, at):
            one.sent[at] = window.now()
            await asyncio.sleep(0)
            one.answered(at, one.tickets[at][2])
        for run in (lambda one: asyncio.run(by_tasks(one, [play])), lambda one: by_callbacks(one, [played(lambda values, due: Future([due]))], crash)):
            one = turn(200, 4, rate=4000)
            run(one)
            pace = self.check(one, 200)["pace"]
            self.assertGreaterEqual(pace["lasted_ns"], 199 * 10**9 // 4000)
            self.assertTrue(all(sent >= one.intended(at) for at, sent in enumerate(one.sent)))

    def test_a_histogram_is_in_its_v2_form(self):
        cookie, length, _, digits, lowest, highest, ratio = struct.unpack_from(">iiiiqqd", base64.b64decode(histogram([1, 1, 5000])))
        self.assertEqual((cookie, digits, lowest, highest, ratio), (0x1C849313, 3, 1, window.LONGEST_NS, 1.0))
        body = base64.b64decode(histogram([1, 1, 5000]))[40:]
        # A zero at 0, two at 1, zeros up to 5,000, one there.
        self.assertEqual((len(body), body[:2]), (length, b"\x01\x04"))
        self.assertEqual(body[-1], 2)


if __name__ == "__main__":
    unittest.main()
