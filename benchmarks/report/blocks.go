// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
)

// Fill replaces the blocks that the report writes into Markdown pages, and keeps all other
// text. pages has the text of each page by its name; Fill changes its values. Each block is in
// exactly one page, between two comments:
//
//	<!-- begin NAME (written by make report) -->
//	<!-- end NAME -->
func Fill(pages, blocks map[string]string) error {
	for name, content := range blocks {
		page, err := PageOf(pages, name)
		if err != nil {
			return err
		}
		begin, end := marks(name)
		head, rest, _ := strings.Cut(pages[page], begin)
		_, tail, ok := strings.Cut(rest, end)
		if !ok {
			return fmt.Errorf("report: %q is not in %s", end, page)
		}
		pages[page] = head + begin + "\n" + strings.Trim(content, "\n") + "\n" + end + tail
	}
	return nil
}

// PageOf returns the name of the page that has a block.
func PageOf(pages map[string]string, block string) (string, error) {
	begin, _ := marks(block)
	found := ""
	for name, text := range pages {
		if !strings.Contains(text, begin) {
			continue
		}
		if found != "" {
			return "", fmt.Errorf("report: %q is in %s and in %s", begin, found, name)
		}
		found = name
	}
	if found == "" {
		return "", fmt.Errorf("report: no page has %q", begin)
	}
	return found, nil
}

func marks(name string) (begin, end string) {
	return "<!-- begin " + name + " (written by make report) -->", "<!-- end " + name + " -->"
}
