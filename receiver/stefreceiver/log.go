// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/peer"
)

// logPeriod is the minimum time between two log lines of the same kind, such as the lines about
// refused clients or about streams that end with an error.
const logPeriod = time.Minute

// processStart is the origin of times that are stored as numbers. Such times are monotonic:
// setting the clock of the machine does not change them.
var processStart = time.Now()

// limitedLog limits log lines that clients cause, so that clients cannot fill the log.
type limitedLog struct {
	next    atomic.Int64 // time of the next line, in ns since processStart
	skipped atomic.Int64
}

// due reports whether a line may be logged now, and how many lines were skipped since
// the last logged line.
func (l *limitedLog) due() (skipped int64, ok bool) {
	now, next := int64(time.Since(processStart)), l.next.Load()
	if now < next || !l.next.CompareAndSwap(next, now+int64(logPeriod)) {
		l.skipped.Add(1)
		return 0, false
	}
	return l.skipped.Swap(0), true
}

func (c *core) logUnauthenticated(ctx context.Context, err error, protocol string, signal zap.Field) {
	if skipped, ok := c.denied.due(); ok {
		c.logger.Warn("A client was refused: the authenticator of this receiver does not accept its credentials. Compare auth and headers of the client with the authenticator.",
			clientField(ctx), zap.String("protocol", protocol), signal, zap.Error(err), zap.Int64("not_logged", skipped))
	}
}

// signalField returns a log field with the signal of a stream or request. Its key is also the
// attribute of metrics.
func signalField(signal string) zap.Field { return zap.String("signal", signal) }

func clientField(ctx context.Context) zap.Field {
	client := "unknown"
	if p, ok := peer.FromContext(ctx); ok {
		client = p.Addr.String()
	}
	return zap.String("client", client)
}

func (c *core) logLarge(ctx context.Context, signal string, err error) {
	if skipped, ok := c.large.due(); ok {
		c.logger.Warn("An OTLP request was refused: it is too large. Raise max_recv_msg_size_mib of this receiver, or lower the size of batches at the client (in exporters of the Collector: sending_queue::batch::max_size).",
			clientField(ctx), signalField(signal), zap.Error(err), zap.Int64("not_logged", skipped))
	}
}
