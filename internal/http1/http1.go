// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

// Package http1 answers clients of HTTP/1.1 that connect to a gRPC server. The server alone
// would close such connections without an answer.
package http1

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// HeadSize is the number of bytes that the function Is examines.
const HeadSize = len("GET ")

// maxAnswerTime bounds the time of Refuse.
const maxAnswerTime = time.Second

// Is reports whether a connection begins with a method of HTTP/1.1. Every client of HTTP/2
// begins with PRI.
func Is(head []byte) bool {
	for method := range strings.FieldsSeq("POST GET HEAD PUT OPTIONS PATCH DELETE") {
		if len(head) == HeadSize && bytes.HasPrefix([]byte(method+" "), head) {
			return true
		}
	}
	return false
}

// Refuse answers a request with status 415 and a text. The rest of the request is read from
// unread and discarded, for at most a second. The caller closes the connection.
func Refuse(conn net.Conn, unread io.Reader, text string) {
	_ = conn.SetDeadline(time.Now().Add(maxAnswerTime))
	fmt.Fprintf(conn, "HTTP/1.1 415 Unsupported Media Type\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n", len(text)+1, text)
	// A connection that is closed with unread bytes is reset, and the client may lose the answer.
	if c, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, unread)
}
