// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sumOfLimits adds up the table in section "Memory" of the README, in MiB, without the memory
// per stream, for two processors, which have 4 places to decode.
func sumOfLimits(c *Config) int64 {
	const places, largePlaces, record, small = 4, 1, 32, 4
	message, batch := c.maxMessage()/mib, int64(c.MaxBatchMiB)
	return c.receiving()/mib +
		2*int64(c.Limits.MemoryLimitMiB) + message +
		int64(c.Limits.StreamMemoryLimitMiB) +
		places*(batch+record+int64(c.Limits.MaxFrameMiB)+int64(c.Limits.MaxChunkMiB)) +
		3*int64(c.Admission.RequestLimitMiB) +
		places*(batch+record) +
		places*(2*small+8) + largePlaces*(2*message+8)
}

// TestSumsOfMemory checks the sums in section "Memory" of the README against the formulas
// there, with the configurations that its tables name.
func TestSumsOfMemory(t *testing.T) {
	const aStream = 4
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	number := func(cell string) int {
		n, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSuffix(cell, " MiB"), ",", ""))
		require.NoError(t, err)
		return n
	}
	sum := regexp.MustCompile(`\| sum \| \| ([0-9,]+) MiB \+ 4 MiB a stream \|`).FindSubmatch(text)
	require.NotNil(t, sum)
	require.EqualValues(t, sumOfLimits(createDefaultConfig().(*Config)), number(string(sum[1])))

	// What remains of the sum without the keys for small pods, and without the smallest message.
	least := createDefaultConfig().(*Config)
	least.ServerConfig.MaxRecvMsgSizeMiB, least.Limits, least.Admission = 4, LimitsConfig{}, AdmissionConfig{}
	const message = 4
	fixed := sumOfLimits(least) - least.receiving()/mib - 3*message
	require.Contains(t, string(text), fmt.Sprintf("with 4 places, the parts of the sum that none of these keys lowers are %d MiB", fixed))

	pods := regexp.MustCompile(`(?m)^ *\| (\d) GiB \| (.*) \|$`).FindAllSubmatch(text, -1)
	require.Len(t, pods, 2)
	header := regexp.MustCompile(`(?m)^ *\| pod \| (.*) \|$`).FindSubmatch(text)
	require.NotNil(t, header)
	for _, pod := range pods {
		c := createDefaultConfig().(*Config)
		cells := strings.Split(string(pod[2]), " | ")
		require.Len(t, cells, 9)
		names := strings.Split(string(header[1]), " | ")
		for i, key := range []*int{&c.ServerConfig.MaxRecvMsgSizeMiB, &c.Limits.MaxChunkMiB, &c.Limits.MaxFrameMiB, &c.Limits.MemoryLimitMiB,
			&c.Limits.StreamMemoryLimitMiB, &c.Admission.RequestLimitMiB, &c.Limits.MaxStreams} {
			*key = number(cells[i])
			if string(pod[1]) == "1" { // the README has its configuration
				_, name, section := strings.Cut(strings.Trim(names[i], "`"), "::")
				if !section {
					name = strings.Trim(names[i], "`")
				}
				require.Contains(t, string(text), fmt.Sprintf(" %s: %s\n", name, cells[i]))
			}
		}
		require.NoError(t, c.Validate())
		require.NoError(t, c.Limits.Validate())
		all := int(sumOfLimits(c)) + aStream*c.Limits.MaxStreams
		require.Equal(t, all, number(cells[7]))
		streams := c.Limits.MaxStreams // of an agent: 3, and 6 while they are replaced
		require.Equal(t, fmt.Sprintf("%d to %d", streams/6, streams/3), cells[8])
		require.InDelta(t, 0.8*1024*float64(number(string(pod[1]))), all, aStream, "four fifths of the pod")
	}
}

// TestLargestMessageFits checks that a message of the largest size does not exceed the bound
// of incomplete messages, with the default of gRPC (4 MiB) and with small limits.
func TestLargestMessageFits(t *testing.T) {
	f := func(memoryLimit, message int, want int64) {
		t.Helper()
		c := createDefaultConfig().(*Config)
		c.Limits.MemoryLimitMiB, c.ServerConfig.MaxRecvMsgSizeMiB = memoryLimit, message
		require.Equal(t, want*mib, c.receiving())
		require.Greater(t, c.receiving(), c.maxMessage())
	}
	f(512, 64, 256)
	f(32, 64, 65)
	f(32, 8, 16)
	f(16, 0, 8)
	f(4, 0, 5)
}
