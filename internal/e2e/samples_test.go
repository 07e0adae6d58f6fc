// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type sample struct {
	at       time.Duration // since the beginning of the run
	process  string
	life     int           // how often the process was started
	age      time.Duration // since the last start of the process
	resident float64       // MiB
	routines float64       // goroutines
	files    float64       // open file descriptors
	cpu      float64       // seconds of CPU time since the last start of the process
	queue    float64       // MiB of the files of the agent's queue; 0 for the backend
	backlog  float64       // acknowledged records that did not arrive yet
}

type sampled struct {
	*collector
	debug string // address of the extension pprof
	began time.Time
	life  int
}

type sampler struct {
	began   time.Time
	storage string
	backlog func() int

	mu        sync.Mutex
	processes map[string]*sampled
	list      []sample
}

// observe makes the sampler read a process from now on. If c is nil, the sampler stops reading
// the process.
func (s *sampler) observe(name string, c *collector, debug string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.processes[name]
	if c == nil {
		s.processes[name] = &sampled{life: before.life}
		return
	}
	now := &sampled{collector: c, debug: debug, began: time.Now(), life: 1}
	if before != nil {
		now.life = before.life + 1
	}
	s.processes[name] = now
}

func (s *sampler) run(every time.Duration, done <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		for _, name := range []string{"agent", "backend"} {
			s.mu.Lock()
			p := s.processes[name]
			s.mu.Unlock()
			// Reading a process that has ended fails; such a process gets no sample.
			if v, err := s.read(name, p); err == nil {
				s.mu.Lock()
				s.list = append(s.list, v)
				s.mu.Unlock()
			}
		}
	}
}

func (s *sampler) read(name string, p *sampled) (v sample, err error) {
	if p == nil || p.collector == nil {
		return v, os.ErrProcessDone
	}
	v = sample{at: time.Since(s.began), process: name, life: p.life, age: time.Since(p.began), backlog: float64(s.backlog())}
	if v.resident, v.files, v.cpu, err = processFigures(p.command.Process.Pid); err != nil {
		return v, err
	}
	if v.routines, err = goroutines(p.debug); err != nil {
		return v, err
	}
	if name == "agent" {
		v.queue = occupied(s.storage)
	}
	return v, nil
}

func (s *sampler) samples() []sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

// processFigures reads the resident memory in MiB, the number of open files and the CPU time in
// seconds of a process from /proc.
func processFigures(pid int) (resident, files, cpu float64, err error) {
	dir := fmt.Sprintf("/proc/%d", pid)
	memory, err := os.ReadFile(dir + "/statm")
	if err != nil {
		return 0, 0, 0, err
	}
	var pages [2]float64
	if _, err := fmt.Sscan(string(memory), &pages[0], &pages[1]); err != nil {
		return 0, 0, 0, err
	}
	open, err := os.ReadDir(dir + "/fd")
	if err != nil {
		return 0, 0, 0, err
	}
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return 0, 0, 0, err
	}
	// The fields follow the name of the program, which is in parentheses. Times are in hundredths
	// of a second.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, err := strconv.ParseFloat(fields[12], 64)
	return pages[1] * float64(os.Getpagesize()) / (1 << 20), float64(len(open)), (user + system) / 100, err
}

// goroutines reads how many goroutines a Collector has, from the extension pprof.
func goroutines(address string) (n float64, err error) {
	client := &http.Client{Timeout: 10 * time.Second}
	response, err := client.Get("http://" + address + "/debug/pprof/goroutine?debug=1")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscanf(string(text), "goroutine profile: total %g", &n)
	return n, err
}

// occupied returns the size of the files in a folder in MiB, without the file filler.
func occupied(dir string) (mib float64) {
	_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == filler {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			mib += float64(info.Size()) / (1 << 20)
		}
		return nil
	})
	return mib
}

// figure selects a value of the samples that must neither grow nor exceed a bound.
type figure struct {
	name  string
	of    func(sample) float64
	slack float64 // the median may grow by a quarter plus slack
	most  float64 // upper bound of the value in each sample
}

var figures = []figure{
	{"MiB resident", func(s sample) float64 { return s.resident }, 16, 250},
	{"goroutines", func(s sample) float64 { return s.routines }, 16, 250},
	{"file descriptors", func(s sample) float64 { return s.files }, 8, 60},
}

// settled is the age from which samples of a process count. Younger processes are still
// starting.
const settled = 5 * time.Second

type growthCheck struct {
	figure       figure
	process      string
	early, late  float64 // medians of the second and of the last fifth of the run
	peak         float64
	samplesCount int
}

func (f growthCheck) flat() bool {
	return f.late <= 1.25*f.early+f.figure.slack && f.peak <= f.figure.most
}

// growthChecks compares the beginning and the end of a run. A run shorter than a minute has too
// few samples for medians, so only its peaks are checked.
func growthChecks(list []sample, length time.Duration) (all []growthCheck) {
	for _, process := range []string{"agent", "backend"} {
		for _, f := range figures {
			flat := growthCheck{figure: f, process: process}
			var early, late []float64
			for _, s := range list {
				if s.process != process {
					continue
				}
				v := f.of(s)
				flat.peak = max(flat.peak, v)
				flat.samplesCount++
				switch part := float64(s.at) / float64(length); {
				case s.age < settled || length < time.Minute:
				case part >= 0.2 && part < 0.4:
					early = append(early, v)
				case part >= 0.8:
					late = append(late, v)
				}
			}
			flat.early, flat.late = median(early), median(late)
			all = append(all, flat)
		}
	}
	return all
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}

func TestFlatnesses(t *testing.T) {
	f := func(grow float64) (flat []bool) {
		var list []sample
		for i := range 120 {
			at := time.Duration(i) * time.Second
			list = append(list, sample{at: at, age: at, process: "agent", resident: 100 + grow*float64(i), routines: 100, files: 10})
		}
		for _, f := range growthChecks(list, 2*time.Minute) {
			flat = append(flat, f.flat())
		}
		return flat
	}
	require.Equal(t, []bool{true, true, true, true, true, true}, f(0))
	require.Equal(t, []bool{false, true, true, true, true, true}, f(1))
	require.Equal(t, []bool{false, true, true, true, true, true}, f(3))
}

// writeSamples writes samples as CSV, for the page of benchmarks/soak.
func writeSamples(path string, list []sample) error {
	rows := [][]string{{"seconds", "process", "life", "resident_mib", "goroutines", "files", "cpu_seconds", "queue_mib", "backlog"}}
	for _, s := range list {
		row := []string{fmt.Sprintf("%.1f", s.at.Seconds()), s.process, strconv.Itoa(s.life)}
		for _, v := range []float64{s.resident, s.routines, s.files, s.cpu, s.queue, s.backlog} {
			row = append(row, strconv.FormatFloat(v, 'f', -1, 64))
		}
		rows = append(rows, row)
	}
	return writeCSV(path, rows)
}

func writeCSV(path string, rows [][]string) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := w.WriteAll(rows); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}
