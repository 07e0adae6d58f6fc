// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/otelstef/stef/stef-go/otelstef"
)

func (c *copier) body(dst *otelstef.LogBody, v attribute.Value) error {
	switch v.Type() {
	case attribute.EMPTY:
		dst.SetType(otelstef.LogBodyTypeNone)
		return nil
	case attribute.STRING:
		s := v.AsString()
		dst.SetString(s)
		return c.take(len(s))
	}
	return setValue(c, bodyValue, dst.SetValue(), v, 0)
}
