// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package spec holds the contract as text: what STEF streams look like, the
// messages of the gRPC protocol and the schema of OpenTelemetry data.
//
// Programs embed it to print it, and tests read it to hold the code to it: the
// examples in the specification are run, and each comment in the sources that
// cites an anchor of it is checked. There is no code here to call.
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
