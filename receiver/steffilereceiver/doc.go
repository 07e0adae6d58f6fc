// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package steffilereceiver is a receiver of the OpenTelemetry Collector. It follows a
// folder of STEF files and passes their records to the pipeline. Such files are written
// by package rotate and by the command stef record. README.md describes the configuration.
//
//	folder -> files in the order of their names -> whole frames -> batches -> pipeline
//
// The main files, from the top of the package to the bottom:
//
//	factory.go, config.go  components and their configuration
//	follower.go            one pass after another over the folder, by a follower for each signal
//	finish.go              finishing a file that was delivered
//	file.go                reading the whole frames of a file
//	messages.go            reading a file of messages
//	deliver.go             passing a batch to the pipeline
//	checkpoints.go         checkpoints: how far each file was delivered
//	stored.go              checkpoints in a storage extension
//	sniff.go               detecting the signal of a file
//	meter.go, once_log.go  metrics and log lines
//
// The components of a configuration are independent of each other: each signal has one
// goroutine, which reads one frame after another and waits for the pipeline. So the
// goroutine reads no more than the pipeline accepts. A checkpoint is the position up to which a
// file was delivered. It is saved only after the pipeline has accepted everything before it.
//
// A frame is read only when it is completely in the file; rotate.Frames finds its end. A
// STEF reader cannot begin in the middle of a stream. So after a restart, a file that was
// partly delivered is decoded from its beginning, and the records before its checkpoint are
// not delivered again.
package steffilereceiver

//go:generate go tool -modfile=../../tools/components/go.mod mdatagen metadata.yaml
