// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package otelstef_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"slices"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/otelstef"
)

// A writer has one record, which keeps its values between calls of Write. Set the
// fields that change, then call Write.
func Example() {
	var stream bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&stream, stef.WithCompression(stef.Zstd))
	if err != nil {
		log.Fatal(err)
	}
	rec := w.Record()
	rec.EditMetric().SetName("http.server.requests")
	rec.EditMetric().SetType(otelstef.MetricTypeSum)
	rec.EditMetric().SetAggregationTemporality(otelstef.AggregationTemporalityCumulative)
	rec.EditMetric().SetMonotonic(true)
	rec.Attributes().SetLen(1)
	for i, route := range []string{"/login", "/cart", "/cart"} {
		rec.Attributes().SetString(0, "http.route", route)
		rec.Point().SetTimestamp(1_700_000_000_000_000_000 + uint64(i)*1_000_000_000)
		rec.Point().Value().SetInt64(int64(10 * i))
		if err := w.Write(); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	r, err := otelstef.NewMetricsReader(&stream)
	if err != nil {
		log.Fatal(err)
	}
	for r.Next() {
		rec := r.Record()
		fmt.Println(rec.Metric().Name(), rec.Attributes().Value(0).Str(), rec.Point().Value().Int64())
	}
	if err := r.Err(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// http.server.requests /login 0
	// http.server.requests /cart 10
	// http.server.requests /cart 20
}

// Create values of dictionary structs once if records use them repeatedly, and set them
// by pointer. They must not change afterwards.
func Example_shared() {
	resources := map[string]*otelstef.Resource{}
	for _, name := range []string{"frontend", "checkout"} {
		r := otelstef.NewResource()
		r.Attributes().SetLen(1)
		r.Attributes().SetString(0, "service.name", name)
		resources[name] = r
	}

	var stream bytes.Buffer
	w, err := otelstef.NewLogsWriter(&stream)
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range []struct{ service, text string }{
		{"frontend", "hello"}, {"frontend", "cart is empty"}, {"checkout", "paid"}, {"frontend", "bye"},
	} {
		w.Record().SetResource(resources[line.service])
		w.Record().Record().Body().SetString(line.text)
		if err := w.Write(); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	r, err := otelstef.NewLogsReader(&stream)
	if err != nil {
		log.Fatal(err)
	}
	for r.Next() {
		// Modified returns the changes since the previous record. So a backend looks up
		// a resource only when it has changed.
		if r.Record().Modified()&otelstef.LogsFieldResource != 0 {
			fmt.Println(r.Record().Resource().Attributes().Value(0).Str() + ":")
		}
		text, _ := r.Record().Record().Body().Text()
		fmt.Println("-", text)
	}
	// Output:
	// frontend:
	// - hello
	// - cart is empty
	// checkout:
	// - paid
	// frontend:
	// - bye
}

// A gateway adds an attribute to each resource. With EditResource for each record, every record
// would change the resource. The program copies and changes each resource once instead. It
// finds the copy by the pointer of the original: a reader returns the same pointer for a
// repeated resource while its dictionary contains the resource.
func Example_gateway() {
	r, err := otelstef.NewLogsReader(logsOfTwo()) // in a program: a file or a stream
	if err != nil {
		log.Fatal(err)
	}
	var out bytes.Buffer
	w, err := otelstef.NewLogsWriter(&out)
	if err != nil {
		log.Fatal(err)
	}
	changed := map[*otelstef.Resource]*otelstef.Resource{}
	for r.Next() {
		from := r.Record().Resource()
		resource := changed[from]
		if resource == nil {
			if len(changed) == 1000 { // bounds the memory of the map in a long stream
				clear(changed)
			}
			resource = otelstef.NewResource()
			resource.CopyFrom(from)
			resource.Attributes().AppendString("region", "north")
			changed[from] = resource
		}
		w.Record().CopyFrom(r.Record())
		w.Record().SetResource(resource)
		if err := w.Write(); err != nil {
			log.Fatal(err)
		}
	}
	if err := errors.Join(r.Err(), w.Close()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(changed), "resources were changed")

	r, err = otelstef.NewLogsReader(&out)
	if err != nil {
		log.Fatal(err)
	}
	for r.Next() {
		if r.Record().Modified()&otelstef.LogsFieldResource != 0 {
			fmt.Println(r.Record().Resource().Attributes())
		}
		text, _ := r.Record().Record().Body().Text()
		fmt.Println("-", text)
	}
	// Output:
	// 2 resources were changed
	// {"service.name":"frontend","region":"north"}
	// - hello
	// - cart is empty
	// {"service.name":"checkout","region":"north"}
	// - paid
	// {"service.name":"frontend","region":"north"}
	// - bye
}

// logsOfTwo returns a stream of log records of two resources.
func logsOfTwo() io.Reader {
	var stream bytes.Buffer
	w, err := otelstef.NewLogsWriter(&stream)
	if err != nil {
		log.Fatal(err)
	}
	resources := map[string]*otelstef.Resource{}
	for _, line := range [][2]string{{"frontend", "hello"}, {"frontend", "cart is empty"}, {"checkout", "paid"}, {"frontend", "bye"}} {
		resource := resources[line[0]]
		if resource == nil {
			resource = otelstef.NewResource()
			resource.Attributes().AppendString("service.name", line[0])
			resources[line[0]] = resource
		}
		w.Record().SetResource(resource)
		w.Record().Record().Body().SetString(line[1])
		if err := w.Write(); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	return &stream
}

// A writer may write a text body as a template with parameters, and the observed time as a difference from
// the time of the record. Text and Observed return the plain text and time in every case.
func ExampleLogBody_Text() {
	var stream bytes.Buffer
	w, err := otelstef.NewLogsWriter(&stream)
	if err != nil {
		log.Fatal(err)
	}
	rec := w.Record().Record()
	for i, user := range []string{"ann", "bob"} {
		rec.SetTime(uint64(1000 * i))
		rec.SetObservedDelta(5)
		body := rec.Body().SetTemplate()
		body.SetTemplate("\x00 logged in")
		body.Params().SetLen(1)
		body.Params().SetValue(0, user)
		if err := w.Write(); err != nil {
			log.Fatal(err)
		}
	}
	rec.Body().SetString("shutting down")
	if err := errors.Join(w.Write(), w.Close()); err != nil {
		log.Fatal(err)
	}

	r, err := otelstef.NewLogsReader(&stream)
	if err != nil {
		log.Fatal(err)
	}
	for r.Next() {
		rec := r.Record().Record()
		text, ok := rec.Body().Text()
		fmt.Println(rec.Observed(), text, ok)
	}
	if err := r.Err(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 5 ann logged in true
	// 1005 bob logged in true
	// 1005 shutting down true
}

// Run returns how many of the next records do not change the given fields, here the metric. So a program
// can handle all points of a metric together.
func ExampleMetricsReader_Run() {
	var stream bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&stream)
	if err != nil {
		log.Fatal(err)
	}
	for i := range 7 {
		w.Record().EditMetric().SetName([]string{"cpu", "memory"}[i/4])
		w.Record().Point().SetTimestamp(uint64(i))
		if err := w.Write(); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	r, err := otelstef.NewMetricsReader(&stream)
	if err != nil {
		log.Fatal(err)
	}
	for r.Next() {
		points := make([]uint64, 0, 1+r.Run(otelstef.MetricsFieldMetric))
		points = append(points, r.Record().Point().Timestamp())
		for len(points) < cap(points) && r.Next() {
			points = append(points, r.Record().Point().Timestamp())
		}
		fmt.Println(r.Record().Metric().Name(), points)
	}
	// Output:
	// cpu [0 1 2 3]
	// memory [4 5 6]
}

// Every implementation can read streams in the published schema. Fields that this
// schema does not have are omitted.
func ExamplePublishedSpans() {
	var stream bytes.Buffer
	w, err := otelstef.NewSpansWriter(&stream, otelstef.PublishedSpans())
	if err != nil {
		log.Fatal(err)
	}
	span := w.Record().Span()
	span.SetName("GET /cart")
	span.SetDroppedAttributesCount(1)
	span.SetDroppedLinksCount(2) // not in the published schema
	if err := errors.Join(w.Write(), w.Close()); err != nil {
		log.Fatal(err)
	}
	r, err := otelstef.NewSpansReader(&stream)
	if err != nil {
		log.Fatal(err)
	}
	for r.Next() {
		span := r.Record().Span()
		fmt.Println(span.Name(), span.DroppedAttributesCount(), span.DroppedLinksCount())
	}
	// Output: GET /cart 1 0
}

// A program can detect by the schema of a stream whether it has the compact form.
func ExampleCompactSpans() {
	for _, options := range [][]stef.WriterOption{nil, {otelstef.CompactSpans()}} {
		var stream bytes.Buffer
		w, err := otelstef.NewSpansWriter(&stream, options...)
		if err != nil {
			log.Fatal(err)
		}
		if err := w.Close(); err != nil {
			log.Fatal(err)
		}
		r, err := otelstef.NewSpansReader(&stream)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("compact:", slices.Equal(r.Schema(), otelstef.SpansCompactSchema()))
	}
	// Output:
	// compact: false
	// compact: true
}

// From a truncated stream, a reader returns the records of all complete frames, and then
// an error with its location. A changed byte is an error only if it makes the stream
// invalid: frames have checksums only with stef.WithChecksums.
func Example_errors() {
	var stream bytes.Buffer
	w, err := otelstef.NewMetricsWriter(&stream)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		if err := errors.Join(w.Write(), w.Flush()); err != nil {
			log.Fatal(err)
		}
	}
	cut := stream.Bytes()[:stream.Len()-1]
	r, err := otelstef.NewMetricsReader(bytes.NewReader(cut))
	if err != nil {
		log.Fatal(err)
	}
	records := 0
	for r.Next() {
		records++
	}
	fmt.Println(records, errors.Is(r.Err(), stef.ErrCorrupt))
	var at *stef.FormatError
	if errors.As(r.Err(), &at) {
		fmt.Println("frame", at.Frame)
	}
	// Output:
	// 1 true
	// frame 2
}
