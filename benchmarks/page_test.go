// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelstef/stef/benchmarks/dataset"
	"github.com/otelstef/stef/benchmarks/report"
	"github.com/otelstef/stef/benchmarks/study"
)

// tiny is the minimal report that the tests of this file share.
var tiny struct {
	report *report.Report
	blocks map[string]string
}

// tinyReport measures a little of the bundled recordings, once for all tests.
func tinyReport(t *testing.T) (*report.Report, map[string]string) {
	t.Helper()
	if tiny.report != nil {
		return tiny.report, tiny.blocks
	}
	var refs []dataset.Ref
	for _, ref := range dataset.Bundled() {
		refs = append(refs, ref.First(6))
	}
	r, blocks, whole := makeReport(t, &study.Context{Tiny: true, Refs: refs}, "", "make report")
	if !whole {
		t.Skip("the studies are filtered by -run")
	}
	tiny.report, tiny.blocks = r, blocks
	return r, blocks
}

// written writes the tiny report to a folder of the test.
func written(t *testing.T) string {
	t.Helper()
	r, _ := tinyReport(t)
	dir := t.TempDir()
	again := *r
	again.Dir = dir
	require.NoError(t, again.Write())
	return dir
}

func pagesIn(t *testing.T, dir string) []string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(dir, "*.html"))
	require.NoError(t, err)
	require.Len(t, pages, len(study.Pages))
	return pages
}

// TestPagesAreWhole checks that no page loads external resources, and that
// every table has the command that reproduces it.
func TestPagesAreWhole(t *testing.T) {
	for _, page := range pagesIn(t, written(t)) {
		html, err := os.ReadFile(page)
		require.NoError(t, err)
		require.Empty(t, report.Foreign(string(html)), filepath.Base(page))
		for _, table := range regexp.MustCompile(`(?s)<h3 id=.*?</table>`).FindAllString(string(html), -1) {
			require.Regexp(t, `<code>cd benchmarks &amp;&amp; go test|<code>make study-|Not measured here`, table)
		}
		require.Regexp(t, `machine:  .*\ngo:       .*\ndate:     `, string(html))
	}
}

// browsers are programs that render a page without a window and print the
// result.
var browsers = []string{"chromium", "chromium-browser", "chromium-headless-shell", "headless_shell", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge"}

// BrowserEnv is the environment variable that names a browser which is not in browsers.
const BrowserEnv = "STEF_BROWSER"

func browser(t *testing.T) string {
	t.Helper()
	for _, name := range append([]string{os.Getenv(BrowserEnv)}, browsers...) {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("SKIPPED: no browser to render the pages in (%s, or %s)", strings.Join(browsers, ", "), BrowserEnv)
	return ""
}

// TestTablesFit estimates the widths of tables, to find tables that are too wide even
// if no browser is installed.
func TestTablesFit(t *testing.T) {
	r, _ := tinyReport(t)
	for _, page := range r.Pages {
		for _, part := range page.Parts {
			if table, ok := part.(*report.Table); ok {
				require.LessOrEqual(t, table.Width(), 1268, "page %s, table %s", page.Name, table.Name)
			}
		}
	}
}

// TestPagesRender renders the pages in a real browser without network access.
// It checks that no table needs scrolling in a window of 1,300 pixels.
func TestPagesRender(t *testing.T) {
	program := browser(t)
	r, _ := tinyReport(t)
	dir := written(t)
	for i, page := range r.Pages {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		dom, err := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
			"--user-data-dir="+filepath.Join(t.TempDir(), "profile"), "--no-first-run", "--disable-background-networking",
			// Every name fails to resolve, and the proxy for all addresses does
			// not exist.
			"--window-size=1300,2000", "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9",
			"--virtual-time-budget=5000", "--dump-dom", "file://"+filepath.Join(dir, page.Name+".html")).Output()
		cancel()
		require.NoError(t, err, page.Name)
		charts, tables := 0, 0
		for _, part := range r.Pages[i].Parts {
			switch part.(type) {
			case *report.Chart:
				charts++
			case *report.Table:
				tables++
			}
		}
		html := regexp.MustCompile(`<html[^>]*>`).FindString(string(dom))
		require.Contains(t, html, attribute("data-charts", charts), "charts that have a height, page %s", page.Name)
		require.Contains(t, html, attribute("data-tables", tables), "tables of page %s", page.Name)
		require.Contains(t, html, `data-wide=""`, "tables wider than the window, page %s", page.Name)
	}
}

func attribute(name string, n int) string {
	return name + `="` + report.Whole(float64(n)) + `"`
}
