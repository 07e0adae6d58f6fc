// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefreceiver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/otelstef/stef/internal/signal"
)

// otlpRequest is a request before it is decoded. The services of pdata are not
// used for two reasons. They decode a request before any code of this package
// runs, and so before its admission. They also answer INTERNAL to requests that
// are not protobuf, although OTLP specifies INVALID_ARGUMENT.
type otlpRequest struct {
	data        mem.BufferSlice
	compression string // compression of data, "" for none
	cost        *costTracker
}

// take returns the bytes of the request and leaves it empty. The caller must free
// the bytes.
func (r *otlpRequest) take() mem.Buffer {
	buffer := r.data.MaterializeToBuffer(mem.DefaultBufferPool())
	r.free()
	return buffer
}

// join puts the bytes of the request into one buffer. It copies an expensive request as
// decompression does: in pieces, with a pause after each piece. Copying 57 MiB at once would
// occupy a processor for 10 ms or more, and a batch of another client could wait that long.
func (r *otlpRequest) join(ctx context.Context) {
	if len(r.data) < 2 || !r.cost.expensive() {
		r.data = mem.BufferSlice{r.take()}
		return
	}
	body := bodies.Get(r.data.Len())
	joined, piece := 0, 0
	r.cost.pieceStart = time.Now()
	for _, part := range r.data {
		n := copy((*body)[joined:], part.ReadOnlyData())
		part.Free()
		joined += n
		if piece += n; piece >= pieceSize {
			piece = 0
			r.cost.pause(ctx, pieceSize)
		}
	}
	r.data = mem.BufferSlice{mem.NewBuffer(body, bodies)}
}

// bodies is the pool for the buffers of expensive requests. Unlike the pools of gRPC, it
// does not clear a reused buffer: clearing a large buffer would occupy a processor without
// a pause.
var bodies = &bodyPool{}

type bodyPool struct{ pool sync.Pool }

// Get implements mem.BufferPool.
func (p *bodyPool) Get(size int) *[]byte {
	if b, ok := p.pool.Get().(*[]byte); ok && cap(*b) >= size {
		*b = (*b)[:size]
		return b
	}
	b := make([]byte, size)
	return &b
}

// Put implements mem.BufferPool.
func (p *bodyPool) Put(b *[]byte) { p.pool.Put(b) }

// free releases the bytes. It may be called more than once.
func (r *otlpRequest) free() {
	r.data.Free()
	r.data = nil
}

// otlpResponse is the answer to a request that was accepted completely. As a
// protobuf message it is empty.
type otlpResponse struct{}

// codec passes the messages of OTLP as bytes. It delegates all other messages to the codec
// of protobuf.
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
	client, leave := p.core.clients.join(ctx)
	defer leave()
	var permit decompressionPermit
	defer permit.release() // a refused request keeps its permit to decompress until its items are counted
	request.compression = compressionOf(ctx, request.data)
	cost := newCostTracker(p.core.decompression.throttle, client, int64(request.data.Len()))
	request.cost = cost
	defer cost.releasePermit()
	weight, err := p.admit(ctx, client, request, &permit)
	if err != nil {
		return p.notAdmitted(ctx, request, err)
	}
	if err = cost.acquirePermit(ctx); err != nil {
		err = p.notAdmitted(ctx, request, err)
	} else {
		err = p.process(ctx, request)
	}
	p.core.admission.release(&client.admission, weight)
	cost.pause(ctx, cost.weight)
	return err
}

func (p *pipe[T]) process(ctx context.Context, request *otlpRequest) error {
	batch, err := p.decodeOTLP(request)
	if err != nil {
		p.meter.refused(requestInvalid)
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

// admit admits a request, and returns the weight that the caller must release. It first
// admits the size of the request on the wire, then decompresses the request, and then
// admits its weight, as for a batch of a stream. Before the second admission it releases the
// admitted bytes, because requests that hold some bytes and wait for more bytes could block each
// other. For the same reason, it releases the permit to decompress and the permit of the throttle
// before it waits.
func (p *pipe[T]) admit(ctx context.Context, client *clientState, request *otlpRequest, permit *decompressionPermit) (int64, error) {
	admission := &p.core.admission
	sent := admission.weight(int64(request.data.Len()))
	if err := admission.acquire(ctx, &client.admission, sent); err != nil {
		return 0, err
	}
	weight, err := p.weigh(ctx, request, permit)
	if err == nil {
		request.cost.charge(weight)
	} else if bad := (*badRequest)(nil); errors.As(err, &bad) {
		p.meter.refused(bad.reason)
		request.cost.chargeInvalid(ctx)
	} else {
		request.cost.chargeCancelled()
	}
	if err != nil || weight <= sent {
		permit.release()
		if err != nil {
			admission.release(&client.admission, sent)
		}
		return sent, err
	}
	admission.release(&client.admission, sent)
	w := admission.acquireOrEnqueue(&client.admission, weight)
	if w.accepted() {
		permit.release()
		request.cost.releasePermit()
	}
	return weight, admission.wait(ctx, w)
}

func (p *pipe[T]) weigh(ctx context.Context, request *otlpRequest, permit *decompressionPermit) (int64, error) {
	if request.compression != "" {
		if err := p.core.decompression.run(ctx, request, permit); err != nil {
			return 0, err
		}
	}
	request.join(ctx)
	body := request.data[0]
	memory, err := p.OTLP.Memory(body.ReadOnlyData())
	if errors.Is(err, signal.ErrNested) {
		return 0, exceeds(requestNesting, "%v", err)
	} else if err != nil {
		return 0, invalid(err)
	}
	size, limit := int64(body.Len()), p.core.admission.limit
	weight := requestWeight(size, memory)
	if limit > 0 && weight > limit && memory > size*memoryPerRequest {
		return 0, exceeds(requestMemory, "the request of %d bytes would take %d bytes of memory, more than admission::request_limit_mib allows: send smaller batches", size, memory)
	}
	return p.core.admission.weight(weight), nil
}

// requestWeight returns the weight of a request: its size, or a third of the memory of
// request and pdata together if that is larger. Both are in memory while the request is
// decoded.
func requestWeight(size, memory int64) int64 { return max(size, (memory+size)/memoryPerOTLP) }

// memoryPerRequest is the maximum memory for each byte of a request, if its weight exceeds the
// admission limit. Empty messages need up to 113 bytes of memory for each byte, ordinary telemetry
// needs two to four.
const memoryPerRequest = 5

func (p *pipe[T]) decodeOTLP(request *otlpRequest) (batch T, err error) {
	body := request.take()
	defer body.Free()
	defer p.core.recoverPanic(p.meter, "decoder", &err)
	return p.Unmarshal(body.ReadOnlyData())
}

// notAdmitted returns the status of a request that could not be admitted. If the request is
// still compressed, the number of its items is unknown.
func (p *pipe[T]) notAdmitted(ctx context.Context, request *otlpRequest, err error) error {
	st, final := status.FromError(err)
	switch {
	case final:
	case errors.Is(err, errQueueFull):
		st = unavailable(err.Error(), p.core.config.RetryAfter)
		p.meter.notAdmitted("otlp")
	default:
		// The client ended the request, or its deadline has passed. Return the status that
		// gRPC uses for this.
		st = status.FromContextError(err)
		err = fmt.Errorf("the request ended while it waited for admission (admission::request_limit_mib): %w", err)
	}
	items := 0
	if request.compression == "" {
		body := request.take()
		defer body.Free()
		items = p.OTLP.Count(body.ReadOnlyData())
	}
	p.refuse(ctx, p.obs.otlp, formatOTLP, items, err)
	return st.Err()
}
