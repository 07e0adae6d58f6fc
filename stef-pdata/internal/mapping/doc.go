// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package mapping contains what all converters between OTLP and STEF must share: the
// limits of an item, the checks of a record, the encoding of ids, the losses of a
// schema, and the errors that report omitted items and records. It knows records, but
// neither pdata nor protobuf. Packages stefpdata and stefotlp use it and export its
// errors, limits and losses.
//
// spec: #otlp-mapping
package mapping
