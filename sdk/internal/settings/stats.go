// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import "github.com/otelstef/stef/stef-go/rotate"

// Stats counts the items of an exporter to an endpoint. Each item of an export that has
// ended is counted in one of the first four fields.
type Stats struct {
	Delivered uint64 // acknowledged by the peer
	Omitted   uint64 // left out: over a limit of STEF, or metrics of an unknown kind
	Rejected  uint64 // permanently rejected by the peer
	Failed    uint64 // not delivered; the export returned an error

	ByOTLP     uint64 // part of Delivered: sent by OTLP
	Retries    uint64 // how often a batch was sent again
	Streams    uint64 // opened streams
	Downgrades uint64 // changes from STEF to OTLP
}

// FileStats counts the items of an exporter to files, and the files.
type FileStats struct {
	Written uint64 // written to a file or to the unfinished frame
	Omitted uint64 // left out: over a limit of STEF, or metrics of an unknown kind
	Failed  uint64 // not written; the export returned an error
	Files   rotate.Stats
}
