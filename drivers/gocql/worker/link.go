package worker

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// maxLine is the longest line of the protocol, in bytes.
const maxLine = 16 << 20

// Exit codes of a worker that failed, and of one whose parent is gone.
const (
	exitFailed    = 1
	exitAbandoned = 2
)

// phase is how far a cell is, which decides which message may come next.
type phase int

const (
	greeted phase = iota
	preparing
	isReady
	window
	ended
	acknowledged
	closed
)

var expected = [...]string{"`job`", "nothing until `ready`", "`go`", "`stop` or nothing until `end`", "`ack`", "nothing", "nothing"}

// link is both directions of the protocol.
type link struct {
	sync.Mutex
	output *os.File
	inbox  chan message
	phase  phase
	turns  uint64
	gauge  *gauge
}

// gauge is what the slots of one run share.
type gauge struct {
	first, count uint64
	next         atomic.Uint64
	stopped      atomic.Bool
	// edges are the tickets at which the part begins and ends in which all slots are at work, if the turn has such a part.
	edges [2]uint64
	// at is when these were taken.
	at [2]atomic.Pointer[moment]
}

// The edges are those of the load generator in Rust: so many rounds of tickets at the beginning, and the last one in flight. A turn of
// fewer rounds than the least has no edges.
const firstEdge, leastRounds = 2, 8

// withEdges gives the turn edges, if it is long enough.
func (g *gauge) withEdges(slots uint64) {
	if g.count >= leastRounds*slots {
		g.edges = [2]uint64{firstEdge * slots, g.count - 1}
	}
}

// note notes the moment at which a ticket at an edge is taken: the first edge is passed before the last.
func (g *gauge) note() {
	if first := g.at[0].Load(); first == nil {
		g.at[0].Store(now())
	} else {
		g.at[1].Store(first.later())
	}
}

// steady is what there was between the edges, if there are any.
func (g *gauge) steady() *steady {
	first, last := g.at[0].Load(), g.at[1].Load()
	if first == nil || last == nil {
		return nil
	}
	wall, cpu, whole := last.since(first)
	if !whole {
		return nil
	}
	return &steady{WallNs: wall, CPUNs: cpu, Statements: g.edges[1] - g.edges[0]}
}

// take is the next ticket.
func (g *gauge) take() (uint64, bool) {
	if g.stopped.Load() {
		return 0, false
	}
	nth := g.next.Add(1) - 1
	if g.edges[1] > 0 && (nth == g.edges[0] || nth == g.edges[1]) {
		g.note()
	}
	return g.first + nth, nth < g.count
}

func (g *gauge) taken() uint64 { return min(g.next.Load(), g.count) }

// openLink takes standard output for the protocol, and points descriptor 1 at standard error.
func openLink() (*link, error) {
	own, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err == nil {
		err = unix.Dup3(2, 1, 0)
	}
	if err != nil {
		return nil, err
	}
	return &link{output: os.NewFile(uintptr(own), "standard output"), inbox: make(chan message, 4)}, nil
}

// say writes a message and enters a phase; nothing is said after the last message.
func (l *link) say(message any, next phase) {
	l.Lock()
	defer l.Unlock()
	if l.phase == closed {
		return
	}
	l.phase = next
	l.write(message)
}

// progress says how far the warm-up or the window of this gauge is, if it is still the one.
func (l *link) progress(of *gauge) {
	l.Lock()
	defer l.Unlock()
	if l.gauge == of && (l.phase == preparing || l.phase == window) {
		l.write(progress{"progress", of.taken()})
	}
}

func (l *link) write(message any) {
	line, err := json.Marshal(message)
	if err == nil {
		_, err = l.output.Write(append(line, '\n'))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "cqldyno worker: nobody reads what the worker says: %v\n", err)
		os.Exit(exitAbandoned)
	}
}

// fail says why the cell cannot go on, and ends the process.
func (l *link) fail(kind string, err error) {
	fmt.Fprintf(os.Stderr, "cqldyno worker: %v\n", err)
	l.say(failure{"failed", kind, err.Error()}, closed)
	os.Exit(exitFailed)
}

// arm names the gauge that progress reports and stop stops.
func (l *link) arm(of *gauge) {
	l.Lock()
	defer l.Unlock()
	l.gauge = of
}

// listen passes on what a cell waits for, until the last ack.
func (l *link) listen(input io.Reader) {
	lines := bufio.NewScanner(input)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for !l.hasHeardAll() {
		if !lines.Scan() {
			if err := lines.Err(); err != nil {
				l.fail("protocol", fmt.Errorf("a message of the worker protocol was expected, and the line cannot be read: %w", err))
			}
			if l.hasSaidAll() {
				return
			}
			fmt.Fprintln(os.Stderr, "cqldyno worker: standard input was closed before the end; this program is started by cqldyno, "+
				"which speaks the worker protocol with it")
			os.Exit(exitAbandoned)
		}
		came, err := decode(lines.Bytes())
		if err != nil {
			kind := "protocol"
			if came.kind == "job" {
				kind = "job"
			}
			l.fail(kind, fmt.Errorf("a message of the worker protocol was expected, and the line %.80q was found: %w", lines.Bytes(), err))
		}
		if l.heard(came) {
			l.inbox <- came
		}
	}
}

func (l *link) hasHeardAll() bool {
	l.Lock()
	defer l.Unlock()
	return l.turns == 0 && (l.phase == acknowledged || l.phase == closed)
}

// hasSaidAll is true after the last message: then the process is about to end by itself.
func (l *link) hasSaidAll() bool {
	l.Lock()
	defer l.Unlock()
	return l.phase == closed
}

// heard checks a message against the phase and acts on stop; it says whether the cell waits for it.
func (l *link) heard(came message) bool {
	l.Lock()
	defer l.Unlock()
	switch {
	case l.phase == greeted && came.kind == "job":
		l.phase, l.turns = preparing, came.job.Turns
		return true
	case l.phase == isReady && came.kind == "go":
		l.phase = window
		l.turns--
		return true
	case l.phase == window && came.kind == "stop":
		l.gauge.stopped.Store(true)
		return false
	case l.phase == ended && came.kind == "stop":
		// It crossed end on its way.
		return false
	case l.phase == ended && came.kind == "ack":
		l.phase = acknowledged
		return true
	}
	known := expected[l.phase]
	l.Unlock()
	l.fail("protocol", fmt.Errorf("%s was expected from the parent, and `%s` came", known, came.kind))
	return false
}
