// Package worker is the worker protocol of drivers/PROTOCOL.md, with the load generator that measures a driver in Go.
package worker

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"cqldyno/drivers/gocql/workload"
)

// Driver is a CQL library behind an adapter.
type Driver interface {
	// Describe is what it says of itself.
	Describe() (Info, error)
	// Settings are what it makes of the equal settings.
	Settings(*Options) []Setting
	// Value is a value of a type that Go has none for, as the driver takes it: of a decimal, a date, a duration or one with elements.
	Value(workload.Value) any
	// Connect makes a session; its errors are of kind connect or bad_credentials.
	Connect(*Options) (Session, error)
}

// Session is connected.
type Session interface {
	// Prepare asks the server for the statement. Its rows have these columns; nil for a statement that returns none.
	Prepare(cql string, columns []workload.Generator) (Statement, error)
	// Unprepared is the statement as a text that the driver sends in the way that it chooses; it sends nothing now.
	Unprepared(cql string, columns []workload.Generator) Statement
	Close()
}

// Settler is a session that opens connections after it is there. Settle waits for them; it is part of no measured session.
type Settler interface{ Settle() }

// Statement can be executed, and is safe for use by several slots.
type Statement interface {
	// Targets are what a slot's rows are decoded into: a pointer of the driver's kind to each cell.
	Targets(cells []workload.Value) []any
	// Execute binds values, sends, and has every column of every row decoded into rows.
	Execute(values []any, rows *Rows) error
	// Batch sends the rows of values as one batch.
	Batch(values [][]any, logged bool) error
}

// Options are how an adapter connects.
type Options struct {
	Target         []string
	User, Password string
	// TLS is nil for plain text.
	TLS *TLS
	// Datacenter is that whose nodes get the statements; empty for all.
	Datacenter     string
	Connections    int
	Consistency    string
	PageSize       int
	RequestTimeout time.Duration
	// Default asks for the driver's own settings instead of the equal ones.
	Default bool
	// Own are the contender's, NAME+KEY=VALUE.
	Own map[string]string
}

// TLS names PEM files. Without a CA a node's certificate is not verified.
type TLS struct {
	CA     string `json:"ca"`
	Client struct {
		Certificate string `json:"certificate"`
		Key         string `json:"key"`
	} `json:"client"`
}

// Info is what a driver says of itself.
type Info struct {
	Name         string    `json:"name"`
	Version      string    `json:"version"`
	Libraries    []Library `json:"libraries"`
	Capabilities []string  `json:"capabilities"`
	LacksTypes   []string  `json:"lacks_types,omitempty"`
	Caveats      []string  `json:"caveats"`
	// Options are absent if nil: then the driver itself refuses those of a contender, and cqldyno does not beforehand.
	Options []Option `json:"options,omitzero"`
}

// Library shapes the figure, beside the driver.
type Library struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Option is one of NAME+KEY=VALUE.
type Option struct {
	Name    string `json:"name"`
	Values  string `json:"values"`
	Default string `json:"default"`
	About   string `json:"about"`
	Tried   string `json:"tried,omitempty"`
}

// Setting is one of the equal settings, and what the driver made of it.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	AsAsked bool   `json:"as_asked"`
}

// Equal are the settings of a driver that takes all of options; each of own replaces the one of its name.
func Equal(options *Options, own ...Setting) []Setting {
	limit := "none"
	if options.RequestTimeout > 0 {
		limit = options.RequestTimeout.String()
	}
	settings := []Setting{
		{"protocol version", "v4", true},
		{"consistency", options.Consistency, true},
		{"compression", "none", true},
		{"retries", "none", true},
		{"speculative execution", "none", true},
		{"routing", "token-aware" + inDatacenter(options), true},
		{"connections", fmt.Sprintf("%d per node", options.Connections), true},
		{"page size", fmt.Sprint(options.PageSize), true},
		{"request timeout", limit, true},
		{"timestamps", "server", true},
		{"serial consistency", "none", true},
	}
	for _, one := range own {
		if at := slices.IndexFunc(settings, func(setting Setting) bool { return setting.Name == one.Name }); at >= 0 {
			settings[at] = one
		}
	}
	return settings
}

func inDatacenter(options *Options) string {
	if options.Datacenter == "" {
		return ""
	}
	return " in " + options.Datacenter
}

// Check refuses options that are not among known, and values that they do not take.
func (o *Options) Check(driver string, known []Option) error {
	for key, value := range o.Own {
		at := slices.IndexFunc(known, func(option Option) bool { return option.Name == key })
		if at < 0 {
			var names []string
			for _, option := range known {
				names = append(names, option.Name)
			}
			return fmt.Errorf("%s has no option `%s`: it has %s", driver, key, strings.Join(names, ", "))
		}
		takes := func(kind string) bool { return kind == value || kind[0] >= 'A' && kind[0] <= 'Z' }
		if !slices.ContainsFunc(strings.Split(known[at].Values, "|"), takes) {
			return fmt.Errorf("%s's option `%s` was set to %q; it takes %s", driver, key, value, known[at].Values)
		}
	}
	return nil
}

// Error is an error with a kind of drivers/PROTOCOL.md.
type Error struct {
	Kind string
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

func wrongRow(format string, arguments ...any) error {
	return &Error{"wrong_row", fmt.Errorf(format, arguments...)}
}

func kindOf(err error) string {
	var known *Error
	if errors.As(err, &known) {
		return known.Kind
	}
	return "other"
}

// VersionOf is the version of a module in this executable, as the build recorded it; that of a fork ends with its owner, as 1.19.0-owner.
func VersionOf(module string) (string, error) {
	build, _ := debug.ReadBuildInfo()
	if build != nil {
		for _, one := range build.Deps {
			if one.Path == module {
				if fork := one.Replace; fork != nil && fork.Version != "" {
					// Its owner tells a fork's releases from the module's own.
					return strings.TrimPrefix(fork.Version, "v") + "-" + path.Base(path.Dir(fork.Path)), nil
				}
				return strings.TrimPrefix(one.Version, "v"), nil
			}
		}
	}
	return "", fmt.Errorf("the executable does not say which version of %s it has; build it with Go's modules", module)
}

// Go is the language's own library.
func Go() Library {
	return Library{"go", strings.TrimPrefix(runtime.Version(), "go")}
}
