// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"encoding/binary"
	"fmt"
)

const (
	// maxValueDepth is how deep arrays and maps may be nested in a value of a row. pdata decodes
	// them by recursion without a limit of its own, so a deeper row could end the process by a
	// stack overflow. Files of OTLP have the same limit (MaxValueDepth of otlpfile), so tables can
	// be converted to them.
	maxValueDepth = 1500
	// maxTotal is the maximum number of messages of OTLP in a batch. An attribute is two messages.
	maxTotal = 2 * maxElements
)

// submessages are the fields of a message of OTLP that are messages, by their numbers. Arrays and
// maps have also the number 0, which no field has.
type submessages map[uint64]submessages

// rowMessages are the messages in the column otlp.
var rowMessages = func() [3]submessages {
	value := submessages{}
	pair := submessages{2: value}
	value[5], value[6] = submessages{0: nil, 1: value}, submessages{0: nil, 1: pair}
	exemplar := submessages{7: pair}
	number := submessages{1: {5: exemplar, 7: pair}}
	root := func(item submessages) submessages {
		scopes := submessages{1: {3: pair}, 2: item}
		return submessages{1: {1: {1: pair, 3: {}}, 2: scopes, 1000: scopes}} // 1000 is the field of old senders
	}
	return [...]submessages{
		Metrics: root(submessages{
			5: number, 7: number, 9: {1: {8: exemplar, 9: pair}},
			10: {1: {1: pair, 8: {}, 9: {}, 11: exemplar}}, 11: {1: {6: {}, 7: pair}}, 12: pair,
		}),
		Traces: root(submessages{9: pair, 11: {3: pair}, 13: {4: pair}, 15: {}}),
		Logs:   root(submessages{5: value, 6: pair}),
	}
}()

// checkOTLP panics if the message of row i is damaged, if its values are nested too deeply, or if
// the rows of the batch so far have too many messages: a message of 2 bytes takes far more memory
// when it is decoded. It also refuses encodings that pdata accepts, but does not write.
func (c *columns) checkOTLP(i int, b []byte, fields submessages, depth int) {
	if _, nests := fields[0]; nests {
		depth++
	}
	if depth > maxValueDepth {
		panic(&limitReached{fmt.Sprintf("row %d, column otlp: values are nested more than %d levels deep", c.first+uint64(i), maxValueDepth)})
	}
	for len(b) > 0 {
		tag, head := binary.Uvarint(b)
		n, size := 0, uint64(0)
		if b = b[max(head, 0):]; head > 0 && tag>>3-1 < 1<<29-1 {
			switch tag & 7 {
			case 0:
				_, n = binary.Uvarint(b)
			case 1:
				n = 8
			case 2:
				size, n = binary.Uvarint(b)
			case 5:
				n = 4
			}
		}
		if n <= 0 || n > len(b) || size > uint64(len(b)-n) {
			panic(c.atRow(i, invalid("otlp", "it is not a valid message of OTLP")))
		}
		content := b[n : n+int(size)]
		b = b[n+int(size):]
		if sub, ok := fields[tag>>3]; ok && tag&7 == 2 {
			if c.otlps--; c.otlps < 0 {
				panic(&limitReached{fmt.Sprintf("a batch has more than %d messages in the column otlp", maxTotal)})
			}
			c.checkOTLP(i, content, sub, depth)
		}
	}
}
