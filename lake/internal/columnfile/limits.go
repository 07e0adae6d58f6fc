// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package columnfile

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

// maxLimit is the maximum size of a limit in bytes. The limits of a column are its minimum
// and its maximum. If one of them is larger than maxLimit, neither is written.
const maxLimit = 256

type order uint8

const (
	orderNone order = iota // the column has no limits
	orderBytes
	orderSigned
	orderUnsigned
	orderDouble
)

func orderOf(t arrow.DataType) order {
	switch t.ID() {
	case arrow.STRING, arrow.FIXED_SIZE_BINARY:
		return orderBytes
	case arrow.INT32, arrow.INT64, arrow.TIMESTAMP:
		return orderSigned
	case arrow.UINT32, arrow.UINT64:
		return orderUnsigned
	case arrow.FLOAT64:
		return orderDouble
	}
	return orderNone
}

// limits are the minimum and the maximum of a column in a row group.
type limits struct {
	of       order
	known    bool // whether there was a value
	min, max []byte
}

func (l *limits) reset() { *l = limits{of: l.of, min: []byte{}, max: []byte{}} } // an empty limit is not nil

// add includes a value. It ignores NaN, because NaN is neither less nor greater than a number.
func (l *limits) add(v []byte) {
	if l.of == orderNone || l.of == orderDouble && math.IsNaN(double(v)) {
		return
	}
	if !l.known || l.less(v, l.min) {
		l.min = append(l.min[:0], v...)
	}
	if !l.known || l.less(l.max, v) {
		l.max = append(l.max[:0], v...)
	}
	l.known = true
}

func (l *limits) less(a, b []byte) bool {
	switch l.of {
	case orderSigned:
		if len(a) == 4 {
			return int32(binary.LittleEndian.Uint32(a)) < int32(binary.LittleEndian.Uint32(b))
		}
		return int64(binary.LittleEndian.Uint64(a)) < int64(binary.LittleEndian.Uint64(b))
	case orderUnsigned:
		if len(a) == 4 {
			return binary.LittleEndian.Uint32(a) < binary.LittleEndian.Uint32(b)
		}
		return binary.LittleEndian.Uint64(a) < binary.LittleEndian.Uint64(b)
	case orderDouble:
		return double(a) < double(b)
	}
	return bytes.Compare(a, b) < 0
}

func double(v []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(v)) }

// get returns the limits as the format requires them. It returns false if there are no values,
// or if a limit exceeds maxLimit bytes. A lower limit of zero becomes -0 and an upper limit of
// zero becomes +0, so that both zeros are included.
func (l *limits) get() (low, high []byte, ok bool) {
	if !l.known || len(l.min) > maxLimit || len(l.max) > maxLimit {
		return nil, nil, false
	}
	low, high = l.min, l.max
	if l.of == orderDouble && double(low) == 0 {
		low = binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.Copysign(0, -1)))
	}
	if l.of == orderDouble && double(high) == 0 {
		high = make([]byte, 8)
	}
	return low, high, true
}
