// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefsdk

import (
	"fmt"
	"io/fs"
	"time"

	"github.com/otelstef/stef/sdk/internal/settings"
	"github.com/otelstef/stef/stef-go/rotate"
)

// FileOption configures an exporter to files.
type FileOption = settings.FileOption

type fileOption func(*rotate.Options) error

func (o fileOption) ApplyFile(c *settings.File) error { return o(&c.Rotate) }

// WithPrefix sets the beginning of the names of files. The default is "telemetry".
func WithPrefix(prefix string) FileOption {
	return fileOption(func(r *rotate.Options) error {
		r.Prefix = prefix
		return nil
	})
}

// WithRotation sets when a file is finished and the next file begins: at a size in
// bytes, and at an age. The defaults are 64 MiB and 1 minute; 0 keeps the default, a
// negative value means no limit.
func WithRotation(maxBytes int64, maxAge time.Duration) FileOption {
	return fileOption(func(r *rotate.Options) error {
		r.MaxBytes, r.MaxAge = maxBytes, maxAge
		return nil
	})
}

// WithRetention sets how many finished files of the signal are kept, and how many
// bytes they have together. The oldest files are removed, even if no program has
// read them. 0, the default of both limits, means no limit.
func WithRetention(maxFiles int, maxTotalBytes int64) FileOption {
	return fileOption(func(r *rotate.Options) error {
		if maxFiles < 0 || maxTotalBytes < 0 {
			return fmt.Errorf("WithRetention(%d, %d): a limit is below 0", maxFiles, maxTotalBytes)
		}
		r.MaxFiles, r.MaxTotalBytes = maxFiles, maxTotalBytes
		return nil
	})
}

// WithFlushInterval delays the end of frames: frames end at this interval, not with
// each export. With a simple processor this makes files much smaller, but items that
// were exported since the last flush are lost if the process is killed. The default is no
// delay.
func WithFlushInterval(d time.Duration) FileOption {
	return fileOption(func(r *rotate.Options) error {
		if d < 0 {
			return fmt.Errorf("WithFlushInterval: %v is below 0", d)
		}
		r.FlushInterval = d
		return nil
	})
}

// WithSync sets when data is forced to the disk. interval is the time between syncs with
// rotate.SyncInterval; other policies ignore it. The default is rotate.SyncInterval with
// 1 second.
func WithSync(policy rotate.Sync, interval time.Duration) FileOption {
	return fileOption(func(r *rotate.Options) error {
		if policy > rotate.SyncNone || interval < 0 {
			return fmt.Errorf("WithSync(%d, %v): the policy is unknown, or the interval is below 0", policy, interval)
		}
		r.Sync, r.SyncEvery = policy, interval
		return nil
	})
}

// WithPermissions sets the permissions of files, before the umask. The default is
// 0o640.
func WithPermissions(perm fs.FileMode) FileOption {
	return fileOption(func(r *rotate.Options) error {
		r.Perm = perm
		return nil
	})
}
