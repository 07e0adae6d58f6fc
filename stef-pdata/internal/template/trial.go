// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import "slices"

// trial says whether the bodies of one resource and scope are split into templates. The
// same templates must recur: a new template is sent whole and fills the dictionary, but a
// known template costs only a number. If the templates recur, samples show whether templates
// save enough bytes of compressed streams.
type trial struct {
	bodies int // number of recent bodies
	fresh  int // bodies with a new template
	paused int // number of further calls of end for which bodies are written as texts
	pause  int // length of the last pause, in calls of end
	// switches is the number of changes from ordinary to linked templates (see linkList) or back.
	// It is counted up to maxSwitches.
	switches int

	verdict verdict

	last  *textShape // shape of the last body
	links linkList
	seed  uint64 // seed of headOf, because each resource and scope has its own bodies
}

type trialKey struct{ resource, scope uint32 }

const (
	// newTemplates is the number of new templates that bodiesPerTemplate does not count,
	// so that the start of a stream is not a failure.
	newTemplates = 64
	// bodiesPerTemplate is the minimum number of bodies per template. With fewer bodies,
	// streams of real logs were still smaller, but encoding took 1.5 times as long.
	bodiesPerTemplate = 4
	maxSwitches       = 2
	trialMemory       = 4096 // if there are more bodies than this, the counts are halved
	maxPause          = 64
)

// Trial returns the trial of a resource and scope, and makes room for n bodies.
func (s *Splitter) Trial(resource, scope uint32, n int) *trial {
	s.bodies = slices.Grow(s.bodies, n)
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

// count counts a body. fresh says that its template is new.
func (t *trial) count(fresh bool) {
	t.bodies++
	if fresh {
		t.fresh++
	}
}

// end is called after all bodies of a resource and scope in a batch, or after a part of them, and
// reports whether they are written as templates. If not, the next calls return false, too. This
// pause gets longer each time, because the kind of bodies rarely changes.
//
// links says that the stream can have linked templates (see linkList). Then a trial switches
// between linked and ordinary templates: up to maxSwitches times before its first pause, and once
// at each pause.
func (t *trial) end(links bool) bool {
	if t.paused > 0 {
		t.paused--
		return false
	}
	recur := (t.fresh-newTemplates)*bodiesPerTemplate <= t.bodies
	switch {
	case !recur && links && t.switches < maxSwitches:
		t.switches++
		t.use(!t.links.active)
	case !recur:
		t.pause = min(2*t.pause+1, maxPause)
		t.paused = t.pause
		t.use(links && !t.links.active)
		t.fresh = newTemplates
	case t.bodies > trialMemory:
		t.bodies, t.fresh, t.pause = t.bodies/2, t.fresh/2, 0
		t.links.tries.halve()
		t.links.shapes.halve()
	}
	return recur
}

// use restarts the trial with linked templates (see linkList) or ordinary templates.
func (t *trial) use(linked bool) {
	t.verdict = verdict{}
	t.links.active, t.links.tries = linked, attempts{}
	t.bodies, t.fresh = 0, 0
}
