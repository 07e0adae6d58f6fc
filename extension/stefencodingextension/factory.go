// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package stefencodingextension

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"

	"github.com/otelstef/stef/extension/stefencodingextension/internal/metadata"
)

// NewFactory returns the factory of the extension.
func NewFactory() extension.Factory {
	return extension.NewFactory(metadata.Type, createDefaultConfig, create, metadata.ExtensionStability)
}

func create(_ context.Context, settings extension.Settings, config component.Config) (extension.Extension, error) {
	return newExtension(config.(*Config), settings)
}
