// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package netfault

func newPreciseTimer() timer { return newRuntimeTimer() }
