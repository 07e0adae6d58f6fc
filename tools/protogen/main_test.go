// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

const (
	messages = "../../stef-spec/destination.proto"
	folder   = "../../stef-gogrpc/stefpb"
)

// TestGeneratedIsCurrent generates the code again and compares it with the files of package stefpb.
func TestGeneratedIsCurrent(t *testing.T) {
	files, err := generate(messages)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 {
		t.Fatalf("%d files are generated, not 2", len(files))
	}
	for name, want := range files {
		have, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, want) {
			t.Errorf("%s differs from the code generated from %s: run make generate", name, messages)
		}
	}
}

func TestGenerateRefuses(t *testing.T) {
	f := func(text string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "x.proto")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := generate(file); err == nil {
			t.Errorf("no error for %q", text)
		}
	}
	f("syntax = \"proto3\";\nmessage A { int32 = 1; }\n")
	f("syntax = \"proto3\";\nmessage A {}\n") // no go_package
	if _, err := generate("missing.proto"); err == nil {
		t.Error("no error for a missing file")
	}
}
