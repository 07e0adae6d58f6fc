#!/usr/bin/env bash
# Copyright The Otel/STEF Authors
# SPDX-License-Identifier: Apache-2.0

# Measures what the go command downloads to build a program that imports one
# package of the root module: the number of foreign modules and the size of their
# archives. The go command starts with an empty module cache, and downloads from
# the module cache of this user and from the configured proxy.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
proxy=file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

for package in "${@:-stef-go/otelstef stef-gogrpc stef-pdata exporter/stefexporter}"; do
  for name in $package; do
    rm -rf "$dir/program" "$dir/cache"
    mkdir -p "$dir/program" "$dir/cache/cache/download"
    (
      cd "$dir/program"
      printf 'package main\n\nimport _ "github.com/otelstef/stef/%s"\n\nfunc main() {}\n' "$name" >main.go
      go mod init example.com/program
      go mod edit -require github.com/otelstef/stef@v0.0.0 -replace "github.com/otelstef/stef=$root"
      export GOPROXY=$proxy GOFLAGS='-modcacherw -mod=mod' GOMODCACHE=$dir/cache GOSUMDB=off
      go build -o /dev/null .
    ) >"$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }
    find "$dir/cache/cache/download" -name '*.zip' -printf '%s\n' |
      awk -v name="$name" '{ n++; s += $1 } END { printf "%-24s %3d modules %6.1f MiB\n", name, n, s / 1048576 }'
  done
done
