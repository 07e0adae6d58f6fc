// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import "github.com/otelstef/stef/stef-go/rotate"

// Stats counts the items of an exporter to an endpoint. Each item of an export that
// has ended is in one of the first four.
type Stats struct {
	Delivered uint64 // acknowledged by the peer
	Omitted   uint64 // beyond the limits of STEF
	Rejected  uint64 // refused by the peer for good
	Failed    uint64 // of exports that returned an error

	ByOTLP     uint64 // of those delivered, by OTLP
	Retries    uint64 // how often a batch was sent again
	Streams    uint64 // opened
	Downgrades uint64 // from STEF to OTLP
}

// FileStats counts the items of an exporter to files, and the files.
type FileStats struct {
	Written uint64 // in a file, or in the unfinished frame
	Omitted uint64 // beyond the limits of STEF
	Failed  uint64 // of exports that returned an error
	Files   rotate.Stats
}
