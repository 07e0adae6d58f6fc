// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package bitio reads and writes the two kinds of column a STEF frame has: bit
// columns, most significant bit first, and byte columns of varints and runs of
// bytes. All of it runs at value tempo: leaf methods on concrete types that
// the compiler inlines, no interfaces, no errors built, no allocation.
//
// Readers do not return errors. The first failure of any reader of a stream is
// latched in the Fault they share, reads after it return zeros, and whoever
// drives the readers looks at the Fault once per record.
//
// spec: #notation
package bitio

// FaultCode says what a reader found wrong. The zero value is no fault.
type FaultCode uint8

// The faults a reader can latch.
const (
	FaultNone FaultCode = iota
	// FaultEnd is a read beyond the end of the column.
	FaultEnd
	// FaultBadCode is a bit pattern that is no code.
	FaultBadCode
	// FaultOverflow is a varint over 64 bits.
	FaultOverflow
	// FaultLength is a negative length.
	FaultLength
	// FaultRef is a reference to a dictionary entry that does not exist.
	FaultRef
	// FaultChoice is a oneof choice that the schema does not have.
	FaultChoice
	// FaultFloat is a float64 window of more than 64 bits.
	FaultFloat
	// FaultPair is a change of a multimap pair that is not there.
	FaultPair
	// FaultPairs is a multimap with more pairs than the limit.
	FaultPairs
	// FaultElements is an array longer than its data or the limit.
	FaultElements
	// FaultDepth is a value nested deeper than the limit.
	FaultDepth
	// FaultRecordSize is a record that needs more memory than the limit.
	FaultRecordSize
	// FaultDictSize is a dictionary that needs more memory than the limit.
	FaultDictSize
	// FaultForm is a record in the compact form that stands for none.
	FaultForm
)

// Fault is the first failure of the readers that share it. Its zero value is
// "none so far".
type Fault struct {
	Code FaultCode
	// Column is the number of the column that failed, in column order.
	Column int
}

// Source ties a reader to its column number and to the Fault it shares with
// the other readers of a stream. Readers embed it.
type Source struct {
	fault  *Fault
	column int
}

// Attach sets the Fault to latch failures in and the column number to report.
func (s *Source) Attach(fault *Fault, column int) {
	s.fault, s.column = fault, column
}

// Fail latches a failure of this reader unless one is latched already. A
// reader that was never attached forgets it.
func (s *Source) Fail(code FaultCode) {
	if s.fault != nil && s.fault.Code == FaultNone {
		s.fault.Code, s.fault.Column = code, s.column
	}
}
