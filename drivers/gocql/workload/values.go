package workload

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
	"unicode/utf8"
)

// nullSeed makes nulls independent of the values beside them.
const nullSeed = 0x6e75_6c6c

func upperHalf(a, b uint64) uint64 {
	high, _ := bits.Mul64(a, b)
	return high
}

// Kind is the type of a value.
type Kind uint8

// The kinds of values; a null may take the place of any.
const (
	Null Kind = iota
	Bigint
	Int
	Double
	Boolean
	Timestamp
	UUID
	Text
	Blob
)

var kindNames = [...]string{"null", "bigint", "int", "double", "boolean", "timestamp", "uuid", "text", "blob"}

func (k Kind) String() string { return kindNames[k] }

// Value is a value of any kind: the field of its kind holds, and a null has none.
type Value struct {
	Kind Kind
	// Number is that of bigint, int, timestamp (milliseconds), and of boolean, 0 or 1.
	Number int64
	Double float64
	Text   string
	Bytes  []byte
	UUID   [16]byte
}

// Is compares kind and value.
func (v *Value) Is(other *Value) bool {
	if v.Kind != other.Kind {
		return false
	}
	switch v.Kind {
	case Null:
		return true
	case Double:
		return v.Double == other.Double
	case UUID:
		return v.UUID == other.UUID
	case Text:
		return v.Text == other.Text
	case Blob:
		return bytes.Equal(v.Bytes, other.Bytes)
	default:
		return v.Number == other.Number
	}
}

// Any is the value as Go programs have it, which drivers take; a timestamp is its milliseconds.
func (v *Value) Any() any {
	switch v.Kind {
	case Null:
		return nil
	case Int:
		return int32(v.Number)
	case Double:
		return v.Double
	case Boolean:
		return v.Number == 1
	case UUID:
		return v.UUID
	case Text:
		return v.Text
	case Blob:
		return v.Bytes
	default:
		return v.Number
	}
}

// Generator makes the values of a column.
type Generator struct {
	Column
	// Kind is that of its values that are no nulls.
	Kind   Kind
	rows   uint64
	text   *texts
	blob   *blobs
	unique *uniques
}

// Generators makes those of columns whose keys have so many rows.
func Generators(columns []Column, rows uint64) []Generator {
	made := make([]Generator, len(columns))
	for i, column := range columns {
		one := Generator{Column: column, Kind: Bigint, rows: max(rows, 1)}
		if at := slices.Index(kindNames[:], column.Type); at >= 0 {
			one.Kind = Kind(at)
		}
		switch one.Kind {
		case Text:
			one.text = newTexts(column.Length, column.Plus, column.Unicode)
		case Blob:
			one.blob = newBlobs(column.Length, column.Plus)
		}
		if column.Unique {
			one.unique = newUniques(&one)
		}
		made[i] = one
	}
	return made
}

// number is what the value of the row with this number follows from.
func (g *Generator) number(row uint64) uint64 {
	switch g.By {
	case "key":
		return row / g.rows
	case "place":
		return row % g.rows
	default:
		return row
	}
}

func (g *Generator) isNull(number uint64) bool {
	if g.NullEvery > 0 && number%g.NullEvery == g.NullEvery-1 {
		return true
	}
	return g.Nulls > 0 && float64(word(seedOf(number, g.Plus), nullSeed)>>11) < g.Nulls*(1<<53)
}

// Put makes the value of the row with this number.
func (g *Generator) Put(row uint64, into *Value) {
	number := g.number(row)
	if g.isNull(number) {
		into.Kind = Null
		return
	}
	into.Kind = g.Kind
	switch g.Kind {
	case Bigint:
		if g.Type == "partition" {
			into.Number = int64(number / g.PerKey)
		} else {
			into.Number = g.times(number)
		}
	case Timestamp:
		into.Number = g.times(number)
	case Int:
		into.Number = int64(int32(g.times(number)))
	case Double:
		into.Double = float64(g.times(number))
	case Boolean:
		into.Number = g.times(number) & 1
	case UUID:
		into.UUID = g.uuid(number)
	case Text:
		into.Text = g.text.of(number)
		if g.unique != nil {
			into.Text = string(g.unique.of(number, []byte(into.Text)))
		}
	case Blob:
		into.Bytes = g.blob.of(number)
		if g.unique != nil {
			into.Bytes = g.unique.of(number, bytes.Clone(into.Bytes))
		}
	}
}

func (g *Generator) times(number uint64) int64 {
	return int64(number)*g.Times + g.Plus
}

func (g *Generator) uuid(number uint64) (id [16]byte) {
	seed := seedOf(number, g.Plus)
	first := word(seed, 1)
	binary.BigEndian.PutUint64(id[:8], first)
	binary.BigEndian.PutUint64(id[8:], word(seed, 2))
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	if g.Unique {
		id[15] = id[15]&0xf0 | byte(first>>12)&0x0f
	}
	return id
}

// Texts and blobs are windows into one stream each that all values share; scenarios/src/stream.rs explains it.
const (
	beginnings        = 20
	unicodeBeginnings = 17
	group             = 10
	streamSeed        = 0x6371_6c64_796e_6f21
	mostDistinct      = 1 << 63
)

// kind is characters that a text has in turn: the first one, how many there are, and the bytes of each in UTF-8.
type kind struct {
	first, count uint64
	width        int
}

var (
	letters    = []kind{{0x61, 26, 1}}
	characters = []kind{{0x61, 26, 1}, {0x430, 32, 2}, {0x4e00, 20_992, 3}, {0x1f600, 80, 4}}
)

func (k kind) character(number uint64) rune {
	return rune(k.first + number%k.count)
}

func beginning(number uint64, plus int64, width uint) int {
	return int(word(seedOf(number, plus), 1) >> (64 - width))
}

// A stream that is long enough for all values so far.
type stream struct {
	sync.Mutex
	all  []byte
	text string
}

var blobStream, letterStream, unicodeStream stream

// grown makes the stream at least so long; values keep their bytes.
func (s *stream) grown(needed, perNumber int, put func(into []byte, number uint64) []byte) ([]byte, string) {
	s.Lock()
	defer s.Unlock()
	if len(s.all) < needed {
		s.all = make([]byte, 0, needed+perNumber)
		for n := uint64(1); len(s.all) < needed; n++ {
			s.all = put(s.all, word(streamSeed, n))
		}
		s.text = string(s.all)
	}
	return s.all, s.text
}

type blobs struct {
	stream []byte
	length int
	plus   int64
}

func newBlobs(length int, plus int64) *blobs {
	all, _ := blobStream.grown(1<<beginnings+length, 8, binary.LittleEndian.AppendUint64)
	return &blobs{all, length, plus}
}

func (b *blobs) of(number uint64) []byte {
	start := beginning(number, b.plus, beginnings)
	return b.stream[start : start+b.length : start+b.length]
}

type texts struct {
	stream         string
	length         int
	plus           int64
	width          uint
	stride, within int
	script         []kind
}

func newTexts(length int, plus int64, unicode bool) *texts {
	if !unicode {
		_, text := letterStream.grown(1<<beginnings+length, 8, func(into []byte, number uint64) []byte {
			for shift := 0; shift < 64; shift += 8 {
				into = append(into, 'a'+byte(number>>shift)%26)
			}
			return into
		})
		return &texts{text, length, plus, beginnings, 1, 0, letters}
	}
	_, text := unicodeStream.grown(group<<unicodeBeginnings+group+length, group, func(into []byte, number uint64) []byte {
		for i, one := range characters {
			into = utf8.AppendRune(into, one.character(number>>(16*i)))
		}
		return into
	})
	// Characters begin at bytes 0, 1, 3 and 6 of a group, and any length lies between two of these.
	within := map[int]int{2: 1, 5: 1, 9: 1, 7: 3, 8: 3, 4: 6}[length%group]
	return &texts{text, length, plus, unicodeBeginnings, group, within, characters}
}

func (t *texts) of(number uint64) string {
	start := beginning(number, t.plus, t.width)*t.stride + t.within
	return t.stream[start : start+t.length]
}

// uniques puts a number into the first characters of a text, or into the first bytes of a blob.
type uniques struct {
	permutation Permutation
	digits      []kind
}

func newUniques(g *Generator) *uniques {
	switch {
	case g.blob != nil:
		distinct := uint64(mostDistinct)
		if g.Length < 8 {
			distinct = 1 << (8 * g.Length)
		}
		return &uniques{permutation: NewPermutation(distinct, streamSeed)}
	case g.text != nil:
		script := g.text.script
		first := map[int]int{0: 0, 1: 1, 3: 2, 6: 3}[g.text.within]
		distinct, filled, digits := uint64(1), 0, []kind{}
		for i := first; ; i++ {
			one := script[i%len(script)]
			high, low := bits.Mul64(distinct, one.count)
			if filled+one.width > g.Length || high > 0 || low > mostDistinct {
				return &uniques{NewPermutation(distinct, streamSeed), digits}
			}
			distinct, filled, digits = low, filled+one.width, append(digits, one)
		}
	default:
		return nil
	}
}

func (u *uniques) of(number uint64, room []byte) []byte {
	rest := u.permutation.Apply(number)
	if u.digits == nil {
		for i := 0; i < min(8, len(room)); i++ {
			room[i] = byte(rest >> (8 * i))
		}
		return room
	}
	at := 0
	for _, one := range u.digits {
		at += utf8.EncodeRune(room[at:], one.character(rest))
		rest /= one.count
	}
	return room
}
