// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/otelstef/stef/stef-go/dynamic"
)

// Choices of the oneofs of log records.
const (
	choiceString   = 1
	choiceInt64    = 3
	choiceFloat64  = 4
	choiceArray    = 5
	choiceBodyMap  = 6
	choiceValue    = 2
	choiceTemplate = 3
)

// referenceRules are the rules for references of one log record.
//
// spec: #compact-references
type referenceRules struct {
	log     view
	formats bool            // the stream has the field Formats
	pairs   []*dynamic.Pair // pairs of the body
	total   int
}

// references replaces the references of a log record by the texts that they stand for. sent is
// the value of Refers. formats says whether the stream has the field Formats.
func (s *logsRules) references(log view, sent, formats bool) error {
	x := referenceRules{log: log, formats: formats}
	body := dynamic.Clone(log.get("Body")).(*dynamic.Oneof)
	attributes := dynamic.Clone(log.get("Attributes")).(*dynamic.Multimap)
	log.set("Body", body)
	log.set("Attributes", attributes)
	if sent {
		if body.Choice == choiceValue {
			x.list(body.Value.(*dynamic.Oneof))
		}
		for _, p := range x.pairs {
			x.value(p.Value.(*dynamic.Oneof), "")
		}
		for i := range attributes.Pairs {
			x.value(attributes.Pairs[i].Value.(*dynamic.Oneof), "k")
		}
	}
	if body.Choice == choiceTemplate {
		params := body.Value.(*dynamic.Struct).Fields[1].(*dynamic.Multimap)
		for i, p := range params.Pairs {
			if text, ok := x.text(p.Value.(string), "a"); ok && p.Key.(bool) {
				params.Pairs[i].Value = text
				x.total += len(text)
			}
		}
	}
	if x.total > 1<<20 {
		return fmt.Errorf("%w: references stand for %d bytes", errRule, x.total)
	}
	return nil
}

// list lists the pairs of the body. A pair precedes the pairs in its value.
func (x *referenceRules) list(v *dynamic.Oneof) {
	if v.Choice != choiceBodyMap {
		return
	}
	pairs := v.Value.(*dynamic.Multimap).Pairs
	for i := range pairs {
		if len(x.pairs) == 256 {
			return
		}
		x.pairs = append(x.pairs, &pairs[i])
		x.list(pairs[i].Value.(*dynamic.Oneof))
	}
}

func (x *referenceRules) value(v *dynamic.Oneof, also string) {
	if v.Choice != choiceString {
		return
	}
	if text, ok := x.text(v.Value.(string), also); ok {
		v.Value = text
		x.total += len(text)
	}
}

// text returns the text that a reference stands for. also is a letter that is valid in addition
// to those of ids and times.
func (x *referenceRules) text(ref, also string) (string, bool) {
	if len(ref) < 2 || ref[0] != 0 {
		return "", false
	}
	switch letter, rest := ref[1:2], ref[2:]; {
	case ref == "\x00t":
		id := fmt.Sprintf("%x", x.log.get("TraceID"))
		return id, id != ""
	case ref == "\x00s":
		id := fmt.Sprintf("%x", x.log.get("SpanID"))
		return id, id != ""
	case letter == "T" && len(rest) == 1:
		return timeText(x.log.number("Time"), rest)
	case letter == "L" && len(rest) == 4 && x.formats:
		return clockText(x.log.number("Time"), rest)
	case letter == "d" && also == "a" && len(rest) == 2 && x.formats:
		pairs := x.log.get("Attributes").(*dynamic.Multimap).Pairs
		if int(rest[0]) < len(pairs) {
			if v := pairs[rest[0]].Value.(*dynamic.Oneof); v.Choice == choiceFloat64 {
				return decimalText(v.Value.(float64), rest[1])
			}
		}
	case letter == "k" && also == "k":
		for _, p := range x.pairs {
			if v := p.Value.(*dynamic.Oneof); p.Key == rest && v.Choice == choiceString {
				return v.Value.(string), true
			}
		}
	case letter == "a" && also == "a" && len(rest) == 1:
		pairs := x.log.get("Attributes").(*dynamic.Multimap).Pairs
		if int(rest[0]) >= len(pairs) {
			return "", false
		}
		v := pairs[rest[0]].Value.(*dynamic.Oneof)
		if v.Choice == choiceArray && len(v.Value.(*dynamic.Array).Elems) == 1 {
			v = v.Value.(*dynamic.Array).Elems[0].(*dynamic.Oneof)
		}
		switch v.Choice {
		case choiceString:
			return v.Value.(string), true
		case choiceInt64:
			return fmt.Sprint(v.Value), true
		}
	}
	return "", false
}

func timeText(unixNano uint64, format string) (string, bool) {
	layouts := map[string]string{"0": "", "3": ".000", "6": ".000000", "9": ".000000000"}
	at := time.Unix(int64(unixNano/1e9), int64(unixNano%1e9)).UTC()
	if format == "C" {
		return at.Format("02/Jan/2006:15:04:05 +0000"), true
	}
	decimals, ok := layouts[format]
	return at.Format(strings.Replace("2006-01-02T15:04:05Z", "Z", decimals+"Z", 1)), ok
}

// clockText returns Time in a format of four bytes.
func clockText(unixNano uint64, format string) (string, bool) {
	layout, ok := map[byte]string{
		'T': "2006-01-02T15:04:05?", ' ': "2006-01-02 15:04:05?", '/': "2006/01/02 15:04:05?",
		'C': "02/Jan/2006:15:04:05?", 'J': "Jan _2 15:04:05?", 'A': "Mon Jan 02 15:04:05? 2006",
	}[format[0]]
	zone, known := map[byte]string{'0': "", 'Z': "Z", '+': "-0700", ':': "-07:00", ' ': " -0700"}[format[2]]
	quarters := int64(format[3]) - 64
	if !ok || !known || quarters < -56 || quarters > 56 {
		return "", false
	}
	nanos := fmt.Sprintf("%09d", unixNano%1e9)
	decimals := ""
	switch c := format[1]; {
	case c == '0':
	case c >= '1' && c <= '9':
		decimals = "." + nanos[:c-'0']
	case c >= 'a' && c <= 'i':
		decimals = "," + nanos[:c-'a'+1]
	default:
		return "", false
	}
	clock := new(big.Int).SetUint64(unixNano)
	if clock.Add(clock, big.NewInt(quarters*900*1e9)); !clock.IsUint64() {
		return "", false
	}
	at := time.Unix(int64(unixNano/1e9), 0).In(time.FixedZone("", int(quarters)*900))
	return strings.Replace(at.Format(layout), "?", decimals, 1) + at.Format(zone), true
}

// decimalText returns a double as its shortest decimal text that has at least as many decimals as
// digit names.
func decimalText(f float64, digit byte) (string, bool) {
	if a := math.Abs(f); digit < '0' || digit > '9' || math.IsNaN(f) || a != 0 && (a < math.Pow(2, -20) || a >= math.Pow(2, 53)) {
		return "", false
	}
	whole, decimals, _ := strings.Cut(strconv.FormatFloat(f, 'f', -1, 64), ".")
	for len(decimals) < int(digit-'0') {
		decimals += "0"
	}
	if decimals == "" {
		return whole, true
	}
	return whole + "." + decimals, true
}
