// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import "github.com/otelstef/stef/stef-gogrpc/stefpb"

// maxEnvelope is the maximum size of a message without its data: a tag and a
// length of up to five bytes before the data, and the end-of-chunk flag after it.
const maxEnvelope = 8

// split sends a chunk in messages of at most maxBytes. The last message has the
// end-of-chunk flag. split returns how many bytes of the chunk were sent. It reuses m
// for all messages and does not keep the chunk.
//
// spec: #grpc-bytes
func split(chunk []byte, maxBytes int, m *stefpb.STEFClientMessage, send func(any) error) (n int, err error) {
	most := maxBytes - maxEnvelope
	for n < len(chunk) && err == nil {
		end := min(n+most, len(chunk))
		m.StefBytes, m.IsEndOfChunk = chunk[n:end], end == len(chunk)
		if err = send(m); err == nil {
			n = end
		}
	}
	m.StefBytes = nil
	return n, err
}
