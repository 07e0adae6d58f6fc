// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package confkeys

import (
	"fmt"
	"strings"
)

// damaged lists beginnings of error texts of the storage for a file that is corrupt or not a database.
var damaged = []string{"invalid database", "checksum error", "version mismatch", "file size too small "}

// Storage returns err with an explanation, if it is a known error of opening a storage of the Collector,
// and otherwise err itself. The Collector's error for a locked file is only "timeout", and its error for
// a damaged file names neither the file nor the component. what names the storage in the text, id and
// signal name the file, and lost says which data is lost if the file is moved away.
func Storage(err error, what, id, signal, lost string) error {
	if err.Error() == "timeout" {
		return fmt.Errorf("%s cannot be opened: is another Collector using this storage directory? (%w)", what, err)
	}
	for _, text := range damaged {
		if strings.HasPrefix(err.Error(), text) {
			return fmt.Errorf("%s cannot be opened: %w (a file of %s for %s is damaged: move it away; %s)", what, err, id, signal, lost)
		}
	}
	return err
}
