// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// otherFormats are the beginnings of files that users mistake for telemetry.
var otherFormats = []struct{ head, what string }{
	{"PK\x03\x04", "a ZIP archive: unpack it first"},
	{"BZh", "bzip2: decompress it first"},
	{"\xfd7zXZ\x00", "xz: decompress it first"},
	{"\x04\x22\x4d\x18", "lz4: decompress it first"},
	{"\xff\x06\x00\x00sNaPpY", "snappy: decompress it first"},
	{"ARROW1", "an Arrow IPC file (Feather); stef reads Arrow streams: write it with pyarrow.ipc.new_stream"},
	{"\xff\xfe", "UTF-16: iconv -f UTF-16 -t UTF-8 makes UTF-8 of it"},
	{"\xfe\xff", "UTF-16: iconv -f UTF-16 -t UTF-8 makes UTF-8 of it"},
	{"Obj\x01", "Avro"},
	{"ORC", "ORC"},
	{"SQLite format 3\x00", "a SQLite database"},
	{"\x7fELF", "a program"},
	{"%PDF-", "PDF"},
}

// shownHead is the number of bytes that a message shows of the beginning of a file.
const shownHead = 24

// DescribeUnknown describes content of an unknown format: how it begins and what it looks like.
func DescribeUnknown(head []byte) string {
	return fmt.Sprintf("it begins with %q and looks like %s", head[:min(len(head), shownHead)], kindOf(head))
}

func kindOf(head []byte) string {
	for _, l := range otherFormats {
		if bytes.HasPrefix(head, []byte(l.head)) {
			return l.what
		}
	}
	if len(head) > 262 && string(head[257:262]) == "ustar" {
		return "a tar archive: unpack it first"
	}
	if start := bytes.TrimLeft(head, " \t\r\n"); len(start) > 1 && start[0] == '[' && bytes.HasPrefix(bytes.TrimLeft(start[1:], " \t\r\n"), []byte("{")) {
		return "a JSON array: write one object per line instead, as jq -c '.[]' does"
	}
	if isText(head) {
		return "text"
	}
	return "binary data"
}

// isText reports whether content is UTF-8 without control characters. Its end may be
// in the middle of a character.
func isText(head []byte) bool {
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		switch {
		case r == utf8.RuneError && n == 1:
			return !utf8.FullRune(head)
		case unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t':
			return false
		}
		head = head[n:]
	}
	return true
}
