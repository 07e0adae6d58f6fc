// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"bytes"
	"fmt"

	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/idl"
)

func Example() {
	s, err := idl.Parse("reading.stef", []byte(`
		package example
		struct Reading root { Sensor string dict(Sensor)  Celsius float64  Note string optional }
	`))
	if err != nil {
		panic(err)
	}
	root := s.Root("Reading")

	var stream bytes.Buffer
	w, err := dynamic.NewWriter(&stream, root)
	if err != nil {
		panic(err)
	}
	rec := dynamic.NewStruct(root)
	rec.Fields[0] = "roof"
	for _, celsius := range []float64{20, 20.5} {
		rec.Fields[1] = celsius
		if err := w.Write(rec); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}

	r, err := dynamic.NewReader(&stream, root)
	if err != nil {
		panic(err)
	}
	for r.Next() {
		line, err := dynamic.AppendJSON(nil, root, nil, r.Record())
		if err != nil {
			panic(err)
		}
		fmt.Println(string(line))
	}
	fmt.Println(r.Records(), "records,", r.Err())
	// Output:
	// {"sensor":"roof","celsius":{"v":"20","bits":"4034000000000000"},"note":null}
	// {"sensor":"roof","celsius":{"v":"20.5","bits":"4034800000000000"},"note":null}
	// 2 records, <nil>
}
