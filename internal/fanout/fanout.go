// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package fanout splits the error of several consumers into one error for each consumer.
package fanout

import (
	"errors"
	"reflect"

	"go.opentelemetry.io/collector/consumer/consumererror"
)

// Parts returns the errors of the consumers if err consists of several errors. If it does not,
// Parts returns nil. The fan-out of the Collector joins errors with package multierr, and
// connectors use errors.Join. Components on the way to the receiver may wrap the joined error.
//
// consumererror.IsPermanent returns true if any part is permanent. A receiver that calls it
// for the whole error drops data that another consumer would accept later.
func Parts(err error) []error {
	for ; err != nil; err = errors.Unwrap(err) {
		if several, ok := err.(interface{ Errors() []error }); ok { // package multierr
			return several.Errors()
		}
		switch reflect.TypeOf(err) {
		case joined:
			return err.(interface{ Unwrap() []error }).Unwrap()
		case permanent, carrier: // a component has classified the joined error as a whole
			return nil
		}
	}
	return nil
}

// The types of errors that Parts distinguishes. Two of them are not exported.
var (
	joined    = reflect.TypeOf(errors.Join(errors.New("")))
	permanent = reflect.TypeOf(consumererror.NewPermanent(nil))
	carrier   = reflect.TypeFor[*consumererror.Error]()
)
