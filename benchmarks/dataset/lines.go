// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/internal/otlpfile"
)

// A LineKind is a kind of generated lines of logs.
type LineKind struct {
	Name string
	Line func(r *rand.Rand) string
}

func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func address(r *rand.Rand) string { return fmt.Sprintf("10.250.%d.%d", r.IntN(256), r.IntN(256)) }

// LineKinds generate log lines like those of real programs, without attributes. In most kinds
// each line has several words that rarely repeat.
var LineKinds = []LineKind{
	{"access", func(r *rand.Rand) string {
		return fmt.Sprintf(`%s - - [26/Nov/2026:01:%02d:%02d +0000] "GET /api/v1/%s/%s?id=%d HTTP/1.1" %d %d "-" "%s"`, address(r), r.IntN(60), r.IntN(60),
			one(r, "users", "orders", "items", "carts"), one(r, "list", "get", "update", "delete"), r.IntN(1_000_000), one(r, 200, 200, 200, 304, 404, 500), r.IntN(90_000),
			one(r, "curl/8.1", "Go-http-client/1.1", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"))
	}},
	{"blocks", func(r *rand.Rand) string {
		block := int64(r.Uint64())
		switch r.IntN(4) {
		case 0:
			return fmt.Sprintf("Receiving block blk_%d src: /%s:%d dest: /%s:50010", block, address(r), 30_000+r.IntN(30_000), address(r))
		case 1:
			return fmt.Sprintf("PacketResponder %d for block blk_%d terminating", r.IntN(3), block)
		case 2:
			return fmt.Sprintf("Received block blk_%d of size %d from /%s", block, one(r, 67108864, r.IntN(67108864)), address(r))
		}
		return fmt.Sprintf("BLOCK* NameSystem.addStoredBlock: blockMap updated: %s:50010 is added to blk_%d size 67108864", address(r), block)
	}},
	{"json", func(r *rand.Rand) string {
		line, _ := json.Marshal(map[string]any{"level": one(r, "info", "warn", "error"), "ts": 1_790_000_000 + float64(r.IntN(1_000_000))/100, "caller": one(r, "server.go:112", "db.go:45", "cache.go:233"),
			"msg": one(r, "request done", "query slow", "cache miss", "retry"), "user": r.IntN(50_000), "ms": float64(r.IntN(100_000)) / 1000})
		return string(line)
	}},
	{"requests", func(r *rand.Rand) string {
		return fmt.Sprintf("request %d to /%s took %.3f ms, status %d, customer c-%d", r.IntN(10_000_000), one(r, "pay", "cart", "list"), r.ExpFloat64(), one(r, 200, 200, 500), r.IntN(1_000_000))
	}},
	{"ids", func(r *rand.Rand) string {
		return fmt.Sprintf("order %016x-%08x of customer %016x moved to state %s in %d ms", r.Uint64(), r.Uint32(), r.Uint64(), one(r, "paid", "packed", "sent"), r.IntN(900))
	}},
	{"system", func(r *rand.Rand) string {
		return fmt.Sprintf("%s[%d]: %s", one(r, "sshd", "cron", "kernel", "systemd"), one(r, 1, 812, 901, 1423), one(r, "session opened for user root by (uid=0)", "session closed for user root",
			"Started Daily apt activities.", "device eth0 entered promiscuous mode", fmt.Sprintf("Accepted publickey for deploy from %s port %d ssh2", address(r), 1024+r.IntN(60_000))))
	}},
}

// Batches generates batches of lines. Each call returns equal batches.
func (k LineKind) Batches(batches, lines int) (list []otlpfile.Batch) {
	r := rand.New(rand.NewPCG(1, 2))
	now := pcommon.Timestamp(1_790_000_000_000_000_000)
	for range batches {
		ld := plog.NewLogs()
		rl := ld.ResourceLogs().AppendEmpty()
		rl.Resource().Attributes().PutStr("service.name", "shop")
		sl := rl.ScopeLogs().AppendEmpty()
		sl.Scope().SetName("app")
		for range lines {
			now += pcommon.Timestamp(100_000 + r.IntN(3_000_000))
			lr := sl.LogRecords().AppendEmpty()
			lr.SetTimestamp(now)
			lr.SetObservedTimestamp(now + pcommon.Timestamp(r.IntN(900_000)))
			lr.SetSeverityNumber(plog.SeverityNumberInfo)
			lr.SetSeverityText("INFO")
			lr.Body().SetStr(k.Line(r))
		}
		list = append(list, otlpfile.LogsBatch(ld))
	}
	return list
}
