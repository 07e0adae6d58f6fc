// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefpb_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/otelstef/stef/stef-gogrpc/stefpb"
	spec "github.com/otelstef/stef/stef-spec"
)

// TestGeneratedIsCurrent fails if the source was changed without make generate. It does not
// run the generator; the tests of tools/protogen generate the code again and compare it.
func TestGeneratedIsCurrent(t *testing.T) {
	require.Equal(t, fmt.Sprintf("%x", sha256.Sum256([]byte(spec.DestinationProto))), stefpb.SourceSHA256,
		"destination.proto changed: run make generate")
}

// TestSpecimens checks that messages encode to the bytes that the specification prints.
func TestSpecimens(t *testing.T) {
	f := func(wants string, m proto.Message) {
		t.Helper()
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		require.NoError(t, err)
		require.Equal(t, wants, hex.EncodeToString(b))
	}
	f("0a070a055370616e73", &stefpb.STEFClientMessage{
		FirstMessage: &stefpb.STEFClientFirstMessage{RootStructName: "Spans"},
	})
	f("0a110a03108020120a090401030705"+"0e040602", &stefpb.STEFServerMessage{
		Content: &stefpb.STEFServerMessage_Capabilities{Capabilities: &stefpb.STEFDestinationCapabilities{
			DictionaryLimits: &stefpb.STEFDictionaryLimits{MaxDictBytes: 4096},
			Schema:           []byte{9, 4, 1, 3, 7, 5, 14, 4, 6, 2},
		}},
	})
	f("1207535445460200011801", &stefpb.STEFClientMessage{
		StefBytes: []byte("STEF\x02\x00\x01"), IsEndOfChunk: true,
	})
	f("120908ac02120408071009", &stefpb.STEFServerMessage{
		Content: &stefpb.STEFServerMessage_Response{Response: &stefpb.STEFDataResponse{
			AckRecordId:           300,
			BadDataRecordIdRanges: []*stefpb.STEFIDRange{{FromId: 7, ToId: 9}},
		}},
	})
}

// TestNames: the files and messages of this package must have unique names. Otherwise, a
// program that also links another implementation of the protocol would panic at start-up.
func TestNames(t *testing.T) {
	file := stefpb.File_otelstef_destination_v1_destination_proto
	require.Equal(t, "otelstef/destination/v1/destination.proto", file.Path())
	for i := range file.Messages().Len() {
		require.Equal(t, "otelstef.destination.v1", string(file.Messages().Get(i).FullName().Parent()))
	}
	require.Zero(t, file.Services().Len())
}
