// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelstef/stef/internal/confkeys"
	stef "github.com/otelstef/stef/stef-go"
)

const mib = 1 << 20

// Config is the configuration of the receiver.
type Config struct {
	// Include are the patterns of the files to follow, in the syntax of filepath.Match. At least
	// one pattern is required. Files whose names end in ".damaged" are never followed.
	Include []string `mapstructure:"include"`
	// Exclude are patterns of files to ignore.
	Exclude []string `mapstructure:"exclude"`
	// PollInterval is how often the receiver looks for new files and data.
	PollInterval time.Duration `mapstructure:"poll_interval"`
	// SettleTime is the time without changes after which a file counts as finished,
	// unless its name already says that it is finished.
	SettleTime time.Duration `mapstructure:"settle_time"`
	// OnFinished says what happens with files that were delivered.
	OnFinished OnFinished `mapstructure:"on_finished"`
	// MoveTo is the folder for OnFinished "move".
	MoveTo string `mapstructure:"move_to"`
	// AssumeSignal is the signal of files whose name and headers do not determine a signal.
	AssumeSignal string `mapstructure:"assume_signal"`
	// ReadDictionaries are the files of shared dictionaries. Messages of the encoding
	// extension may need these dictionaries.
	ReadDictionaries []string `mapstructure:"read_dictionaries"`
	// StorageID is the storage extension that stores how far each file was delivered.
	StorageID *component.ID `mapstructure:"storage"`
	// MaxBatchItems is the maximum number of items in a batch.
	MaxBatchItems int `mapstructure:"max_batch_items"`
	// MaxBatchMiB is the maximum size of a batch as OTLP. A larger record, up to 32 MiB,
	// becomes a batch of its own.
	MaxBatchMiB int `mapstructure:"max_batch_mib"`
	// RetryConfig configures the retries of batches that the pipeline refuses
	// temporarily.
	RetryConfig configretry.BackOffConfig `mapstructure:"retry_on_failure"`
	// ShutdownTimeout is how long a shutdown waits until the pipeline has processed the
	// current batch.
	ShutdownTimeout time.Duration `mapstructure:"shutdown_timeout"`
	// Limits bound the resources that files may use.
	Limits LimitsConfig `mapstructure:"limits"`

	onceLog *onceLog // what the receivers of all signals logged; nil without createDefaultConfig

	_ struct{}
}

// OnFinished says what happens with files that were delivered.
type OnFinished string

// The values of OnFinished.
const (
	Keep   OnFinished = "keep"
	Delete OnFinished = "delete"
	Move   OnFinished = "move"
)

// LimitsConfig bounds the resources that files may use.
type LimitsConfig struct {
	// MaxFrameMiB bounds a frame, before and after decompression.
	MaxFrameMiB int `mapstructure:"max_frame_mib"`
	// MaxRecordAllocMiB bounds the memory that one record may allocate.
	MaxRecordAllocMiB int `mapstructure:"max_record_alloc_mib"`
	// MaxDictMiB bounds the dictionaries of one file.
	MaxDictMiB int `mapstructure:"max_dict_mib"`
	// MaxOpenFiles bounds the files of one signal that are open at the same time.
	MaxOpenFiles int `mapstructure:"max_open_files"`

	_ struct{}
}

func createDefaultConfig() component.Config {
	retry := configretry.NewDefaultBackOffConfig()
	retry.InitialInterval = time.Second
	retry.MaxElapsedTime = 0 // retry without a limit: the data stays in the file
	return &Config{
		PollInterval:    200 * time.Millisecond,
		SettleTime:      10 * time.Second,
		OnFinished:      Keep,
		MaxBatchItems:   8192,
		MaxBatchMiB:     8,
		RetryConfig:     retry,
		ShutdownTimeout: 5 * time.Second,
		onceLog:         &onceLog{loggedAt: map[string]time.Time{}, pipelines: map[string]bool{}, reported: map[string]bool{}},
		Limits: LimitsConfig{
			MaxFrameMiB:       32,
			MaxRecordAllocMiB: 16,
			MaxDictMiB:        64,
			MaxOpenFiles:      32,
		},
	}
}

var (
	_ confmap.Unmarshaler = (*Config)(nil)
	_ confmap.Validator   = (*Config)(nil)
)

var configKeys = confkeys.Keys{
	Sections: []confkeys.Section{
		confkeys.Of[Config](""),
		confkeys.Of[LimitsConfig]("limits"),
	},
	Hints: map[string]string{
		"path":              "set include to a list of patterns, such as [/var/telemetry/*.stef*]",
		"directory":         "set include to a list of patterns, such as [/var/telemetry/*.stef*]",
		"delete_after_read": "set on_finished to delete",
		"dictionary":        "set read_dictionaries to a list with the file that is set as dictionary in stef_encoding of the sender",
		"start_at":          "this receiver always reads files from their beginning; set storage to remember what was delivered",
	},
	Choices: map[string]string{
		"on_finished":   "keep, delete or move",
		"assume_signal": "traces, metrics or logs",
	},
}

// Unmarshal reports unknown keys with a suggestion.
func (c *Config) Unmarshal(conf *confmap.Conf) error {
	return configKeys.Read(conf.ToStringMap(), func() error { return conf.Unmarshal(c) })
}

// Validate reports all errors in the configuration.
func (c *Config) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(c.Include) == 0 {
		fail("include is missing: set it to a list of patterns, such as [/var/telemetry/*.stef*]")
	}
	for key, patterns := range map[string][]string{"include": c.Include, "exclude": c.Exclude} {
		for _, p := range patterns {
			if _, err := filepath.Match(p, ""); err != nil || p == "" {
				fail("%s has the pattern %q, which is malformed: use *, ? and [a-z] as in patterns of a shell", key, p)
			} else if strings.Contains(p, "**") {
				fail("%s has the pattern %q, but ** is not supported: name each depth, such as %s", key, p, depths(p))
			}
		}
	}
	errs = append(errs,
		confkeys.DurationAtLeast("poll_interval", c.PollInterval, 10*time.Millisecond, "the default is 200ms"),
		confkeys.DurationAtLeast("settle_time", c.SettleTime, time.Second, "with a shorter time, files that are still being written could count as finished; the default is 10s"),
		confkeys.DurationAtLeast("shutdown_timeout", c.ShutdownTimeout, time.Millisecond, "the default is 5s"),
		confkeys.Retries(c.RetryConfig.InitialInterval, c.RetryConfig.MaxInterval, c.RetryConfig.MaxElapsedTime),
		confkeys.OneOf("on_finished", c.OnFinished, Keep, Delete, Move),
		confkeys.OneOf("assume_signal", c.AssumeSignal, "", "traces", "metrics", "logs"),
		confkeys.Between("max_batch_items", c.MaxBatchItems, 1, math.MaxInt32, "the default is 8192"),
		confkeys.Between("max_batch_mib", c.MaxBatchMiB, 1, maxMiB, "the default is 8"),
	)
	if len(c.ReadDictionaries) > maxDictionaries {
		fail("read_dictionaries has %d files, at most %d are allowed", len(c.ReadDictionaries), maxDictionaries)
	}
	if (c.OnFinished == Move) != (c.MoveTo != "") {
		fail("on_finished is %q and move_to is %q: set move_to to a folder if, and only if, on_finished is move", string(c.OnFinished), c.MoveTo)
	}
	for _, p := range c.Include {
		if ok, _ := filepath.Match(filepath.Dir(p), filepath.Clean(c.MoveTo)); ok && c.MoveTo != "" {
			fail("move_to is %q, but the pattern %q of include may match files in this folder: they would be delivered again; use another folder", c.MoveTo, p)
		}
	}
	return errors.Join(errs...)
}

// depths returns replacements for a pattern with **, which is not supported: one pattern
// for the folder itself, and one for its direct subfolders.
func depths(pattern string) string {
	before, after, _ := strings.Cut(pattern, "**")
	rest, folder := strings.CutPrefix(after, "/")
	if !folder || before != "" && !strings.HasSuffix(before, "/") {
		return before + "*" + after + " and " + before + "*/*" + after
	}
	return before + rest + " and " + before + "*/" + rest
}

// maxDictionaries is the number of dictionaries that a reader can use.
const maxDictionaries = 4

// maxMiB bounds each limit, so that sums of limits fit into an int on all platforms.
const maxMiB = 512

// Validate reports invalid limits.
func (c *LimitsConfig) Validate() error {
	const formatMiB = stef.MaxFrameBytes / mib
	return errors.Join(
		confkeys.Between("max_frame_mib", c.MaxFrameMiB, 1, formatMiB, fmt.Sprintf("the format allows no frame above %d MiB, the default is 32", formatMiB)),
		confkeys.Between("max_record_alloc_mib", c.MaxRecordAllocMiB, 1, maxMiB, "the default is 16"),
		confkeys.Between("max_dict_mib", c.MaxDictMiB, 1, maxMiB, "the default is 64"),
		confkeys.Between("max_open_files", c.MaxOpenFiles, 1, 100_000, "the default is 32"),
	)
}

// limits returns the limits of readers.
func (c *Config) limits() stef.Limits {
	return stef.Limits{
		FrameBytes:  c.Limits.MaxFrameMiB * mib,
		RecordBytes: c.Limits.MaxRecordAllocMiB * mib,
		DictBytes:   c.Limits.MaxDictMiB * mib,
	}
}
