// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import "slices"

// splitPolicy decides whether the bodies of one resource and scope are split into templates. The
// same templates must recur: a new template is sent whole and fills the dictionary, but a
// known template costs only a number. If the templates recur, samples show whether templates
// save enough bytes of compressed streams.
type splitPolicy struct {
	bodies int // number of recent bodies
	fresh  int // bodies with a new template
	paused int // number of further calls of end for which bodies are written as texts
	pause  int // length of the last pause, in calls of end
	// switches is the number of changes from ordinary to reference templates or back.
	// It is counted up to maxSwitches.
	switches int

	decision decision

	last         *textShape // shape of the last body
	refTemplates refTemplateList
	seed         uint64 // seed of headOf, because each resource and scope has its own bodies
}

type policyKey struct{ resource, scope uint32 }

const (
	// newTemplates is the number of new templates that are not counted for bodiesPerTemplate,
	// because at the start of a stream all templates are new.
	newTemplates = 64
	// bodiesPerTemplate is the minimum number of bodies per template. With fewer bodies,
	// streams of real logs were still smaller, but encoding took 1.5 times as long.
	bodiesPerTemplate = 4
	maxSwitches       = 2
	maxCounted        = 4096 // if there are more bodies than this, the counts are halved
	maxPause          = 64
)

// Policy returns the policy of a resource and scope, and makes room for n bodies.
func (s *Splitter) Policy(resource, scope uint32, n int) *splitPolicy {
	s.bodies = slices.Grow(s.bodies, n)
	key := policyKey{resource, scope}
	t := s.policies[key]
	if t == nil {
		if s.policies == nil {
			s.policies = map[policyKey]*splitPolicy{}
		}
		t = &splitPolicy{seed: uint64(resource)<<32 | uint64(scope)}
		s.policies[key] = t
	}
	return t
}

// count counts a body. fresh says that its template is new.
func (t *splitPolicy) count(fresh bool) {
	t.bodies++
	if fresh {
		t.fresh++
	}
}

// endBatch is called after the bodies of a resource and scope in a batch, or after some of these
// bodies. It reports whether the bodies are written as templates. If too many templates are new, it
// returns false, and a pause can begin: a number of calls that return false. Each pause is longer
// than the pause before it, because the kind of bodies rarely changes.
//
// references says that the stream can have reference templates. If so, and if too many templates
// are new, the policy switches between reference templates and ordinary templates: up to
// maxSwitches times before its first pause, and once at each pause.
func (t *splitPolicy) endBatch(references bool) bool {
	if t.paused > 0 {
		t.paused--
		return false
	}
	recur := (t.fresh-newTemplates)*bodiesPerTemplate <= t.bodies
	switch {
	case !recur && references && t.switches < maxSwitches:
		t.switches++
		t.restart(!t.refTemplates.active)
	case !recur:
		t.pause = min(2*t.pause+1, maxPause)
		t.paused = t.pause
		t.restart(references && !t.refTemplates.active)
		t.fresh = newTemplates
	case t.bodies > maxCounted:
		t.bodies, t.fresh, t.pause = t.bodies/2, t.fresh/2, 0
		t.refTemplates.tries.halve()
		t.refTemplates.shapes.halve()
	}
	return recur
}

// restart restarts the policy with reference templates or ordinary templates.
func (t *splitPolicy) restart(references bool) {
	t.decision = decision{}
	t.refTemplates.active, t.refTemplates.tries = references, searchCount{}
	t.bodies, t.fresh = 0, 0
}
