// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package enginetest tests the encoding extension inside the components that
// use it: the Kafka exporter and receiver over a broker, the file exporter,
// and the S3 exporter and receiver. It has only tests. It is a module of its own, so that the
// other modules do not need the dependencies of these components.
package enginetest
