# same_bits.sh NAME BUDGET PRECISIONS COMMAND...: trains with and without the memory
# budget and compares all state after the last step.
name=$1 budget=$2 precisions=$3
shift 3
for precision in $precisions; do
  "$@" --steps=3 --precision=$precision --progress=none \
    --checkpoint=$name-$precision-plain.safetensors >/dev/null || exit 1
  "$@" --steps=3 --precision=$precision --progress=none --memory-budget=$budget \
    --checkpoint=$name-$precision-budget.safetensors >/dev/null || exit 1
  cmp $name-$precision-plain.safetensors $name-$precision-budget.safetensors || exit 1
done
