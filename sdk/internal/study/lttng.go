// Copyright The Otel/STEF Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && lttng && cgo

package study

/*
#cgo LDFLAGS: -llttng-ust -ldl
#include <lttng/tracef.h>

static void line(int i) { lttng_ust_tracef("span operation %d", i); }
*/
import "C"

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// HasLTTng returns an error if this program was built without LTTng, or if the
// commands of LTTng are missing.
func HasLTTng() error {
	for _, program := range []string{"lttng", "lttng-sessiond", "lttng-relayd"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("install lttng-tools: %w", err)
		}
	}
	return nil
}

func logLine(_ context.Context, _ trace.Tracer, i int) time.Duration {
	start := time.Now()
	operation(i)
	C.line(C.int(i))
	return time.Since(start)
}

// command runs a program of LTTng. It reads only the output of the program lttng: a daemon would
// inherit the pipe and keep it open.
func command(program string, arguments ...string) ([]byte, error) {
	cmd := exec.Command(program, arguments...)
	if program != "lttng" {
		return nil, cmd.Run()
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return out, fmt.Errorf("%s %v: %w: %s", program, arguments, err, out)
	}
	return out, nil
}

var discarded = regexp.MustCompile(`Discarded events: +([0-9]+)`)

// StartSession starts a session of LTTng for an element of lines, with files below a
// folder. stop ends the session and returns how many events were discarded.
func StartSession(line, dir string) (stop func() (lost int, err error), err error) {
	if line == LTTng {
		return func() (int, error) { return 0, nil }, nil
	}
	if _, err := command("lttng", "list"); err != nil {
		if _, err := command("lttng-sessiond", "--no-kernel", "--daemonize"); err != nil {
			return nil, err
		}
	}
	const session = "stefstudy"
	steps := [][]string{{"create", session, "--output", filepath.Join(dir, "lttng")}}
	if line == LTTngRemote {
		// This fails if a relay is already running. The session then uses the running relay.
		_, _ = command("lttng-relayd", "--daemonize", "--output", filepath.Join(dir, "relay"))
		steps[0] = []string{"create", session, "--set-url=net://127.0.0.1"}
	}
	steps = append(steps, []string{"enable-channel", "-u", "lines", "-s", session, "--subbuf-size=1M", "--num-subbuf=8"})
	event := "lttng_ust_tracef:*"
	if line == LTTngIdle {
		event = "stefstudy:nothing"
	}
	steps = append(steps, []string{"enable-event", "-u", event, "-c", "lines", "-s", session}, []string{"start", session})
	for _, step := range steps {
		if _, err := command("lttng", step...); err != nil {
			return nil, err
		}
	}
	return func() (int, error) {
		if _, err := command("lttng", "stop", session); err != nil {
			return 0, err
		}
		list, err := command("lttng", "list", session)
		if err != nil {
			return 0, err
		}
		lost := 0
		for _, match := range discarded.FindAllSubmatch(bytes.TrimSpace(list), -1) {
			n, err := strconv.Atoi(string(match[1]))
			if err != nil {
				return 0, err
			}
			lost += n
		}
		_, err = command("lttng", "destroy", session)
		return lost, err
	}, nil
}
