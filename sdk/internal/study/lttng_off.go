// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && (!lttng || !cgo)

package study

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/trace"
)

var errNoLTTng = errors.New("built without LTTng: install liblttng-ust-dev and lttng-tools, and build with -tags lttng")

// HasLTTng returns an error if this program was built without LTTng.
func HasLTTng() error { return errNoLTTng }

func logLine(context.Context, trace.Tracer, int) time.Duration { return 0 }

// StartSession returns an error: there is no LTTng.
func StartSession(string, string) (stop func() (lost int, err error), err error) {
	return nil, errNoLTTng
}
