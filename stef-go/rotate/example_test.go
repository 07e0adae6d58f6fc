// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rotate_test

import (
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/rotate"
)

// logError logs faults that no call can return, for example if another process removes a file.
func logError(err error) { log.Print(err) }

func Example() {
	dir, err := os.MkdirTemp("", "telemetry")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	w, err := rotate.New(rotate.Options{Dir: dir, Prefix: "shop", Signal: "traces", MaxBytes: 16 << 20, MaxFiles: 10, OnError: logError},
		func(dst io.Writer) (*otelstef.SpansWriter, error) {
			return otelstef.NewSpansWriter(dst, stef.WithCompression(stef.Zstd), otelstef.CompactSpans())
		})
	if err != nil {
		log.Fatal(err)
	}
	err = w.Write(func(s *otelstef.SpansWriter) error {
		for _, name := range []string{"GET /cart", "GET /order"} {
			s.Record().Span().SetName(name)
			if err := s.Write(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		// An *Error says how many records are lost, and the next Write uses a new file. If
		// the function above fails, the records that it wrote before the error are kept.
		log.Print(err)
	}
	if err := w.Close(); err != nil {
		log.Print(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "shop-*-traces"+rotate.Suffix))
	fmt.Println(len(files), "file with", w.Stats().Records, "spans")
	// Output: 1 file with 2 spans
}

// A program that writes log records. Use EditResource for values that records share; the fields
// of the log record are set directly.
func Example_logs() {
	dir, err := os.MkdirTemp("", "telemetry")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	w, err := rotate.New(rotate.Options{Dir: dir, Signal: "logs", OnError: logError},
		func(dst io.Writer) (*otelstef.LogsWriter, error) {
			return otelstef.NewLogsWriter(dst, stef.WithCompression(stef.Zstd), otelstef.CompactLogs())
		})
	if err != nil {
		log.Fatal(err)
	}
	err = w.Write(func(l *otelstef.LogsWriter) error {
		rec := l.Record() // keeps its content from one Write to the next
		rec.EditResource().Attributes().Reset()
		rec.EditResource().Attributes().AppendString("service.name", "cart")
		for _, text := range []string{"started", "listening"} {
			rec.Record().SetTime(uint64(time.Now().UnixNano()))
			rec.Record().SetSeverityNumber(9) // INFO
			rec.Record().Body().SetString(text)
			rec.Record().Attributes().Reset()
			rec.Record().Attributes().AppendInt64("code.line", 7)
			if err := l.Write(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		log.Print(err)
	}
	if err := w.Close(); err != nil {
		log.Print(err)
	}
	fmt.Println(w.Stats().Records, "log records")
	// Output: 2 log records
}
