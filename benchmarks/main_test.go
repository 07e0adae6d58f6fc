// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package benchmarks

import (
	"os"
	"testing"

	"github.com/otelstef/stef/benchmarks/dataset"
)

func TestMain(m *testing.M) { os.Exit(dataset.Main(m)) }
