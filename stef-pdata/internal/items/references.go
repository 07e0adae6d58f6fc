// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"encoding/hex"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/template"
)

// references replaces texts of attributes and structured bodies by references to other fields of
// the log record: to an id, the time or, in attributes, a text of the body. Examples are the ids
// that libraries add to each record, and events whose main fields a Collector copies into
// attributes. A reference is the same text in each record, so it takes few bytes.
//
// Usually, all values of a key repeat the same field, or no value repeats a field. This is the
// prediction of the key. To find the prediction, only a few values are compared with all fields. The other
// values are compared only with the field of the prediction. While no key has a prediction, most log
// records are not examined at all.
//
// spec: #compact-references
type references struct {
	formats bool // the stream can have references with a format
	records int  // number of log records
	known   int  // number of keys whose values repeat a field: their prediction has a reference
	// wrote says that the log record has references. clash says that another text of the
	// record looks like a reference.
	wrote, clash bool

	record     plog.LogRecord
	replaced   int // bytes of the texts of the log record that references replace
	ids        [2]idText
	time       []byte
	pairs      []bodyPair // pairs of the structured body
	count      int        // number of pairs of the body, including pairs without a text
	attributes predictionTable
	bodies     predictionTable
}

type idText struct {
	made bool
	size int
	text [32]byte
}

type bodyPair struct{ key, text string }

// keyPrediction says which field the values of a key repeat.
type keyPrediction struct {
	key          string
	ref          string // "" if the values repeat no known field
	seen, next   int    // number of values, and the number of the value at which to search again
	hits, misses int
}

// predictionTable holds the predictions of keys, either of attributes or of bodies.
type predictionTable struct {
	recent        [64]*keyPrediction // by the position of the pair
	keys          map[string]*keyPrediction
	withReference []*keyPrediction // predictions with a reference
}

const (
	// maxPredictions is the maximum number of keys with predictions. maxPredictedKey is the maximum length of
	// such a key, and of a key in a reference, in bytes. Both bound the memory of a stream. A
	// record can have a reference in each attribute, so with long keys a record could become larger
	// than a frame.
	maxPredictions  = 1 << 10
	maxPredictedKey = 1 << 8
	// maxReplaced is the maximum number of bytes that references in attributes and structured
	// bodies replace in a log record. This is half of what a reader accepts. References in
	// parameters can replace the other half.
	maxReplaced = otelstef.ReferencedBytes / 2
	// minReferred is the minimum length of a text that is replaced. Shorter texts rarely
	// differ from record to record.
	minReferred = 8
	// While no prediction with a reference is known, only the first searchFirst log records
	// are examined, and then one of searchEvery log records.
	searchFirst = 64
	searchEvery = 32
	// If more than mostCompared keys have a reference, hasReference does not compare a key with
	// them.
	mostCompared = 4
	// A prediction ends when its misses exceed its matches by more than someMisses.
	someMisses = 4
)

func (t *predictionTable) reset() { *t = predictionTable{} }

// of returns the prediction of a key, and adds the prediction if the key is new. It returns nil for a long
// key, and for a new key if there are already maxPredictions keys.
func (t *predictionTable) of(i int, key string) *keyPrediction {
	slot := &t.recent[i%len(t.recent)]
	if h := *slot; h != nil && h.key == key {
		return h
	}
	h := t.keys[key]
	if h == nil {
		if len(t.keys) >= maxPredictions || len(key) > maxPredictedKey {
			return nil
		}
		if t.keys == nil {
			t.keys = map[string]*keyPrediction{}
		}
		h = &keyPrediction{key: strings.Clone(key), next: 1}
		t.keys[h.key] = h
	}
	*slot = h
	return h
}

// hasReference reports whether key may have a prediction with a reference.
func (t *predictionTable) hasReference(key string) bool {
	if len(t.withReference) > mostCompared {
		return true // too many to compare: the caller looks up the prediction
	}
	for _, h := range t.withReference {
		if h.key == key {
			return true
		}
	}
	return false
}

// setReference makes a reference the prediction of a key.
func (t *predictionTable) setReference(h *keyPrediction, ref string) {
	h.ref = ref
	t.withReference = append(t.withReference, h)
}

func (t *predictionTable) removeReference(h *keyPrediction) {
	h.ref, h.hits, h.misses, h.next = "", 0, 0, 2*h.seen
	t.withReference = slices.DeleteFunc(t.withReference, func(x *keyPrediction) bool { return x == h })
}

func (r *references) reset() {
	r.attributes.reset()
	r.bodies.reset()
	r.records, r.known, r.wrote, r.clash = 0, 0, false, false
	r.end()
}

// begin begins a log record, and reports whether to examine it.
func (r *references) begin(lr plog.LogRecord) bool {
	r.records++
	r.wrote, r.clash, r.replaced = false, false, 0
	if r.known == 0 && r.records > searchFirst && r.records%searchEvery != 0 {
		return false
	}
	r.record = lr
	r.ids[0].made, r.ids[1].made = false, false
	r.pairs, r.count = r.pairs[:0], 0
	return true
}

// references returns what the writer must tell readers about the log record: whether a text that begins
// with the byte 0 is a reference. It is true if references were written in the log record. It is also true
// for other log records while a key has a prediction with a reference. It is false if another text of the
// log record begins with the byte 0: the log record is then written without references.
func (r *references) references() bool { return !r.clash && (r.wrote || r.known > 0) }

// end drops the log record.
func (r *references) end() {
	r.record = plog.LogRecord{}
	clear(r.pairs[:cap(r.pairs)])
}

// Pair returns the text to write for a pair of the body: text itself, or a reference that
// represents it.
func (r *references) Pair(key, text string, isText bool) string {
	i := r.count
	if r.count++; i >= otelstef.BodyPairs {
		return text
	}
	if !isText {
		return text
	}
	r.pairs = append(r.pairs, bodyPair{key, text})
	return r.refer(&r.bodies, i, key, text, false)
}

// Attribute returns the text to write for an attribute: text itself, or a reference.
func (r *references) Attribute(i int, key, text string) string {
	return r.refer(&r.attributes, i, key, text, true)
}

func (r *references) refer(t *predictionTable, i int, key, text string, toBody bool) string {
	if len(text) < minReferred {
		if text != "" && text[0] == 0 {
			r.clash = true
		}
		return text
	}
	if text[0] == 0 {
		r.clash = true
		return text
	}
	if (!toBody || len(r.pairs) == 0) && !r.mayRepeat(text) && !t.hasReference(key) {
		return text
	}
	h := t.of(i, key)
	if h == nil {
		return text
	}
	if r.replaced+len(text) > maxReplaced {
		return text
	}
	h.seen++
	switch {
	case h.ref != "" && r.matches(h.ref, text):
		h.hits++
	case h.ref != "":
		if h.misses++; h.misses > someMisses+h.hits {
			t.removeReference(h)
			r.known--
		}
		return text
	case h.seen < h.next:
		return text
	default:
		h.next = 2 * h.seen
		ref := r.search(text, toBody)
		if ref == "" {
			return text
		}
		t.setReference(h, ref)
		r.known++
	}
	r.wrote = true
	r.replaced += len(text)
	return h.ref
}

// matches reports whether a reference stands for a text.
func (r *references) matches(ref, text string) bool {
	switch ref[:2] {
	case otelstef.ReferenceTrace:
		return string(r.id(0)) == text
	case otelstef.ReferenceSpan:
		return string(r.id(1)) == text
	case otelstef.ReferenceTime:
		r.time, _ = otelstef.AppendTime(r.time[:0], otelstef.TimeFormat(ref[2]), uint64(r.record.Timestamp()))
		return string(r.time) == text
	case otelstef.ReferenceClock:
		r.time, _ = otelstef.AppendClock(r.time[:0], otelstef.ClockFormat(ref[2:]), uint64(r.record.Timestamp()))
		return string(r.time) == text
	}
	return r.first(ref[2:]) == text
}

// first returns the first text of the body with a key, or "" if the body does not have the key.
func (r *references) first(key string) string {
	for i := range r.pairs {
		if p := &r.pairs[i]; p.key == key {
			return p.text
		}
	}
	return ""
}

// id returns the text of the trace id (i is 0) or of the span id (i is 1).
func (r *references) id(i int) []byte {
	x := &r.ids[i]
	if x.made {
		return x.text[:x.size]
	}
	x.made, x.size = true, 0
	if i == 0 {
		if id := r.record.TraceID(); id != (pcommon.TraceID{}) {
			x.size = hex.Encode(x.text[:], id[:])
		}
	} else if id := r.record.SpanID(); id != (pcommon.SpanID{}) {
		x.size = hex.Encode(x.text[:], id[:])
	}
	return x.text[:x.size]
}

// timesByLength are the formats of times by the lengths of their texts.
var timesByLength = [...]struct {
	length int
	format otelstef.TimeFormat
}{
	{20, otelstef.TimeSeconds}, {24, otelstef.TimeMilliseconds}, {27, otelstef.TimeMicroseconds},
	{30, otelstef.TimeNanoseconds}, {26, otelstef.TimeCommonLog},
}

// repeatLengths has a bit for each length of the text of an id or a time.
const repeatLengths uint64 = 1<<16 | 1<<32 | 1<<20 | 1<<24 | 1<<27 | 1<<30 | 1<<26

// mayRepeat reports whether a text is as long as an id or a time. If references can have
// formats, it also reports true for a text with the colons of a clock; see hasClock.
func (r *references) mayRepeat(text string) bool {
	if repeatLengths>>uint(min(len(text), 63))&1 != 0 {
		return true
	}
	return r.formats && len(text) >= len("Jan _2 15:04:05") && hasClock(text)
}

// hasClock reports whether a text of at least 15 bytes may be a time: it has two colons where
// one of the known layouts has the colons of hh:mm:ss.
func hasClock(text string) bool {
	const day, common = len("2006-01-02T15"), len("02/Jan/2006:15")
	if len(text) > common+3 && (text[day] == ':' && text[day+3] == ':' || text[common] == ':' && text[common+3] == ':') {
		return true
	}
	const syslog = len("Jan _2 15")
	return text[syslog] == ':' && text[syslog+3] == ':'
}

// search returns a reference to the field of the log record whose value is the text, such as its trace id. It
// returns "" if no field has this value.
func (r *references) search(text string, toBody bool) string {
	for _, ref := range [...]string{otelstef.ReferenceTrace, otelstef.ReferenceSpan} {
		if r.matches(ref, text) {
			return ref
		}
	}
	for _, x := range timesByLength {
		if len(text) == x.length && r.matches(otelstef.ReferenceTime+string(x.format), text) {
			return otelstef.ReferenceTime + string(x.format)
		}
	}
	if r.formats {
		format, at, ok := template.Clock(text, 0, uint64(r.record.Timestamp()))
		if ok && at.From == 0 && int(at.To) == len(text) {
			return otelstef.ReferenceClock + string(format)
		}
	}
	if !toBody {
		return ""
	}
	for _, p := range r.pairs {
		if p.text == text && len(p.key) <= maxPredictedKey && r.first(p.key) == text {
			return otelstef.ReferenceKey + p.key
		}
	}
	return ""
}
