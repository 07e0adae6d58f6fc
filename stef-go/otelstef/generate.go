// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

// Streams that announce no schema are in the published one, which is older
// than ours: hence -base.
//
//go:generate go run ../../cmd/stefc -out . -package otelstef -base Metrics=6,1,8,7,3,5,4,5,5,9,2,3,2,5,2 -base Spans=4,1,3,7,5,14,4,6,2 ../../stef-spec/otel.stef
