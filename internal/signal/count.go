// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package signal

import "google.golang.org/protobuf/encoding/protowire"

// The items of a refused request are counted without decoding it, because the refusal is
// meant to save the memory of decoding. The requests of all signals have the same structure: a
// request contains resources, a resource contains scopes, and a scope contains
// spans, log records or metrics. Metrics contain points.
const (
	fieldContainers protowire.Number = 1 // resources of a request
	fieldScopes     protowire.Number = 2 // scopes of a resource
	fieldItems      protowire.Number = 2 // items of a scope
	fieldPoints     protowire.Number = 1 // points in the data of a metric

	fieldOldScopes protowire.Number = 1000 // scopes of a resource of an old sender
)

// The fields of a metric that contain its points, one field for each type of metric.
var fieldsData = [...]protowire.Number{5, 7, 9, 10, 11}

func countSpans(request []byte) int {
	return countItems(request, func([]byte) int { return 1 })
}

func countLogRecords(request []byte) int { return countSpans(request) }

func countPoints(request []byte) int { return countItems(request, countMetric) }

func countItems(request []byte, count func(item []byte) int) int {
	n := 0
	messages(request, fieldContainers, func(resource []byte) {
		scopes := 0
		add := func(scope []byte) {
			scopes++
			messages(scope, fieldItems, func(item []byte) { n += count(item) })
		}
		if messages(resource, fieldScopes, add); scopes == 0 {
			messages(resource, fieldOldScopes, add) // pdata also reads these scopes only if there are no other scopes
		}
	})
	return n
}

func countMetric(metric []byte) int {
	n := 0
	for _, field := range fieldsData {
		messages(metric, field, func(data []byte) {
			messages(data, fieldPoints, func([]byte) { n++ })
		})
	}
	return n
}

// messages calls the function each for every message in a field of a message, up to the first
// byte that is not protobuf.
func messages(message []byte, field protowire.Number, each func([]byte)) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		message = message[n:]
		if number == field && kind == protowire.BytesType {
			inner, n := protowire.ConsumeBytes(message)
			if n < 0 {
				return
			}
			each(inner)
			message = message[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return
		}
		message = message[n:]
	}
}
