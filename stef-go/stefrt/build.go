// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefrt

// sharedCoders has the objects that several columns of a stream share: the dictionaries, and the encoders
// or decoders of types that contain themselves. D is an interface with the methods of dictionaries that
// streams call.
type sharedCoders[D any] struct {
	dicts map[string]any
	all   []D            // the dictionaries in the order in which they were added
	path  map[string]any // the encoders or decoders of the enclosing values, by type
}

// Root registers x, the encoder or decoder of the root. If a value inside the root has the type of
// the root, ShareEncoder or ShareDecoder returns x for it.
func (s *sharedCoders[D]) Root(typ string, x any) { s.path = map[string]any{typ: x} }

// dictOf returns the dictionary with this key. If there is none, it adds an empty one. *T must
// have the methods of D.
func dictOf[T, D any](s *sharedCoders[D], key string) *T {
	if d, ok := s.dicts[key]; ok {
		return d.(*T)
	}
	d := new(T)
	if s.dicts == nil {
		s.dicts = map[string]any{}
	}
	s.dicts[key] = d
	s.all = append(s.all, any(d).(D))
	return d
}

// coderOf returns the encoder or decoder of a type that can contain itself: see ShareEncoder.
func coderOf[C, D any](s *sharedCoders[D], typ string, register func(*C)) *C {
	if c, ok := s.path[typ]; ok {
		return c.(*C)
	}
	if s.path == nil {
		s.path = map[string]any{}
	}
	c := new(C)
	s.path[typ] = c
	register(c)
	delete(s.path, typ)
	return c
}
