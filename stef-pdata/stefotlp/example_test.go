// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefotlp_test

import (
	"bytes"
	"fmt"
	"io"

	"go.opentelemetry.io/collector/pdata/plog"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
	"github.com/otelstef/stef/stef-pdata/stefotlp"
)

func Example() {
	ld := plog.NewLogs()
	lr := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	lr.Body().SetStr("hello")
	message, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
	if err != nil {
		panic(err)
	}

	var stream bytes.Buffer
	w, err := otelstef.NewLogsWriter(&stream, stef.WithCompression(stef.Zstd))
	if err != nil {
		panic(err)
	}
	if err := stefotlp.NewLogsEncoder(w).EncodeOTLP(message); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}

	r, err := otelstef.NewLogsReader(&stream)
	if err != nil {
		panic(err)
	}
	d := stefotlp.NewLogsDecoder(r)
	for {
		message, err := d.AppendOTLP(nil)
		if err == io.EOF {
			break
		}
		if err != nil {
			panic(err)
		}
		ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(message)
		if err != nil {
			panic(err)
		}
		fmt.Println(ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Body().Str())
	}
	// Output: hello
}
