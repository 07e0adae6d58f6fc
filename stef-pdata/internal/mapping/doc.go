// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package mapping holds what every converter between OTLP and STEF must agree
// on: the limits of an item, the checks of a record, the encoding of ids, the
// losses of a schema, and the errors that report what was left out. It knows
// records, and neither pdata nor protobuf. Packages stefpdata and stefotlp
// stand on it and publish its errors, limits and losses.
//
// spec: #otlp-mapping
package mapping
