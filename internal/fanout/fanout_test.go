// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
)

// several is an error as package multierr makes it.
type several []error

func (s several) Error() string   { return fmt.Sprint([]error(s)) }
func (s several) Errors() []error { return s }
func (s several) Unwrap() []error { return s }

func TestParts(t *testing.T) {
	a, b := errors.New("a"), consumererror.NewPermanent(errors.New("b"))
	both := []error{a, b}
	for _, err := range []error{several(both), errors.Join(both...)} {
		require.Equal(t, both, Parts(err))
		require.Equal(t, both, Parts(fmt.Errorf("routing: %w", err)))
		require.Equal(t, both, Parts(consumererror.NewDownstream(fmt.Errorf("routing: %w", err))))
		require.Nil(t, Parts(consumererror.NewPermanent(err)))
		require.Nil(t, Parts(consumererror.NewRetryableError(err)))
	}
	require.Equal(t, []error{a}, Parts(errors.Join(a, nil)))
	require.Nil(t, Parts(nil))
	require.Nil(t, Parts(a))
	require.Nil(t, Parts(b))
	require.Nil(t, Parts(fmt.Errorf("%w: %w", a, b)), "one error with two causes")
}
