// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpdata

// trial is whether templates pay for the bodies of one resource and scope. They
// do if the same ones return: a new template is sent whole and fills the
// dictionary, one that was sent costs a number.
type trial struct {
	bodies int // of late
	fresh  int // with a template not seen before
	paused int // containers to come that are not tried
	pause  int // how long the last pause was

	last *textShape // of the last body
	seed uint64     // for headOf: each resource has bodies of its own
}

// trialKey is a resource and a scope.
type trialKey struct{ resource, scope uint32 }

const (
	// newTemplates may be new whatever the share, so that a start is no failure.
	newTemplates = 64
	// bodiesPerTemplate is how many bodies a template has to serve.
	bodiesPerTemplate = 3
	trialMemory       = 4096 // bodies
	maxPause          = 64
)

// of returns the trial of a resource and scope.
func (s *splitter) of(resource, scope uint32) *trial {
	key := trialKey{resource, scope}
	t := s.trials[key]
	if t == nil {
		if s.trials == nil {
			s.trials = map[trialKey]*trial{}
		}
		t = &trial{seed: uint64(resource)<<32 | uint64(scope)}
		s.trials[key] = t
	}
	return t
}

// count counts a body.
func (t *trial) count(fresh bool) {
	t.bodies++
	if fresh {
		t.fresh++
	}
}

// end ends a container. It says whether all bodies are to have templates, or only
// those whose templates came again.
func (t *trial) end() (all bool) {
	if t.paused > 0 {
		t.paused--
		return false
	}
	all = (t.fresh-newTemplates)*bodiesPerTemplate <= t.bodies
	switch {
	case all:
		t.pause = 0
	case t.fresh*4 > t.bodies*3:
		// Nearly nothing returns. Bodies change rarely, so look again ever
		// more rarely.
		t.pause = min(2*t.pause+1, maxPause)
		t.paused = t.pause
		t.bodies, t.fresh = 0, newTemplates
	}
	if t.bodies > trialMemory {
		t.bodies, t.fresh = t.bodies/2, t.fresh/2
	}
	return all
}
