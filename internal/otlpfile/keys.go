// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// UnknownField is a field of JSON that OTLP does not have. Readers ignore it, as the protocol
// requires, so its content is lost. If Message is ProfilesData, Objects counts the skipped messages
// with profiles, both JSON and parts: see WithOtherSignals.
type UnknownField struct {
	Message string // such as Span
	Name    string // as in the file, or "" for all fields over MaxUnknownFields
	Objects uint64 // how many objects have it
}

// MaxUnknownFields is how many unknown fields a reader distinguishes. It bounds the memory for a
// file that uses data as field names.
const MaxUnknownFields = 20

// maxUnknownName is how many bytes of the name of an unknown field are kept.
const maxUnknownName = 64

// unknownFields are counts of unknown fields, in the order in which they were found.
type unknownFields []UnknownField

func (u *unknownFields) add(message, name string, objects uint64) {
	if len(name) > maxUnknownName {
		name = name[:maxUnknownName]
	}
	same := func(message, name string) int {
		return slices.IndexFunc(*u, func(f UnknownField) bool { return f.Message == message && f.Name == name })
	}
	at := same(message, name)
	if at < 0 && len(*u) >= MaxUnknownFields {
		message, name = "", ""
		at = same(message, name)
	}
	if at < 0 {
		*u = append(*u, UnknownField{Message: message, Name: name})
		at = len(*u) - 1
	}
	(*u)[at].Objects += objects
}

// jsonKeys are the fields of a message by their names in JSON. A field that holds no
// message has the value nil.
type jsonKeys struct {
	message string
	fields  map[string]*jsonKeys
}

// keysOf has the fields of the top-level message of each signal. It is built from the descriptors.
var keysOf = func() (keys [len(signalNames)]*jsonKeys) {
	known := map[*descriptor]*jsonKeys{}
	for s := Metrics; s <= Logs; s++ {
		keys[s] = keysOfDescriptor(roots[s], known)
	}
	return keys
}()

func keysOfDescriptor(s *descriptor, known map[*descriptor]*jsonKeys) *jsonKeys {
	if k := known[s]; k != nil {
		return k
	}
	k := &jsonKeys{s.name, map[string]*jsonKeys{}}
	known[s] = k
	for _, f := range s.fields {
		if f.kind == unknown {
			continue
		}
		var below *jsonKeys
		if f.descriptor != nil {
			below = keysOfDescriptor(f.descriptor, known)
		}
		k.fields[f.name] = below // pdata accepts the names of protobuf, too
		k.fields[camel(f.name)] = below
	}
	return k
}

// camel returns the name in JSON of a field of protobuf.
func camel(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// secondOf returns the error of a message with two fields of the same oneof: first the field chosen, then
// the field name.
func secondOf(message, name, chosen string) error {
	if name == chosen {
		return corrupt("the message %s has the field %s twice", message, name)
	}
	return corrupt("the message %s has the field %s after %s, and only one of them is possible", message, name, chosen)
}

// isChoice reports whether a field with this name in JSON may belong to a oneof, see oneOf.
func isChoice(name []byte) bool {
	switch string(name) {
	case "gauge", "sum", "histogram", "exponentialHistogram", "exponential_histogram", "summary",
		"asInt", "as_int", "asDouble", "as_double",
		"stringValue", "string_value", "boolValue", "bool_value", "intValue", "int_value", "doubleValue", "double_value",
		"arrayValue", "array_value", "kvlistValue", "kvlist_value", "bytesValue", "bytes_value":
		return true
	}
	return false
}

// findSecond returns an error for the first field of a valid message in JSON that follows another
// field of the same oneof. It removes fields that are null, as scanKeys does.
func findSecond(s Signal, text []byte) *errAt { return scanKeys(s, text).second }

// findUnknown returns the unknown fields of a valid message in JSON, both inside and outside of
// the content of signal s.
func findUnknown(s Signal, text []byte) unknownFields { return scanKeys(s, text).found }

// scanKeys walks through a valid message in JSON. It overwrites fields of OTLP that are null with
// spaces. In protobuf such a field is not set, but pdata refuses some of these fields, and sets
// others, such as the value of an attribute.
func scanKeys(s Signal, text []byte) *keyScan {
	k := &keyScan{b: text}
	root := &jsonKeys{keysOf[s].message, map[string]*jsonKeys{}}
	for of, names := range jsonNames {
		for _, name := range names {
			if Signal(of) != SignalUnknown {
				root.fields[name] = nil
			}
		}
	}
	maps.Copy(root.fields, keysOf[s].fields)
	k.object(root)
	return k
}

// keyScan walks through valid JSON.
type keyScan struct {
	b      []byte
	i      int
	found  unknownFields
	second *errAt // error of the first field that follows another field of the same oneof
}

// space skips to the next byte that is not white space.
func (k *keyScan) space() {
	for k.b[k.i] == ' ' || k.b[k.i] == '\n' || k.b[k.i] == '\r' || k.b[k.i] == '\t' {
		k.i++
	}
}

func (k *keyScan) object(m *jsonKeys) {
	k.i++
	chosen := "" // the previous field of a oneof in this object
	comma := -1  // the comma before the field
	for {
		k.space()
		switch k.b[k.i] {
		case '}':
			k.i++
			return
		case ',':
			comma = k.i
			k.i++
			continue
		}
		start := k.i
		k.text()
		name := k.b[start+1 : k.i-1]
		below, ok := m.fields[string(name)]
		if !ok {
			below, name, ok = k.lookUp(m, k.b[start:k.i])
		}
		k.space()
		k.i++ // the colon
		k.space()
		if ok && k.b[k.i] == 'n' { // null
			k.remove(start, comma)
			continue
		}
		if ok && isChoice(name) {
			if chosen != "" && k.second == nil {
				k.second = &errAt{start, secondOf(m.message, string(name), chosen)}
			}
			chosen = string(name)
		}
		k.value(below)
	}
}

// remove overwrites a field that is null, and a comma next to the field, with spaces, so that the offsets
// in errors stay correct. The scan is before the value null. comma is the offset of the comma before the
// field, or -1 for the first field.
func (k *keyScan) remove(start, comma int) {
	k.i += len("null")
	copy(k.b[start:k.i], bytes.Repeat([]byte(" "), k.i-start))
	k.space()
	if k.b[k.i] == ',' {
		k.b[k.i] = ' '
	} else if comma >= 0 {
		k.b[comma] = ' '
	}
}

// lookUp looks up a name that may have escapes, and returns the name without escapes. If m has no such
// field, lookUp counts the name as unknown. quoted is the name with its quotes.
func (k *keyScan) lookUp(m *jsonKeys, quoted []byte) (below *jsonKeys, name []byte, ok bool) {
	var plain string
	if json.Unmarshal(quoted, &plain) != nil {
		plain = string(quoted)
	}
	below, ok = m.fields[plain]
	if !ok {
		k.found.add(m.message, plain, 1)
	}
	return below, []byte(plain), ok
}

// value walks through the value of a field. If the field holds messages, value walks through
// objects and through lists of objects.
func (k *keyScan) value(m *jsonKeys) {
	switch c := k.b[k.i]; {
	case c == '"':
		k.text()
	case c == '{' && m != nil:
		k.object(m)
	case c == '[' && m != nil:
		for k.i++; ; {
			k.space()
			switch k.b[k.i] {
			case ']':
				k.i++
				return
			case ',':
				k.i++
				continue
			}
			k.value(m)
		}
	case c == '{' || c == '[':
		var o objectScan
		n, _ := o.scan(k.b[k.i:])
		k.i += n
	default:
		for !strings.ContainsRune(" \t\r\n,]}", rune(k.b[k.i])) {
			k.i++
		}
	}
}

func (k *keyScan) text() {
	k.i = closingQuote(k.b, k.i+1) + 1
}
