// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package lake

import (
	"encoding/json"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/xpdata/entity"
)

type entityRef struct {
	Type            string   `json:"type"`
	SchemaURL       string   `json:"schema_url,omitempty"`
	IDKeys          []string `json:"id_keys,omitempty"`
	DescriptionKeys []string `json:"description_keys,omitempty"`
}

// entityRefsText returns references as JSON. exact is false if a text of a reference is
// not UTF-8.
func entityRefsText(refs entity.EntityRefSlice) (text string, exact bool) {
	exact = true
	check := func(s string) string {
		s, ok := valid(s)
		exact = exact && ok
		return s
	}
	list := make([]entityRef, 0, refs.Len())
	for _, ref := range refs.All() {
		r := entityRef{Type: check(ref.Type()), SchemaURL: check(ref.SchemaUrl())}
		for _, k := range ref.IdKeys().All() {
			r.IDKeys = append(r.IDKeys, check(k))
		}
		for _, k := range ref.DescriptionKeys().All() {
			r.DescriptionKeys = append(r.DescriptionKeys, check(k))
		}
		list = append(list, r)
	}
	b, _ := json.Marshal(list) // cannot fail for texts
	return string(b), exact
}

func setEntityRefs(dst pcommon.Resource, text string) error {
	if text == "" {
		return nil
	}
	var list []entityRef
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return invalid("resource_entity_refs", "%v", err)
	}
	refs := entity.ResourceEntityRefs(dst)
	for _, r := range list {
		ref := refs.AppendEmpty()
		ref.SetType(r.Type)
		ref.SetSchemaUrl(r.SchemaURL)
		ref.IdKeys().FromRaw(r.IDKeys)
		ref.DescriptionKeys().FromRaw(r.DescriptionKeys)
	}
	return nil
}
