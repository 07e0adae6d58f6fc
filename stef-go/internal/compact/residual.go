// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package compact

// Residual turns small numbers into the values of an integer field, so that what
// reaches the wire are the small numbers themselves, and nothing for a zero.
//
// A column of integers has second differences. A field whose first differences
// are a running sum of residuals therefore sends just the residuals. A value that
// stays as it is would be one of the residuals, minus the difference, and is not
// sent at all: this residual and zero change places.
//
// spec: #compact-residual
type Residual struct{ value, delta uint64 }

// Put returns the value of the field that stands for the residual r.
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

// Take returns the residual that a value of the field stands for.
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

// Reset forgets all.
func (s *Residual) Reset() { *s = Residual{} }

// Run is Residual for the elements of arrays, which are always sent.
//
// spec: #compact-residual
type Run struct{ value, delta uint64 }

// Put returns the element that stands for the residual r.
func (s *Run) Put(r uint64) uint64 {
	s.delta += r
	s.value += s.delta
	return s.value
}

// Take returns the residual that an element stands for.
func (s *Run) Take(value uint64) uint64 {
	delta := value - s.value
	r := delta - s.delta
	s.value, s.delta = value, delta
	return r
}

// Reset forgets all.
func (s *Run) Reset() { *s = Run{} }
