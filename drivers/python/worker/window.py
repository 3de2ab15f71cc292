"""A turn: its slots issue the tickets, and what became of each is noted in arrays, which are counted after the window."""
import array, asyncio, base64, collections, contextlib, ctypes, itertools, math, operator, os, struct, threading, time, types
from concurrent import futures

from tape import mismatch
from usage import moment, steady

now = time.monotonic_ns
LONGEST_NS, LATE_AFTER_NS, LONGEST_SLEEP_NS = 3600 * 10**9, 10**6, 10**8
# The first statement of the steady part in rounds of all slots, and the fewest rounds of a turn that has one.
FIRST_EDGE, LEAST_ROUNDS = 2, 8

class Turn:
    """Tickets that slots take in their order, the first of which is `first`. `kind_of` gives an error's kind and message. With a `patience`
    in nanoseconds single statements are traced."""
    def __init__(self, tickets, first, slots, kind_of, rate=None, edges=False, strict=False, patience=None):
        self.tickets, self.first, self.slots, self.kind_of, self.rate, self.strict = tickets, first, slots, kind_of, rate, strict
        self.count, self.patience, self.until = len(tickets), patience, math.inf
        self.order, self.left = iter(range(self.count)), itertools.count(1)
        self.sent, self.came = (array.array("q", bytes(8 * self.count)) for _ in range(2))
        self.right, self.errors, self.lock = bytearray(self.count), {}, threading.Lock()
        self.stopped, self.finished, self.over, self.origin = False, threading.Event(), lambda: None, 0
        self.edges = (FIRST_EDGE * slots, self.count - 1) if edges and self.count >= LEAST_ROUNDS * slots else ()
        self.moments = []
    def begin(self):
        """At a rate: the first statement is due now, and answers are waited for until the patience ends."""
        self.origin = now()
        self.until = math.inf if self.patience is None else self.intended(self.count - 1) + self.patience
    def stop(self):
        self.stopped = True
        if self.patience is not None:
            self.until = min(self.until, now() + self.patience)
    def issued(self):
        return self.count - operator.length_hint(self.order)
    def take(self):
        """The next ticket, or None; one step of the interpreter, so several threads may take at once."""
        at = None if self.stopped else next(self.order, None)
        if at in self.edges:
            self.moments.append(moment())
        return at
    def leave(self, slots=1):
        """So many slots found no ticket and have no statement in flight; the last one ends the window. What comes later does not count."""
        if slots == self.slots or next(self.left) == self.slots:
            self.over()
            self.answered = self.failed = lambda *_: None
            self.finished.set()
    def answered(self, at, rows):
        self.came[at] = now()
        due = self.tickets[at][2]
        if rows == due or (wrong := mismatch(rows, due)) is None:
            self.right[at] = 1
        else:
            self.note("wrong_row", f"ticket {self.first + at}: {wrong}")
    def failed(self, at, error):
        self.came[at] = now()
        self.note(*self.kind_of(error))
    def note(self, kind, message):
        with self.lock:
            self.errors.setdefault(kind, {"count": 0, "first": message[:2000]})["count"] += 1
        self.stopped |= self.strict
    def intended(self, at):
        return self.origin + at * 10**9 // self.rate
    def steady(self):
        return steady(*self.moments[0], *self.moments[1], self.edges[1] - self.edges[0]) if len(self.moments) == 2 else {}
    def counted(self, names, began):
        """What `done` says of the statements that were issued."""
        issued, sent, came, right = range(self.issued()), self.sent, self.came, self.right
        by_statement, answered = collections.Counter(self.tickets[at][0] for at in issued), [at for at in issued if came[at]]
        told = {"issued": len(issued), "answered": len(answered), "verified": sum(right), "errors": self.errors,
                "issued_by_statement": {name: by_statement[nth] for nth, name in enumerate(names)},
                "per_second": series((came[at] - began) // 10**9 for at in answered)}
        if answered:
            told["histogram"] = histogram(came[at] - sent[at] for at in answered)
        if self.rate and answered:
            late = [max(sent[at] - self.intended(at), 0) for at in answered]
            told["pace"] = {"rate": self.rate, "lasted_ns": max(came) - self.origin, "late_after_ns": LATE_AFTER_NS,
                            "response": histogram(came[at] - self.intended(at) for at in answered), "lateness": histogram(late),
                            "late": sum(one > LATE_AFTER_NS for one in late), "latest_ns": max(late)}
        if self.patience is not None:
            told["trace"] = {"failed": self.runs(at for at in answered if not right[at]), "unanswered": self.runs(at for at in issued if not came[at]),
                             "answers_per_10ms": series((came[at] - self.origin) // 10**7 for at in answered if right[at])}
        return told
    def runs(self, tickets):
        """Runs of consecutive tickets: the number of the first one, and how many they are."""
        groups = itertools.groupby(enumerate(tickets), lambda pair: pair[1] - pair[0])
        return [(self.first + run[0][1], len(run)) for run in (list(group) for _, group in groups)]

def series(places):
    """How many there are at each place."""
    counts = collections.Counter(places)
    return [counts[place] for place in range(max(counts, default=-1) + 1)]

def histogram(latencies):
    """An HdrHistogram in its V2 form: counts in ZigZag LEB128, and for a run of zeros its length below zero."""
    counts = collections.Counter()
    for took, count in collections.Counter(latencies).items():
        took = min(max(took, 1), LONGEST_NS)
        bucket = max(took.bit_length() - 11, 0)  # Of 2,048 values, each counted by its upper 11 bits.
        counts[(bucket << 10) + (took >> bucket)] += count
    leb = lambda n: bytes([n]) if n < 128 else bytes([n & 127 | 128]) + leb(n >> 7)
    indexes = sorted(counts)
    pairs = [(before + 1 - at, counts[at]) for before, at in zip([-1] + indexes, indexes)]
    body = b"".join(leb(n << 1 ^ n >> 63) for pair in pairs for n in pair if n)
    return base64.b64encode(struct.pack(">iiiiqqd", 0x1C849313, len(body), 0, 3, 1, LONGEST_NS, 1.0) + body).decode()

here = threading.local()

@types.coroutine
def answer(future=None):
    """Waits for the rows of a driver's future, or for the next page of the one that this coroutine waited for last."""
    return (yield future)

class Flight:
    """A coroutine that goes on in the callbacks of the driver's futures that it waits for."""
    def __init__(self, coroutine, ended, crash):
        self.coroutine, self.ended, self.crash = coroutine, ended, crash
        self.go_on(coroutine.send, None)
    def answered(self, rows):
        self.go_on(self.coroutine.send, rows)
    def failed(self, error):
        self.go_on(self.coroutine.throw, error)
    def go_on(self, step, value):
        """Takes a step: at once, or after the one that this thread is taking, so that the stack stays flat."""
        if getattr(here, "steps", None) is not None:
            return here.steps.append((self, step, value))
        here.steps = [(self, step, value)]
        while here.steps:
            flight, step, value = here.steps.pop()
            try:
                if (future := step(value)) is not None:  # A future keeps its callbacks for further pages.
                    future.add_callbacks(flight.answered, flight.failed)
            except StopIteration:
                flight.ended()
            except BaseException as error:
                flight.crash(error)
        here.steps = None

async def slot(turn, plays):
    while (at := turn.take()) is not None:
        await plays[turn.tickets[at][0]](turn, at)

def by_callbacks(turn, plays, crash):
    if turn.rate is None:
        for _ in range(turn.slots):
            Flight(slot(turn, plays), turn.leave, crash)
        return turn.finished.wait()
    free = threading.Semaphore(turn.slots)
    in_time = lambda: free.acquire(timeout=min(LONGEST_SLEEP_NS, max(turn.until - now(), 0)) / 1e9)
    turn.begin()
    while not turn.stopped and (nth := turn.issued()) < turn.count and now() < turn.until:
        if (early := turn.intended(nth) - now()) > 0:
            time.sleep(min(early, LONGEST_SLEEP_NS) / 1e9)
        elif in_time():
            at = turn.take()
            Flight(plays[turn.tickets[at][0]](turn, at), free.release, crash) if at is not None else free.release()
    back = 0
    while back < turn.slots and now() < turn.until:
        back += in_time()
    turn.leave(turn.slots)

def blocking(coroutine):
    """What a coroutine returns, if this thread blocks wherever it waits for a driver's future."""
    future, step, value = None, coroutine.send, None
    while True:
        try:
            future = step(value) or future
        except StopIteration as done:
            return done.value
        try:
            step, value = coroutine.send, future.result().current_rows
        except Exception as error:
            step, value = coroutine.throw, error

def by_threads(turn, plays):
    """A thread for each slot, for the driver's calls that block. An error of one that nothing expects comes out here."""
    def work(_):
        blocking(slot(turn, plays))
        turn.leave()
    with futures.ThreadPoolExecutor(turn.slots) as threads:
        list(threads.map(work, range(turn.slots)))

async def by_tasks(turn, plays):
    await (asyncio.gather(*(slot(turn, plays) for _ in range(turn.slots))) if turn.rate is None else at_rate(turn, plays))
    turn.leave(turn.slots)

async def at_rate(turn, plays):
    """A task for each statement when it is due. A timer of the kernel (timerfd) wakes the loop: those of asyncio are whole milliseconds."""
    loop, flying, over, libc = asyncio.get_running_loop(), set(), asyncio.Event(), ctypes.CDLL(None)
    timer = libc.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
    if timer < 0:
        raise OSError("statements cannot be started at a rate, because the system refuses a timer")
    def start():
        while not turn.stopped and (nth := turn.issued()) < turn.count and len(flying) < turn.slots:
            if (at := turn.intended(nth)) > now():
                return libc.timerfd_settime(timer, 1, struct.pack("qqqq", 0, 0, *divmod(at, 10**9)), None)  # 1: the time is absolute.
            task = loop.create_task(plays[turn.tickets[nth][0]](turn, turn.take()))
            flying.add(task)
            task.add_done_callback(ended)
        if not flying:
            over.set()
    def ended(task):
        flying.remove(task)
        start()
    def woken():
        with contextlib.suppress(BlockingIOError):  # It was set anew meanwhile.
            os.read(timer, 8)
        start()
    loop.add_reader(timer, woken)
    turn.begin()
    start()
    while not over.is_set() and (left := turn.until - now()) > 0:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(over.wait(), None if turn.patience is None else min(left, LONGEST_SLEEP_NS) / 1e9)
    turn.stopped = True
    loop.remove_reader(timer)
    os.close(timer)
