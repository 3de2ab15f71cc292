package workload

import (
	"errors"
	"fmt"
	"slices"
)

// most is the most statements, and the most keys of one.
const most = 1 << 40

// Issue is one statement to issue: its index, and the key that its values follow from.
type Issue struct {
	Statement int
	Key       uint64
}

// Workload is a scenario for count statements after a warm-up; scenarios/src/workload.rs explains the ways.
type Workload struct {
	Count, Warmup uint64
	permutation   Permutation
	ends          []uint64
	asks          []ask
	warmTurns     turns
	// once: every key is used once, so that a ticket's key says its statement.
	once bool
	// numbered: the statements take turns, and their issues are numbered in sequence.
	numbered *turns
	seed     uint64
}

type ask struct {
	start     uint64
	keys      keys
	warmStart uint64
	warmKeys  uint64
	// drawn says that the answer is drawn for each execution.
	drawn bool
}

// New divides the tickets; seed chooses the order of the keys.
func New(scenario *Scenario, count, warmup, seed uint64) (*Workload, error) {
	statements := scenario.Statements
	if len(statements) == 0 {
		return nil, fmt.Errorf("the scenario %s has no statement; give it one", scenario.Name)
	}
	if max(count, warmup) > most {
		return nil, fmt.Errorf("%d statements were asked of the scenario %s; ask for at most %d", max(count, warmup), scenario.Name, uint64(most))
	}
	weights := make([]uint64, len(statements))
	w := &Workload{Count: count, Warmup: warmup, permutation: NewPermutation(count, seed), once: true, seed: seed}
	inSequence := false
	sum := uint64(0)
	for i := range statements {
		one := &statements[i]
		weights[i] = one.Weight
		sum += one.Weight
		inSequence = inSequence || one.Order == "sequential"
		w.once = w.once && one.Keys == nil && one.KeysOf == "" && one.Order == "permuted" && !one.drawn()
	}
	shares := make([]uint64, len(statements))
	before, end := uint64(0), uint64(0)
	for i, weight := range weights {
		before += weight
		next := share(count, before, sum, false)
		shares[i], end = next-end, next
		if shares[i] == 0 {
			return nil, fmt.Errorf("%d statements were asked of the scenario %s, and its statement %s would be none of them; ask for more",
				count, scenario.Name, statements[i].Name)
		}
		w.ends = append(w.ends, end)
	}
	if inSequence {
		w.numbered = newTurns(shares)
	}
	start := uint64(0)
	sources := make([]int, len(statements))
	for i := range statements {
		one := &statements[i]
		of := i
		if one.KeysOf != "" {
			of = slices.IndexFunc(statements, func(other Statement) bool { return other.Name == one.KeysOf })
			if of < 0 {
				return nil, fmt.Errorf("the statement %s of the scenario %s has the keys of %q, which is none; name one", one.Name, scenario.Name, one.KeysOf)
			}
		}
		wanted, warm := shares[of], warmup
		if statements[of].Keys != nil {
			wanted, warm = *statements[of].Keys, min(*statements[of].Keys, warmup)
		}
		keys, err := newKeys(wanted, one.Order, inSequence || wanted > shares[i], seed+uint64(i))
		if err != nil {
			return nil, fmt.Errorf("the statement %s of the scenario %s %w", one.Name, scenario.Name, err)
		}
		sources[i] = of
		w.asks = append(w.asks, ask{start: start, keys: keys, warmKeys: warm, drawn: one.drawn()})
		if of == i {
			start += keys.count
		}
	}
	for i, of := range sources {
		if of == i {
			w.asks[i].warmStart = start
			start += warmup
		}
	}
	for i, of := range sources {
		w.asks[i].start, w.asks[i].warmStart = w.asks[of].start, w.asks[of].warmStart
	}
	w.warmTurns = *newTurns(weights)
	return w, nil
}

// Issue is what ticket 0..Count issues.
func (w *Workload) Issue(ticket uint64) Issue {
	if w.numbered != nil {
		statement, number := w.numbered.whose(ticket)
		return w.issueOf(statement, number)
	}
	key := w.permutation.Apply(ticket)
	statement := len(w.ends) - 1
	for i, end := range w.ends {
		if key < end {
			statement = i
			break
		}
	}
	if w.once {
		return Issue{statement, key}
	}
	if statement > 0 {
		key -= w.ends[statement-1]
	}
	return w.issueOf(statement, key)
}

func (w *Workload) issueOf(statement int, number uint64) Issue {
	ask := &w.asks[statement]
	return Issue{statement, ask.start + ask.keys.key(number) + w.drawn(ask, number)}
}

// drawnSeed makes what is drawn for an issue independent of its key.
const drawnSeed = 0x64_7261_776e

// drawn is what is drawn for the issue with this number, above the bits of its key.
func (w *Workload) drawn(ask *ask, number uint64) uint64 {
	if !ask.drawn {
		return 0
	}
	return word(seedOf(number, int64(w.seed)), drawnSeed) >> keyBits << keyBits
}

// WarmupIssue is what ticket 0..Warmup issues before the window.
func (w *Workload) WarmupIssue(ticket uint64) Issue {
	statement, _ := w.warmTurns.whose(ticket)
	ask := &w.asks[statement]
	return Issue{statement, ask.warmStart + ticket%max(ask.warmKeys, 1) + w.drawn(ask, ticket)}
}

// keys is the key of a statement's nth issue, counted from its first key.
type keys struct {
	count       uint64
	permutation *Permutation
	// hotspot: a fifth of the keys has four fifths of the draws.
	hotspot bool
	// distribution draws keys; without one they come in turn.
	distribution string
	seed         int64
}

var errDrawn = errors.New("draws its keys by a distribution whose logarithms are not the same to the bit in Go; use another order, " +
	"or leave this driver out")

func newKeys(count uint64, order string, numbered bool, seed uint64) (keys, error) {
	k := keys{count: max(count, 1)}
	switch order {
	case "sequential":
	case "permuted":
		if numbered {
			permutation := NewPermutation(count, seed)
			k.permutation = &permutation
		}
	case "uniform", "gaussian", "exponential":
		k.distribution, k.seed = order, int64(seed)
	case "hotspot":
		k.hotspot, k.seed = true, int64(seed)
	case "zipf", "latest":
		return k, errDrawn
	default:
		return k, fmt.Errorf("has its keys in the order %q, which this worker does not know; use another order", order)
	}
	return k, nil
}

func (k *keys) key(n uint64) uint64 {
	switch {
	case k.distribution != "":
		seed := seedOf(n, k.seed)
		return drawn(k.distribution, k.count, word(seed, 1), word(seed, 2))
	case k.hotspot:
		seed, hot := seedOf(n, k.seed), max(k.count/5, 1)
		if float64(word(seed, 1)>>11)/(1<<53) < 0.8 || hot == k.count {
			return upperHalf(word(seed, 2), hot)
		}
		return hot + upperHalf(word(seed, 2), k.count-hot)
	case k.permutation != nil:
		return k.permutation.Apply(n % k.count)
	default:
		return n % k.count
	}
}

// turns says whose turn it is, each exactly as often as its share says; scenarios/src/turns.rs explains it.
type turns struct {
	shares []uint64
	all    uint64
}

func newTurns(shares []uint64) *turns {
	t := &turns{shares: shares}
	for _, share := range shares {
		t.all += share
	}
	return t
}

// whose is the statement that has the turn, and how many it had before.
func (t *turns) whose(turn uint64) (int, uint64) {
	all := max(t.all, 1)
	rounds, left := turn/all, all
	turn %= all
	for i, each := range t.shares {
		had := share(turn, each, left, true)
		if share(turn+1, each, left, true) > had {
			return i, rounds*each + had
		}
		turn -= had
		left -= each
	}
	return len(t.shares) - 1, turn
}

// Turn is the first ticket of the turn nth of so many that share count; that of the turn after the last one is count.
func Turn(count, turns, nth uint64) uint64 {
	return share(count, min(nth, turns), turns, false)
}
