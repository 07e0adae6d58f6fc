// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

import "go.opentelemetry.io/collector/pdata/plog"

type logSorter struct{ resource, scope uint32 }

func (e *LogsEncoder) collect(lrs plog.LogRecordSlice) {}
func (e *LogsEncoder) writeSorted() error              { return nil }
