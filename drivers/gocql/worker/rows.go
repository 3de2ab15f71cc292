package worker

import (
	"fmt"
	"slices"

	"cqldyno/drivers/gocql/workload"
)

// Rows takes the rows of one answer one by one, and checks each.
type Rows struct {
	// Targets of Cells, for the driver to scan into.
	Targets []any
	cells   []workload.Value
	expect  []workload.Generator
	// due is what the cell should have that is being checked.
	due workload.Value
	// The rows of key have the numbers from first on, or down to it if descends; count are due, and came have come.
	key, first, count, came uint64
	descends                bool
	// counts: only how many come is checked; anyOrder: they may come in any order.
	counts, anyOrder bool
	wrong            error
	// others are the first wrong row and those after it, as texts.
	others []string
	// statement is its name, for messages.
	statement string
}

// newRows is for a statement with these columns; nil for one that returns no rows.
func newRows(name string, statement Statement, expect []workload.Generator) *Rows {
	rows := &Rows{cells: make([]workload.Value, len(expect)), expect: expect, statement: name}
	if statement != nil {
		rows.Targets = statement.Targets(rows.cells)
	}
	return rows
}

// begin expects what the statement does for a key.
func (r *Rows) begin(issued uint64, of *workload.Statement) {
	key := workload.KeyOf(issued)
	r.key, r.first, r.count, r.came, r.wrong, r.others = key, key, 0, 0, nil, nil
	if r.expect == nil {
		return
	}
	from, to := of.Places(issued)
	r.first, r.count, r.descends = key*of.Stored()+from, to-from, of.Expect.Descending
	r.counts, r.anyOrder = of.Expect.Check == "count", of.Expect.Check == "content"
}

// number is that of the row at a place of the answer.
func (r *Rows) number(place uint64) uint64 {
	if r.descends {
		return r.first + r.count - 1 - place
	}
	return r.first + place
}

// Expected says whether any row is to come.
func (r *Rows) Expected() bool { return r.expect != nil }

// Width refuses rows of another number of columns, before any is scanned.
func (r *Rows) Width(found int) error {
	if found == len(r.expect) {
		return nil
	}
	return r.wrongRow("for key %d a row of %d columns was expected, and one of %d came back", r.key, len(r.expect), found)
}

// Came counts rows that nobody decodes, because none is to come.
func (r *Rows) Came(count int) { r.came += uint64(count) }

// Row checks the row that lies in the cells.
func (r *Rows) Row() {
	if r.came < r.count && r.wrong == nil && !r.counts {
		number := r.number(r.came)
		for i := 0; i < len(r.cells) && r.wrong == nil; i++ {
			r.expect[i].Put(number, &r.due)
			if !r.cells[i].Is(&r.due) {
				r.wrong = r.wrongCell(i)
			}
		}
	}
	if r.wrong != nil {
		r.others = append(r.others, textOf(r.cells))
	}
	r.came++
}

// finish says what was wrong with the rows that came.
func (r *Rows) finish() error {
	if r.came == r.count {
		if r.wrong != nil {
			return r.otherOrder()
		}
		return nil
	}
	verb := "was"
	if r.count > 1 {
		verb = "were"
	}
	return r.wrongRow("for key %d %s %s expected, and %s came back", r.key, counted(r.count), verb, counted(r.came))
}

// otherOrder is what was wrong with as many rows as expected: their order, if they are the right ones.
func (r *Rows) otherOrder() error {
	at := r.count - uint64(len(r.others))
	due, cells := make([]string, len(r.others)), make([]workload.Value, len(r.expect))
	for i := range due {
		for column := range cells {
			r.expect[column].Put(r.number(at+uint64(i)), &cells[column])
		}
		due[i] = textOf(cells)
	}
	own, turned := slices.Index(due, r.others[0]), slices.Clone(due)
	slices.Reverse(turned)
	if at == 0 && !r.anyOrder && slices.Equal(turned, r.others) {
		return r.wrongRow("the %d rows of key %d came in the reverse order of their places; add ORDER BY with the other direction "+
			"(ASC or DESC) to the cql, or turn CLUSTERING ORDER in the schema round", r.count, r.key)
	}
	slices.Sort(due)
	slices.Sort(r.others)
	switch {
	case !slices.Equal(due, r.others):
		return r.wrong
	case r.anyOrder:
		return nil
	}
	return r.wrongRow("the %d rows of key %d came in another order than that of their places: the first that differs is row %d, which "+
		"should be row %d; order them by a clustering column whose values rise with the place, such as a bigint, a timestamp or a timeuuid",
		r.count, r.key, at+1, at+uint64(own)+1)
}

// textOf is the same for rows with the same values.
func textOf(cells []workload.Value) string {
	var text []byte
	for i := range cells {
		text = fmt.Appendf(text, "%q", cells[i].String())
	}
	return string(text)
}

func (r *Rows) wrongRow(format string, arguments ...any) error {
	return wrongRow("statement "+r.statement+": "+format, arguments...)
}

func counted(rows uint64) string {
	switch rows {
	case 0:
		return "no row"
	case 1:
		return "1 row"
	default:
		return fmt.Sprintf("%d rows", rows)
	}
}

func (r *Rows) wrongCell(column int) error {
	place := fmt.Sprintf("the row of key %d", r.key)
	if r.count > 1 {
		place = fmt.Sprintf("row %d of the %d of key %d", r.came+1, r.count, r.key)
	}
	return r.wrongRow("in %s column %d should be %s, and %s was found", place, column+1, shown(&r.due), shown(&r.cells[column]))
}

// shownBytes is how much of a text or blob a message has.
const shownBytes = 40

func shown(v *workload.Value) string {
	switch v.Kind {
	case workload.Double, workload.Float:
		return fmt.Sprintf("%s %v", v.Kind, v.Double)
	case workload.Boolean:
		return fmt.Sprintf("boolean %v", v.Number == 1)
	case workload.Text:
		return fmt.Sprintf("text %.*q of %d bytes", shownBytes, v.Text, len(v.Text))
	case workload.Blob:
		return fmt.Sprintf("blob 0x%x of %d bytes", v.Bytes[:min(shownBytes, len(v.Bytes))], len(v.Bytes))
	case workload.List, workload.Set, workload.Map, workload.Tuple, workload.UDT, workload.Vector:
		text := v.String()
		return fmt.Sprintf("%.*s of %d bytes", 2*shownBytes, text, len(text))
	default:
		return v.String()
	}
}
