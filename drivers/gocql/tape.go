package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/apache/cassandra-gocql-driver/v2"
	"golang.org/x/sys/unix"
	"gopkg.in/inf.v0"
)

// tape is that of a job. It lies outside of Go's heap, whose size would decide how often Go collects garbage.
type tape struct {
	reader
	statements []statement
	// tickets are where the records of a turn's tickets begin, and answers where those begin that several tickets may have.
	tickets, answers []int
	room             []any
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

func (r *reader) count() int { return int(uint32(number(r.take(4)))) }

// cell is the next value: nil for a null; isSet is false for one that is to be left out.
func (r *reader) cell() (raw []byte, isSet bool) {
	switch size := number(r.take(4)); size {
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
		} else if raw == nil {
			// For a user-defined type gocql takes no other null.
			room[i] = (*udt)(nil)
		}
	}
	return room[:len(s.values)]
}

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
	if info, unknown := file.Stat(); err == nil && unknown == nil {
		t.file, err = unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
		_ = file.Close()
	}
	most := int(max(job.Warmup, job.Count/job.Turns+1))
	room, lacking := unix.Mmap(-1, 0, 8*most, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err = errors.Join(err, lacking); err != nil {
		return nil, fmt.Errorf("the tape %s cannot be read: %w", job.Tape.Path, err)
	}
	t.tickets = unsafe.Slice((*int)(unsafe.Pointer(&room[0])), most)
	if t.at = 8; len(t.file) < 12 || string(t.file[:8]) != "CQLTAPE1" || t.count() > len(t.file)-12 {
		return nil, fmt.Errorf("the tape %s does not begin with CQLTAPE1 and a whole pool; have it written again", job.Tape.Path)
	}
	t.at = 8
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
	width := len(one.values)
	t.room = append(t.room[:0], make([]any, width)...)
	if one.Operation != "batch" && count != width || count%max(width, 1) > 0 || width == 0 && count > 0 {
		panic(fmt.Sprintf("it has %d values for the %d markers of statement %s", count, width, one.Name))
	}
	for range count / max(width, 1) {
		one.bind(&of, t.room)
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
	index = int(uint16(number(of.take(2))))
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
		one := &cell{kind: kind, got: reflect.New(reflect.TypeOf(kind.zero)).Interface()}
		r.cells, r.targets = append(r.cells, one), append(r.targets, one)
	}
	return r
}

func (r *rows) begin(ticket uint64, on *tape, due reader) {
	r.ticket, r.came, r.wrong, r.others = ticket, 0, nil, nil
	r.check, r.count, r.next = on.due(due)
}

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

// kind is a CQL type: its number in the protocol, and a value of the type that an application has for it in Go.
type kind struct {
	name string
	id   gocql.Type
	zero any
	// of are the types of elements, or of keys and values.
	of []*kind
}

// scalars are the types without elements, by name; byID has them by their numbers.
var (
	scalars = map[string]*kind{}
	byID    = map[gocql.Type]*kind{}
)

func init() {
	for _, one := range []*kind{
		{"ascii", 0x01, "", nil}, {"bigint", 0x02, int64(0), nil}, {"blob", 0x03, []byte{}, nil}, {"boolean", 0x04, false, nil},
		{"counter", 0x05, int64(0), nil}, {"decimal", 0x06, inf.Dec{}, nil}, {"double", 0x07, 0.0, nil}, {"float", 0x08, float32(0), nil},
		{"int", 0x09, int32(0), nil}, {"timestamp", 0x0b, int64(0), nil}, {"uuid", 0x0c, gocql.UUID{}, nil}, {"text", 0x0d, "", nil},
		{"varint", 0x0e, int64(0), nil}, {"timeuuid", 0x0f, gocql.UUID{}, nil}, {"inet", 0x10, net.IP{}, nil},
		{"date", 0x11, time.Time{}, nil}, {"time", 0x12, int64(0), nil}, {"smallint", 0x13, int16(0), nil}, {"tinyint", 0x14, int8(0), nil},
		{"duration", 0x15, gocql.Duration{}, nil}, {"null", -1, raw{}, nil},
	} {
		scalars[one.name], byID[one.id] = one, one
	}
}

// kindOf is the type with this name, such as map<text, int>.
func kindOf(name string) (*kind, error) {
	if one, is := scalars[name]; is {
		return one, nil
	}
	outer, inner, _ := strings.Cut(strings.TrimSuffix(name, ">"), "<")
	id, is := map[string]gocql.Type{"list": 0x20, "map": 0x21, "set": 0x22, "udt": 0x30, "vector": 0x00}[outer]
	unknown := fmt.Errorf("the tape has values of the type %q, which gocql's worker does not know; use another scenario", name)
	if !is || inner == "" || outer == "vector" && isFirst {
		return nil, unknown
	} else if outer == "udt" {
		return &kind{outer, id, udt{}, nil}, nil
	}
	key, rest, _ := strings.Cut(inner, ",")
	if outer == "vector" {
		rest = inner[:max(strings.LastIndex(inner, ","), 0)]
	} else if outer != "map" {
		rest = inner
	}
	of, err := kindOf(strings.TrimSpace(rest))
	keys := scalars[key]
	if err != nil || outer == "map" && (keys == nil || key == "decimal") {
		return nil, unknown
	} else if outer != "map" {
		return &kind{outer, id, reflect.Zero(reflect.SliceOf(reflect.TypeOf(of.zero))).Interface(), []*kind{of}}, nil
	}
	hashed := reflect.TypeOf(keys.zero)
	if !hashed.Comparable() {
		// Go hashes no bytes, and gocql takes and gives a text for them, too.
		hashed = reflect.TypeFor[string]()
	}
	return &kind{outer, id, reflect.Zero(reflect.MapOf(hashed, reflect.TypeOf(of.zero))).Interface(), []*kind{keys, of}}, nil
}

// value is what an application binds for the bytes of a tape: read here, or by the codec of gocql, which knows the type as info.
func (k *kind) value(raw []byte, info gocql.TypeInfo) any {
	if raw == nil {
		return nil
	}
	switch k.zero.(type) {
	case int64:
		return number(raw)
	case int32:
		return int32(number(raw))
	case float64:
		return math.Float64frombits(uint64(number(raw)))
	case bool:
		return raw[0] != 0
	case string:
		return within(raw)
	case []byte:
		return raw
	case gocql.UUID:
		return gocql.UUID(raw)
	}
	if info == nil {
		return nil
	}
	made := reflect.New(reflect.TypeOf(k.zero))
	if err := gocql.Unmarshal(info, raw, made.Interface()); err != nil {
		panic(err)
	}
	return made.Elem().Interface()
}

// number is a whole number, big-endian and of two's complement.
func number(raw []byte) int64 {
	if len(raw) == 8 {
		return int64(binary.BigEndian.Uint64(raw))
	}
	n := int64(int8(raw[0]))
	for _, one := range raw[1:] {
		n = n<<8 | int64(one)
	}
	return n
}

// within is a text that lies in these bytes, which never change.
func within(raw []byte) string { return unsafe.String(unsafe.SliceData(raw), len(raw)) }

// cell is what gocql decodes a column into. gocql would make a zero of a null, so nulls are kept apart.
type cell struct {
	*kind
	info gocql.TypeInfo
	// got points to a value of the type of zero.
	got  any
	null bool
}

func (c *cell) UnmarshalCQL(info gocql.TypeInfo, data []byte) error {
	if c.name == "null" {
		*c.got.(*raw), c.null = bytes.Clone(data), data == nil
		return nil
	} else if info.Type() != c.id {
		return wrongRow("a column of the type %s was expected, and one of the type with the id %d came", c.name, int(info.Type()))
	}
	if c.info, c.null = info, data == nil; c.null {
		return nil
	}
	if c.name == "udt" {
		*c.got.(*udt) = nil
	}
	return gocql.Unmarshal(info, data, c.got)
}

// is compares with the bytes of a tape, which are nil for a null.
func (c *cell) is(due []byte) bool {
	if due == nil || c.null {
		return due == nil && c.null
	}
	switch got := c.got.(type) {
	case *int64:
		return *got == number(due)
	case *int32:
		return *got == int32(number(due))
	case *float64:
		return *got == math.Float64frombits(uint64(number(due)))
	case *bool:
		return *got == (due[0] != 0)
	case *string:
		return *got == within(due)
	case *[]byte:
		return bytes.Equal(*got, due)
	case *gocql.UUID:
		return bytes.Equal(got[:], due)
	}
	value := c.value(due, c.info)
	// A server orders a set in its own way.
	return reflect.DeepEqual(value, reflect.ValueOf(c.got).Elem().Interface()) || c.due(due) == c.String()
}

// due is the text of bytes of a tape; the same value has the same text.
func (c *cell) due(raw []byte) string { return c.text(reflect.ValueOf(c.value(raw, c.info))) }

func (c *cell) String() string {
	if c.null {
		return "null"
	}
	return c.text(reflect.ValueOf(c.got).Elem())
}

func (k *kind) text(value reflect.Value) string {
	if !value.IsValid() {
		return "null"
	}
	switch value := value.Interface().(type) {
	case string:
		return fmt.Sprintf("%q", value)
	case []byte:
		return fmt.Sprintf("0x%x", value)
	case inf.Dec:
		return value.String()
	}
	var items []string
	switch k.name {
	case "list", "set", "vector":
		for i := range value.Len() {
			items = append(items, k.of[0].text(value.Index(i)))
		}
	case "map":
		for pair := value.MapRange(); pair.Next(); {
			items = append(items, k.of[0].text(pair.Key())+": "+k.of[1].text(pair.Value()))
		}
	default:
		return fmt.Sprint(value)
	}
	if k.name == "set" || k.name == "map" {
		slices.Sort(items)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// udt is a user-defined type by its fields' names.
type udt map[string]any

// raw is a field as its bytes.
type raw []byte

func (r raw) MarshalCQL(gocql.TypeInfo) ([]byte, error) { return r, nil }

func (u udt) MarshalUDT(name string, info gocql.TypeInfo) ([]byte, error) {
	return gocql.Marshal(info, u[name])
}

func (u *udt) UnmarshalUDT(name string, info gocql.TypeInfo, data []byte) error {
	if *u == nil {
		*u = udt{}
	}
	data = bytes.Clone(data)
	if kind := byID[info.Type()]; kind != nil {
		(*u)[name] = kind.value(data, info)
	} else if data != nil {
		(*u)[name] = raw(data)
	}
	return nil
}
