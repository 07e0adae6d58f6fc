// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package stefpdata_test

const raceEnabled = false
