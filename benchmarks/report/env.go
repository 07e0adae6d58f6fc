// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Env describes where and with what the figures were measured.
type Env struct {
	Machine  string
	Go       string
	Date     string
	Revision string
	Versions []string
	Command  string
	// Data says which telemetry was measured.
	Data string
}

// shown lists the modules whose versions affect the figures.
var shown = []string{
	"go.opentelemetry.io/collector/pdata",
	"google.golang.org/grpc",
	"github.com/klauspost/compress",
	"github.com/apache/arrow-go/v18",
}

// NewEnv describes this process. It reads the versions of modules from goMod, the text of
// go.mod, which lists all modules of the build.
func NewEnv(goMod []byte, command, data string) Env {
	return Env{
		Machine:  machine(),
		Go:       runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		Date:     time.Now().UTC().Format("2006-01-02 15:04 UTC"),
		Revision: revision(),
		Versions: versions(goMod),
		Command:  command,
		Data:     data,
	}
}

func machine() string {
	name := runtime.GOARCH + " processor"
	if model := field("/proc/cpuinfo", "model name"); model != "" {
		name = model
	}
	name += ", " + strconv.Itoa(runtime.NumCPU()) + " cores"
	kib, err := strconv.ParseInt(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 10, 64)
	if err == nil {
		name += ", " + strconv.FormatInt((kib+1<<19)>>20, 10) + " GiB of memory"
	}
	return name
}

// field returns the value of a key in a file of "key: value" lines, or "" if the file
// cannot be read or does not have the key.
func field(file, key string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// revision returns the commit, with a mark if files have changed, or "" if there is no repository.
func revision() string {
	hash, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return ""
	}
	revision := strings.TrimSpace(string(hash))
	changed, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output()
	if err == nil && len(changed) > 0 {
		revision += " with changes"
	}
	return revision
}

func versions(goMod []byte) []string {
	var found []string
	for line := range strings.Lines(string(goMod)) {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(words) >= 2 && slices.Contains(shown, words[0]) {
			found = append(found, words[0]+" "+words[1])
		}
	}
	slices.Sort(found)
	return found
}

// Lines returns the description as lines of text.
func (e Env) Lines() []string {
	lines := []string{"machine:  " + e.Machine, "go:       " + e.Go, "date:     " + e.Date}
	if e.Revision != "" {
		lines = append(lines, "revision: "+e.Revision)
	}
	if len(e.Versions) > 0 {
		lines = append(lines, "versions: "+strings.Join(e.Versions, ", "))
	}
	return append(lines, "data:     "+e.Data, "command:  "+e.Command)
}
