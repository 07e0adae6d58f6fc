// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/mapping"
)

// LogsEncoder writes logs of pdata to a stream. It serves one stream and is not
// safe for use by several goroutines at once.
type LogsEncoder struct {
	w    *otelstef.LogsWriter
	rec  *otelstef.Logs
	mode Mode
	logWriter
	losses Losses

	resources resourcePool
	scopes    scopePool
	sorter    logSorter

	at       mapping.Place
	rejected ItemErrors
}

// NewLogsEncoder returns an encoder that writes to w, which nothing else may
// write to. The default mode is Ordered. The mode Sorted puts log records in the
// order of resource, scope, event name, keys of attributes, and time. That makes
// streams smaller, but the order of arrival cannot be had back: log records of
// one time are common. Attributes stay in their order in both modes.
func NewLogsEncoder(w *otelstef.LogsWriter, options ...EncoderOption) *LogsEncoder {
	config := encoderConfig{mode: Ordered}
	for _, option := range options {
		option(&config)
	}
	e := &LogsEncoder{w: w, rec: w.Record(), mode: config.mode}
	e.keyDict, e.textDict = w.Dicts().AttributeKey, w.Dicts().AnyValueString
	e.kept = features.OfLogs(w.Fields())
	e.templates = e.kept.Templates && config.templates.use(w.Stats().Compression)
	e.resources.refs = e.kept.EntityRefs
	return e
}

// Losses returns what the schema of the stream could not carry so far.
func (e *LogsEncoder) Losses() Losses { return e.losses }

// Encode writes all log records of ld, which it does not change. It does not
// flush the writer.
//
// Log records that exceed a limit are left out and reported in ItemErrors,
// while the others are written. Any other error is that of the writer, and
// neither can go on after it.
func (e *LogsEncoder) Encode(ld plog.Logs) error {
	e.rejected = nil
	e.trim()
	err := e.encodeResources(ld.ResourceLogs())
	if e.mode == Sorted && err == nil {
		err = e.writeSorted()
	}
	e.split.begin() // keeps nothing of ld
	if err != nil {
		return err
	}
	if len(e.rejected) > 0 {
		return e.rejected
	}
	return nil
}

// trim empties pools that have grown too large.
func (e *LogsEncoder) trim() {
	if e.resources.size() > maxContainers || e.scopes.size() > maxContainers {
		e.resources.reset()
		e.scopes.reset()
		clear(e.split.trials) // their numbers will be those of others
	}
}

func (e *LogsEncoder) encodeResources(rls plog.ResourceLogsSlice) error {
	for r := range rls.Len() {
		rl := rls.At(r)
		e.at = mapping.Place{Offset: -1, Resource: r, Scope: -1, Metric: -1, Item: -1}
		if rl.ScopeLogs().Len() == 0 {
			e.losses.EmptyContainers++
			continue
		}
		id, err := e.resources.find(&e.copier, rl.Resource(), rl.SchemaUrl())
		if err != nil {
			e.reject("resource.", err, recordsIn(rl.ScopeLogs()))
			continue
		}
		if !e.kept.EntityRefs {
			e.losses.EntityRefs += countEntityRefs(rl.Resource())
		}
		e.sorter.resource = id
		if e.mode == Ordered {
			e.rec.SetResource(e.resources.entries[id].value)
		}
		if err := e.encodeScopes(rl.ScopeLogs()); err != nil {
			return err
		}
	}
	return nil
}

func (e *LogsEncoder) encodeScopes(sls plog.ScopeLogsSlice) error {
	for s := range sls.Len() {
		sl := sls.At(s)
		e.at.Scope, e.at.Item = s, -1
		if sl.LogRecords().Len() == 0 {
			e.losses.EmptyContainers++
			continue
		}
		id, err := e.scopes.find(&e.copier, sl.Scope(), sl.SchemaUrl())
		if err != nil {
			e.reject("scope.", err, sl.LogRecords().Len())
			continue
		}
		e.sorter.scope = id
		if e.mode == Sorted {
			e.collect(sl.LogRecords())
			continue
		}
		e.rec.SetScope(e.scopes.entries[id].value)
		if err := e.writeRecords(sl.LogRecords()); err != nil {
			return err
		}
	}
	return nil
}

// chunk is how many log records are looked at before they are written. They
// stay in the cache of the processor in between.
const chunk = 512

// writeRecords writes log records in their order.
func (e *LogsEncoder) writeRecords(lrs plog.LogRecordSlice) error {
	for from := 0; from < lrs.Len(); from += chunk {
		to := min(from+chunk, lrs.Len())
		e.split.begin()
		e.study(lrs, from, to)
		for i := from; i < to; i++ {
			if err := e.write(lrs.At(i), i, i-from); err != nil {
				return err
			}
		}
	}
	return nil
}

// study decides how the log records from one to another are written.
func (e *LogsEncoder) study(lrs plog.LogRecordSlice, from, to int) {
	if e.kept.ObservedDelta {
		var s observedSizes
		for i := from; i < to; i++ {
			s.add(lrs.At(i))
		}
		e.asDelta = s.deltaIsSmaller()
	}
	if !e.templates {
		return
	}
	t := e.split.of(e.sorter.resource, e.sorter.scope)
	for i := from; i < to; i++ {
		e.split.add(lrs.At(i).Body(), t)
	}
	e.split.decide(t)
}

// write writes log record i of a scope, or notes that it cannot. split is its
// number in the splitter.
func (e *LogsEncoder) write(lr plog.LogRecord, i, split int) error {
	e.Begin()
	if err := e.record(e.rec.Record(), lr, split); err != nil {
		e.at.Item = i
		e.reject("", err, 1)
		return nil
	}
	return e.w.Write()
}

// reject notes that n log records where the encoder is are not written.
func (e *LogsEncoder) reject(prefix string, err error, n int) {
	e.rejected = mapping.AddItems(e.rejected, e.at, prefix, err, n)
}

func recordsIn(sls plog.ScopeLogsSlice) int {
	n := 0
	for _, sl := range sls.All() {
		n += sl.LogRecords().Len()
	}
	return n
}
