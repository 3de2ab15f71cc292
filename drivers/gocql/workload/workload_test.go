package workload

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

type vector struct {
	Scenario Scenario
	Count    uint64
	Warmup   uint64
	Seed     uint64
	Tickets  [][2]uint64 `json:"every_37th_ticket"`
	Warm     [][2]uint64 `json:"warmup_tickets"`
	Rows     []struct {
		Places   [2]uint64
		Values   []string
		Expected []string
	} `json:"row_of_every_148th_ticket"`
}

// row has the values of the row with this number or, of a statement, those that it binds for the key of an issue.
func row(columns []Column, of *Statement, row, rows uint64) []string {
	values := []string{}
	for _, one := range Generators(columns, rows) {
		var value Value
		if of == nil {
			one.Put(row, &value)
		} else {
			one.PutBound(of, row, &value)
		}
		values = append(values, value.String())
	}
	return values
}

func TestStatementsKeysAndValuesAreThoseOfTheScenarios(t *testing.T) {
	text, err := os.ReadFile("../../../scenarios/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		name := fmt.Sprintf("%s, seed %d", v.Scenario.Name, v.Seed)
		w, err := New(&v.Scenario, v.Count, v.Warmup, v.Seed)
		if err != nil {
			t.Fatal(name, err)
		}
		for i, due := range v.Tickets {
			if found := w.Issue(uint64(i) * 37); found != (Issue{int(due[0]), due[1]}) {
				t.Errorf("%s, ticket %d: %v instead of %v", name, i*37, found, due)
			}
		}
		for i, due := range v.Warm {
			if found := w.WarmupIssue(uint64(i)); found != (Issue{int(due[0]), due[1]}) {
				t.Errorf("%s, ticket %d of the warm-up: %v instead of %v", name, i, found, due)
			}
		}
		for i, due := range v.Rows {
			issue := w.Issue(uint64(i) * 148)
			statement := &v.Scenario.Statements[issue.Statement]
			rows := statement.Stored()
			from, to := statement.Places(issue.Key)
			if due.Places != [2]uint64{from, to} {
				t.Errorf("%s, ticket %d: the places %v instead of %v", name, i*148, [2]uint64{from, to}, due.Places)
			}
			last, of, bound := KeyOf(issue.Key)*rows+to-1, statement, issue.Key
			if statement.Operation == Batch {
				of, bound = nil, last
			}
			found := row(statement.Values, of, bound, rows)
			if statement.Expect != nil {
				found = append(found, row(statement.Expect.Columns, nil, last, rows)...)
			}
			if all := append(due.Values, due.Expected...); strings.Join(found, "\n") != strings.Join(all, "\n") {
				t.Errorf("%s, ticket %d: %q instead of %q", name, i*148, found, all)
			}
		}
	}
	if len(vectors) < 14 {
		t.Errorf("there are %d vectors only", len(vectors))
	}
}

func TestTurnsShareAllTickets(t *testing.T) {
	for _, of := range [][2]uint64{{10, 1}, {10, 3}, {2, 3}, {0, 2}, {math.MaxUint64, 7}} {
		count, turns := of[0], of[1]
		for nth := range turns {
			share := Turn(count, turns, nth+1) - Turn(count, turns, nth)
			if even := count / turns; share != even && share != even+1 {
				t.Errorf("turn %d of %d has %d of %d", nth, turns, share, count)
			}
		}
		if first, last := Turn(count, turns, 0), Turn(count, turns, turns); first != 0 || last != count {
			t.Errorf("%d in %d turns are %d to %d", count, turns, first, last)
		}
	}
}

func TestWhatIsNotKnownIsRefusedWithASentence(t *testing.T) {
	for _, one := range []struct{ text, words string }{
		{`{"name":"s","statement":[]}`, "the scenario s has no statement"},
		{`{"name":"s","statement":[{"name":"a","order":"zipf"}]}`, "the statement a of the scenario s draws its keys by a distribution"},
		{`{"name":"s","statement":[{"name":"a","order":"backwards"}]}`, `in the order "backwards", which this worker does not know`},
		{`{"name":"s","statement":[{"name":"a"},{"name":"b","weight":99}]}`, "its statement a would be none of them"},
		{`{"name":"s","statement":[{"name":"a","values":[{"type":"span"}]}]}`, `a column of type "span" was asked for`},
		{`{"name":"s","statement":[{"name":"a","values":[{"type":"set","length":2}]}]}`, "a set of 2 elements was asked for without what they are"},
		{`{"name":"s","statement":[{"name":"a","values":[{"type":"map","of":{"type":"int"}}]}]}`, "a map of 0 keys was asked for without"},
		{`{"name":"s","statement":[{"name":"a","values":[{"type":"int","by":"night"}]}]}`, `a column by "night" was asked for`},
		{`{"name":"s","statement":[{"name":"a","values":[{"type":"blob","length":-1}]}]}`, "a column of length -1"},
		{`{"name":"s","statement":[{"name":"a","values":[{"type":"blob","length":"beta(1..2)"}]}]}`, `a length of "beta(1..2)" was asked for`},
	} {
		var scenario Scenario
		err := json.Unmarshal([]byte(one.text), &scenario)
		if err == nil {
			_, err = New(&scenario, 10, 0, 1)
		}
		if err == nil || !strings.Contains(err.Error(), one.words) {
			t.Errorf("%s: %v", one.text, err)
		}
	}
}
