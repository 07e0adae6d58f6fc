// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package grpcstatus has the rules for statuses of gRPC that stefgrpc and the receiver share: which
// codes senders retry, after which delay, and how long the text may be.
package grpcstatus

import (
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Retried reports whether senders of OTLP retry because of the code alone. RESOURCE_EXHAUSTED is not
// among these codes: senders retry it only if the status has a retry delay (RetryInfo).
func Retried(code codes.Code) bool {
	switch code {
	case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss:
		return true
	}
	return false
}

// RetryInfo returns the retry delay of a status, and false if the status has none. A delay below 0
// counts as 0.
func RetryInfo(st *status.Status) (delay time.Duration, ok bool) {
	for _, detail := range st.Details() {
		if info, isInfo := detail.(*errdetails.RetryInfo); isInfo {
			return max(0, info.GetRetryDelay().AsDuration()), true
		}
	}
	return 0, false
}

// MaxText is the maximum size of the text of a status, and of its details. A status is sent in
// headers. Clients and proxies limit the size of headers, for example to 8 KiB in Java. If headers
// are too large, gRPC resets the call, and the client receives INTERNAL and drops data that it should
// send again. The headers contain the text percent-encoded, which can triple its size. If the status
// has details, they contain the text again, in base64, with the details. A detail may repeat the text,
// such as the BadRequest of the receiver.
const MaxText = 1 << 10

// Shorten truncates the text of a status to MaxText bytes. It replaces bytes that are not UTF-8,
// because gRPC omits the details of a status with such a text.
func Shorten(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= MaxText {
		return text
	}
	return strings.ToValidUTF8(text[:MaxText-len("…")], "") + "…"
}
