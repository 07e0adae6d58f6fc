// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rotate_test

import (
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-go/rotate"
)

func Example() {
	dir, err := os.MkdirTemp("", "telemetry")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	w, err := rotate.New(rotate.Options{Dir: dir, Prefix: "shop", Signal: "traces", MaxBytes: 16 << 20, MaxFiles: 10},
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
		log.Print(err) // the records are lost and counted; the next Write tries a new file
	}
	if err := w.Close(); err != nil {
		log.Print(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "shop-*-traces"+rotate.Suffix))
	fmt.Println(len(files), "file with", w.Stats().Records, "spans")
	// Output: 1 file with 2 spans
}
