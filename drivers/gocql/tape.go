package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
	"unsafe"

	"github.com/apache/cassandra-gocql-driver/v2"
	"golang.org/x/sys/unix"
)

// tape has what a job issues and what must come back, as drivers/PROTOCOL.md describes it. It lies outside of Go's heap, whose size
// would decide how often Go collects garbage.
type tape struct {
	reader
	statements []statement
	// tickets are where the records of a turn's tickets begin, and answers where those begin that several tickets may have.
	tickets, answers []int
}

// statement is one of a scenario's, with the types on its tape. infos are gocql's of the values, which it knows after a PREPARE.
type statement struct {
	Name, CQL, Operation string
	Logged               bool
	values, columns      []*kind
	infos                []gocql.TypeInfo
}

// reader reads a tape. It panics where that is broken, which turn says before a window.
type reader struct {
	file, pool []byte
	at         int
}

func (r *reader) take(size int) []byte {
	r.at += size
	return r.file[r.at-size : r.at : r.at]
}

func (r *reader) count() int { return int(uint32(number[int32](r.take(4)))) }

// cell is the next value: nil for a null; isSet is false for one that is to be left out.
func (r *reader) cell() (raw []byte, isSet bool) {
	switch size := number[int32](r.take(4)); size {
	case -1, -2:
		return nil, size == -1
	case -3:
		from, size := r.count(), r.count()
		return r.pool[from : from+size : from+size], true
	default:
		return r.take(int(size)), true
	}
}

// bind has the next values, as gocql takes them.
func (s *statement) bind(from *reader, room []any) []any {
	for i, kind := range s.values {
		raw, isSet := from.cell()
		room[i] = kind.value(raw, s.infos[i])
		if day, is := room[i].(time.Time); is {
			// gocql takes the first day of year 1 for none.
			room[i] = day.UnixMilli()
		} else if !isSet {
			room[i] = gocql.UnsetValue
		}
	}
	return room[:len(s.values)]
}

// openTape opens the tape of a job.
func openTape(job *job) (t *tape, err error) {
	t = &tape{statements: job.Scenario.Statements}
	if job.Tape == nil || len(job.Tape.Statements) != len(t.statements) {
		return nil, errors.New("the job has no tape with the types of each of its statements, and gocql's worker makes no values; give it one")
	}
	for i, types := range job.Tape.Statements {
		one := &t.statements[i]
		one.infos = make([]gocql.TypeInfo, len(types.Values))
		for _, name := range slices.Concat(types.Values, types.Columns) {
			kind, err := kindOf(name)
			if err != nil {
				return nil, err
			}
			one.columns = append(one.columns, kind)
		}
		one.values, one.columns = one.columns[:len(types.Values)], one.columns[len(types.Values):]
	}
	file, err := os.Open(job.Tape.Path)
	if err == nil {
		defer file.Close()
		var info os.FileInfo
		if info, err = file.Stat(); err == nil {
			t.file, err = unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
		}
	}
	most := int(max(job.Warmup, job.Count/job.Turns+1))
	room, lacking := unix.Mmap(-1, 0, 8*most, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err = errors.Join(err, lacking); err != nil {
		return nil, fmt.Errorf("the tape %s cannot be read: %w", job.Tape.Path, err)
	}
	t.tickets = unsafe.Slice((*int)(unsafe.Pointer(&room[0])), most)
	defer func() {
		if recover() != nil || string(t.file[:min(8, len(t.file))]) != "CQLTAPE1" {
			err = fmt.Errorf("the tape %s does not begin with CQLTAPE1 and a whole pool; have it written again", job.Tape.Path)
		}
	}()
	t.take(8)
	t.pool = t.take(t.count())
	return t, nil
}

// turn goes on to the next tickets, so many, and reads every value once: within a window none can be broken.
func (t *tape) turn(count uint64) (err error) {
	begin, nth := t.at, 0
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("ticket %d of %d from byte %d of the tape on is broken: %v; have the tape written again", nth, count, begin, broken)
		}
	}()
	// What is over needs no memory. It is read again if something still refers to it.
	page := os.Getpagesize()
	if from := (len(t.pool)/page + 1) * page; from < begin/page*page {
		_ = unix.Madvise(t.file[from:begin/page*page], unix.MADV_DONTNEED)
	}
	for nth < int(count) {
		at := t.at + 5
		switch kind := t.take(t.count())[0]; kind {
		case 0:
			t.answers = append(t.answers, at)
		case 1:
			t.tickets[nth] = at
			t.read(nth)
			nth++
		default:
			panic(fmt.Sprintf("its record is of the kind %d", kind))
		}
	}
	return nil
}

// read panics if a value of the nth ticket is none.
func (t *tape) read(nth int) {
	index, count, of := t.ticket(uint64(nth))
	one := &t.statements[index]
	room, width := make([]any, len(one.values)), len(one.values)
	if one.Operation != "batch" && count != width || count%max(width, 1) > 0 || width == 0 && count > 0 {
		panic(fmt.Sprintf("it has %d values for the %d markers of statement %s", count, width, one.Name))
	}
	for range count / max(width, 1) {
		one.bind(&of, room)
	}
	check, rows, due := t.due(of)
	for i := 0; i < rows*len(one.columns) && check != countOnly; i++ {
		raw, _ := due.cell()
		one.columns[i%len(one.columns)].value(raw, nil)
	}
}

// ticket is the nth of the turn: its statement, how many values follow, and a reader of them and of what is due.
func (t *tape) ticket(nth uint64) (index, count int, of reader) {
	of = reader{t.file, t.pool, t.tickets[nth]}
	index = int(uint16(number[int32](of.take(2))))
	return index, of.count(), of
}

// due is what must come back: how it is checked, how many rows there are, and a reader of their values.
func (t *tape) due(of reader) (check byte, rows int, values reader) {
	switch of.take(1)[0] {
	case 0:
		return inOrder, 0, of
	case 2:
		of.at = t.answers[of.count()]
	}
	check, rows = of.take(1)[0], of.count()
	of.take(4)
	return check, rows, of
}

// How the rows of an answer are checked.
const (
	inOrder byte = iota
	inAnyOrder
	countOnly
)

// rows takes the rows of one answer one by one, and checks each.
type rows struct {
	of      *statement
	cells   []*cell
	targets []any
	// The answer of the ticket has count rows, of which came have come. next has the values of the next.
	ticket      uint64
	check       byte
	count, came int
	next        reader
	// wrong is what was wrong with the first wrong row, whose values wrongs has; others are the rows from that one on, as texts.
	wrong  error
	wrongs reader
	others []string
}

func newRows(of *statement) *rows {
	r := &rows{of: of}
	for _, kind := range of.columns {
		one := kind.cell()
		r.cells, r.targets = append(r.cells, one), append(r.targets, one)
	}
	return r
}

// begin expects what is due.
func (r *rows) begin(ticket uint64, on *tape, due reader) {
	r.ticket, r.came, r.wrong, r.others = ticket, 0, nil, nil
	r.check, r.count, r.next = on.due(due)
}

// row checks the row that lies in the cells.
func (r *rows) row() {
	if r.came < r.count && r.wrong == nil && r.check != countOnly {
		before := r.next
		for i, cell := range r.cells {
			if due, _ := r.next.cell(); r.wrong == nil && !cell.is(due) {
				r.wrongs, r.wrong = before, r.wrongRow("in row %d of %d column %d should be %s %.80s, and %s %.80s was found",
					r.came+1, r.count, i+1, cell.name, cell.due(due), cell.name, cell)
			}
		}
	}
	if r.wrong != nil {
		r.others = append(r.others, fmt.Sprintf("%q", r.cells))
	}
	r.came++
}

// finish says what was wrong with the rows that came.
func (r *rows) finish() error {
	if r.came != r.count {
		return r.wrongRow("the number of rows should be %d, and is %d", r.count, r.came)
	}
	if r.wrong == nil {
		return nil
	}
	// They may be the right ones in another order.
	at, due := r.count-len(r.others), make([]string, len(r.others))
	for i := range due {
		texts := make([]string, len(r.cells))
		for nth, cell := range r.cells {
			value, _ := r.wrongs.cell()
			texts[nth] = cell.due(value)
		}
		due[i] = fmt.Sprintf("%q", texts)
	}
	own := slices.Index(due, r.others[0])
	slices.Sort(due)
	slices.Sort(r.others)
	switch {
	case !slices.Equal(due, r.others):
		return r.wrong
	case r.check == inAnyOrder:
		return nil
	}
	return r.wrongRow("the %d rows came in another order than that of their places: the first that differs is row %d, which should be row "+
		"%d; order them by a clustering column whose values rise with the place, and add ORDER BY if they came in the reverse order",
		r.count, at+1, at+own+1)
}

func (r *rows) wrongRow(format string, arguments ...any) error {
	return wrongRow("statement %s, ticket %d: %s", r.of.Name, r.ticket, fmt.Sprintf(format, arguments...))
}
