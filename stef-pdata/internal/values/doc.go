// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package values copies attributes and values of pdata into records, within the
// limits of an item, and compares the two. It does not know which item or
// container they belong to.
package values
