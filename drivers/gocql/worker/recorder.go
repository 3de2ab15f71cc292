package worker

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// longest is the longest latency, an hour; longer ones count as this.
	longest = int64(time.Hour)
	// lateAfter: a statement issued later than this after its intended start is late.
	lateAfter = time.Millisecond
	// mostSeconds of a series: a clock that jumps must not cost unbounded memory.
	mostSeconds = 1 << 20
	// kept is how many answers a slot keeps before it counts them: one lock for so many statements.
	kept = 16
)

// recorder counts the answers of a run.
type recorder struct {
	sync.Mutex
	origin      time.Time
	latencies   *hdrhistogram.Histogram
	byStatement []uint64
	perSecond   []uint64
	errors      map[string]*errorCount
	failed      uint64
	below       uint64
	paced       *paced
}

// paced are the counts of a run at a rate.
type paced struct {
	response, lateness *hdrhistogram.Histogram
	late               uint64
	latest, last       int64
}

func histogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, longest, 3) }

func newRecorder(statements int, atRate bool) *recorder {
	r := &recorder{
		origin:      time.Now(),
		latencies:   histogram(),
		byStatement: make([]uint64, statements),
		errors:      map[string]*errorCount{},
	}
	if atRate {
		r.paced = &paced{response: histogram(), lateness: histogram()}
	}
	return r
}

// now is the time since the recorder began, in nanoseconds.
func (r *recorder) now() int64 { return int64(time.Since(r.origin)) }

type answer struct {
	statement              int
	intended, issued, came int64
}

// answers are those that a slot keeps.
type answers struct {
	waiting [kept]answer
	count   int
	below   uint64
}

func (a *answers) add(r *recorder, one answer) {
	a.waiting[a.count] = one
	a.count++
	if a.count == kept {
		r.takeIn(a)
	}
}

func record(into *hdrhistogram.Histogram, nanoseconds int64) {
	// Within the bounds it has no error.
	_ = into.RecordValue(min(max(nanoseconds, 1), longest))
}

func (r *recorder) takeIn(from *answers) {
	if from.count == 0 && from.below == 0 {
		return
	}
	r.Lock()
	defer r.Unlock()
	for _, one := range from.waiting[:from.count] {
		record(r.latencies, one.came-one.issued)
		r.byStatement[one.statement]++
		second := int(min(one.came/int64(time.Second), mostSeconds))
		for len(r.perSecond) <= second {
			r.perSecond = append(r.perSecond, 0)
		}
		r.perSecond[second]++
		if p := r.paced; p != nil {
			lateness := one.issued - one.intended
			record(p.response, one.came-one.intended)
			record(p.lateness, lateness)
			p.latest, p.last = max(p.latest, lateness), max(p.last, one.came)
			if lateness > int64(lateAfter) {
				p.late++
			}
		}
	}
	r.below += from.below
	from.count, from.below = 0, 0
}

// fail counts an error; the statement counts as answered all the same.
func (r *recorder) fail(err error) {
	kind := kindOf(err)
	r.Lock()
	defer r.Unlock()
	r.failed++
	if known := r.errors[kind]; known != nil {
		known.Count++
		return
	}
	r.errors[kind] = &errorCount{1, err.Error()}
}

func (r *recorder) answered() uint64 {
	sum := uint64(0)
	for _, count := range r.byStatement {
		sum += count
	}
	return sum
}

// encoded is the histogram in V2 form, base64; empty if there is nothing in it.
func encoded(h *hdrhistogram.Histogram) (string, error) {
	if h.TotalCount() == 0 {
		return "", nil
	}
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	return string(text), err
}

// done is the turn's last message.
func (r *recorder) done(names []string) (*done, error) {
	answered := r.answered()
	told := &done{
		Type: "done", Issued: answered, Answered: answered, Verified: answered - min(r.failed, answered),
		IssuedByStatement: map[string]uint64{}, Errors: r.errors, BelowConcurrency: &r.below, PerSecond: r.perSecond,
	}
	for i, name := range names {
		told.IssuedByStatement[name] += r.byStatement[i]
	}
	var err error
	told.Histogram, err = encoded(r.latencies)
	return told, err
}
