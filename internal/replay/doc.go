// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package replay sends recorded telemetry to an endpoint over OTLP or STEF, and
// receives telemetry over both protocols. The file tool and the demo use it.
//
//	s, err := replay.NewSTEFSender(conn, stef.Zstd)
//	p := &replay.Player{Send: s.Send, Pace: replay.Original}
//	counts, err := p.Play(ctx, sources...)
//	err = s.Close(ctx)
//
// A Player paces batches: as they were recorded, at a rate, or as fast as the
// endpoint accepts them. A Change replaces the ids of items and shifts their
// times. A recording that is sent again then has new ids and times, as the data
// of a real sender would.
//
// Register makes a gRPC server receive STEF streams and OTLP requests and pass
// their batches to a function.
package replay
