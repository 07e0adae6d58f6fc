// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wrapped returns a field of protobuf with the number and the content.
func wrapped(number byte, content string) string {
	return string(append(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(content))), content...))
}

// Unknown protobuf fields, such as those of a newer version of OTLP, are counted in every mode if the output
// loses them. An output that copies the bytes of the messages keeps these fields.
func TestUnknownFieldsOfProtobuf(t *testing.T) {
	dir := t.TempDir()
	const lost = "not kept: 4 fields that this version of OTLP does not know\n"
	parts, messages := "", ""
	for range 2 {
		span := wrapped(1, strings.Repeat("\x01", 16)) + wrapped(2, strings.Repeat("\x02", 8)) + wrapped(5, "name") + wrapped(15, wrapped(9, "new"))
		message := wrapped(1, wrapped(2, wrapped(2, span)+wrapped(14, "new")))
		messages += message
		parts += string(binary.BigEndian.AppendUint32(nil, uint32(len(message)))) + message
	}
	for in, content := range map[string]string{"in.otlp": parts, "in.pb": messages} {
		in = filepath.Join(dir, in)
		require.NoError(t, os.WriteFile(in, []byte(content), 0o666))
		f := func(want int, out string, flags ...string) {
			t.Helper()
			_, stderr := mustRun(t, nil, append(append([]string{"convert", "--force"}, flags...), in, filepath.Join(dir, out))...)
			require.Equal(t, want, strings.Count(stderr, lost), "%s to %s, %q: %s", in, out, flags, stderr)
			require.Equal(t, want, strings.Count(stderr, "not kept"), stderr)
		}
		f(1, "out.stef")
		f(1, "out.stef", "--mode", "sorted")
		f(1, "out.stef", "--mode", "ordered")
		f(1, "out.stef", "--mode", "ordered", "--frame-items", "10")
		f(1, "out.json")
		f(1, "out.parquet")
		f(1, "out.arrow")
		f(0, "out.parts")
		empty := filepath.Join(dir, "empty.json")
		require.NoError(t, os.WriteFile(empty, nil, 0o666))
		for out, want := range map[string]int{"all.stef": 1, "all.json": 1, "all.arrow": 1, "all.parts": 0, "all.pb": 0} {
			f(want, out, empty)
		}
	}
}
