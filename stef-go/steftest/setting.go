// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package steftest

import (
	"fmt"
	"slices"

	stef "github.com/otelstef/stef/stef-go"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/schema"
)

// setting has the options of a stream, for the writers of both implementations.
type setting struct {
	compression stef.Compression
	level       stef.Level
	window      int
	frame, dict int // 0 is the default
	restart     stef.FrameFlags
	wire        schema.WireSchema // nil is the whole schema
	announce    bool              // always announce the schema
	userData    map[string]string
}

// setting returns a random setting. Small limits are frequent.
func (r random) setting() setting {
	s := setting{
		compression: stef.Compression(r.IntN(2)),
		level:       stef.Level(1 + r.IntN(int(stef.LevelAuto))),
		window:      1 << (10 + r.IntN(8)),
		announce:    r.chance(30),
		userData:    map[string]string{},
	}
	if r.chance(60) {
		s.restart = stef.FrameFlags(r.IntN(int(stef.RestartAll) + 1))
	}
	if r.chance(60) {
		s.frame = 1 + r.IntN(400)
	}
	if r.chance(40) {
		s.dict = 1 + r.IntN(4000)
	}
	for range r.IntN(3) {
		s.userData[r.text()] = r.text()
	}
	return s
}

func (s setting) String() string {
	return fmt.Sprintf("compression %s, level %s, window %d, frame %d, dict %d, restart %d, wire %v",
		s.compression, s.level, s.window, s.frame, s.dict, s.restart, s.wire)
}

// generated returns the setting as options of a generated writer.
func (s setting) generated() []stef.WriterOption {
	options := []stef.WriterOption{
		stef.WithCompression(s.compression), stef.WithCompressionLevel(s.level), stef.WithWindowBytes(s.window),
		stef.WithRestart(s.restart), stef.WithUserData(s.userData),
	}
	if s.frame > 0 {
		options = append(options, stef.WithFrameBytes(s.frame))
	}
	if s.dict > 0 {
		options = append(options, stef.WithDictBytes(s.dict))
	}
	if s.wire != nil {
		options = append(options, stef.WithSchema(s.wire))
	}
	if s.announce {
		options = append(options, stef.WithSchemaHeader())
	}
	return options
}

// effective returns the wire schema of streams with this setting.
func (s setting) effective(r *Root) schema.WireSchema {
	if s.wire == nil {
		return schema.WireOf(r.Schema)
	}
	return s.wire
}

// dynamic returns the setting as options of package dynamic.
func (s setting) dynamic(r *Root) []dynamic.WriterOption {
	options := []dynamic.WriterOption{
		dynamic.WithCompression(dynamic.Compression(s.compression)), dynamic.WithWindowBytes(s.window),
		dynamic.WithRestart(dynamic.FrameFlags(s.restart)), dynamic.WithUserData(s.userData),
		dynamic.WithFrameBytes(s.frame), dynamic.WithDictBytes(s.dict),
	}
	if s.wire != nil {
		options = append(options, dynamic.WithSchema(s.wire))
	}
	if !slices.Equal(s.effective(r), r.Base) || s.announce {
		options = append(options, dynamic.WithSchemaHeader())
	}
	return options
}
