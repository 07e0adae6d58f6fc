// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package report writes results: tables as text, CSV and in the format of Go
// benchmarks, charts as PNG, and HTML pages with tables and charts. The pages load
// no external resources.
//
//	page := &report.Page{Name: "size", Title: "Size"}
//	page.Add(report.Prose("..."), table, chart)
//	r := &report.Report{Dir: dir, Env: env, Pages: []*report.Page{page}}
//	err := r.Write()
//
// Every file states the machine, the versions, the time and the command that
// produced it. It names no host and no path.
package report
