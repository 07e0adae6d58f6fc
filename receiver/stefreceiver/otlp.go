// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// otlpRequest is a request before it is decoded. The services of pdata are not
// used for two reasons. They decode a request before any code of this package
// runs, which is too early to ask for admission. And they answer INTERNAL to
// requests that are not protobuf, although OTLP specifies INVALID_ARGUMENT.
type otlpRequest struct{ data mem.BufferSlice }

// take returns the bytes of the request and leaves it empty. The caller must free
// the bytes.
func (r *otlpRequest) take() mem.Buffer {
	buffer := r.data.MaterializeToBuffer(mem.DefaultBufferPool())
	r.free()
	return buffer
}

// free releases the bytes. It may be called more than once.
func (r *otlpRequest) free() {
	r.data.Free()
	r.data = nil
}

// otlpResponse is the answer to a request that was accepted completely. As a
// protobuf message it is empty.
type otlpResponse struct{}

// codec passes the messages of OTLP as bytes. The codec of protobuf handles all
// others.
type codec struct{ encoding.CodecV2 }

func newCodec() encoding.CodecV2 { return codec{encoding.GetCodecV2(proto.Name)} }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(m any) (mem.BufferSlice, error) {
	if _, ok := m.(otlpResponse); ok {
		return nil, nil
	}
	return c.CodecV2.Marshal(m)
}

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, m any) error {
	if request, ok := m.(*otlpRequest); ok {
		data.Ref()
		request.data = data
		return nil
	}
	return c.CodecV2.Unmarshal(data, m)
}

// export sends a request to the pipeline. The error is a status.
func (p *pipe[T]) export(ctx context.Context, request *otlpRequest) error {
	who, leave := p.core.parties.join(ctx)
	defer leave()
	admission := &p.core.admission
	weight := admission.weight(int64(request.data.Len()))
	if err := admission.acquire(ctx, &who.admission, weight); err != nil {
		return p.notAdmitted(ctx, request, err)
	}
	defer admission.release(&who.admission, weight)
	batch, err := p.decodeOTLP(request)
	if err != nil {
		p.refuse(ctx, p.obs.otlp, formatOTLP, 0, err)
		return undecodable(err).Err()
	}
	items := p.Items(batch)
	if items == 0 {
		return nil
	}
	ctx = p.start(p.obs.otlp, ctx)
	err = p.deliver(ctx, batch)
	p.end(p.obs.otlp, ctx, formatOTLP, items, err)
	if err != nil {
		return refusalOf(err, p.core.config.RetryAfter).status.Err()
	}
	return nil
}

func (p *pipe[T]) decodeOTLP(request *otlpRequest) (batch T, err error) {
	body := request.take()
	defer body.Free()
	defer p.core.catch(p.meter, "decoder", &err)
	return p.Unmarshal(body.ReadOnlyData())
}

// notAdmitted returns the status of a request that could not be admitted.
func (p *pipe[T]) notAdmitted(ctx context.Context, request *otlpRequest, err error) error {
	st := unavailable(err.Error(), p.core.config.RetryAfter)
	if errors.Is(err, errNoRoom) {
		p.meter.notAdmitted("otlp")
	} else {
		// The client would return this error itself if its clock were faster.
		st = status.FromContextError(err)
		err = fmt.Errorf("gave up waiting for admission: %w", err)
	}
	body := request.take()
	defer body.Free()
	p.refuse(ctx, p.obs.otlp, formatOTLP, p.OTLP.Count(body.ReadOnlyData()), err)
	return st.Err()
}
