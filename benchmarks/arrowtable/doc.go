// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package arrowtable holds telemetry as Arrow tables: resources, scopes,
// metrics, points and so on, each with the columns that it has. As an IPC stream
// has one schema, the tables of a batch are the columns of one row, lists of
// structs. A row of a table does not name its parent: the parent has the number
// of its children, which come in order. OTel Arrow has tables like these and ids
// of parents; numbers are smaller, and offsets of lists within lists would be
// larger than what they lead to.
//
// Text is dictionary-encoded, but bodies of logs, which seldom return.
// Attributes are in two tables, of text and of all else, and number points in
// two of values, as a column takes its width for nulls, too. Arrays and maps are
// bytes (package nested). A Builder keeps its dictionaries from batch to batch,
// so an IPC stream sends what is new in them only (dictionary deltas).
//
// Everything comes back but
//
//	entity references of resources: no column holds them
//	the order among attributes that are text and those that are not
package arrowtable
