// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package steffilereceiver is a receiver of the OpenTelemetry Collector. It follows a
// folder of STEF files, such as package rotate and stef record write, and passes their
// records to the pipeline. README.md describes its configuration.
//
//	folder -> files in the order of their names -> whole frames -> batches -> pipeline
//
// The files, from the top of the package to the bottom:
//
//	factory.go, config.go  components and their configuration
//	follower.go            one pass after another over the folder
//	finish.go              finishing a file that was delivered
//	file.go                reading the whole frames of a file
//	deliver.go             passing a batch to the pipeline
//	places.go              how far each file was delivered, in a storage extension
//	sniff.go               detecting the signal of a file
//
// The components of a configuration are independent of each other: each signal has one
// goroutine, which reads one frame after another and waits for the pipeline. So it
// reads no more than the pipeline accepts, and it saves a place only after the pipeline
// has accepted everything before it.
//
// A frame is read only when all of it is in the file: rotate.Frames finds its end. A
// STEF reader cannot begin in the middle of a stream, so a file that was delivered in
// part before a restart is decoded from its beginning, without delivering the records
// before its place.
package steffilereceiver

//go:generate go tool -modfile=../../tools/components/go.mod mdatagen metadata.yaml
