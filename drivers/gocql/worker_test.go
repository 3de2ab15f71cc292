package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/apache/cassandra-gocql-driver/v2"
)

// A driver without a server: it answers every SELECT with the row that is due, or as `how` says.
type fake struct {
	how      string
	executed *atomic.Int64
}

const behaviour = "CQLDYNO_FAKE_DRIVER"

func TestMain(m *testing.M) {
	if os.Getenv(behaviour) != "" {
		serve(fakeDescribe, fakeConnect)
		os.Exit(0)
	}
	var err error
	if tapes, err = os.MkdirTemp("", "gocql-tapes-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(tapes)
	os.Exit(code)
}

// tapes is a folder of this test's.
var tapes string

func fakeDescribe() (message, error) {
	if os.Getenv(behaviour) == "undescribed" {
		return nil, errors.New("there is no library")
	}
	return message{"name": "fake", "version": "1.0.0"}, nil
}

func fakeConnect(of *job) (session, error) {
	fmt.Println("a library that prints")
	switch os.Getenv(behaviour) {
	case "refused":
		return nil, refused{errors.New("user and password do not match")}
	case "panics-at-connect":
		panic("no connection")
	}
	return fake{os.Getenv(behaviour), new(atomic.Int64)}, of.checkOptions()
}

// refused is an error of the server.
type refused struct{ error }

func (refused) Code() int       { return 0x100 }
func (refused) Message() string { return "" }

func (fake) Close()  {}
func (fake) settle() {}

func (fake) prepare(string) ([]gocql.TypeInfo, error) { return nil, nil }

func (fake) batch(string, [][]any, bool) error { return nil }

const mebibyte = 1 << 20

// held holds the last allocation of a driver that allocates a mebibyte per statement.
var held atomic.Pointer[[mebibyte]byte]

func (s fake) execute(cql string, values []any, rows *rows) error {
	if nth := s.executed.Add(1); nth > 5 {
		switch s.how {
		case "panics":
			panic("a thread of the driver")
		case "fails":
			return io.EOF
		case "slow":
			time.Sleep(time.Millisecond)
		}
	}
	key := values[0].(int64)
	switch {
	case s.how == "allocates":
		held.Store(new([mebibyte]byte))
	case s.how == "hangs-at-times" && key%10 == 3:
		return io.EOF
	case s.how == "hangs-at-times" && key%10 == 7:
		select {}
	}
	if cql != "SELECT" {
		if s.how == "returns-rows" {
			rows.came++
		}
		return nil
	}
	if s.how == "no-rows" {
		return nil
	}
	if s.how == "other-keys" {
		key++
	}
	*rows.cells[0].got.(*int64), *rows.cells[1].got.(*int64), *rows.cells[2].got.(*string) = key, 2*key, fmt.Sprint("text ", key)
	rows.cells[2].null = s.how == "null"
	rows.row()
	if s.how == "twice" {
		rows.row()
	}
	return nil
}

// parent is what speaks with a worker.
type parent struct {
	t       *testing.T
	command *exec.Cmd
	input   io.WriteCloser
	lines   *bufio.Scanner
}

func started(t *testing.T, how string) *parent {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), behaviour+"="+how)
	input, _ := command.StdinPipe()
	output, _ := command.StdoutPipe()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, maxLine)
	return &parent{t, command, input, lines}
}

func (p *parent) say(line string) { fmt.Fprintln(p.input, line) }

// next is the worker's next message but progress.
func (p *parent) next() map[string]any {
	for p.lines.Scan() {
		var message map[string]any
		if err := json.Unmarshal(p.lines.Bytes(), &message); err != nil {
			p.t.Fatalf("%q: %v", p.lines.Text(), err)
		}
		if message["type"] != "progress" {
			return message
		}
	}
	return nil
}

func (p *parent) expect(kind string) map[string]any {
	p.t.Helper()
	message := p.next()
	if message["type"] != kind {
		p.t.Fatalf("%s was expected, and this came: %v", kind, message)
	}
	return message
}

// ends says with which code the worker ended.
func (p *parent) ends() int {
	for p.lines.Scan() {
	}
	_ = p.command.Wait()
	return p.command.ProcessState.ExitCode()
}

const reads = `{"name":"reads","about":"","schema":[],"statement":[{"name":"select","cql":"SELECT","weight":1},
{"name":"insert","cql":"INSERT","weight":1}]}`

func sized(bytes []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(bytes))), bytes...)
}

func bigint(n int) []byte { return sized(binary.BigEndian.AppendUint64(nil, uint64(n))) }

// tapeOf has so many tickets, a SELECT and an INSERT in turn, after a pool of 8 bytes. Every fourth answer is pooled.
func tapeOf(tickets ...int) []byte {
	tape, pooled := append([]byte("CQLTAPE1"), sized([]byte("the pool"))...), uint32(0)
	for _, key := range tickets {
		ticket := append([]byte{1, 0, byte(key % 2), 0, 0, 0, 1}, bigint(key)...)
		answer := append([]byte{0, 0, 0, 0, 1, 0, 0, 0, 3}, bigint(key)...)
		answer = append(append(answer, bigint(2*key)...), sized(fmt.Append(nil, "text ", key))...)
		switch {
		case key%2 == 1:
			ticket = append(ticket, 0)
		case key%4 == 2:
			tape = append(tape, sized(append([]byte{0}, answer...))...)
			ticket = binary.BigEndian.AppendUint32(append(ticket, 2), pooled)
			pooled++
		default:
			ticket = append(append(ticket, 1), answer...)
		}
		tape = append(tape, sized(ticket)...)
	}
	return tape
}

// written is the path of a tape.
func written(tape []byte) string {
	file, err := os.CreateTemp(tapes, "")
	if err == nil {
		_, err = file.Write(tape)
	}
	if err != nil {
		panic(err)
	}
	return file.Name()
}

// jobWith is one with these fields instead of the usual ones; a ticket's key is its number, and that of the warm-up 1000000 and so on.
func jobWith(fields string) string {
	usual := map[string]any{
		"type": "job", "mode": "measure", "count": 100, "turns": 1, "warmup": 4, "concurrency": 8, "seed": 7,
		"runtime": map[string]any{"kind": "multi", "workers": 2}, "target": []string{"127.0.0.1:9042"}, "connections": 1,
		"consistency": "LOCAL_ONE", "page_size": 5000, "settings": "equal", "progress_ms": 500, "scenario": json.RawMessage(reads),
	}
	if err := json.Unmarshal([]byte("{"+fields+"}"), &usual); err != nil {
		panic(err)
	}
	if usual["tape"] == nil {
		var keys []int
		number := func(name string) int {
			if n, is := usual[name].(float64); is {
				return int(n)
			}
			return usual[name].(int)
		}
		for key := range number("warmup") {
			keys = append(keys, 1_000_000+key)
		}
		for key := range min(number("count"), 10_000) {
			keys = append(keys, key)
		}
		usual["tape"] = ofTape(written(tapeOf(keys...)))
	}
	line, _ := json.Marshal(usual)
	return string(line)
}

func ofTape(path string) map[string]any {
	types := func(values, columns string) any {
		return map[string]any{"values": strings.Fields(values), "columns": strings.Fields(columns)}
	}
	return map[string]any{"path": path, "statements": []any{types("bigint", "bigint bigint text"), types("bigint", "")}}
}

// turn is one turn from go to done.
func (p *parent) turn() map[string]any {
	p.t.Helper()
	p.say(`{"type":"go"}`)
	end := p.expect("end")
	if end["wall_ns"].(float64) <= 0 || end["at_ns"].(float64) <= 0 {
		p.t.Errorf("%v", end)
	}
	p.say(`{"type":"ack"}`)
	return p.expect("done")
}

func TestEveryTurnHasItsShareAndAllTogetherHaveEveryTicketOnce(t *testing.T) {
	p := started(t, "honest")
	hello := p.expect("hello")
	if hello["protocol"].(float64) != 3 || hello["turns"] != true || hello["tape"] != true || hello["language"] != "Go" ||
		hello["machine"].(map[string]any)["cores"].(float64) < 1 {
		t.Errorf("%v", hello)
	}
	p.say(jobWith(`"turns":3`))
	if ready := p.expect("ready"); ready["threads"].(float64) < 1 || len(ready["settings"].([]any)) != 11 {
		t.Errorf("%v", ready)
	}
	by := map[string]float64{}
	for nth, count := range []float64{33, 33, 34} {
		done := p.turn()
		if done["issued"] != count || done["answered"] != count || done["verified"] != count {
			t.Errorf("turn %d: %v", nth, done)
		}
		for name, issued := range done["issued_by_statement"].(map[string]any) {
			by[name] += issued.(float64)
		}
		histogram, err := hdrhistogram.Decode([]byte(done["histogram"].(string)))
		if err != nil || histogram.TotalCount() != int64(count) || done["per_second"].([]any)[0] != count {
			t.Errorf("turn %d: %v %v", nth, err, done)
		}
	}
	if by["select"] != 50 || by["insert"] != 50 {
		t.Errorf("%v", by)
	}
	if code := p.ends(); code != 0 {
		t.Errorf("code %d", code)
	}
}

func TestAllocationsOfTheWindowAreToldIfTheyAreAskedFor(t *testing.T) {
	allocated := func(how string) map[string]any {
		p := started(t, how)
		p.expect("hello")
		p.say(jobWith(`"turns":2`))
		p.expect("ready")
		p.turn()
		told, _ := p.turn()["allocations"].(map[string]any)
		return told
	}
	if told := allocated("allocates"); told != nil {
		t.Errorf("they were not asked for: %v", told)
	}
	t.Setenv("CQLDYNO_ALLOCATIONS", "file")
	honest, allocates := allocated("honest"), allocated("allocates")
	more := allocates["bytes"].(float64) - honest["bytes"].(float64)
	if more < 49*mebibyte || more > 60*mebibyte {
		t.Errorf("50 statements allocate a MiB each: %v %v", honest, allocates)
	}
	if count := allocates["count"].(float64); count < 50 || allocates["frees"].(float64) < 1 {
		t.Errorf("%v", allocates)
	}
}

func TestStopEndsATurnEarlyAndALateOneIsIgnored(t *testing.T) {
	p := started(t, "slow")
	p.expect("hello")
	p.say(jobWith(`"count":10000`))
	p.expect("ready")
	p.say(`{"type":"go"}`)
	time.Sleep(20 * time.Millisecond)
	p.say(`{"type":"stop"}`)
	p.expect("end")
	p.say(`{"type":"stop"}`)
	p.say(`{"type":"ack"}`)
	done := p.expect("done")
	if issued := done["issued"].(float64); issued < 8 || issued >= 10_000 || done["answered"] != issued || done["verified"] != issued {
		t.Errorf("%v", done)
	}
}

func TestARateIsKeptAndItsHistogramsHaveEveryStatement(t *testing.T) {
	p := started(t, "honest")
	p.expect("hello")
	p.say(jobWith(`"rate":2000`))
	p.expect("ready")
	done := p.turn()
	pace := done["pace"].(map[string]any)
	// The last of 100 statements is to start after 99 two-thousandths of a second.
	if pace["rate"].(float64) != 2000 || pace["lasted_ns"].(float64) < 49e6 {
		t.Errorf("%v", pace)
	}
	for _, name := range []string{"response", "lateness"} {
		histogram, err := hdrhistogram.Decode([]byte(pace[name].(string)))
		if err != nil || histogram.TotalCount() != 100 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// ticketsOf are those of 1,000 that end with this digit, as runs.
func ticketsOf(digit float64) any {
	var runs []any
	for ticket := digit; ticket < 1000; ticket += 10 {
		runs = append(runs, []any{ticket, 1.0})
	}
	return runs
}

func TestAWindowWithStatementsThatHangEndsAfterItsPatienceAndEveryTicketIsAccountedFor(t *testing.T) {
	p := started(t, "hangs-at-times")
	p.expect("hello")
	p.say(jobWith(`"count":1000,"warmup":0,"concurrency":128,"rate":20000,"trace":{"patience_ms":2000}`))
	p.expect("ready")
	p.say(`{"type":"go"}`)
	waited := false
	for p.lines.Scan() && !strings.Contains(p.lines.Text(), `"end"`) {
		waited = waited || strings.Contains(p.lines.Text(), `"issued":1000`)
	}
	if !waited {
		t.Error("the worker must tell that it is there while it waits")
	}
	p.say(`{"type":"ack"}`)
	told := p.expect("done")
	trace, by := told["trace"].(map[string]any), told["issued_by_statement"].(map[string]any)
	lost := told["errors"].(map[string]any)["connection_lost"].(map[string]any)
	if told["issued"] != 1000.0 || told["answered"] != 900.0 || told["verified"] != 800.0 || lost["count"] != 100.0 ||
		by["select"] != 500.0 || by["insert"] != 500.0 {
		t.Errorf("%+v", told)
	}
	if !reflect.DeepEqual(trace["failed"], ticketsOf(3)) || !reflect.DeepEqual(trace["unanswered"], ticketsOf(7)) {
		t.Errorf("%+v", trace)
	}
	sum := 0.0
	for _, count := range trace["answers_per_10ms"].([]any) {
		sum += count.(float64)
	}
	response, err := hdrhistogram.Decode([]byte(told["pace"].(map[string]any)["response"].(string)))
	if sum != 800 || err != nil || response.TotalCount() != 900 {
		t.Errorf("%v right answers, %v", sum, err)
	}
	if code := p.ends(); code != 0 {
		t.Errorf("code %d", code)
	}
}

func TestStatementsThatFindEverySlotStuckAreNotIssued(t *testing.T) {
	for _, stops := range []bool{false, true} {
		p := started(t, "hangs-at-times")
		p.expect("hello")
		rate := 20000
		if stops {
			// It would take more than a quarter of an hour.
			rate = 1
		}
		p.say(jobWith(fmt.Sprintf(`"count":1000,"warmup":0,"concurrency":4,"rate":%d,"trace":{"patience_ms":1000}`, rate)))
		p.expect("ready")
		p.say(`{"type":"go"}`)
		if stops {
			p.say(`{"type":"stop"}`)
		}
		p.expect("end")
		p.say(`{"type":"ack"}`)
		done := p.expect("done")
		told := done["trace"].(map[string]any)
		unanswered := 0.0
		for _, run := range told["unanswered"].([]any) {
			unanswered += run.([]any)[1].(float64)
		}
		issued := done["issued"].(float64)
		if issued >= 1000 || issued != done["answered"].(float64)+unanswered || !stops && unanswered != 4 {
			t.Errorf("%v", done)
		}
		if code := p.ends(); code != 0 {
			t.Errorf("code %d", code)
		}
	}
}

func TestNoTraceIsToldUnasked(t *testing.T) {
	p := started(t, "honest")
	p.expect("hello")
	p.say(jobWith(`"turns":2,"rate":20000`))
	p.expect("ready")
	if _, told := p.turn()["trace"]; told {
		t.Error("nobody asked for a trace")
	}
	p.turn()
	// Asked for, the tickets of a later turn are its own.
	p = started(t, "fails")
	p.expect("hello")
	p.say(jobWith(`"turns":2,"warmup":0,"rate":20000,"trace":{"patience_ms":600000}`))
	p.expect("ready")
	p.turn()
	told := p.turn()["trace"].(map[string]any)
	if !reflect.DeepEqual(told["failed"], []any{[]any{50.0, 50.0}}) || len(told["unanswered"].([]any)) != 0 {
		t.Errorf("%v", told)
	}
}

func TestNoWayToMisbehaveIsVerified(t *testing.T) {
	for _, one := range []struct{ how, words string }{
		{"other-keys", "statement select, ticket"},
		{"null", "in row 1 of 1 column 3 should be text \"text "},
		{"no-rows", "the number of rows should be 1, and is 0"},
		{"twice", "the number of rows should be 1, and is 2"},
		{"returns-rows", "the number of rows should be 0, and is 1"},
	} {
		p := started(t, one.how)
		p.expect("hello")
		p.say(jobWith(`"warmup":0`))
		p.expect("ready")
		done := p.turn()
		wrong := done["errors"].(map[string]any)["wrong_row"].(map[string]any)
		if wrong["count"].(float64) != 50 || done["verified"].(float64) != 50 || !strings.Contains(wrong["first"].(string), one.words) {
			t.Errorf("%s: %v", one.how, done)
		}
	}
	p := started(t, "fails")
	p.expect("hello")
	p.say(jobWith(`"warmup":0`))
	p.expect("ready")
	done := p.turn()
	failed := done["errors"].(map[string]any)["connection_lost"].(map[string]any)
	if failed["count"].(float64) != 95 || done["verified"].(float64) != 5 || failed["first"] != "EOF" {
		t.Errorf("%v", done)
	}
}

func mustJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// answerOf has rows of a bigint each, checked so.
func answerOf(check byte, numbers ...int) []byte {
	answer := []byte{check, 0, 0, 0, byte(len(numbers)), 0, 0, 0, 1}
	for _, number := range numbers {
		answer = append(answer, bigint(number)...)
	}
	return answer
}

func TestTheRightRowsInAnotherOrderAreToldFromWrongOnes(t *testing.T) {
	for _, one := range []struct {
		due   []byte
		came  []int64
		words string
	}{
		{answerOf(inOrder, 28, 29, 30), []int64{28, 29, 30}, ""},
		{answerOf(inOrder, 28, 29, 30), []int64{30, 29, 28}, "came in another order than that of their places: the first that differs is row 1, which should be row 3"},
		{answerOf(inOrder, 28, 29, 30, 31), []int64{28, 30, 31, 29}, "the first that differs is row 2, which should be row 3"},
		{answerOf(inOrder, 28, 29, 30), []int64{28, 30, 30}, "statement day, ticket 7: in row 2 of 3 column 1 should be bigint 29, and bigint 30 was found"},
		{answerOf(inOrder, 28, 29, 30), []int64{30, 29}, "the number of rows should be 3, and is 2"},
		{answerOf(inAnyOrder, 28, 29, 30), []int64{29, 30, 28}, ""},
		{answerOf(inAnyOrder, 28, 29, 29), []int64{29, 28, 28}, "in row 1 of 3 column 1 should be bigint 28"},
		{[]byte{countOnly, 0, 0, 0, 2, 0, 0, 0, 0}, []int64{1, 2}, ""},
		{[]byte{countOnly, 0, 0, 0, 2, 0, 0, 0, 0}, []int64{1}, "the number of rows should be 2, and is 1"},
	} {
		rows := newRows(&statement{Name: "day", columns: []*kind{scalars["bigint"]}})
		rows.begin(7, &tape{}, reader{append([]byte{1}, one.due...), nil, 0})
		for _, number := range one.came {
			*rows.cells[0].got.(*int64) = number
			rows.row()
		}
		err := rows.finish()
		if (err == nil) != (one.words == "") || err != nil && (!strings.Contains(err.Error(), one.words) || kindOfError(err) != "wrong_row") {
			t.Errorf("%v: %v", one.came, err)
		}
	}
}

func TestAValueIsWhatAnApplicationBindsAndANullIsNoZero(t *testing.T) {
	for _, one := range []struct {
		kind string
		raw  []byte
		due  any
		text string
	}{
		{"bigint", []byte{255, 255, 255, 255, 255, 255, 255, 254}, int64(-2), "-2"},
		{"int", []byte{255, 255, 255, 254}, int32(-2), "-2"},
		{"varint", []byte{1, 0}, int64(256), "256"},
		{"varint", []byte{0x80}, int64(-128), "-128"},
		{"double", []byte{0x3f, 0xe0, 0, 0, 0, 0, 0, 0}, 0.5, "0.5"},
		{"boolean", []byte{1}, true, "true"},
		{"text", []byte("a\"b"), "a\"b", `"a\"b"`},
		{"ascii", []byte{}, "", `""`},
		{"blob", []byte{1, 171}, []byte{1, 171}, "0x01ab"},
		{"uuid", make([]byte, 16), gocql.UUID{}, "00000000-0000-0000-0000-000000000000"},
	} {
		kind, err := kindOf(one.kind)
		if err != nil {
			t.Fatal(err)
		}
		if found := kind.value(one.raw, nil); !reflect.DeepEqual(found, one.due) {
			t.Errorf("%s: %#v instead of %#v", one.kind, found, one.due)
		}
		cell := cellOf(kind)
		reflect.ValueOf(cell.got).Elem().Set(reflect.ValueOf(one.due))
		if !cell.is(one.raw) || cell.is(nil) || cell.due(one.raw) != one.text || cell.String() != one.text || cell.due(nil) != "null" {
			t.Errorf("%s: %s instead of %s", one.kind, cell, one.text)
		}
		if cell.null = true; cell.is(one.raw) || !cell.is(nil) || cell.String() != "null" {
			t.Errorf("%s: a null is no value", one.kind)
		}
	}
	null := cellOf(scalars["null"])
	if err := null.UnmarshalCQL(nil, nil); err != nil || !null.is(nil) || scalars["null"].value(nil, nil) != nil {
		t.Errorf("%v %s", err, null)
	}
	if err := null.UnmarshalCQL(nil, []byte{1}); err != nil || null.is(nil) || null.String() != "[1]" {
		t.Errorf("%v %s", err, null)
	}
	if nan := cellOf(scalars["double"]); nan.is(binary.BigEndian.AppendUint64(nil, math.Float64bits(1))) {
		t.Error("0 is not 1")
	}
}

func cellOf(one *kind) *cell { return newRows(&statement{columns: []*kind{one}}).cells[0] }

func TestATypeIsReadFromItsName(t *testing.T) {
	for name, in := range map[string]any{
		"list<int>": []int32{}, "set<text>": []string{}, "map<text, int>": map[string]int32{}, "udt<int, list<text>>": udt{},
		"map<bigint, map<uuid, list<double>>>": map[int64]map[gocql.UUID][]float64{}, "map<blob, blob>": map[string][]byte{},
		"list<udt<int, text>>": []udt{},
	} {
		one, err := kindOf(name)
		if err != nil || reflect.TypeOf(one.zero) != reflect.TypeOf(in) {
			t.Errorf("%s: %v %v", name, one, err)
		}
	}
	for _, name := range []string{"tuple<int, text>", "bigger", "list<>", "map<list<int>, int>", "map<decimal, int>", "vector", "list", ""} {
		if one, err := kindOf(name); err == nil || !strings.Contains(err.Error(), "which gocql's worker does not know") {
			t.Errorf("%s: %v %v", name, one, err)
		}
	}
	if one, err := kindOf("vector<float, 3>"); (err == nil) == isFirst {
		t.Errorf("%v %v", one, err)
	}
}

func TestABrokenTapeIsRefusedWithASentence(t *testing.T) {
	whole := tapeOf(0, 1, 2, 3)
	changed := func(at int, to byte) []byte {
		tape := append([]byte{}, whole...)
		tape[at] = to
		return tape
	}
	for _, one := range []struct {
		tape  []byte
		words string
	}{
		{nil, "the tape "},
		{whole[:6], "does not begin with CQLTAPE1 and a whole pool"},
		{whole[:15], "does not begin with CQLTAPE1 and a whole pool"},
		{changed(3, 'X'), "does not begin with CQLTAPE1"},
		{tapeOf(0, 1, 2), "ticket 3 of 4 from byte 20 of the tape on is broken"},
		{whole[:len(whole)-1], "is broken"},
		{changed(24, 7), "its record is of the kind 7"},
		{changed(26, 9), "is broken: runtime error: index out of range [9] with length 2"},
		{changed(30, 2), "it has 2 values for the 1 markers of statement select"},
		{changed(32, 1), "is broken: runtime error: slice bounds out of range"},
		{[]byte("CQLTAPE1\x00\x00\x00\x00\x00\x00\x00\x18\x01\x00\x00\x00\x00\x00\x01\x00\x00\x00\x08abcdefgh\x02\x00\x00\x00\x05"),
			"index out of range [5] with length 0"},
	} {
		p := started(t, "honest")
		p.expect("hello")
		p.say(jobWith(`"count":4,"warmup":0,"tape":` + mustJSON(ofTape(written(one.tape)))))
		message := p.expect("failed")
		if said, _ := message["message"].(string); message["kind"] != "job" || !strings.Contains(said, one.words) {
			t.Errorf("%q: %v", one.words, message)
		}
	}
}

func TestAWindowBeginsWhenItIsToldTo(t *testing.T) {
	p := started(t, "honest")
	p.expect("hello")
	p.say(jobWith(``))
	p.expect("ready")
	now, _ := clock(1)
	p.say(fmt.Sprintf(`{"type":"go","at_ns":%d}`, now+int64(50*time.Millisecond)))
	if end := p.expect("end"); end["at_ns"].(float64)-end["wall_ns"].(float64) < float64(now)+50e6-1e3 {
		t.Errorf("%d: %v", now, end)
	}
}

func TestWhatCannotBeDoneIsAFailureWithItsKindAndASentence(t *testing.T) {
	for _, one := range []struct{ how, job, kind, words string }{
		{"undescribed", "", "describe", "there is no library"},
		{"refused", jobWith(``), "bad_credentials", "gocql could not connect to 127.0.0.1:9042: user and password do not match"},
		{"panics-at-connect", jobWith(``), "crash", "the driver panicked: no connection"},
		{"panics", jobWith(``), "crash", "the driver panicked while it executed a statement: a thread of the driver"},
		{"fails", jobWith(`"warmup":50`), "warm_up", "the first of kind connection_lost: EOF"},
		{"honest", jobWith(`"mode":"load"`), "job", `the mode "load" was asked for, which is for floor`},
		{"honest", jobWith(`"concurrency":0`), "job", "a concurrency of 0 was asked for"},
		{"honest", jobWith(`"rate":0`), "job", "if there is a rate, a statement per second"},
		{"honest", jobWith(`"turns":0`), "job", "a job needs at least a turn"},
		{"honest", jobWith(`"trace":{"patience_ms":5}`), "job", "the job has neither a rate nor the mode read_back"},
		{"honest", jobWith(`"rate":1000,"count":1000001,"trace":{"patience_ms":5}`), "job", "1000001 statements in 1000 s with the patience were to be traced"},
		{"honest", jobWith(`"rate":1,"trace":{"patience_ms":3600000}`), "job", "100 statements in 3700 s with the patience were to be traced"},
		{"honest", strings.Replace(jobWith(`"rate":1,"trace":{"patience_ms":5}`), `"cql":"SELECT"`, `"cql":"SELECT","operation":"connect"`, 1),
			"job", "opens a session of its own, so it cannot be traced"},
		{"honest", jobWith(`"options":{"x":"y"}`), "connect", "gocql has no option `x`"},
		{"honest", jobWith(`"tape":{"path":"/nowhere","statements":[]}`), "job", "no tape with the types of each of its statements"},
		{"honest", jobWith(`"tape":` + strings.Replace(mustJSON(ofTape("/nowhere")), "text", "tuple<int>", 1)), "job",
			`values of the type "tuple<int>", which gocql's worker does not know`},
		{"honest", jobWith(`"tape":` + mustJSON(ofTape("/nowhere"))), "job", "the tape /nowhere cannot be read: open /nowhere"},
		{"honest", strings.Replace(jobWith(``), `"name":"reads"`, `"name":"reads","submit":"spawn"`, 1), "job", "submitted as spawn"},
		{"honest", strings.Replace(jobWith(``), `"cql":"SELECT"`, `"cql":"SELECT","operation":"prepare"`, 1), "job",
			"gocql does not declare the capability prepare"},
		{"honest", `{"type":"go"}`, "protocol", "`job` was expected from the parent, and `go` came"},
		{"honest", "hello", "protocol", `the line "hello" was found`},
	} {
		p := started(t, one.how)
		message := p.next()
		if one.job != "" && message["type"] == "hello" {
			p.say(one.job)
			if message = p.next(); message["type"] == "ready" {
				p.say(`{"type":"go"}`)
				message = p.next()
			}
		}
		said, _ := message["message"].(string)
		if message["type"] != "failed" || message["kind"] != one.kind || !strings.Contains(said, one.words) {
			t.Errorf("%s: %v instead of %s: %s", one.how, message, one.kind, one.words)
		}
		if code := p.ends(); code != exitFailed {
			t.Errorf("%s: code %d", one.how, code)
		}
	}
}

func TestAWorkerEndsWithoutItsParent(t *testing.T) {
	p := started(t, "honest")
	p.expect("hello")
	p.say(jobWith(``))
	p.expect("ready")
	p.input.Close()
	if code := p.ends(); code != exitAbandoned {
		t.Errorf("code %d", code)
	}
}
