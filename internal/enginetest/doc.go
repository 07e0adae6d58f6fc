// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package enginetest tests the encoding extension inside the components that
// carry it: the Kafka exporter and receiver over a broker, the file exporter,
// and the S3 exporter. It has only tests, in a module of its own because of
// what these components depend on.
package enginetest
