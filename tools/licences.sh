#!/usr/bin/env bash
# Copyright The Otel/STEF Authors
# SPDX-License-Identifier: Apache-2.0

# Prints the licences of each module that the programs and packages of the released
# modules are built from. Arguments are other folders of modules. Some modules have
# parts under several licences: their licence file names the parts. The script fails if a
# module has no licence file, or if none of its licences is in the list below. MPL-2.0
# covers only the files of a module, so programs may use an unchanged module.
set -euo pipefail
cd "$(dirname "$0")/.."

kinds() {
  grep -q 'Neither the name' "$1" && echo BSD-3-Clause
  grep -q 'Redistribution and use in source and binary forms' "$1" && ! grep -q 'Neither the name' "$1" && echo BSD-2-Clause
  grep -qi 'permission is hereby granted, free of charge' "$1" && echo MIT
  grep -q 'Permission to use, copy, modify, and' "$1" && echo ISC
  grep -q 'Mozilla Public License' "$1" && echo MPL-2.0
  grep -q 'Apache License' "$1" && echo Apache-2.0
  return 0
}

dependencies() {
  for folder in "$@"; do
    (cd "$folder" && go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./...)
  done | grep -v '^github.com/otelstef/stef' | sort -u
}

bad=0
all=$(dependencies "${@:-.}" $([ $# -gt 0 ] || echo lake cmd/stef sdk extension/stefencodingextension))
while read -r path version dir; do
  licence=$(find "$dir" -maxdepth 1 \( -iname 'licen[sc]e*' -o -iname 'copying*' \) | sort | while read -r file; do kinds "$file"; done | sort -u | paste -sd+)
  [ -n "$licence" ] || { bad=$((bad + 1)) licence='none or unknown !'; }
  printf '%-24s %s %s\n' "$licence" "$path" "$version"
done <<<"$all"
if [ "$bad" -gt 0 ]; then
  printf '%d modules have no known licence: check those marked with !\n' "$bad" >&2
  exit 1
fi
