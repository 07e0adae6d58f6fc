// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package arrowtable holds telemetry as Arrow tables: resources, scopes,
// metrics, points and so on, each with its own columns. An IPC stream has one
// schema, so the tables of a batch are the columns of one row, as lists of
// structs. A row of a table does not name its parent. Instead, the parent has
// the number of its children, which follow in order. OTel Arrow has similar
// tables with parent ids. Numbers of children are smaller, and offsets of
// nested lists would be larger than their content.
//
// Text is dictionary-encoded, except for log bodies, which seldom repeat.
// Attributes are in two tables, for text and for other values, and number
// points have two tables of values, because a column uses its full width for
// nulls too. Arrays and maps are bytes (package nested). A Builder keeps its
// dictionaries from batch to batch, so an IPC stream sends only new entries
// (dictionary deltas).
//
// Decoding restores everything except
//
//	entity references of resources: no column holds them
//	the order among attributes that are text and those that are not
package arrowtable
