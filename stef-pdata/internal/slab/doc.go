// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package slab allocates the objects of pdata in chunks. pdata allocates each point,
// span, log record, metric and value on its own, which takes half of the time of a
// decoder. A chunk has at most chunkBytes bytes, so a consumer that keeps one object
// keeps little else.
//
// Attributes and bodies of one batch that have the same text of a dictionary share the object
// that holds it. pdata never changes such an object; it replaces it. The package checks this,
// and again from time to time, because a feature gate of pdata makes it reuse them.
//
// The types of these objects are internal to pdata. The package finds them by
// reflection and checks that they are laid out as it expects. Chunks have exactly these
// types, so the garbage collector knows each pointer in them. If a version of pdata
// differs, the package uses the public functions of pdata: the batches have the same
// content, but take longer to build.
package slab
