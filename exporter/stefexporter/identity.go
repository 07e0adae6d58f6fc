// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefexporter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/client"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/otelstef/stef/internal/grpcheader"
)

// identity is one combination of values of the configured client metadata.
type identity struct {
	headers metadata.MD // headers of requests and streams, may be empty
	info    client.Info // passed to authenticators that read client metadata
}

// context returns a context whose calls send the metadata of the identity.
func (i identity) context(ctx context.Context) context.Context {
	if len(i.headers) == 0 {
		return ctx
	}
	return client.NewContext(outgoing(ctx, i.headers), i.info)
}

// validate returns an error if gRPC cannot send the headers. Metadata of clients may come from
// HTTP headers, which are not restricted to ASCII. Without this check, no stream could be
// opened, and batches would wait for a stream. The values may be secrets, so the error does not
// contain them.
func (i identity) validate() error {
	for key, values := range i.headers {
		if !grpcheader.ValidName(key) {
			return fmt.Errorf("the metadata key %q cannot be sent as a header: a header name has only letters, digits, '-', '_' and '.'", key)
		}
		if slices.ContainsFunc(values, func(v string) bool { return !grpcheader.ValidValue(key, v) }) {
			return fmt.Errorf("a value of the metadata key %q cannot be sent as a header: it has characters other than printable ASCII; "+
				"the client must encode it, or use a key that ends in -bin", key)
		}
	}
	return nil
}

type identities struct {
	keys []string // in lower case
}

func newIdentities(keys []string) identities {
	lower := make([]string, len(keys))
	for i, key := range keys {
		lower[i] = strings.ToLower(key)
	}
	return identities{keys: lower}
}

// of returns the identity of a context and a unique name of the identity.
func (x identities) of(ctx context.Context) (identity, string) {
	if len(x.keys) == 0 {
		return identity{}, ""
	}
	info := client.FromContext(ctx)
	var name strings.Builder
	headers := metadata.MD{}
	for _, key := range x.keys {
		values := info.Metadata.Get(key)
		name.WriteString(strconv.Itoa(len(values)))
		for _, v := range values {
			name.WriteByte(' ')
			name.WriteString(strconv.Quote(v))
		}
		name.WriteByte('\n')
		if len(values) > 0 {
			headers[key] = values
		}
	}
	return identity{headers: headers, info: client.Info{Metadata: client.NewMetadata(headers)}}, name.String()
}

type routes[B any] struct {
	identities identities
	limit      int
	open       func(identity) (*route[B], error)

	mu     sync.RWMutex
	byName map[string]*route[B]
	closed bool
}

// of returns the route for a context. It opens the route of a new identity.
func (r *routes[B]) of(ctx context.Context) (*route[B], *failure) {
	id, name := r.identities.of(ctx)
	r.mu.RLock()
	known := r.byName[name]
	r.mu.RUnlock()
	if known != nil {
		return known, nil
	}
	if err := id.validate(); err != nil {
		return nil, &failure{reason: dropPermanent, err: err}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.byName[name]; known != nil {
		return known, nil
	}
	if r.closed {
		return nil, &failure{retryDecision: retryDecision{retry: true, code: codes.Canceled}, err: errShutdown}
	}
	if len(r.identities.keys) > 0 && len(r.byName) >= r.limit {
		return nil, &failure{reason: dropIdentities, err: fmt.Errorf("there are more than %d combinations of values of the metadata keys %q: "+
			"raise metadata_cardinality_limit, or choose keys with fewer values for metadata_keys", r.limit, r.identities.keys)}
	}
	opened, err := r.open(id)
	if err != nil {
		return nil, &failure{reason: dropPermanent, err: err}
	}
	r.byName[name] = opened
	return opened, nil
}

// untried reports true if no attempt has failed yet to open a stream for the identity of ctx.
func (r *routes[B]) untried(ctx context.Context) bool {
	_, name := r.identities.of(ctx)
	r.mu.RLock()
	defer r.mu.RUnlock()
	known := r.byName[name]
	return known == nil || !known.failed.Load()
}

func (r *routes[B]) all() []*route[B] {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Collect(maps.Values(r.byName))
}

// close prevents new routes.
func (r *routes[B]) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}
