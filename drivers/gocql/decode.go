package main

import (
	"bytes"
	"fmt"

	"cqldyno/drivers/gocql/release"
	"cqldyno/drivers/gocql/worker"
	"cqldyno/drivers/gocql/workload"
)

// A cell of each kind. gocql decodes into its field; a null, which gocql would make a zero of, and another type are kept apart.
type (
	bigint    workload.Value
	integer   workload.Value
	double    workload.Value
	boolean   workload.Value
	timestamp workload.Value
	uuid      workload.Value
	text      workload.Value
	blob      workload.Value
	ascii     workload.Value
	null      workload.Value
	// other is of any type.
	other workload.Value
)

// Targets are the cells as gocql takes them.
func (s *statement) Targets(cells []workload.Value) []any {
	targets := make([]any, 0, len(cells))
	for i := range cells {
		cell := &cells[i]
		if s.columns[i].Type == "ascii" {
			targets = append(targets, (*ascii)(cell))
			continue
		}
		switch s.columns[i].Kind {
		case workload.Int:
			targets = append(targets, (*integer)(cell))
		case workload.Double:
			targets = append(targets, (*double)(cell))
		case workload.Boolean:
			targets = append(targets, (*boolean)(cell))
		case workload.Timestamp:
			targets = append(targets, (*timestamp)(cell))
		case workload.UUID:
			targets = append(targets, (*uuid)(cell))
		case workload.Text:
			targets = append(targets, (*text)(cell))
		case workload.Blob:
			targets = append(targets, (*blob)(cell))
		case workload.Null:
			targets = append(targets, (*null)(cell))
		case workload.Bigint:
			targets = append(targets, (*bigint)(cell))
		case workload.Tuple:
			// gocql scans the fields of a tuple one by one.
			cell.Kind, cell.Items = workload.Tuple, make([]workload.Value, len(s.columns[i].Of))
			for field := range cell.Items {
				targets = append(targets, (*other)(&cell.Items[field]))
			}
		default:
			targets = append(targets, (*other)(cell))
		}
	}
	return targets
}

// decode has gocql decode into the field of a cell of this kind; it returns the cell's kind, which is a null's for a null.
func decode(kind workload.Kind, due release.Type, info release.TypeInfo, data []byte, field any) (workload.Kind, error) {
	if found := info.Type(); found != due {
		return kind, &worker.Error{Kind: "wrong_row", Err: fmt.Errorf("a column of the type %s was expected, and one of %v came", kind, found)}
	}
	if data == nil {
		return workload.Null, nil
	}
	return kind, release.Unmarshal(info, data, field)
}

func (c *bigint) UnmarshalCQL(info release.TypeInfo, data []byte) (err error) {
	c.Kind, err = decode(workload.Bigint, release.TypeBigInt, info, data, &c.Number)
	return err
}

func (c *double) UnmarshalCQL(info release.TypeInfo, data []byte) (err error) {
	c.Kind, err = decode(workload.Double, release.TypeDouble, info, data, &c.Double)
	return err
}

func (c *timestamp) UnmarshalCQL(info release.TypeInfo, data []byte) (err error) {
	c.Kind, err = decode(workload.Timestamp, release.TypeTimestamp, info, data, &c.Number)
	return err
}

func (c *uuid) UnmarshalCQL(info release.TypeInfo, data []byte) (err error) {
	c.Kind, err = decode(workload.UUID, release.TypeUUID, info, data, (*release.UUID)(&c.UUID))
	return err
}

func (c *text) UnmarshalCQL(info release.TypeInfo, data []byte) (err error) {
	c.Kind, err = decode(workload.Text, release.TypeVarchar, info, data, &c.Text)
	return err
}

func (c *ascii) UnmarshalCQL(info release.TypeInfo, data []byte) (err error) {
	c.Kind, err = decode(workload.Text, release.TypeAscii, info, data, &c.Text)
	return err
}

func (c *blob) UnmarshalCQL(info release.TypeInfo, data []byte) (err error) {
	c.Kind, err = decode(workload.Blob, release.TypeBlob, info, data, &c.Bytes)
	return err
}

func (c *integer) UnmarshalCQL(info release.TypeInfo, data []byte) (err error) {
	c.Kind, err = decode(workload.Int, release.TypeInt, info, data, &c.Number)
	return err
}

func (c *boolean) UnmarshalCQL(info release.TypeInfo, data []byte) (err error) {
	var holds bool
	c.Kind, err = decode(workload.Boolean, release.TypeBoolean, info, data, &holds)
	c.Number = 0
	if holds {
		c.Number = 1
	}
	return err
}

// UnmarshalCQL takes a column that should be null, of any type.
func (c *null) UnmarshalCQL(_ release.TypeInfo, data []byte) error {
	c.Kind = workload.Null
	if data != nil {
		c.Kind, c.Bytes = workload.Blob, bytes.Clone(data)
	}
	return nil
}
