// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steffilereceiver

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/otelstef/stef/internal/signal"
	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/rotate"
)

// rootKey is the key of user data that names the root of the records.
const rootKey = "stef.root"

// errUnknownSignal means that the headers of a file do not determine its signal.
var errUnknownSignal = errors.New("neither the name nor the headers of the file determine its signal: set assume_signal")

// signalByName returns the signal in the name of a file, or "" if the name contains no signal.
func signalByName(path string) string {
	if n, ok := rotate.ParseName(filepath.Base(path)); ok {
		switch n.Signal {
		case signal.Traces.Name, signal.Metrics.Name, signal.Logs.Name:
			return n.Signal
		}
	}
	return ""
}

// signalByHeaders returns the signal that the headers of a file determine. It returns
// "" if the headers are incomplete, and errUnknownSignal if they do not determine a
// signal.
func signalByHeaders(file *os.File, size int64, limits stef.Limits) (string, error) {
	first := section{file, 0, -1}
	of, err := layoutOf(file, size)
	if err != nil || of == undecided {
		return "", err
	}
	if of == manyMessages {
		var ok bool
		if first, ok, err = nextMessage(file, 0, size); err != nil || !ok {
			return "", judge(err)
		}
	}
	var frames rotate.Frames
	for frames.Count() < 0 {
		if ok, err := frames.Next(first, first.size(size)); err != nil || !ok {
			return "", judge(err)
		}
	}
	headers := func() io.Reader { return io.NewSectionReader(first, 0, frames.End()) }
	var names []string
	announced := false
	for _, s := range []struct {
		name, root string
		data       func() (map[string]string, error)
	}{
		{signal.Traces.Name, signal.Traces.Root().Name, func() (map[string]string, error) { return userData(signal.Traces, headers(), limits) }},
		{signal.Metrics.Name, signal.Metrics.Root().Name, func() (map[string]string, error) { return userData(signal.Metrics, headers(), limits) }},
		{signal.Logs.Name, signal.Logs.Root().Name, func() (map[string]string, error) { return userData(signal.Logs, headers(), limits) }},
	} {
		data, err := s.data()
		if errors.Is(err, stef.ErrSchema) {
			announced = true // the stream announces a schema, but of another signal
			continue
		}
		if err != nil {
			return "", judge(err)
		}
		if root := data[rootKey]; root == s.root {
			return s.name, nil
		} else if root == "" {
			names = append(names, s.name)
		}
	}
	if len(names) == 1 && announced {
		return names[0], nil
	}
	return "", errUnknownSignal
}

// userData decodes the headers with the schema of a signal, and returns the user data.
func userData[T any](sig *signal.Descriptor[T], headers io.Reader, limits stef.Limits) (map[string]string, error) {
	dec, err := sig.NewDecoder(headers, nil, stef.WithLimits(limits))
	if err != nil {
		return nil, err
	}
	defer dec.Reader.Close()
	return dec.Reader.UserData(), nil
}
