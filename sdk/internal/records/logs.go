// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"cmp"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// Logs writes log records to a stream, in their order.
type Logs struct {
	containers
	copier
	w   *otelstef.LogsWriter
	rec *otelstef.Logs

	id      [16]byte
	dst     *otelstef.Attributes
	at      int
	problem error
	walk    func(attribute.KeyValue) bool
}

// NewLogs returns an encoder that writes to w. Nothing else may write to w.
func NewLogs(w *otelstef.LogsWriter) *Logs {
	e := &Logs{w: w, rec: w.Record()}
	e.containers.init()
	e.dst = e.rec.Record().Attributes()
	e.walk = func(kv attribute.KeyValue) bool {
		e.problem = e.attribute(e.dst, e.at, &kv)
		e.at++
		return e.problem == nil && e.at < e.dst.Len()
	}
	return e
}

// Encode writes log records. An *OmittedError reports omitted records. After any other
// error, neither the encoder nor the writer can continue.
func (e *Logs) Encode(records []sdklog.Record) error {
	var bad omitted
	for i := range records {
		if err := e.write(&records[i]); errors.Is(err, stef.ErrLimit) {
			bad.add(1, err)
		} else if err != nil {
			return err
		}
	}
	return bad.err()
}

func (e *Logs) write(r *sdklog.Record) error {
	resource, scope := e.enterResource(r.Resource()), e.enterScope(r.InstrumentationScope())
	if err := cmp.Or(resource.err, scope.err); err != nil {
		return err
	}
	e.rec.SetResource(resource.value)
	e.rec.SetScope(scope.value)
	e.begin()
	if err := e.record(e.rec.Record(), r); err != nil {
		return fmt.Errorf("log record: %w", err)
	}
	return e.w.Write()
}

// record sets every field of dst.
//
// spec: #otlp-logs
func (e *Logs) record(dst *otelstef.LogRecord, r *sdklog.Record) error {
	dst.SetTime(unixNano(r.Timestamp()))
	dst.SetObservedTime(unixNano(r.ObservedTimestamp()))
	dst.SetSeverityNumber(severity(r.Severity()))
	text, name := r.SeverityText(), r.EventName()
	dst.SetSeverityText(text)
	dst.SetEventName(name)
	if id := r.TraceID(); id.IsValid() {
		e.id = id
		dst.SetTraceID(e.id[:])
	} else {
		dst.SetTraceID(nil)
	}
	if id := r.SpanID(); id.IsValid() {
		dst.SetSpanID(e.id[:copy(e.id[:], id[:])])
	} else {
		dst.SetSpanID(nil)
	}
	dst.SetFlags(uint64(r.TraceFlags()))
	dst.SetDroppedAttributesCount(clamp(r.DroppedAttributes()))
	if err := e.take(len(text) + len(name)); err != nil {
		return err
	}
	if err := e.body(dst.Body(), r.Body()); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	return e.recordAttributes(r)
}

func (e *Logs) recordAttributes(r *sdklog.Record) error {
	n := r.AttributesLen()
	if n|e.dst.Len() == 0 {
		return nil
	}
	if err := e.takePairs(n); err != nil {
		return err
	}
	e.dst.SetLen(n)
	if n == 0 {
		return nil
	}
	e.at, e.problem = 0, nil
	r.WalkAttributes(e.walk)
	if e.problem != nil {
		return e.problem
	}
	return e.take(0)
}

// severity returns the severity number of OTLP. The API uses the same numbers. Numbers
// that OTLP does not define become unspecified.
func severity(s log.Severity) uint64 {
	if s < log.SeverityTrace1 || s > log.SeverityFatal4 {
		return 0
	}
	return uint64(s)
}
