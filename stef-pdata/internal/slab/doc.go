// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package slab allocates the objects of pdata in chunks. pdata allocates each point,
// span, log record, metric and value separately, which takes half of the time of a
// decoder. A chunk has at most chunkBytes bytes, so a consumer that keeps one object
// keeps little other memory.
//
// Attributes and bodies of one batch share an object if they have the same dictionary text.
// This is safe because pdata replaces such an object instead of changing it. A feature gate of
// pdata disables this property, so the package checks it at the start and again for each set of
// chunks.
//
// The types of these objects are internal to pdata. The package finds them by
// reflection and checks that they are laid out as it expects. Chunks have exactly these
// types, so the garbage collector knows each pointer in them. If a version of pdata
// differs, the package uses the public functions of pdata: the batches have the same
// content, but take longer to build.
package slab
