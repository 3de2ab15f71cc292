package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"reflect"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/apache/cassandra-gocql-driver/v2"
	"gopkg.in/inf.v0"
)

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
		{"duration", 0x15, gocql.Duration{}, nil},
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
	if err != nil {
		return nil, unknown
	}
	in := reflect.TypeOf(of.zero)
	if outer != "map" {
		return &kind{outer, id, reflect.Zero(reflect.SliceOf(in)).Interface(), []*kind{of}}, nil
	}
	keys := scalars[key]
	if keys == nil || key == "decimal" {
		return nil, unknown
	}
	hashed := reflect.TypeOf(keys.zero)
	if !hashed.Comparable() {
		// Go hashes no bytes, and gocql takes and gives a text for them, too.
		hashed = reflect.TypeFor[string]()
	}
	return &kind{outer, id, reflect.Zero(reflect.MapOf(hashed, in)).Interface(), []*kind{keys, of}}, nil
}

// value is what an application binds for the bytes of a tape: read here, or by the codec of gocql, which knows the type as info.
func (k *kind) value(raw []byte, info gocql.TypeInfo) any {
	if raw == nil {
		return nil
	}
	switch k.zero.(type) {
	case int64:
		return number[int64](raw)
	case int32:
		return number[int32](raw)
	case float64:
		return double(raw)
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
func number[T int64 | int32](raw []byte) T {
	if len(raw) == 8 {
		return T(binary.BigEndian.Uint64(raw))
	}
	if len(raw) > 8 {
		panic("a whole number has more than eight bytes")
	}
	n := int64(int8(raw[0]))
	for _, one := range raw[1:] {
		n = n<<8 | int64(one)
	}
	return T(n)
}

func double(raw []byte) float64 { return math.Float64frombits(binary.BigEndian.Uint64(raw)) }

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

func (k *kind) cell() *cell {
	return &cell{kind: k, got: reflect.New(reflect.TypeOf(k.zero)).Interface()}
}

// UnmarshalCQL is how gocql gives a column.
func (c *cell) UnmarshalCQL(info gocql.TypeInfo, data []byte) error {
	if info.Type() != c.id {
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
		return *got == number[int64](due)
	case *int32:
		return *got == number[int32](due)
	case *float64:
		return *got == double(due)
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
