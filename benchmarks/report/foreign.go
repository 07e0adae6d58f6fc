// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package report

import "regexp"

// needs match the ways in which a page can load an external resource. Links to
// other pages do not count: only people follow them.
var needs = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(src|srcset|poster|data|action)\s*=\s*["']?[^"'\s>]+`),
	regexp.MustCompile(`(?i)<link\b[^>]*`),
	regexp.MustCompile(`(?i)\burl\(\s*["']?[^#)][^)]*`),
	regexp.MustCompile(`(?i)@import[^;]*`),
	regexp.MustCompile(`(?i)xlink:href\s*=\s*["'][^#"'][^"']*`),
	regexp.MustCompile(`\b(fetch|XMLHttpRequest|WebSocket|EventSource|importScripts|sendBeacon)\s*\(`),
}

// Foreign returns the external resources that a page loads.
func Foreign(html string) []string {
	var found []string
	for _, need := range needs {
		found = append(found, need.FindAllString(html, -1)...)
	}
	return found
}
