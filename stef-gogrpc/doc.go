// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefgrpc carries STEF streams over gRPC.
package stefgrpc
