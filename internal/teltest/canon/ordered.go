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

// DiffOrderedMetrics merges want and got with MergeMetrics and compares the
// messages. It returns "" if the messages are equal; otherwise it shows the first
// item that differs.
func (o Options) DiffOrderedMetrics(want, got pmetric.Metrics) string {
	return diffOrdered(&metrics, o, o.MergeMetrics(want), o.MergeMetrics(got), (&pmetric.ProtoMarshaler{}).MarshalMetrics)
}

// DiffOrderedTraces is like DiffOrderedMetrics for traces.
func (o Options) DiffOrderedTraces(want, got ptrace.Traces) string {
	return diffOrdered(&traces, o, o.MergeTraces(want), o.MergeTraces(got), (&ptrace.ProtoMarshaler{}).MarshalTraces)
}

// DiffOrderedLogs is like DiffOrderedMetrics for logs.
func (o Options) DiffOrderedLogs(want, got plog.Logs) string {
	return diffOrdered(&logs, o, o.MergeLogs(want), o.MergeLogs(got), (&plog.ProtoMarshaler{}).MarshalLogs)
}

// diffOrdered compares the messages of merged batches.
func diffOrdered[B any, R resourced, S scoped, I any](x *tree[B, R, S, I], o Options, want, got B, marshal func(B) ([]byte, error)) string {
	wantBytes, err := marshal(want)
	if err != nil {
		return err.Error()
	}
	gotBytes, err := marshal(got)
	if err != nil {
		return err.Error()
	}
	return diffBytes(wantBytes, gotBytes,
		func(yield func([]byte) bool) { x.each(o, []B{want}, yield) },
		func(yield func([]byte) bool) { x.each(o, []B{got}, yield) })
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
