// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stat

import (
	"cmp"
	"encoding/json"
	"io"

	"github.com/otelstef/stef/stef-go/dynamic"
)

// The report in JSON. Sizes are in bytes.
type (
	jsonReport struct {
		Source      string            `json:"source,omitempty"`
		Root        string            `json:"root"`
		Schema      string            `json:"schema"`
		Compression string            `json:"compression"`
		Checksums   *bool             `json:"checksums"` // whether all frames with records have checksums; null without such frames
		UserData    map[string]string `json:"user_data,omitempty"`
		Records     uint64            `json:"records"`
		OTLP        *jsonOTLP         `json:"otlp,omitempty"`
		Restarts    jsonRestarts      `json:"restarts"`
		Bytes       jsonBytes         `json:"bytes"`
		Columns     []jsonColumn      `json:"columns"`
		Dicts       []jsonDict        `json:"dictionaries"`
		Frames      []jsonFrame       `json:"frames"`
		Damage      *jsonDamage       `json:"damage,omitempty"`
	}
	jsonBytes struct {
		Stream       int64 `json:"stream"`
		Headers      int64 `json:"headers"`
		FrameHeads   int64 `json:"frame_heads"`
		Content      int64 `json:"frame_content"`
		ContentPlain int64 `json:"frame_content_plain"`
		Counts       int64 `json:"record_counts_plain"`
		Sizes        int64 `json:"column_sizes_plain"`
	}
	jsonOTLP struct {
		Requests int     `json:"requests"`
		Plain    int64   `json:"plain"`
		Zstd     int64   `json:"zstd_per_request"`
		Ratio    float64 `json:"ratio"` // bytes of the stream for each byte of Zstd
	}
	jsonRestarts struct {
		Dictionaries int `json:"dictionaries"`
		Compression  int `json:"compression"`
		Codecs       int `json:"codecs"`
	}
	jsonColumn struct {
		Path  string `json:"path"`
		Type  string `json:"type"`
		About string `json:"meaning,omitempty"`
		Plain int64  `json:"plain"`
		Alone int64  `json:"zstd_alone"`
	}
	jsonDict struct {
		Name    string `json:"name"`
		Structs bool   `json:"structs"`
		Entries int    `json:"entries"`
		Most    int    `json:"most"`
		Bytes   int64  `json:"bytes"`
		Refs    int64  `json:"references"`
	}
	jsonFrame struct {
		Offset   int64  `json:"offset"`
		Records  uint64 `json:"records"`
		Plain    int    `json:"plain"`
		Packed   int    `json:"packed"`
		Restarts string `json:"restarts"`
	}
	jsonDamage struct {
		Error string `json:"error"`
		Cut   bool   `json:"cut"`
		Limit bool   `json:"over_limit"`
		Lost  int64  `json:"lost_bytes"`
	}
)

// printJSON writes a report as one JSON object.
func (r *Report) printJSON(w io.Writer) error {
	var checksums *bool
	if with, all := r.Checksums(); all > 0 {
		every := with == all
		checksums = &every
	}
	j := jsonReport{
		Source: r.Source, Root: r.Root.Struct.Name, Schema: r.schema(), Compression: r.Header.Compression.String(),
		Checksums: checksums, UserData: r.Header.UserData, Records: r.Records,
		Bytes: jsonBytes{
			Stream: r.Size, Headers: r.FixedHeader + r.VarHeader, FrameHeads: r.Heads, Content: r.Packed,
			ContentPlain: r.Plain(), Counts: r.Counts, Sizes: r.Sizes,
		},
		Restarts: jsonRestarts{r.Restarts(dynamic.RestartDictionaries), r.Restarts(dynamic.RestartCompression), r.Restarts(dynamic.RestartCodecs)},
		Columns:  []jsonColumn{}, Dicts: []jsonDict{}, Frames: []jsonFrame{},
	}
	for _, c := range r.Columns {
		j.Columns = append(j.Columns, jsonColumn{c.Path, c.Type, c.Meaning, c.Plain, c.Alone})
	}
	for _, d := range r.Dicts {
		j.Dicts = append(j.Dicts, jsonDict{d.Name, d.Struct, d.Entries, d.Most, d.Bytes, d.Refs})
	}
	for _, f := range r.Frames {
		j.Frames = append(j.Frames, jsonFrame{f.Offset, f.Records, f.Plain, f.Packed, restarts(f.Flags)})
	}
	if r.OTLPZstd > 0 {
		j.OTLP = &jsonOTLP{r.Requests, r.OTLP, r.OTLPZstd, float64(r.Size) / float64(r.OTLPZstd)}
	}
	if d := r.Whole.Damage; d != nil {
		j.Damage = &jsonDamage{cmp.Or(r.DamageText, d.Error()), r.Whole.Cut, r.Whole.OverLimit, r.Whole.Lost}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(j)
}
