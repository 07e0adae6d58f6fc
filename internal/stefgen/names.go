// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgen

import (
	"go/build"
	"go/token"
	"io"
	"strings"
	"unicode"
)

func exported(name string) string {
	r := []rune(name)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

// private returns name as an unexported Go identifier, with initialisms in lower
// case: traceID for TraceID, idKeys for IDKeys, url for URL.
func private(name string) string {
	r := []rune(name)
	for i := range r {
		last := i == len(r)-1
		if !unicode.IsUpper(r[i]) || i > 0 && !last && unicode.IsLower(r[i+1]) {
			break
		}
		r[i] = unicode.ToLower(r[i])
	}
	if s := string(r); !token.IsKeyword(s) {
		return s
	}
	return string(r) + "Field"
}

// internal are the fields and methods that generated types have for internal use.
var internal = map[string]bool{
	"node": true, "present": true, "sentPresent": true, "slot": true,
	"typ": true, "sent": true, "num": true, "str": true, "box": true, "head": true, "dict": true,
	"init": true, "clear": true, "markAll": true, "clean": true, "freeze": true, "markDiff": true,
	"share": true, "edit": true, "hash": true, "size": true, "open": true, "setText": true,
	"json": true, "register": true, "copyFrom": true, "encodeFields": true, "decodeFields": true,
}

func fieldName(name string) string {
	if name = private(name); internal[name] {
		return name + "Field"
	}
	return name
}

// fileName returns the name of the file of a type: point_value.stef.go.
func fileName(typ string) string {
	var b strings.Builder
	r := []rune(typ)
	for i, c := range r {
		if unicode.IsUpper(c) && i > 0 && (!unicode.IsUpper(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	if name := b.String() + fileEnding; onAllPlatforms(name) {
		return name
	}
	// Go would compile host_windows.stef.go on Windows only.
	return b.String() + "_type" + fileEnding
}

const fileEnding = ".stef.go"

// SchemaFile is the name of the generated file with the text of the schema (constant
// schemaText) and, if Options.Form is set, the text of the form (constant formText).
const SchemaFile = "schema_text" + fileEnding

// onAllPlatforms reports whether Go compiles a file of that name on every platform.
func onAllPlatforms(name string) bool {
	nowhere := build.Context{
		GOOS: "none", GOARCH: "none", Compiler: "gc",
		OpenFile: func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("package x\n")), nil },
	}
	match, err := nowhere.MatchFile("", name)
	return match && err == nil
}
