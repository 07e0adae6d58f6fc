// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package replay sends recorded telemetry to an endpoint, over OTLP or STEF, and
// receives what others send. The file tool and the demo use it.
//
//	s, err := replay.NewSTEFSender(conn, stef.Zstd)
//	p := &replay.Player{Send: s.Send, Pace: replay.Original}
//	counts, err := p.Play(ctx, sources...)
//	err = s.Close(ctx)
//
// A Player paces batches: as they were recorded, at a rate, or as fast as the
// endpoint takes them. A Change gives items new ids and shifts their times, so
// that a recording that is sent again does not repeat ids and times, which no
// sender does.
//
// Register makes a gRPC server receive STEF streams and OTLP requests, and pass
// their batches to a function.
package replay
