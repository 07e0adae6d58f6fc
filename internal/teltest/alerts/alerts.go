// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package alerts reads the alerting rules of the components for tests.
package alerts

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
)

// Alert is an alerting rule of Prometheus.
type Alert struct {
	Name, Expr string
	Selectors  []Selector // the selectors in the expression
	Grouped    []string   // the labels by which the expression groups
}

// Selector selects series of a metric.
type Selector struct {
	Metric string              // without the prefix otelcol_
	Values map[string][]string // required values by label
}

var (
	selector  = regexp.MustCompile(`\botelcol_(\w+)(?:\{([^}]*)\})?`)
	matcher   = regexp.MustCompile(`(\w+)=~?"([^"]*)"`)
	grouping  = regexp.MustCompile(`\b(?:by|on|without|ignoring) \(([^)]*)\)`)
	separator = regexp.MustCompile(`, *`)
)

// Read reads a file of alerting rules.
func Read(t testing.TB, path string) []Alert {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	retrieved, err := confmap.NewRetrievedFromYAML(text)
	require.NoError(t, err)
	conf, err := retrieved.AsConf()
	require.NoError(t, err)
	var list []Alert
	for _, group := range conf.Get("groups").([]any) {
		for _, rule := range group.(map[string]any)["rules"].([]any) {
			alert := Alert{Name: rule.(map[string]any)["alert"].(string), Expr: rule.(map[string]any)["expr"].(string)}
			for _, s := range selector.FindAllStringSubmatch(alert.Expr, -1) {
				values := map[string][]string{}
				for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
					values[m[1]] = strings.Split(m[2], "|")
				}
				alert.Selectors = append(alert.Selectors, Selector{s[1], values})
			}
			for _, g := range grouping.FindAllStringSubmatch(alert.Expr, -1) {
				alert.Grouped = append(alert.Grouped, separator.Split(g[1], -1)...)
			}
			require.NotEmpty(t, alert.Selectors, alert.Name)
			list = append(list, alert)
		}
	}
	require.NotEmpty(t, list)
	return list
}
