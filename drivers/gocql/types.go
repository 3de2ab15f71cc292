package main

import (
	"fmt"
	"net"
	"slices"
	"time"

	"cqldyno/drivers/gocql/release"
	"cqldyno/drivers/gocql/worker"
	"cqldyno/drivers/gocql/workload"

	"gopkg.in/inf.v0"
)

// dayMilliseconds are those of a day: gocql takes a date as the time at which it begins.
const dayMilliseconds = 86_400_000

// Value is a value of a type that Go has none for, as gocql takes it.
func (gocql) Value(v workload.Value) any {
	switch v.Kind {
	case workload.Decimal:
		return *inf.NewDec(v.Number, inf.Scale(v.Scale))
	case workload.Date:
		return v.Number * dayMilliseconds
	case workload.Duration:
		return release.Duration{Months: v.Months, Days: v.Days, Nanoseconds: v.Number}
	case workload.Map:
		made := make(map[any]any, len(v.Items)/2)
		for i := 0; i+1 < len(v.Items); i += 2 {
			made[keyOf(&v.Items[i])] = anyOf(&v.Items[i+1])
		}
		return made
	case workload.Vector:
		made := make([]float32, len(v.Items))
		for i := range v.Items {
			made[i] = float32(v.Items[i].Double)
		}
		return made
	case workload.UDT:
		return udt{&fields{items: v.Items}}
	case workload.List, workload.Set, workload.Tuple:
		made := make([]any, len(v.Items))
		for i := range v.Items {
			made[i] = anyOf(&v.Items[i])
		}
		return made
	default:
		return nil
	}
}

func anyOf(v *workload.Value) any {
	if found := v.Any(); found != nil || v.Kind == workload.Null {
		return found
	}
	return gocql{}.Value(*v)
}

// keyOf is the key of a map of Go: bytes are a string there.
func keyOf(v *workload.Value) any {
	switch v.Kind {
	case workload.Blob:
		return string(v.Bytes)
	case workload.Inet:
		return net.IP(v.Bytes).String()
	default:
		return anyOf(v)
	}
}

// fields are those of a user-defined type, in the order in which gocql asks for them and gives them.
type fields struct {
	items []workload.Value
	names []string
}

// udt is a value, because gocql looks for the method behind a pointer.
type udt struct{ *fields }

// MarshalUDT may be asked for a field again: gocql sends a statement once more that the server had forgotten.
func (f *fields) MarshalUDT(name string, info release.TypeInfo) ([]byte, error) {
	at := slices.Index(f.names, name)
	if at < 0 {
		at = len(f.names)
		f.names = append(f.names, name)
	}
	if at >= len(f.items) {
		return nil, nil
	}
	return release.Marshal(info, anyOf(&f.items[at]))
}

func (f *fields) UnmarshalUDT(_ string, info release.TypeInfo, data []byte) error {
	f.items = append(f.items, workload.Value{})
	return (*other)(&f.items[len(f.items)-1]).UnmarshalCQL(info, data)
}

// key is the key of a decoded map, which Go compares by the pointer.
type key struct{ *workload.Value }

func (k *key) UnmarshalCQL(info release.TypeInfo, data []byte) error {
	k.Value = &workload.Value{}
	return (*other)(k.Value).UnmarshalCQL(info, data)
}

// UnmarshalCQL has gocql decode a value of any type into what it has for that type.
func (c *other) UnmarshalCQL(info release.TypeInfo, data []byte) error {
	if data == nil {
		c.Kind = workload.Null
		return nil
	}
	as := func(kind workload.Kind, field any) error {
		c.Kind = kind
		return release.Unmarshal(info, data, field)
	}
	switch info.Type() {
	case release.TypeBigInt:
		return as(workload.Bigint, &c.Number)
	case release.TypeCounter:
		return as(workload.Counter, &c.Number)
	case release.TypeTimestamp:
		return as(workload.Timestamp, &c.Number)
	case release.TypeTime:
		return as(workload.Time, &c.Number)
	case release.TypeVarint:
		return as(workload.Varint, &c.Number)
	case release.TypeInt:
		return as(workload.Int, &c.Number)
	case release.TypeSmallInt:
		return as(workload.Smallint, &c.Number)
	case release.TypeTinyInt:
		return as(workload.Tinyint, &c.Number)
	case release.TypeDouble:
		return as(workload.Double, &c.Double)
	case release.TypeUUID:
		return as(workload.UUID, (*release.UUID)(&c.UUID))
	case release.TypeTimeUUID:
		return as(workload.Timeuuid, (*release.UUID)(&c.UUID))
	case release.TypeVarchar, release.TypeText, release.TypeAscii:
		return as(workload.Text, &c.Text)
	case release.TypeBlob:
		c.Bytes = nil
		return as(workload.Blob, &c.Bytes)
	case release.TypeFloat:
		var found float32
		err := as(workload.Float, &found)
		c.Double = float64(found)
		return err
	case release.TypeBoolean:
		return (*boolean)(c).UnmarshalCQL(info, data)
	case release.TypeInet:
		var found net.IP
		err := as(workload.Inet, &found)
		c.Bytes = found
		return err
	case release.TypeDate:
		var found time.Time
		err := as(workload.Date, &found)
		c.Number = found.UnixMilli() / dayMilliseconds
		return err
	case release.TypeDuration:
		var found release.Duration
		err := as(workload.Duration, &found)
		c.Months, c.Days, c.Number = found.Months, found.Days, found.Nanoseconds
		return err
	case release.TypeDecimal:
		var found inf.Dec
		err := as(workload.Decimal, &found)
		c.Number, c.Scale = found.UnscaledBig().Int64(), int32(found.Scale())
		if err == nil && !found.UnscaledBig().IsInt64() {
			err = &worker.Error{Kind: "codec", Err: fmt.Errorf("a decimal came that 64 bits do not hold, as those of scenarios do")}
		}
		return err
	default:
		return c.elements(info, data)
	}
}

// elements has gocql decode those of a value.
func (c *other) elements(info release.TypeInfo, data []byte) error {
	c.Items = nil
	var err error
	switch info.Type() {
	case release.TypeList, release.TypeSet:
		c.Kind = workload.List
		if info.Type() == release.TypeSet {
			c.Kind = workload.Set
		}
		var found []other
		err = release.Unmarshal(info, data, &found)
		for i := range found {
			c.Items = append(c.Items, workload.Value(found[i]))
		}
	case release.TypeMap:
		c.Kind = workload.Map
		var found map[key]other
		err = release.Unmarshal(info, data, &found)
		for one, value := range found {
			c.Items = append(c.Items, *one.Value, workload.Value(value))
		}
	case release.TypeTuple:
		c.Kind = workload.Tuple
		tuple, _ := info.(release.TupleTypeInfo)
		c.Items = make([]workload.Value, len(tuple.Elems))
		targets := make([]any, len(c.Items))
		for i := range c.Items {
			targets[i] = (*other)(&c.Items[i])
		}
		err = release.Unmarshal(info, data, targets)
	case release.TypeUDT:
		c.Kind = workload.UDT
		var found fields
		err = release.Unmarshal(info, data, &found)
		c.Items = found.items
	case release.TypeCustom:
		c.Kind = workload.Vector
		var found []float32
		err = release.Unmarshal(info, data, &found)
		for _, one := range found {
			c.Items = append(c.Items, workload.Value{Kind: workload.Float, Double: float64(one)})
		}
	default:
		return &worker.Error{Kind: "codec", Err: fmt.Errorf("a value of the type %v came, which scenarios do not use", info.Type())}
	}
	(*workload.Value)(c).Sort()
	return err
}
