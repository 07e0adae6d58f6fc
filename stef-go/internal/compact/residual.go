// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

// Residual converts small numbers into the values of an integer field. The wire then
// carries the small numbers themselves, and nothing for a zero.
//
// A column of integers sends second differences. So Residual chooses the values of the field such
// that the first differences are the running sum of the residuals. Then the second differences are
// the residuals. A residual equal to minus the last difference would leave the field unchanged, and
// nothing would be sent. Residual exchanges this residual and zero, so that nothing is sent for
// zero.
//
// spec: #compact-residual
type Residual struct{ value, delta uint64 }

// Put returns the value of the field that represents the residual r.
func (s *Residual) Put(r uint64) uint64 {
	if r == 0 {
		return s.value
	}
	if r == -s.delta {
		r = 0
	}
	s.delta += r
	s.value += s.delta
	return s.value
}

// Take returns the residual that a value of the field represents.
func (s *Residual) Take(value uint64) uint64 {
	delta := value - s.value
	if delta == 0 {
		return 0
	}
	r := delta - s.delta
	if r == 0 {
		r = -s.delta
	}
	s.value, s.delta = value, delta
	return r
}

// Reset discards all state.
func (s *Residual) Reset() { *s = Residual{} }

// Run is like Residual, but for the elements of arrays. Arrays send all of their elements,
// so Run exchanges no residuals.
//
// spec: #compact-residual
type Run struct{ value, delta uint64 }

// Put returns the element that represents the residual r.
func (s *Run) Put(r uint64) uint64 {
	s.delta += r
	s.value += s.delta
	return s.value
}

// Take returns the residual that an element represents.
func (s *Run) Take(value uint64) uint64 {
	delta := value - s.value
	r := delta - s.delta
	s.value, s.delta = value, delta
	return r
}

// takeAll adds to each element of sums the residual of the element of sent at the same index. It
// does the same as Take for each element, but keeps the state in registers. This would not be
// possible in its caller, which has too many other variables, so takeAll is a separate function.
//
//go:noinline
func (s *Run) takeAll(sums, sent []uint64) {
	value, delta := s.value, s.delta
	sent = sent[:len(sums)]
	for i, w := range sent {
		step := w - value
		sums[i] += step - delta
		value, delta = w, step
	}
	s.value, s.delta = value, delta
}

// Reset discards all state.
func (s *Run) Reset() { *s = Run{} }
