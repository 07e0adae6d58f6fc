// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"fmt"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelstef/stef/internal/otlpfile"
)

// LogSize is the mean size of a log message in the transport tuning study of AxoSyslog, in
// bytes. The benchmarks repeat the measurements of that study: see transport.md.
const LogSize = 1137

// phrases are the parts of synthetic log lines, with a number in each.
var phrases = []string{
	"request handled by upstream checkout-backend in %d ms with status OK; ",
	"session refreshed from cache shard %d after the token of the user had expired; ",
	"retrying connection to the payment gateway, attempt %d of 10000, backing off; ",
	"queue worker picked up order %d and passed it on to fulfilment; ",
	"inventory lookup returned %d items within the configured deadline; ",
	"closing idle connection to the recommendation service, %d bytes were written; ",
	"feature flag evaluation took %d us for the current visitor; ",
	"address validation skipped because the profile of customer %d is complete; ",
}

// Logs generates a batch of log records with bodies of about LogSize bytes,
// like those of a relay in a Kubernetes cluster. The bodies are lines of JSON. About
// nine tenths of a line repeat earlier lines, so the bodies compress as well as the
// bodies of the study.
func Logs(records int, n uint64) otlpfile.Batch {
	random := rand.New(rand.NewPCG(1137, n))
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("k8s.cluster.name", "benchmark")
	rl.Resource().Attributes().PutStr("k8s.namespace.name", "shop")
	to := rl.ScopeLogs().AppendEmpty().LogRecords()
	now := begin.Add(time.Duration(n) * time.Second)
	for i := range records {
		lr := to.AppendEmpty()
		at := now.Add(time.Duration(i) * 1013 * time.Microsecond)
		lr.SetTimestamp(pcommon.NewTimestampFromTime(at))
		lr.SetObservedTimestamp(pcommon.NewTimestampFromTime(at.Add(time.Duration(random.IntN(1e9)))))
		lr.SetSeverityNumber(plog.SeverityNumberInfo)
		lr.SetSeverityText("info")
		pod := random.IntN(40)
		lr.Attributes().PutStr("k8s.pod.name", fmt.Sprintf("checkout-7d9f8b6c5-%04d", pod))
		lr.Attributes().PutStr("k8s.container.name", "checkout")
		lr.Attributes().PutStr("log.iostream", "stdout")
		lr.Body().SetStr(line(random, at, pod))
	}
	return otlpfile.LogsBatch(ld)
}

func line(random *rand.Rand, at time.Time, pod int) string {
	b := make([]byte, 0, LogSize+64)
	b = fmt.Appendf(b, `{"ts":%q,"level":"info","logger":"com.example.shop.checkout.PaymentHandler","thread":"http-nio-8080-exec-%d","pod":"checkout-7d9f8b6c5-%04d",`+
		`"trace_id":"%016x%016x","span_id":"%016x","message":"`, at.Format(time.RFC3339Nano), random.IntN(16), pod, random.Uint64(), random.Uint64(), random.Uint64())
	for len(b) < LogSize-40 {
		b = fmt.Appendf(b, phrases[random.IntN(len(phrases))], random.IntN(10000))
	}
	return string(append(b, `","code":200}`...))
}
