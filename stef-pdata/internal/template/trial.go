// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package template

// trial is whether templates pay for the bodies of one resource and scope. They
// do if the same ones return: a new template is sent whole and fills the
// dictionary, one that was sent costs a number.
type trial struct {
	bodies int // Of late
	fresh  int // with a template not seen before
	text   int // bytes in them
	params int // bytes of it that are parameters, with their numbers
	paused int // containers to come that are not tried
	pause  int // how long the last pause was

	last *textShape // Of the last body
	seed uint64     // for headOf: each resource has bodies of its own
}

// trialKey is a resource and a scope.
type trialKey struct{ resource, scope uint32 }

const (
	// newTemplates may be new whatever the share, so that a start is no failure.
	newTemplates = 64
	// bodiesPerTemplate is how many bodies a template has to serve. With fewer the
	// streams of real logs were still smaller, but took half as long again to make.
	bodiesPerTemplate = 4
	// paramBytes is what a parameter takes beside its text. Where parameters are more
	// than mostShare per cent of texts that have shortBody bytes or more on average,
	// as in access logs, templates save zstd nothing but make twice the work.
	paramBytes  = 1
	mostShare   = 55
	shortBody   = 100
	trialMemory = 4096 // bodies
	maxPause    = 64
)

// Trial returns the trial of a resource and scope.
func (s *Splitter) Trial(resource, scope uint32) *trial {
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

// weigh counts what of a text would be written besides the template.
func (t *trial) weigh(text string, params []Span) {
	t.text += len(text)
	for _, p := range params {
		t.params += int(p.To-p.From) + paramBytes
	}
}

// end ends a container, or a part of one, and says whether its bodies are to have
// templates. If not, the next ones are left alone for a while, which gets longer:
// what bodies are like changes rarely.
func (t *trial) end() bool {
	if t.paused > 0 {
		t.paused--
		return false
	}
	returns := (t.fresh-newTemplates)*bodiesPerTemplate <= t.bodies
	pays := returns && (100*t.params <= mostShare*t.text || t.text < shortBody*t.bodies)
	switch {
	case !pays:
		t.pause = min(2*t.pause+1, maxPause)
		t.paused = t.pause
		t.bodies, t.fresh, t.text, t.params = 0, newTemplates, 0, 0
	case t.bodies > trialMemory:
		t.bodies, t.fresh, t.text, t.params, t.pause = t.bodies/2, t.fresh/2, t.text/2, t.params/2, 0
	}
	return pays
}
