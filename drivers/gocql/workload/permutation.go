package workload

import (
	"math/bits"
)

const goldenGamma = 0x9e37_79b9_7f4a_7c15

// mix is the output function of SplitMix64 (Steele, Lea and Flood 2014).
func mix(x uint64) uint64 {
	x = (x ^ (x >> 30)) * 0xbf58_476d_1ce4_e5b9
	x = (x ^ (x >> 27)) * 0x94d0_49bb_1331_11eb
	return x ^ (x >> 31)
}

// seedOf is what the words of a number start from.
func seedOf(number uint64, plus int64) uint64 {
	return mix(number*goldenGamma ^ mix(uint64(plus)))
}

// word is the nth word of SplitMix64 from seed on.
func word(seed, n uint64) uint64 {
	return mix(seed + n*goldenGamma)
}

// Permutation is a bijection of 0..n onto itself, chosen by a seed; scenarios/src/permutation.rs explains it.
type Permutation struct {
	n, mask          uint64
	shift            uint
	factors, offsets [3]uint64
}

// NewPermutation is the permutation of 0..n that seed chooses; 0 is taken as 1.
func NewPermutation(n, seed uint64) Permutation {
	n = max(n, 1)
	width := max(bits.Len64(n-1), 1)
	p := Permutation{n: n, mask: ^uint64(0) >> (64 - width), shift: uint(width+1) / 2}
	nth := uint64(0)
	next := func() uint64 {
		nth++
		return word(seed, nth)
	}
	for i := range p.factors {
		p.factors[i] = next() | 1
	}
	for i := range p.offsets {
		p.offsets[i] = next()
	}
	return p
}

// Apply says where index goes; one beyond n is reduced modulo n.
func (p *Permutation) Apply(index uint64) uint64 {
	x := index
	if x >= p.n {
		x %= p.n
	}
	for {
		for round := range p.factors {
			x = (x + p.offsets[round]) * p.factors[round] & p.mask
			x ^= x >> p.shift
		}
		if x < p.n {
			return x
		}
	}
}

// share is a * b / c without overflow, rounded down, or up if asked.
func share(a, b, c uint64, up bool) uint64 {
	high, low := bits.Mul64(a, b)
	quotient, rest := bits.Div64(high, low, max(c, 1))
	if up && rest > 0 {
		quotient++
	}
	return quotient
}
