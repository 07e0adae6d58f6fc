// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sumOfLimits adds up the table in section "Memory" of the README, in MiB, for a number of
// processors. It omits the memory per stream.
func sumOfLimits(c *Config, processors int) int64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	const record, small = 32, 4
	permits, large := maxConcurrentDecoders(), maxLargePermits()
	message, batch := c.maxMessage()/mib, int64(c.MaxBatchMiB)
	return c.receiving()/mib +
		2*int64(c.Limits.MemoryLimitMiB) + message +
		int64(c.Limits.StreamMemoryLimitMiB) +
		permits*(batch+record+int64(c.Limits.MaxFrameMiB)+int64(c.Limits.MaxChunkMiB)) +
		3*int64(c.Admission.RequestLimitMiB) +
		permits*(batch+record) +
		permits*(2*small+8) + large*(2*message+8)
}

// TestSumsOfMemory calculates the sums in section "Memory" of the README with the formulas of this
// section, for the configurations in its tables.
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
	require.EqualValues(t, sumOfLimits(createDefaultConfig().(*Config), 2), number(string(sum[1])))
	more := regexp.MustCompile(`([0-9,]+) MiB \+ 4 MiB a stream with (\d)`).FindAllSubmatch(text, -1)
	require.Len(t, more, 2)
	for _, m := range more {
		require.EqualValues(t, sumOfLimits(createDefaultConfig().(*Config), number(string(m[2]))), number(string(m[1])))
	}
	require.Contains(t, string(text), fmt.Sprintf("Each two further processors add %d MiB: the sum is", furtherProcessors(createDefaultConfig().(*Config))))

	// fixed is the part of the sum that does not depend on the options in the README table of small
	// pods. These options are 0 here. Only max_recv_msg_size_mib cannot be 0: 4 MiB is its minimum,
	// so the terms that depend on it are subtracted.
	least := createDefaultConfig().(*Config)
	least.ServerConfig.MaxRecvMsgSizeMiB, least.Limits, least.Admission = 4, LimitsConfig{}, AdmissionConfig{}
	const message = 4
	fixed := sumOfLimits(least, 2) - least.receiving()/mib - 3*message
	require.Contains(t, string(text), fmt.Sprintf("with 4 permits, %d MiB of the sum do not depend on these keys", fixed))

	pods := regexp.MustCompile(`(?m)^ *\| (\d) GiB \| (.*) \|$`).FindAllSubmatch(text, -1)
	require.Len(t, pods, 2)
	header := regexp.MustCompile(`(?m)^ *\| pod \| (.*) \|$`).FindSubmatch(text)
	require.NotNil(t, header)
	further := regexp.MustCompile(`(?s)Each two\s+further processors add (\d+) MiB to the sum of the first row, and (\d+) MiB .* with 8 processors, the sums are\s+([0-9,]+) MiB and ([0-9,]+) MiB`).FindSubmatch(text)
	require.NotNil(t, further)
	for row, pod := range pods {
		c := createDefaultConfig().(*Config)
		cells := strings.Split(string(pod[2]), " | ")
		require.Len(t, cells, 9)
		names := strings.Split(string(header[1]), " | ")
		for i, key := range []*int{&c.ServerConfig.MaxRecvMsgSizeMiB, &c.Limits.MaxChunkMiB, &c.Limits.MaxFrameMiB, &c.Limits.MemoryLimitMiB,
			&c.Limits.StreamMemoryLimitMiB, &c.Admission.RequestLimitMiB, &c.Limits.MaxStreams} {
			*key = number(cells[i])
			if string(pod[1]) == "1" { // the README has the configuration of this pod
				_, name, section := strings.Cut(strings.Trim(names[i], "`"), "::")
				if !section {
					name = strings.Trim(names[i], "`")
				}
				require.Contains(t, string(text), fmt.Sprintf(" %s: %s\n", name, cells[i]))
			}
		}
		require.NoError(t, c.Validate())
		require.NoError(t, c.Limits.Validate())
		require.EqualValues(t, furtherProcessors(c), number(string(further[1+row])))
		require.EqualValues(t, int(sumOfLimits(c, 8))+aStream*c.Limits.MaxStreams, number(string(further[3+row])))
		all := int(sumOfLimits(c, 2)) + aStream*c.Limits.MaxStreams
		require.Equal(t, all, number(cells[7]))
		streams := c.Limits.MaxStreams // an agent has 3 streams, and 6 streams while they are replaced
		require.Equal(t, fmt.Sprintf("%d to %d", streams/6, streams/3), cells[8])
		require.InDelta(t, 0.8*1024*float64(number(string(pod[1]))), all, aStream, "four fifths of the pod")
	}
}

// furtherProcessors returns by how many MiB the sum grows with two further processors. It does not use
// one further processor: one does not always increase the number of large requests that are
// decompressed at the same time.
func furtherProcessors(c *Config) int64 { return sumOfLimits(c, 4) - sumOfLimits(c, 2) }

// TestSumsOfPages checks the sums that the pages about scale and threats repeat from the README.
func TestSumsOfPages(t *testing.T) {
	f := func(page string, wants ...string) {
		t.Helper()
		text, err := os.ReadFile("../../docs/" + page)
		require.NoError(t, err)
		joined := strings.Join(strings.Fields(string(text)), " ")
		for _, want := range wants {
			require.Contains(t, joined, want)
		}
	}
	c := createDefaultConfig().(*Config)
	thousands := func(n int64) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }
	two, eight, each := sumOfLimits(c, 2), sumOfLimits(c, 8), furtherProcessors(c)
	require.Equal(t, eight, two+3*each)
	const streamMiB, allowed = 4, 8192
	f("threat-model.md", fmt.Sprintf("at most %s MiB, plus %d MiB for each stream or request", thousands(two), streamMiB),
		fmt.Sprintf("Each two further processors add %d MiB.", each))
	f("scale.md", "| memory of a receiver that you allow, M | 8 GiB |", "| cores of a receiver, K, half of them used | 8 |",
		fmt.Sprintf("at most %s MiB, plus %d MiB for each stream, on two cores", thousands(two), streamMiB),
		fmt.Sprintf("Each two further cores add %d MiB: %s MiB on the 8 cores of the table", each, thousands(eight)),
		fmt.Sprintf("(M - %s MiB - (K - 2) × %d MiB) / %d MiB streams: %d with 8 GiB and 8 cores, and %s with 8 GiB and two cores",
			thousands(two), each/2, streamMiB, (allowed-eight)/streamMiB, thousands((allowed-two)/streamMiB)))
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
