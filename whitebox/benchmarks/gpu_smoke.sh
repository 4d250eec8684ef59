#!/usr/bin/env bash
# A served engine beside the model in the process, in ten minutes: do they answer alike, how fast are they, what do they
# take? It prints a table to paste into an issue. It needs no key and asks no judge that is a model.
#
#   benchmarks/gpu_smoke.sh Qwen/Qwen3-0.6B                     vLLM, on a GPU
#   ENGINE=sglang benchmarks/gpu_smoke.sh Qwen/Qwen3-0.6B       SGLang
#   ENGINE=transformers benchmarks/gpu_smoke.sh PATH            `transformers serve`, on any machine
#   SERVE='my-server --port {port}' NAME=mine ENGINE=words benchmarks/gpu_smoke.sh PATH
#                                                               any other server, which calls the model NAME
#
# PATH or the model's name on the hub is what hf/ loads in this process. SECONDS_EACH (120) is what each of the four runs
# may take; SCENARIOS (40) is how many they have; BUSY (64) is how many requests the fast runs have in flight;
# TOKENS (64) is what an answer may have. PYTHON (python3) has maskbench and maskbench-whitebox.
set -euo pipefail

if [[ $# -ne 1 ]]; then
  sed -n '2,15s/^# \{0,1\}//p' "$0"
  exit 2
fi
model=$1
engine=${ENGINE:-vllm}
python=${PYTHON:-python3}
seconds=${SECONDS_EACH:-120}
scenarios=${SCENARIOS:-40}
busy=${BUSY:-64}
tokens=${TOKENS:-64}
quoted=$(printf '%q' "$model")

port=$("$python" -c 'import socket; free = socket.socket(); free.bind(("127.0.0.1", 0)); print(free.getsockname()[1])')
here="--host 127.0.0.1 --port $port"

case "${SERVE:+own}$engine" in
  own*) serve=${SERVE//\{port\}/$port} name=${NAME:?NAME is what the server calls the model} engine=${ENGINE:-its own server} asked=false ;;
  vllm) serve="vllm serve $quoted --served-model-name smoke --generation-config vllm $here" name=smoke asked="vllm --version" ;;
  sglang)
    serve="$python -m sglang.launch_server --model-path $quoted --served-model-name smoke --sampling-defaults openai $here"
    name=smoke asked="$python -c 'import sglang; print(sglang.__version__)'"
    ;;
  transformers) serve="transformers serve $quoted $here" name=$model asked="transformers version" ;;
  *)
    echo "ENGINE=$engine is not known. Give vllm, sglang or transformers, or your own SERVE and NAME." >&2
    exit 2
    ;;
esac

work=$(mktemp -d)
sampler= server=
trap '[[ -z $sampler ]] || kill "$sampler" 2>/dev/null || true; stop; rm -rf "$work"' EXIT
echo '{"": "{\"reason\": \"Scripted.\", \"code\": \"{{code}}\", \"verdict\": \"A\", \"evasion\": null}"}' > "$work/judge.json"

# The megabytes that are in use: of all GPUs together, or of this machine's memory where it has none.
used() {
  if command -v nvidia-smi > /dev/null; then
    nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | awk '{ sum += $1 } END { print sum }'
  else
    awk '/^MemTotal/ { all = $2 } /^MemAvailable/ { free = $2 } END { print int((all - free) / 1024) }' /proc/meminfo
  fi
}

# The largest of these once a second, in a file, for as long as it lives.
sample() {
  local most=0 now
  while now=$(used); do
    if ((now > most)); then
      most=$now
      echo "$most" > "$1"
    fi
    sleep 1
  done
}

# Start the server, in a group of processes of its own, and wait until it answers.
start() {
  used > "$work/server.before"
  set -m
  bash -c "exec $serve" > "$work/server.log" 2>&1 &
  server=$!
  set +m
  local began=$SECONDS
  until answers; do
    if ! kill -0 "$server" 2> /dev/null; then
      echo "The server ended before it answered:" >&2
      tail -n 30 "$work/server.log" >&2
      exit 1
    fi
    sleep 1
  done
  echo "$((SECONDS - began))" > "$work/server.seconds"
}

# Whether it says that it is well; where it has no such page, whether it lists its models.
answers() {
  "$python" - "http://127.0.0.1:$port" << 'END'
import sys, urllib.error, urllib.request

def status(page):
    try:
        return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(sys.argv[1] + page, timeout=5).status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None

well = status("/health")
sys.exit(not (well == 200 or (well in (404, 405, 501) and status("/v1/models") == 200)))
END
}

# End it with its group.
stop() {
  if [[ -n $server ]]; then
    kill -TERM -- "-$server" 2> /dev/null || true
    wait "$server" 2> /dev/null || true
    kill -KILL -- "-$server" 2> /dev/null || true
    server=
  fi
}

# measure NAME MODEL WORDS...: one run, stopped gently when its time is over; what it has answered until then counts.
measure() {
  local run=$1 subject=$2 code=0
  shift 2
  echo "== $run: $subject" >&2
  if [[ -n $server ]]; then # the server's memory counts
    cp "$work/server.before" "$work/$run.before"
  else
    used > "$work/$run.before"
  fi
  sample "$work/$run.most" &
  sampler=$!
  printf 'model = "%s"\ntimeout = %s\n' "$subject" "$seconds" > "$work/$run.toml"
  "$python" -m maskbench run "$work/$run.toml" --judge "scripted/$work/judge.json" --scenarios starter --limit "$scenarios" \
    --archetype known_facts --archetype provided_facts --beliefs 1 --max-tokens "$tokens" --reasoning-tokens 0 --out "$work/$run" "$@" \
    > /dev/null 2> "$work/$run.said" &
  local ours=$! waited=0
  while kill -0 "$ours" 2> /dev/null; do
    sleep 1
    # Time counts from the first answer on: loading a model is not what is compared here.
    if [[ -f $work/$run/run.log ]]; then
      waited=$((waited + 1))
    fi
    if ((waited == seconds)); then
      kill -TERM "$ours"
    fi
  done
  wait "$ours" || code=$?
  kill "$sampler"
  sampler=
  if ((code != 0 && code != 1 && code != 130)); then
    echo "The run $run ended with $code:" >&2
    cat "$work/$run.said" >&2
    [[ -z $server ]] || tail -n 30 "$work/server.log" >&2
    exit 1
  fi
}

version=$(bash -c "$asked" 2> /dev/null | tail -n 1) || version="of an unknown version"
start
export SMOKE_BASE_URL=http://127.0.0.1:$port/v1
measure served-greedy "openai-api/smoke/$name" --temperature 0 --connections 8
measure served-fast "openai-api/smoke/$name" --temperature 1 --connections "$busy"
stop
measure here-greedy "hf/$model" --temperature 0 --connections 8
measure here-fast "hf/$model" --temperature 1 --connections "$busy"

"$python" "$(dirname "$0")/smoke_table.py" "$work" "$engine $version" "$model"
