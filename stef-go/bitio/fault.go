// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package bitio reads and writes the two kinds of column in a STEF frame: bit
// columns, most significant bit first, and byte columns of varints and runs of
// bytes. Its methods run once per value. So they are leaf methods of concrete types,
// which the compiler can inline, without interfaces, error values or allocation.
//
// Readers do not return errors. The readers of a stream share a Fault, which records
// the first failure. Later reads return zeros, and the caller checks the Fault once
// per record.
//
// spec: #notation
package bitio

// FaultCode is the kind of error that a reader found. The zero value is no fault.
type FaultCode uint8

// The faults that a reader can record.
const (
	FaultNone FaultCode = iota
	// FaultEnd is a read beyond the end of the column.
	FaultEnd
	// FaultBadCode is a bit pattern that is not a valid code.
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
	// FaultPair is a change of a multimap pair that does not exist.
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
	// FaultForm is a record in the compact form that represents no valid record.
	FaultForm
	// FaultState is a record that makes the state of the compact form exceed its limit.
	FaultState
)

// Fault is the first failure of the readers that share it. Its zero value means "no
// failure yet".
type Fault struct {
	Code FaultCode
	// Column is the number of the column that failed, in column order.
	Column int
	// Short says that a reader read bits that Grant allows. This is not a failure.
	Short bool
}

// Source connects a reader to its column number and to the Fault that it shares with
// the other readers of a stream. Readers embed it.
type Source struct {
	fault  *Fault
	column int
}

// Attach sets the number of the column and the Fault in which the reader records a failure.
func (s *Source) Attach(fault *Fault, column int) {
	s.fault, s.column = fault, column
}

// Fail records a failure of this reader, unless the Fault already has a failure. If the reader
// was never attached, the failure is discarded.
func (s *Source) Fail(code FaultCode) {
	if s.fault != nil && s.fault.Code == FaultNone {
		s.fault.Code, s.fault.Column = code, s.column
	}
}
