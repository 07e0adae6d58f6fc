// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefsdk

import (
	"github.com/otelstef/stef/sdk/internal/endpoint"
	"github.com/otelstef/stef/sdk/internal/records"
	"github.com/otelstef/stef/sdk/internal/settings"
)

// ErrShutdown is the error of an export of spans after Shutdown. Exports of metrics and
// logs return the errors of their SDKs.
var ErrShutdown = endpoint.ErrShutdown

// OmittedError reports items that exceed a limit of STEF. All other items of the
// batch were exported.
type OmittedError = records.OmittedError

// Stats counts the items of an exporter to an endpoint.
type Stats = settings.Stats

// FileStats counts the items of an exporter to files, and the files.
type FileStats = settings.FileStats
