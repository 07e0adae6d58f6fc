// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefgrpc

import "github.com/otelstef/stef/stef-gogrpc/internal/wire"

// IDRange is a range of record ids, including From and To.
type IDRange = wire.IDRange

// Response is what a server reports about the records it received. All records up
// to the id Acked are accepted or rejected. Rejected has the ids of the records that can never
// be accepted.
type Response = wire.Response
