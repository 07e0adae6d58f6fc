// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.uber.org/zap"

	"github.com/otelstef/stef/internal/confkeys"
	"github.com/otelstef/stef/internal/injected"
	"github.com/otelstef/stef/internal/signal"
	"github.com/otelstef/stef/internal/streamconf"
	"github.com/otelstef/stef/receiver/steffilereceiver/internal/metadata"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/rotate"
	stefpdata "github.com/otelstef/stef/stef-pdata"
)

// follower is the receiver of one signal. Only its goroutine uses the field checkpoints and the
// fields after it.
type follower[T any] struct {
	sig            *signal.Descriptor[T]
	sink           sink[T]
	config         *Config
	id             component.ID
	log            *zap.Logger
	sharedLog      *zap.Logger // for messages that one follower logs for all signals
	obs            *receiverhelper.ObsReport
	telemetry      *metadata.TelemetryBuilder
	meter          *meter
	decoderOptions []stefpdata.DecoderOption
	readerOptions  []stef.ReaderOption

	ctx    context.Context // context of deliveries
	cancel context.CancelFunc
	stop   chan struct{}
	done   chan struct{} // nil before Start

	checkpoints checkpoints
	open        map[string]*openFile[T]
	otherFiles  map[string]*otherFile // files that are not read, by key
	warned      map[string]string     // the last warning about a file, by key
	notSTEF     map[string]string     // the version of a file that is not STEF, by key
	pass        uint64
	passes      atomic.Uint64 // number of complete passes
}

func newFollower[T any](sig *signal.Descriptor[T], settings receiver.Settings, config *Config, to sink[T]) (*follower[T], error) {
	telemetry, err := metadata.NewTelemetryBuilder(settings.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	obs, err := receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{
		ReceiverID: settings.ID, Transport: transport, LongLivedCtx: true, ReceiverCreateSettings: settings,
	})
	if err != nil {
		return nil, err
	}
	config.onceLog.addPipeline(sig.Name)
	ctx, cancel := context.WithCancel(context.Background())
	return &follower[T]{
		sig: sig, sink: to, config: config, id: settings.ID, log: settings.Logger, sharedLog: injected.WithoutSignal(settings.TelemetrySettings).Logger, obs: obs, telemetry: telemetry,
		meter:          newMeter(telemetry, settings.ID, sig.Name),
		decoderOptions: []stefpdata.DecoderOption{stefpdata.WithMaxItems(config.MaxBatchItems), stefpdata.WithMaxBytes(config.MaxBatchMiB * mib)},
		readerOptions:  []stef.ReaderOption{stef.WithLimits(config.limits())},
		ctx:            ctx, cancel: cancel, stop: make(chan struct{}),
		open: map[string]*openFile[T]{}, otherFiles: map[string]*otherFile{}, warned: map[string]string{}, notSTEF: map[string]string{},
	}, nil
}

// Start implements component.Component.
func (f *follower[T]) Start(ctx context.Context, host component.Host) error {
	if err := f.prepare(ctx, host); err != nil {
		return err
	}
	f.done = make(chan struct{})
	go f.run()
	return nil
}

// prepare checks move_to, reads the dictionaries, and loads how far each file was delivered.
func (f *follower[T]) prepare(ctx context.Context, host component.Host) error {
	if err := f.config.checkMoveTo(); err != nil {
		return err
	}
	dicts, err := streamconf.ZstdDicts("read_dictionaries", f.config.ReadDictionaries)
	if err != nil {
		return err
	}
	f.readerOptions = append(f.readerOptions, stef.WithZstdDicts(dicts...))
	client, err := f.client(ctx, host)
	if err != nil {
		return err
	}
	f.checkpoints.client = client
	if err := f.checkpoints.load(ctx); err != nil {
		return errors.Join(fmt.Errorf("cannot read the positions in files from storage %s: %w", f.config.StorageID, err), client.Close(ctx))
	}
	return nil
}

// client returns the client of the storage extension, or a client that stores nothing.
func (f *follower[T]) client(ctx context.Context, host component.Host) (storage.Client, error) {
	id := f.config.StorageID
	if id == nil {
		return storage.NewNopClient(), nil
	}
	extension, ok := host.GetExtensions()[*id]
	if !ok {
		return nil, fmt.Errorf("storage is %q: add an extension of this name to service::extensions", id)
	}
	s, ok := extension.(storage.Extension)
	if !ok {
		return nil, fmt.Errorf("storage is %q, which is not a storage extension: use a storage extension such as file_storage", id)
	}
	client, err := s.GetClient(ctx, component.KindReceiver, f.id, f.sig.Name)
	if err != nil {
		return nil, confkeys.Storage(err, "the storage", id.String(), f.sig.Name, "files that are still in the folder are delivered again")
	}
	return client, nil
}

// Shutdown implements component.Component. It waits up to shutdown_timeout until the
// pipeline has processed the current batch, so that the batch is not delivered again
// after a restart.
func (f *follower[T]) Shutdown(ctx context.Context) error {
	defer f.telemetry.Shutdown()
	defer f.cancel()
	if f.done == nil {
		return nil
	}
	select {
	case <-f.stop:
		return nil
	default:
		close(f.stop)
	}
	timer := time.AfterFunc(f.config.ShutdownTimeout, f.cancel)
	defer timer.Stop()
	defer context.AfterFunc(ctx, f.cancel)()
	<-f.ctx.Done()
	grace := time.NewTimer(hardGrace)
	defer grace.Stop()
	select {
	case <-f.done:
		return f.checkpoints.client.Close(context.WithoutCancel(ctx))
	case <-grace.C:
		return fmt.Errorf("shutdown_timeout (%v) was over, and the pipeline still processes a batch of this receiver; after a restart, the batch may be delivered again", f.config.ShutdownTimeout)
	}
}

// hardGrace is the time that the pipeline has to return after shutdown_timeout is over.
const hardGrace = time.Second

func (f *follower[T]) stopping() bool {
	select {
	case <-f.stop:
		return true
	default:
		return false
	}
}

// sleep waits, and reports false if the receiver stops.
func (f *follower[T]) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-f.stop:
		return false
	case <-timer.C:
		return true
	}
}

// run makes passes over the folder until the receiver stops.
func (f *follower[T]) run() {
	defer f.cancel()
	defer close(f.done)
	defer func() {
		for key := range f.open {
			f.close(key)
		}
	}()
	f.checkPatterns()
	for {
		f.runPass()
		f.passes.Add(1)
		if !f.sleep(f.config.PollInterval) {
			return
		}
	}
}

// candidate is a file in the folder.
type candidate struct {
	path   string
	key    string // the path without the suffix of active files
	active bool
	info   fs.FileInfo
}

// list returns the files that match the patterns, except damaged and hidden files, sorted by
// name. If the names contain times, the oldest file is first.
func (f *follower[T]) list() []candidate {
	found := map[string]candidate{}
	for _, pattern := range f.config.Include {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			f.warn("", "list", err)
		}
		for _, path := range paths {
			path = filepath.Clean(path) // Glob returns a clean path for some patterns only
			if strings.HasSuffix(path, damagedSuffix) || hidden(path, pattern) || slices.ContainsFunc(f.config.Exclude, func(p string) bool { ok, _ := filepath.Match(filepath.Clean(p), path); return ok }) {
				continue
			}
			info, err := os.Stat(path)
			if err != nil || !info.Mode().IsRegular() {
				continue // the file was renamed in the meantime, or is a folder
			}
			c := candidate{path: path, key: path, info: info}
			if base, ok := strings.CutSuffix(path, rotate.ActiveSuffix); ok {
				c.key, c.active = base+rotate.Suffix, true
			}
			if have, ok := found[c.key]; !ok || have.active {
				found[c.key] = c
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b candidate) int { return strings.Compare(a.key, b.key) })
}

// hidden reports whether the name of a file begins with a period, and the name in the pattern
// does not. Programs write a file under such a name until the file is complete.
func hidden(path, pattern string) bool {
	return strings.HasPrefix(filepath.Base(path), ".") && !strings.HasPrefix(filepath.Base(pattern), ".")
}

// runPass runs one pass over the folder.
func (f *follower[T]) runPass() {
	f.pass++
	f.checkpoints.pass++
	list := f.list()
	if !f.allOpenFilesListed(list) {
		list = f.list() // a file may have been renamed while the folder was listed
	}
	listed := make(map[string]bool, len(list))
	for _, c := range list {
		listed[c.key] = true
	}
	f.renamed(list)
	// Read removed files to their end first: only the open files still have the data.
	for key, t := range f.open {
		if !listed[key] {
			f.lost(key, t)
		}
	}
	for _, c := range list {
		if f.stopping() {
			return
		}
		f.process(c, listed)
	}
	backlog := int64(0)
	for _, c := range list {
		if p := f.checkpoints.byKey[c.key]; p != nil && !p.finished() {
			backlog += max(c.info.Size()-p.Offset, 0)
		}
	}
	f.meter.backlog(backlog)
	if f.checkpoints.forget(listed, time.Now()) || f.checkpoints.finishedWithoutGroup() {
		f.save(true)
	}
	missing := func(key string) bool { return key != "" && !listed[key] } // "" is the key of warnings about the storage
	maps.DeleteFunc(f.otherFiles, func(key string, _ *otherFile) bool { return missing(key) })
	for _, m := range []map[string]string{f.warned, f.notSTEF} {
		maps.DeleteFunc(m, func(key, _ string) bool { return missing(key) })
	}
}

// allOpenFilesListed reports whether all open files are still in the folder under the same names.
func (f *follower[T]) allOpenFilesListed(list []candidate) bool {
	same := 0
	for _, c := range list {
		if t := f.open[c.key]; t != nil && f.same(t, c) {
			same++
		}
	}
	return same == len(f.open)
}

// renamed finds open files that a writer renamed by rotation, and continues to read them
// under their new names.
func (f *follower[T]) renamed(list []candidate) {
	now := make(map[string]candidate, len(list))
	for _, c := range list {
		now[c.key] = c
	}
	for again := true; again; { // in a chain such as x to x.1, x.1 to x.2, a name becomes free in a later round
		again = false
		for key, t := range f.open {
			if c, ok := now[key]; ok && f.same(t, c) {
				continue
			}
			i := slices.IndexFunc(list, func(to candidate) bool { return f.open[to.key] == nil && f.same(t, to) })
			if i < 0 {
				continue
			}
			to := list[i].key
			if of := f.checkpoints.byKey[to]; of != nil {
				f.checkpoints.renameReplaced(of) // the checkpoint of a file that had this name before
			}
			delete(f.open, key)
			f.open[to] = t
			f.checkpoints.rename(t.checkpoint, to)
			again = true
		}
	}
}

// process delivers the new records of a file, and finishes the file at its end.
func (f *follower[T]) process(c candidate, listed map[string]bool) {
	if f.isOtherFile(c) {
		return
	}
	p := f.checkpoints.byKey[c.key]
	if p != nil && p.kept && p.unchanged(c.info) {
		return
	}
	t := f.open[c.key]
	if t == nil && p != nil && p.exhausted(c.info) && !f.atEnd(c, p, c.info.Size()) {
		return // makeRoom closed the file, and nothing was written since then
	}
	if t != nil && !f.same(t, c) {
		if f.lost(c.key, t); f.stopping() {
			return // at a shutdown, lost does not close the file
		}
		t = nil
	}
	if t == nil {
		if t = f.openIfOwnSignal(c, listed); t == nil {
			return
		}
	}
	t.lastPass = f.pass
	if t.checkpoint.finished() {
		if t.checkpoint.Size == c.info.Size() {
			if !t.checkpoint.unchanged(c.info) { // the modification time has changed
				t.checkpoint.setOutcome(t.checkpoint.Outcome, c.info)
				t.checkpoint.changed()
			}
			f.dispose(c, t.checkpoint)
			f.close(c.key)
			return
		}
		t.checkpoint.Outcome, t.checkpoint.kept = "", false // the finished file has grown
		f.checkpoints.removeFromGroup(t.checkpoint)
	}
	err := f.drain(t)
	if errors.Is(err, errDamaged) && f.overwritten(t) {
		err = errTruncated
	}
	switch {
	case err == nil:
		switch {
		case !f.atEnd(c, t.checkpoint, t.size):
		case t.hasFewerRecords(), t.mayBeOverwritten() && f.overwritten(t):
			// The checkpoint describes another file, or the file has other content now.
			f.warn(c.key, "read", errTruncated)
			f.checkpoints.removeKey(c.key)
			f.close(c.key)
		default:
			f.finish(c, t, nil)
		}
	case errors.Is(err, errStopped):
	case errors.Is(err, errDamaged):
		f.finish(c, t, err)
	case errors.Is(err, errNoDict):
		f.warnAs(c.key, "read", err)
		f.otherFiles[c.key] = &otherFile{undecodable: true, info: c.info} // decoding it again in each pass would cost much CPU time
		f.close(c.key)
	case errors.Is(err, errTruncated):
		f.warn(c.key, "read", err)
		f.checkpoints.removeKey(c.key)
		f.close(c.key)
	default:
		f.warn(c.key, "read", err)
		f.close(c.key) // the next pass opens the file again
	}
}

// overwritten reports whether bytes that were read from an open file have been overwritten.
func (f *follower[T]) overwritten(t *openFile[T]) bool {
	same, err := t.checkpoint.matches(t.File)
	return err == nil && !same
}

// same reports whether an open file is the file that was found in the folder.
func (f *follower[T]) same(t *openFile[T], c candidate) bool {
	info, err := t.Stat()
	return err == nil && os.SameFile(info, c.info)
}

// openIfOwnSignal opens a file if it is of this signal.
func (f *follower[T]) openIfOwnSignal(c candidate, listed map[string]bool) *openFile[T] {
	name := signalByName(c.path)
	if name != "" && name != f.sig.Name {
		f.skipOtherSignal(c, name, nil)
		return nil
	}
	file, err := os.Open(c.path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // a missing file was renamed in the meantime
			f.warn(c.key, "open", err)
		}
		return nil
	}
	if info, err := file.Stat(); err == nil && !os.SameFile(info, c.info) {
		f.checkpoints.pass++ // files were renamed in this pass
	}
	if name == "" {
		name, err = f.sniff(file, c)
	}
	var p *checkpoint
	if err == nil && name == f.sig.Name {
		p, err = f.checkpoints.open(file, c.key, listed)
	}
	if err != nil || p == nil {
		if err != nil {
			f.warn(c.key, "open", err)
		} else if name != "" {
			f.skipOtherSignal(c, name, file)
		}
		_ = file.Close()
		return nil
	}
	f.makeRoom()
	if p.closed != nil && c.info.Size() > p.closed.size {
		p.grewAt = time.Now()
	}
	p.closed = nil
	t := newOpenFile[T](file, p)
	f.open[c.key] = t
	f.meter.opened(1)
	return t
}

// sniff returns the signal that the headers of a file determine, or "" if the headers are
// incomplete. If the headers are damaged or determine no signal, sniff returns assume_signal. If
// the file is not STEF, or assume_signal is not set, it logs a warning and returns "".
func (f *follower[T]) sniff(file *os.File, c candidate) (string, error) {
	name, err := signalByHeaders(file, c.info.Size(), f.config.limits())
	damage := errors.Is(err, errDamaged)
	if damage && !beginsAsSTEF(file) {
		err = otherFormat(file)
	} else if (damage || errors.Is(err, errUnknownSignal)) && f.config.AssumeSignal != "" {
		return f.config.AssumeSignal, nil
	}
	if damage {
		f.warnNotSTEF(c, err)
		return "", nil
	}
	if errors.Is(err, errUnknownSignal) {
		f.warnAs(c.key, "signal", err)
		f.skip(c, file)
		return "", nil
	}
	return name, err
}

// makeRoom closes the least recently read file if too many files are open. When the closed
// file has more data or is at its end, it is decoded again from its beginning.
func (f *follower[T]) makeRoom() {
	for len(f.open) >= f.config.Limits.MaxOpenFiles {
		oldest := ""
		for key, t := range f.open {
			if oldest == "" || t.lastPass < f.open[oldest].lastPass || t.lastPass == f.open[oldest].lastPass && key < oldest {
				oldest = key
			}
		}
		t := f.open[oldest]
		if info, err := t.Stat(); err == nil {
			t.checkpoint.closed = &closed{info, t.size, t.modified}
		}
		f.close(oldest)
	}
}

func (f *follower[T]) close(key string) {
	t := f.open[key]
	if t == nil {
		return
	}
	delete(f.open, key)
	f.meter.opened(-1)
	if err := t.close(); err != nil {
		f.warn(key, "read", err)
	}
}

// advance notes that all records read from a file were delivered. read is the checkpoint with the checksums
// of the bytes that were read; err is the error of computing them.
func (f *follower[T]) advance(t *openFile[T], read checkpoint, err error) {
	t.checkpoint.Records = t.dec.Records()
	if end := t.section.begin + t.source.at; t.dec.Reader.BufferedRecords() == 0 && end > t.checkpoint.Offset {
		f.meter.read(end - t.checkpoint.Offset)
		t.checkpoint.Offset = end
	}
	f.checkpoints.setChecksums(t.checkpoint, &read)
	if err != nil && !t.shrank() { // the next pass counts a truncated file
		f.warn(t.checkpoint.Key, "read", err)
	}
	f.save(false)
}

// save saves how far each file was delivered, so that a restart does not deliver records again.
func (f *follower[T]) save(finished bool) {
	if err := f.checkpoints.save(context.WithoutCancel(f.ctx), finished); err != nil {
		f.warn("", "storage", err)
	} else {
		delete(f.warned, "") // the next failure is logged
	}
}

// warn logs and counts an error about a file. Repetitions are counted but not logged.
func (f *follower[T]) warn(key, operation string, err error) {
	f.meter.failed(operation)
	text := operation + ": " + err.Error()
	if f.warned[key] == text {
		return
	}
	f.warned[key] = text
	if shared[operation] && !f.config.onceLog.mayLog(key+" "+text) {
		return
	}
	log := f.log
	if shared[operation] {
		log = f.sharedLog
	}
	log.Warn("Cannot "+phrases[operation], zap.String("file", key), zap.Error(err))
}

// warnAs logs and counts a lasting problem of a file once.
func (f *follower[T]) warnAs(key, operation string, err error) {
	if f.warned[key] != operation+": "+err.Error() {
		f.warn(key, operation, err)
	}
}

// warnNotSTEF logs and counts a file that is not STEF, once for each version of the file,
// although each pass sees the file.
func (f *follower[T]) warnNotSTEF(c candidate, err error) {
	version := fmt.Sprint(c.info.Size(), c.info.ModTime().UnixNano())
	if f.notSTEF[c.key] != version {
		f.notSTEF[c.key] = version
		f.warn(c.key, "open", err)
	}
}

// shared are the operations whose errors do not depend on the signal.
var shared = map[string]bool{"list": true, "open": true, "signal": true}

var phrases = map[string]string{
	"list":    "list files",
	"open":    "open a file",
	"read":    "read a file",
	"finish":  "delete or move a file that was delivered",
	"storage": "save the positions in files; after a restart, records may be delivered again",
	"signal":  "determine the signal of a file",
}
