// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Patterns can name the same folder by different paths, such as "./" and ".//". They match the same
// files: exclude applies to the files of include, and no file is followed twice.
func TestPatternsOfOneFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	growing(t, "a.stef").put(numbered(1, 10))
	growing(t, "private.stef").put(numbered(11, 20))
	to := &collected{t: t}
	r := start(t, testConfig("", func(c *Config) {
		c.Include, c.Exclude, c.AssumeSignal = []string{"./*.stef", ".//a.stef"}, []string{"./private*"}, "logs"
		c.OnFinished = Delete
	}), to, nil)
	r.requireFinished(complete, 1)
	r.idle()
	to.requireOnce(10)
	require.Equal(t, []string{"private.stef"}, names(t, "."))
}
