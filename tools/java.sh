#!/usr/bin/env bash
# Finds Java 17+ for Spark; installs Debian's headless JRE where that is possible; otherwise says how.
# Never fails the build: everything but Spark works without Java.
set -u

version_of() { "$1" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1; }

find_java() {
  for candidate in "${JAVA_HOME:+$JAVA_HOME/bin/java}" "$(command -v java)" /usr/lib/jvm/*/bin/java; do
    [ -n "$candidate" ] && [ -x "$candidate" ] || continue
    found=$(version_of "$candidate")
    [ -n "$found" ] && [ "$found" -ge 17 ] && { echo "$candidate"; return 0; }
  done
  return 1
}

can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

install_java() {
  export DEBIAN_FRONTEND=noninteractive
  { apt-get install -y -qq openjdk-17-jre-headless ||
    { apt-get update -qq && apt-get install -y -qq openjdk-17-jre-headless; }; } >/dev/null 2>&1
}

java=$(find_java) || { can_install && install_java; java=$(find_java); } || {
  echo "java: no Java 17 or later found; everything but Spark works without it." >&2
  echo "java: to use Spark, install one (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME." >&2
  exit 0
}
echo "java: $java ($(version_of "$java"))" >&2
