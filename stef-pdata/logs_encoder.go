// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import (
	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/internal/features"
	"github.com/otelstef/stef/stef-pdata/internal/items"
)

// LogsEncoder writes logs of pdata to a stream. It serves one stream and is not
// safe for use by several goroutines at once.
type LogsEncoder struct {
	encoder
	w   *otelstef.LogsWriter
	rec *otelstef.Logs

	write   items.Logs
	sorter  logSorter
	studied []plog.LogRecord // at most chunk log records; empty between batches
}

// NewLogsEncoder returns an encoder that writes to w. Nothing else may write to w.
// The default mode is Ordered. The mode Sorted sorts log records by resource, scope,
// event name, keys of attributes, and time. This makes streams smaller, but the order
// of arrival cannot be recovered, because log records with equal times are common.
// Attributes keep their order in both modes.
func NewLogsEncoder(w *otelstef.LogsWriter, options ...EncoderOption) *LogsEncoder {
	notNil(w == nil, "writer")
	config := applyOptions(encoderConfig{mode: Ordered}, options)
	e := &LogsEncoder{w: w, rec: w.Record()}
	e.init(config.mode, features.OfLogs(w.Fields()))
	e.write.Init(w.Dicts(), config.templates.use(w.Stats().Compression), e.features)
	e.write.Split.Always = w.Stats().Compression == stef.None
	e.write.Split.Small = config.templates == TemplatesOn
	return e
}

// Reset prepares the encoder for the next stream of its writer, which must have been
// reset before. The encoder writes the same bytes as a new encoder: it keeps memory, but no
// content. Losses counts from 0 again.
func (e *LogsEncoder) Reset() {
	e.reset(features.OfLogs(e.w.Fields()))
	e.write.Reset()
	e.sorter.reset()
}

// Encode writes all log records of ld and does not change ld. It does not flush the
// writer.
//
// Log records that exceed a limit are omitted and reported in ItemErrors; all other log
// records are written. Any other error comes from the writer, and neither the encoder nor
// the writer can continue after it.
func (e *LogsEncoder) Encode(ld plog.Logs) error {
	if e.begin() {
		e.write.Split.ForgetContainers() // new containers will get the same ids
	}
	e.write.Split.Batch(ld.LogRecordCount())
	err := e.encodeResources(ld.ResourceLogs())
	if e.mode == Sorted && err == nil {
		err = e.writeSorted()
	}
	e.write.Drop() // releases all references to ld
	clear(e.studied[:cap(e.studied)])
	e.studied = e.studied[:0]
	return e.end(err)
}

func (e *LogsEncoder) encodeResources(rls plog.ResourceLogsSlice) error {
	for i := range rls.Len() {
		rl := rls.At(i)
		scopes := rl.ScopeLogs()
		id, ok := e.enterResource(&e.write.Copier, i, rl.Resource(), rl.SchemaUrl(), scopes.Len(), func() int { return recordsIn(scopes) })
		if !ok {
			continue
		}
		e.sorter.resource = id
		if e.mode == Ordered {
			e.rec.SetResource(e.resources.Value(id))
		}
		if err := e.encodeScopes(scopes); err != nil {
			return err
		}
	}
	return nil
}

func (e *LogsEncoder) encodeScopes(sls plog.ScopeLogsSlice) error {
	for i := range sls.Len() {
		sl := sls.At(i)
		records := sl.LogRecords()
		id, ok := e.enterScope(&e.write.Copier, i, sl.Scope(), sl.SchemaUrl(), records.Len(), records.Len)
		if !ok {
			continue
		}
		e.sorter.scope = id
		if e.mode == Sorted {
			e.collect(records)
			continue
		}
		e.rec.SetScope(e.scopes.Value(id))
		if err := e.writeRecords(records); err != nil {
			return err
		}
	}
	return nil
}

// chunk is the number of log records that are examined before they are written. They stay in
// the processor cache in between. Templates are enabled or disabled after each chunk, so in a
// large batch they begin nearly as early as in many small batches.
const chunk = 512

// writeRecords writes log records in their order.
func (e *LogsEncoder) writeRecords(lrs plog.LogRecordSlice) error {
	for from := 0; from < lrs.Len(); from += chunk {
		to := min(from+chunk, lrs.Len())
		for i := from; i < to; i++ {
			e.studied = append(e.studied, lrs.At(i))
		}
		e.study(e.sorter.resource, e.sorter.scope)
		for i, lr := range e.studied {
			if err := e.writeRecord(lr, from+i, i); err != nil {
				return err
			}
		}
		e.studied = e.studied[:0]
	}
	return nil
}

// study decides how the log records in studied are written: whether observed times are
// differences, and whether bodies are split into templates.
func (e *LogsEncoder) study(resource, scope uint32) {
	e.write.Split.Begin()
	if e.features.ObservedDelta {
		var s items.ObservedSizes
		for _, lr := range e.studied {
			s.Add(lr)
		}
		e.write.AsDelta = s.DeltaIsSmaller()
	}
	if !e.write.Templates {
		return
	}
	t := e.write.Split.Policy(resource, scope, len(e.studied))
	for _, lr := range e.studied {
		e.write.Split.Add(lr, t)
	}
	e.write.Split.Decide(t)
}

// writeRecord writes log record i of a scope, or reports why it cannot be written. split is
// the index of its body in the splitter.
func (e *LogsEncoder) writeRecord(lr plog.LogRecord, i, split int) error {
	e.write.Begin()
	if err := e.write.Record(e.rec.Record(), lr, split); err != nil {
		e.rejectItem(i, err)
		return nil
	}
	e.w.SetReferences(e.write.References())
	return e.w.Write()
}

func recordsIn(sls plog.ScopeLogsSlice) int {
	n := 0
	for _, sl := range sls.All() {
		n += sl.LogRecords().Len()
	}
	return n
}
