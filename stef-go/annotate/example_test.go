// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

package annotate_test

import (
	"bytes"
	"fmt"
	"os"

	"github.com/otelstef/stef/stef-go/annotate"
	"github.com/otelstef/stef/stef-go/dynamic"
	"github.com/otelstef/stef/stef-go/idl"
)

func ExampleStream() {
	s, err := idl.Parse("visit.stef", []byte("package example struct Visit root { Page string dict(Page) Time int64 }"))
	if err != nil {
		fmt.Println(err)
		return
	}
	var stream bytes.Buffer
	w, err := dynamic.NewWriter(&stream, s.Root("Visit"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, time := range []int64{1000, 1010, 1025} {
		visit := dynamic.NewStruct(s.Root("Visit"))
		visit.Fields[0], visit.Fields[1] = "/home", time
		if err := w.Write(visit); err != nil {
			fmt.Println(err)
		}
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
	}
	if err := annotate.Stream(os.Stdout, &stream, s.Root("Visit")); err != nil {
		fmt.Println(err)
	}
	// Output:
	// # fixed header
	//       0: 53 54 45 46                           # signature "STEF"
	//       4: 02                                    # size 2
	//       5: 00                                    # version 0
	//       6: 00                                    # compression none
	//
	// # variable header
	//       7: 00                                    # flags none
	//       8: 02                                    # uncompressed size 2
	//       9: 00                                    # size of the wire schema 0
	//      10: 00                                    # pairs of user data 0
	//
	// # frame 1
	//      11: 00                                    # flags none
	//      12: 11                                    # uncompressed size 17
	//      13: 03                                    # records 3
	//      14: 03                                    # size of the size table 3
	//      15.0: 01 01                               # 1 byte: Visit
	//      15.4: 001 00110                           # 6 bytes: Visit.Page
	//      16.4: 001 00101                           # 5 bytes: Visit.Time
	//      17.4: 0000                                # padding
	// # Visit: struct Visit in bits, 1 byte
	//      18.0: 11                                  # r1: modified Page Time
	//      18.2: 10                                  # r2: modified Time
	//      18.4: 10                                  # r3: modified Time
	//      18.6: 00                                  # padding
	// # Visit.Page: string dict(Page) in bytes, 6 bytes
	//      19: 0a 2f 68 6f 6d 65                     # r1: "/home", becomes Page[0]
	// # Visit.Time: int64 in bytes, 5 bytes
	//      25: d0 0f                                 # r1: 1000 (dod 1000, delta 1000)
	//      27: bb 0f                                 # r2: 1010 (dod -990, delta 10)
	//      29: 0a                                    # r3: 1025 (dod 5, delta 15)
}
