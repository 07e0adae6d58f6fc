// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"fmt"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"google.golang.org/grpc/codes"

	"github.com/otelstef/stef/internal/streamerr"
	stefgrpc "github.com/otelstef/stef/stef-gogrpc"
)

// retryDecision is the consequence of a failure for the batch.
type retryDecision struct {
	retry bool
	delay time.Duration // requested by the peer
	code  codes.Code
}

// alsoRetried says which answers are retried although the table of OTLP calls them permanent.
type alsoRetried struct {
	exhausted   bool // for peers that send a temporary RESOURCE_EXHAUSTED without RetryInfo
	credentials bool // for tokens that are wrong for some time
}

func (c *StefConfig) alsoRetried() alsoRetried {
	return alsoRetried{exhausted: c.RetryResourceExhausted, credentials: c.RetryRefusedCredentials}
}

func (a alsoRetried) has(code codes.Code) bool {
	return a.exhausted && code == codes.ResourceExhausted || a.credentials && refusesCredentials(code)
}

// refusesCredentials reports whether a code says that the credentials are missing, wrong, or
// not sufficient.
func refusesCredentials(code codes.Code) bool {
	return code == codes.Unauthenticated || code == codes.PermissionDenied
}

func decideRetry(err error, also alsoRetried) retryDecision {
	e := stefgrpc.FromStatus(err)
	return retryDecision{
		retry: e.Retryable() || also.has(e.Code),
		delay: e.RetryDelay,
		code:  e.Code,
	}
}

// decideStreamRetry returns the retry decision for the batches of a stream that ended. It also
// retries the batches if the reason concerns only the stream, as streamerr.Retryable says.
func decideStreamRetry(err error, also alsoRetried) retryDecision {
	v := decideRetry(err, also)
	v.retry = v.retry || streamerr.Retryable(err)
	return v
}

type failure struct {
	retryDecision
	// reason is why the items are dropped, if they must not be sent again. It is ""
	// if they were already counted.
	reason string
	err    error
	byOTLP bool // an OTLP request failed
	// delivered is the number of items that were delivered and counted before the failure. It is 0 if the
	// batch may be sent again.
	delivered int
}

// permanent returns the error of a batch that must not be sent again.
func (f *failure) permanent(c *Config) error { return consumererror.NewPermanent(c.explain(f.err)) }

// codeName returns the name that OTLP and gRPC use for a code.
func codeName(code codes.Code) string {
	if int(code) < len(codeNames) {
		return codeNames[code]
	}
	return fmt.Sprintf("CODE_%d", uint32(code))
}

var codeNames = [...]string{
	codes.OK:                 "OK",
	codes.Canceled:           "CANCELLED",
	codes.Unknown:            "UNKNOWN",
	codes.InvalidArgument:    "INVALID_ARGUMENT",
	codes.DeadlineExceeded:   "DEADLINE_EXCEEDED",
	codes.NotFound:           "NOT_FOUND",
	codes.AlreadyExists:      "ALREADY_EXISTS",
	codes.PermissionDenied:   "PERMISSION_DENIED",
	codes.ResourceExhausted:  "RESOURCE_EXHAUSTED",
	codes.FailedPrecondition: "FAILED_PRECONDITION",
	codes.Aborted:            "ABORTED",
	codes.OutOfRange:         "OUT_OF_RANGE",
	codes.Unimplemented:      "UNIMPLEMENTED",
	codes.Internal:           "INTERNAL",
	codes.Unavailable:        "UNAVAILABLE",
	codes.DataLoss:           "DATA_LOSS",
	codes.Unauthenticated:    "UNAUTHENTICATED",
}
