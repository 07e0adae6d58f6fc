// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package spec holds the specification as text: the format of STEF streams, the messages
// of the gRPC protocol and the schema of OpenTelemetry data.
//
// Programs use this package to print the specification. Tests compare the code with the
// specification: they run its examples, and check each comment in the sources that cites
// one of its anchors. The package has no functions.
package spec

import _ "embed"

// Specification is the text of specification.md.
//
//go:embed specification.md
var Specification string

// DestinationProto is the text of destination.proto, the messages of STEF over
// gRPC.
//
//go:embed destination.proto
var DestinationProto string

// OTelSchema is the text of otel.stef, the schema with the roots Metrics, Spans
// and Logs.
//
//go:embed otel.stef
var OTelSchema string

// CompactSchema is the text of compact.stef, the fields that the compact form appends
// to the structs of otel.stef.
//
//go:embed compact.stef
var CompactSchema string
