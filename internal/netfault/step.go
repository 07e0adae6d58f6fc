// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package netfault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Kind is the kind of a fault.
type Kind uint8

const (
	KindCut       Kind = iota // Cut
	KindStall                 // Stall for the time Step.For, then Resume
	KindDelay                 // Delay for the time Step.For
	KindRate                  // Rate for the time Step.For
	KindHalfClose             // HalfClose
	KindKill                  // KillAfter
	KindRefuse                // Cut, and Refuse for the time Step.For
	kinds
)

var kindNames = [kinds]string{"cut", "stall", "delay", "rate", "half-close", "kill", "refuse"}

func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Step is one fault. Fields that its kind does not need are zero.
type Step struct {
	Kind      Kind
	Direction Direction
	For       time.Duration // how long the step lasts
	Extra     time.Duration // extra time of a delay, one way
	Bytes     int64         // bytes before a kill; bytes per second of a rate
}

// String returns the step as text for a log: "stall up for 30ms".
func (s Step) String() string {
	text := s.Kind.String()
	if s.Direction != 0 {
		text += " " + s.Direction.String()
	}
	switch s.Kind {
	case KindDelay:
		text += fmt.Sprintf(" by %v", s.Extra)
	case KindRate:
		text += fmt.Sprintf(" at %d B/s", s.Bytes)
	case KindKill:
		text += fmt.Sprintf(" after %d B", s.Bytes)
	}
	if s.For > 0 {
		text += fmt.Sprintf(" for %v", s.For)
	}
	return text
}

// Random draws a step. The arguments bound how long the step lasts, how much it
// delays and after how many bytes it kills.
func Random(r *rand.Rand, longest time.Duration, lastByte int64) Step {
	s := Step{Kind: Kind(r.IntN(int(kinds)))}
	if s.Kind != KindCut && s.Kind != KindRefuse {
		s.Direction = Direction(1 + r.IntN(int(Both)))
	}
	span := func() time.Duration {
		return time.Duration(1 + r.Int64N(int64(max(1, longest)))).Round(time.Microsecond)
	}
	switch s.Kind {
	case KindStall, KindRefuse:
		s.For = span()
	case KindDelay:
		s.For, s.Extra = span(), span()
	case KindRate:
		// The rate is between a tenth and about ten times lastByte per second, so that some
		// bytes still arrive during the step.
		s.For, s.Bytes = span(), max(1, lastByte/10+r.Int64N(10*max(1, lastByte)))
	case KindKill:
		s.Bytes = r.Int64N(max(0, lastByte) + 1)
	}
	return s
}

// Apply executes the step. For a lasting step, Apply returns when the step is
// over, or earlier if ctx ends.
func (f *Faults) Apply(ctx context.Context, s Step) error {
	switch s.Kind {
	case KindCut:
		f.Cut()
	case KindStall:
		f.Stall(s.Direction)
		defer f.Resume(s.Direction)
	case KindDelay:
		f.Delay(s.Direction, s.Extra)
		defer f.Delay(s.Direction, 0)
	case KindRate:
		f.Rate(s.Direction, s.Bytes)
		defer f.Rate(s.Direction, 0)
	case KindHalfClose:
		f.HalfClose(s.Direction)
	case KindKill:
		f.KillAfter(s.Direction, s.Bytes)
	case KindRefuse:
		f.Refuse(true)
		defer f.Refuse(false)
		f.Cut()
	default:
		return fmt.Errorf("netfault: unknown step %v", s.Kind)
	}
	if s.For <= 0 {
		return nil
	}
	return sleep(ctx, s.For)
}
