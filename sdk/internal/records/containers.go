// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/otelstef/stef/stef-go/otelstef"
)

// maxContainers bounds the resources and the scopes in the cache of an encoder. When the
// bound is exceeded, the cache is cleared. A process usually has one resource and some
// scopes.
const maxContainers = 1 << 10

// containers caches the converted resources and scopes of a stream.
//
// Several resources with equal attributes remain distinct if their schema URLs
// differ. The OTLP exporter for traces merges such resources.
type containers struct {
	resources map[resourceKey]*entry[otelstef.Resource]
	scopes    map[instrumentation.Scope]*entry[otelstef.Scope]

	// These are the containers of the last item. The next item usually has the same
	// containers.
	resource     *resource.Resource
	lastResource *entry[otelstef.Resource]
	scope        instrumentation.Scope
	lastScope    *entry[otelstef.Scope]
}

// resourceKey identifies a resource by value. A nil resource has the zero key.
type resourceKey struct {
	attributes attribute.Set
	url        string
}

// entry is a container, or the error that says why the container cannot be written.
type entry[T any] struct {
	value *T
	err   error
}

func (c *containers) init() {
	c.resources = map[resourceKey]*entry[otelstef.Resource]{}
	c.scopes = map[instrumentation.Scope]*entry[otelstef.Scope]{}
}

// enterResource returns the entry of a resource, and creates it on a cache miss.
func (c *containers) enterResource(r *resource.Resource) *entry[otelstef.Resource] {
	if c.lastResource != nil && r == c.resource {
		return c.lastResource
	}
	key := resourceKey{url: r.SchemaURL()}
	if set := r.Set(); set != nil {
		key.attributes = *set
	}
	found := c.resources[key]
	if found == nil {
		if len(c.resources) >= maxContainers {
			clear(c.resources)
		}
		found = &entry[otelstef.Resource]{value: otelstef.NewResource()}
		found.value.SetSchemaURL(key.url)
		found.err = c.fill("resource", found.value.Attributes(), &key.attributes, len(key.url))
		c.resources[key] = found
	}
	c.resource, c.lastResource = r, found
	return found
}

// enterScope returns the entry of a scope, and creates it on a cache miss.
func (c *containers) enterScope(s instrumentation.Scope) *entry[otelstef.Scope] {
	if c.lastScope != nil && s == c.scope {
		return c.lastScope
	}
	found := c.scopes[s]
	if found == nil {
		if len(c.scopes) >= maxContainers {
			clear(c.scopes)
		}
		found = &entry[otelstef.Scope]{value: otelstef.NewScope()}
		found.value.SetName(s.Name)
		found.value.SetVersion(s.Version)
		found.value.SetSchemaURL(s.SchemaURL)
		found.err = c.fill("scope", found.value.Attributes(), &s.Attributes, len(s.Name)+len(s.Version)+len(s.SchemaURL))
		c.scopes[s] = found
	}
	c.scope, c.lastScope = s, found
	return found
}

func (c *containers) fill(what string, dst *otelstef.Attributes, src *attribute.Set, text int) error {
	var own copier
	own.begin()
	err := own.take(text)
	if err == nil {
		err = own.attributes(dst, src.ToSlice())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
