// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// copies is a program with a copy of each kind of generated type. The compiler accepts it, but
// a copy shares parts with the original. Vet accepts a copy of what a call returns, such as
// *r.Record(), because a call may return a new value.
const copies = `package main

import (
	"fmt"

	"github.com/otelstef/stef/stef-go/otelstef"
)

func main() {
	root, other, oneof, multimap := otelstef.NewLogs(), otelstef.NewLink(), otelstef.NewAnyValue(), otelstef.NewAttributes()
	records := append([]otelstef.Logs{}, *root)
	for _, record := range records {
		fmt.Println(&record)
	}
	link := *other
	value := *oneof
	pairs := *multimap
	fmt.Println(&link, &value, &pairs)
	kept := otelstef.NewLogs()
	kept.CopyFrom(root)
	fmt.Println(kept)
}
`

// TestVetReportsCopies checks that go vet reports each line with a copy, and no other line.
func TestVetReportsCopies(t *testing.T) {
	repo(t)
	path := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(path, []byte(copies), 0o600))
	cmd := exec.Command("go", "vet", path)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "%s", out)
	var have []string
	for i, line := range strings.Split(copies, "\n") {
		if strings.Contains(string(out), "main.go:"+strconv.Itoa(i+1)+":") {
			have = append(have, strings.TrimSpace(line))
		}
	}
	require.Equal(t, []string{
		"records := append([]otelstef.Logs{}, *root)", "for _, record := range records {",
		"link := *other", "value := *oneof", "pairs := *multimap",
	}, have, "%s", out)
	require.Contains(t, string(out), "copies lock value")
}
