// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import "github.com/otelstef/stef/stef-gogrpc/internal/wire"

// IDRange is a range of record ids, From and To included.
type IDRange = wire.IDRange

// Response is what a server says about the records it was sent: Acked is the id
// up to which all records are accepted or rejected, Rejected are the ids of
// records that can never be accepted.
type Response = wire.Response
