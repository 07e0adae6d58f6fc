// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package values copies attributes and values of pdata into records, within the
// limits of an item, and compares values of pdata with values of records. It does not
// know to which item or container they belong.
package values
