// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
)

// onceLog prevents several followers from logging the same text: the receiver has a follower for
// each signal, and all followers see the same files.
type onceLog struct {
	mu        sync.Mutex
	loggedAt  map[string]time.Time
	pipelines map[string]bool // names of the signals that have a pipeline
	reported  map[string]bool // names of the signals without a pipeline that were logged
}

// A text that was logged is not logged again for repeatAfter: the followers of all signals see a file
// within this time. After that, a new file of the same name is reported. maxLoggedTexts bounds the stored
// texts.
const (
	repeatAfter    = time.Minute
	maxLoggedTexts = 1000
)

// mayLog reports whether a text must be logged: no follower has logged it within repeatAfter.
func (t *onceLog) mayLog(text string) bool {
	if t == nil {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.loggedAt[text]
	if ok && time.Since(last) < repeatAfter {
		return false
	}
	if len(t.loggedAt) >= maxLoggedTexts {
		clear(t.loggedAt)
	}
	t.loggedAt[text] = time.Now()
	return true
}

// addPipeline notes that a signal has a pipeline. The Collector creates the receivers of all
// signals before it starts the first receiver.
func (t *onceLog) addPipeline(sig string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pipelines[sig] = true
}

// firstWithoutPipeline reports whether a signal has no pipeline. It returns true only once for each signal.
func (t *onceLog) firstWithoutPipeline(sig string) bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pipelines[sig] || t.reported[sig] {
		return false
	}
	t.reported[sig] = true
	return true
}

// otherFile describes a file that is not read, at the time of the last check: it is of another or an unknown
// signal, or needs a missing dictionary.
type otherFile struct {
	undecodable bool // the file needs a missing dictionary; it is tried again whenever it changes
	named       bool // the name determines the signal, whatever the file contains
	info        fs.FileInfo
	prefix      checkpoint // with the checksum of the beginning
}

// isOtherFile reports whether a file is of another or an unknown signal, or needs a missing dictionary. If the
// file has changed, isOtherFile compares its beginning: a file of this signal may have replaced it.
func (f *follower[T]) isOtherFile(c candidate) bool {
	of := f.otherFiles[c.key]
	switch {
	case of == nil:
		return false
	case of.named || os.SameFile(of.info, c.info) && of.info.Size() == c.info.Size() && of.info.ModTime().Equal(c.info.ModTime()):
		return true
	case of.undecodable:
		delete(f.otherFiles, c.key)
		return false
	}
	file, err := os.Open(c.path)
	if err != nil {
		return true // the next pass tries again
	}
	defer file.Close()
	if same, err := of.prefix.hasPrefixOf(file); same || err != nil {
		of.info = c.info
		return true
	}
	delete(f.otherFiles, c.key)
	return false
}

// skipOtherSignal notes that a file is of another signal, and warns if that signal has no pipeline. file
// is nil if the name of the file determines the signal.
func (f *follower[T]) skipOtherSignal(c candidate, sig string, file *os.File) {
	if f.skip(c, file) && f.config.onceLog.firstWithoutPipeline(sig) {
		f.sharedLog.Warn("A file stays where it is, because its signal has no pipeline with this receiver: add a pipeline, or exclude such files",
			zap.String("signal", sig), zap.String("file", c.key))
	}
}

// skip notes that a file is not of this signal, so that later passes do not decode its headers again. file
// is nil if the name of the file determines the signal. It reports whether it succeeded.
func (f *follower[T]) skip(c candidate, file *os.File) bool {
	of := &otherFile{named: file == nil, info: c.info}
	if file != nil {
		if err := of.prefix.identify(file, c.info.Size()); err != nil {
			f.warn(c.key, "open", err)
			return false // the next pass tries again
		}
	}
	f.otherFiles[c.key] = of
	return true
}

// checkPatterns warns about patterns of include that match no file or only a folder. Such a
// pattern may be a typing error, but the files may also appear later.
func (f *follower[T]) checkPatterns() {
	for _, pattern := range f.config.Include {
		paths, _ := filepath.Glob(pattern)
		text, advice := "No file matches a pattern of include yet", ""
		if len(paths) == 1 {
			if info, err := os.Stat(paths[0]); err == nil && info.IsDir() {
				text, advice = "A pattern of include names a folder", filepath.Join(paths[0], "*.stef*")
			}
		}
		missing := missingFolder(pattern)
		if len(paths) == 0 && missing != "" {
			text = "No file matches a pattern of include yet: its folder does not exist"
		}
		if len(paths) > 0 && advice == "" || !f.config.onceLog.mayLog(text+" "+pattern) {
			continue
		}
		fields := []zap.Field{zap.String("pattern", pattern)}
		if advice != "" {
			fields = append(fields, zap.String("write", advice))
		}
		if len(paths) == 0 && missing != "" {
			fields = append(fields, zap.String("folder", missing))
		}
		f.sharedLog.Warn(text, fields...)
	}
}

// missingFolder returns the folder of a pattern if this folder does not exist. It returns "" if
// the folder exists or is a pattern itself.
func missingFolder(pattern string) string {
	dir := filepath.Dir(pattern)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || strings.ContainsAny(dir, "*?[") {
		return ""
	}
	return dir
}

// otherFormats lists the first bytes of other file formats, and what to do with such files.
var otherFormats = []struct{ head, what string }{
	{"\x1f\x8b", "compressed with gzip as a whole: decompress it; if it holds OTLP, use stef convert"},
	{"\x28\xb5\x2f\xfd", "compressed with zstd as a whole: decompress it; if it holds OTLP, use stef convert"},
	{"PAR1", "Parquet: convert it to STEF with stef convert"},
	{"{", "JSON: if it holds OTLP, convert it to STEF with stef convert"},
}

// errNotSTEF means that a file has another format.
var errNotSTEF = errors.New("the file is not STEF")

// otherFormat returns the error of a file that is not STEF. The error wraps errNotSTEF, and names the
// format of the file if it is known.
func otherFormat(file io.ReaderAt) error {
	var head [8]byte
	n, _ := file.ReadAt(head[:], 0)
	if n == len(head) && string(head[4:]) == "\x28\xb5\x2f\xfd" {
		return fmt.Errorf("%w but compressed by the file exporter: remove compression from its configuration", errNotSTEF)
	}
	for _, format := range otherFormats {
		if bytes.HasPrefix(head[:n], []byte(format.head)) {
			return fmt.Errorf("%w but %s", errNotSTEF, format.what)
		}
	}
	return errNotSTEF
}
