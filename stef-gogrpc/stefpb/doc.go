// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefpb has the messages of STEF over gRPC as protobuf types, as
// package stefgrpc sends them, and for programs that speak the protocol without
// it.
//
// The names are registered under the proto package otelstef.destination.v1,
// which does not show on the wire, so that a program can link other
// implementations of the protocol besides.
package stefpb

//go:generate go -C ../../tools/protogen run . ../../stef-spec/destination.proto ../../stef-gogrpc/stefpb
