// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import "github.com/otelstef/stef/stef-go/otelstef"

type logs = script[*otelstef.Logs]

func logsVectors() []vector {
	template := func(rec *otelstef.Logs, text string, params ...string) {
		t := rec.Record().Body().SetTemplate()
		t.SetTemplate(text)
		t.Params().SetLen(len(params))
		for i, p := range params {
			t.Params().Set(i, false, p)
		}
	}
	return []vector{
		logsVector("records", "log records with everything that is no body: times, severity, event name, trace, attributes.", nil, func(s *logs) {
			s.write(func(rec *otelstef.Logs) {
				setAttributes(rec.EditResource().Attributes(), "service.name", "shop")
				rec.EditScope().SetName("shop/log")
				r := rec.Record()
				r.SetTime(start)
				r.SetObservedDelta(250)
				r.SetSeverityNumber(9)
				r.SetSeverityText("INFO")
				r.SetEventName("cart.added")
				r.SetTraceID(traceID)
				r.SetSpanID(rootSpan)
				r.SetFlags(1)
				setAttributes(r.Attributes(), "item", "tea", "count", 2)
				r.SetDroppedAttributesCount(1)
			})
			s.write(func(rec *otelstef.Logs) {
				r := rec.Record()
				r.SetTime(0)
				r.UnsetObservedDelta()
				r.SetObservedTime(start + second)
				r.SetSeverityNumber(13)
				r.SetSeverityText("WARN")
				setAttributes(r.Attributes(), "item", "tea", "count", 3)
			})
			s.write(func(rec *otelstef.Logs) {
				r := rec.Record()
				r.SetTime(start + 2*second)
				r.SetObservedDelta(250)
				r.SetSeverityText("INFO")
				r.SetSpanID(leafSpan)
			})
		}),
		logsVector("bodies", "bodies: text, structured ones with dictionaries of their own, none.", nil, func(s *logs) {
			s.write(func(rec *otelstef.Logs) { rec.Record().Body().SetString("started") })
			s.write(func(rec *otelstef.Logs) {
				m := rec.Record().Body().SetValue().SetMap()
				m.SetLen(4)
				m.SetString(0, "msg", "started")
				m.SetBool(1, "ok", true)
				m.SetKey(2, "parts")
				parts := m.Value(2).SetArray()
				parts.SetLen(3)
				parts.At(0).SetInt64(-1)
				parts.At(1).SetFloat64(0.5)
				m.SetBytes(3, "raw", []byte{1, 2})
			})
			s.write(func(rec *otelstef.Logs) { rec.Record().Body().Value().Map().SetBool(1, "ok", false) })
			s.write(func(rec *otelstef.Logs) { rec.Record().Body().SetValue().SetString("started") })
			s.write(func(rec *otelstef.Logs) { rec.Record().Body().Reset() })
			s.write(func(rec *otelstef.Logs) { rec.Record().Body().SetString("") })
		}),
		logsVector("templates", "texts taken apart: only the parameters that change are sent.", nil, func(s *logs) {
			s.write(func(rec *otelstef.Logs) { template(rec, "user \x00 from \x00", "ann", "10.0.0.1") })
			s.write(func(rec *otelstef.Logs) { template(rec, "user \x00 from \x00", "bob", "10.0.0.1") })
			s.write(func(rec *otelstef.Logs) { template(rec, "closed \x00", "7") })
			s.write(func(rec *otelstef.Logs) { template(rec, "user \x00 from \x00", "ann", "10.0.0.1") })
			s.write(func(rec *otelstef.Logs) { rec.Record().Body().SetString("user ann") })
			s.write(func(rec *otelstef.Logs) { template(rec, "ready") })
		}),
		logsVector("zstd", "log records in a zstd stream.", options{withZstd}, func(s *logs) {
			for _, text := range []string{"connection from 10.0.0.1", "connection from 10.0.0.2", "connection from 10.0.0.1"} {
				s.write(func(rec *otelstef.Logs) { rec.Record().Body().SetString(text) })
			}
		}),
	}
}
