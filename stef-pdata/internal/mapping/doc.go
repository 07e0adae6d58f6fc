// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package mapping contains what all converters between OTLP and STEF must share: the
// limits of an item, the checks of a record, the encoding of ids, the counts of data that a
// schema cannot represent (Losses), and the errors that report omitted items and records. The
// package uses the types of records, but neither pdata nor protobuf. Packages stefpdata and
// stefotlp use it and export its errors, its limits and Losses.
//
// spec: #otlp-mapping
package mapping
