// Package workload has the scenarios of cqldyno for a worker in Go: which statement and key a ticket is, and the values that
// follow from a key. It follows the Rust crate in scenarios/ to the bit, which scenarios/vectors.json checks.
package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Operation is how a statement is issued; empty for an EXECUTE of a prepared statement.
type Operation string

// The operations of drivers/PROTOCOL.md.
const (
	Execute    Operation = "execute"
	Batch      Operation = "batch"
	Prepare    Operation = "prepare"
	Unprepared Operation = "unprepared"
	Connect    Operation = "connect"
)

// Scenario is what a job asks for.
type Scenario struct {
	Name       string      `json:"name"`
	Submit     string      `json:"submit"`
	Statements []Statement `json:"statement"`
}

// Statement is one of a scenario's.
type Statement struct {
	Name      string    `json:"name"`
	CQL       string    `json:"cql"`
	Weight    uint64    `json:"weight"`
	Operation Operation `json:"operation"`
	// Size is how many rows a batch has.
	Size Length `json:"size"`
	// Logged is whether a batch is a logged one.
	Logged bool     `json:"logged"`
	Values []Column `json:"values"`
	Keys   *uint64  `json:"keys"`
	// KeysOf names the statement whose keys it has; empty for its own.
	KeysOf string       `json:"keys_of"`
	Order  string       `json:"order"`
	Expect *Expectation `json:"expect"`
}

// Expectation is the rows that a statement must return.
type Expectation struct {
	// Rows come back, of the Stored ones of a key: those from the place From on or the Last ones, the last one first if Descending.
	// Without Stored a key has Rows, and all come back.
	Rows       Length  `json:"rows"`
	Stored     *Length `json:"stored"`
	From       Length  `json:"from"`
	Last       bool    `json:"last"`
	Descending bool    `json:"descending"`
	// Ranges are parts of all tokens, of which a key reads the rows.
	Ranges uint64 `json:"ranges"`
	// Check is "order" if every row must have its place, "content" if their order does not matter, "count" if only their number does.
	Check   string   `json:"check"`
	Columns []Column `json:"columns"`
}

// Column is a type and how its values follow from a number.
type Column struct {
	Type    string `json:"type"`
	Times   int64  `json:"times"`
	Plus    int64  `json:"plus"`
	Length  Length `json:"length"`
	Unicode bool   `json:"unicode"`
	PerKey  uint64 `json:"rows"`
	By      string `json:"by"`
	// At is the row that a bound value is of, among those that come back or, below 0, from their end; nil for a value of the key.
	At        *int64  `json:"at"`
	NullEvery uint64  `json:"null_every"`
	Nulls     float64 `json:"nulls"`
	Unique    bool    `json:"unique"`
	// Compressible is the share of a text or blob that LZ4 leaves; 0 for random ones.
	Compressible float64 `json:"compressible"`
	Scale        int32   `json:"scale"`
	V6           bool    `json:"v6"`
	// Of are the elements of a list, a set, the values of a map, or the fields of a tuple or a user-defined type.
	Of Elements `json:"of"`
	// KeyOf are the keys of a map.
	KeyOf *Column `json:"keys"`
}

// Elements are one column, or several in a list.
type Elements []Column

// UnmarshalJSON takes both.
func (e *Elements) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, (*[]Column)(e))
	}
	*e = make(Elements, 1)
	return json.Unmarshal(text, &(*e)[0])
}

// UnmarshalJSON sets what is absent.
func (s *Statement) UnmarshalJSON(text []byte) error {
	type plain Statement
	one := plain{Weight: 1, Operation: Execute, Size: fixed(64), Order: "permuted"}
	err := json.Unmarshal(text, &one)
	*s = Statement(one)
	return err
}

// UnmarshalJSON sets what is absent.
func (e *Expectation) UnmarshalJSON(text []byte) error {
	type plain Expectation
	one := plain{Rows: fixed(1)}
	err := json.Unmarshal(text, &one)
	if err == nil && one.Ranges > 0 {
		err = errors.New("a scan of ranges of tokens was asked for, which this worker does not check; use another scenario")
	}
	*e = Expectation(one)
	return err
}

// UnmarshalJSON sets what is absent.
func (c *Column) UnmarshalJSON(text []byte) error {
	type plain Column
	one := plain{Times: 1, By: "row", PerKey: 1, Scale: 2}
	if err := json.Unmarshal(text, &one); err != nil {
		return err
	}
	*c = Column(one)
	return c.check()
}

func (c *Column) check() error {
	switch c.Type {
	case "partition", "ascii", "token":
	case "each":
		if len(c.Of) != 1 {
			return errors.New("a list of the values of each row was asked for without what they are; say of")
		}
	case "map":
		if c.KeyOf == nil || len(c.Of) != 1 || c.Length.High < 1 {
			return fmt.Errorf("a map of %d keys was asked for without what they and its values are; say keys and of", c.Length.High)
		}
	case "list", "set":
		if len(c.Of) != 1 || c.Length.High < 1 {
			return fmt.Errorf("a %s of %d elements was asked for without what they are; say of", c.Type, c.Length.High)
		}
	default:
		if slices.Contains(kindNames[:], c.Type) {
			break
		}
		return fmt.Errorf("a column of type %q was asked for, which this worker does not know; use another scenario", c.Type)
	}
	if c.Unicode && c.Length.Low != c.Length.High {
		return fmt.Errorf("a text with unicode of %d to %d bytes was asked for; use one length", c.Length.Low, c.Length.High)
	}
	switch c.By {
	case "row", "key", "place", "rows":
	default:
		return fmt.Errorf("a column by %q was asked for, which this worker does not know; use another scenario", c.By)
	}
	if c.Length.Low < 0 || c.PerKey == 0 {
		return fmt.Errorf("a column of length %d and %d rows was asked for; ask for 0 or more, and at least 1", c.Length.Low, c.PerKey)
	}
	return nil
}

// keyBits of an issue's key are the key itself. Those above are drawn for each execution, if its answer is.
const keyBits = 44

// KeyOf is the key without what was drawn for its execution.
func KeyOf(issued uint64) uint64 { return issued & (1<<keyBits - 1) }

// These make draws independent of each other.
const storedSeed, rowsSeed, fromSeed = 0x73746f, 0x726f77, 0x66726f

// stored is how many rows a key has.
func (s *Statement) stored() Length {
	switch {
	case s.Operation == Batch:
		return s.Size
	case s.Expect == nil:
		return fixed(1)
	case s.Expect.Stored != nil:
		return *s.Expect.Stored
	default:
		return s.Expect.Rows
	}
}

// Stored is how many rows a key has, at most: their numbers begin at so many times the key.
func (s *Statement) Stored() uint64 { return uint64(max(s.stored().High, 1)) }

// drawn says whether part of the answer is drawn for each execution.
func (s *Statement) drawn() bool {
	of := s.Expect
	return s.Operation != Batch && of != nil && of.Stored != nil && (of.Rows.Low < of.Rows.High || of.From.Low < of.From.High)
}

// Places are those of a key's rows that one issue writes or reads: from the first to before the second.
func (s *Statement) Places(issued uint64) (uint64, uint64) {
	all := s.stored()
	stored := all.of(KeyOf(issued), storedSeed)
	if s.Operation == Batch || s.Expect == nil || s.Expect.Stored == nil {
		return 0, uint64(stored)
	}
	rows := min(s.Expect.Rows.of(issued, rowsSeed), stored)
	from := stored - rows
	if !s.Expect.Last {
		from = min(s.Expect.From.of(issued, fromSeed), stored)
	}
	return uint64(from), uint64(min(from+rows, stored))
}
