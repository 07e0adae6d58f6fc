// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef

// -base is the schema of streams that announce no schema. It never changes, even when
// the schema grows. -form names the file with the fields that the compact form adds.
// -ignore omits the warnings about the fields named String, whose getter is Str.
//
// spec: #no-schema
//
//go:generate go run ../../cmd/stefc -out . -package otelstef -header header.txt -ignore Str() -base Metrics=6,1,8,7,3,5,4,5,5,9,2,3,2,5,2 -base Spans=4,1,3,7,5,14,4,6,2 -base Logs=4,1,4,7,4,5,12,3,7,2 -form ../../stef-spec/compact.stef ../../stef-spec/otel.stef
