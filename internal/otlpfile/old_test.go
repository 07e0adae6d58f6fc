// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// lenField returns a field of protobuf whose value has a length.
func lenField(number uint64, content ...string) string {
	value := strings.Join(content, "")
	b := binary.AppendUvarint(nil, number<<3|wireLen)
	return string(binary.AppendUvarint(b, uint64(len(value)))) + value
}

// Old senders put the scopes of a resource into another field. These scopes are read if the
// resource has no other scopes. The depth of their values is always bounded, because pdata decodes
// them in any case.
func TestOldScopes(t *testing.T) {
	text := lenField(1, "k") + lenField(2, lenField(1, "v"))
	deep := lenField(1, "v")
	for range MaxValueDepth + 1 {
		deep = lenField(5, lenField(1, deep))
	}
	nested := lenField(1, "k") + lenField(2, deep)
	named := lenField(1, lenField(3, text))
	items := map[Signal]string{
		Metrics: lenField(2, lenField(1, "m"), lenField(5, lenField(1, "\x19\x05\x00\x00\x00\x00\x00\x00\x00"))),
		Traces:  lenField(2, lenField(5, "name"), "\x30\x01"),
		Logs:    lenField(2, lenField(3, "INFO"), "\x10\x09", "\x59\x05\x00\x00\x00\x00\x00\x00\x00"),
	}
	for s, item := range items {
		old := lenField(oldScopes, named, item)
		f := func(points int, unknown uint64, want error, resource ...string) {
			t.Helper()
			message := lenField(1, resource...)
			part := binary.BigEndian.AppendUint32(nil, uint32(len(message)))
			for format, content := range map[Format]string{Proto: message, Parts: string(part) + message} {
				for _, more := range [][]ReaderOption{nil, {WithOtherSignals()}} {
					given := SignalUnknown
					if want != nil {
						given = s
					}
					r, err := Open(strings.NewReader(content), format, given, more...)
					require.NoError(t, err)
					require.Equal(t, s, r.Signal())
					b, err := r.Next()
					if want != nil {
						require.ErrorIs(t, err, want)
						r.Close()
						continue
					}
					require.NoError(t, err)
					require.Equal(t, points, b.Items())
					require.Equal(t, unknown, r.UnknownInProto())
					_, err = r.Next()
					require.Equal(t, io.EOF, err)
					r.Close()
				}
			}
		}
		f(1, 0, nil, old)
		f(2, 0, nil, old, named, old)
		f(1, 2, nil, old, lenField(2, item), old)
		f(0, 0, ErrTooLarge, old, lenField(oldScopes, lenField(1, lenField(3, nested)), item))
		f(0, 0, ErrTooLarge, lenField(2, item), lenField(oldScopes, lenField(1, lenField(3, nested))))
	}
}
