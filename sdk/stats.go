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

// OmittedError reports items that were left out, because they exceed a limit of STEF or because
// their metric has an unknown kind. All other items of the batch were exported. Items is the number
// of omitted items. Err is the reason why the first of these items was omitted; it wraps
// stef.ErrLimit if the item exceeds a limit.
type OmittedError = records.OmittedError

// Stats counts the items of an exporter to an endpoint. Each item of an export that has ended is in
// one of Delivered (acknowledged by the peer), Omitted (left out, see OmittedError), Rejected
// (permanently rejected by the peer) and Failed (not delivered; the export returned an error).
// ByOTLP is the part of Delivered that was sent by OTLP. Retries counts how often a batch was sent
// again, Streams counts the opened streams, and Downgrades counts the changes from STEF to OTLP.
// All are uint64.
type Stats = settings.Stats

// FileStats counts the items of an exporter to files, and the files. Written counts the items that
// were written to a file or to the unfinished frame. Omitted counts the items that were left out,
// see OmittedError. Failed counts the items that were not written; their export returned an error.
// All are uint64. Files is the rotate.Stats of the files.
type FileStats = settings.FileStats
