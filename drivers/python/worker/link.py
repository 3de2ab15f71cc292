"""Both directions of the worker protocol, on standard input and output."""
import json, os, queue, sys, threading

OUT, LOCK = os.dup(1), threading.Lock()
os.dup2(2, 1)  # What a library prints goes to the log, so that it cannot break the protocol.

class Failure(Exception): """Why a job cannot go on: the kind of `failed`, and a full sentence."""

def abandon(why):
    print(why, file=sys.stderr)
    os._exit(2)

def say(message, /, **fields):
    line = (json.dumps({"type": message, **fields}) + "\n").encode()
    try:
        while line:
            line = line[os.write(OUT, line):]
    except OSError as error:
        abandon(f"Nobody reads what the worker says: {error}.")

def fail(kind, message):
    LOCK.acquire()  # For good: nothing is said after it.
    print(message, file=sys.stderr, flush=True)
    say("failed", kind=kind, message=message)
    os._exit(1)

class Link:
    """What the parent may say next, and the turn that `stop` stops."""
    def __init__(self):
        self.due, self.heard, self.turn = "job", queue.SimpleQueue(), None
    def say(self, message, due, **fields):
        """Says it; from then on the parent may say what is due: "end" if that is `stop` alone, "" after the last message."""
        with LOCK:
            self.due = due
            say(message, **fields)
    def progress(self, turn):
        with LOCK:
            if not turn.finished.is_set():
                say("progress", issued=turn.issued())
    def listen(self):
        for line in sys.stdin.buffer:
            try:
                message = json.loads(line)
                kind = message["type"]
            except (ValueError, TypeError, KeyError) as error:
                fail("protocol", f"A message of the worker protocol was expected, and the line {line[:80]!r} was found: {error!r}.")
            with LOCK:
                due = self.due
                if kind == due in ("job", "go", "ack"):
                    self.due = "end" if kind == "go" else "nothing"
                    self.heard.put(message)
                elif kind == "stop" and due == "end":
                    self.turn.stop()
            if kind != due and not (kind == "stop" and due in ("end", "ack")):  # One that crosses `end` changes nothing.
                fail("protocol", f"The parent said `{kind}`, and `{due}` was due.")
        with LOCK:
            if self.due:
                abandon("Standard input was closed before the end; cqldyno starts this program.")
