package workload

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"net"
	"slices"
	"strings"
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
	Tinyint
	Smallint
	Float
	Varint
	Decimal
	Date
	Time
	Duration
	Counter
	Inet
	Timeuuid
	List
	Set
	Map
	Tuple
	UDT
	Vector
)

var kindNames = [...]string{
	"null", "bigint", "int", "double", "boolean", "timestamp", "uuid", "text", "blob", "tinyint", "smallint", "float", "varint", "decimal",
	"date", "time", "duration", "counter", "inet", "timeuuid", "list", "set", "map", "tuple", "udt", "vector",
}

func (k Kind) String() string { return kindNames[k] }

// Value is a value of any kind: the field of its kind holds, and a null has none.
type Value struct {
	Kind Kind
	// Number is that of whole numbers, a timestamp's milliseconds, a date's days, a time's and a duration's nanoseconds, a decimal's
	// without its point, and of boolean, 0 or 1.
	Number int64
	// Double is that of double and float.
	Double float64
	Text   string
	// Bytes are those of blob and inet.
	Bytes []byte
	UUID  [16]byte
	// Items are the elements of a list, a set, a tuple, a user-defined type or a vector, and each key of a map with its value.
	Items []Value
	// Months and Days are a duration's; Scale is a decimal's.
	Months, Days, Scale int32
}

// Is compares kind and value.
func (v *Value) Is(other *Value) bool {
	if v.Kind != other.Kind {
		// gocql reads the fields of a tuple one by one, and of a null tuple each as null.
		return v.Kind == Tuple && other.Kind == Null && !slices.ContainsFunc(v.Items, func(one Value) bool { return one.Kind != Null })
	}
	switch v.Kind {
	case Null:
		return true
	case Double, Float:
		return v.Double == other.Double
	case UUID, Timeuuid:
		return v.UUID == other.UUID
	case Text:
		return v.Text == other.Text
	case Blob, Inet:
		return bytes.Equal(v.Bytes, other.Bytes)
	case Decimal:
		return v.Number == other.Number && v.Scale == other.Scale
	case Duration:
		return v.Number == other.Number && v.Months == other.Months && v.Days == other.Days
	case List, Set, Map, Tuple, UDT, Vector:
		return slices.EqualFunc(v.Items, other.Items, func(one, two Value) bool { return one.Is(&two) })
	default:
		return v.Number == other.Number
	}
}

// Sort puts the elements of a set, and the keys of a map with their values, into the order of their texts: a server orders them in
// its own way, and a map of Go in none.
func (v *Value) Sort() {
	switch v.Kind {
	case Set:
		slices.SortFunc(v.Items, func(one, two Value) int { return strings.Compare(one.String(), two.String()) })
	case Map:
		pairs := make([][2]Value, len(v.Items)/2)
		for i := range pairs {
			pairs[i] = [2]Value{v.Items[2*i], v.Items[2*i+1]}
		}
		slices.SortFunc(pairs, func(one, two [2]Value) int { return strings.Compare(one[0].String(), two[0].String()) })
		for i := range pairs {
			v.Items[2*i], v.Items[2*i+1] = pairs[i][0], pairs[i][1]
		}
	}
}

// String is the value with its type in front, as scenarios/vectors.json has it: a float or double by its bits, bytes in hexadecimal.
func (v *Value) String() string {
	switch v.Kind {
	case Null:
		return "null"
	case Double:
		return fmt.Sprintf("double %016x", math.Float64bits(v.Double))
	case Float:
		return fmt.Sprintf("float %08x", math.Float32bits(float32(v.Double)))
	case UUID, Timeuuid:
		return v.Kind.String() + " " + hex.EncodeToString(v.UUID[:])
	case Text:
		return "text " + v.Text
	case Blob:
		return "blob " + hex.EncodeToString(v.Bytes)
	case Inet:
		return "inet " + net.IP(v.Bytes).String()
	case Decimal:
		return fmt.Sprintf("decimal %d %d", v.Number, v.Scale)
	case Duration:
		return fmt.Sprintf("duration %d %d %d", v.Months, v.Days, v.Number)
	case List, Set, Map, Tuple, UDT, Vector:
		texts := make([]string, len(v.Items))
		for i := range v.Items {
			texts[i] = v.Items[i].String()
		}
		return fmt.Sprintf("%s [%s]", v.Kind, strings.Join(texts, ", "))
	default:
		return fmt.Sprintf("%s %d", v.Kind, v.Number)
	}
}

// Any is the value as Go programs have it, which drivers take; a timestamp is its milliseconds. What the drivers have a type of their
// own for is nil.
func (v *Value) Any() any {
	switch v.Kind {
	case Int:
		return int32(v.Number)
	case Tinyint:
		return int8(v.Number)
	case Smallint:
		return int16(v.Number)
	case Double:
		return v.Double
	case Float:
		return float32(v.Double)
	case Boolean:
		return v.Number == 1
	case UUID, Timeuuid:
		return v.UUID
	case Text:
		return v.Text
	case Blob:
		return v.Bytes
	case Inet:
		return net.IP(v.Bytes)
	case Bigint, Timestamp, Varint, Time, Counter:
		return v.Number
	default:
		return nil
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
	// elements make those of a value, each of them so many times.
	elements []Generator
	length   Length
}

// Generators makes those of columns whose keys have so many rows.
func Generators(columns []Column, rows uint64) []Generator {
	made := make([]Generator, len(columns))
	for i, column := range columns {
		made[i] = newGenerator(column, max(rows, 1))
	}
	return made
}

func newGenerator(column Column, rows uint64) Generator {
	one := Generator{Column: column, Kind: Bigint, rows: rows, length: fixed(1)}
	if at := slices.Index(kindNames[:], column.Type); at >= 0 {
		one.Kind = Kind(at)
	}
	switch column.Type {
	case "ascii":
		one.Kind = Text
	case "each":
		one.Kind = List
	}
	element := func(column Column, unique bool) {
		column.Unique = unique
		one.elements = append(one.elements, newGenerator(column, 1))
	}
	switch one.Kind {
	case Text:
		one.text = newTexts(column.Length, column.Plus, column.Unicode)
		if column.Compressible > 0 {
			one.text.stream = string(compressible([]byte(one.text.stream), column.Compressible))
		}
	case Blob:
		one.blob = newBlobs(column.Length, column.Plus)
		if column.Compressible > 0 {
			one.blob.stream = compressible(one.blob.stream, column.Compressible)
		}
	case Map:
		element(*column.KeyOf, true)
		element(column.Of[0], false)
	case List, Set, Tuple, UDT:
		for _, of := range column.Of {
			element(of, one.Kind == Set || column.Type == "each" && column.Unique)
		}
	case Vector:
		element(Column{Type: "float", Times: column.Times, Plus: column.Plus}, false)
	}
	switch one.Kind {
	case List, Set, Map, Vector:
		one.length = column.Length
	}
	if column.Unique {
		one.unique = newUniques(&one)
	}
	return one
}

// plus is what the nulls of a column are scattered by: of elements, that of the first with one.
func (g *Generator) plus() int64 {
	switch g.Kind {
	case List, Set, Map, Tuple, UDT:
		last := g.elements
		if g.Kind == Map {
			last = last[1:]
		}
		for i := range last {
			if last[i].Kind != Null {
				return last[i].plus()
			}
		}
		return 0
	default:
		return g.Plus
	}
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
	return g.Nulls > 0 && float64(word(seedOf(number, g.plus()), nullSeed)>>11) < g.Nulls*(1<<53)
}

// Put makes the value of the row with this number.
func (g *Generator) Put(row uint64, into *Value) {
	number := g.number(row)
	if g.isNull(number) {
		into.Kind = Null
		return
	}
	g.put(number, into)
}

// PutBound makes the value that a statement binds for the key of an issue.
func (g *Generator) PutBound(of *Statement, issued uint64, into *Value) {
	if of.Operation == Batch || g.At == nil && g.By != "rows" && g.Type != "each" {
		g.Put(KeyOf(issued), into)
		return
	}
	from, to := of.Places(issued)
	first := KeyOf(issued)*of.Stored() + from
	number := to - from
	switch {
	case g.By == "rows":
	case g.Type == "each":
		into.Kind, into.Items = List, make([]Value, to-from)
		for i := range into.Items {
			g.elements[0].put(g.number(first+uint64(i)), &into.Items[i])
		}
		return
	case *g.At < 0:
		number = g.number(first + to - from - uint64(-*g.At))
	default:
		number = g.number(first + uint64(*g.At))
	}
	if g.isNull(number) {
		into.Kind = Null
		return
	}
	g.put(number, into)
}

// day is the nanoseconds of one.
const day = 86_400_000_000_000

// modulo is never below 0.
func modulo(number, by int64) int64 {
	return (number%by + by) % by
}

// put makes the value of this number.
func (g *Generator) put(number uint64, into *Value) {
	into.Kind = g.Kind
	switch g.Kind {
	case Bigint:
		if g.Type == "partition" {
			into.Number = int64(number / g.PerKey)
		} else {
			into.Number = g.times(number)
		}
	case Timestamp, Varint, Counter:
		into.Number = g.times(number)
	case Decimal:
		into.Number, into.Scale = g.times(number), g.Scale
	case Int, Date:
		into.Number = int64(int32(g.times(number)))
	case Smallint:
		into.Number = int64(int16(g.times(number)))
	case Tinyint:
		into.Number = int64(int8(g.times(number)))
	case Float:
		into.Double = float64(float32(g.times(number)))
	case Time:
		into.Number = modulo(g.times(number), day)
	case Duration:
		from := g.times(number)
		into.Months, into.Days, into.Number = int32(modulo(from, 12)), int32(modulo(from, 31)), modulo(from, day)
	case Inet:
		into.Bytes = g.inet(number)
	case Timeuuid:
		into.UUID = g.timeuuid(number)
	case List, Set, Map, Tuple, UDT, Vector:
		length := g.length.of(number, g.plus())
		into.Items = make([]Value, 0, length*len(g.elements))
		for index := range uint64(length) {
			for i := range g.elements {
				var item Value
				g.elements[i].put(number*uint64(g.length.High)+index, &item)
				into.Items = append(into.Items, item)
			}
		}
		into.Sort()
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

// inet is four bytes, or eight after 2001:db8::.
func (g *Generator) inet(number uint64) []byte {
	if !g.V6 {
		return binary.BigEndian.AppendUint32(nil, uint32(g.times(number)))
	}
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, 0x2001_0db8_0000_0000), uint64(g.times(number)))
}

// timeuuid is of version 1, a millisecond later for each number from 2024-01-01 on.
func (g *Generator) timeuuid(number uint64) (id [16]byte) {
	time := 0x01ee_a838_b4cc_8000 + number*10_000
	binary.BigEndian.PutUint32(id[:4], uint32(time))
	binary.BigEndian.PutUint16(id[4:6], uint16(time>>32))
	binary.BigEndian.PutUint16(id[6:8], uint16(time>>48)&0x0fff|0x1000)
	binary.BigEndian.PutUint64(id[8:], mix(uint64(g.Plus))&(1<<62-1)|1<<63)
	return id
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

// Length is how many bytes texts or blobs have, or how many elements a collection has: one number, or one drawn from Low to High.
type Length struct {
	distribution string
	Low, High    int
}

// lengthSeed makes lengths independent of the values that have them.
const lengthSeed = 0x6c65_6e67_7468

// UnmarshalJSON reads 20 or "uniform(10..30)".
func (l *Length) UnmarshalJSON(text []byte) error {
	if text[0] != '"' {
		err := json.Unmarshal(text, &l.Low)
		l.High = l.Low
		return err
	}
	var written string
	if err := json.Unmarshal(text, &written); err != nil {
		return err
	}
	name, span, _ := strings.Cut(written, "(")
	if _, err := fmt.Sscanf(span, "%d..%d)", &l.Low, &l.High); err != nil || !slices.Contains(distributions, name) || l.Low > l.High {
		return fmt.Errorf("a length of %q was asked for, which this worker does not know; use a number", written)
	}
	l.distribution = name
	return nil
}

var distributions = []string{"uniform", "gaussian", "exponential", "zipf"}

func fixed(length int) Length { return Length{Low: length, High: length} }

func (l *Length) of(number uint64, plus int64) int {
	if l.Low == l.High {
		return l.Low
	}
	seed, count := seedOf(number, plus), uint64(l.High-l.Low)+1
	if l.distribution == "zipf" {
		return l.Low + int(zipf(count, func(n uint64) uint64 { return word(seed, lengthSeed+n) }))
	}
	first, second := word(seed, lengthSeed), word(seed, lengthSeed+1)
	return l.Low + int(drawn(l.distribution, count, first, second))
}

// zipf is a number below count, the kth in proportion to 1/k; scenarios/src/distribution.rs explains it.
func zipf(count uint64, word func(n uint64) uint64) uint64 {
	octaves := uint64(bits.Len64(count))
	for n := uint64(0); n < 3*64; n += 3 {
		first := uint64(1) << upperHalf(word(n), octaves)
		k := first + upperHalf(word(n+1), first)
		if k <= count && upperHalf(word(n+2), k) < first {
			return k - 1
		}
	}
	return 0
}

// drawn is a number below count, in whole numbers alone as scenarios/src/distribution.rs has it.
func drawn(distribution string, count, first, second uint64) uint64 {
	switch distribution {
	case "gaussian":
		ones := uint64(bits.OnesCount64(first))<<32 | second>>32
		high, low := bits.Mul64(count, max(ones, 41<<31)-41<<31)
		quotient, _ := bits.Div64(high, low, 24<<32)
		return min(quotient, count-1)
	case "exponential":
		first |= 1
		zeros := bits.LeadingZeros64(first)
		mantissa, logarithm := first<<zeros, uint64(0)
		for range 16 {
			high, low := bits.Mul64(mantissa, mantissa)
			digit := high >> 63
			mantissa, logarithm = high<<(1-digit)|low>>(63+digit), logarithm<<1|digit
		}
		halvings := uint64(zeros+1)<<32 - (logarithm<<16 | second>>48)
		high, low := bits.Mul64(halvings, 297_704_447)
		high, low = bits.Mul64(count, high<<32|low>>32)
		return min(high<<32|low>>32, count-1)
	default:
		return upperHalf(first, count)
	}
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

// compressible is the stream with fresh bytes, after which the same ones come again and again.
func compressible(stream []byte, share float64) []byte {
	written := 3.0
	fresh := math.Round(max((24*share-written)/(1-share), 6))
	if fresh >= 15 {
		written = 4
		fresh = math.Round(max((24*share-written)/(1-share), 6))
	}
	same := int(math.Round((fresh+written)/share - fresh))
	made := bytes.Clone(stream)
	for at := range made {
		if within := at % (int(fresh) + same); within >= int(fresh) {
			made[at] = stream[within-int(fresh)]
		}
	}
	return made
}

type blobs struct {
	stream []byte
	length Length
	plus   int64
}

func newBlobs(length Length, plus int64) *blobs {
	all, _ := blobStream.grown(1<<beginnings+length.High, 8, binary.LittleEndian.AppendUint64)
	return &blobs{all, length, plus}
}

func (b *blobs) of(number uint64) []byte {
	start := beginning(number, b.plus, beginnings)
	end := start + b.length.of(number, b.plus)
	return b.stream[start:end:end]
}

type texts struct {
	stream         string
	length         Length
	plus           int64
	width          uint
	stride, within int
	script         []kind
}

func newTexts(length Length, plus int64, unicode bool) *texts {
	if !unicode {
		_, text := letterStream.grown(1<<beginnings+length.High, 8, func(into []byte, number uint64) []byte {
			for shift := 0; shift < 64; shift += 8 {
				into = append(into, 'a'+byte(number>>shift)%26)
			}
			return into
		})
		return &texts{text, length, plus, beginnings, 1, 0, letters}
	}
	_, text := unicodeStream.grown(group<<unicodeBeginnings+group+length.High, group, func(into []byte, number uint64) []byte {
		for i, one := range characters {
			into = utf8.AppendRune(into, one.character(number>>(16*i)))
		}
		return into
	})
	// Characters begin at bytes 0, 1, 3 and 6 of a group, and any length lies between two of these.
	within := map[int]int{2: 1, 5: 1, 9: 1, 7: 3, 8: 3, 4: 6}[length.High%group]
	return &texts{text, length, plus, unicodeBeginnings, group, within, characters}
}

func (t *texts) of(number uint64) string {
	start := beginning(number, t.plus, t.width)*t.stride + t.within
	return t.stream[start : start+t.length.of(number, t.plus)]
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
		if g.Length.Low < 8 {
			distinct = 1 << (8 * g.Length.Low)
		}
		return &uniques{permutation: NewPermutation(distinct, streamSeed)}
	case g.text != nil:
		script := g.text.script
		first := map[int]int{0: 0, 1: 1, 3: 2, 6: 3}[g.text.within]
		distinct, filled, digits := uint64(1), 0, []kind{}
		for i := first; ; i++ {
			one := script[i%len(script)]
			high, low := bits.Mul64(distinct, one.count)
			if filled+one.width > g.Length.Low || high > 0 || low > mostDistinct {
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
