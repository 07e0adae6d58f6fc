// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"cmp"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// Sync says when written data is forced to the disk.
type Sync uint8

// The values of Options.Sync.
const (
	// SyncInterval syncs every Options.SyncEvery, in the background.
	SyncInterval Sync = iota
	// SyncFlush syncs with each flush, before Write returns.
	SyncFlush
	// SyncNone leaves syncing to the operating system.
	SyncNone
)

// Options of a Writer. Fields that are 0 select their defaults.
type Options struct {
	// Dir is the folder of the files. It is created with the first file.
	Dir string
	// Prefix begins the names. Several programs, and several writers of one signal,
	// may share a folder and a prefix: then they also share MaxFiles and
	// MaxTotalBytes. Default "telemetry".
	Prefix string
	// Signal ends the names: "traces", "metrics", "logs", or a name of your own, such as
	// "orders" for records of a schema of your own. Use 1 to 100 letters, digits, '.' and
	// '_', and no '.' at the start. Required.
	Signal string
	// MaxBytes is the size at which a file is finished. The size is checked after each
	// Write and flush, so a file can be larger by the records of one Write. Default
	// 64 MiB; negative: no limit.
	MaxBytes int64
	// MaxAge is the age at which a file with records is finished. The Writer can detect it up to a
	// second late. Default 1 minute; negative: no limit.
	MaxAge time.Duration
	// MaxFiles is the maximum number of finished files, and MaxTotalBytes the maximum
	// number of their bytes together, both without the active file. The oldest files are
	// removed, even if nobody has read them. Default: no limit.
	MaxFiles      int
	MaxTotalBytes int64
	// FlushInterval delays flushes: frames end at this interval, instead of with each
	// Write. Files are then smaller if the program writes single records, or small batches
	// with checksums. A Write whose fill returns an error ends the frame in any case. Default:
	// no delay.
	FlushInterval time.Duration
	// Sync says when data is forced to the disk. SyncEvery is the interval of
	// SyncInterval, 1 s by default.
	Sync      Sync
	SyncEvery time.Duration
	// Perm are the permissions of files, before the umask. Default 0o640. Folders
	// also get the permission to search.
	Perm fs.FileMode
	// OnError receives errors that no call returns. New passes its errors before it returns.
	// Errors of work in the background are passed by a goroutine of the Writer, or by the next
	// call that finds them. OnError can be called concurrently. It must return soon and not
	// call the Writer. Default: errors are only counted.
	OnError func(error)
}

const (
	defaultPrefix    = "telemetry"
	defaultMaxBytes  = 64 << 20
	defaultMaxAge    = time.Minute
	defaultSyncEvery = time.Second
	defaultPerm      = 0o640
	maxNamePart      = 100
)

// withDefaults checks the options and fills in the defaults.
func (o Options) withDefaults() (Options, error) {
	if o.Dir == "" {
		return o, fmt.Errorf("rotate: Options.Dir is empty")
	}
	o.Prefix = cmp.Or(o.Prefix, defaultPrefix)
	for _, part := range []struct{ name, value, not, letters string }{
		{"Prefix", o.Prefix, "", "letters, digits, '.', '_' and '-'"},
		{"Signal", o.Signal, "-", "letters, digits, '.' and '_'"}, // '-' separates the signal from the rest of the name
	} {
		if part.value == "" || len(part.value) > maxNamePart || strings.ContainsFunc(part.value, notInName) || part.value[0] == '.' ||
			strings.ContainsAny(part.value, part.not) {
			// "Options.Prefix is " is matched by New of sdk/internal/files.
			return o, fmt.Errorf("rotate: Options.%s is %q: use 1 to %d %s, and no '.' at the start", part.name, part.value, maxNamePart, part.letters)
		}
	}
	if o.Sync > SyncNone {
		return o, fmt.Errorf("rotate: Options.Sync is %d: use SyncInterval, SyncFlush or SyncNone", o.Sync)
	}
	if o.MaxFiles < 0 || o.MaxTotalBytes < 0 || o.FlushInterval < 0 || o.SyncEvery < 0 {
		return o, fmt.Errorf("rotate: Options.MaxFiles (%d), MaxTotalBytes (%d), FlushInterval (%v) and SyncEvery (%v) must not be negative",
			o.MaxFiles, o.MaxTotalBytes, o.FlushInterval, o.SyncEvery)
	}
	o.MaxBytes = cmp.Or(o.MaxBytes, defaultMaxBytes)
	o.MaxAge = cmp.Or(o.MaxAge, defaultMaxAge)
	o.SyncEvery = cmp.Or(o.SyncEvery, defaultSyncEvery)
	o.Perm = cmp.Or(o.Perm, defaultPerm)
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
	return o, nil
}

func notInName(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
}

// tick returns the interval at which the background goroutine checks whether work is due.
func (o *Options) tick() time.Duration {
	tick := time.Second
	for _, interval := range []time.Duration{o.MaxAge, o.SyncEvery, o.FlushInterval} {
		if interval > 0 {
			tick = min(tick, interval/2)
		}
	}
	return max(tick, time.Millisecond)
}
