// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
)

// chosenKey is the key of an attribute that has a column of its own.
type chosenKey struct {
	column, key string
	where       place
	// text is the key as the caller wrote it.
	text string
}

type place uint8

const (
	inItem place = iota
	inResource
	inScope
)

var placePrefixes = [...]string{inItem: "", inResource: "resource:", inScope: "scope:"}

// parseKeys parses the keys of columns, such as http.route, resource:host.name and
// scope:name.
func parseKeys(keys []string) []chosenKey {
	var chosen []chosenKey
	for _, k := range keys {
		c := chosenKey{key: k, text: k}
		if rest, ok := strings.CutPrefix(k, placePrefixes[inResource]); ok {
			c.key, c.where = rest, inResource
		} else if rest, ok := strings.CutPrefix(k, placePrefixes[inScope]); ok {
			c.key, c.where = rest, inScope
		}
		c.column = strings.ReplaceAll(k, ":", ".")
		if !slices.ContainsFunc(chosen, func(x chosenKey) bool { return x.text == c.text }) {
			chosen = append(chosen, c)
		}
	}
	return chosen
}

// textColumn appends text to a column with or without a dictionary.
type textColumn struct {
	plain *array.StringBuilder
	dict  *array.BinaryDictionaryBuilder
}

func textOfBuilder(b array.Builder) (t textColumn) {
	if d, ok := b.(*array.BinaryDictionaryBuilder); ok {
		t.dict = d
	} else {
		t.plain = b.(*array.StringBuilder)
	}
	return t
}

// dictionariesOf appends the builders of dictionaries in b, at any depth.
func dictionariesOf(b array.Builder, list []*array.BinaryDictionaryBuilder) []*array.BinaryDictionaryBuilder {
	switch b := b.(type) {
	case *array.BinaryDictionaryBuilder:
		return append(list, b)
	case *array.MapBuilder:
		return dictionariesOf(b.ItemBuilder(), dictionariesOf(b.KeyBuilder(), list))
	case *array.ListBuilder:
		return dictionariesOf(b.ValueBuilder(), list)
	case *array.StructBuilder:
		for i := range b.NumField() {
			list = dictionariesOf(b.FieldBuilder(i), list)
		}
	}
	return list
}

// add appends text that is not null.
func (t textColumn) add(s string) {
	if t.dict != nil {
		_ = t.dict.AppendString(s) // fails only if the index exceeds 32 bits
	} else {
		t.plain.Append(s)
	}
}

func (t textColumn) none() {
	if t.dict != nil {
		t.dict.AppendNull()
	} else {
		t.plain.AppendNull()
	}
}

// put appends text; empty text is null.
func (t textColumn) put(s string) {
	if s == "" {
		t.none()
	} else {
		t.add(s)
	}
}

type attributesColumn struct {
	pairs      *array.MapBuilder
	key, value textColumn
	types      textColumn
	letters    []byte
	keys       []string
}

// rows builds the rows of a table. Its put methods record whether a row represents an item
// exactly.
type rows struct {
	schema *arrow.Schema
	b      *array.RecordBuilder
	at     map[string]int
	// shared builds the columns of resources and scopes. It has one row for each run of rows
	// that have the same resource and scope. runs contains the lengths of these runs. If
	// shared is nil, b builds these columns, too, and has their values in each row.
	shared *array.RecordBuilder
	runs   []int
	// changed is set if the resource or scope of the next row differs from that of the last row.
	changed bool
	// sharedBytes and sharedInexact are the values of bytes and inexact for the last row of
	// shared.
	sharedBytes   int
	sharedInexact bool
	chosen        []chosenKey
	dicts         []*array.BinaryDictionaryBuilder

	inexact bool
	kept    uint64 // rows so far with an item in column otlp
	bytes   int    // estimated size of the rows since the last batch
	n       int
	offered uint64 // items so far, with those that were refused
	// refused are the refused items of a call, or nil.
	refused *ItemErrors
	// ofResource and ofScope are the weights of the current resource and scope.
	ofResource, ofScope weight

	service, resourceURL, entityRefs    textColumn
	scopeName, scopeVersion, scopeURL   textColumn
	resourceAttributes, scopeAttributes *attributesColumn
	itemAttributes                      *attributesColumn
	resourceDropped, scopeDropped       *array.Uint32Builder
	otlp                                *array.BinaryBuilder
	chosenColumns                       []textColumn
	chosenFound                         []bool
	chosenMeant                         []string // see EmptyColumn.Meant
	resource                            pcommon.Resource
	scope                               pcommon.InstrumentationScope
	resourceSchemaURL, scopeSchemaURL   string
	resourceText                        resourceTexts
}

// resourceTexts are texts of the current resource, which many rows share.
type resourceTexts struct {
	service, entityRefs string
	exact               bool
}

// newRows returns a builder of rows. If runs is true, the columns of resources and scopes
// have one value for each run of rows, not one for each row.
func newRows(schema *arrow.Schema, chosen []chosenKey, runs bool) *rows {
	r := &rows{schema: schema, at: map[string]int{}, chosen: chosen, changed: true}
	fields := schema.Fields()
	for i, f := range fields {
		r.at[f.Name] = i
	}
	if runs {
		r.shared = array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields[:len(containers)], nil))
		fields = fields[len(containers):]
		schema = arrow.NewSchema(fields, nil)
	}
	r.b = array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for _, f := range r.schema.Fields() {
		r.dicts = dictionariesOf(r.col(f.Name), r.dicts)
	}
	r.service, r.resourceURL, r.entityRefs = r.text("service_name"), r.text("resource_schema_url"), r.text("resource_entity_refs")
	r.scopeName, r.scopeVersion, r.scopeURL = r.text("scope_name"), r.text("scope_version"), r.text("scope_schema_url")
	r.resourceAttributes, r.scopeAttributes = r.attributes("resource_attributes"), r.attributes("scope_attributes")
	r.itemAttributes = r.attributes("attributes")
	r.resourceDropped, r.scopeDropped = r.u32("resource_dropped_attributes_count"), r.u32("scope_dropped_attributes_count")
	r.otlp = r.col("otlp").(*array.BinaryBuilder)
	for _, c := range chosen {
		r.chosenColumns = append(r.chosenColumns, r.text(c.column))
	}
	r.chosenFound, r.chosenMeant = make([]bool, len(chosen)), make([]string, len(chosen))
	return r
}

func (r *rows) col(name string) array.Builder {
	i := r.at[name]
	if r.shared == nil {
		return r.b.Field(i)
	}
	if i < len(containers) {
		return r.shared.Field(i)
	}
	return r.b.Field(i - len(containers))
}

func (r *rows) text(name string) textColumn          { return textOfBuilder(r.col(name)) }
func (r *rows) u32(name string) *array.Uint32Builder { return r.col(name).(*array.Uint32Builder) }
func (r *rows) time(name string) *array.TimestampBuilder {
	return r.col(name).(*array.TimestampBuilder)
}
func (r *rows) fixed(name string) *array.FixedSizeBinaryBuilder {
	return r.col(name).(*array.FixedSizeBinaryBuilder)
}

func (r *rows) attributes(name string) *attributesColumn {
	return attributesOf(r.col(name), r.col(name+"_types"))
}

func attributesOf(pairs, types array.Builder) *attributesColumn {
	m := pairs.(*array.MapBuilder)
	return &attributesColumn{pairs: m, key: textOfBuilder(m.KeyBuilder()), value: textOfBuilder(m.ItemBuilder()), types: textOfBuilder(types)}
}

// put appends text. It replaces bytes that are not UTF-8.
func (r *rows) put(c textColumn, s string) {
	r.bytes += len(s)
	c.put(r.valid(s))
}

func (r *rows) valid(s string) string {
	s, ok := valid(s)
	if !ok {
		r.inexact = true
	}
	return s
}

// putTime appends a time. It appends null for 0, and for times that a timestamp cannot
// represent.
func (r *rows) putTime(b *array.TimestampBuilder, t pcommon.Timestamp) {
	if t == 0 || t > math.MaxInt64 {
		r.inexact = r.inexact || t != 0
		b.AppendNull()
		return
	}
	b.Append(arrow.Timestamp(t))
}

func putID(b *array.FixedSizeBinaryBuilder, id []byte) {
	for _, c := range id {
		if c != 0 {
			b.Append(id)
			return
		}
	}
	b.AppendNull()
}

// putCount appends a count; 0 is null.
func putCount(b *array.Uint32Builder, n uint32) {
	if n == 0 {
		b.AppendNull()
		return
	}
	b.Append(n)
}

// manyKeys is the number of attributes above which putAttributes finds equal keys with a map.
const manyKeys = 24

// putAttributes appends a map. Of attributes with equal keys, it appends only the first,
// because engines refuse maps with equal keys.
func (r *rows) putAttributes(c *attributesColumn, m pcommon.Map) {
	c.pairs.Append(true)
	c.letters, c.keys = c.letters[:0], c.keys[:0]
	var seen map[string]bool
	if m.Len() > manyKeys {
		seen = make(map[string]bool, m.Len())
	}
	texts := true
	for k, v := range m.All() {
		key := r.valid(k)
		if seen[key] || seen == nil && slices.Contains(c.keys, key) {
			r.inexact = true
			continue
		}
		if seen != nil {
			seen[key] = true
		} else {
			c.keys = append(c.keys, key)
		}
		text, letter, exact := textOf(v)
		r.inexact = r.inexact || !exact
		c.key.add(key)
		if letter == letterNone {
			c.value.none()
		} else {
			c.value.add(text)
		}
		c.letters = append(c.letters, letter)
		texts = texts && letter == letterString
		r.bytes += len(key) + len(text) + 16
	}
	if texts {
		c.types.put("")
	} else {
		c.types.put(string(c.letters))
	}
}

// setResource sets the resource of the rows that follow.
func (r *rows) setResource(res pcommon.Resource, url string) {
	r.resource, r.resourceSchemaURL, r.changed = res, url, true
	t := resourceTexts{exact: true}
	if v, ok := res.Attributes().Get("service.name"); ok {
		t.service, _, _ = textOf(v)
	}
	if refs := entity.ResourceEntityRefs(res); refs.Len() > 0 {
		t.entityRefs, t.exact = entityRefsText(refs)
	}
	r.resourceText = t
	r.ofResource = weight{messages: baseMessages + entity.ResourceEntityRefs(res).Len()}
	r.ofResource.shared(res.Attributes())
}

func (r *rows) setScope(s pcommon.InstrumentationScope, url string) {
	r.scope, r.scopeSchemaURL, r.changed = s, url, true
	r.ofScope = weight{}
	r.ofScope.shared(s.Attributes())
}

// begin begins a row, with its containers and the attributes of its item.
func (r *rows) begin(attributes pcommon.Map) {
	r.inexact = false
	switch {
	case r.shared == nil:
		r.putContainers()
	case r.changed:
		before := r.bytes
		r.putContainers()
		r.runs = append(r.runs, 1)
		r.changed, r.sharedBytes, r.sharedInexact = false, r.bytes-before, r.inexact
	default:
		r.runs[len(r.runs)-1]++
		r.bytes += r.sharedBytes
		r.inexact = r.sharedInexact
	}
	r.putAttributes(r.itemAttributes, attributes)
	for i, c := range r.chosen {
		text := ""
		if v, ok := r.attributesAt(c.where, attributes).Get(c.key); ok {
			r.chosenFound[i] = true
			text, _, _ = textOf(v)
		} else if !r.chosenFound[i] && r.chosenMeant[i] == "" {
			r.chosenMeant[i] = r.meant(c, attributes)
		}
		r.bytes += len(text)
		r.chosenColumns[i].put(text)
	}
}

// attributesAt returns the attributes of the resource, the scope or the item. The caller
// passes the attributes of the item.
func (r *rows) attributesAt(where place, item pcommon.Map) pcommon.Map {
	switch where {
	case inResource:
		return r.resource.Attributes()
	case inScope:
		return r.scope.Attributes()
	}
	return item
}

// meant returns the key that the caller probably meant by c: a key for an attribute that
// the item, its resource or its scope has. It returns "" if there is no such key. See
// EmptyColumn.Meant.
func (r *rows) meant(c chosenKey, item pcommon.Map) string {
	for where, prefix := range placePrefixes {
		if _, ok := r.attributesAt(place(where), item).Get(c.key); ok {
			return prefix + c.key
		}
	}
	for where, prefix := range placePrefixes { // the caller passed the name of a column, such as resource.host.name
		if key, ok := strings.CutPrefix(c.key, strings.ReplaceAll(prefix, ":", ".")); ok && c.where == inItem {
			if _, ok := r.attributesAt(place(where), item).Get(key); ok {
				return prefix + key
			}
		}
	}
	return ""
}

func (r *rows) putContainers() {
	r.inexact = !r.resourceText.exact
	r.put(r.service, r.resourceText.service)
	r.put(r.entityRefs, r.resourceText.entityRefs)
	r.putAttributes(r.resourceAttributes, r.resource.Attributes())
	putCount(r.resourceDropped, r.resource.DroppedAttributesCount())
	r.put(r.resourceURL, r.resourceSchemaURL)
	r.put(r.scopeName, r.scope.Name())
	r.put(r.scopeVersion, r.scope.Version())
	r.putAttributes(r.scopeAttributes, r.scope.Attributes())
	putCount(r.scopeDropped, r.scope.DroppedAttributesCount())
	r.put(r.scopeURL, r.scopeSchemaURL)
}

// end ends a row. otlp returns the item as OTLP.
func (r *rows) end(otlp func() ([]byte, error)) error {
	r.n++
	r.bytes += 64
	if !r.inexact {
		r.otlp.AppendNull()
		return nil
	}
	r.kept++
	message, err := otlp()
	r.otlp.Append(message)
	r.bytes += len(message)
	return err
}

type built struct {
	rows arrow.RecordBatch
	// shared and runs contain the columns of resource and scope if rows does not contain them.
	shared arrow.RecordBatch
	runs   []int
	bytes  int // estimated size before the batch is encoded
}

// batch returns the rows since the last call.
func (r *rows) batch() built {
	made := built{rows: r.b.NewRecordBatch(), bytes: r.bytes}
	if r.shared != nil {
		made.shared, made.runs = r.shared.NewRecordBatch(), r.runs
	}
	r.n, r.bytes, r.runs, r.changed = 0, 0, nil, true
	// Each batch has dictionaries of its own, so that their memory is bounded.
	for _, d := range r.dicts {
		d.ResetFull()
	}
	return made
}

func (r *rows) release() {
	r.b.Release()
	if r.shared != nil {
		r.shared.Release()
	}
}
