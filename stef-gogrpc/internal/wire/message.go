// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package wire contains the messages of the protocol as package stefgrpc uses
// them, and their conversion to and from protobuf (package stefpb).
package wire

import "github.com/otelstef/stef/stef-gogrpc/stefpb"

// ClientMessage is a message from a client to a server.
//
// spec: #grpc-service
type ClientMessage struct {
	// First reports that the message contains first_message, which contains Root.
	First bool
	Root  string
	// Bytes are the next bytes of the STEF stream.
	Bytes      []byte
	EndOfChunk bool
}

// Proto returns m as a protobuf message that shares m.Bytes.
func (m *ClientMessage) Proto() *stefpb.STEFClientMessage {
	p := &stefpb.STEFClientMessage{StefBytes: m.Bytes, IsEndOfChunk: m.EndOfChunk}
	if m.First {
		p.FirstMessage = &stefpb.STEFClientFirstMessage{RootStructName: m.Root}
	}
	return p
}

// ParseClient is the inverse of ClientMessage.Proto.
func ParseClient(p *stefpb.STEFClientMessage) ClientMessage {
	return ClientMessage{
		First:      p.FirstMessage != nil,
		Root:       p.GetFirstMessage().GetRootStructName(),
		Bytes:      p.GetStefBytes(),
		EndOfChunk: p.GetIsEndOfChunk(),
	}
}

// ServerMessage is a message from a server to a client. At most one of its fields
// is set.
//
// spec: #grpc-service
type ServerMessage struct {
	Capabilities *Capabilities
	Response     *Response
}

// Capabilities is the server's first message: what the server supports.
type Capabilities struct {
	MaxDictBytes uint64 // 0: no limit named
	Schema       []byte
	WindowBytes  uint64 // 0: any window of zstd
}

// Response is what a server reports about the records it received.
//
// spec: #record-ids
type Response struct {
	// Acked is the id up to which all records are accepted or rejected.
	Acked uint64
	// Rejected are the ids of records that can never be accepted.
	Rejected []IDRange
}

// Proto returns m as a protobuf message.
func (m ServerMessage) Proto() *stefpb.STEFServerMessage {
	switch {
	case m.Capabilities != nil:
		c := &stefpb.STEFDestinationCapabilities{Schema: m.Capabilities.Schema, MaxZstdWindowBytes: m.Capabilities.WindowBytes}
		if n := m.Capabilities.MaxDictBytes; n > 0 {
			c.DictionaryLimits = &stefpb.STEFDictionaryLimits{MaxDictBytes: n}
		}
		return &stefpb.STEFServerMessage{Content: &stefpb.STEFServerMessage_Capabilities{Capabilities: c}}
	case m.Response != nil:
		r := &stefpb.STEFDataResponse{AckRecordId: m.Response.Acked}
		for _, bad := range m.Response.Rejected {
			r.BadDataRecordIdRanges = append(r.BadDataRecordIdRanges, &stefpb.STEFIDRange{FromId: bad.From, ToId: bad.To})
		}
		return &stefpb.STEFServerMessage{Content: &stefpb.STEFServerMessage_Response{Response: r}}
	}
	return new(stefpb.STEFServerMessage)
}

// ParseServer is the inverse of ServerMessage.Proto.
func ParseServer(p *stefpb.STEFServerMessage) ServerMessage {
	var m ServerMessage
	if c := p.GetCapabilities(); c != nil {
		m.Capabilities = &Capabilities{
			MaxDictBytes: c.GetDictionaryLimits().GetMaxDictBytes(), Schema: c.GetSchema(), WindowBytes: c.GetMaxZstdWindowBytes(),
		}
	}
	if r := p.GetResponse(); r != nil {
		m.Response = &Response{Acked: r.GetAckRecordId()}
		for _, bad := range r.GetBadDataRecordIdRanges() {
			m.Response.Rejected = append(m.Response.Rejected, IDRange{From: bad.GetFromId(), To: bad.GetToId()})
		}
	}
	return m
}
