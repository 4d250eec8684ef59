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
# TOKENS (64) is what an answer may have. PYTHON (python3) has maskbench with its extra `local`.
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

case "${SERVE:+own}$engine" in
  own*) serve=$SERVE name=${NAME:?NAME is what the server calls the model} engine=${ENGINE:-its own server} ;;
  vllm) serve="vllm serve $quoted --served-model-name smoke --generation-config vllm" name=smoke ;;
  sglang)
    serve="$python -m sglang.launch_server --model-path $quoted --served-model-name smoke --sampling-defaults openai"
    name=smoke
    ;;
  transformers) serve="transformers serve $quoted" name=$model ;;
  *)
    echo "ENGINE=$engine is not known. Give vllm, sglang or transformers, or your own SERVE and NAME." >&2
    exit 2
    ;;
esac

work=$(mktemp -d)
sampler=
trap '[[ -z $sampler ]] || kill "$sampler" 2>/dev/null || true; rm -rf "$work"' EXIT
echo '{"": "{\"reason\": \"Scripted.\", \"verdict\": \"A\", \"evasion\": null}"}' > "$work/judge.json"

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

# measure NAME MODEL WORDS...: one run, stopped gently when its time is over; what it has answered until then counts.
measure() {
  local run=$1 subject=$2 code=0
  shift 2
  echo "== $run: $subject" >&2
  used > "$work/$run.before"
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
    [[ ! -f $work/$run/serve.log ]] || tail -n 30 "$work/$run/serve.log" >&2
    exit 1
  fi
}

measure served-greedy "openai-api/smoke/$name" --serve "$serve" --temperature 0 --connections 8
measure served-fast "openai-api/smoke/$name" --serve "$serve" --temperature 1 --connections "$busy"
measure here-greedy "hf/$model" --temperature 0 --connections 8
measure here-fast "hf/$model" --temperature 1 --connections "$busy"

"$python" "$(dirname "$0")/smoke_table.py" "$work" "$engine" "$model"
