// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/collector/receiver"
	"go.uber.org/zap"

	stef "github.com/otelstef/stef/stef-go"

	"github.com/otelstef/stef/receiver/stefreceiver/internal/metadata"
)

// core is shared by the streams and requests of all signals: the configuration,
// the limits, and the state of the shutdown.
type core struct {
	config    *Config
	logger    *zap.Logger
	telemetry *metadata.TelemetryBuilder

	clients clientTable
	// admission bounds decoded telemetry, in bytes of OTLP.
	admission fairSemaphore
	// decoding limits how many batches are decoded at the same time. Decoding is
	// CPU-bound and can produce much data from few bytes, so more concurrency
	// would use more memory and would not be faster.
	decoding       fairSemaphore
	streamThrottle *throttle
	slowed         atomic.Int64 // refused streams that wait, see slowDown
	// decompression is for OTLP requests. Streams of STEF are decompressed by their readers.
	decompression *decompression
	memory        streamMemory
	releaser      *releaser
	broken        limitedLog // logs streams that cannot be decoded
	denied        limitedLog // logs clients whose credentials are refused
	large         limitedLog // logs requests that gRPC refuses because of their size

	// stopping is closed at the start of the shutdown.
	stopping chan struct{}
	// hardCtx ends when the deadline of the shutdown has passed.
	hardCtx  context.Context
	hardStop context.CancelCauseFunc
}

func newCore(config *Config, settings receiver.Settings) (*core, error) {
	telemetry, err := metadata.NewTelemetryBuilder(settings.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	lastCheap := new(atomic.Int64)
	c := &core{
		config:         config,
		logger:         settings.Logger,
		telemetry:      telemetry,
		clients:        clientTable{byAddress: map[string]*clientState{}},
		admission:      newFairSemaphore(int64(config.Admission.RequestLimitMiB)*mib, int64(config.Admission.WaitingLimitMiB)*mib),
		decoding:       newFairSemaphore(maxConcurrentDecoders(), math.MaxInt64),
		streamThrottle: newThrottle(lastCheap),
		decompression:  newDecompression(config.maxMessage(), newThrottle(lastCheap), settings.Logger),
		memory: streamMemory{
			limit:   config.streamMemory(),
			streams: map[*streamUsage]struct{}{},
		},
		releaser: newReleaser(),
		stopping: make(chan struct{}),
	}
	c.hardCtx, c.hardStop = context.WithCancelCause(context.Background())
	return c, nil
}

func maxConcurrentDecoders() int64 { return int64(max(4, 2*runtime.GOMAXPROCS(0))) }

func (c *core) ending() bool {
	select {
	case <-c.stopping:
		return true
	default:
		return false
	}
}

// readerOptions adds the configured limits to the options of a stream. The limit
// of dictionaries in the options does not change.
func (c *core) readerOptions(options []stef.ReaderOption) []stef.ReaderOption {
	return append(slices.Clip(options), stef.WithLimits(stef.Limits{
		FrameBytes:  c.config.Limits.MaxFrameMiB * mib,
		RecordBytes: c.config.Limits.MaxRecordAllocMiB * mib,
	}))
}

func (c *core) maxItems() int {
	if n := c.config.MaxBatchItems; n > 0 {
		return n
	}
	return math.MaxInt
}

var errShutdownTimeout = errors.New("the receiver shuts down and shutdown_timeout is over")

// detachContext returns a context with the values of ctx that does not end with ctx. It
// ends when the deadline of the shutdown has passed.
func (c *core) detachContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(c.hardCtx, func() { cancel(errShutdownTimeout) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// recoverPanic converts a panic into an error. Functions that call the pipeline or a decoder must defer
// it. Decoders read untrusted bytes.
func (c *core) recoverPanic(m *meter, what string, err *error) {
	value := recover()
	if value == nil {
		return
	}
	m.panicked()
	c.logger.Error("Panic while data was received, the data is rejected",
		signalField(m.name), zap.String("in", what), zap.Any("panic", value), zap.ByteString("stack", debug.Stack()))
	*err = panicked(what, value)
}
