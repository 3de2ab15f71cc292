package worker

import (
	"fmt"

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
	// The rows of key have the numbers from first on; count are due, and came have come.
	key, first, count, came uint64
	wrong                   error
}

// newRows is for a statement with these columns; nil for one that returns no rows.
func newRows(statement Statement, expect []workload.Generator) *Rows {
	rows := &Rows{cells: make([]workload.Value, len(expect)), expect: expect}
	if statement != nil {
		rows.Targets = statement.Targets(rows.cells)
	}
	return rows
}

// begin expects the rows of a key.
func (r *Rows) begin(key, perKey uint64) {
	r.key, r.first, r.count, r.came, r.wrong = key, key*perKey, 0, 0, nil
	if r.expect != nil {
		r.count = perKey
	}
}

// Expected says whether any row is to come.
func (r *Rows) Expected() bool { return r.expect != nil }

// Width refuses rows of another number of columns, before any is scanned.
func (r *Rows) Width(found int) error {
	if found == len(r.expect) {
		return nil
	}
	return wrongRow("for key %d a row of %d columns was expected, and one of %d came back", r.key, len(r.expect), found)
}

// Came counts rows that nobody decodes, because none is to come.
func (r *Rows) Came(count int) { r.came += uint64(count) }

// Row checks the row that lies in the cells.
func (r *Rows) Row() {
	for i := 0; i < len(r.cells) && r.came < r.count && r.wrong == nil; i++ {
		r.expect[i].Put(r.first+r.came, &r.due)
		if !r.cells[i].Is(&r.due) {
			r.wrong = r.wrongCell(i)
		}
	}
	r.came++
}

// finish says what was wrong with the rows that came.
func (r *Rows) finish() error {
	if r.came == r.count {
		return r.wrong
	}
	verb := "was"
	if r.count > 1 {
		verb = "were"
	}
	return wrongRow("for key %d %s %s expected, and %s came back", r.key, counted(r.count), verb, counted(r.came))
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
	return wrongRow("in %s column %d should be %s, and %s was found", place, column+1, shown(&r.due), shown(&r.cells[column]))
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
