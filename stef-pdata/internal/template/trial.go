// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

import "slices"

// trial measures whether templates make the bodies of one resource and scope smaller.
// They do if the same templates recur: a new template is sent whole and fills the
// dictionary, and a known template costs only a number. Where they recur, the verdict
// says whether that makes compressed streams smaller.
type trial struct {
	bodies int // number of recent bodies
	fresh  int // bodies with a new template
	text   int // total size of the bodies
	params int // part of text: size of the parameters and their references
	paused int // number of further containers to skip
	pause  int // length of the last pause in containers

	verdict verdict

	last  *textShape // shape of the last body
	links linkList
	seed  uint64 // seed of headOf, because each resource has its own bodies
}

// trialKey is a resource and a scope.
type trialKey struct{ resource, scope uint32 }

const (
	// newTemplates is how many templates may be new regardless of the share, so that
	// the start of a stream does not count as a failure.
	newTemplates = 64
	// bodiesPerTemplate is the minimum number of bodies per template. With fewer,
	// streams of real logs were still smaller, but encoding took 1.5 times as long.
	bodiesPerTemplate = 4
	// paramBytes is the size of a parameter in addition to its text. If parameters are
	// more than mostShare per cent of texts with an average of shortBody bytes or more,
	// as in access logs, templates do not make zstd streams smaller and double the CPU
	// time.
	paramBytes  = 1
	mostShare   = 55
	shortBody   = 100
	trialMemory = 4096 // number of bodies from which the counts are halved
	maxPause    = 64
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

// count counts a body.
func (t *trial) count(fresh bool) {
	t.bodies++
	if fresh {
		t.fresh++
	}
}

// weigh counts the bytes of a text that would be written besides the template.
func (t *trial) weigh(text string, params []Span) {
	t.text += len(text)
	for _, p := range params {
		if p.To > 0 { // references cost nothing
			t.params += int(p.To-p.From) + paramBytes
		}
	}
}

// end ends a container, or a part of one, and reports whether its bodies are written
// as templates. If not, templates are not tried for the next containers. This pause
// gets longer each time, because the kind of bodies rarely changes.
//
// If ordinary templates do not pay, linked ones are tried first.
func (t *trial) end(links bool) bool {
	if t.paused > 0 {
		t.paused--
		return false
	}
	returns := (t.fresh-newTemplates)*bodiesPerTemplate <= t.bodies
	pays := returns && (100*t.params <= mostShare*t.text || t.text < shortBody*t.bodies)
	switch {
	case !pays && links && !t.links.active:
		t.links.active, t.verdict = true, verdict{}
		t.bodies, t.fresh, t.text, t.params = 0, 0, 0, 0
	case !pays:
		t.links.tries = 0
		t.pause = min(2*t.pause+1, maxPause)
		t.paused = t.pause
		t.bodies, t.fresh, t.text, t.params = 0, newTemplates, 0, 0
	case t.bodies > trialMemory:
		t.bodies, t.fresh, t.text, t.params, t.pause = t.bodies/2, t.fresh/2, t.text/2, t.params/2, 0
	}
	return pays
}
