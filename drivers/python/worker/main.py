"""The worker for Python's CQL drivers; drivers/PROTOCOL.md is what it speaks."""
import gc, hashlib, itertools, os, pathlib, platform, sys, threading, time, uuid

from link import Failure, Link, fail
from tape import Broken, Tape
from usage import Collections, since, threads, usage
from window import Turn, at_once, by_callbacks, by_tasks, by_threads, now
import drivers

LEAST_PROGRESS_MS = 500
# Calls that block in a driver with callbacks.
BLOCKING = ("prepare", "connect")


def hello(driver):
    sources = b"".join(path.read_bytes() for path in sorted(pathlib.Path(__file__).parent.glob("*.py")))
    return {
        "protocol": 3, "turns": True, "tape": True, "language": "Python",
        "machine": {"host": platform.node(), "cores": len(os.sched_getaffinity(0)), "kernel": platform.release()},
        "driver": {"name": "python", "version": driver.version, "libraries": driver.libraries(), "capabilities": driver.capabilities,
                   "caveats": driver.caveats, "options": driver.options, "lacks_types": driver.lacks_types},
        "settings": settings(driver, {"connections": 1, "consistency": "LOCAL_ONE", "page_size": 5000}),
        "build": {"id": "", "adapter": hashlib.sha256(sources).hexdigest(), "profile": "release",
                  "compiler": f"{platform.python_implementation()} {platform.python_version()} ({platform.python_compiler()})"},
    }


def settings(driver, job):
    """The equal settings, and what the driver makes of them: its own say what differs."""
    limit, datacenter = job.get("request_timeout_ms"), job.get("datacenter")
    found = {"protocol version": "v4", "consistency": job["consistency"], "compression": "none", "retries": "none",
             "speculative execution": "none", "routing": "token-aware" + (f" in {datacenter}" if datacenter else ""),
             "connections": f"{job['connections']} per node", "page size": str(job["page_size"]),
             "request timeout": f"{limit} ms" if limit else "none", "timestamps": "server", "serial consistency": "none"}
    found = {name: (value, True) for name, value in found.items()} | driver.settings(job)
    return [{"name": name, "value": value, "as_asked": as_asked} for name, (value, as_asked) in found.items()]


def check(driver, job):
    """Refuses, before anything is connected, what cannot be done."""
    statements, options = job["scenario"]["statement"], {one["name"]: one["values"].split("|") for one in driver.options}
    if job["mode"] not in ("measure", "connect"):
        raise Failure("job", f"The mode {job['mode']} was asked for, which is for floor; python knows measure and connect.")
    if (submit := job["scenario"].get("submit", "slots")) not in ("slots", "sequential"):
        raise Failure("job", f"Statements were to be submitted as {submit}, which is a way of async Rust; python knows slots and sequential.")
    if "tape" not in job:
        raise Failure("job", "The job has no tape, and python makes no keys and values of its own; use a cqldyno of protocol version 3.")
    for name, value in job["options"].items():
        if name not in options:
            raise Failure("job", f"{driver.title} has no option `{name}`: it has {', '.join(options)}.")
        if value not in options[name] and not (options[name][-1].isupper() and value.isdigit() and int(value) > 0):
            raise Failure("job", f"The option `{name}` of {driver.title} was set to {value!r}; it takes {' or '.join(options[name])}.")
    asked = [one.get("operation", "execute") for one in statements]
    asked += [name for name in ("tls", "credentials") if name in job] + ["request_timeout"] * ("request_timeout_ms" in job)
    for name in asked:
        if name not in ("execute", *driver.capabilities):
            raise Failure("job", f"The job asks for {name}, and {driver.title} does not have the capability {name}; leave it out.")
    if "rate" in job and not driver.has_tasks and not set(asked).isdisjoint(BLOCKING):
        raise Failure("job", f"{driver.title} blocks in prepare and connect, so these keep no rate; leave the rate out.")


class Player:
    """A job on its way: the session, and how each statement is issued."""

    def __init__(self, driver, job):
        self.driver, self.job, self.statements = driver, job, job["scenario"]["statement"]
        self.operations = [one.get("operation", "execute") for one in self.statements]
        self.slots = 1 if job["scenario"].get("submit") == "sequential" else job["concurrency"]
        self.run, self.numbers, self.session = driver.runner(), itertools.count(), None

    async def calls(self, session, kind, only=None):
        """The calls of each statement, or of one: kind is `execute`, which is awaited, or `start`, which returns the driver's future."""
        return [await self.call(session, kind, nth) if only in (None, nth) else None for nth in range(len(self.statements))]

    async def call(self, session, kind, nth):
        cql, operation = self.statements[nth]["cql"], self.operations[nth]
        if operation == "unprepared":
            return getattr(session, kind + "_unprepared")(cql, len(self.job["tape"]["statements"][nth]["values"]))
        if operation == "prepare":
            async def prepare(*_):
                await session.prepare(f"{cql} /* {uuid.uuid4()} {next(self.numbers)} */")
                return []
            return prepare
        prepared = await session.prepare(cql)
        if operation == "batch":
            return getattr(session, kind + "_batch")(prepared, self.statements[nth].get("logged", False))
        return getattr(session, kind)(prepared)

    def connect(self):
        doing = "connect"
        try:
            self.session = self.run(self.driver.connect(self.job))
            doing = "prepare"
            self.executes = self.run(self.calls(self.session, "execute"))
            if not self.driver.has_tasks and not set(self.operations) & set(BLOCKING):
                self.starts = self.run(self.calls(self.session, "start"))
        except Exception as error:
            kind, message = self.driver.kind_of(error)
            raise Failure("bad_credentials" if kind == "bad_credentials" else doing, f"{self.driver.title} could not {doing}: {message}.")

    def played(self, nth):
        """The coroutine that issues a ticket of this statement, and notes what came."""
        execute = self.executes[nth]

        async def one(turn, at):
            _, values, due = turn.tickets[at]
            turn.sent[at] = now()
            try:
                rows = await execute(values, due)
            except Exception as error:
                turn.failed(at, error)
            else:
                turn.answered(at, rows)
        return one

    async def connected(self, turn, at, every=False):
        """Connects, prepares this statement or every one, executes this one, and closes."""
        statement, values, due = turn.tickets[at]
        turn.sent[at], session = now(), None
        try:
            session = await self.driver.connect(self.job)
            execute = (await self.calls(session, "execute", None if every else statement))[statement]
            rows = await execute(values, due)
        except Exception as error:
            turn.failed(at, error)
        else:
            turn.answered(at, rows)
        finally:
            if session:
                await session.close()

    def play(self, turn, connects=False):
        plays = [self.connected if one == "connect" else self.played(nth) for nth, one in enumerate(self.operations)]
        if connects:
            plays = [lambda turn, at: self.connected(turn, at, True)] * len(plays)
        if self.driver.has_tasks:
            self.run(by_tasks(turn, plays))
        elif connects or not set(self.operations).isdisjoint(BLOCKING):
            by_threads(turn, plays, crash)
        else:
            by_callbacks(turn, self.starts, crash)


def crash(error):
    import traceback
    traceback.print_exception(error)
    fail("crash", f"The driver raised {error!r} where nothing expects it.")


def report(link, turn, every_ms):
    """Says progress until the turn is over."""
    def work():
        while not turn.finished.wait(max(every_ms, LEAST_PROGRESS_MS) / 1000):
            link.progress(turn)
    if every_ms:
        threading.Thread(target=work, daemon=True).start()


def carry_out(link, driver, job, collections):
    check(driver, job)
    player, turns = Player(driver, job), job.get("turns", 1)
    driver.begin(job)
    tape = Tape(job["tape"], player.operations, driver.scalars(), driver.unset())
    player.connect()
    warm_up = Turn(tape.tickets(job["warmup"]), 0, player.slots, driver.kind_of, strict=True)
    if warm_up.count:
        link.turn = warm_up
        report(link, warm_up, job["progress_ms"])
        player.play(warm_up)
        for kind, error in warm_up.errors.items():
            raise Failure("warm_up", f"The warm-up broke off with {error['count']} errors of kind {kind}, the first: {error['first']}.")
    connects, message, fields = job["mode"] == "connect", "ready", {"settings": settings(driver, job)}
    for nth in range(turns):
        first, end = (job["count"] * edge // turns for edge in (nth, nth + 1))
        turn = Turn(tape.tickets(end - first), job["warmup"] + first, 1 if connects else player.slots, driver.kind_of, job.get("rate"),
                    edges=not connects and "rate" not in job)
        # The tape's objects are not the driver's garbage.
        gc.collect()
        gc.freeze()
        gc.collect()
        link.turn, ended = turn, {}
        link.say(message, "go", threads=threads(), **fields)
        start = link.wait().get("at_ns", 0)
        while (early := start - now()) > 0:
            time.sleep(early / 1e9)
        report(link, turn, job["progress_ms"])
        collected, before = collections.cpu_ns, usage()
        turn.over = lambda: ended.update(since(before), gc=collections.cpu_ns - collected)
        player.play(turn, connects)
        fields = {"runtime": {"gc_cpu_ns": ended.pop("gc")}}
        if part := turn.steady():
            ended["steady"] = part
        link.say("end", "ack", **ended)
        link.wait()
        fields |= turn.counted([one["name"] for one in player.statements], before["wall_ns"])
        message = "done"
        del turn
    link.say(message, "nothing", threads=threads(), **fields)
    os._exit(0)


def main():
    link, collections = Link(), Collections()
    try:
        driver = drivers.found(noop=os.path.basename(sys.argv[1]).endswith("-noop"))
        link.say("hello", "job", **hello(driver))
        threading.Thread(target=link.listen, daemon=True).start()
        carry_out(link, driver, link.wait(), collections)
    except Failure as failure:
        fail(*failure.args)
    except Broken as broken:
        fail("job", str(broken))
    except Exception as error:
        crash(error)


main()
