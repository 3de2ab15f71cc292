"""The worker for Python's CQL drivers; drivers/PROTOCOL.md is what it speaks."""
import asyncio, functools, gc, hashlib, itertools, os, pathlib, platform, sys, threading, time, traceback, uuid

import drivers
from link import Failure, Link, fail
from tape import Broken, Tape
from usage import Collections, since, usage
from window import Turn, by_callbacks, by_tasks, by_threads, now

LEAST_PROGRESS_MS = 500
# Operations that block in a driver with callbacks.
BLOCKING = {"prepare", "connect"}

def hello(driver):
    sources = b"".join(path.read_bytes() for path in sorted(pathlib.Path(__file__).parent.glob("*.py")))
    told = {name: getattr(driver, name) for name in ("version", "libraries", "capabilities", "caveats", "options", "lacks_types", "most_in_flight")}
    usual = {"connections": 1, "consistency": "LOCAL_ONE", "page_size": 5000, "options": {}, "settings": "equal"}
    return {"protocol": 3, "turns": True, "tape": True, "language": "Python", "driver": told | {"name": "python"}, "settings": settings(driver, usual),
            "machine": {"host": platform.node(), "cores": len(os.sched_getaffinity(0)), "kernel": platform.release()},
            "build": {"id": "", "adapter": hashlib.sha256(sources).hexdigest(), "profile": "release",
                      "compiler": f"{platform.python_implementation()} {platform.python_version()} ({platform.python_compiler()})"}}

def settings(driver, job):
    """The equal settings, and what the driver makes of them: its own say what differs."""
    limit, within = job.get("request_timeout_ms"), f" in {job['datacenter']}" if "datacenter" in job else ""
    found = {"protocol version": "v4", "consistency": job["consistency"], "compression": "none", "retries": "none",
             "speculative execution": "none", "routing": "token-aware" + within, "connections": f"{job['connections']} per node",
             "page size": str(job["page_size"]), "request timeout": f"{limit} ms" if limit else "none", "timestamps": "server",
             "serial consistency": "none"} | driver.settings(job)
    found |= {name: job["options"][name] for name in ("routing", "timestamps") if name in job["options"]}
    return [{"name": name, "value": value, "as_asked": name not in driver.not_as_asked} for name, value in found.items()]

def check(driver, job):
    """Refuses, before anything is connected, what cannot be done. What values an option takes, `hello` has told the parent."""
    operations = {one.get("operation", "execute") for one in job["scenario"]["statement"]}
    needed = operations | {name for name, field in (("tls", "tls"), ("credentials", "credentials"), ("request_timeout", "request_timeout_ms")) if field in job}
    for what, asked, known in (
        ("mode", [job["mode"]], ["measure", "connect"]), ("way of submitting", [job["scenario"].get("submit", "slots")], ["slots", "sequential"]),
        ("capability", needed, ["execute", *driver.capabilities]), ("option", job["options"], [one["name"] for one in driver.options]),
    ):
        for name in asked:
            if name not in known:
                raise Failure("job", f"The {what} `{name}` was asked for; {driver.title} has {', '.join(known)}.")
    if "tape" not in job:
        raise Failure("job", "The job has no tape, and python makes no keys and values of its own; use a cqldyno of protocol version 3.")
    if "rate" in job and not driver.has_tasks and BLOCKING & operations:
        raise Failure("job", f"{driver.title} blocks in prepare and connect; leave the rate out.")

def crash(error):
    traceback.print_exception(error)
    fail("crash", f"The driver raised {error!r} where nothing expects it.")

class Player:
    """A job on its way: the session, and how each statement is issued."""
    def __init__(self, driver, job):
        self.driver, self.job, self.statements = driver, job, job["scenario"]["statement"]
        self.operations, self.connects = [one.get("operation", "execute") for one in self.statements], job["mode"] == "connect"
        self.slots = 1 if self.connects or job["scenario"].get("submit") == "sequential" else job["concurrency"]
        blocks = self.connects or not BLOCKING.isdisjoint(self.operations)
        self.issue_all = by_tasks if driver.has_tasks else by_threads if blocks else functools.partial(by_callbacks, crash=crash)
        self.run, self.numbers = driver.runner(), itertools.count()
    async def call(self, session, nth):
        """The coroutine function that executes a statement."""
        cql, operation = self.statements[nth]["cql"], self.operations[nth]
        if operation == "unprepared":
            return session.execute_unprepared(cql, self.job["tape"]["statements"][nth]["values"])
        if operation == "prepare":
            async def prepare(*_):
                await session.prepare(f"{cql} /* {uuid.uuid4()} {next(self.numbers)} */")
                return []
            return prepare
        prepared = await session.prepare(cql)
        return session.execute_batch(prepared, self.statements[nth].get("logged", False)) if operation == "batch" else session.execute(prepared)
    def connect(self):
        doing = "connect"
        try:
            session = self.run(self.driver.connect(self.job))
            getattr(session, "settle", lambda: None)()
            doing = "prepare"
            self.calls = [self.run(self.call(session, nth)) for nth in range(len(self.statements))]
        except Exception as error:
            kind, message = self.driver.kind_of(error)
            raise Failure(kind if kind == "bad_credentials" else doing, f"{self.driver.title} could not {doing}: {message}.") from error
    async def issue(self, turn, at, connects=False):
        """Issues a ticket and notes what came. If it connects, in a session of its own with this statement, or every one in the mode `connect`."""
        (statement, values, due), session, calls = turn.tickets[at], None, self.calls
        turn.sent[at] = now()
        try:
            if connects:
                session = await self.driver.connect(self.job)
                calls = {nth: await self.call(session, nth) for nth in (range(len(self.statements)) if self.connects else [statement])}
            rows = await calls[statement](values, due)
        except Exception as error:
            turn.failed(at, error)
        else:
            turn.answered(at, rows)
        finally:
            if session:
                await session.close()
    def hear(self, link):
        """The parent's next message; until then an event loop runs, as an application's would."""
        return self.run(asyncio.to_thread(link.heard.get)) if self.driver.has_tasks else link.heard.get()
    def play(self, link, turn, connects=False):
        """Issues a turn's tickets, with progress now and then."""
        def report():
            while not turn.finished.wait(max(self.job["progress_ms"], LEAST_PROGRESS_MS) / 1000):
                link.progress(turn)
        if self.job["progress_ms"]:
            threading.Thread(target=report, daemon=True).start()
        plays = [functools.partial(self.issue, connects=True) if connects or one == "connect" else self.issue for one in self.operations]
        issuing = self.issue_all(turn, plays)
        if self.driver.has_tasks:
            self.run(issuing)

def carry_out(link, driver, job, collected):
    check(driver, job)
    driver.begin(job)
    player, turns, warmup = Player(driver, job), job.get("turns", 1), job["warmup"]
    tape = Tape(job["tape"], player.operations, driver.scalars, driver.unset)
    player.connect()
    turn = Turn(tape.tickets(warmup), 0, player.slots, driver.kind_of, strict=True)
    if warmup:
        player.play(link, turn)
    for kind, error in turn.errors.items():
        raise Failure("warm_up", f"The warm-up broke off with {error['count']} errors of kind {kind}, the first: {error['first']}.")
    message, fields = "ready", {"settings": settings(driver, job)} | driver.told(job)
    for nth in range(turns):
        first, end = (job["count"] * edge // turns for edge in (nth, nth + 1))
        link.turn = turn = Turn(tape.tickets(end - first), first, player.slots, driver.kind_of, job.get("rate"),
                                edges=not player.connects and "rate" not in job, patience=job["trace"]["patience_ms"] * 10**6 if "trace" in job else None)
        # The tape's objects are not the driver's garbage. What is older is collected when Python does it.
        gc.collect(2 if nth == 0 else 1)
        gc.freeze()
        ended = {}
        link.say(message, "go", threads=len(os.listdir("/proc/self/task")), **fields)
        start = player.hear(link).get("at_ns", 0)
        while (early := start - now()) > 0:
            time.sleep(early / 1e9)
        garbage, before = collected.cpu_ns, usage()
        turn.over = lambda: ended.update(since(before), garbage=collected.cpu_ns - garbage)
        player.play(link, turn, player.connects)
        message, fields = "done", {"runtime": {"gc_cpu_ns": ended.pop("garbage")}}
        link.say("end", "ack", **ended, **turn.steady())
        player.hear(link)
        fields |= turn.counted([one["name"] for one in player.statements], before["wall_ns"])
        link.turn = turn = None
    link.say(message, "", threads=len(os.listdir("/proc/self/task")), **fields)
    os._exit(0)

def main():
    link, collected = Link(), Collections()
    try:
        driver = drivers.found(noop=os.path.basename(sys.argv[1]).endswith("-noop"))
        link.say("hello", "job", **hello(driver))
        threading.Thread(target=link.listen, daemon=True).start()
        carry_out(link, driver, link.heard.get(), collected)
    except Failure as failure:
        fail(*failure.args)
    except Broken as broken:
        fail("job", str(broken))
    except Exception as error:
        crash(error)

main()
