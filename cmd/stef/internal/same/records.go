// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package same

import (
	"crypto/sha256"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// addTraces hashes resource and scope as the context of spans.
func (s *Set) addTraces(td ptrace.Traces) error {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			frame := ptrace.NewTraces()
			resource := frame.ResourceSpans().AppendEmpty()
			resource.SetSchemaUrl(rs.SchemaUrl())
			rs.Resource().CopyTo(resource.Resource())
			s.sort(resource.Resource().Attributes())
			scope := resource.ScopeSpans().AppendEmpty()
			scope.SetSchemaUrl(ss.SchemaUrl())
			ss.Scope().CopyTo(scope.Scope())
			s.sort(scope.Scope().Attributes())
			context, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(frame)
			if err != nil {
				return err
			}
			for _, span := range ss.Spans().All() {
				if err := s.addSpan(sha256.Sum256(context), span); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *Set) addSpan(context id, span ptrace.Span) error {
	td := ptrace.NewTraces()
	x := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.CopyTo(x)
	s.sort(x.Attributes())
	for _, e := range x.Events().All() {
		s.sort(e.Attributes())
	}
	for _, l := range x.Links().All() {
		s.sort(l.Attributes())
	}
	b, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	if err != nil {
		return err
	}
	s.add(context, b)
	return nil
}

// addLogs hashes resource and scope as the context of log records.
func (s *Set) addLogs(ld plog.Logs) error {
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			frame := plog.NewLogs()
			resource := frame.ResourceLogs().AppendEmpty()
			resource.SetSchemaUrl(rl.SchemaUrl())
			rl.Resource().CopyTo(resource.Resource())
			s.sort(resource.Resource().Attributes())
			scope := resource.ScopeLogs().AppendEmpty()
			scope.SetSchemaUrl(sl.SchemaUrl())
			sl.Scope().CopyTo(scope.Scope())
			s.sort(scope.Scope().Attributes())
			context, err := (&plog.ProtoMarshaler{}).MarshalLogs(frame)
			if err != nil {
				return err
			}
			for _, rec := range sl.LogRecords().All() {
				if err := s.addLog(sha256.Sum256(context), rec); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *Set) addLog(context id, rec plog.LogRecord) error {
	ld := plog.NewLogs()
	x := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	rec.CopyTo(x)
	s.sort(x.Attributes())
	b, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
	if err != nil {
		return err
	}
	s.add(context, b)
	return nil
}
