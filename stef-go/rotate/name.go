// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package rotate

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

const (
	// Suffix ends the names of finished files.
	Suffix = ".stef"
	// ActiveSuffix ends the names of files that are being written.
	ActiveSuffix = Suffix + ".active"
)

// Name is the name of a file.
type Name struct {
	Prefix   string
	Time     time.Time // UTC, of the creation
	PID      int
	Sequence int
	Signal   string
	Active   bool // the file is being written, or its process was killed
}

const timeLayout = "20060102T150405.000000000Z"

// String returns the name without a folder.
func (n Name) String() string {
	end := Suffix
	if n.Active {
		end = ActiveSuffix
	}
	return fmt.Sprintf("%s-%s-%07d-%06d-%s%s", n.Prefix, n.Time.UTC().Format(timeLayout), n.PID, n.Sequence, n.Signal, end)
}

var nameParts = regexp.MustCompile(`^(.+)-(\d{8}T\d{6}\.\d{9}Z)-(\d{7,10})-(\d{6,10})-([^-]+)\.stef(\.active)?$`)

// ParseName parses the name of a file of this package, without its folder. It
// reports false for other names.
func ParseName(name string) (Name, bool) {
	m := nameParts.FindStringSubmatch(name)
	if m == nil {
		return Name{}, false
	}
	at, err := time.Parse(timeLayout, m[2])
	if err != nil {
		return Name{}, false
	}
	n := Name{Prefix: m[1], Time: at, Signal: m[5], Active: m[6] != ""}
	n.PID, _ = strconv.Atoi(m[3])
	n.Sequence, _ = strconv.Atoi(m[4])
	return n, true
}
