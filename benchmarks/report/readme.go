// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
)

// Fill replaces the blocks of a README that the report writes, and keeps all other text. A
// block is between two comments:
//
//	<!-- begin NAME (written by make report) -->
//	<!-- end NAME -->
func Fill(readme string, blocks map[string]string) (string, error) {
	for name, content := range blocks {
		begin, end := marks(name)
		head, rest, ok := strings.Cut(readme, begin)
		if !ok {
			return "", fmt.Errorf("report: %q is not in the README", begin)
		}
		_, tail, ok := strings.Cut(rest, end)
		if !ok {
			return "", fmt.Errorf("report: %q is not in the README", end)
		}
		readme = head + begin + "\n" + strings.Trim(content, "\n") + "\n" + end + tail
	}
	return readme, nil
}

func marks(name string) (begin, end string) {
	return "<!-- begin " + name + " (written by make report) -->", "<!-- end " + name + " -->"
}
