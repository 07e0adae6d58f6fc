// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/otelstef/stef/internal/otlpfile"
)

// Lines of JSON become one protobuf message.
func Example() {
	in := strings.NewReader(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"7","severityText":"INFO"}]}]}]}
{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"8"},{"timeUnixNano":"9"}]}]}]}
`)
	r, err := otlpfile.Open(in, otlpfile.FormatUnknown, otlpfile.SignalUnknown)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	var out bytes.Buffer
	w, err := otlpfile.NewWriter(&out, otlpfile.Proto, r.Signal())
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		b, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(b.Items(), "records")
		if err := w.Write(b); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
		return
	}

	again, err := otlpfile.Open(&out, otlpfile.FormatUnknown, otlpfile.SignalUnknown)
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := again.Next()
	fmt.Println(again.Compression(), again.Format(), again.Signal(), b.Items(), err)
	// Output:
	// 1 records
	// 2 records
	// none otlp logs 3 <nil>
}
