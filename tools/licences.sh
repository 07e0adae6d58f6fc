#!/usr/bin/env bash
# Copyright The Otel/STEF Authors
# SPDX-License-Identifier: Apache-2.0

# Prints the licence of each module that the programs and packages of the module
# in this folder are built from. Fails where a module has no licence file, or one
# that is not in the list below. MPL-2.0 covers the files of a module alone, so that
# a module used unchanged is fine.
set -euo pipefail

kind() {
  if grep -q 'Apache License' "$1"; then echo Apache-2.0
  elif grep -q 'Mozilla Public License' "$1"; then echo MPL-2.0
  elif grep -qi 'permission is hereby granted, free of charge' "$1"; then echo MIT
  elif grep -q 'Permission to use, copy, modify, and' "$1"; then echo ISC
  elif grep -q 'Neither the name' "$1"; then echo BSD-3-Clause
  elif grep -q 'Redistribution and use in source and binary forms' "$1"; then echo BSD-2-Clause
  else echo unknown
  fi
}

bad=0
while read -r path version dir; do
  file=$(find "$dir" -maxdepth 1 -iname 'licen[sc]e*' -o -maxdepth 1 -iname 'copying*' | sort | head -n 1)
  licence=none
  [ -z "$file" ] || licence=$(kind "$file")
  case $licence in none | unknown) bad=$((bad + 1)) licence="$licence !" ;; esac
  printf '%-14s %s %s\n' "$licence" "$path" "$version"
done < <(go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./... | sort -u)
if [ "$bad" -gt 0 ]; then
  printf '%d modules need a look\n' "$bad" >&2
  exit 1
fi
