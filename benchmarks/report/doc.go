// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package report writes what was measured: tables as text, CSV and in the format
// of Go benchmarks, charts as PNG, and pages of HTML with both that need nothing
// from elsewhere.
//
//	page := &report.Page{Name: "size", Title: "Size"}
//	page.Add(report.Prose("..."), table, chart)
//	r := &report.Report{Dir: dir, Env: env, Pages: []*report.Page{page}}
//	err := r.Write()
//
// Every file says on which machine, with which versions, when and by which
// command it was made. It names no host and no path.
package report
