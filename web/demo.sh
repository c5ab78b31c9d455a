# For the scripts of web/: runs the demo of a build folder until the script ends. Sourced after
# node.sh.

# start_demo BINARY_DIR PATTERN [FLAG...]: waits until a line of the demo's output has PATTERN, then
# exports its address as $GPUSCALER_WEB.
start_demo() {
  local program=$1/src/lab/keda-gpu-scaler-lab pattern=$2 output=$folder/demo.log tenths
  shift 2
  "$program" demo --serve "$@" > "$output" 2>&1 &
  demo=$!
  trap 'kill "$demo" 2> /dev/null || true; wait "$demo" 2> /dev/null || true' EXIT
  for ((tenths = 0; tenths < 900; tenths++)); do
    if grep -q "$pattern" "$output"; then break; fi
    kill -0 "$demo" 2> /dev/null || break
    sleep 0.1
  done
  if ! grep -q "$pattern" "$output"; then
    cat "$output" >&2
    echo "web: the demo prints no line with $pattern" >&2
    return 1
  fi
  GPUSCALER_WEB=$(grep -oE 'http://127\.0\.0\.1:[0-9]+' "$output" | tail -1)
  export GPUSCALER_WEB
}
