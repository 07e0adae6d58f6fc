// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package canon

import (
	"bytes"
	"fmt"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// DiffOrderedMetrics merges both with MergeMetrics and compares the messages.
// It returns "" if they are equal; otherwise it shows the first item that
// differs.
func (o Options) DiffOrderedMetrics(want, got pmetric.Metrics) string {
	w, g := o.MergeMetrics(want), o.MergeMetrics(got)
	var m pmetric.ProtoMarshaler
	wantBytes, err := m.MarshalMetrics(w)
	if err != nil {
		return err.Error()
	}
	gotBytes, err := m.MarshalMetrics(g)
	if err != nil {
		return err.Error()
	}
	return diffBytes(wantBytes, gotBytes,
		func(yield func([]byte) bool) { o.eachPoint([]pmetric.Metrics{w}, yield) },
		func(yield func([]byte) bool) { o.eachPoint([]pmetric.Metrics{g}, yield) })
}

// DiffOrderedTraces is like DiffOrderedMetrics for traces.
func (o Options) DiffOrderedTraces(want, got ptrace.Traces) string {
	w, g := o.MergeTraces(want), o.MergeTraces(got)
	var m ptrace.ProtoMarshaler
	wantBytes, err := m.MarshalTraces(w)
	if err != nil {
		return err.Error()
	}
	gotBytes, err := m.MarshalTraces(g)
	if err != nil {
		return err.Error()
	}
	return diffBytes(wantBytes, gotBytes,
		func(yield func([]byte) bool) { o.eachSpan([]ptrace.Traces{w}, yield) },
		func(yield func([]byte) bool) { o.eachSpan([]ptrace.Traces{g}, yield) })
}

// DiffOrderedLogs is like DiffOrderedMetrics for logs.
func (o Options) DiffOrderedLogs(want, got plog.Logs) string {
	w, g := o.MergeLogs(want), o.MergeLogs(got)
	var m plog.ProtoMarshaler
	wantBytes, err := m.MarshalLogs(w)
	if err != nil {
		return err.Error()
	}
	gotBytes, err := m.MarshalLogs(g)
	if err != nil {
		return err.Error()
	}
	return diffBytes(wantBytes, gotBytes,
		func(yield func([]byte) bool) { o.eachRecord([]plog.Logs{w}, yield) },
		func(yield func([]byte) bool) { o.eachRecord([]plog.Logs{g}, yield) })
}

func diffBytes(want, got []byte, wantEach, gotEach func(func([]byte) bool)) string {
	if bytes.Equal(want, got) {
		return ""
	}
	var wantTexts []string
	wantEach(func(text []byte) bool {
		wantTexts = append(wantTexts, string(text))
		return true
	})
	i, diff := 0, ""
	gotEach(func(text []byte) bool {
		if i == len(wantTexts) {
			diff = fmt.Sprintf("item %d is one too many:\n%s", i+1, lineDiff("", string(text)))
		} else if wantTexts[i] != string(text) {
			diff = fmt.Sprintf("item %d differs:\n%s", i+1, lineDiff(wantTexts[i], string(text)))
		}
		i++
		return diff == ""
	})
	switch {
	case diff != "":
		return diff
	case i < len(wantTexts):
		return fmt.Sprintf("item %d is missing, and all behind it:\n%s", i+1, lineDiff(wantTexts[i], ""))
	}
	return fmt.Sprintf("the items are equal, the messages of %d and %d bytes differ from byte %d on", len(want), len(got), commonPrefix(want, got))
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
