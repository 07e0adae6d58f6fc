// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package stefpb contains the messages of STEF over gRPC as protobuf types.
// Package stefgrpc sends them. Programs that implement the protocol without
// stefgrpc can use them, too.
//
// The names are registered under the proto package otelstef.destination.v1, so
// that a program can link other implementations of the protocol, too. The package
// name is not visible on the wire.
package stefpb

//go:generate go -C ../../tools/protogen run . ../../stef-spec/destination.proto ../../stef-gogrpc/stefpb
